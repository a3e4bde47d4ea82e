"""Elements inserted and deleted."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import IndexingError, ShapeError
from ..primitives import comparison, selection, structural
from ..typing import ArrayLike, Axis
from .axes import one_axis
from .axis_choices import gather_along, take_known
from .creation import array, from_numpy
from .joining import concatenate
from .promotion import cast, value
from .ranges import known
from .shapes import ravel
from .sorting import argsort, searchsorted

__all__ = ["delete", "insert"]


def _places(name: str, obj: Any, n: int) -> Any:
    """Indices as NumPy's integers, not negative; and whether it was a single one."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n)), False
    if isinstance(obj, (list, tuple)):
        obj = np.asarray(obj, int if not len(obj) else None)
    found = np.asarray(known(name, obj, "obj"))
    if found.dtype == bool:
        if found.shape != (n,):
            raise ShapeError(f"{name}: a boolean obj must be of shape ({n},); got {found.shape}")
        return np.flatnonzero(found), False
    if found.dtype.kind not in "iu":
        raise ShapeError(f"{name}: obj must be integers, booleans or a slice; got {found.dtype}")
    return found.astype(np.int64), found.ndim == 0  # `n` need not fit a narrow dtype


@located
def delete(
    arr: ArrayLike, obj: Any, axis: Axis = None, *, assume_unique_indices: bool = False
) -> Array:
    """An array without some elements along an axis.

    Args:
      arr: array of any shape.
      obj: an index, indices, booleans, or a slice; known when the function is traced, but for a
        single index.
      axis: one axis; None flattens the array first.
      assume_unique_indices: for jax's sake.
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
        obj = cast(obj, dtypes.default_int())  # a narrow dtype need not have `n`
        line = from_numpy(np.arange(n - 1, dtype=obj.dtype))
        place = selection.select_n(comparison.lt(obj, structural.zeros(obj.aval)), obj, obj + n)
        return gather_along(x, line + (line >= place), i)
    places, _ = _places("delete", obj, n)
    places = np.atleast_1d(places)
    if ((places < -n) | (places >= n)).any():
        raise IndexingError(
            f"delete: index {places.tolist()} is out of range for axis {i} of {x.aval}"
        )
    keep = np.ones(n, bool)
    keep[places] = False
    return take_known(x, np.flatnonzero(keep), i)


def _traced_places(obj: Any, n: int) -> Any:
    """Run-time indices, none negative, none above `n`."""
    if dtypes.is_bool(obj.dtype):
        known("insert", obj, "obj")  # a mask says how many: it is refused
    if not dtypes.is_integer(obj.dtype):
        raise TypeError(f"insert: obj must be integers, booleans or a slice; got {obj.aval}")
    places = cast(obj, dtypes.default_int())
    zero, end = literal(0, places.dtype), literal(n, places.dtype)
    places = selection.select_n(comparison.lt(places, zero), places, places + end)
    return selection.clamp(zero, places, end)


def _merged(places: Any, n: int, count: int) -> Any:
    """For each element of the result of `insert`, its index in the array with the new values
    behind it."""
    line = from_numpy(np.arange(n + count, dtype=places.dtype))
    if not count:
        return line
    order = argsort(places)
    at = gather_along(places, order) + from_numpy(np.arange(count, dtype=places.dtype))
    before = cast(searchsorted(at, line), places.dtype)  # the new ones in front of each
    is_new = comparison.eq(gather_along(at, before), line)
    return selection.select_n(is_new, line - before, gather_along(order, before) + n)


@located
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: Axis = None) -> Array:
    """An array with values put in before some places along an axis.

    Args:
      arr: array of any shape.
      obj: an index, indices, or a slice, counted in `arr`. Traced ones that are out of range are
        moved inside; booleans and slices must be known when the function is traced.
      values: array that broadcasts to what goes in.
      axis: one axis; None flattens the array first.
    Returns: array with a longer axis, of the dtype of `arr`.
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
    traced = isinstance(obj, Value) and obj.concrete() is None
    if traced:
        places, single = _traced_places(obj, n), obj.ndim == 0
    else:
        places, single = _places("insert", obj, n)
        if ((places < -n) | (places > n)).any():
            raise IndexingError(
                f"insert: index {places.tolist()} is out of range for axis {i} of {x.aval}"
            )
        places = np.where(places < 0, places + n, places)
    new: Any = (
        array(values) if isinstance(values, (list, tuple)) else value("insert", values, "values")
    )
    new = cast(new, x.dtype)
    if new.ndim < x.ndim:
        new = structural.reshape(new, shape=(1,) * (x.ndim - new.ndim) + new.shape)
    if single:
        new = structural.move_axis(new, 0, i)  # NumPy's rule: the first axis runs along `axis`
        count = new.shape[i]
        places = structural.widen(places, (count,)) if traced else np.full(count, int(places))
    else:
        places = places.reshape(-1)
        count = len(places)
    shape = tuple([count if k == i else m for k, m in enumerate(x.shape)])
    new = structural.widen(new, shape)
    if traced:
        return gather_along(concatenate([x, new], i), _merged(places, n, count), i)
    order = np.argsort(places, kind="stable")
    at = places[order] + np.arange(count)
    source = np.zeros(n + count, int)
    inserted = np.zeros(n + count, bool)
    inserted[at] = True
    source[at] = n + order
    source[~inserted] = np.arange(n)
    return take_known(concatenate([x, new], i), source, i)
