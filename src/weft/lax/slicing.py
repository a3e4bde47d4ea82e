"""Slices at static positions: slice, slice_in_dim, index_in_dim; windows at run-time positions:
dynamic_slice, dynamic_slice_in_dim, dynamic_index_in_dim, dynamic_update_slice,
dynamic_update_slice_in_dim, dynamic_update_index_in_dim."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, literal
from ..core.source import located
from ..errors import IndexingError, ShapeError
from ..option_checks import ints_of, shape_of
from ..primitives import dynamic_slicing, slicing, structural
from ..primitives.comparison import lt
from ..primitives.selection import where
from ..primitives.structural import add
from ..typing import ArrayLike, Shape
from .axes import axis_of, int_of
from .operands import uncommitted

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "index_in_dim",
    "slice",
    "slice_in_dim",
]


@located
def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Every stride-th element from a start index up to a limit, along each axis.

    Args:
      operand: array [n0, …], any dtype.
      start_indices, limit_indices: for each axis, 0 <= start <= limit <= n.
      strides: positive ints; 1 by default.
    Returns: array; each axis has length ceil((limit - start) / stride).
    Raises: ValueError: an index is out of range.
    Source: StableHLO `slice`.
    Example:
      >>> lax.slice(np.arange(10), (1,), (8,), (3,)).tolist()
      [1, 4, 7]
    """
    x = as_value(operand)
    start = ints_of("slice", "start_indices", start_indices)
    limit = ints_of("slice", "limit_indices", limit_indices)
    steps = (1,) * len(start) if strides is None else ints_of("slice", "strides", strides)
    if limit == x.shape and not any(start) and all(s == 1 for s in steps) and len(steps) == x.ndim:
        return x
    return slicing.slice_(x, start=start, limit=limit, strides=steps)


@located
def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """`slice` along one axis.

    Args:
      operand: array, any dtype.
      start_index, limit_index: negative ones count from the end; `None` means the beginning or end
        of the axis.
      stride: a positive int.
      axis: negative ones count from the end.
    Returns: array.
    Raises: ValueError: an index is out of range.
    Example:
      >>> lax.slice_in_dim(np.arange(6), -3, None).tolist()
      [3, 4, 5]
    """
    x = as_value(operand)
    dim = axis_of("slice_in_dim", x, axis)
    n = x.shape[dim]
    name = "slice_in_dim"
    begin = 0 if start_index is None else int_of(name, "start_index", start_index)
    end = n if limit_index is None else int_of(name, "limit_index", limit_index)
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    start[dim] = begin + n if begin < 0 else begin
    limit[dim] = end + n if end < 0 else end
    strides[dim] = int_of(name, "stride", stride)
    return slice(x, start, limit, strides)


@located
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """The elements at one index along an axis.

    Args:
      operand: array, any dtype.
      index: an int; a negative one counts from the end.
      axis: negative ones count from the end.
      keepdims: whether to keep the axis, with length one.
    Returns: array.
    Raises: IndexError: out of bounds.
    Example:
      >>> lax.index_in_dim(np.array([[1, 2], [3, 4]]), -1, 1).tolist()
      [[2], [4]]
    """
    x = as_value(operand)
    dim = axis_of("index_in_dim", x, axis)
    position = int_of("index_in_dim", "index", index)
    n = x.shape[dim]
    if not -n <= position < n:
        raise IndexingError(
            f"index_in_dim: index {position} is out of bounds for axis {dim} of {x.aval}"
        )
    position = position + n if position < 0 else position
    return _without(slice_in_dim(x, position, position + 1, 1, dim), dim, keepdims)


def _without(x: Any, axis: int, keepdims: bool) -> Any:
    """An array without an axis of length one, unless `keepdims` is True."""
    if keepdims:
        return x
    return structural.reshape(x, shape=(*x.shape[:axis], *x.shape[axis + 1 :]))


# --- at run time ---


