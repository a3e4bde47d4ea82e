"""Operations on arrays in NumPy. See `array_operations.py` for the results."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as onp
from numpy.lib.stride_tricks import sliding_window_view

from ..user_lines import noted
from .window_geometry import check_channels, conv_axes, dilated, gaps_of, pads_of, positive

Array = onp.ndarray[Any, Any]


def floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A SciPy function whose results have the dtype of its argument if that is inexact."""

    def call(x: Any, **options: Any) -> Any:
        x = onp.asarray(x)
        if x.dtype.kind in "fc" and x.dtype.itemsize > 2:
            return function(x, **options)
        if x.dtype.kind in "biu":
            return function(x.astype(onp.float64), **options)
        return function(x.astype(onp.float32), **options).astype(x.dtype)  # 16-bit floats

    return call


# --- windows ---


def conv(
    inp: Any,
    fltr: Any,
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
    filter_dilation: Sequence[int] | None = None,
    input_dilation: Sequence[int] | None = None,
) -> Any:
    """A convolution: one product of the kernel with a matrix of all windows."""
    inp, fltr = onp.asarray(inp), onp.asarray(fltr)
    axes = conv_axes(dimension_numbers, inp.ndim)
    x, kernel = inp.transpose(axes.inputs), fltr.transpose(axes.kernel)
    check_channels(x, kernel)
    strides = positive("conv", "window_strides", window_strides, axes.spatial)
    dilation = positive("conv", "filter_dilation", filter_dilation, axes.spatial)
    sizes = [(k - 1) * d + 1 for k, d in zip(kernel.shape, dilation, strict=False)]
    x = _with_gaps(x, gaps_of(input_dilation, padding, axes.spatial))
    pads = pads_of("conv", padding, x.shape[1:-1], sizes, strides)
    windows = _windows(_padded(x, pads, 0), sizes, strides)  # [batch, out..., channels, window...]
    places: tuple[Any, ...] = (..., *(slice(None, None, d) for d in dilation))
    windows = windows[places]
    n = axes.spatial
    contracted = [n + 1, *range(n + 2, 2 * n + 2)], [n, *range(n)]
    out = onp.tensordot(windows, kernel, contracted)
    return out.transpose(axes.outputs)


def _with_gaps(x: Array, gaps: Sequence[int]) -> Array:
    """An array [batch, ..., channels] whose elements are `gaps` apart, with zeros between them."""
    if all(gap == 1 for gap in gaps):
        return x
    lengths = [dilated(n, gap) for n, gap in zip(x.shape[1:-1], gaps, strict=True)]
    spread = onp.zeros((x.shape[0], *lengths, x.shape[-1]), x.dtype)
    spread[(slice(None), *(slice(None, None, gap) for gap in gaps))] = x
    return spread


def _padded(x: Array, pads: Sequence[tuple[int, int]], value: Any) -> Array:
    return onp.pad(x, [(0, 0), *pads, (0, 0)], constant_values=value)


