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


def exchanged(first: Any, second: Any, axis: int) -> tuple[Any, Any]:
    """The next pairs of a round-robin: all elements except the first of `first` move on by one
    position."""
    k = first.shape[axis]
    if k < 2:
        return first, second
    first_row, moving = slice_along(first, axis, 0, 1), slice_along(first, axis, 1, k - 1)
    first_next = [first_row, slice_along(second, axis, 0, 1), moving]
    second_next = [slice_along(second, axis, 1, k), slice_along(first, axis, k - 1, k)]
    return concatenate_along(first_next, axis), concatenate_along(second_next, axis)


def rotation(p: Any, q: Any, off: Any) -> tuple[Any, Any, Any]:
    """c, s and the phase that make [[p, off], [off*, q]] diagonal; p and q are real."""
    size = abs_(off)
    plain = size < 4 * float(dtypes.finfo(off.dtype).tiny)  # it has no exact phase
    safe = select(plain, 1, size)
    slope = (q - p) / (2 * safe)
    tangent = 1 / (abs_(slope) + sqrt(1 + slope * slope))
    tangent = select(plain, 0, select(slope < 0, -tangent, tangent))
    c = 1 / sqrt(1 + tangent * tangent)
    phase = select(plain, 1, divide_by_real(off, safe))
    return c, tangent * c, phase


def turned_pair(x: Any, y: Any, c: Any, s: Any, phase: Any) -> tuple[Any, Any]:
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
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n == 0:
        return [from_stacks(a, front), full(aval((*front, 0), real_dtype(a.dtype)), 0)]
    a, factor = scale_to_one(a)
    half = -(-n // 2)
    a, v = _evened(a, 2 * half), identity_matrices(a.shape[0], n, 2 * half, a.dtype)
    quarters = [
        slice_along(slice_along(a, 1, i, i + half), 2, j, j + half)
        for i in (0, half)
        for j in (0, half)
    ]
    state = [*quarters, slice_along(v, 2, 0, half), slice_along(v, 2, half, 2 * half)]
    eps = float(dtypes.finfo(a.dtype).eps)

    def going(*state: Any) -> Any:
        off, total = _off_diagonal(state[:4])
        return reduce_max(select(off > (eps * eps) * total, 1.0, full(off.aval, 0)), axes=(0,)) > 0

    def sweep(n: Any, *state: Any) -> Sequence[Any]:
        return repeated_while(max(2 * half - 1, 1), None, _eigen_step, state)

    tl, _, _, br, left, right = repeated_while(MAX_SWEEPS, going, sweep, state)
    w = real_of(concatenate_along([diagonal_of(tl), diagonal_of(br)], 1))
    w = slice_along(w, 1, 0, n) * reshape(factor, shape=(factor.shape[0], 1))
    vectors = slice_along(concatenate_along([left, right], 2), 2, 0, n)
    w, order = sort_rows(w)
    vectors = matrix_transpose(permute_rows(matrix_transpose(vectors), order))
    return [from_stacks(vectors, front), from_stacks(w, front)]


def _evened(a: Any, n: int) -> Any:
    """Square matrices padded with a row and a column of zeros to n × n."""
    stack, m = a.shape[0], a.shape[1]
    if m == n:
        return a
    a = concatenate_along([a, full(aval((stack, 1, m), a.dtype), 0)], 1)
    return concatenate_along([a, full(aval((stack, n, 1), a.dtype), 0)], 2)


def _off_diagonal(quarters: Sequence[Any]) -> tuple[Any, Any]:
    """The sum of |a|² off the diagonal, and the sum over all elements."""
    off = whole = None
    for i, x in enumerate(quarters):
        squares = abs_squared(x)
        total = reduce_sum(squares, axes=(1, 2))
        whole = total if whole is None else whole + total
        if i in (0, 3):
            k = x.shape[1]
            squares = select(positions(k, 1) == positions(k, 2), 0, squares)
            total = reduce_sum(squares, axes=(1, 2))
        off = total if off is None else off + total
    return off, whole


def _eigen_step(n: Any, tl: Any, tr: Any, bl: Any, br: Any, left: Any, right: Any) -> Sequence[Any]:
    """Rotates each row of the upper half with the row of the lower half at its position."""
    stack, half = tl.shape[:2]
    p, q = real_of(diagonal_of(tl)), real_of(diagonal_of(br))
    c, s, phase = rotation(p, q, diagonal_of(tr))
    down = [reshape(x, shape=(stack, half, 1)) for x in (c, s, phase)]
    tl, bl = turned_pair(tl, bl, *down)
    tr, br = turned_pair(tr, br, *down)
    across = [reshape(x, shape=(stack, 1, half)) for x in (c, s, conjugate(phase))]
    tl, tr = turned_pair(tl, tr, *across)
    bl, br = turned_pair(bl, br, *across)
    left, right = turned_pair(left, right, *across)
    mask = positions(half, 1) == positions(half, 2)
    tr, bl = select(mask, 0, tr), select(mask, 0, bl)
    tl, tr = exchanged(tl, tr, 2)
    bl, br = exchanged(bl, br, 2)
    tl, bl = exchanged(tl, bl, 1)
    tr, br = exchanged(tr, br, 1)
    return [tl, tr, bl, br, *exchanged(left, right, 2)]


def sort_rows(w: Any) -> tuple[Any, Any]:
    """Rows in ascending order, and the original positions of their elements."""
    places = iota(dtype=dtypes.int32, shape=w.shape, dimension=1)
    w, order = sort(w, places, dimension=1, is_stable=True, num_keys=1)
    return w, order
