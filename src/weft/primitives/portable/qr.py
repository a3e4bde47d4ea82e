"""QR decomposition by Householder reflections: geqrf, geqp3 (with column pivoting), orgqr, ormqr.

A reflection is 1 - tau v vᴴ with v[j] = 1. The reflections of a block of columns are applied
together, as 1 - V T Vᴴ. Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 5.1-5.4;
the results have LAPACK's form."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_, sqrt
from ..complex_numbers import complex_
from ..creation import full
from ..linalg.matrix_operations import adjoint, conjugate, real_of
from ..reductions import argmax, reduce_max
from ..structural import reduce_sum, reshape, widen
from .lowering import repeated_while
from .lu import panels
from .stacks import (
    abs_squared,
    as_dtype,
    column,
    concatenate_along,
    divide_by_real,
    from_stacks,
    identity_matrices,
    imaginary_part,
    matmul,
    positions,
    row,
    scale_to_one,
    select,
    slice_along,
    to_stacks,
    with_column,
)


def reflection(x: Any, j: Any) -> tuple[Any, Any, Any]:
    """The reflection that makes the elements below row j of columns [stack, m, 1] zero.

    Returns: (v, tau, beta): v is zero above row j, and beta is the new element in row j, real.
    """
    rows = positions(x.shape[1], 1)
    is_below = rows > j
    largest = reduce_max(abs_(select(rows >= j, x, 0)), axes=(1,))
    largest = reshape(largest, shape=(x.shape[0], 1, 1))
    is_negligible = largest < float(
        dtypes.finfo(x.dtype).tiny
    )  # counts as zero: few digits are left
    factor = select(is_negligible, 1, largest)
    x = divide_by_real(x, factor)  # so that no square underflows or overflows
    alpha = row(x, j)
    sum_below = reduce_sum(abs_squared(select(is_below, x, 0)), axes=(1,))
    sum_below = reshape(sum_below, shape=alpha.shape)
    a, b = real_of(alpha), imaginary_part(alpha)
    norm = sqrt(a * a + b * b + sum_below)
    beta = select(a > 0, -norm, norm)
    is_trivial = is_negligible | (
        select(sum_below == 0, b, 1) == 0
    )  # nothing to do: the reflection is 1
    beta = select(is_trivial, a, beta)
    nonzero_beta = select(is_trivial, 1, beta)
    tau = select(is_trivial, 0, (beta - a) / nonzero_beta)
    if dtypes.is_complex(x.dtype):
        tau = complex_(tau, select(is_trivial, 0, -b / nonzero_beta))
    scale = select(is_trivial, 1, alpha - as_dtype(beta, x.dtype))
    v = select(is_below & ~is_trivial, x / scale, 0)
    return select(rows == j, 1, v), tau, as_dtype(beta * factor, x.dtype)


def portable_geqrf(a: Any) -> Sequence[Any]:
    """The QR decomposition of [batch…, m, n]: R on and above the diagonal, the reflections' vectors
    below, and their tau [batch…, min(m, n)]."""
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = to_stacks(a)
    a, factor = scale_to_one(a)
    stack = a.shape[0]
    taus = [full(aval((stack, 1, 0), a.dtype), 0)]
    for start, stop in panels(min(m, n)):
        lower_rows = slice_along(a, 1, start, m)
        block, tau = _qr_columns(slice_along(lower_rows, 2, start, stop))
        right = slice_along(lower_rows, 2, stop, n)
        if stop < n:
            v = _vectors(block)
            right = right - matmul(
                v, matmul(adjoint(_joint_factor(v, tau)), matmul(adjoint(v), right))
            )
        lower_rows = concatenate_along([slice_along(lower_rows, 2, 0, start), block, right], 2)
        a = concatenate_along([slice_along(a, 1, 0, start), lower_rows], 1)
        taus.append(tau)
    scale = as_dtype(factor, a.dtype)
    a = select(positions(m, 1) > positions(n, 2), a, a * scale)
    tau = concatenate_along(taus, 2)
    return [
        from_stacks(a, batch_shape),
        from_stacks(reshape(tau, shape=(stack, min(m, n))), batch_shape),
    ]


def _qr_columns(a: Any) -> tuple[Any, Any]:
    """The decomposition of a few columns."""
    stack, m, k = a.shape

    def step(j: Any, a: Any, taus: Any) -> Sequence[Any]:
        column_j, columns = column(a, j), positions(k, 2)
        v, tau, beta = reflection(column_j, j)
        v_product = matmul(adjoint(v), a)
        a = a - v * select(columns > j, conjugate(tau) * v_product, 0)
        rows = positions(m, 1)
        column_j = select(rows > j, v, select(rows == j, beta, column_j))
        return [with_column(a, j, column_j), with_column(taus, j, tau)]

    start = full(aval((stack, 1, k), a.dtype), 0)
    a, taus = repeated_while(min(m, k), None, step, [a, start])
    return a, taus


def _vectors(a: Any) -> Any:
    """The reflections' vectors of a decomposition: ones on the diagonal, zeros above."""
    rows, columns = positions(a.shape[1], 1), positions(a.shape[2], 2)
    return select(rows > columns, a, select(rows == columns, 1, full(a.aval.strong(), 0)))


