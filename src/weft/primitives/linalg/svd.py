"""svd: singular values and vectors.

It uses LAPACK's gesdd or gesvd on CPUs, cuSOLVER's gesvdj or gesvd on GPUs, and Jacobi's method
elsewhere."""

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import mul, neg, sub
from ..creation import full
from ..portable.lowering import lowered_algorithm
from ..portable.svd import portable_svd
from ..rule_types import Avals, Batched, Host, Tangents, Values
from ..slicing import concatenate
from ..structural import add, reduce_sum
from . import numpy_lapack
from .lu import corner, window
from .matrix_operations import (
    adjoint,
    conjugate,
    diagonal_of,
    guarded_inverse,
    in_dtype_of_matrix,
    largest,
    outer,
    product_of,
    real_of,
    scaled_columns,
)
from .solver_calls import (
    adjoint_of,
    aval_of_shape,
    check_matrices,
    cusolver,
    each,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
    nan_where_failed,
    native_call,
    work,
    write_identity,
)

svd = Primitive(
    "svd",
    "Singular values in descending order; with `compute_uv` also U and the adjoint of V.",
    multiple=True,
)


@svd.type
def _(x: Aval, *, full_matrices: bool, compute_uv: bool, algorithm: str) -> Avals:
    check_matrices("svd", x)
    m, n = x.shape[-2:]
    k = min(m, n)
    values = aval_of_shape(x, k, dtype=dtypes.real_of(x.dtype))
    if not compute_uv:
        return (values,)
    return (
        values,
        aval_of_shape(x, m, m if full_matrices else k),
        aval_of_shape(x, n if full_matrices else k, n),
    )


@svd.host.work
def _(avals: Avals, outs: Avals, *, algorithm: str, **params: Any) -> float:
    return work(avals[0]) if algorithm == "default" else math.inf


@svd.evaluate
def _(x: Host, *, full_matrices: bool, compute_uv: bool, algorithm: str) -> list[Host]:
    def decompose(a: Host) -> list[Host]:
        if not compute_uv:
            return [numpy_lapack.singular_values(a)]
        u, s, vt = (numpy_lapack.svd_full if full_matrices else numpy_lapack.svd_reduced)(a)
        return [s, u, vt]

    try:
        return decompose(x)
    except np.linalg.LinAlgError:
        params = {"full_matrices": full_matrices, "compute_uv": compute_uv, "algorithm": algorithm}
        outs: Any = svd.type_rule(Aval(x.shape, x.dtype), **params)  # type: ignore[misc]
        return each(decompose, outs, x)


@svd.lower
def _(
    block: Block, x: Operand, out: Avals, full_matrices: bool, compute_uv: bool, algorithm: str
) -> list[Operand]:
    if x.aval.size == 0:
        vectors = [write_identity(block, o) for o in out[1:]]
        return [block.full(0, out[0]), *vectors]
    if has_cusolver(block):
        return svd_by_cusolver(block, x, out, full_matrices, compute_uv, algorithm)
    if not has_lapack(block):
        params = {"full_matrices": full_matrices, "compute_uv": compute_uv}
        return list(lowered_algorithm(portable_svd)(block, x, out=out, **params))
    routine = "gesvd" if algorithm == "qr" else "gesdd"
    m, n = x.aval.shape[-2:]
    reduced_size = min(m, n) if compute_uv and not full_matrices else None
    u, vt = aval_of_shape(x.aval, m, reduced_size or m), aval_of_shape(x.aval, reduced_size or n, n)
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    outs, options = (
        [x.aval.strong(), out[0], u, vt, integers(x.aval)],
        letter_attribute("mode", mode),
    )
    kinds = "M>MVMMV"
    if m <= n:
        # LAPACK sees xᵀ = V̄ S Uᵀ, and its results are transposed to Vᴴ and U. It is faster for
        # matrices with more rows than columns, so such an x is passed itself.
        outs[2:4], kinds = [vt, u], "T>TVTTV"
    _, s, *vectors = lapack(block, routine, [x], outs, kinds, options, {0: 0}, checked=True)
    return [s, *(vectors if m > n else vectors[::-1])] if compute_uv else [s]


def svd_by_cusolver(
    block: Block, x: Operand, out: Avals, full_matrices: bool, compute_uv: bool, algorithm: str
) -> list[Operand]:
    """Uses rotations (`gesvdj`) for up to 1024 rows and columns, and otherwise reduction to two
    diagonals."""
    m, n = x.aval.shape[-2:]
    if algorithm == "qr" or (algorithm != "jacobi" and max(m, n) > 1024):
        return svd_by_bidiagonals(block, x, out, full_matrices, compute_uv)
    reduced_size = (
        min(m, n) if not full_matrices and min(m, n) > 32 else None
    )  # small ones have square factors
    u, v = aval_of_shape(x.aval, m, reduced_size or m), aval_of_shape(x.aval, n, reduced_size or n)
    outs = [x.aval.strong(), out[0], u, v, integers(x.aval)]
    options = (
        f"compute_uv = {str(compute_uv).lower()}, full_matrices = {str(not reduced_size).lower()}"
    )
    target = "cusolver_gesvdj_ffi"
    _, s, left, right, info = cusolver(block, target, [x], outs, "M>MVMMV", options, {0: 0})
    if not compute_uv:
        return nan_where_failed(block, info, s)
    factors = [
        block.slice(a, [0] * o.ndim, o.shape)
        for a, o in zip((left, adjoint_of(block, right)), out[1:], strict=True)
    ]
    return nan_where_failed(block, info, s, *factors)


