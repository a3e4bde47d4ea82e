"""Eigenvalues and eigenvectors of Hermitian matrices: Jacobi's method.

The method rotates pairs of rows and columns. Each step rotates n / 2 disjoint pairs at once, and a
sweep of n - 1 steps rotates every pair. Sources: R. P. Brent, F. T. Luk, SIAM J. Sci. Stat. Comput.
6 (1985) 69-84, for the order; J. Demmel, K. Veselić, SIAM J. Matrix Anal. Appl. 13 (1992)
1204-1245, for the accuracy."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..creation import full, iota
from ..linalg.matrix_operations import conjugate, diagonal_of, matrix_transpose, real_of
from ..reductions import reduce_max
from ..sorting import sort
from ..structural import reduce_sum, reshape
from .lowering import repeated_while
from .stacks import (
    abs_squared,
    as_dtype,
    concatenate_along,
    divide_by_real,
    from_stacks,
    identity_matrices,
    permute_rows,
    positions,
    real_dtype,
    scale_to_one,
    select,
    slice_along,
    to_stacks,
)

MAX_SWEEPS = 20
"""The maximum number of sweeps; ten suffice for a thousand rows in float64."""


def next_pairs(first_half: Any, second_half: Any, axis: int) -> tuple[Any, Any]:
    """The next pairs of a round-robin: all elements except the first of `first_half` move on by
    one position."""
    k = first_half.shape[axis]
    if k < 2:
        return first_half, second_half
    first_row, middle_rows = (
        slice_along(first_half, axis, 0, 1),
        slice_along(first_half, axis, 1, k - 1),
    )
    first_next = [first_row, slice_along(second_half, axis, 0, 1), middle_rows]
    second_next = [slice_along(second_half, axis, 1, k), slice_along(first_half, axis, k - 1, k)]
    return concatenate_along(first_next, axis), concatenate_along(second_next, axis)


def rotation(p: Any, q: Any, off_diagonal: Any) -> tuple[Any, Any, Any]:
    """c, s and the phase that make [[p, o], [o*, q]] diagonal, where p and q are real and o
    is `off_diagonal`."""
    magnitude = abs_(off_diagonal)
    is_zero = magnitude < 4 * float(dtypes.finfo(off_diagonal.dtype).tiny)  # it has no exact phase
    nonzero_magnitude = select(is_zero, 1, magnitude)
    slope = (q - p) / (2 * nonzero_magnitude)
    tangent = 1 / (abs_(slope) + sqrt(1 + slope * slope))
    tangent = select(is_zero, 0, select(slope < 0, -tangent, tangent))
    c = 1 / sqrt(1 + tangent * tangent)
    phase = select(is_zero, 1, divide_by_real(off_diagonal, nonzero_magnitude))
    return c, tangent * c, phase


def rotate_pair(x: Any, y: Any, c: Any, s: Any, phase: Any) -> tuple[Any, Any]:
    """c x - s phase y and s x + c phase y, computed as small changes of x and phase y, so that the
    rounding errors of many rotations do not change the length (H. Rutishauser, Numer. Math. 9
    (1966) 1-10).
    """
    half = as_dtype(s / (1 + c), x.dtype)
    s = as_dtype(s, x.dtype)
    y = phase * y
    return x - s * (y + half * x), y + s * (x - half * y)


# --- eigenvalues ---


def portable_eigh(a: Any) -> Sequence[Any]:
    """Eigenvectors and eigenvalues, in ascending order, of Hermitian matrices [batch…, n, n]."""
    batch_shape, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n == 0:
        return [from_stacks(a, batch_shape), full(aval((*batch_shape, 0), real_dtype(a.dtype)), 0)]
    a, factor = scale_to_one(a)
    half = -(-n // 2)
    a, v = _pad_to_even(a, 2 * half), identity_matrices(a.shape[0], n, 2 * half, a.dtype)
    quarters = [
        slice_along(slice_along(a, 1, i, i + half), 2, j, j + half)
        for i in (0, half)
        for j in (0, half)
    ]
    state = [*quarters, slice_along(v, 2, 0, half), slice_along(v, 2, half, 2 * half)]
    eps = float(dtypes.finfo(a.dtype).eps)

    def is_unconverged(*state: Any) -> Any:
        off_diagonal_squares, total = _off_diagonal(state[:4])
        return (
            reduce_max(
                select(
                    off_diagonal_squares > (eps * eps) * total,
                    1.0,
                    full(off_diagonal_squares.aval, 0),
                ),
                axes=(0,),
            )
            > 0
        )

    def sweep(n: Any, *state: Any) -> Sequence[Any]:
        return repeated_while(max(2 * half - 1, 1), None, _eigen_step, state)

    tl, _, _, br, left, right = repeated_while(MAX_SWEEPS, is_unconverged, sweep, state)
    w = real_of(concatenate_along([diagonal_of(tl), diagonal_of(br)], 1))
    w = slice_along(w, 1, 0, n) * reshape(factor, shape=(factor.shape[0], 1))
    vectors = slice_along(concatenate_along([left, right], 2), 2, 0, n)
    w, order = sort_rows(w)
    vectors = matrix_transpose(permute_rows(matrix_transpose(vectors), order))
    return [from_stacks(vectors, batch_shape), from_stacks(w, batch_shape)]


def _pad_to_even(a: Any, n: int) -> Any:
    """Square matrices padded with a row and a column of zeros to n × n."""
    stack, m = a.shape[0], a.shape[1]
    if m == n:
        return a
    a = concatenate_along([a, full(aval((stack, 1, m), a.dtype), 0)], 1)
    return concatenate_along([a, full(aval((stack, n, 1), a.dtype), 0)], 2)


def _off_diagonal(quarters: Sequence[Any]) -> tuple[Any, Any]:
    """The sum of |a|² off the diagonal, and the sum over all elements."""
    off_diagonal_squares = all_squares = None
    for i, x in enumerate(quarters):
        squares = abs_squared(x)
        total = reduce_sum(squares, axes=(1, 2))
        all_squares = total if all_squares is None else all_squares + total
        if i in (0, 3):
            k = x.shape[1]
            squares = select(positions(k, 1) == positions(k, 2), 0, squares)
            total = reduce_sum(squares, axes=(1, 2))
        off_diagonal_squares = (
            total if off_diagonal_squares is None else off_diagonal_squares + total
        )
    return off_diagonal_squares, all_squares


def _eigen_step(n: Any, tl: Any, tr: Any, bl: Any, br: Any, left: Any, right: Any) -> Sequence[Any]:
    """Rotates each row of the upper half with the row of the lower half at its position."""
    stack, half = tl.shape[:2]
    p, q = real_of(diagonal_of(tl)), real_of(diagonal_of(br))
    c, s, phase = rotation(p, q, diagonal_of(tr))
    column_rotation = [reshape(x, shape=(stack, half, 1)) for x in (c, s, phase)]
    tl, bl = rotate_pair(tl, bl, *column_rotation)
    tr, br = rotate_pair(tr, br, *column_rotation)
    row_rotation = [reshape(x, shape=(stack, 1, half)) for x in (c, s, conjugate(phase))]
    tl, tr = rotate_pair(tl, tr, *row_rotation)
    bl, br = rotate_pair(bl, br, *row_rotation)
    left, right = rotate_pair(left, right, *row_rotation)
    mask = positions(half, 1) == positions(half, 2)
    tr, bl = select(mask, 0, tr), select(mask, 0, bl)
    tl, tr = next_pairs(tl, tr, 2)
    bl, br = next_pairs(bl, br, 2)
    tl, bl = next_pairs(tl, bl, 1)
    tr, br = next_pairs(tr, br, 1)
    return [tl, tr, bl, br, *next_pairs(left, right, 2)]


def sort_rows(w: Any) -> tuple[Any, Any]:
    """Rows in ascending order, and the original positions of their elements."""
    positions = iota(dtype=dtypes.int32, shape=w.shape, dimension=1)
    w, order = sort(w, positions, dimension=1, is_stable=True, num_keys=1)
    return w, order
