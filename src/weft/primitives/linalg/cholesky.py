"""cholesky: the triangular factors of positive definite matrices.

LAPACK's potrf on CPUs, cuSOLVER's on GPUs, and XLA's own expansion elsewhere; the derivative is
Murray's (2016)."""

from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import mul
from ..creation import full
from ..rule_types import Batched, Host, Tangent, Values
from ..selection import where
from . import numpy_lapack
from .matrix_operations import hermitian_of, mask_of, part_of, product_of
from .solver_calls import (
    adjoint_of,
    check_matrices,
    cusolver,
    decomposition_cost,
    each,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
    lower_triangle,
    nan_where_failed,
    upper_triangle,
)
from .triangular_solve import triangular_solve

cholesky = Primitive(
    "cholesky",
    "The triangular factor L with L Lᴴ = x, or U with Uᴴ U = x, from that triangle of x; "
    "NaN if x is not positive definite. The other triangle may be read if x is "
    "`hermitian`.",
)


@cholesky.type
def _(x: Aval, *, lower: bool, hermitian: bool) -> Aval:
    check_matrices("cholesky", x, square=True)
    return x.strong()


cholesky.host.work(decomposition_cost)


@cholesky.evaluate
def _(x: Host, *, lower: bool, hermitian: bool) -> Host:
    if not lower:
        x = x.swapaxes(-1, -2).conj()
    factor = each(lambda a: [numpy_lapack.cholesky(a)], [Aval(x.shape, x.dtype)], x)[0]
    last_element = factor[..., -1:, -1:]
    if not (last_element == last_element).all():
        factor = np.tril(factor)
    return factor if lower else factor.swapaxes(-1, -2).conj()


@cholesky.lower
def _(block: Block, x: Operand, out: Aval, lower: bool, hermitian: bool) -> Operand:
    if out.size == 0:
        return x
    if not has_lapack(block):
        factor = lower_factor(block, x if lower else adjoint_of(block, x), out)
        return factor if lower else adjoint_of(block, factor)
    # LAPACK sees the transpose. xᵀ = Uᴴ U gives the lower triangle without moving elements; xᵀ = L
    # Lᴴ, which is faster in LAPACK, gives the upper one.
    upper_of_transpose = lower and hermitian and not dtypes.is_complex(out.dtype)
    uplo = letter_attribute("uplo", "U" if lower and not upper_of_transpose else "L")
    (factor,) = lapack(block, "potrf", [x], [out, integers(out)], "T>TV", uplo, {0: 0}, True)
    if upper_of_transpose:
        return block.transpose_matrix(upper_triangle(block, factor))
    return lower_triangle(block, factor) if lower else upper_triangle(block, factor)


def lower_factor(block: Block, x: Operand, out: Aval) -> Operand:
    """The lower Cholesky factors, without LAPACK."""
    if has_cusolver(block):
        outs, target = [out, integers(out)], "cusolver_potrf_ffi"
        factor, info = cusolver(block, target, [x], outs, "M>MV", "lower = true", {0: 0})
        (factor,) = nan_where_failed(block, info, factor)
    else:  # XLA expands this operation on every platform
        factor = block.op("cholesky", x, out=out, attributes="lower = true")
    return lower_triangle(block, factor)


@cholesky.jvp
def _(primals: Values, tangents: Values, out: Value, *, lower: bool, hermitian: bool) -> Tangent:
    """dL = L Φ(L⁻¹ dx L⁻ᴴ); Φ takes the lower triangle, and half of the diagonal. dU = dLᴴ.

    I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, eq. 8.
    """
    (dx,) = tangents
    if not hermitian:
        dx = hermitian_of(dx, lower)  # of the triangle that is read
    product = dx
    for left in (True, False):
        by_adjoint = left is not lower
        product = triangular_solve(
            out, product, left_side=left, lower=lower, unit_diagonal=False,
            transpose_a=by_adjoint, conjugate_a=by_adjoint,
        )  # fmt: skip
    half = halved_triangle(product, "lower" if lower else "upper")
    return product_of(out, half) if lower else product_of(half, out)


def halved_triangle(x: Value, part: str) -> Value:
    """A triangle, with half of the diagonal."""
    scalar = x.aval.update(shape=(), weak_type=False)
    half = where(mask_of(x.shape, "diagonal"), mul(x, full(scalar, 0.5)), x)
    return part_of(half, part)


@cholesky.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Value:
    return cholesky(args[0], **params)
