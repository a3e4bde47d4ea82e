"""Set operations on host arrays, with NumPy, for the functions in `sets.py`.

The first of equal elements represents them, because -0.0 equals 0.0.
"""

from typing import Any

import numpy as np

from ..primitives.sorting import sort_one_array

HostArray = np.ndarray[Any, Any]


def _in_order(x: HostArray) -> HostArray:
    """Sorts the elements; equal elements keep their order."""
    return sort_one_array(x, 0, is_stable=True)


def firsts(sorted_x: HostArray, equal_nan: bool = True) -> HostArray:
    """True for the first of each group of equal elements in a sorted array."""
    is_first = np.ones(sorted_x.size, bool)
    predecessors, successors = sorted_x[:-1], sorted_x[1:]
    np.not_equal(predecessors, successors, out=is_first[1:])
    if equal_nan and sorted_x.dtype.kind == "f" and sorted_x.size and sorted_x[-1] != sorted_x[-1]:
        is_first[1:] &= (predecessors == predecessors) | (successors == successors)
    return is_first


def unique(
    x: HostArray, equal_nan: bool, index: bool, inverse: bool, counts: bool
) -> tuple[Any, ...]:
    """The sorted distinct elements, and if requested (otherwise `None`) the index of the first
    occurrence, the inverse indices, and the counts."""
    order: Any = np.argsort(x, kind="stable") if index or inverse else None
    sorted_x = _in_order(x) if order is None else x[order]
    is_first = firsts(sorted_x, equal_nan)
    positions: Any = None
    if inverse:
        positions = np.empty(x.size, np.intp)
        positions[order] = np.cumsum(is_first) - 1
    count = np.diff(np.flatnonzero(is_first), append=x.size) if counts else None
    return sorted_x[is_first], order[is_first] if index else None, positions, count


def members(x: HostArray, sorted_y: HostArray) -> HostArray:
    """True for the elements of an array that are in a sorted array."""
    if not sorted_y.size:
        return np.zeros(x.shape, bool)
    positions = np.searchsorted(sorted_y, x)
    return sorted_y[np.minimum(positions, sorted_y.size - 1)] == x


def difference(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements of `x` that are not in `y`, sorted."""
    sorted_x = _in_order(x)
    return sorted_x[firsts(sorted_x) & ~members(sorted_x, np.sort(y))]


def without(x: HostArray, y: HostArray) -> HostArray:
    """The elements of `x` that are not in `y`, in their order."""
    return x[~members(x, np.sort(y))]


def exclusive(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements that are in exactly one of two arrays, sorted. NaN does not equal NaN,
    so if both arrays have it, it occurs twice."""
    distinct = [sorted_array[firsts(sorted_array)] for sorted_array in (_in_order(x), _in_order(y))]
    elements = _in_order(np.concatenate(distinct))
    is_single = np.ones(elements.size, bool)
    differs = elements[1:] != elements[:-1]
    is_single[1:] &= differs
    is_single[:-1] &= differs
    return elements[is_single]


def common(x: HostArray, y: HostArray) -> HostArray:
    """The distinct elements that are in both arrays, sorted."""
    sorted_x = _in_order(x)
    return sorted_x[firsts(sorted_x) & members(sorted_x, np.sort(y))]


def common_with_indices(x: HostArray, y: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """The distinct elements that are in both arrays, and the indices of their first occurrence in
    `x` and in `y`."""
    order_x, order_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    sorted_x, sorted_y = x[order_x], y[order_y]
    in_x = firsts(sorted_x) & members(sorted_x, sorted_y)
    in_y = firsts(sorted_y) & members(sorted_y, sorted_x)
    return sorted_x[in_x], order_x[in_x], order_y[in_y]
