"""Householder's reflections: QR decompositions, Hessenberg and tridiagonal forms.

A reflection is 1 - tau v vᴴ with v[j] = 1. Those of a block of columns are applied together, as
1 - V T Vᴴ. Sources: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 5.1-5.2, 7.4; the
form of the results is LAPACK's (geqrf, orgqr, gehrd).
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..complex_numbers import complex_
from ..linalg.values import adjoint, conjugated, diagonal_of, hermitian_of, real_of
from ..reduction import reduce_max
from ..slicing import rev
from ..structural import full, reduce_sum, reshape
from .stacks import (
    column,
    imaginary_part,
    in_batches,
    in_stacks,
    numbers,
    of_dtype,
    over_real,
    part,
    picked,
    row,
    scaled,
    side_by_side,
    square_abs,
    times,
    unit_matrices,
    with_column,
)
from .triangular import panels
from .writing import repeated_while


def reflection(x: Any, j: Any) -> tuple[Any, Any, Any]:
    """The reflection that makes zeros of what is below row j of columns [stack, m, 1].

    Returns: (v, tau, beta): v is zero above row j, and beta is what becomes of row j, real.
    """
    rows = numbers(x.shape[1], 1)
    below = rows > j
    largest = reduce_max(abs_(picked(rows >= j, x, 0)), axes=(1,))
    largest = reshape(largest, shape=(x.shape[0], 1, 1))
    vanishing = largest < float(dtypes.finfo(x.dtype).tiny)  # counts as zero: it has few digits
    factor = picked(vanishing, 1, largest)
    x = over_real(x, factor)  # so that no square vanishes or overflows
    alpha = row(x, j)
    rest = reduce_sum(square_abs(picked(below, x, 0)), axes=(1,))
    rest = reshape(rest, shape=alpha.shape)
    a, b = real_of(alpha), imaginary_part(alpha)
    size = sqrt(a * a + b * b + rest)
    beta = picked(a > 0, -size, size)
    plain = vanishing | (picked(rest == 0, b, 1) == 0)  # nothing to do: the reflection is 1
    beta = picked(plain, a, beta)
    safe = picked(plain, 1, beta)
    tau = picked(plain, 0, (beta - a) / safe)
    if dtypes.is_complex(x.dtype):
        tau = complex_(tau, picked(plain, 0, -b / safe))
    scale = picked(plain, 1, alpha - of_dtype(beta, x.dtype))
    v = picked(below & ~plain, x / scale, 0)
    return picked(rows == j, 1, v), tau, of_dtype(beta * factor, x.dtype)


def portable_geqrf(a: Any) -> Sequence[Any]:
    """The QR decomposition of [batch…, m, n]: R on and above the diagonal, the reflections' vectors
    below, and their tau [batch…, min(m, n)]."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = in_stacks(a)
    a, factor = scaled(a)
    stack = a.shape[0]
    taus = [full(aval((stack, 1, 0), a.dtype), 0)]
    for start, stop in panels(min(m, n)):
        rest = part(a, 1, start, m)
        block, tau = _qr_columns(part(rest, 2, start, stop))
        right = part(rest, 2, stop, n)
        if stop < n:
            v = _vectors(block)
            right = right - times(
                v, times(adjoint(_joint_factor(v, tau)), times(adjoint(v), right))
            )
        rest = side_by_side([part(rest, 2, 0, start), block, right], 2)
        a = side_by_side([part(a, 1, 0, start), rest], 1)
        taus.append(tau)
    size = of_dtype(factor, a.dtype)
    a = picked(numbers(m, 1) > numbers(n, 2), a, a * size)
    tau = side_by_side(taus, 2)
    return [in_batches(a, front), in_batches(reshape(tau, shape=(stack, min(m, n))), front)]


def _qr_columns(a: Any) -> tuple[Any, Any]:
    """The decomposition of a few columns."""
    stack, m, k = a.shape

    def step(j: Any, a: Any, taus: Any) -> Sequence[Any]:
        at, columns = column(a, j), numbers(k, 2)
        v, tau, beta = reflection(at, j)
        across = times(adjoint(v), a)
        a = a - v * picked(columns > j, conjugated(tau) * across, 0)
        rows = numbers(m, 1)
        at = picked(rows > j, v, picked(rows == j, beta, at))
        return [with_column(a, j, at), with_column(taus, j, tau)]

    start = full(aval((stack, 1, k), a.dtype), 0)
    a, taus = repeated_while(min(m, k), None, step, [a, start])
    return a, taus


def _vectors(a: Any) -> Any:
    """The reflections' vectors of a decomposition: ones on the diagonal, zeros above."""
    rows, columns = numbers(a.shape[1], 1), numbers(a.shape[2], 2)
    return picked(rows > columns, a, picked(rows == columns, 1, full(a.aval.strong(), 0)))


