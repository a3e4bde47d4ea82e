"""Jacobi's method: eigenvalues of Hermitian matrices, singular values of any.

Rotations of pairs of rows and columns; in each step all are paired off, and in n - 1 steps, a
sweep, each meets each. Sources: R. P. Brent, F. T. Luk, SIAM J. Sci. Stat. Comput. 6 (1985) 69-84,
for the order; J. Demmel, K. Veselić, SIAM J. Matrix Anal. Appl. 13 (1992) 1204-1245, for the
accuracy.
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..creation import iota
from ..linalg.values import adjoint, conjugated, diagonal_of, real_of, turned
from ..reduction import reduce_max
from ..selection import select_n
from ..sorting import sort
from ..structural import full, reduce_sum, reshape
from .householder import portable_geqrf, portable_product
from .stacks import (
    in_batches,
    in_stacks,
    numbers,
    of_dtype,
    over_real,
    part,
    picked,
    real_dtype,
    scaled,
    side_by_side,
    square_abs,
    taken_rows,
    times,
    unit_matrices,
)
from .writing import repeated_while

SWEEPS = 20
"""At most; ten do for a thousand rows in float64."""


def exchanged(first: Any, second: Any, axis: int) -> tuple[Any, Any]:
    """The next pairs: all but the first of `first` move on by one place, around both rows."""
    k = first.shape[axis]
    if k < 2:
        return first, second
    kept, moving = part(first, axis, 0, 1), part(first, axis, 1, k - 1)
    first_next = [kept, part(second, axis, 0, 1), moving]
    second_next = [part(second, axis, 1, k), part(first, axis, k - 1, k)]
    return side_by_side(first_next, axis), side_by_side(second_next, axis)


def rotation(p: Any, q: Any, off: Any) -> tuple[Any, Any, Any]:
    """c, s and the phase that make [[p, off], [off*, q]] diagonal; p and q are real."""
    size = abs_(off)
    plain = size < 4 * float(dtypes.finfo(off.dtype).tiny)  # it would have no exact phase
    safe = picked(plain, 1, size)
    slope = (q - p) / (2 * safe)
    tangent = 1 / (abs_(slope) + sqrt(1 + slope * slope))
    tangent = picked(plain, 0, picked(slope < 0, -tangent, tangent))
    c = 1 / sqrt(1 + tangent * tangent)
    phase = picked(plain, 1, over_real(off, safe))
    return c, tangent * c, phase


def turned_pair(x: Any, y: Any, c: Any, s: Any, phase: Any) -> tuple[Any, Any]:
    """c x - s phase y and s x + c phase y, as small changes of x and phase y: rounding errors of
    many rotations then don't add up to another length (H. Rutishauser, Numer. Math. 9 (1966) 1-10).
    """
    half = of_dtype(s / (1 + c), x.dtype)
    s = of_dtype(s, x.dtype)
    y = phase * y
    return x - s * (y + half * x), y + s * (x - half * y)


# --- eigenvalues ---


def portable_eigh(a: Any) -> Sequence[Any]:
    """Eigenvectors and eigenvalues, in ascending order, of Hermitian matrices [batch…, n, n]."""
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = in_stacks(a)
    if n == 0:
        return [in_batches(a, front), full(aval((*front, 0), real_dtype(a.dtype)), 0)]
    a, factor = scaled(a)
    half = -(-n // 2)
    a, v = _evened(a, 2 * half), unit_matrices(a.shape[0], n, 2 * half, a.dtype)
    quarters = [part(part(a, 1, i, i + half), 2, j, j + half) for i in (0, half) for j in (0, half)]
    state = [*quarters, part(v, 2, 0, half), part(v, 2, half, 2 * half)]
    eps = float(dtypes.finfo(a.dtype).eps)

    def going(*state: Any) -> Any:
        off, whole = _off_diagonal(state[:4])
        return reduce_max(picked(off > (eps * eps) * whole, 1.0, full(off.aval, 0)), axes=(0,)) > 0

    def sweep(n: Any, *state: Any) -> Sequence[Any]:
        return repeated_while(max(2 * half - 1, 1), None, _eigen_step, state)

    tl, _, _, br, left, right = repeated_while(SWEEPS, going, sweep, state)
    w = real_of(side_by_side([diagonal_of(tl), diagonal_of(br)], 1))
    w = part(w, 1, 0, n) * reshape(factor, shape=(factor.shape[0], 1))
    vectors = part(side_by_side([left, right], 2), 2, 0, n)
    w, order = _sorted(w)
    vectors = turned(taken_rows(turned(vectors), order))
    return [in_batches(vectors, front), in_batches(w, front)]


def _evened(a: Any, n: int) -> Any:
    """Square matrices with a row and a column of zeros more, if they aren't n wide."""
    stack, m = a.shape[0], a.shape[1]
    if m == n:
        return a
    a = side_by_side([a, full(aval((stack, 1, m), a.dtype), 0)], 1)
    return side_by_side([a, full(aval((stack, n, 1), a.dtype), 0)], 2)


