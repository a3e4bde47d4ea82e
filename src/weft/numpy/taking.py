"""Taking elements by arrays of indices or by masks: take, take_along_axis, compress, extract."""

from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, as_value, literal
from ..core.source import located
from ..core.trace import current
from ..lax.indexing import fill_number
from ..lax.operands import uncommitted
from ..primitives.arithmetic import rem
from ..primitives.comparison import lt
from ..primitives.gather_dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..primitives.indexing import gather
from ..primitives.selection import clamp, where
from ..primitives.structural import add, convert_element_type, reshape, widen
from ..typing import ArrayLike, Axis
from .axes import one_axis
from .gather_indices import mode_argument, run_time_indices, static_indices
from .indexing import getitem, nonzero
from .plans import hosts_of
from .promotion import cast, no_out, noted, value
from .reductions import truth
from .shapes import joint_shape

__all__ = ["compress", "extract", "take", "take_along_axis"]


_base = current.base
FILL, CLIP = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.CLIP
Mode = str | GatherScatterMode | None


def integers(name: str, x: Any, argument: str = "indices") -> Any:
    """A value of an integer dtype; booleans become 0 and 1."""
    v = value(name, x, argument)
    if v.dtype == np.bool_:
        return convert_element_type(v, dtype=dtypes.default_int())
    if not dtypes.is_integer(v.dtype):
        text = f"{name}: {argument} must be integers; got {v.aval}"
        raise noted(errors.ShapeError(f"{text}\n  fix: {argument}.astype(int)"))
    return v


def gather_positions(
    name: str, indices: Any, n: int, mode: Mode, clip_negative: bool = False, wrap: bool = True
) -> tuple[Any, GatherScatterMode]:
    """Indices for an axis of length `n`, and the gather mode, for one of NumPy's modes.

    Args:
      clip_negative: with "clip", negative indices become 0 instead of counting from the end.
      wrap: negative indices count from the end; otherwise they are out of range.
    """
    if mode == "wrap":
        return wrapped(indices, n), GatherScatterMode.PROMISE_IN_BOUNDS
    if mode == "raise":
        raise noted(
            NotImplementedError(
                f"{name}: mode 'raise': a compiled program cannot raise errors\n"
                "  fix: mode='fill', 'clip' or 'wrap'"
            )
        )
    gather_mode = mode_argument(name, mode)
    if gather_mode is CLIP and clip_negative:
        return indices, gather_mode
    concrete = indices.concrete()
    if concrete is not None and uncommitted(concrete):
        return as_value(static_indices(n, concrete.host(), wrap, dtypes.int32)), gather_mode
    return run_time_indices(n, indices, wrap), gather_mode


def wrapped(indices: Any, n: int) -> Any:
    """Indices modulo a length."""
    if dtypes.bit_width(indices.dtype) < 32:
        indices = convert_element_type(indices, dtype=dtypes.default_int())
    length, zero = literal(max(n, 1), indices.dtype), literal(0, indices.dtype)
    remainder = rem(indices, length)
    if dtypes.is_unsigned(indices.dtype):
        return remainder
    return where(lt(remainder, zero), add(remainder, length), remainder)


