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
    batch_shape, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n > 1:
        a, factor = scale_to_one(a)
        t, z = hessenberg_form(a)
        t, z = _pad_by_one(t), _pad_by_one(z)
        t, z = repeated_while(MAX_STEPS_PER_EIGENVALUE * n, _has_blocks_left, _double_step, [t, z])
        t, z = repeated_while(n - 1, None, _standardize_block, [t, z])
        left = _count_open_blocks(t)
        failed = select(left == 0, left, float("nan")) + (factor - factor)  # or not finite
        t, z = (slice_along(slice_along(x, 1, 0, n), 2, 0, n) + failed for x in (t, z))
        t = t * factor
    else:
        t, z = a, full(a.aval.strong(), 1)
    return [from_stacks(x, batch_shape) for x in (t, z)[: 1 + vectors]]


def _pad_by_one(x: Any) -> Any:
    """Matrices padded with one row and one column of zeros, so that three rows and columns can
    always be read."""
    stack, n, _ = x.shape
    x = concatenate_along([x, full(aval((stack, 1, n), x.dtype), 0)], 1)
    return concatenate_along([x, full(aval((stack, n + 1, 1), x.dtype), 0)], 2)


def _in_large_block(is_nonzero: Any) -> Any:
    """True at k where neither t[k + 1, k] nor t[k + 2, k + 1] is zero: in blocks of three rows."""
    stack, _, n = is_nonzero.shape
    false_column = full(aval((stack, 1, 1), dtypes.bool_), False)
    return is_nonzero & concatenate_along([slice_along(is_nonzero, 2, 1, n), false_column], 2)


def _count_open_blocks(t: Any) -> Any:
    """The number of rows that begin a block of more than two rows, [stack, 1, 1], as a float."""
    is_chained = _in_large_block(subdiagonal(t) != 0)
    ones = select(is_chained, full(aval(is_chained.shape, t.dtype), 1), 0)
    return reshape(reduce_sum(ones, axes=(1, 2)), shape=(t.shape[0], 1, 1))


def _has_blocks_left(t: Any, z: Any) -> Any:
    return reduce_max(_count_open_blocks(t), axes=(0, 1, 2)) > 0


def _double_step(count: Any, t: Any, z: Any) -> Sequence[Any]:
    """Sets negligible elements below the diagonal to zero; chases a bulge through the last
    block."""
    stack, n = t.shape[:2]
    positions_in_row = positions(n, 2)
    magnitudes = reshape(abs_(diagonal_of(t)), shape=(stack, 1, n))
    next_magnitudes = concatenate_along(
        [slice_along(magnitudes, 2, 1, n), slice_along(magnitudes, 2, n - 1, n)], 2
    )
    eps, tiny = float(dtypes.finfo(t.dtype).eps), float(dtypes.finfo(t.dtype).tiny)
    bound = (
        eps * (magnitudes + next_magnitudes) + tiny * n / eps
    )  # so small that few digits are left
    is_nonzero = (abs_(subdiagonal(t)) > bound) & (positions_in_row < n - 1)
    t = select((positions(n, 1) == positions_in_row + 1) & ~is_nonzero, 0, t)
    # the last block of three rows or more, from `start_row` to `end_row`
    minus_one = full(aval((stack, 1, n), dtypes.int32), -1)
    block_positions = select(_in_large_block(is_nonzero), positions_in_row, minus_one)
    end_row = reshape(reduce_max(block_positions, axes=(2,)), shape=(stack, 1, 1)) + 2
    zero_positions = select(
        ~is_nonzero & (positions_in_row < end_row - 1), positions_in_row, minus_one
    )
    start_row = reshape(reduce_max(zero_positions, axes=(2,)), shape=(stack, 1, 1)) + 1
    start = _first_column(count, t, start_row, end_row)
    t, z, *_ = repeated_while(n - 2, None, _chase_bulge, [t, z, start, start_row, end_row])
    return [select(positions(n, 1) > positions_in_row + 1, 0, t), z]


def _first_column(count: Any, t: Any, start_row: Any, end_row: Any) -> Any:
    """A multiple of the first three elements of (H - s)(H - s̄) e, [stack, 3, 1], where the shifts
    are the block's last two eigenvalues. Every tenth time it uses other shifts, to avoid cycles."""
    p, q, r = (
        element_at(t, start_row, start_row),
        element_at(t, start_row, start_row + 1),
        element_at(t, start_row + 1, start_row),
    )
    corner, second_subdiagonal = (
        element_at(t, start_row + 1, start_row + 1),
        element_at(t, start_row + 2, start_row + 1),
    )
    # all relative to the first element, since eigenvalues may be close to it and to each other
    a, b = element_at(t, end_row - 1, end_row - 1) - p, element_at(t, end_row - 1, end_row)
    c, d = element_at(t, end_row, end_row - 1), element_at(t, end_row, end_row) - p
    exceptional_shift = abs_(c) + abs_(element_at(t, end_row - 1, end_row - 2))
    is_exceptional = count % 10 == 9
    a, b = (
        select(is_exceptional, d + 0.75 * exceptional_shift, a),
        select(is_exceptional, -0.4375 * exceptional_shift, b),
    )
    c, d = (
        select(is_exceptional, exceptional_shift, c),
        select(is_exceptional, d + 0.75 * exceptional_shift, d),
    )
    scale = full(p.aval.strong(), 0)
    for x in (a, b, c, d, q, r):
        scale = max_(scale, abs_(x))
    scale = select(scale == 0, 1, scale)
    trace_gap, second_subdiagonal = (corner - p - a - d) / scale, second_subdiagonal / scale
    a, b, c, d, q, r = (x / scale for x in (a, b, c, d, q, r))
    return concatenate_along([a * d - b * c + q * r, r * trace_gap, r * second_subdiagonal], 1)