def _off_diagonal(quarters: Sequence[Any]) -> tuple[Any, Any]:
    """The sums of |a|² off the diagonal, and of all."""
    off = whole = None
    for i, x in enumerate(quarters):
        squares = square_abs(x)
        total = reduce_sum(squares, axes=(1, 2))
        whole = total if whole is None else whole + total
        if i in (0, 3):
            k = x.shape[1]
            squares = picked(numbers(k, 1) == numbers(k, 2), 0, squares)
            total = reduce_sum(squares, axes=(1, 2))
        off = total if off is None else off + total
    return off, whole


def _eigen_step(n: Any, tl: Any, tr: Any, bl: Any, br: Any, left: Any, right: Any) -> Sequence[Any]:
    """Rotates each row of the upper half with that of the lower half beside it."""
    stack, half = tl.shape[:2]
    p, q = real_of(diagonal_of(tl)), real_of(diagonal_of(br))
    c, s, phase = rotation(p, q, diagonal_of(tr))
    down = [reshape(x, shape=(stack, half, 1)) for x in (c, s, phase)]
    tl, bl = turned_pair(tl, bl, *down)
    tr, br = turned_pair(tr, br, *down)
    across = [reshape(x, shape=(stack, 1, half)) for x in (c, s, conjugated(phase))]
    tl, tr = turned_pair(tl, tr, *across)
    bl, br = turned_pair(bl, br, *across)
    left, right = turned_pair(left, right, *across)
    mask = numbers(half, 1) == numbers(half, 2)
    tr, bl = picked(mask, 0, tr), picked(mask, 0, bl)
    tl, tr = exchanged(tl, tr, 2)
    bl, br = exchanged(bl, br, 2)
    tl, bl = exchanged(tl, bl, 1)
    tr, br = exchanged(tr, br, 1)
    return [tl, tr, bl, br, *exchanged(left, right, 2)]


def _sorted(w: Any) -> tuple[Any, Any]:
    """Rows in ascending order, and where their elements were."""
    places = iota(dtype=dtypes.int32, shape=w.shape, dimension=1)
    w, order = sort(w, places, dimension=1, is_stable=True, num_keys=1)
    return w, order


# --- singular values ---


