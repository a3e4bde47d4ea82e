"""cholesky: the triangular factors of positive definite matrices."""

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import mul
from ..rule_types import Batched, Host, Tangent, Values
from ..selection import where
from ..structural import full
from . import numpy_lapack
from .lapack_calls import has_lapack, lapack, letter
from .native import (
    check_matrices,
    cusolver,
    each,
    has_cusolver,
    integers,
    lower_triangle,
    nan_where_failed,
    small,
    upper_triangle,
)
from .triangular import triangular_solve
from .values import hermitian_of, mask_of, part_of, product_of

cholesky = Primitive(
    "cholesky",
    "The lower triangle L with L Lᴴ = x, of x's lower triangle; NaN if x isn't positive definite. "
    "Where x is `hermitian` its upper triangle may be read.",
)


@cholesky.type
def _(x: Aval, *, hermitian: bool) -> Aval:
    check_matrices("cholesky", x, square=True)
    return x.strong()


cholesky.host_when(small)


@cholesky.evaluate
def _(x: Host, *, hermitian: bool) -> Host:
    factor = each(lambda a: [numpy_lapack.cholesky(a)], [Aval(x.shape, x.dtype)], x)[0]
    last = factor[..., -1:, -1:]
    return factor if (last == last).all() else np.tril(factor)


@cholesky.lower
def _(block: Block, x: Operand, out: Aval, hermitian: bool) -> Operand:
    if out.size == 0:
        return x
    if has_lapack(block):
        # LAPACK sees the transposes: of real symmetric matrices L itself, which its blocks make
        # sooner than U; of the others' upper triangles U = Lᵀ, and nothing is moved.
        outs = [out, integers(out)]
        if not hermitian or dtypes.is_complex(out.dtype):
            (u,) = lapack(block, "potrf", [x], outs, "T>TV", letter("uplo", "U"), {0: 0}, True)
            return lower_triangle(block, u)
        (low,) = lapack(block, "potrf", [x], outs, "T>TV", letter("uplo", "L"), {0: 0}, True)
        return block.turn(upper_triangle(block, low))
    if has_cusolver(block):
        outs, target = [out, integers(out)], "cusolver_potrf_ffi"
        factor, info = cusolver(block, target, [x], outs, "M>MV", "lower = true", {0: 0})
        (factor,) = nan_where_failed(block, info, factor)
    else:  # XLA has an algorithm of its own everywhere
        factor = block.op("cholesky", x, out=out, attributes="lower = true")
    return lower_triangle(block, factor)


@cholesky.jvp
def _(primals: Values, tangents: Values, out: Value, *, hermitian: bool) -> Tangent:
    """dL = L Φ(L⁻¹ dx L⁻ᴴ); Φ takes the lower triangle, and half of the diagonal.

    I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, eq. 8.
    """
    (dx,) = tangents
    if not hermitian:
        dx = hermitian_of(dx, lower=True)  # of all that is read
    solve = dict(lower=True, unit_diagonal=False)
    left = triangular_solve(out, dx, left_side=True, transpose_a=False, conjugate_a=False, **solve)
    both = triangular_solve(out, left, left_side=False, transpose_a=True, conjugate_a=True, **solve)
    return product_of(out, halved_triangle(both))


def halved_triangle(x: Value) -> Value:
    """The lower triangle, with half of the diagonal."""
    scalar = x.aval.update(shape=(), weak_type=False)
    half = where(mask_of(x.shape, "diagonal"), mul(x, full(scalar, 0.5)), x)
    return part_of(half, "lower")


@cholesky.batch
def _(args: Values, batched: Batched, batch_size: int, *, hermitian: bool) -> Value:
    return cholesky(args[0], hermitian=hermitian)  # type: ignore[no-any-return]
