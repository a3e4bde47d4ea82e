"""Schur's form of real matrices: the QR algorithm with double shifts, which stays real.

A step multiplies a Hessenberg form by (H - s)(H - s̄) without forming it: a reflection of three
rows produces its first column, and further reflections chase the resulting bulge down the diagonal.
All matrices of a stack take each step; for converged matrices the reflection is the identity.
Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 7.5; for the blocks of two rows
Z. Bai, J. Demmel, LAPACK Working Note 54, 1993.
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, max_, sqrt
from ..creation import full
from ..dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..linalg.matrix_operations import adjoint, diagonal_of
from ..reductions import reduce_max
from ..structural import reduce_sum, reshape
from .hessenberg import hessenberg_form
from .lowering import repeated_while
from .qr import reflection
from .stacks import (
    column,
    concatenate_along,
    element_at,
    from_stacks,
    matmul,
    positions,
    row,
    scale_to_one,
    select,
    slice_along,
    subdiagonal,
    to_stacks,
)

MAX_STEPS_PER_EIGENVALUE = 30
"""The maximum number of steps for each eigenvalue; about two suffice."""


def portable_real_schur(a: Any, *, vectors: bool = True) -> Sequence[Any]:
    """(T, Z), or (T,), with Z T Zᵀ = a, of real matrices [batch…, n, n]: T is upper triangular
    except for blocks of two rows on the diagonal, [[p, q], [r, p]] with q r < 0."""
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n > 1:
        a, factor = scale_to_one(a)
        t, z = hessenberg_form(a)
        t, z = _bordered(t), _bordered(z)
        t, z = repeated_while(MAX_STEPS_PER_EIGENVALUE * n, _has_blocks_left, _double_step, [t, z])
        t, z = repeated_while(n - 1, None, _block_made_standard, [t, z])
        left = _left(t)
        failed = select(left == 0, left, float("nan")) + (factor - factor)  # or not finite
        t, z = (slice_along(slice_along(x, 1, 0, n), 2, 0, n) + failed for x in (t, z))
        t = t * factor
    else:
        t, z = a, full(a.aval.strong(), 1)
    return [from_stacks(x, front) for x in (t, z)[: 1 + vectors]]


def _bordered(x: Any) -> Any:
    """Matrices padded with one row and one column of zeros, so that three rows and columns can
    always be read."""
    stack, n, _ = x.shape
    x = concatenate_along([x, full(aval((stack, 1, n), x.dtype), 0)], 1)
    return concatenate_along([x, full(aval((stack, n + 1, 1), x.dtype), 0)], 2)


def _chained(alive: Any) -> Any:
    """True at k where neither t[k + 1, k] nor t[k + 2, k + 1] is zero: in blocks of three rows."""
    stack, _, n = alive.shape
    none = full(aval((stack, 1, 1), dtypes.bool_), False)
    return alive & concatenate_along([slice_along(alive, 2, 1, n), none], 2)


def _left(t: Any) -> Any:
    """The number of rows that begin a block of more than two rows, [stack, 1, 1], as a float."""
    chained = _chained(subdiagonal(t) != 0)
    ones = select(chained, full(aval(chained.shape, t.dtype), 1), 0)
    return reshape(reduce_sum(ones, axes=(1, 2)), shape=(t.shape[0], 1, 1))


def _has_blocks_left(t: Any, z: Any) -> Any:
    return reduce_max(_left(t), axes=(0, 1, 2)) > 0


def _double_step(count: Any, t: Any, z: Any) -> Sequence[Any]:
    """Sets negligible elements below the diagonal to zero; chases a bulge through the last
    block."""
    stack, n = t.shape[:2]
    places = positions(n, 2)
    size = reshape(abs_(diagonal_of(t)), shape=(stack, 1, n))
    following = concatenate_along([slice_along(size, 2, 1, n), slice_along(size, 2, n - 1, n)], 2)
    eps, tiny = float(dtypes.finfo(t.dtype).eps), float(dtypes.finfo(t.dtype).tiny)
    bound = eps * (size + following) + tiny * n / eps  # so small that few digits are left
    alive = (abs_(subdiagonal(t)) > bound) & (places < n - 1)
    t = select((positions(n, 1) == places + 1) & ~alive, 0, t)
    # the last block of three rows or more, from `first` to `last`
    none = full(aval((stack, 1, n), dtypes.int32), -1)
    chained = select(_chained(alive), places, none)
    last = reshape(reduce_max(chained, axes=(2,)), shape=(stack, 1, 1)) + 2
    dead = select(~alive & (places < last - 1), places, none)
    first = reshape(reduce_max(dead, axes=(2,)), shape=(stack, 1, 1)) + 1
    start = _first_column(count, t, first, last)
    t, z, *_ = repeated_while(n - 2, None, _bulge_chased, [t, z, start, first, last])
    return [select(positions(n, 1) > places + 1, 0, t), z]


def _first_column(count: Any, t: Any, first: Any, last: Any) -> Any:
    """A multiple of the first three elements of (H - s)(H - s̄) e, [stack, 3, 1], where the shifts
    are the block's last two eigenvalues. Every tenth time it uses other shifts, to avoid cycles."""
    p, q, r = (
        element_at(t, first, first),
        element_at(t, first, first + 1),
        element_at(t, first + 1, first),
    )
    corner, under = element_at(t, first + 1, first + 1), element_at(t, first + 2, first + 1)
    # all relative to the first element, since eigenvalues may be close to it and to each other
    a, b = element_at(t, last - 1, last - 1) - p, element_at(t, last - 1, last)
    c, d = element_at(t, last, last - 1), element_at(t, last, last) - p
    stuck = abs_(c) + abs_(element_at(t, last - 1, last - 2))
    other = count % 10 == 9
    a, b = select(other, d + 0.75 * stuck, a), select(other, -0.4375 * stuck, b)
    c, d = select(other, stuck, c), select(other, d + 0.75 * stuck, d)
    size = full(p.aval.strong(), 0)
    for x in (a, b, c, d, q, r):
        size = max_(size, abs_(x))
    size = select(size == 0, 1, size)
    rest, under = (corner - p - a - d) / size, under / size
    a, b, c, d, q, r = (x / size for x in (a, b, c, d, q, r))
    return concatenate_along([a * d - b * c + q * r, r * rest, r * under], 1)


