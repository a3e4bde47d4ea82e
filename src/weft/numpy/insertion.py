"""Inserting and deleting elements: insert, delete."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import IndexingError, ShapeError
from ..primitives import comparison, creation, selection, structural
from ..typing import ArrayLike, Axis
from .axes import host_array, one_axis
from .axis_gathers import gather_along, take_static
from .creation import array, from_numpy
from .joining import concatenate
from .promotion import cast, value
from .ranges import concrete_argument
from .shapes import ravel
from .sorting import argsort, searchsorted

__all__ = ["delete", "insert"]


def _static_indices(name: str, obj: Any, n: int) -> Any:
    """Indices as a NumPy array of integers, and whether there was a single index."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n)), False
    if isinstance(obj, (list, tuple)):
        expected = "an index, a list of indices of one length, booleans or a slice"
        obj = host_array(name, obj, "obj", expected, None if obj else int)
    indices = np.asarray(concrete_argument(name, obj, "obj"))
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise ShapeError(f"{name}: a boolean obj must be of shape ({n},); got {indices.shape}")
        return np.flatnonzero(indices), False
    if indices.dtype.kind not in "iu":
        raise ShapeError(f"{name}: obj must be integers, booleans or a slice; got {indices.dtype}")
    return indices.astype(np.int64), indices.ndim == 0  # a narrow dtype may not represent `n`


@located
def delete(
    arr: ArrayLike, obj: Any, axis: Axis = None, *, assume_unique_indices: bool = False
) -> Array:
    """A copy of an array with elements deleted along an axis.

    Args:
      arr: array of any shape.
      obj: an index, indices, booleans, or a slice; except for a single index, it must be known at
        tracing time.
      axis: one axis; None flattens the array first.
      assume_unique_indices: ignored.
    Returns: array with a shorter axis.
    Raises: IndexError: an index is out of range.
    Example:
      >>> np.delete(np.arange(4), 1)
      Array([0, 2, 3], dtype=int32)
    """
    x = value("delete", arr, "arr")
    if axis is None:
        x, axis = ravel(x), 0
    i = one_axis("delete", axis, x)
    n = x.shape[i]
    if isinstance(obj, Value) and obj.concrete() is None and obj.ndim == 0:
        obj = cast(obj, dtypes.default_int())  # a narrow dtype may not represent `n`
        positions = from_numpy(np.arange(n - 1, dtype=obj.dtype))
        index = selection.select_n(comparison.lt(obj, creation.zeros(obj.aval)), obj, obj + n)
        return gather_along(x, positions + (positions >= index), i)
    indices, _ = _static_indices("delete", obj, n)
    indices = np.atleast_1d(indices)
    if ((indices < -n) | (indices >= n)).any():
        raise IndexingError(
            f"delete: index {indices.tolist()} is out of range for axis {i} of {x.aval}"
        )
    is_kept = np.ones(n, bool)
    is_kept[indices] = False
    return take_static(x, np.flatnonzero(is_kept), i)


def _traced_indices(obj: Any, n: int) -> Any:
    """Run-time indices, clamped to 0 … n."""
    if dtypes.is_bool(obj.dtype):
        concrete_argument(
            "insert", obj, "obj"
        )  # raises the error for a traced mask, which would decide the shape
    if not dtypes.is_integer(obj.dtype):
        raise TypeError(f"insert: obj must be integers, booleans or a slice; got {obj.aval}")
    indices = cast(obj, dtypes.default_int())
    zero, end = literal(0, indices.dtype), literal(n, indices.dtype)
    indices = selection.select_n(comparison.lt(indices, zero), indices, indices + end)
    return selection.clamp(zero, indices, end)


def _merged(indices: Any, n: int, count: int) -> Any:
    """For each element of the result of `insert`, its index in the array followed by the new
    values."""
    positions = from_numpy(np.arange(n + count, dtype=indices.dtype))
    if not count:
        return positions
    order = argsort(indices)
    new_positions = gather_along(indices, order) + from_numpy(np.arange(count, dtype=indices.dtype))
    count_before = cast(
        searchsorted(new_positions, positions), indices.dtype
    )  # the number of new values before each element
    is_new = comparison.eq(gather_along(new_positions, count_before), positions)
    return selection.select_n(
        is_new, positions - count_before, gather_along(order, count_before) + n
    )


@located
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: Axis = None) -> Array:
    """A copy of an array with values inserted before indices along an axis.

    Args:
      arr: array of any shape.
      obj: an index, indices, or a slice of `arr`. Traced indices out of range are clamped; booleans
        and slices must be known at tracing time.
      values: array that broadcasts to the inserted part.
      axis: one axis; None flattens the array first.
    Returns: array with a longer axis and the dtype of `arr`.
    Raises: IndexError: an index is out of range.
    Example:
      >>> np.insert(np.arange(3), 1, 9)
      Array([0, 9, 1, 2], dtype=int32)
    """
    x = value("insert", arr, "arr")
    if axis is None:
        x, axis = ravel(x), 0
    i = one_axis("insert", axis, x)
    n = x.shape[i]
    if isinstance(obj, (list, tuple)) and any([isinstance(k, Value) for k in obj]):
        obj = array(obj)
    is_traced = isinstance(obj, Value) and obj.concrete() is None
    if is_traced:
        indices, is_single = _traced_indices(obj, n), obj.ndim == 0
    else:
        indices, is_single = _static_indices("insert", obj, n)
        if ((indices < -n) | (indices > n)).any():
            raise IndexingError(
                f"insert: index {indices.tolist()} is out of range for axis {i} of {x.aval}"
            )
        indices = np.where(indices < 0, indices + n, indices)
    new_values: Any = (
        array(values) if isinstance(values, (list, tuple)) else value("insert", values, "values")
    )
    new_values = cast(new_values, x.dtype, x.aval.weak_type)
    if new_values.ndim < x.ndim:
        new_values = structural.reshape(
            new_values, shape=(1,) * (x.ndim - new_values.ndim) + new_values.shape
        )
    if is_single:
        new_values = structural.move_axis(
            new_values, 0, i
        )  # NumPy's rule: the first axis runs along `axis`
        count = new_values.shape[i]
        indices = structural.widen(indices, (count,)) if is_traced else np.full(count, int(indices))
    else:
        indices = indices.reshape(-1)
        count = len(indices)
    shape = tuple([count if k == i else m for k, m in enumerate(x.shape)])
    new_values = structural.widen(new_values, shape)
    if is_traced:
        return gather_along(concatenate([x, new_values], i), _merged(indices, n, count), i)
    order = np.argsort(indices, kind="stable")
    positions = indices[order] + np.arange(count)
    source = np.zeros(n + count, int)
    is_inserted = np.zeros(n + count, bool)
    is_inserted[positions] = True
    source[positions] = n + order
    source[~is_inserted] = np.arange(n)
    return take_static(concatenate([x, new_values], i), source, i)
