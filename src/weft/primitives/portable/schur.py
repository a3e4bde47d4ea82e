"""Schur's form of complex matrices: the QR algorithm with shifts."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, like, max_, sqrt
from ..complex_numbers import complex_
from ..creation import full
from ..linalg.matrix_operations import conjugate, diagonal_of, real_of
from ..reductions import reduce_max
from ..structural import reshape
from .hessenberg import hessenberg_form
from .lowering import repeated_while
from .real_schur import portable_real_schur
from .stacks import (
    abs_squared,
    as_dtype,
    column,
    concatenate_along,
    divide_by_real,
    element_at,
    from_stacks,
    imaginary_part,
    positions,
    row,
    select,
    slice_along,
    subdiagonal,
    to_stacks,
    with_column,
    with_row,
)

MAX_STEPS_PER_EIGENVALUE = 30
"""The maximum number of steps for each eigenvalue; about three suffice."""


def portable_schur(a: Any, *, vectors: bool = True) -> Sequence[Any]:
    """(T, Z), or (T,), with Z T Zᴴ = a, for matrices [batch…, n, n]. T is upper triangular; for
    real matrices it may have diagonal blocks of two rows."""
    if not dtypes.is_complex(a.dtype):
        return portable_real_schur(a, vectors=vectors)
    batch_shape, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n == 0:
        return [from_stacks(a, batch_shape)] * (1 + vectors)
    h, z = hessenberg_form(a)
    if n > 1:
        h, z = repeated_while(MAX_STEPS_PER_EIGENVALUE * n, _is_unfinished, _shifted_step, [h, z])
    h = select(positions(n, 1) > positions(n, 2), _zero_or_nan(h), h)
    return [from_stacks(x, batch_shape) for x in (h, z)[: 1 + vectors]]


def _zero_or_nan(h: Any) -> Any:
    """The part below the diagonal: zeros, or NaN where the iteration did not converge."""
    total = reshape(reduce_max(abs_(subdiagonal(h)), axes=(1, 2)), shape=(h.shape[0], 1, 1))
    return as_dtype(select(total == 0, total, float("nan")), h.dtype)


def _is_unfinished(h: Any, z: Any) -> Any:
    return reduce_max(abs_(subdiagonal(h)), axes=(0, 1, 2)) > 0


def _shifted_step(count: Any, h: Any, z: Any) -> Sequence[Any]:
    """Sets negligible elements below the diagonal to zero, and takes a QR step in the last
    block."""
    stack, n = h.shape[:2]
    diagonal = reshape(diagonal_of(h), shape=(stack, 1, n))
    magnitudes = abs_(diagonal)
    next_magnitudes = concatenate_along(
        [slice_along(magnitudes, 2, 1, n), slice_along(magnitudes, 2, n - 1, n)], 2
    )
    subdiagonal_magnitudes, positions_in_row = abs_(subdiagonal(h)), positions(n, 2)
    largest = reshape(reduce_max(magnitudes, axes=(2,)), shape=(stack, 1, 1))
    eps, tiny = float(dtypes.finfo(h.dtype).eps), float(dtypes.finfo(h.dtype).tiny)
    bound = eps * (magnitudes + next_magnitudes) + tiny + tiny * n / eps * largest
    is_nonzero = (subdiagonal_magnitudes > bound) & (positions_in_row < n - 1)
    rows, columns = positions(n, 1), positions(n, 2)
    h = select((rows == columns + 1) & ~is_nonzero, 0, h)
    # the block from `start_row` to `end_row`, whose subdiagonal elements are nonzero
    minus_one = full(aval((stack, 1, n), dtypes.int32), -1)
    end_row = (
        reshape(
            reduce_max(select(is_nonzero, positions_in_row, minus_one), axes=(2,)),
            shape=(stack, 1, 1),
        )
        + 1
    )
    zero_positions = select(
        ~is_nonzero & (positions_in_row < end_row - 1), positions_in_row, minus_one
    )
    start_row = reshape(reduce_max(zero_positions, axes=(2,)), shape=(stack, 1, 1)) + 1
    is_in_block = (positions_in_row >= start_row) & (
        positions_in_row < end_row
    )  # the rotations of rows k and k + 1
    shift = _shift(count, h, end_row)
    block_diagonal_mask = (rows == columns) & (columns >= start_row) & (columns <= end_row)
    h = select(block_diagonal_mask, h - shift, h)
    rotations = full(aval((stack, 2, n), h.dtype), 0)
    h, rotations, _ = repeated_while(n - 1, None, _rotate_rows, [h, rotations, is_in_block])
    h, z, _ = repeated_while(n - 1, None, _rotate_columns, [h, z, rotations])
    return [select(block_diagonal_mask, h + shift, h), z]


def _shift(count: Any, h: Any, end_row: Any) -> Any:
    """Wilkinson's shift: the eigenvalue of the last two rows that is nearer to the last element.
    Every tenth shift is a different one, to avoid cycles."""
    a, b = element_at(h, end_row - 1, end_row - 1), element_at(h, end_row - 1, end_row)
    c, d = element_at(h, end_row, end_row - 1), element_at(h, end_row, end_row)
    scale = abs_(a - d)
    for x in (b, c):
        scale = max_(scale, abs_(x))
    scale = select(scale == 0, 1, scale)
    half, b, c = (
        divide_by_real(x, scale) for x in ((a - d) / 2, b, c)
    )  # so that no square vanishes
    root = _complex_root(half * half + b * c)
    first_root, second_root = half + root, half - root
    nearer_root = select(
        abs_squared(first_root) < abs_squared(second_root), first_root, second_root
    )
    step = select(count % 10 == 9, as_dtype(abs_(c), h.dtype), nearer_root)
    return d + step * as_dtype(scale, h.dtype)


def _complex_root(x: Any) -> Any:
    """A square root of complex numbers."""
    modulus, a, b = abs_(x), real_of(x), imaginary_part(x)
    re, im = sqrt(max_(modulus + a, like(a, 0)) / 2), sqrt(max_(modulus - a, like(a, 0)) / 2)
    return complex_(re, select(b < 0, -im, im))


def _rotate_rows(k: Any, h: Any, rotations: Any, is_in_block: Any) -> Sequence[Any]:
    """Rotates rows k and k + 1 so that h[k + 1, k] vanishes."""
    upper, lower = row(h, k), row(h, k + 1)
    x, y = column(upper, k), column(lower, k)
    largest = max_(abs_(x), abs_(y))
    largest = select(largest == 0, 1, largest)
    x, y = divide_by_real(x, largest), divide_by_real(y, largest)  # so that no square vanishes
    norm = sqrt(abs_squared(x) + abs_squared(y))
    is_trivial = ~column(is_in_block, k) | (norm == 0)
    nonzero_norm = select(is_trivial, 1, norm)
    c, s = (
        select(is_trivial, 1, divide_by_real(x, nonzero_norm)),
        select(is_trivial, 0, divide_by_real(y, nonzero_norm)),
    )
    h = with_row(h, k, conjugate(c) * upper + conjugate(s) * lower)
    h = with_row(h, k + 1, c * lower - s * upper)
    return [h, with_column(rotations, k, concatenate_along([c, s], 1)), is_in_block]


def _rotate_columns(k: Any, h: Any, z: Any, rotations: Any) -> Sequence[Any]:
    """Rotates columns k and k + 1 by the inverse of the same rotation."""
    rotation = column(rotations, k)
    c, s = slice_along(rotation, 1, 0, 1), slice_along(rotation, 1, 1, 2)
    results = []
    for x in (h, z):
        left, right = column(x, k), column(x, k + 1)
        x = with_column(x, k, left * c + right * s)
        results.append(with_column(x, k + 1, right * conjugate(c) - left * conjugate(s)))
    return [*results, rotations]