def _bulge_chased(k: Any, t: Any, z: Any, start: Any, first: Any, last: Any) -> Sequence[Any]:
    """The reflection of rows and columns k to k + 2 that makes zeros below t[k, k - 1]."""
    n = t.shape[1]
    zero = full(aval((), dtypes.int32), 0)
    spoiled = _three_rows(column(t, max_(k - 1, zero)), k)
    x = select(first == k, start, spoiled)
    inside = (k >= first) & (k < last)
    x = select(inside & (k + positions(3, 1) <= last), x, 0)
    v, tau, _ = reflection(x, zero)
    across = _three_rows(t, k)
    t = dynamic_update_slice(t, across - tau * (v * matmul(adjoint(v), across)), zero, k, zero)
    cleared = (positions(n, 2) == k - 1) & (positions(n, 1) > k) & inside
    t = select(cleared, 0, t)
    return [_turned_columns(t, k, v, tau), _turned_columns(z, k, v, tau), start, first, last]


def _three_rows(x: Any, k: Any) -> Any:
    """Rows k, k + 1 and k + 2."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_slice(x, zero, k, zero, sizes=(x.shape[0], 3, x.shape[2]))


def _turned_columns(x: Any, k: Any, v: Any, tau: Any) -> Any:
    """The matrices with columns k, k + 1 and k + 2 reflected."""
    zero = full(aval((), dtypes.int32), 0)
    along = dynamic_slice(x, zero, zero, k, sizes=(*x.shape[:2], 3))
    new = along - tau * (matmul(along, v) * adjoint(v))
    return dynamic_update_slice(x, new, zero, zero, k)


# --- blocks of two rows ---


def _block_made_standard(k: Any, t: Any, z: Any) -> Sequence[Any]:
    """Turns rows and columns k and k + 1 so that the block is a triangle if its eigenvalues are
    real, and has equal elements on the diagonal otherwise."""
    zero = full(aval((), dtypes.int32), 0)
    real, c, s = _standard_rotation(*_block_at(t, k))
    turn = concatenate_along([concatenate_along([c, -s], 2), concatenate_along([s, c], 2)], 1)
    across = dynamic_slice(t, zero, k, zero, sizes=(t.shape[0], 2, t.shape[2]))
    t = dynamic_update_slice(t, matmul(adjoint(turn), across), zero, k, zero)
    results = []
    for x in (t, z):
        along = dynamic_slice(x, zero, zero, k, sizes=(*x.shape[:2], 2))
        results.append(dynamic_update_slice(x, matmul(along, turn), zero, zero, k))
    t, z = results
    a, b, c, d = _block_at(t, k)
    flat = real | ~((b > 0) & (c < 0) | (b < 0) & (c > 0))
    middle = a + (d - a) / 2
    elements = [select(flat, a, middle), b, select(flat, 0, c), select(flat, d, middle)]
    new = concatenate_along(
        [concatenate_along(elements[:2], 2), concatenate_along(elements[2:], 2)], 1
    )
    return [dynamic_update_slice(t, new, zero, k, k), z]


def _block_at(t: Any, k: Any) -> list[Any]:
    """The elements of rows and columns k and k + 1."""
    upper, lower = row(t, k), row(t, k + 1)
    return [column(x, j) for x in (upper, lower) for j in (k, k + 1)]


def _standard_rotation(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
    """True if the eigenvalues of [[a, b], [c, d]] are real, and cosine and sine of the rotation
    that makes it standard."""
    p, eps = (a - d) / 2, float(dtypes.finfo(a.dtype).eps)
    size = max_(abs_(p), max_(abs_(b), abs_(c)))
    size = select(size == 0, 1, size)
    square, product = (p / size) * (p / size), (b / size) * (c / size)
    inner = square + product
    real = inner >= -4 * eps * square
    # real eigenvalues: the vector (λ - d, c) of the eigenvalue farther from d
    root = sqrt(max_(inner, full(inner.aval.strong(), 0))) * size
    far = p + select(p < 0, -root, root)
    radius = _length(far, c)
    # complex ones: the angle that makes the diagonal even
    both, gap = b + c, 2 * p
    length = _length(both, gap)
    cosine = select(p == 0, 1, sqrt((1 + abs_(both) / length) / 2))
    sine = (p / (length * cosine)) * select(both < 0, full(p.aval.strong(), 1), -1)
    # nearly real ones: the small element, which may have the wrong sign, goes below the diagonal
    matrix_transpose = (abs_(c) > abs_(b)) & (inner > -64 * eps)
    cosine, sine = select(matrix_transpose, -sine, cosine), select(matrix_transpose, cosine, sine)
    plain = c == 0
    cosine, sine = select(real, far / radius, cosine), select(real, c / radius, sine)
    return real, select(plain, 1, cosine), select(plain, 0, sine)


def _length(x: Any, y: Any) -> Any:
    """The length of (x, y), even where their squares underflow; 1 if both are zero."""
    most = max_(abs_(x), abs_(y))
    most = select(most == 0, 1, most)
    x, y = x / most, y / most
    result = most * sqrt(x * x + y * y)
    return select(result == 0, 1, result)
