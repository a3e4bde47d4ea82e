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
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    if n == 0:
        return [from_stacks(a, front)] * (1 + vectors)
    h, z = hessenberg_form(a)
    if n > 1:
        h, z = repeated_while(MAX_STEPS_PER_EIGENVALUE * n, _unfinished, _shifted_step, [h, z])
    h = select(positions(n, 1) > positions(n, 2), _nothing_or_nan(h), h)
    return [from_stacks(x, front) for x in (h, z)[: 1 + vectors]]


def _nothing_or_nan(h: Any) -> Any:
    """The part below the diagonal: zeros, or NaN where the iteration did not converge."""
    total = reshape(reduce_max(abs_(subdiagonal(h)), axes=(1, 2)), shape=(h.shape[0], 1, 1))
    return as_dtype(select(total == 0, total, float("nan")), h.dtype)


def _unfinished(h: Any, z: Any) -> Any:
    return reduce_max(abs_(subdiagonal(h)), axes=(0, 1, 2)) > 0


def _shifted_step(count: Any, h: Any, z: Any) -> Sequence[Any]:
    """Sets negligible elements below the diagonal to zero, and takes a QR step in the last
    block."""
    stack, n = h.shape[:2]
    line = reshape(diagonal_of(h), shape=(stack, 1, n))
    size = abs_(line)
    beside = concatenate_along([slice_along(size, 2, 1, n), slice_along(size, 2, n - 1, n)], 2)
    sizes, places = abs_(subdiagonal(h)), positions(n, 2)
    largest = reshape(reduce_max(size, axes=(2,)), shape=(stack, 1, 1))
    eps, tiny = float(dtypes.finfo(h.dtype).eps), float(dtypes.finfo(h.dtype).tiny)
    bound = eps * (size + beside) + tiny + tiny * n / eps * largest
    alive = (sizes > bound) & (places < n - 1)
    rows, columns = positions(n, 1), positions(n, 2)
    h = select((rows == columns + 1) & ~alive, 0, h)
    # the block from `first` to `last`, whose subdiagonal elements are nonzero
    none = full(aval((stack, 1, n), dtypes.int32), -1)
    last = reshape(reduce_max(select(alive, places, none), axes=(2,)), shape=(stack, 1, 1)) + 1
    dead = select(~alive & (places < last - 1), places, none)
    first = reshape(reduce_max(dead, axes=(2,)), shape=(stack, 1, 1)) + 1
    inside = (places >= first) & (places < last)  # the rotations of rows k and k + 1
    shift = _shift(count, h, last)
    block = (rows == columns) & (columns >= first) & (columns <= last)
    h = select(block, h - shift, h)
    turns = full(aval((stack, 2, n), h.dtype), 0)
    h, turns, _ = repeated_while(n - 1, None, _rows_turned, [h, turns, inside])
    h, z, _ = repeated_while(n - 1, None, _columns_turned, [h, z, turns])
    return [select(block, h + shift, h), z]


def _shift(count: Any, h: Any, last: Any) -> Any:
    """Wilkinson's shift: the eigenvalue of the last two rows that is nearer to the last element.
    Every tenth shift is a different one, to avoid cycles."""
    a, b = element_at(h, last - 1, last - 1), element_at(h, last - 1, last)
    c, d = element_at(h, last, last - 1), element_at(h, last, last)
    size = abs_(a - d)
    for x in (b, c):
        size = max_(size, abs_(x))
    size = select(size == 0, 1, size)
    half, b, c = (
        divide_by_real(x, size) for x in ((a - d) / 2, b, c)
    )  # so that no square vanishes
    root = _complex_root(half * half + b * c)
    first, second = half + root, half - root
    near = select(abs_squared(first) < abs_squared(second), first, second)
    step = select(count % 10 == 9, as_dtype(abs_(c), h.dtype), near)
    return d + step * as_dtype(size, h.dtype)


def _complex_root(x: Any) -> Any:
    """A square root of complex numbers."""
    size, a, b = abs_(x), real_of(x), imaginary_part(x)
    re, im = sqrt(max_(size + a, like(a, 0)) / 2), sqrt(max_(size - a, like(a, 0)) / 2)
    return complex_(re, select(b < 0, -im, im))


def _rows_turned(k: Any, h: Any, turns: Any, inside: Any) -> Sequence[Any]:
    """Rotates rows k and k + 1 so that h[k + 1, k] vanishes."""
    upper, lower = row(h, k), row(h, k + 1)
    x, y = column(upper, k), column(lower, k)
    largest = max_(abs_(x), abs_(y))
    largest = select(largest == 0, 1, largest)
    x, y = divide_by_real(x, largest), divide_by_real(y, largest)  # so that no square vanishes
    size = sqrt(abs_squared(x) + abs_squared(y))
    plain = ~column(inside, k) | (size == 0)
    safe = select(plain, 1, size)
    c, s = select(plain, 1, divide_by_real(x, safe)), select(plain, 0, divide_by_real(y, safe))
    h = with_row(h, k, conjugate(c) * upper + conjugate(s) * lower)
    h = with_row(h, k + 1, c * lower - s * upper)
    return [h, with_column(turns, k, concatenate_along([c, s], 1)), inside]


def _columns_turned(k: Any, h: Any, z: Any, turns: Any) -> Sequence[Any]:
    """Rotates columns k and k + 1 by the inverse of the same rotation."""
    both = column(turns, k)
    c, s = slice_along(both, 1, 0, 1), slice_along(both, 1, 1, 2)
    results = []
    for x in (h, z):
        left, right = column(x, k), column(x, k + 1)
        x = with_column(x, k, left * c + right * s)
        results.append(with_column(x, k + 1, right * conjugate(c) - left * conjugate(s)))
    return [*results, turns]
