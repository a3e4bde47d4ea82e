"""Equations between upper triangular matrices, solved column by column. Knows no option.

Each column is the solution of a triangular system; the loop has a fixed number of steps, so it has
derivatives in both modes.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import numpy as np
from ...core.array import literal
from ...lax import (
    custom_linear_solve,
    dynamic_slice_in_dim,
    dynamic_update_slice_in_dim,
    fori_loop,
    linalg as lax_linalg,
)
from ...primitives import selection, structural


def solve_upper(t: Any, b: Any) -> Any:
    """t⁻¹ b for upper triangular t."""
    return lax_linalg.triangular_solve(t, b, left_side=True, lower=False)


def _column(x: Any, k: Any) -> Any:
    """Column k, a value, as [batch…, n, 1]."""
    return dynamic_slice_in_dim(x, k, 1, -1)


def solve_sylvester_of_triangles(
    r: Any, s: Any, c: Any, solved: Callable[[Any, Any, Any], Any] | None = None
) -> Any:
    """The solutions y of r y + y s = c, for upper triangular r and s.

    Args:
      solved: what solves for a column: (r, number, column) -> (r + number)⁻¹ column.
    """
    n = s.shape[-1]
    if not c.size:
        return c
    solved = solved or _shifted_solution

    def step(k: Any, y: Any) -> Any:
        at = _column(s, k)
        size = dynamic_slice_in_dim(at, k, 1, -2)
        rest = _column(c, k) - y @ at  # columns of y from k on are zero yet
        return dynamic_update_slice_in_dim(y, solved(r, size, rest), k, -1)

    return fori_loop(0, n, step, structural.zeros(c.aval.strong()))


def _shifted_solution(r: Any, size: Any, column: Any) -> Any:
    return solve_upper(r + size * np.eye(r.shape[-1], dtype=r.dtype), column)


def sylvester(a: Any, b: Any, c: Any, solver: Callable[[bool], Callable[[Any], Any]]) -> Any:
    """The solutions x of a x + x b = c, with derivatives by the equation, in a and b too.

    Args:
      solver: for False a function from c to x, whose derivatives don't matter; for True the same
        with a and b exchanged.
    """
    turned = np.matrix_transpose
    return custom_linear_solve(
        lambda x: a @ x + x @ b,
        c,
        lambda _, c: solver(False)(c),
        lambda _, c: turned(solver(True)(turned(c))),
    )


def sylvester_near_triangles(r: Any, s: Any, c: Any) -> Any:
    """The solutions y of r y + y s = c, for matrices that are upper triangular where they are, and
    have derivatives below the diagonal too."""
    upper, right = (np.triu(selection.stop_gradient(x)) for x in (r, s))

    def solver(exchanged: bool) -> Callable[[Any], Any]:
        first, second = (right, upper) if exchanged else (upper, right)
        return lambda c: solve_sylvester_of_triangles(first, second, c)

    return sylvester(r, s, c, solver)


def by_recurrence(t: Any, diagonal: Any, product: Any) -> Any:
    """An upper triangular matrix with a known diagonal, whose column k above it, x, solves
    product(k, found, column of t).

    Args:
      product: (k, matrices found up to column k, the column of t above the diagonal, mask of these
        rows) -> the column of the result above the diagonal.
    """
    n = t.shape[-1]
    start = diagonal[..., :, None] * np.eye(n, dtype=t.dtype)

    def step(k: Any, found: Any) -> Any:
        above = (np.arange(n) < k)[:, None]
        at = selection.where(above, _column(t, k), literal(0, t.dtype))
        new = selection.where(above, product(k, found, at, above), _column(start, k))
        return dynamic_update_slice_in_dim(found, new, k, -1)

    return fori_loop(1, n, step, start) if n > 1 else start


_LEAF = 8


def _size(x: Any) -> Any:
    """About |x|. XLA's takes a dozen operations for a complex number."""
    return abs(x.real) + abs(x.imag)


