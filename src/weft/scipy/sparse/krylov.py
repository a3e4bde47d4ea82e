"""Conjugate gradients and BiCGSTAB on pytrees of arrays. Each is a bounded loop on whole trees,
from (A, b, x0, M) to x.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from ... import numpy as np
from ...core.array import Array
from ...lax.loops import while_loop
from ...primitives.products import Precision
from ...tree_util import tree_leaves, tree_map
from ...typing import PyTree

__all__: list[str] = []

Operator: TypeAlias = Callable[[PyTree], PyTree]
"""A linear function of a tree."""


def inner(x: PyTree, y: PyTree) -> Array:
    """The inner product of trees; the first one is conjugated."""
    pairs = zip(tree_leaves(x), tree_leaves(y), strict=True)
    total: Any = 0.0
    for a, b in pairs:
        total = total + np.vdot(a, b, precision=Precision.HIGHEST)
    return total


def square(x: PyTree) -> Array:
    """The squared norm of a tree, which is real."""
    total: Any = 0.0
    for a in tree_leaves(x):
        parts = (np.real(a), np.imag(a)) if np.iscomplexobj(a) else (a,)
        for part in parts:
            total = total + np.vdot(part, part, precision=Precision.HIGHEST)
    return total


def plus(x: PyTree, scale: Any, y: PyTree) -> PyTree:
    """x + scale · y, in the dtypes of x."""
    return tree_map(lambda a, b: (a + np.astype(scale, a.dtype) * b).astype(a.dtype), x, y)


def minus(x: PyTree, y: PyTree) -> PyTree:
    """x - y."""
    return tree_map(lambda a, b: a - b, x, y)


def bound(b: PyTree, tol: Any, atol: Any) -> Array:
    """The largest accepted squared norm of a residual: the square of max(tol · |b|, atol)."""
    tol, atol = np.maximum(tol, 0), np.maximum(atol, 0)  # squaring would lose the sign
    return np.maximum(np.square(tol) * square(b), np.square(atol))


def conjugate_gradients(
    A: Operator, b: PyTree, x0: PyTree, *, tol: Any, atol: Any, maxiter: int, M: Operator
) -> PyTree:
    """The solution of A x = b for a symmetric (Hermitian) positive definite A.

    Source: Saad, “Iterative methods for sparse linear systems”, algorithm 9.1.
    """
    limit = bound(b, tol, atol)

    def is_unconverged(state: Any) -> Array:
        _, r, _, _, k = state
        return (square(r) > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        product = A(p)
        alpha = gamma / inner(p, product)
        x, r = plus(x, alpha, p), plus(r, -alpha, product)
        z = M(r)
        next_gamma = inner(r, z)
        p = plus(z, next_gamma / gamma, p)
        return x, r, next_gamma.astype(gamma.dtype), p, k + 1

    r = minus(b, A(x0))
    z = M(r)
    return while_loop(is_unconverged, step, (x0, r, inner(r, z), z, np.int32(0)))[0]


def bicgstab_steps(
    A: Operator, b: PyTree, x0: PyTree, *, tol: Any, atol: Any, maxiter: int, M: Operator
) -> PyTree:
    """The solution of A x = b for any A. A breakdown (0 / 0) ends the iteration.

    Source: van der Vorst (1992), “Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG”.
    """
    limit = bound(b, tol, atol)
    initial_r = minus(b, A(x0))

    def is_unconverged(state: Any) -> Array:
        _, r, *_, k, has_broken_down = state
        return (square(r) > limit) & (k < maxiter) & ~has_broken_down

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k, _ = state
        next_rho = inner(initial_r, r)
        beta = next_rho / rho * (alpha / omega)
        p = plus(r, beta, plus(p, -omega, q))
        p_hat = M(p)
        q = A(p_hat)
        alpha = next_rho / inner(initial_r, q)
        s = plus(r, -alpha, q)
        has_converged = square(s) <= limit  # the second half would divide 0 by 0 here
        s_hat = M(s)
        t = A(s_hat)
        t_square = square(t)
        product = inner(t, s)
        nonzero_square = np.where(t_square == 0, 1.0, t_square).astype(product.dtype)
        omega = np.where(has_converged, 0.0, product / nonzero_square)
        x = plus(plus(x, alpha, p_hat), omega, s_hat)
        r = plus(s, -omega, t)
        has_broken_down = ~has_converged & ((omega == 0) | (next_rho == 0)) | ~np.isfinite(alpha)
        last_finite = tree_map(
            lambda new_value, old_value: np.where(np.isfinite(alpha), new_value, old_value),
            (x, r),
            state[:2],
        )
        scalars = [c.astype(rho.dtype) for c in (alpha, omega, next_rho)]
        return *last_finite, *scalars, p, q, k + 1, has_broken_down

    one = inner(initial_r, initial_r) * 0 + 1
    zeros = tree_map(np.zeros_like, initial_r)
    start = (x0, initial_r, one, one, one, zeros, zeros, np.int32(0), np.asarray(False))
    return while_loop(is_unconverged, step, start)[0]
