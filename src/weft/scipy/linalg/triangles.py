"""Equations between upper triangular matrices, solved column by column. Knows no option.

Each column is the solution of a triangular system; the loop has a fixed number of steps, so it has
derivatives in both modes.
"""

from collections.abc import Callable
from typing import Any

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


def solve_sylvester_of_triangles(r: Any, s: Any, c: Any) -> Any:
    """The solutions y of r y + y s = c, for upper triangular r and s."""
    m, n = r.shape[-1], s.shape[-1]
    if not c.size:
        return c
    one = np.eye(m, dtype=r.dtype)

    def step(k: Any, y: Any) -> Any:
        at = _column(s, k)
        size = dynamic_slice_in_dim(at, k, 1, -2)
        rest = _column(c, k) - y @ at  # columns of y from k on are zero yet
        new = solve_upper(r + size * one, rest)
        return dynamic_update_slice_in_dim(y, new, k, -1)

    return fori_loop(0, n, step, structural.zeros(c.aval.strong()))


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


def root_of_triangle(t: Any) -> Any:
    """The upper triangular r with r r = t whose eigenvalues have no negative real part; NaN where
    there is none. Source: Å. Björck, S. Hammarling, Linear Algebra Appl. 52/53 (1983) 127-140."""
    n = t.shape[-1]
    if not n:
        return t
    roots = np.sqrt(np.diagonal(t, 0, -2, -1))
    one = np.eye(n, dtype=bool)
    size = np.max(abs(t), axis=(-2, -1), keepdims=True)
    small = 10 * n * float(np.finfo(t.dtype).eps) * size

    def product(k: Any, found: Any, at: Any, above: Any) -> Any:
        sums = roots[..., :, None] + _column(roots[..., None, :], k)
        none = sums == 0
        sums = selection.where(above & ~none, sums, literal(1, t.dtype))
        # the columns of `found` from k on are zero above the diagonal yet
        new = solve_upper(selection.where(one, sums, found), at)
        bad = none & above & (abs(new) > small)
        return selection.where(bad, literal(float("nan"), t.dtype), new)

    return by_recurrence(t, roots, product)


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