def on_host(function: Any, x: Any, indices: Any, axis: int, **options: Any) -> Any:
    """The result of NumPy's function if both arrays are on the host and no index is out of range;
    otherwise `None`."""
    hosts = hosts_of(x, indices)
    if hosts is None:
        return None
    try:
        result = function(*hosts, axis=axis, **options)
    except (IndexError, TypeError, ValueError):
        return None
    return Array(result, x.aval.update(shape=result.shape))


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: Axis = None,
    out: None = None,
    mode: Mode = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Takes the slices of an array at indices along an axis.

    Args:
      a: array.
      indices: integers of any shape; negative indices count from the end.
      axis: the indexed axis; None flattens the array.
      mode: for indices out of range: "fill" (or `None`) reads `fill_value`, "clip" the nearest
        slice (negative indices become 0), "wrap" takes the index modulo the length; "raise" is an
        error, for known indices only.
      unique_indices, indices_are_sorted: promises that make it faster on accelerators.
      fill_value: a number; by default NaN, the lowest signed or highest unsigned integer, or True.
    Returns: array with `axis` replaced by the shape of `indices`.
    Raises: TypeError: the indices are not integers. IndexError: the axis has no elements.
    Example:
      >>> np.take(np.array([10, 20, 30]), np.array([2, 0, -1])).tolist()
      [30, 10, 30]
    """
    no_out("take", out)
    x, i = value("take", a), integers("take", indices)
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis("take", axis, x)
    if mode == "raise" and (concrete := i.concrete()) is not None:  # passed by NumPy
        _check_range("take", concrete, x.shape[d])
        mode = None
    if mode is None or mode in ("fill", "clip", "wrap"):
        result = on_host(np.take, x, i, d, mode="raise" if mode in (None, "fill") else mode)
        if result is not None:
            return result
    n = x.shape[d]
    if not n and i.size:
        raise noted(errors.IndexingError(f"take: axis {d} of {x.aval} has no elements to take"))
    shape = (*x.shape[:d], *i.shape, *x.shape[d + 1 :])
    if not n:
        return reshape(x, shape=shape)
    positions, gather_mode = gather_positions("take", i, n, mode, clip_negative=True)
    rank = i.ndim
    return gather(
        x,
        reshape(positions, shape=(*i.shape, 1)),
        dimension_numbers=GatherDimensionNumbers(
            (*range(d), *range(d + rank, x.ndim - 1 + rank)), (d,), (d,)
        ),
        slice_sizes=(*x.shape[:d], 1, *x.shape[d + 1 :]),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=gather_mode,
        fill_value=fill_number("take", x.dtype, fill_value) if gather_mode is FILL else None,
    )


def _check_range(name: str, indices: Array, n: int) -> None:
    """Raises an IndexError for an index out of range for an axis of length `n`."""
    host = np.asarray(indices.host())
    if ((host < -n) | (host >= n)).any():
        raise noted(
            IndexError(f"{name}: an index is out of range: expected {-n} to {n - 1}; got {host}")
        )


def _broadcast_along(name: str, x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    """An array and indices, broadcast together along all axes except one."""
    if indices.ndim != x.ndim:
        raise noted(
            errors.ShapeError(
                f"{name}: indices must have as many axes as {x.aval}; got {indices.aval}"
            )
        )
    other_shapes = [(*v.shape[:axis], 1, *v.shape[axis + 1 :]) for v in (x, indices)]
    shape = joint_shape(name, other_shapes)
    return tuple(  # type: ignore[return-value]
        widen(v, (*shape[:axis], v.shape[axis], *shape[axis + 1 :])) for v in (x, indices)
    )


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Mode = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Takes elements from each one-dimensional slice along an axis, by indices in the same slice.

    Args:
      arr: array.
      indices: integers with as many axes as `arr`; broadcast along all axes except `axis`.
      axis: the indexed axis; None flattens the array.
      mode, fill_value: as in `take`.
      wrap_negative_indices: whether negative indices count from the end (the default) or are out of
        range. The mode "wrap" always takes them modulo the length.
    Returns: array with the length of `indices` along `axis`.
    Raises: TypeError: the indices are not integers. ValueError: the shapes do not match.
    Example:
      >>> x = np.array([[10, 30, 20], [60, 40, 50]])
      >>> np.take_along_axis(x, np.array([[0, 2, 1], [1, 2, 0]]), axis=1).tolist()
      [[10, 20, 30], [40, 50, 60]]
    """
    name = "take_along_axis"
    x, i = value(name, arr, "arr"), integers(name, indices)
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis(name, axis, x)
    wrap = wrap_negative_indices is None or bool(wrap_negative_indices)
    if mode in (None, "fill") and wrap and i.ndim == x.ndim:
        result = on_host(np.take_along_axis, x, i, d)
        if result is not None:
            return result
    x, i = _broadcast_along(name, x, i, d)
    if not i.size:
        return reshape(getitem(x, (*(slice(None),) * d, slice(0, 0))), shape=i.shape)
    if not x.shape[d]:
        raise noted(errors.IndexingError(f"{name}: axis {d} of {x.aval} has no elements to take"))
    positions, gather_mode = gather_positions(name, i, x.shape[d], mode, wrap=wrap)
    batch_axes = tuple(a for a in range(x.ndim) if a != d)
    return gather(
        x,
        reshape(positions, shape=(*i.shape, 1)),
        dimension_numbers=GatherDimensionNumbers((), (d,), (d,), batch_axes, batch_axes),
        slice_sizes=(1,) * x.ndim,
        indices_are_sorted=False,
        unique_indices=False,
        mode=gather_mode,
        fill_value=fill_number("take_along_axis", x.dtype, fill_value)
        if gather_mode is FILL
        else None,
    )