def _joint_factor(v: Any, taus: Any) -> Any:
    """The triangular T for which the product of the reflections is 1 - V T Vᴴ."""
    k = v.shape[2]
    products = times(adjoint(v), v)

    def step(j: Any, t: Any, products: Any, taus: Any) -> Sequence[Any]:
        rows, tau = numbers(k, 1), column(taus, j)
        above = picked(rows < j, column(products, j), 0)
        new = picked(rows == j, tau, picked(rows < j, -tau * times(t, above), 0))
        return [with_column(t, j, new), products, taus]

    start = full(products.aval.strong(), 0)
    return repeated_while(k, None, step, [start, products, taus])[0]


def portable_product(a: Any, taus: Any) -> Sequence[Any]:
    """The first columns of the product of reflections, [batch…, m, n]: LAPACK's orgqr."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,), (taus,) = in_stacks(a), in_stacks(taus, rank=1)
    k = taus.shape[1]
    taus = reshape(taus, shape=(a.shape[0], 1, k))
    q = unit_matrices(a.shape[0], m, n, a.dtype)
    for start, stop in reversed(panels(k)):
        v = _vectors(part(part(a, 1, start, m), 2, start, stop))
        t = _joint_factor(v, part(taus, 2, start, stop))
        rest = part(q, 1, start, m)
        rest = rest - times(v, times(t, times(adjoint(v), rest)))
        q = side_by_side([part(q, 1, 0, start), rest], 1)
    return [in_batches(q, front)]


def portable_gehrd(a: Any) -> Sequence[Any]:
    """The Hessenberg form of [batch…, n, n]: H, with the reflections' vectors below its second
    diagonal, and their tau [batch…, n - 1]."""
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = in_stacks(a)
    a, factor = scaled(a)
    stack = a.shape[0]
    count = max(n - 1, 0)
    taus = full(aval((stack, 1, count), a.dtype), 0)

    def step(j: Any, a: Any, taus: Any) -> Sequence[Any]:
        at, rows, columns = column(a, j), numbers(n, 1), numbers(n, 2)
        v, tau, beta = reflection(at, j + 1)
        across = picked(columns > j, times(adjoint(v), a), 0)
        a = a - conjugated(tau) * (v * across)
        along = times(picked(columns > j, a, 0), v)
        a = a - tau * (along * adjoint(v))
        at = picked(rows > j + 1, v, picked(rows == j + 1, beta, at))
        return [with_column(a, j, at), with_column(taus, j, tau)]

    a, taus = repeated_while(count, None, step, [a, taus])
    a = picked(numbers(n, 1) > numbers(n, 2) + 1, a, a * of_dtype(factor, a.dtype))
    return [in_batches(a, front), in_batches(reshape(taus, shape=(stack, count)), front)]


def hessenberg_form(a: Any) -> tuple[Any, Any]:
    """(H, Q) with Q H Qᴴ = a."""
    stack, n = a.shape[:2]
    packed, taus = portable_gehrd(a)
    h = picked(numbers(n, 1) > numbers(n, 2) + 1, 0, packed)
    q = unit_matrices(stack, n, n, a.dtype)
    if n > 1:
        (inner,) = portable_product(part(part(packed, 1, 1, n), 2, 0, n - 1), taus)
        beside = part(part(q, 1, 1, n), 2, 0, 1)
        q = side_by_side([part(q, 1, 0, 1), side_by_side([beside, inner], 2)], 1)
    return h, q


def portable_sytrd(a: Any, *, lower: bool) -> Sequence[Any]:
    """The form of three diagonals of Hermitian matrices [batch…, n, n]: as LAPACK's, with the
    reflections' vectors in the triangle that is read; its diagonal, the one beside it, and tau."""
    if not lower:  # rows and columns in the other order have the other triangle
        packed, *lines = portable_sytrd(rev(a, dimensions=(a.ndim - 2, a.ndim - 1)), lower=True)
        turned = [rev(x, dimensions=(x.ndim - 1,)) for x in lines]
        return [rev(packed, dimensions=(a.ndim - 2, a.ndim - 1)), *turned]
    front, n = a.shape[:-2], a.shape[-1]
    packed, taus = portable_gehrd(hermitian_of(a, lower=True))
    (whole,) = in_stacks(packed)
    line = real_of(diagonal_of(whole))
    beside = picked(numbers(n, 1) == numbers(n, 2) + 1, real_of(whole), 0)
    beside = part(reduce_sum(beside, axes=(1,)), 1, 0, max(n - 1, 0))
    rows, columns = numbers(n, a.ndim - 2, a.ndim), numbers(n, a.ndim - 1, a.ndim)
    packed = picked(rows < columns, a, packed)
    return [packed, *[in_batches(x, front) for x in (line, beside)], taus]