def _joint_factor(v: Any, taus: Any) -> Any:
    """The triangular T for which the product of the reflections is 1 - V T Vᴴ."""
    k = v.shape[2]
    products = matmul(adjoint(v), v)

    def step(j: Any, t: Any, products: Any, taus: Any) -> Sequence[Any]:
        rows, tau = positions(k, 1), column(taus, j)
        product_column = select(rows < j, column(products, j), 0)
        t_column = select(rows == j, tau, select(rows < j, -tau * matmul(t, product_column), 0))
        return [with_column(t, j, t_column), products, taus]

    start = full(products.aval.strong(), 0)
    return repeated_while(k, None, step, [start, products, taus])[0]


def portable_product(a: Any, taus: Any) -> Sequence[Any]:
    """The first columns of the product of reflections, [batch…, m, n]: LAPACK's orgqr."""
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,), (taus,) = to_stacks(a), to_stacks(taus, rank=1)
    k = taus.shape[1]
    taus = reshape(taus, shape=(a.shape[0], 1, k))
    q = identity_matrices(a.shape[0], m, n, a.dtype)
    for start, stop in reversed(panels(k)):
        v = _vectors(slice_along(slice_along(a, 1, start, m), 2, start, stop))
        t = _joint_factor(v, slice_along(taus, 2, start, stop))
        lower_rows = slice_along(q, 1, start, m)
        lower_rows = lower_rows - matmul(v, matmul(t, matmul(adjoint(v), lower_rows)))
        q = concatenate_along([slice_along(q, 1, 0, start), lower_rows], 1)
    return [from_stacks(q, batch_shape)]


def portable_geqp3(a: Any) -> Sequence[Any]:
    """QR decomposition of [batch…, m, n] with column pivoting: R and the
    reflections' vectors, the columns' order from 0, and tau."""
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = to_stacks(a)
    a, factor = scale_to_one(a)
    stack, k = a.shape[0], min(m, n)
    rows, columns = positions(m, 1), positions(n, 2)

    def step(j: Any, a: Any, order: Any, taus: Any) -> Sequence[Any]:
        squared_norms = reduce_sum(abs_squared(select(rows >= j, a, 0)), axes=(1,))
        squared_norms = select(positions(n, 1, ndim=2) >= j, squared_norms, -1)
        longest = reshape(argmax(squared_norms, axis=1, dtype=dtypes.int32), shape=(stack, 1, 1))
        a, order = exchange_columns(a, j, longest), exchange_columns(order, j, longest)
        column_j = column(a, j)
        v, tau, beta = reflection(column_j, j)
        v_product = matmul(adjoint(v), a)
        a = a - v * select(columns > j, conjugate(tau) * v_product, 0)
        column_j = select(rows > j, v, select(rows == j, beta, column_j))
        return [with_column(a, j, column_j), order, with_column(taus, j, tau)]

    taus = full(aval((stack, 1, k), a.dtype), 0)
    start = [a, widen(columns, (stack, 1, n)), taus]
    a, order, taus = repeated_while(k, None, step, start)
    a = select(rows > columns, a, a * as_dtype(factor, a.dtype))
    order, taus = reshape(order, shape=(stack, n)), reshape(taus, shape=(stack, k))
    return [from_stacks(x, batch_shape) for x in (a, order, taus)]


def exchange_columns(a: Any, j: Any, position: Any) -> Any:
    """Exchanges column j and another column, [stack, 1, 1], in each matrix."""
    column_j, mask = column(a, j), positions(a.shape[2], 2) == position
    other_column = reshape(reduce_sum(select(mask, a, 0), axes=(2,)), shape=column_j.shape)
    return with_column(select(mask, widen(column_j, a.shape), a), j, other_column)


def portable_ormqr(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Sequence[Any]:
    """Q c, Qᴴ c, c Q or c Qᴴ; Q, the product of reflections, is formed."""
    batch_shape, (m, n) = a.shape[:-2], a.shape[-2:]
    (square, c), (taus,) = to_stacks(a, c), to_stacks(taus, rank=1)
    if n > m:
        square = slice_along(square, 2, 0, m)
    elif n < m:
        square = concatenate_along([square, full(aval((square.shape[0], m, m - n), a.dtype), 0)], 2)
    (q,) = portable_product(square, taus)
    q = adjoint(q) if transpose else q
    return [from_stacks(matmul(q, c) if left else matmul(c, q), batch_shape)]
