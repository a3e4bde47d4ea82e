"""The Hessenberg form by Householder reflections (gehrd), and the tridiagonal form of Hermitian
matrices (sytrd).

Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 7.4; the results have LAPACK's
form."""

from collections.abc import Sequence
from typing import Any

from ...core.aval import aval
from ..creation import full
from ..linalg.matrix_operations import adjoint, conjugate, diagonal_of, hermitian_of, real_of
from ..slicing import rev
from ..structural import reduce_sum, reshape
from .lowering import repeated_while
from .qr import portable_product, reflection
from .stacks import (
    as_dtype,
    column,
    concatenate_along,
    from_stacks,
    identity_matrices,
    matmul,
    positions,
    scale_to_one,
    select,
    slice_along,
    to_stacks,
    with_column,
)


def portable_gehrd(a: Any) -> Sequence[Any]:
    """The Hessenberg form of [batch…, n, n]: H, with the reflections' vectors below its second
    diagonal, and their tau [batch…, n - 1]."""
    front, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    a, factor = scale_to_one(a)
    stack = a.shape[0]
    count = max(n - 1, 0)
    taus = full(aval((stack, 1, count), a.dtype), 0)

    def step(j: Any, a: Any, taus: Any) -> Sequence[Any]:
        at, rows, columns = column(a, j), positions(n, 1), positions(n, 2)
        v, tau, beta = reflection(at, j + 1)
        across = select(columns > j, matmul(adjoint(v), a), 0)
        a = a - conjugate(tau) * (v * across)
        along = matmul(select(columns > j, a, 0), v)
        a = a - tau * (along * adjoint(v))
        at = select(rows > j + 1, v, select(rows == j + 1, beta, at))
        return [with_column(a, j, at), with_column(taus, j, tau)]

    a, taus = repeated_while(count, None, step, [a, taus])
    a = select(positions(n, 1) > positions(n, 2) + 1, a, a * as_dtype(factor, a.dtype))
    return [from_stacks(a, front), from_stacks(reshape(taus, shape=(stack, count)), front)]


def hessenberg_form(a: Any) -> tuple[Any, Any]:
    """(H, Q) with Q H Qᴴ = a."""
    stack, n = a.shape[:2]
    packed, taus = portable_gehrd(a)
    h = select(positions(n, 1) > positions(n, 2) + 1, 0, packed)
    q = identity_matrices(stack, n, n, a.dtype)
    if n > 1:
        (inner,) = portable_product(slice_along(slice_along(packed, 1, 1, n), 2, 0, n - 1), taus)
        beside = slice_along(slice_along(q, 1, 1, n), 2, 0, 1)
        q = concatenate_along([slice_along(q, 1, 0, 1), concatenate_along([beside, inner], 2)], 1)
    return h, q


def portable_sytrd(a: Any, *, lower: bool) -> Sequence[Any]:
    """The tridiagonal form of Hermitian matrices [batch…, n, n] as LAPACK stores it, with the
    reflections' vectors in the triangle that is read; its diagonal, its subdiagonal, and tau."""
    if not lower:  # reversing rows and columns exchanges the triangles
        packed, *lines = portable_sytrd(rev(a, dimensions=(a.ndim - 2, a.ndim - 1)), lower=True)
        reversed_lines = [rev(x, dimensions=(x.ndim - 1,)) for x in lines]
        return [rev(packed, dimensions=(a.ndim - 2, a.ndim - 1)), *reversed_lines]
    front, n = a.shape[:-2], a.shape[-1]
    packed, taus = portable_gehrd(hermitian_of(a, lower=True))
    (matrices,) = to_stacks(packed)
    line = real_of(diagonal_of(matrices))
    beside = select(positions(n, 1) == positions(n, 2) + 1, real_of(matrices), 0)
    beside = slice_along(reduce_sum(beside, axes=(1,)), 1, 0, max(n - 1, 0))
    rows, columns = positions(n, a.ndim - 2, a.ndim), positions(n, a.ndim - 1, a.ndim)
    packed = select(rows < columns, a, packed)
    return [packed, *[from_stacks(x, front) for x in (line, beside)], taus]
