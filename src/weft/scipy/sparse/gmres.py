"""GMRES on pytrees of arrays: an Arnoldi basis, and a least-squares problem solved by rotations.

The basis is a tree whose leaves have an additional first axis.
"""

from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.loops import fori_loop, while_loop
from ...primitives.products import Precision
from ...tree_util import tree_leaves, tree_map
from ...typing import PyTree
from .krylov import Operator, bound, minus, square

__all__: list[str] = []


def components(basis: PyTree, w: PyTree) -> Array:
    """The inner products of w with the vectors of a basis."""
    total: Any = 0.0
    for v, x in zip(tree_leaves(basis), tree_leaves(w), strict=True):
        rows = np.conj(v).reshape(v.shape[0], -1)
        total = total + np.dot(rows, x.reshape(-1), precision=Precision.HIGHEST)
    return total


def combined(basis: PyTree, weights: Array) -> PyTree:
    """A linear combination of the vectors of a basis."""

    def leaf(v: Array) -> Array:
        rows = v.reshape(v.shape[0], -1)
        return np.dot(weights, rows, precision=Precision.HIGHEST).reshape(v.shape[1:])

    return tree_map(leaf, basis)


def scaled(x: PyTree, factor: Any) -> PyTree:
    """A tree times a number, in its dtypes."""
    return tree_map(lambda a: (a * factor.astype(a.dtype)).astype(a.dtype), x)


def length(x: PyTree) -> Array:
    """The norm of a tree."""
    return np.sqrt(square(x))


def orthogonal(basis: PyTree, w: PyTree) -> tuple[Array, Array, PyTree]:
    """(components of w in a basis, norm of the remainder, the remainder with norm 1 or 0).

    The second of two passes removes the rounding errors of the first; two suffice (Kahan).
    """
    before = length(w)
    total: Any = 0.0
    for _ in range(2):
        h = components(basis, w)
        w = minus(w, combined(basis, h))
        total = total + h
    norm = length(w)
    eps = float(dtypes.finfo(norm.dtype).eps)
    ended = norm <= eps * before
    return (
        total,
        np.where(ended, 0.0, norm),
        scaled(w, np.where(ended, 0.0, 1 / np.where(ended, 1.0, norm))),
    )


def rotated(column: Array, cosines: Array, sines: Array) -> Array:
    """Applies the rotations of earlier columns to a column of the Hessenberg matrix."""

    def turn(i: Array, column: Array) -> Array:
        a, b = column[i], column[i + 1]
        c, s = cosines[i], sines[i]
        return column.at[i].set(c * a + s * b).at[i + 1].set(-np.conj(s) * a + c * b)

    return fori_loop(0, cosines.shape[0], turn, column)


def back_substituted(triangle: Array, right: Array) -> Array:
    """The solution of an upper triangular system; 0 where the diagonal is 0."""
    n = triangle.shape[0]

    def row(step: Array, y: Array) -> Array:
        i = n - 1 - step
        pivot = triangle[i, i]
        remainder = right[i] - np.dot(triangle[i], y, precision=Precision.HIGHEST)
        return y.at[i].set(np.where(pivot == 0, 0, remainder / np.where(pivot == 0, 1, pivot)))

    return fori_loop(0, n, row, np.zeros_like(right))


def cycle(A: Operator, r: PyTree, M: Operator, restart: int, limit: Array, early: bool) -> PyTree:
    """The change of x that minimizes the residual r in the Krylov space of `restart` dimensions.

    Args:
      limit: the norm of the residual at which to stop early, if `early`.
    """
    beta = length(r)
    safe = np.where(beta == 0, 1.0, beta)
    dtype = np.result_type(*tree_leaves(r))
    first = scaled(r, 1 / safe)
    basis = tree_map(lambda v: np.zeros((restart + 1, *v.shape), v.dtype).at[0].set(v), first)
    triangle = np.zeros((restart, restart), dtype)
    right = np.zeros(restart + 1, dtype).at[0].set(beta.astype(dtype))
    cosines, sines = np.ones(restart, dtype), np.zeros(restart, dtype)

    def step(state: Any) -> Any:
        k, basis, triangle, right, cosines, sines = state
        w = A(M(tree_map(lambda v: v[k], basis)))
        h, norm, following = orthogonal(basis, w)
        column = rotated(h.astype(dtype).at[k + 1].set(norm.astype(dtype)), cosines, sines)
        a, b = column[k], column[k + 1]
        size = np.sqrt(np.abs(a) ** 2 + np.abs(b) ** 2)
        none = size == 0
        # this rotation zeroes the entry below the diagonal; its cosine is real
        over = np.where(none, 1.0, size)
        phase = np.where(a == 0, 1, a / np.where(a == 0, 1, np.abs(a)).astype(dtype))
        c = np.where(none, 1.0, np.abs(a) / over).astype(dtype)
        s = np.where(none, 0.0, phase * np.conj(b) / over.astype(dtype)).astype(dtype)
        triangle = triangle.at[:, k].set(column[:restart]).at[k, k].set(c * a + s * b)
        g = right[k]
        right = right.at[k].set(c * g).at[k + 1].set(-np.conj(s) * g)
        basis = tree_map(lambda v, w: v.at[k + 1].set(w), basis, following)
        return k + 1, basis, triangle, right, cosines.at[k].set(c), sines.at[k].set(s)

    def going(state: Any) -> Array:
        k, right = state[0], state[3]
        return (k < restart) & (np.abs(right[k]) > limit)

    start = np.int32(0), basis, triangle, right, cosines, sines
    if early:
        _, basis, triangle, right, _, _ = while_loop(going, step, start)
    else:
        _, basis, triangle, right, _, _ = fori_loop(0, restart, lambda _, s: step(s), start)
    y = back_substituted(triangle, right[:restart])
    return M(combined(tree_map(lambda v: v[:restart], basis), y))


def minimal_residuals(
    A: Operator,
    b: PyTree,
    x0: PyTree,
    *,
    tol: Any,
    atol: Any,
    maxiter: int,
    M: Operator,
    restart: int,
    early: bool,
) -> PyTree:
    """The solution of A x = b by GMRES with restarts, preconditioned from the right.

    The iteration also ends if a cycle does not reduce the residual, since the next cycle would
    repeat it.

    Source: Saad and Schultz (1986), “GMRES: a generalized minimal residual algorithm”.
    """
    limit = np.sqrt(bound(b, tol, atol))

    def going(state: Any) -> Array:
        _, r, before, k = state
        norm = length(r)
        return (norm > limit) & (k < maxiter) & (norm < before)

    def step(state: Any) -> Any:
        x, r, _, k = state
        change = cycle(A, r, M, restart, limit, early)
        x = tree_map(lambda a, d: (a + d).astype(a.dtype), x, change)
        return x, minus(b, A(x)), length(r), k + 1

    r = minus(b, A(x0))
    start = x0, r, np.full_like(length(r), np.inf), np.int32(0)
    return while_loop(going, step, start)[0]
