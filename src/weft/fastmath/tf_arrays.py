"""Operations on arrays in TensorFlow. See `array_operations.py` for the results."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ..user_lines import noted
from .host_arrays import along, window_counts
from .tensorflow_module import tensor, tf, tnp
from .tf_numpy import TF_NUMPY
from .window_geometry import check_channels, conv_axes, dilated, gaps_of, pads_of, positive


def floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function of floats that also accepts integers."""

    def call(x: Any, **options: Any) -> Any:
        x = tensor(x)
        return function(x if x.dtype.is_floating else tf.cast(x, tf.float32), **options)

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
    """A convolution. On the CPU, TensorFlow needs channels last, and either strides or dilation: so
    operands are transposed, and with both, the result is strided afterwards."""
    inp, fltr = tensor(inp), tensor(fltr)
    dtype = tf.as_dtype(TF_NUMPY.result_type(inp, fltr))
    computed = dtype if dtype.is_floating else tf.float64  # exact for int32
    axes = conv_axes(dimension_numbers, len(inp.shape))
    x = tf.transpose(tf.cast(inp, computed), axes.inputs)
    kernel = tf.transpose(tf.cast(fltr, computed), axes.kernel)
    check_channels(x, kernel)
    strides = positive("conv", "window_strides", window_strides, axes.spatial)
    dilation = positive("conv", "filter_dilation", filter_dilation, axes.spatial)
    sizes = [(k - 1) * d + 1 for k, d in zip(kernel.shape, dilation, strict=False)]
    for axis, gap in enumerate(gaps_of(input_dilation, padding, axes.spatial), 1):
        x = x if gap == 1 else _with_gaps(x, axis, gap)
    pads = pads_of("conv", padding, list(x.shape[1:-1]), sizes, strides)
    x = tf.pad(x, [(0, 0), *pads, (0, 0)])
    both = max(strides) > 1 and max(dilation) > 1
    steps = [1] * axes.spatial if both else strides
    out = tf.nn.convolution(x, kernel, steps, "VALID", dilations=dilation)
    if both:
        out = out[(slice(None), *(slice(None, None, s) for s in strides))]
    return tf.cast(tf.transpose(out, axes.outputs), dtype)


def _with_gaps(x: Any, axis: int, gap: int) -> Any:
    """A tensor whose elements are `gap` apart along an axis, with zeros between them."""
    shape = list(x.shape)
    pads = [(0, 0)] * (len(shape) + 1)
    pads[axis + 1] = (0, gap - 1)
    spread = tf.pad(tf.expand_dims(x, axis + 1), pads)
    spread = tf.reshape(spread, (*shape[:axis], shape[axis] * gap, *shape[axis + 1 :]))
    return tf.gather(spread, tf.range(dilated(shape[axis], gap)), axis=axis)


def _pool(kind: str, name: str, x: Any, sizes: Any, strides: Any, padding: Any) -> Any:
    """The maximum or the mean of windows. In means, elements outside count as 0."""
    sizes = positive(name, "pool_size", sizes, len(sizes))
    strides = positive(name, "strides", strides, len(sizes))
    if len(sizes) > 3:
        raise noted(
            ValueError(f"{name}: TensorFlow has windows of at most 3 axes; got {len(sizes)}")
        )
    pads = pads_of(name, padding, list(x.shape[1:-1]), sizes, strides)
    x = tf.pad(x, [(0, 0), *pads, (0, 0)], constant_values=-onp.inf if kind == "MAX" else 0)
    return tf.nn.pool(x, sizes, kind, strides, "VALID")


def _computed(x: Any) -> Any:
    """Converts a tensor to a dtype that window operations support; float64 is exact for int32."""
    return x if x.dtype.is_floating else tf.cast(x, tf.float64)


def max_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The largest element of each window."""
    x = tensor(x)
    return tf.cast(_pool("MAX", "max_pool", _computed(x), pool_size, strides, padding), x.dtype)


def sum_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The sum of each window: its mean multiplied by its size."""
    x = tensor(x)
    means = _pool("AVG", "sum_pool", _computed(x), pool_size, strides, padding)
    sums = means * tf.cast(int(onp.prod(pool_size)), means.dtype)
    return tf.cast(sums if x.dtype.is_floating else tf.round(sums), x.dtype)


