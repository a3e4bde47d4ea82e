"""Set operations on host arrays, with NumPy, for the functions in `sets.py`.

The first of equal elements represents them, because -0.0 equals 0.0.
"""

from typing import Any

import numpy as np

from ..primitives.sorting import sorted_alone

HostArray = np.ndarray[Any, Any]


def _in_order(x: HostArray) -> HostArray:
    """Sorts the elements; equal elements keep their order."""
    return sorted_alone(x, 0, is_stable=True)


def firsts(ordered: HostArray, equal_nan: bool = True) -> HostArray:
    """True for the first of each group of equal elements in a sorted array."""
    first = np.ones(ordered.size, bool)
    before, after = ordered[:-1], ordered[1:]
    np.not_equal(before, after, out=first[1:])
    if equal_nan and ordered.dtype.kind == "f" and ordered.size and ordered[-1] != ordered[-1]:
        first[1:] &= (before == before) | (after == after)
    return first


def unique(
    x: HostArray, equal_nan: bool, index: bool, inverse: bool, counts: bool
) -> tuple[Any, ...]:
    """The sorted distinct elements, and if requested (otherwise `None`) the index of the first
    occurrence, the inverse indices, and the counts."""
    order: Any = np.argsort(x, kind="stable") if index or inverse else None
    ordered = _in_order(x) if order is None else x[order]
    first = firsts(ordered, equal_nan)
    positions: Any = None
    if inverse:
        positions = np.empty(x.size, np.intp)
        positions[order] = np.cumsum(first) - 1
    count = np.diff(np.flatnonzero(first), append=x.size) if counts else None
    return ordered[first], order[first] if index else None, positions, count


def members(x: HostArray, ordered: HostArray) -> HostArray:
    """True for the elements of an array that are in a sorted array."""
    if not ordered.size:
        return np.zeros(x.shape, bool)
    positions = np.searchsorted(ordered, x)
    return ordered[np.minimum(positions, ordered.size - 1)] == x


def difference(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements of `x` that are not in `y`, sorted."""
    ordered = _in_order(x)
    return ordered[firsts(ordered) & ~members(ordered, np.sort(y))]


def without(x: HostArray, y: HostArray) -> HostArray:
    """The elements of `x` that are not in `y`, in their order."""
    return x[~members(x, np.sort(y))]


def exclusive(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements that are in exactly one of two arrays, sorted. NaN does not equal NaN,
    so if both arrays have it, it occurs twice."""
    distinct = [ordered[firsts(ordered)] for ordered in (_in_order(x), _in_order(y))]
    both = _in_order(np.concatenate(distinct))
    alone = np.ones(both.size, bool)
    differs = both[1:] != both[:-1]
    alone[1:] &= differs
    alone[:-1] &= differs
    return both[alone]


def common(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements that are in both arrays, sorted."""
    ordered = _in_order(x)
    return ordered[firsts(ordered) & members(ordered, np.sort(y))]


def common_with_indices(x: HostArray, y: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """The distinct elements that are in both arrays, and the indices of their first occurrence in
    `x` and in `y`."""
    order_x, order_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    sorted_x, sorted_y = x[order_x], y[order_y]
    in_x = firsts(sorted_x) & members(sorted_x, sorted_y)
    in_y = firsts(sorted_y) & members(sorted_y, sorted_x)
    return sorted_x[in_x], order_x[in_x], order_y[in_y]