def root_of_triangle(t: Any) -> Any:
    """The upper triangular r with r r = t whose eigenvalues have no negative real part; NaN where
    there is none.

    Roots of small blocks on the diagonal come first, of all at once. Then two neighbours, with what
    stands beside them, are one of twice the size, until one is left: [[t, c], [0, u]] has the root
    [[r, y], [0, s]] with r y + y s = c. Source: Å. Björck, S. Hammarling, Linear Algebra Appl.
    52/53 (1983) 127-140; E. Deadman, N. J. Higham, R. Ralha, LNCS 7782 (2013) 171-182.
    """
    n = t.shape[-1]
    if not n:
        return t
    limit = 10 * n * float(np.finfo(t.dtype).eps)
    small = limit * np.max(_size(t), axis=(-2, -1))[..., None, None, None]

    def solved(r: Any, size: Any, column: Any) -> Any:
        sums = np.diagonal(r, 0, -2, -1)[..., :, None] + size
        none = sums == 0
        sums = selection.where(none, literal(1, t.dtype), sums)
        new = solve_upper(selection.where(np.eye(r.shape[-1], dtype=bool), sums, r), column)
        return selection.where(none & (_size(new) > small), literal(float("nan"), t.dtype), new)

    levels = max(0, math.ceil(math.log2(n / _LEAF)))
    size = -(-n >> levels)
    more = (size << levels) - n
    edges = [(0, 0)] * (t.ndim - 2)
    whole = np.pad(t, [*edges, (0, more), (0, more)])
    whole = whole + np.diag(np.pad(np.zeros(n, t.dtype), (0, more), constant_values=1))
    root = _root_by_diagonals(_blocks(whole, size, 1, 0), small[..., 0])
    for _ in range(levels):
        beside = _blocks(whole, size, 2, 1)
        first, second = root[..., 0::2, :, :], root[..., 1::2, :, :]
        y = solve_sylvester_of_triangles(first, second, beside, solved)
        root = np.block([[first, y], [np.zeros_like(y), second]])
        size *= 2
    return root[..., 0, :n, :n]


def _blocks(t: Any, size: int, each: int, right: int) -> Any:
    """Each `each`th block on the diagonal, or that on its right: [batch…, count, size, size]."""
    count = t.shape[-1] // (size * each)
    wide = t.reshape(*t.shape[:-2], count, each, size, count, each, size)
    return np.moveaxis(np.diagonal(wide[..., 0, :, :, right, :], 0, -4, -2), -1, -3)


def _root_by_diagonals(t: Any, small: Any) -> Any:
    """The root of small triangles, a diagonal after the other: each is an elementwise formula of
    those before."""
    n = t.shape[-1]
    flat = t.reshape(*t.shape[:-2], n * n)
    found = [np.sqrt(flat[..., :: n + 1])]
    for k in range(1, n):
        size = n - k
        rest = flat[..., k : n * size : n + 1]
        for i in range(1, k):
            rest = rest - found[i][..., :size] * found[k - i][..., i : i + size]
        sums = found[0][..., :size] + found[0][..., k:]
        none = sums == 0
        new = rest / selection.where(none, literal(1, t.dtype), sums)
        bad = none & (_size(new) > small)
        found.append(selection.where(bad, literal(float("nan"), t.dtype), new))
    # element [i, i + k] is the i-th of diagonal k, and what is below is the zero after the last
    found.append(np.zeros_like(found[0][..., :1]))
    ends = onp.cumsum([0, *[x.shape[-1] for x in found]])
    rows, columns = onp.indices((n, n))
    places = onp.where(columns >= rows, ends[abs(columns - rows)] + rows, ends[n])
    return np.take(np.concatenate(found, -1), places, axis=-1, mode="clip")


def function_of_triangle(t: Any, values: Any) -> tuple[Any, Any]:
    """(f(t), the smallest difference of eigenvalues) with the values f(t[i, i]): Parlett's
    recurrence. Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 9.1.4."""
    n = t.shape[-1]
    line = np.diagonal(t, 0, -2, -1)
    one = np.eye(n, dtype=t.dtype)

    def product(k: Any, found: Any, at: Any, above: Any) -> Any:
        # (t - t[k, k]) x = (f - f[k, k]) t[:, k], in the rows above k
        gaps = line[..., :, None] - _column(line[..., None, :], k)
        sides = selection.where(above, np.triu(found, 1) @ at, literal(0, t.dtype))
        slopes = values[..., :, None] - _column(values[..., None, :], k)
        safe = selection.where(above & (gaps != 0), gaps, literal(1, t.dtype))
        inner = np.triu(t, 1)
        inner = selection.where(above & np.matrix_transpose(above), inner, literal(0, t.dtype))
        return solve_upper(inner + safe * one, sides + slopes * at)

    gaps = abs(line[..., :, None] - line[..., None, :])
    gaps = np.where(np.eye(n, dtype=bool), float("inf"), gaps)
    least = np.minimum(np.min(gaps, axis=(-2, -1), initial=float("inf")), abs(line[..., 0]))
    return by_recurrence(t, values, product), least
