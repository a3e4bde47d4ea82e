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
from .eigh import MAX_SWEEPS, next_pairs, rotate_pair, rotation, sort_rows
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
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = to_stacks(a)
    is_wide = m < n
    if is_wide:
        a = adjoint(a)
    result = _tall_svd(a, full_matrices, compute_uv)
    if compute_uv and is_wide:
        s, u, vh = result
        result = [s, adjoint(vh), adjoint(u)]
    return [from_stacks(x, batch_shape) for x in result]


def _tall_svd(a: Any, full_matrices: bool, compute_uv: bool) -> Sequence[Any]:
    stack, m, n = a.shape
    dtype = a.dtype
    if n == 0:
        u = identity_matrices(stack, m, m if full_matrices else 0, dtype)
        s = full(aval((stack, 0), real_dtype(dtype)), 0)
        return [s, u, full(aval((stack, 0, 0), dtype), 0)][: 3 if compute_uv else 1]
    a, factor = scale_to_one(a)
    packed_factors, taus = portable_geqrf(a)
    r = select(positions(n, 1) <= positions(n, 2), slice_along(packed_factors, 1, 0, n), 0)
    x, v = _orthogonal_columns(adjoint(r))  # rows of R differ more in size than columns of R
    norms = sqrt(reduce_sum(abs_squared(x), axes=(1,)))
    negated_norms, order = sort_rows(-norms)
    s = -negated_norms * reshape(factor, shape=(stack, 1))
    if not compute_uv:
        return [s]
    # R^H V = X, so R = V X^H; X = Y diag(s), where reflections complete Y
    x, v = (matrix_transpose(permute_rows(matrix_transpose(y), order)) for y in (x, v))
    y_packed, y_taus = portable_geqrf(x)
    (y,) = portable_product(y_packed, y_taus)
    signs = diagonal_of(y_packed)
    magnitudes = abs_(signs)
    signs = select(
        magnitudes == 0, 1, divide_by_real(signs, select(magnitudes == 0, 1, magnitudes))
    )
    y = y * reshape(signs, shape=(stack, 1, n))
    rows = m if full_matrices else n
    square = concatenate_along([packed_factors, full(aval((stack, m, rows - n), dtype), 0)], 2)
    (q,) = portable_product(square, taus)
    v_padded = concatenate_along([v, full(aval((stack, rows - n, n), dtype), 0)], 1)
    u = matmul(q, v_padded)
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
    state = [slice_along(y, 2, start, start + half) for y in (x, v) for start in (0, half)]
    tolerance = float(dtypes.finfo(x.dtype).eps) * max(n, 10) ** 0.5
    largest_cosine = full(aval((), real_dtype(x.dtype)), 1)

    def is_unconverged(*state: Any) -> Any:
        return state[-1] > tolerance

    def sweep(k: Any, *state: Any) -> Sequence[Any]:
        initial_state = [*state[:4], full(state[4].aval, 0)]
        return repeated_while(max(2 * half - 1, 1), None, _singular_step, initial_state)

    x1, x2, v1, v2, _ = repeated_while(MAX_SWEEPS, is_unconverged, sweep, [*state, largest_cosine])
    return slice_along(concatenate_along([x1, x2], 2), 2, 0, n), slice_along(
        concatenate_along([v1, v2], 2), 2, 0, n
    )


def _singular_step(
    k: Any, x1: Any, x2: Any, v1: Any, v2: Any, largest_cosine: Any
) -> Sequence[Any]:
    """Makes each column of the left half orthogonal to the column of the right half at its
    position."""
    p, q = (reduce_sum(abs_squared(x), axes=(1,)) for x in (x1, x2))
    inner_product = reduce_sum(conjugate(x1) * x2, axes=(1,))
    norm_product = sqrt(p) * sqrt(q)
    cosine = sqrt(abs_squared(inner_product)) / select(norm_product == 0, 1, norm_product)
    maximum = reduce_max(select(norm_product == 0, 0, cosine), axes=(0, 1))
    largest_cosine = select_n(maximum > largest_cosine, largest_cosine, maximum)
    c, s, phase = rotation(p, q, inner_product)
    stack, half = c.shape
    rotation_row = [reshape(y, shape=(stack, 1, half)) for y in (c, s, conjugate(phase))]
    x1, x2 = rotate_pair(x1, x2, *rotation_row)
    v1, v2 = rotate_pair(v1, v2, *rotation_row)
    return [*next_pairs(x1, x2, 2), *next_pairs(v1, v2, 2), largest_cosine]
