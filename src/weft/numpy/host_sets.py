"""Sets of elements that are on the host, as NumPy's rows. Knows nothing of arrays of weft's.

The representative of equal elements is the first of them, as in `sets.py`: -0.0 equals 0.0.
"""

from typing import Any

import numpy as np

from ..primitives.sorting import sorted_alone

Row = np.ndarray[Any, Any]


def _in_order(row: Row) -> Row:
    """The elements sorted, equal ones as they came."""
    return sorted_alone(row, 0, is_stable=True)


def firsts(line: Row, equal_nan: bool = True) -> Row:
    """True for the elements of a sorted row that are the first of their kind."""
    first = np.ones(line.size, bool)
    before, after = line[:-1], line[1:]
    np.not_equal(before, after, out=first[1:])
    if equal_nan and line.dtype.kind == "f" and line.size and line[-1] != line[-1]:
        first[1:] &= (before == before) | (after == after)
    return first


def unique(row: Row, equal_nan: bool, index: bool, inverse: bool, counts: bool) -> tuple[Any, ...]:
    """The different elements, sorted; the index of the first of each, the place of each element
    among them, and how often each occurs, or `None` where not asked for."""
    order: Any = np.argsort(row, kind="stable") if index or inverse else None
    line = _in_order(row) if order is None else row[order]
    first = firsts(line, equal_nan)
    places: Any = None
    if inverse:
        places = np.empty(row.size, np.intp)
        places[order] = np.cumsum(first) - 1
    number = np.diff(np.flatnonzero(first), append=row.size) if counts else None
    return line[first], order[first] if index else None, places, number


def members(row: Row, line: Row) -> Row:
    """True for the elements of a row that are in a sorted one."""
    if not line.size:
        return np.zeros(row.shape, bool)
    places = np.searchsorted(line, row)
    return line[np.minimum(places, line.size - 1)] == row


def difference(x: Row, y: Row) -> Row:
    """The different elements of `x` that aren't in `y`, sorted."""
    line = _in_order(x)
    return line[firsts(line) & ~members(line, np.sort(y))]


def without(x: Row, y: Row) -> Row:
    """The elements of `x` that aren't in `y`, as they come."""
    return x[~members(x, np.sort(y))]


def exclusive(x: Row, y: Row) -> Row:
    """The different elements that are in just one of two rows, sorted. NaN isn't equal to NaN: if
    both have it, it is there twice."""
    lines = _in_order(x), _in_order(y)
    both = _in_order(np.concatenate([line[firsts(line)] for line in lines]))
    alone = np.ones(both.size, bool)
    differs = both[1:] != both[:-1]
    alone[1:] &= differs
    alone[:-1] &= differs
    return both[alone]


def common(x: Row, y: Row) -> Row:
    """The different elements that are in both rows, sorted."""
    line = _in_order(x)
    return line[firsts(line) & members(line, np.sort(y))]


def common_with_indices(x: Row, y: Row) -> tuple[Row, Row, Row]:
    """The different elements that are in both rows, and the indices of the first of each in `x` and
    in `y`."""
    order_x, order_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    line_x, line_y = x[order_x], y[order_y]
    in_x = firsts(line_x) & members(line_x, line_y)
    in_y = firsts(line_y) & members(line_y, line_x)
    return line_x[in_x], order_x[in_x], order_y[in_y]
