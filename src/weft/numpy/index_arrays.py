"""The arrays of an index: what gathers and scatters take for the places that it names.

Knows places known now and at run time; knows nothing of what is done there.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import as_value, from_host
from ..lax.slicing import counted_from_end
from ..primitives.slicing import concatenate
from ..primitives.structural import broadcast_in_dim, convert_element_type, reshape


def with_inserted(x: Any, axes: Sequence[int]) -> Any:
    """An array with axes of length one inserted, one after the other."""
    for axis in axes:
        x = reshape(x, shape=(*x.shape[:axis], 1, *x.shape[axis:]))
    return x


def place_array(
    columns: Sequence[tuple[int, Any, tuple[int, ...], bool]], shape: tuple[int, ...]
) -> Any:
    """The indices of a gather or scatter, [*shape, columns]: one column for each indexed axis.

    Args:
      columns: the axis's length; places, as an int, NumPy's integers or a value; which axes of
        `shape` they run along; whether negative ones count from the end.
    """
    if not columns:
        return from_host(np.zeros((*shape, 0), dtypes.default_int()), copy=False)
    long = max(n for n, *_ in columns) > dtypes.iinfo(dtypes.int32).max
    kind = dtypes.int64 if long else dtypes.int32
    arrays = []
    for n, places, _, wrap in columns:
        if isinstance(places, (int, np.ndarray, np.generic)):
            arrays.append(known_places(n, places, wrap, kind))
        else:
            arrays.append(run_time_places(n, places, wrap))
    if all(isinstance(a, np.ndarray) for a in arrays):
        spread = [
            np.broadcast_to(_along(a, dims, len(shape)), shape)
            for a, (_, _, dims, _) in zip(arrays, columns, strict=True)
        ]
        return from_host(np.stack(spread, -1), copy=False)
    values = [as_value(a) for a in arrays]
    kinds = {v.dtype for v in values}
    common = kinds.pop() if len(kinds) == 1 else kind
    made = []
    for v, (_, _, dims, _) in zip(values, columns, strict=True):
        if v.dtype != common:
            v = convert_element_type(v, dtype=common)
        made.append(broadcast_in_dim(v, shape=(*shape, 1), dims=dims))
    return concatenate(*made, dimension=len(shape)) if len(made) > 1 else made[0]


def _along(a: Any, dims: tuple[int, ...], rank: int) -> Any:
    """A NumPy array with its axes at `dims` of so many."""
    lengths = dict(zip(dims, a.shape, strict=True))
    return a.reshape([lengths.get(i, 1) for i in range(rank)])


def known_places(n: int, places: Any, wrap: bool, kind: Any) -> np.ndarray[Any, Any]:
    """Places known now, in a dtype of the device; ones far out of range stay out of it."""
    array = np.asarray(places)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(n))
    array = array.astype(np.int64)
    if wrap:
        array = np.where(array < 0, array + n, array)
    return np.clip(array, -1, n).astype(kind)


def run_time_places(n: int, places: Any, wrap: bool) -> Any:
    """Places known at run time, negative ones counted from the end."""
    if not wrap or dtypes.is_unsigned(places.dtype):
        return places
    if dtypes.iinfo(places.dtype).max < n:
        places = convert_element_type(places, dtype=dtypes.default_int())
    return counted_from_end(places, n)