@located
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: Axis = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The slices of an array along an axis where a condition is true.

    Args:
      condition: boolean array of one axis; missing elements are False.
      a: array.
      axis: the axis of the slices; None flattens the array.
      size: the number of slices to return: the first ones, padded with `fill_value`. It is required
        when the condition is traced, because it decides the shape of the result.
      fill_value: a number.
    Returns: array, shorter along `axis`.
    Raises: ValueError: the condition does not have one axis, or is too long.
    Example:
      >>> np.compress(np.array([False, True]), np.array([[1, 2], [3, 4]]), axis=0).tolist()
      [[3, 4]]
    """
    no_out("compress", out)
    flags, x = truth("compress", condition, "condition"), value("compress", a)
    if flags.ndim != 1:
        raise errors.ShapeError(f"compress: condition must have one axis; got {flags.aval}")
    if axis is None:
        x, d = reshape(x, shape=(x.size,)), 0
    else:
        d = one_axis("compress", axis, x)
    n = x.shape[d]
    if flags.size > n:
        concrete = flags.concrete()
        if concrete is None or concrete.host()[n:].any():
            text = f"compress: condition {flags.aval} is longer than axis {d} of {x.aval}"
            raise errors.ShapeError(text)
        flags = getitem(flags, slice(0, n))
    if size is None:
        (positions,) = nonzero(flags)
        return take(x, positions, axis=d, mode="clip") if n else x
    (positions,) = nonzero(flags, size=size, fill_value=n)
    if not n:
        shape = (*x.shape[:d], size, *x.shape[d + 1 :])
        return widen(cast(as_value(fill_value), x.dtype), shape)
    concrete_fill = as_value(fill_value).concrete()
    if concrete_fill is not None and not concrete_fill.ndim:
        return take(x, positions, axis=d, mode="fill", fill_value=concrete_fill.host().item())
    exists = lt(positions, literal(n, positions.dtype))
    mask = reshape(exists, shape=(size, *(1,) * (x.ndim - d - 1)))
    return where(mask, take(x, positions, axis=d, mode="clip"), cast(as_value(fill_value), x.dtype))


@located
def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """The elements of an array where a condition is true, in row-major order.

    Args:
      condition: booleans.
      arr: array.
      size, fill_value: as in `compress`.
    Returns: array of one axis.
    Example:
      >>> x = np.arange(6)
      >>> np.extract(x % 3 == 0, x).tolist()
      [0, 3]
    """
    flags = truth("extract", condition, "condition")
    return compress(
        reshape(flags, shape=(flags.size,)),
        value("extract", arr, "arr"),
        size=size,
        fill_value=fill_value,
    )


def indices_in(name: str, indices: Any, n: int, mode: str) -> Any:
    """Indices from 0 to `n - 1`; the others are treated by one of NumPy's modes."""
    if mode == "raise":
        concrete = indices.concrete()
        if concrete is None:
            kind = errors.ConcretizationTypeError
            raise noted(indices.conversion_error(f"{name} with mode='raise'", kind))
        host = np.asarray(concrete.host())
        if ((host < 0) | (host >= n)).any():
            raise errors.IndexingError(f"{name}: an index is out of range: expected 0 to {n - 1}")
        return indices
    if mode == "wrap":
        return wrapped(indices, n)
    if mode == "clip":
        zero, last_index = literal(0, indices.dtype), literal(n - 1, indices.dtype)
        return clamp(zero, indices, last_index)
    raise ValueError(f"{name}: mode must be 'raise', 'clip' or 'wrap'; got {mode!r}")
