"""Singular values and vectors: Jacobi's one-sided method.

Rotations of pairs of columns make them orthogonal; their norms are then the singular values. The
pairs come in the same order as in `eigh.py`. Source: J. Demmel, K. Veselić, SIAM J. Matrix Anal.
Appl. 13 (1992) 1204-1245."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..creation import full
from ..linalg.matrix_operations import adjoint, conjugate, diagonal_of, matrix_transpose
from ..reductions import reduce_max
from ..selection import select_n
from ..structural import reduce_sum, reshape
from .eigh import MAX_SWEEPS, exchanged, rotation, sort_rows, turned_pair
from .lowering import repeated_while
from .qr import portable_geqrf, portable_product
from .stacks import (
    abs_squared,
    concatenate_along,
    divide_by_real,
    from_stacks,
    identity_matrices,
    matmul,
    permute_rows,
    positions,
    real_dtype,
    scale_to_one,
    select,
    slice_along,
    to_stacks,
)

# --- singular values ---


def portable_svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Sequence[Any]:
    """Singular values in descending order, and optionally U and Vᴴ, of matrices [batch…, m, n].
    Rotations make the columns orthogonal; their lengths are the singular values."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = to_stacks(a)
    is_wide = m < n
    if is_wide:
        a = adjoint(a)
    result = _tall_svd(a, full_matrices, compute_uv)
    if compute_uv and is_wide:
        s, u, vh = result
        result = [s, adjoint(vh), adjoint(u)]
    return [from_stacks(x, front) for x in result]


def _tall_svd(a: Any, full_matrices: bool, compute_uv: bool) -> Sequence[Any]:
    stack, m, n = a.shape
    dtype = a.dtype
    if n == 0:
        u = identity_matrices(stack, m, m if full_matrices else 0, dtype)
        s = full(aval((stack, 0), real_dtype(dtype)), 0)
        return [s, u, full(aval((stack, 0, 0), dtype), 0)][: 3 if compute_uv else 1]
    a, factor = scale_to_one(a)
    packed, taus = portable_geqrf(a)
    r = select(positions(n, 1) <= positions(n, 2), slice_along(packed, 1, 0, n), 0)
    x, v = _orthogonal_columns(adjoint(r))  # rows of R differ more in size than columns of R
    norms = sqrt(reduce_sum(abs_squared(x), axes=(1,)))
    negative, order = sort_rows(-norms)
    s = -negative * reshape(factor, shape=(stack, 1))
    if not compute_uv:
        return [s]
    # R^H V = X, so R = V X^H; X = Y diag(s), where reflections complete Y
    x, v = (matrix_transpose(permute_rows(matrix_transpose(y), order)) for y in (x, v))
    y_packed, y_taus = portable_geqrf(x)
    (y,) = portable_product(y_packed, y_taus)
    signs = diagonal_of(y_packed)
    size = abs_(signs)
    signs = select(size == 0, 1, divide_by_real(signs, select(size == 0, 1, size)))
    y = y * reshape(signs, shape=(stack, 1, n))
    rows = m if full_matrices else n
    square = concatenate_along([packed, full(aval((stack, m, rows - n), dtype), 0)], 2)
    (q,) = portable_product(square, taus)
    below = concatenate_along([v, full(aval((stack, rows - n, n), dtype), 0)], 1)
    u = matmul(q, below)
    if rows > n:
        u = concatenate_along([u, slice_along(q, 2, n, rows)], 2)
    return [s, u, adjoint(y)]


def _orthogonal_columns(x: Any) -> tuple[Any, Any]:
    """X V with orthogonal columns, and the unitary V, for square X."""
    stack, n = x.shape[:2]
    half = -(-n // 2)
    v = identity_matrices(stack, n, 2 * half, x.dtype)
    if 2 * half > n:
        x = concatenate_along([x, full(aval((stack, n, 1), x.dtype), 0)], 2)
    state = [slice_along(y, 2, at, at + half) for y in (x, v) for at in (0, half)]
    tolerance = float(dtypes.finfo(x.dtype).eps) * max(n, 10) ** 0.5
    worst = full(aval((), real_dtype(x.dtype)), 1)

    def going(*state: Any) -> Any:
        return state[-1] > tolerance

    def sweep(k: Any, *state: Any) -> Sequence[Any]:
        begun = [*state[:4], full(state[4].aval, 0)]
        return repeated_while(max(2 * half - 1, 1), None, _singular_step, begun)

    x1, x2, v1, v2, _ = repeated_while(MAX_SWEEPS, going, sweep, [*state, worst])
    return slice_along(concatenate_along([x1, x2], 2), 2, 0, n), slice_along(
        concatenate_along([v1, v2], 2), 2, 0, n
    )


def _singular_step(k: Any, x1: Any, x2: Any, v1: Any, v2: Any, worst: Any) -> Sequence[Any]:
    """Makes each column of the left half orthogonal to the column of the right half at its
    position."""
    p, q = (reduce_sum(abs_squared(x), axes=(1,)) for x in (x1, x2))
    off = reduce_sum(conjugate(x1) * x2, axes=(1,))
    size = sqrt(p) * sqrt(q)
    cosine = sqrt(abs_squared(off)) / select(size == 0, 1, size)
    biggest = reduce_max(select(size == 0, 0, cosine), axes=(0, 1))
    worst = select_n(biggest > worst, worst, biggest)
    c, s, phase = rotation(p, q, off)
    stack, half = c.shape
    across = [reshape(y, shape=(stack, 1, half)) for y in (c, s, conjugate(phase))]
    x1, x2 = turned_pair(x1, x2, *across)
    v1, v2 = turned_pair(v1, v2, *across)
    return [*exchanged(x1, x2, 2), *exchanged(v1, v2, 2), worst]