def svd_by_bidiagonals(
    block: Block, x: Operand, out: Avals, full_matrices: bool, compute_uv: bool
) -> list[Operand]:
    """cuSOLVER's `gesvd`, which needs at least as many rows as columns. Other matrices are passed
    row by row, as their transposes; the factors return in the same way."""
    m, n = x.aval.shape[-2:]
    is_wide = m < n
    scalar_aval = x.aval.update(shape=(), weak_type=False)
    u, vt = (out[1], out[2]) if compute_uv else (scalar_aval, scalar_aval)
    outs = [x.aval.strong(), out[0], *((vt, u) if is_wide else (u, vt)), integers(x.aval)]
    options = (
        f"compute_uv = {str(compute_uv).lower()}, full_matrices = {str(full_matrices).lower()}, "
        f"transposed = {str(is_wide).lower()}"
    )
    matrix = "V" if is_wide else "M"
    matrix_or_vector = matrix if compute_uv else "V"
    kinds = f"{matrix}>{matrix}V{matrix_or_vector}{matrix_or_vector}V"
    target, batch = "cusolver_gesvd_ffi", x.aval.ndim - 2
    results = native_call(block, target, [x], outs, kinds, options, {0: 0}, batch)
    _, s, u_output, v_output, info = results
    if not compute_uv:
        return nan_where_failed(block, info, s)
    return nan_where_failed(
        block, info, s, *((v_output, u_output) if is_wide else (u_output, v_output))
    )


@svd.jvp
def _(
    primals: Values, tangents: Values, out: Values, *, compute_uv: bool, **params: Any
) -> Tangents:
    """Uᴴ dx V = Ω S + dS - S Ψ, with dU = U Ω, dV = V Ψ, both skew. Its Hermitian part h
    gives (Ω + Ψ) / 2 = h[i, j] / (s[j] - s[i]), and the remainder r gives
    (Ω - Ψ) / 2 = r[i, j] / (s[i] + s[j]).

    Where a divisor is 0, the result is 0: functions of the singular values, of U Vᴴ, or of the
    spaces of equal values do not depend on these elements. A pair of complex vectors shares a phase
    equally; the columns that complete U or V have the smallest possible derivative.
    Source: J. Townsend, Differentiating the singular value decomposition, 2016.
    """
    (x,), (dx,) = primals, tangents
    if not compute_uv:
        out = svd(x, compute_uv=True, **{**params, "full_matrices": False})
    s, u, vt = out
    if not compute_uv:
        return (values_tangent(dx, u, vt),)
    (m, n), k = dx.shape[-2:], s.shape[-1]
    u_main, vt_main = corner(u, m, k), corner(vt, k, n)
    by_v, by_u = product_of(dx, adjoint(vt_main)), product_of(adjoint(u_main), dx)
    u_product = product_of(adjoint(u_main), by_v)
    ds = real_of(diagonal_of(u_product))
    half = full(u_product.aval.update(shape=(), weak_type=False), 0.5)
    hermitian_part = mul(add(u_product, adjoint(u_product)), half)
    skew_part = mul(sub(u_product, adjoint(u_product)), half)
    largest_value = largest(s)
    hermitian_part = mul(
        hermitian_part,
        in_dtype_of_matrix(
            guarded_inverse(outer(s, s, lambda a, b: sub(b, a)), largest_value), u_product
        ),
    )
    skew_part = mul(
        skew_part, in_dtype_of_matrix(guarded_inverse(outer(s, s, add), largest_value), u_product)
    )
    inverse = guarded_inverse(s, largest_value)
    du = columns_tangent(
        u, product_of(u_main, add(hermitian_part, skew_part)), scaled_columns(by_v, inverse)
    )
    by_u = scaled_columns(adjoint(by_u), inverse)
    dv = columns_tangent(
        adjoint(vt), product_of(adjoint(vt_main), sub(hermitian_part, skew_part)), by_u
    )
    return ds, du, adjoint(dv)


def values_tangent(dx: Value, u: Value, vt: Value) -> Value:
    """The tangent of the singular values only: the diagonal of Uᴴ dx V."""
    product = mul(conjugate(u), product_of(dx, adjoint(vt)))
    return real_of(reduce_sum(product, axes=(u.ndim - 2,)))


def columns_tangent(u: Value, tangent_in_span: Value, column_tangents: Value) -> Value:
    """The tangent of orthonormal columns.

    Args:
      u: all columns; those after the first `inside.shape[-1]` complete a basis.
      tangent_in_span: the tangent of the first columns within the space that they span.
      column_tangents: their whole tangent; only the part outside that space is used.
    """
    (m, total), k = u.shape[-2:], tangent_in_span.shape[-1]
    leading_columns = corner(u, m, k)
    if m == k:
        return tangent_in_span
    if total == k:
        tangent_out_of_span = sub(
            column_tangents,
            product_of(leading_columns, product_of(adjoint(leading_columns), column_tangents)),
        )
        return add(tangent_in_span, tangent_out_of_span)
    complement = window(u, 0, m, k, total)
    rotation = product_of(adjoint(complement), column_tangents)
    tangent = add(tangent_in_span, product_of(complement, rotation))
    return concatenate(
        tangent, neg(product_of(leading_columns, adjoint(rotation))), dimension=u.ndim - 1
    )


@svd.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Values:
    return svd(args[0], **params)