def avg_pool(x: Any, pool_size: Any, strides: Any, padding: Any) -> Any:
    """The mean of the elements of each window that are inside the array."""
    x = tensor(x)
    counts = window_counts([1, *x.shape[1:]], pool_size, strides, padding)
    sums = sum_pool(x, pool_size, strides, padding)
    dtype = x.dtype if x.dtype.is_floating else tf.float32
    return tf.cast(sums, dtype) / tf.cast(counts, dtype)


# --- sorting ---


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """The largest elements along the last axis, and their indices."""
    x = tensor(x)
    if not len(x.shape) or not 0 <= k <= x.shape[-1]:
        raise noted(ValueError(f"top_k: k={k} doesn't fit the last axis of shape {tuple(x.shape)}"))
    largest = tf.math.top_k(x, k)
    return largest.values, largest.indices


def sort_key_val(keys: Any, values: Any, dimension: int = -1) -> tuple[Any, Any]:
    """Sorted keys, and values in their order."""
    keys, values = tensor(keys), tensor(values)
    order = tf.argsort(keys, axis=dimension, stable=True)
    return (
        tnp.take_along_axis(keys, order, dimension),
        tnp.take_along_axis(values, order, dimension),
    )


# --- changed copies ---


def _changed(scatter: Callable[..., Any]) -> Callable[..., Any]:
    """A copy with changed elements. NumPy's indexing of an array of element numbers finds their
    places."""

    def change(x: Any, idx: Any, y: Any) -> Any:
        x = tensor(x)
        return _scattered(scatter, x, _numbers(x)[idx], y)

    return change


def _numbers(x: Any) -> Any:
    """An array of the same shape with the number of each element."""
    size = int(onp.prod(x.shape))
    return tf.reshape(tf.range(size), x.shape)


def _scattered(scatter: Callable[..., Any], x: Any, places: Any, y: Any) -> Any:
    updates = tf.reshape(tf.broadcast_to(tensor(y, x.dtype), tf.shape(places)), [-1])
    flat = scatter(tf.reshape(x, [-1]), tf.reshape(places, [-1, 1]), updates)
    return tf.reshape(flat, x.shape)


def _replace(flat: Any, places: Any, updates: Any) -> Any:
    """`tf.tensor_scatter_nd_update` with a derivative: if several updates have the same place, it
    goes to the one that is stored."""
    none = tf.fill(tf.shape(flat), -1)
    winner = tf.tensor_scatter_nd_update(none, places, tf.range(tf.size(updates)))
    if not updates.shape.num_elements():
        return flat
    return tf.where(winner < 0, flat, tf.gather(updates, tf.maximum(winner, 0)))


index_update = _changed(_replace)
index_add = _changed(tf.tensor_scatter_nd_add)
index_min = _changed(tf.tensor_scatter_nd_min)
index_max = _changed(tf.tensor_scatter_nd_max)


def _begins(operation: str, shape: Sequence[int], starts: Any, sizes: Sequence[int]) -> Any:
    """The start of a window, moved inside the array."""
    count = len(starts)  # a stacked tensor has no length during tracing
    starts = tf.stack([tf.cast(tensor(s), tf.int32) for s in starts]) if len(shape) else starts
    if not count == len(sizes) == len(shape) or any(map(int.__lt__, shape, sizes)):
        raise noted(
            ValueError(
                f"{operation}: a window of sizes {tuple(sizes)} with {count} starts doesn't "
                f"fit shape {tuple(shape)}"
            )
        )
    if not len(shape):
        return tf.zeros([0], tf.int32)
    lengths = tf.constant(shape, tf.int32)
    starts = tf.where(starts < 0, starts + lengths, starts)
    return tf.clip_by_value(starts, 0, lengths - tf.constant(sizes, tf.int32))


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any) -> Any:
    """A window."""
    x, sizes = tensor(operand), [int(n) for n in slice_sizes]
    return tf.slice(x, _begins("dynamic_slice", list(x.shape), start_indices, sizes), sizes)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A window along one axis."""
    x = tensor(operand)
    return dynamic_slice(x, *along(x, axis, start_index, slice_size))


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """A copy with a window replaced."""
    x, update = tensor(operand), tensor(update)
    sizes = [int(n) for n in update.shape]
    begins = _begins("dynamic_update_slice", list(x.shape), start_indices, sizes)
    places = tf.slice(_numbers(x), begins, sizes)
    return _scattered(_replace, x, places, update)


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """A copy with a window along one axis replaced."""
    x = tensor(operand)
    return dynamic_update_slice(x, update, along(x, axis, start_index)[0])