def _chase_bulge(k: Any, t: Any, z: Any, start: Any, start_row: Any, end_row: Any) -> Sequence[Any]:
    """The reflection of rows and columns k to k + 2 that makes zeros below t[k, k - 1]."""
    n = t.shape[1]
    zero = full(aval((), dtypes.int32), 0)
    bulge_column = _three_rows(column(t, max_(k - 1, zero)), k)
    x = select(start_row == k, start, bulge_column)
    is_in_block = (k >= start_row) & (k < end_row)
    x = select(is_in_block & (k + positions(3, 1) <= end_row), x, 0)
    v, tau, _ = reflection(x, zero)
    three_rows = _three_rows(t, k)
    t = dynamic_update_slice(
        t, three_rows - tau * (v * matmul(adjoint(v), three_rows)), zero, k, zero
    )
    is_cleared = (positions(n, 2) == k - 1) & (positions(n, 1) > k) & is_in_block
    t = select(is_cleared, 0, t)
    return [
        _reflect_columns(t, k, v, tau),
        _reflect_columns(z, k, v, tau),
        start,
        start_row,
        end_row,
    ]


def _three_rows(x: Any, k: Any) -> Any:
    """Rows k, k + 1 and k + 2."""
    zero = full(aval((), dtypes.int32), 0)
    return dynamic_slice(x, zero, k, zero, sizes=(x.shape[0], 3, x.shape[2]))


def _reflect_columns(x: Any, k: Any, v: Any, tau: Any) -> Any:
    """The matrices with columns k, k + 1 and k + 2 reflected."""
    zero = full(aval((), dtypes.int32), 0)
    three_columns = dynamic_slice(x, zero, zero, k, sizes=(*x.shape[:2], 3))
    reflected = three_columns - tau * (matmul(three_columns, v) * adjoint(v))
    return dynamic_update_slice(x, reflected, zero, zero, k)


# --- blocks of two rows ---


def _standardize_block(k: Any, t: Any, z: Any) -> Sequence[Any]:
    """Turns rows and columns k and k + 1 so that the block is a triangle if its eigenvalues are
    real, and has equal elements on the diagonal otherwise."""
    zero = full(aval((), dtypes.int32), 0)
    real, c, s = _standard_rotation(*_block_at(t, k))
    rotation = concatenate_along([concatenate_along([c, -s], 2), concatenate_along([s, c], 2)], 1)
    two_rows = dynamic_slice(t, zero, k, zero, sizes=(t.shape[0], 2, t.shape[2]))
    t = dynamic_update_slice(t, matmul(adjoint(rotation), two_rows), zero, k, zero)
    results = []
    for x in (t, z):
        two_columns = dynamic_slice(x, zero, zero, k, sizes=(*x.shape[:2], 2))
        results.append(dynamic_update_slice(x, matmul(two_columns, rotation), zero, zero, k))
    t, z = results
    a, b, c, d = _block_at(t, k)
    is_triangular = real | ~((b > 0) & (c < 0) | (b < 0) & (c > 0))
    diagonal_mean = a + (d - a) / 2
    elements = [
        select(is_triangular, a, diagonal_mean),
        b,
        select(is_triangular, 0, c),
        select(is_triangular, d, diagonal_mean),
    ]
    standard_block = concatenate_along(
        [concatenate_along(elements[:2], 2), concatenate_along(elements[2:], 2)], 1
    )
    return [dynamic_update_slice(t, standard_block, zero, k, k), z]


def _block_at(t: Any, k: Any) -> list[Any]:
    """The elements of rows and columns k and k + 1."""
    upper, lower = row(t, k), row(t, k + 1)
    return [column(x, j) for x in (upper, lower) for j in (k, k + 1)]


def _standard_rotation(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any]:
    """True if the eigenvalues of [[a, b], [c, d]] are real, and cosine and sine of the rotation
    that makes it standard."""
    p, eps = (a - d) / 2, float(dtypes.finfo(a.dtype).eps)
    scale = max_(abs_(p), max_(abs_(b), abs_(c)))
    scale = select(scale == 0, 1, scale)
    square, product = (p / scale) * (p / scale), (b / scale) * (c / scale)
    discriminant = square + product
    real = discriminant >= -4 * eps * square
    # real eigenvalues: the vector (λ - d, c) of the eigenvalue farther from d
    root = sqrt(max_(discriminant, full(discriminant.aval.strong(), 0))) * scale
    farther_gap = p + select(p < 0, -root, root)
    radius = _length(farther_gap, c)
    # complex ones: the angle that makes the diagonal even
    off_diagonal_sum, gap = b + c, 2 * p
    length = _length(off_diagonal_sum, gap)
    cosine = select(p == 0, 1, sqrt((1 + abs_(off_diagonal_sum) / length) / 2))
    sine = (p / (length * cosine)) * select(off_diagonal_sum < 0, full(p.aval.strong(), 1), -1)
    # nearly real ones: the small element, which may have the wrong sign, goes below the diagonal
    exchanges_rows = (abs_(c) > abs_(b)) & (discriminant > -64 * eps)
    cosine, sine = select(exchanges_rows, -sine, cosine), select(exchanges_rows, cosine, sine)
    is_triangular = c == 0
    cosine, sine = select(real, farther_gap / radius, cosine), select(real, c / radius, sine)
    return real, select(is_triangular, 1, cosine), select(is_triangular, 0, sine)


def _length(x: Any, y: Any) -> Any:
    """The length of (x, y), even where their squares underflow; 1 if both are zero."""
    scale = max_(abs_(x), abs_(y))
    scale = select(scale == 0, 1, scale)
    x, y = x / scale, y / scale
    result = scale * sqrt(x * x + y * y)
    return select(result == 0, 1, result)