def portable_svd(a: Any, *, full_matrices: bool, compute_uv: bool) -> Sequence[Any]:
    """Singular values in descending order, and U and Vᴴ if wished, of matrices [batch…, m, n]:
    rotations of columns make them orthogonal; their lengths are the values."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = in_stacks(a)
    wide = m < n
    if wide:
        a = adjoint(a)
    found = _tall_svd(a, full_matrices, compute_uv)
    if compute_uv and wide:
        s, u, vh = found
        found = [s, adjoint(vh), adjoint(u)]
    return [in_batches(x, front) for x in found]


def _tall_svd(a: Any, full_matrices: bool, compute_uv: bool) -> Sequence[Any]:
    stack, m, n = a.shape
    dtype = a.dtype
    if n == 0:
        u = unit_matrices(stack, m, m if full_matrices else 0, dtype)
        s = full(aval((stack, 0), real_dtype(dtype)), 0)
        return [s, u, full(aval((stack, 0, 0), dtype), 0)][: 3 if compute_uv else 1]
    a, factor = scaled(a)
    packed, taus = portable_geqrf(a)
    r = picked(numbers(n, 1) <= numbers(n, 2), part(packed, 1, 0, n), 0)
    x, v = _orthogonal_columns(adjoint(r))  # rows of R differ more in size than columns do
    norms = sqrt(reduce_sum(square_abs(x), axes=(1,)))
    negative, order = _sorted(-norms)
    s = -negative * reshape(factor, shape=(stack, 1))
    if not compute_uv:
        return [s]
    # R^H V = X, so R = V X^H; X = Y diag(s), where Y is made complete by reflections
    x, v = (turned(taken_rows(turned(y), order)) for y in (x, v))
    y_packed, y_taus = portable_geqrf(x)
    (y,) = portable_product(y_packed, y_taus)
    signs = diagonal_of(y_packed)
    size = abs_(signs)
    signs = picked(size == 0, 1, over_real(signs, picked(size == 0, 1, size)))
    y = y * reshape(signs, shape=(stack, 1, n))
    rows = m if full_matrices else n
    square = side_by_side([packed, full(aval((stack, m, rows - n), dtype), 0)], 2)
    (q,) = portable_product(square, taus)
    below = side_by_side([v, full(aval((stack, rows - n, n), dtype), 0)], 1)
    u = times(q, below)
    if rows > n:
        u = side_by_side([u, part(q, 2, n, rows)], 2)
    return [s, u, adjoint(y)]


def _orthogonal_columns(x: Any) -> tuple[Any, Any]:
    """X V with orthogonal columns, and the unitary V, for square X."""
    stack, n = x.shape[:2]
    half = -(-n // 2)
    v = unit_matrices(stack, n, 2 * half, x.dtype)
    if 2 * half > n:
        x = side_by_side([x, full(aval((stack, n, 1), x.dtype), 0)], 2)
    state = [part(y, 2, at, at + half) for y in (x, v) for at in (0, half)]
    tolerance = float(dtypes.finfo(x.dtype).eps) * max(n, 10) ** 0.5
    worst = full(aval((), real_dtype(x.dtype)), 1)

    def going(*state: Any) -> Any:
        return state[-1] > tolerance

    def sweep(k: Any, *state: Any) -> Sequence[Any]:
        begun = [*state[:4], full(state[4].aval, 0)]
        return repeated_while(max(2 * half - 1, 1), None, _singular_step, begun)

    x1, x2, v1, v2, _ = repeated_while(SWEEPS, going, sweep, [*state, worst])
    return part(side_by_side([x1, x2], 2), 2, 0, n), part(side_by_side([v1, v2], 2), 2, 0, n)


def _singular_step(k: Any, x1: Any, x2: Any, v1: Any, v2: Any, worst: Any) -> Sequence[Any]:
    """Makes each column of the left half orthogonal to that of the right half beside it."""
    p, q = (reduce_sum(square_abs(x), axes=(1,)) for x in (x1, x2))
    off = reduce_sum(conjugated(x1) * x2, axes=(1,))
    size = sqrt(p) * sqrt(q)
    cosine = sqrt(square_abs(off)) / picked(size == 0, 1, size)
    biggest = reduce_max(picked(size == 0, 0, cosine), axes=(0, 1))
    worst = select_n(biggest > worst, worst, biggest)
    c, s, phase = rotation(p, q, off)
    stack, half = c.shape
    across = [reshape(y, shape=(stack, 1, half)) for y in (c, s, conjugated(phase))]
    x1, x2 = turned_pair(x1, x2, *across)
    v1, v2 = turned_pair(v1, v2, *across)
    return [*exchanged(x1, x2, 2), *exchanged(v1, v2, 2), worst]