def _windows(x: Array, sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """A view of all windows of an array [batch, ..., channels]; the window axes come last."""
    spatial = tuple(range(1, x.ndim - 1))
    if any(n < size for n, size in zip(x.shape[1:-1], sizes, strict=True)):
        short = tuple(max(0, n - s + 1) for n, s in zip(x.shape[1:-1], sizes, strict=True))
        return onp.zeros((x.shape[0], *short, x.shape[-1], *sizes), x.dtype)
    windows = sliding_window_view(x, tuple(sizes), axis=spatial)
    return windows[(slice(None), *(slice(None, None, s) for s in strides))]


def _pool(
    name: str,
    reduce: Callable[..., Any],
    pad: Any,
    x: Array,
    sizes: Any,
    strides: Any,
    padding: Any,
) -> Array:
    """Reduces all windows of an array [batch, ..., channels]."""
    sizes = positive(name, "pool_size", sizes, len(sizes))
    strides = positive(name, "strides", strides, len(sizes))
    pads = pads_of(name, padding, x.shape[1:-1], sizes, strides)
    windows = _windows(_padded(x, pads, pad), sizes, strides)
    return reduce(windows, axis=tuple(range(-len(sizes), 0)))


def max_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The largest element of each window."""
    x = onp.asarray(x)
    least = onp.iinfo(x.dtype).min if x.dtype.kind in "iu" else -onp.inf
    return _pool("max_pool", onp.max, least, x, pool_size, strides, padding)


def sum_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The sum of each window."""
    x = onp.asarray(x)
    sums = _pool("sum_pool", onp.sum, 0, x, pool_size, strides, padding)
    return sums.astype(x.dtype, copy=False)


def avg_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The mean of the elements of each window that are inside the array."""
    x = onp.asarray(x)
    sums = sum_pool(x, pool_size, strides, padding)
    return sums / window_counts(x.shape, pool_size, strides, padding).astype(
        onp.float64 if x.dtype.kind in "iu" else x.dtype
    )


def window_counts(shape: Sequence[int], pool_size: Any, strides: Any, padding: Any) -> Array:
    """The number of elements of each window inside an array, as int32[1, ..., 1]."""
    return sum_pool(onp.ones((1, *shape[1:-1], 1), onp.int32), pool_size, strides, padding)


# --- sorting ---


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The largest elements along the last axis, and their indices; of equal elements, the first
    ones."""
    x = onp.asarray(x)
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise noted(ValueError(f"top_k: k={k} doesn't fit the last axis of shape {x.shape}"))
    last = x.shape[-1] - 1
    order = last - onp.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    return onp.take_along_axis(x, order, -1), order.astype(onp.int32)


def sort_key_val(keys: Any, values: Any, dimension: int = -1) -> tuple[Any, Any]:
    """Sorted keys, and values in their order."""
    keys, values = onp.asarray(keys), onp.asarray(values)
    order = onp.argsort(keys, axis=dimension, kind="stable")
    return onp.take_along_axis(keys, order, dimension), onp.take_along_axis(
        values, order, dimension
    )


# --- changed copies ---


def _changed(change: Callable[..., Any], x: Any, idx: Any, y: Any) -> Any:
    new = onp.array(x)
    change(new, idx, onp.asarray(y).astype(new.dtype))
    return new


def index_update(x: Any, idx: Any, y: Any) -> Any:
    """A copy with elements replaced."""
    return _changed(onp.ndarray.__setitem__, x, idx, y)


def index_add(x: Any, idx: Any, y: Any) -> Any:
    """A copy with `y` added at an index."""
    return _changed(onp.add.at, x, idx, y)


def index_min(x: Any, idx: Any, y: Any) -> Any:
    """A copy with the minimum at an index."""
    return _changed(onp.minimum.at, x, idx, y)


def index_max(x: Any, idx: Any, y: Any) -> Any:
    """A copy with the maximum at an index."""
    return _changed(onp.maximum.at, x, idx, y)


def _window(operation: str, shape: Sequence[int], starts: Any, sizes: Sequence[int]) -> Any:
    """The index of a window of fixed size, moved inside the array."""
    starts = [int(s) for s in starts]
    if not len(starts) == len(sizes) == len(shape) or any(map(int.__lt__, shape, sizes)):
        raise noted(
            ValueError(
                f"{operation}: a window of sizes {tuple(sizes)} at {tuple(starts)} doesn't fit "
                f"shape {tuple(shape)}"
            )
        )
    begins = [
        min(max(s + n if s < 0 else s, 0), n - size)
        for s, n, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple(slice(b, b + size) for b, size in zip(begins, sizes, strict=True))


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any) -> Any:
    """A copy of a window."""
    x = onp.asarray(operand)
    return x[_window("dynamic_slice", x.shape, start_indices, slice_sizes)].copy()


def along(x: Any, axis: int, start: Any, size: int | None = None) -> tuple[list[Any], list[int]]:
    """The starts and sizes of a window along one axis; without `size`, the starts and lengths."""
    starts, sizes = [0] * len(x.shape), [int(n) for n in x.shape]
    starts[axis] = start
    sizes[axis] = sizes[axis] if size is None else size
    return starts, sizes


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A copy of a window along one axis."""
    x = onp.asarray(operand)
    return dynamic_slice(x, *along(x, axis, start_index, slice_size))


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """A copy with a window replaced."""
    x, update = onp.asarray(operand), onp.asarray(update)
    place = _window("dynamic_update_slice", x.shape, start_indices, update.shape)
    return index_update(x, place, update)


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """A copy with a window along one axis replaced."""
    x = onp.asarray(operand)
    return dynamic_update_slice(x, update, along(x, axis, start_index)[0])


def dataset_as_numpy(ds: Any, batch_size: int | None = None) -> Iterator[Any]:
    """Iterates over a dataset; with a batch size, TensorFlow reads a batch in advance."""
    if not hasattr(ds, "as_numpy_iterator"):
        raise noted(
            TypeError(
                f"dataset_as_numpy: expected a tf.data.Dataset; got {type(ds).__name__}"
                "\n  fix: iterate over other objects directly"
            )
        )
    if batch_size is not None and batch_size > 1:
        ds = ds.prefetch(batch_size)
    return iter(ds.as_numpy_iterator())
