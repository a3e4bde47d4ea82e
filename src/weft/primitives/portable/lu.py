"""LU decomposition with partial pivoting by blocks of columns, and forward substitution.

A block of columns is decomposed column by column, in a loop; the columns on its right are then
updated by matrix products. Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed.,
3.2-4.2."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_
from ..creation import full
from ..linalg.matrix_operations import real_of
from ..reductions import argmax
from ..selection import select_n
from ..structural import reduce_sum, reshape, widen
from .lowering import repeated_while
from .stacks import (
    column,
    concatenate_along,
    from_stacks,
    imaginary_part,
    matmul,
    permute_rows,
    positions,
    row,
    select,
    slice_along,
    to_stacks,
    with_column,
    with_row,
)


def panels(n: int) -> list[tuple[int, int]]:
    """Blocks of columns, (start, stop): at most 16, since each adds to the program's text."""
    width = max(32, -(-n // 16))
    return [(start, min(start + width, n)) for start in range(0, n, width)]


# --- substitution ---


def forward_substitution(lower: Any, b: Any, unit_diagonal: bool) -> Any:
    """The solution X of L X = B; only the lower triangle of L is read."""
    k = lower.shape[1]

    def step(j: Any, lower: Any, x: Any) -> Sequence[Any]:
        column_j, solution = column(lower, j), row(x, j)
        if not unit_diagonal:
            solution = solution / row(column_j, j)
            x = with_row(x, j, solution)
        return lower, x - select(positions(k, 1) > j, column_j, 0) * solution

    return repeated_while(k, None, step, [lower, b])[1]


# --- LU ---


def portable_lu(a: Any) -> Sequence[Any]:
    """LU with partial pivoting of [batch…, m, n]: both factors in one matrix, the min(m, n)
    pivots, and the permutation."""
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = to_stacks(a)
    stack = a.shape[0]
    order = widen(positions(m, 1), (stack, m, 1))
    pivots = [full(aval((stack, 0), dtypes.int32), 0)]
    for start, stop in panels(min(m, n)):
        finished_rows = slice_along(a, 1, 0, start)
        lower_rows, swaps, permutation = _lu_panel(slice_along(a, 1, start, m), start, stop)
        a = concatenate_along([finished_rows, lower_rows], 1)
        pivots.append(swaps + start)
        order = concatenate_along(
            [
                slice_along(order, 1, 0, start),
                permute_rows(slice_along(order, 1, start, m), permutation),
            ],
            1,
        )
    all_pivots = concatenate_along(pivots, 1)
    return [from_stacks(x, batch_shape) for x in (a, all_pivots, reshape(order, shape=(stack, m)))]


def _lu_panel(a: Any, start: int, stop: int) -> Sequence[Any]:
    """All columns after the elimination steps of a block of columns, from the first given row
    on."""
    m, n = a.shape[1:]
    width = stop - start
    block, swaps, permutation = _lu_columns(slice_along(a, 2, start, stop))
    left = permute_rows(slice_along(a, 2, 0, start), permutation)
    right = permute_rows(slice_along(a, 2, stop, n), permutation)
    if stop < n:
        u = forward_substitution(
            slice_along(block, 1, 0, width), slice_along(right, 1, 0, width), True
        )
        remaining_rows = slice_along(right, 1, width, m) - matmul(
            slice_along(block, 1, width, m), u
        )
        right = concatenate_along([u, remaining_rows], 1)
    return concatenate_along([left, block, right], 2), swaps, permutation


def _lu_columns(a: Any) -> Sequence[Any]:
    """The steps for a few columns: (both factors, rows exchanged, permutation)."""
    stack, m, k = a.shape
    order = widen(positions(m, 1), (stack, m, 1))
    swaps = full(aval((stack, 1, k), dtypes.int32), 0)

    def step(j: Any, a: Any, order: Any, swaps: Any) -> Sequence[Any]:
        pivot_column, rows = column(a, j), positions(m, 1)
        magnitudes = select(
            rows >= j, abs_(real_of(pivot_column)) + abs_(imaginary_part(pivot_column)), -1
        )
        pivot_index = reshape(argmax(magnitudes, axis=1, dtype=dtypes.int32), shape=(stack, 1, 1))
        is_row_j, is_pivot_row = rows == j, rows == pivot_index

        def exchange_rows(x: Any) -> Any:
            row_j = row(x, j)
            pivot_row = reshape(
                reduce_sum(select(is_pivot_row, x, 0), axes=(1,)), shape=row_j.shape
            )
            return select_n(is_row_j, select_n(is_pivot_row, x, row_j), pivot_row)

        a, order = exchange_rows(a), exchange_rows(order)
        pivot_column, row_j = column(a, j), row(a, j)
        pivot = row(pivot_column, j)
        is_below = rows > j
        pivot_column = select(is_below, pivot_column / select(pivot == 0, 1, pivot), pivot_column)
        row_j_tail = select(positions(k, 2) > j, row_j, 0)
        a = with_column(a - select(is_below, pivot_column, 0) * row_j_tail, j, pivot_column)
        return [a, order, with_column(swaps, j, pivot_index)]

    a, order, swaps = repeated_while(k, None, step, [a, order, swaps])
    return a, reshape(swaps, shape=(stack, k)), reshape(order, shape=(stack, m))
