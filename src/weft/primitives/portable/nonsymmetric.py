"""Schur's form and eigenvectors: of complex matrices, the QR algorithm with shifts.

A Hessenberg form stays one under A - s = Q R, R Q + s; below its diagonal it vanishes. All matrices
of a stack take each step, those that are done a rotation by nothing. Source: G. H. Golub,
C. F. Van Loan, Matrix Computations, 4th ed., 7.4-7.6.
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, like, max_, sqrt
from ..complex_numbers import complex_
from ..linalg.values import adjoint, conjugated, diagonal_of, real_of
from ..reduction import reduce_max
from ..slicing import rev
from ..structural import full, reduce_sum, reshape
from .householder import hessenberg_form
from .real_schur import portable_real_schur
from .stacks import (
    column,
    element_at,
    imaginary_part,
    in_batches,
    in_stacks,
    numbers,
    of_dtype,
    over_real,
    part,
    picked,
    row,
    side_by_side,
    square_abs,
    subdiagonal,
    times,
    with_column,
    with_row,
)
from .writing import repeated_while

STEPS = 30
"""For each eigenvalue, at most; about three do."""


def portable_schur(a: Any, *, vectors: bool = True) -> Sequence[Any]:
    """(T, Z), or (T,), with Z T Zᴴ = a, of [batch…, n, n]; T is upper triangular, of real matrices
    but for blocks of two rows."""
    if not dtypes.is_complex(a.dtype):
        return portable_real_schur(a, vectors=vectors)
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = in_stacks(a)
    if n == 0:
        return [in_batches(a, front)] * (1 + vectors)
    h, z = hessenberg_form(a)
    if n > 1:
        h, z = repeated_while(STEPS * n, _unfinished, _shifted_step, [h, z])
    h = picked(numbers(n, 1) > numbers(n, 2), _nothing_or_nan(h), h)
    return [in_batches(x, front) for x in (h, z)[: 1 + vectors]]


def _nothing_or_nan(h: Any) -> Any:
    """The part below the diagonal: zeros, and NaN where there is something left."""
    total = reshape(reduce_max(abs_(subdiagonal(h)), axes=(1, 2)), shape=(h.shape[0], 1, 1))
    return of_dtype(picked(total == 0, total, float("nan")), h.dtype)


def _unfinished(h: Any, z: Any) -> Any:
    return reduce_max(abs_(subdiagonal(h)), axes=(0, 1, 2)) > 0


def _shifted_step(count: Any, h: Any, z: Any) -> Sequence[Any]:
    """Sets what is negligible below the diagonal to zero, and turns the last block that is left."""
    stack, n = h.shape[:2]
    line = reshape(diagonal_of(h), shape=(stack, 1, n))
    size = abs_(line)
    beside = side_by_side([part(size, 2, 1, n), part(size, 2, n - 1, n)], 2)
    sizes, places = abs_(subdiagonal(h)), numbers(n, 2)
    largest = reshape(reduce_max(size, axes=(2,)), shape=(stack, 1, 1))
    eps, tiny = float(dtypes.finfo(h.dtype).eps), float(dtypes.finfo(h.dtype).tiny)
    bound = eps * (size + beside) + tiny + tiny * n / eps * largest
    alive = (sizes > bound) & (places < n - 1)
    rows, columns = numbers(n, 1), numbers(n, 2)
    h = picked((rows == columns + 1) & ~alive, 0, h)
    # the block from `first` to `last`: elements below the diagonal are alive in between
    none = full(aval((stack, 1, n), dtypes.int32), -1)
    last = reshape(reduce_max(picked(alive, places, none), axes=(2,)), shape=(stack, 1, 1)) + 1
    dead = picked(~alive & (places < last - 1), places, none)
    first = reshape(reduce_max(dead, axes=(2,)), shape=(stack, 1, 1)) + 1
    inside = (places >= first) & (places < last)  # the rotations of rows k and k + 1
    shift = _shift(count, h, last)
    block = (rows == columns) & (columns >= first) & (columns <= last)
    h = picked(block, h - shift, h)
    turns = full(aval((stack, 2, n), h.dtype), 0)
    h, turns, _ = repeated_while(n - 1, None, _rows_turned, [h, turns, inside])
    h, z, _ = repeated_while(n - 1, None, _columns_turned, [h, z, turns])
    return [picked(block, h + shift, h), z]


def _shift(count: Any, h: Any, last: Any) -> Any:
    """Wilkinson's: the eigenvalue of the last two rows that is nearer to the last element; every
    tenth time another, lest it goes round."""
    a, b = element_at(h, last - 1, last - 1), element_at(h, last - 1, last)
    c, d = element_at(h, last, last - 1), element_at(h, last, last)
    size = abs_(a - d)
    for x in (b, c):
        size = max_(size, abs_(x))
    size = picked(size == 0, 1, size)
    half, b, c = (over_real(x, size) for x in ((a - d) / 2, b, c))  # so that no square vanishes
    root = _complex_root(half * half + b * c)
    first, second = half + root, half - root
    near = picked(square_abs(first) < square_abs(second), first, second)
    step = picked(count % 10 == 9, of_dtype(abs_(c), h.dtype), near)
    return d + step * of_dtype(size, h.dtype)


def _complex_root(x: Any) -> Any:
    """A square root of complex numbers."""
    size, a, b = abs_(x), real_of(x), imaginary_part(x)
    re, im = sqrt(max_(size + a, like(a, 0)) / 2), sqrt(max_(size - a, like(a, 0)) / 2)
    return complex_(re, picked(b < 0, -im, im))


def _rows_turned(k: Any, h: Any, turns: Any, inside: Any) -> Sequence[Any]:
    """Rotates rows k and k + 1 so that h[k + 1, k] vanishes."""
    upper, lower = row(h, k), row(h, k + 1)
    x, y = column(upper, k), column(lower, k)
    largest = max_(abs_(x), abs_(y))
    largest = picked(largest == 0, 1, largest)
    x, y = over_real(x, largest), over_real(y, largest)  # so that no square vanishes
    size = sqrt(square_abs(x) + square_abs(y))
    plain = ~column(inside, k) | (size == 0)
    safe = picked(plain, 1, size)
    c, s = picked(plain, 1, over_real(x, safe)), picked(plain, 0, over_real(y, safe))
    h = with_row(h, k, conjugated(c) * upper + conjugated(s) * lower)
    h = with_row(h, k + 1, c * lower - s * upper)
    return [h, with_column(turns, k, side_by_side([c, s], 1)), inside]


def _columns_turned(k: Any, h: Any, z: Any, turns: Any) -> Sequence[Any]:
    """Rotates columns k and k + 1 by the same rotation, turned back."""
    both = column(turns, k)
    c, s = part(both, 1, 0, 1), part(both, 1, 1, 2)
    found = []
    for x in (h, z):
        left, right = column(x, k), column(x, k + 1)
        x = with_column(x, k, left * c + right * s)
        found.append(with_column(x, k + 1, right * conjugated(c) - left * conjugated(s)))
    return [*found, turns]


# --- eigenvectors ---


def portable_eig(a: Any, *, left: bool = True, right: bool = True) -> Sequence[Any]:
    """Eigenvalues, and if wished left and right eigenvectors, of any matrices [batch…, n, n]."""
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = in_stacks(of_dtype(a, dtypes.complex_of(a.dtype)))
    if n == 0:
        values = full(aval((*front, 0), a.dtype), 0)
        return [values, *[in_batches(a, front)] * (left + right)]
    t, z = portable_schur(a)
    found = [diagonal_of(t)]
    if left:
        # of the adjoint, which is lower triangular: upper, with rows and columns turned round
        vectors = _reversed(_vectors_of_triangle(_reversed(adjoint(t))))
        found.append(_lengths_of_one(times(z, vectors)))
    if right:
        found.append(_lengths_of_one(times(z, _vectors_of_triangle(t))))
    return [in_batches(x, front) for x in found]


def _reversed(x: Any) -> Any:
    """Rows and columns in the other order."""
    return rev(x, dimensions=(1, 2))


def _vectors_of_triangle(t: Any) -> Any:
    """The eigenvectors of upper triangular matrices: upper triangular, ones on the diagonal."""
    stack, n = t.shape[:2]
    line = diagonal_of(t)
    across = reshape(line, shape=(stack, 1, n))
    size = reshape(reduce_max(abs_(t), axes=(1, 2)), shape=(stack, 1, 1))
    least = float(dtypes.finfo(t.dtype).eps) * size + float(dtypes.finfo(t.dtype).tiny)

    def step(k: Any, x: Any, t: Any, across: Any, least: Any) -> Sequence[Any]:
        i = n - 1 - k
        mine = row(t, i)
        sums = times(picked(numbers(n, 2) > i, mine, 0), x)
        gaps = across - column(mine, i)
        gaps = picked(abs_(gaps) < least, of_dtype(least, t.dtype), gaps)
        new = picked(numbers(n, 2) > i, sums / gaps, picked(numbers(n, 2) == i, 1, row(x, i)))
        return [with_row(x, i, new), t, across, least]

    start = full(t.aval.strong(), 0)
    return repeated_while(n, None, step, [start, t, across, least])[0]


def _lengths_of_one(x: Any) -> Any:
    """Columns of length one."""
    stack, n = x.shape[0], x.shape[2]
    largest = reshape(reduce_max(abs_(x), axes=(1,)), shape=(stack, 1, n))
    x = over_real(x, largest)
    size = reshape(sqrt(reduce_sum(square_abs(x), axes=(1,))), shape=(stack, 1, n))
    return over_real(x, size)
