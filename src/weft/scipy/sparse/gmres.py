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


def linear_combination(basis: PyTree, weights: Array) -> PyTree:
    """A linear combination of the vectors of a basis."""

    def leaf(v: Array) -> Array:
        rows = v.reshape(v.shape[0], -1)
        return np.dot(weights, rows, precision=Precision.HIGHEST).reshape(v.shape[1:])

    return tree_map(leaf, basis)


def scale_tree(x: PyTree, factor: Any) -> PyTree:
    """A tree times a number, in its dtypes."""
    return tree_map(lambda a: (a * factor.astype(a.dtype)).astype(a.dtype), x)


def norm_of_tree(x: PyTree) -> Array:
    """The norm of a tree."""
    return np.sqrt(square(x))


def orthogonal(basis: PyTree, w: PyTree) -> tuple[Array, Array, PyTree]:
    """(components of w in a basis, norm of the remainder, the remainder with norm 1 or 0).

    The second of two passes removes the rounding errors of the first; two suffice (Kahan).
    """
    initial_norm = norm_of_tree(w)
    total: Any = 0.0
    for _ in range(2):
        h = components(basis, w)
        w = minus(w, linear_combination(basis, h))
        total = total + h
    norm = norm_of_tree(w)
    eps = float(dtypes.finfo(norm.dtype).eps)
    is_dependent = norm <= eps * initial_norm
    return (
        total,
        np.where(is_dependent, 0.0, norm),
        scale_tree(w, np.where(is_dependent, 0.0, 1 / np.where(is_dependent, 1.0, norm))),
    )


def rotate_column(column: Array, cosines: Array, sines: Array) -> Array:
    """Applies the rotations of earlier columns to a column of the Hessenberg matrix."""

    def rotate(i: Array, column: Array) -> Array:
        a, b = column[i], column[i + 1]
        c, s = cosines[i], sines[i]
        return column.at[i].set(c * a + s * b).at[i + 1].set(-np.conj(s) * a + c * b)

    return fori_loop(0, cosines.shape[0], rotate, column)


def back_substitution(triangle: Array, right: Array) -> Array:
    """The solution of an upper triangular system; 0 where the diagonal is 0."""
    n = triangle.shape[0]

    def row(step: Array, y: Array) -> Array:
        i = n - 1 - step
        pivot = triangle[i, i]
        remainder = right[i] - np.dot(triangle[i], y, precision=Precision.HIGHEST)
        return y.at[i].set(np.where(pivot == 0, 0, remainder / np.where(pivot == 0, 1, pivot)))

    return fori_loop(0, n, row, np.zeros_like(right))


def cycle(
    A: Operator, r: PyTree, M: Operator, restart: int, limit: Array, stops_early: bool
) -> PyTree:
    """The change of x that minimizes the residual r in the Krylov space of `restart` dimensions.

    Args:
      limit: the norm of the residual at which to stop, if `stops_early`.
    """
    beta = norm_of_tree(r)
    nonzero_beta = np.where(beta == 0, 1.0, beta)
    dtype = np.result_type(*tree_leaves(r))
    first_vector = scale_tree(r, 1 / nonzero_beta)
    basis = tree_map(
        lambda v: np.zeros((restart + 1, *v.shape), v.dtype).at[0].set(v), first_vector
    )
    triangle = np.zeros((restart, restart), dtype)
    rotated_rhs = np.zeros(restart + 1, dtype).at[0].set(beta.astype(dtype))
    cosines, sines = np.ones(restart, dtype), np.zeros(restart, dtype)

    def step(state: Any) -> Any:
        k, basis, triangle, rotated_rhs, cosines, sines = state
        w = A(M(tree_map(lambda v: v[k], basis)))
        h, norm, next_vector = orthogonal(basis, w)
        column = rotate_column(h.astype(dtype).at[k + 1].set(norm.astype(dtype)), cosines, sines)
        a, b = column[k], column[k + 1]
        column_norm = np.sqrt(np.abs(a) ** 2 + np.abs(b) ** 2)
        is_zero = column_norm == 0
        # this rotation zeroes the entry below the diagonal; its cosine is real
        nonzero_norm = np.where(is_zero, 1.0, column_norm)
        phase = np.where(a == 0, 1, a / np.where(a == 0, 1, np.abs(a)).astype(dtype))
        c = np.where(is_zero, 1.0, np.abs(a) / nonzero_norm).astype(dtype)
        s = np.where(is_zero, 0.0, phase * np.conj(b) / nonzero_norm.astype(dtype)).astype(dtype)
        triangle = triangle.at[:, k].set(column[:restart]).at[k, k].set(c * a + s * b)
        g = rotated_rhs[k]
        rotated_rhs = rotated_rhs.at[k].set(c * g).at[k + 1].set(-np.conj(s) * g)
        basis = tree_map(lambda v, w: v.at[k + 1].set(w), basis, next_vector)
        return k + 1, basis, triangle, rotated_rhs, cosines.at[k].set(c), sines.at[k].set(s)

    def is_unconverged(state: Any) -> Array:
        k, rotated_rhs = state[0], state[3]
        return (k < restart) & (np.abs(rotated_rhs[k]) > limit)

    start = np.int32(0), basis, triangle, rotated_rhs, cosines, sines
    if stops_early:
        _, basis, triangle, rotated_rhs, _, _ = while_loop(is_unconverged, step, start)
    else:
        _, basis, triangle, rotated_rhs, _, _ = fori_loop(0, restart, lambda _, s: step(s), start)
    y = back_substitution(triangle, rotated_rhs[:restart])
    return M(linear_combination(tree_map(lambda v: v[:restart], basis), y))


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
    stops_early: bool,
) -> PyTree:
    """The solution of A x = b by GMRES with restarts, preconditioned from the right.

    The iteration also ends if a cycle does not reduce the residual, since the next cycle would
    repeat it.

    Source: Saad and Schultz (1986), “GMRES: a generalized minimal residual algorithm”.
    """
    limit = np.sqrt(bound(b, tol, atol))

    def is_unconverged(state: Any) -> Array:
        _, r, previous_norm, k = state
        norm = norm_of_tree(r)
        return (norm > limit) & (k < maxiter) & (norm < previous_norm)

    def step(state: Any) -> Any:
        x, r, _, k = state
        change = cycle(A, r, M, restart, limit, stops_early)
        x = tree_map(lambda a, d: (a + d).astype(a.dtype), x, change)
        return x, minus(b, A(x)), norm_of_tree(r), k + 1

    r = minus(b, A(x0))
    start = x0, r, np.full_like(norm_of_tree(r), np.inf), np.int32(0)
    return while_loop(is_unconverged, step, start)[0]
