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
    batch_shape, n = a.shape[:-2], a.shape[-1]
    (a,) = to_stacks(a)
    a, factor = scale_to_one(a)
    stack = a.shape[0]
    count = max(n - 1, 0)
    taus = full(aval((stack, 1, count), a.dtype), 0)

    def step(j: Any, a: Any, taus: Any) -> Sequence[Any]:
        column_j, rows, columns = column(a, j), positions(n, 1), positions(n, 2)
        v, tau, beta = reflection(column_j, j + 1)
        v_product = select(columns > j, matmul(adjoint(v), a), 0)
        a = a - conjugate(tau) * (v * v_product)
        a_product = matmul(select(columns > j, a, 0), v)
        a = a - tau * (a_product * adjoint(v))
        column_j = select(rows > j + 1, v, select(rows == j + 1, beta, column_j))
        return [with_column(a, j, column_j), with_column(taus, j, tau)]

    a, taus = repeated_while(count, None, step, [a, taus])
    a = select(positions(n, 1) > positions(n, 2) + 1, a, a * as_dtype(factor, a.dtype))
    return [
        from_stacks(a, batch_shape),
        from_stacks(reshape(taus, shape=(stack, count)), batch_shape),
    ]


def hessenberg_form(a: Any) -> tuple[Any, Any]:
    """(H, Q) with Q H Qᴴ = a."""
    stack, n = a.shape[:2]
    packed_factors, taus = portable_gehrd(a)
    h = select(positions(n, 1) > positions(n, 2) + 1, 0, packed_factors)
    q = identity_matrices(stack, n, n, a.dtype)
    if n > 1:
        (q_inner,) = portable_product(
            slice_along(slice_along(packed_factors, 1, 1, n), 2, 0, n - 1), taus
        )
        first_column = slice_along(slice_along(q, 1, 1, n), 2, 0, 1)
        q = concatenate_along(
            [slice_along(q, 1, 0, 1), concatenate_along([first_column, q_inner], 2)], 1
        )
    return h, q


def portable_sytrd(a: Any, *, lower: bool) -> Sequence[Any]:
    """The tridiagonal form of Hermitian matrices [batch…, n, n] as LAPACK stores it, with the
    reflections' vectors in the triangle that is read; its diagonal, its subdiagonal, and tau."""
    if not lower:  # reversing rows and columns exchanges the triangles
        packed_factors, *vectors = portable_sytrd(
            rev(a, dimensions=(a.ndim - 2, a.ndim - 1)), lower=True
        )
        reversed_vectors = [rev(x, dimensions=(x.ndim - 1,)) for x in vectors]
        return [rev(packed_factors, dimensions=(a.ndim - 2, a.ndim - 1)), *reversed_vectors]
    batch_shape, n = a.shape[:-2], a.shape[-1]
    packed_factors, taus = portable_gehrd(hermitian_of(a, lower=True))
    (matrices,) = to_stacks(packed_factors)
    diagonal = real_of(diagonal_of(matrices))
    off_diagonal = select(positions(n, 1) == positions(n, 2) + 1, real_of(matrices), 0)
    off_diagonal = slice_along(reduce_sum(off_diagonal, axes=(1,)), 1, 0, max(n - 1, 0))
    rows, columns = positions(n, a.ndim - 2, a.ndim), positions(n, a.ndim - 1, a.ndim)
    packed_factors = select(rows < columns, a, packed_factors)
    return [packed_factors, *[from_stacks(x, batch_shape) for x in (diagonal, off_diagonal)], taus]