def _starts(name: str, x: Any, indices: Any, negative: bool | Sequence[bool]) -> list[Any]:
    """Start indices as values; negative ones count from the end. Known indices are computed in
    Python."""
    if isinstance(indices, (Array, np.ndarray)) or hasattr(indices, "aval"):
        if indices.ndim != 1:
            raise ShapeError(
                f"{name}: start indices must be a sequence of scalars or an array of one axis; got "
                f"{as_value(indices).aval}"
            )
        indices = list(as_value(indices))
    if not hasattr(indices, "__len__"):
        raise TypeError(
            f"{name}: start_indices must be a sequence of scalars or an array of one axis; got "
            f"{indices!r:.80}"
        )
    if len(indices) != x.ndim:
        raise ShapeError(f"{name}: {x.aval} needs {x.ndim} start indices; got {len(indices)}")
    if isinstance(negative, bool):
        wrap = [negative] * x.ndim
    elif isinstance(negative, (list, tuple)):
        wrap = list(negative)
    else:
        raise TypeError(
            f"{name}: allow_negative_indices must be a bool, or a bool for each index; got "
            f"{negative!r:.80}"
        )
    if len(wrap) != x.ndim:
        raise ShapeError(f"{name}: allow_negative_indices: {x.ndim} are needed; got {len(wrap)}")
    return [start_index(name, i, n, w) for i, n, w in zip(indices, x.shape, wrap, strict=True)]


def start_index(name: str, index: Any, n: int, wrap: bool) -> Any:
    """A start index as a value, with n added if it is negative."""
    if index.__class__ is not int:
        index = as_value(index)
        if index.ndim or not dtypes.is_integer(index.dtype):
            raise ShapeError(f"{name}: start indices must be integer scalars; got {index.aval}")
        if not wrap or dtypes.is_unsigned(index.dtype):
            return index
        if not uncommitted(index) or index._host is None:
            if dtypes.iinfo(index.dtype).max < n:
                index = structural.convert_element_type(index, dtype=dtypes.default_int())
            return counted_from_end(index, n)
        index = int(index._host)
    if wrap and index < 0:
        index += n
    return as_value(min(max(index, -1), n))  # fits the dtype; XLA clamps it


def counted_from_end(index: Any, n: int) -> Any:
    """Signed indices for an axis of length `n`: negative ones count from its end."""
    length, zero = literal(n, index.dtype), literal(0, index.dtype)
    return where(lt(index, zero), add(index, length), index)


@located
def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Shape,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Reads a window of static size at run-time start indices.

    Args:
      operand: array [n0, …, nk], any dtype.
      start_indices: k+1 integer scalars, or an array [k+1]; negative ones count from the end.
        Then they are clamped so that the window is inside.
      slice_sizes: k+1 ints, 0 <= size <= n.
      allow_negative_indices: False if there are none, which saves a comparison; or a bool for each
        index.
    Returns: array of shape `slice_sizes`, dtype of `operand`.
    Raises: TypeError: a size is too large, or an index is not an integer. ValueError: the numbers
      of indices and axes differ.
    Source: StableHLO `dynamic_slice`.
    Example:
      >>> lax.dynamic_slice(np.arange(6), (4,), (3,)).tolist()
      [3, 4, 5]
    """
    x = as_value(operand)
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    sizes = shape_of("dynamic_slice", slice_sizes)
    return dynamic_slicing.dynamic_slice(x, *starts, sizes=sizes)


@located
def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Writes a window at run-time start indices; returns a new array.

    Args:
      operand: array [n0, …, nk], any dtype.
      update: array [m0, …, mk] of the same dtype, m <= n.
      start_indices: k+1 integer scalars, or an array [k+1]; negative ones count from the end.
        Then they are clamped so that the window is inside.
      allow_negative_indices: as in `dynamic_slice`.
    Returns: array like `operand`.
    Raises: TypeError: the dtypes differ or the update is too large. ValueError: the numbers of
      indices and axes differ.
    Source: StableHLO `dynamic_update_slice`.
    Example:
      >>> lax.dynamic_update_slice(np.zeros(4, int), np.array([1, 2]), (9,)).tolist()
      [0, 0, 1, 2]
    """
    x, window = as_value(operand), as_value(update)
    starts = _starts("dynamic_update_slice", x, start_indices, allow_negative_indices)
    return dynamic_slicing.dynamic_update_slice(x, window, *starts)


