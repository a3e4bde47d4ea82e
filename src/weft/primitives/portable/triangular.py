"""LU decompositions by blocks of columns, and substitution.

A block of columns is decomposed column by column, in a loop; what is right of it is then updated by
products of matrices. Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 3.2-4.2.
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_
from ..linalg.values import real_of
from ..reduction import argmax
from ..selection import select_n
from ..structural import full, reduce_sum, reshape, widen
from .stacks import (
    column,
    imaginary_part,
    in_batches,
    in_stacks,
    numbers,
    part,
    picked,
    row,
    side_by_side,
    taken_rows,
    times,
    with_column,
    with_row,
)
from .writing import repeated_while


def panels(n: int) -> list[tuple[int, int]]:
    """Blocks of columns, (start, stop): at most 16 of them, since each is text of its own."""
    width = max(32, -(-n // 16))
    return [(start, min(start + width, n)) for start in range(0, n, width)]


# --- substitution ---


def forward_substituted(lower: Any, b: Any, unit: bool) -> Any:
    """X of L X = B, for triangular L of which only the triangle is read."""
    k = lower.shape[1]

    def step(j: Any, lower: Any, x: Any) -> Sequence[Any]:
        at, found = column(lower, j), row(x, j)
        if not unit:
            found = found / row(at, j)
            x = with_row(x, j, found)
        return lower, x - picked(numbers(k, 1) > j, at, 0) * found

    return repeated_while(k, None, step, [lower, b])[1]


# --- LU ---


def portable_lu(a: Any) -> Sequence[Any]:
    """LU with partial pivoting of [batch…, m, n]: both factors in one matrix, the row that each of
    the min(m, n) steps exchanged its own with, and the permutation that these come to."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = in_stacks(a)
    stack = a.shape[0]
    order = widen(numbers(m, 1), (stack, m, 1))
    pivots = [full(aval((stack, 0), dtypes.int32), 0)]
    for start, stop in panels(min(m, n)):
        above = part(a, 1, 0, start)
        rest, swaps, places = _lu_panel(part(a, 1, start, m), start, stop)
        a = side_by_side([above, rest], 1)
        pivots.append(swaps + start)
        order = side_by_side(
            [part(order, 1, 0, start), taken_rows(part(order, 1, start, m), places)], 1
        )
    found = side_by_side(pivots, 1)
    return [in_batches(x, front) for x in (a, found, reshape(order, shape=(stack, m)))]


def _lu_panel(a: Any, start: int, stop: int) -> Sequence[Any]:
    """All columns after the steps for some, which begin in the first row that is given."""
    m, n = a.shape[1:]
    width = stop - start
    block, swaps, places = _lu_columns(part(a, 2, start, stop))
    left = taken_rows(part(a, 2, 0, start), places)
    right = taken_rows(part(a, 2, stop, n), places)
    if stop < n:
        u = forward_substituted(part(block, 1, 0, width), part(right, 1, 0, width), True)
        rest = part(right, 1, width, m) - times(part(block, 1, width, m), u)
        right = side_by_side([u, rest], 1)
    return side_by_side([left, block, right], 2), swaps, places


def _lu_columns(a: Any) -> Sequence[Any]:
    """The steps for a few columns: (both factors, rows exchanged, permutation)."""
    stack, m, k = a.shape
    order = widen(numbers(m, 1), (stack, m, 1))
    swaps = full(aval((stack, 1, k), dtypes.int32), 0)

    def step(j: Any, a: Any, order: Any, swaps: Any) -> Sequence[Any]:
        at, rows = column(a, j), numbers(m, 1)
        size = picked(rows >= j, abs_(real_of(at)) + abs_(imaginary_part(at)), -1)
        best = reshape(argmax(size, axis=1, dtype=dtypes.int32), shape=(stack, 1, 1))
        here, there = rows == j, rows == best

        def exchanged(x: Any) -> Any:
            mine = row(x, j)
            other = reshape(reduce_sum(picked(there, x, 0), axes=(1,)), shape=mine.shape)
            return select_n(here, select_n(there, x, mine), other)

        a, order = exchanged(a), exchanged(order)
        at, mine = column(a, j), row(a, j)
        pivot = row(at, j)
        below = rows > j
        at = picked(below, at / picked(pivot == 0, 1, pivot), at)
        right = picked(numbers(k, 2) > j, mine, 0)
        a = with_column(a - picked(below, at, 0) * right, j, at)
        return [a, order, with_column(swaps, j, best)]

    a, order, swaps = repeated_while(k, None, step, [a, order, swaps])
    return a, reshape(swaps, shape=(stack, k)), reshape(order, shape=(stack, m))