def _along(x: Any, axis: int, index: ArrayLike) -> list[Any]:
    """Start indices that are zero except along one axis."""
    starts: list[Any] = [0] * x.ndim
    starts[axis] = index
    return starts


@located
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_slice` along one axis.

    Args:
      operand: array, any dtype.
      start_index: an integer scalar; a negative one counts from the end.
      slice_size: the window's length.
      axis: negative ones count from the end.
      allow_negative_indices: as in `dynamic_slice`.
    Returns: array.
    Example:
      >>> lax.dynamic_slice_in_dim(np.arange(5), 1, 3).tolist()
      [1, 2, 3]
    """
    x = as_value(operand)
    dim = axis_of("dynamic_slice_in_dim", x, axis)
    size = int_of("dynamic_slice_in_dim", "slice_size", slice_size)
    sizes = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    return dynamic_slice(
        x, _along(x, dim, start_index), sizes, allow_negative_indices=allow_negative_indices
    )


@located
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """The elements at one run-time index along an axis.

    Args:
      operand: array, any dtype.
      index: an integer scalar; a negative one counts from the end.
      axis: negative ones count from the end.
      keepdims: whether to keep the axis, with length one.
      allow_negative_indices: as in `dynamic_slice`.
    Returns: array.
    Example:
      >>> lax.dynamic_index_in_dim(np.array([[1, 2], [3, 4]]), 1, keepdims=False).tolist()
      [3, 4]
    """
    x = as_value(operand)
    dim = axis_of("dynamic_index_in_dim", x, axis)
    elements = dynamic_slice_in_dim(x, index, 1, dim, allow_negative_indices=allow_negative_indices)
    return _without(elements, dim, keepdims)


@located
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_update_slice` along one axis.

    Args:
      operand: array, any dtype.
      update: array of the same dtype and number of axes.
      start_index: an integer scalar; a negative one counts from the end.
      axis: negative ones count from the end.
      allow_negative_indices: as in `dynamic_slice`.
    Returns: array like `operand`.
    Example:
      >>> lax.dynamic_update_slice_in_dim(np.zeros(4, int), np.array([7]), 2, 0).tolist()
      [0, 0, 7, 0]
    """
    x = as_value(operand)
    dim = axis_of("dynamic_update_slice_in_dim", x, axis)
    return dynamic_update_slice(
        x, update, _along(x, dim, start_index), allow_negative_indices=allow_negative_indices
    )


@located
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Writes the elements at one run-time index along an axis; returns a new array.

    Args:
      operand: array, any dtype.
      update: array of the same dtype, with the axis, of length one, or without it.
      index: an integer scalar; a negative one counts from the end.
      axis: negative ones count from the end.
      allow_negative_indices: as in `dynamic_slice`.
    Returns: array like `operand`.
    Example:
      >>> lax.dynamic_update_index_in_dim(np.zeros((2, 2), int), np.array([1, 2]), 1, 0).tolist()
      [[0, 0], [1, 2]]
    """
    x, elements = as_value(operand), as_value(update)
    dim = axis_of("dynamic_update_index_in_dim", x, axis)
    if elements.ndim != x.ndim:
        shape = (*elements.shape[:dim], 1, *elements.shape[dim:])
        elements = structural.reshape(elements, shape=shape)
    return dynamic_update_slice_in_dim(
        x, elements, index, dim, allow_negative_indices=allow_negative_indices
    )
