"""eigh: eigenvalues and eigenvectors of Hermitian matrices.

It uses LAPACK's syevd or heevd on CPUs, cuSOLVER's on GPUs, and Jacobi's method elsewhere."""

from collections.abc import Sequence

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import mul, sub
from ..portable.eigh import portable_eigh
from ..portable.lowering import lowered_algorithm
from ..rule_types import Avals, Batched, Host, Tangents, Values
from . import numpy_lapack
from .matrix_operations import (
    adjoint,
    diagonal_of,
    guarded_inverse,
    hermitian_of,
    in_dtype_of_matrix,
    largest,
    outer,
    product_of,
    real_of,
)
from .solver_calls import (
    aval_of_shape,
    check_matrices,
    cusolver,
    decomposition_cost,
    each,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
    nan_where_failed,
)

# --- eigh ---

eigh = Primitive(
    "eigh",
    "Orthonormal eigenvectors and ascending eigenvalues of Hermitian matrices, from one triangle.",
    multiple=True,
)


@eigh.type
def _(x: Aval, *, lower: bool) -> Avals:
    check_matrices("eigh", x, square=True)
    n = x.shape[-1]
    return x.strong(), aval_of_shape(x, n, dtype=dtypes.real_of(x.dtype))


eigh.host.work(decomposition_cost)


@eigh.evaluate
def _(x: Host, *, lower: bool) -> list[Host]:
    outs = Aval(x.shape[:-1], dtypes.real_of(x.dtype)), Aval(x.shape, x.dtype)
    decompose = numpy_lapack.eigh_of_lower if lower else numpy_lapack.eigh_of_upper
    values, vectors = each(decompose, outs, x)
    return [vectors, values]


@eigh.lower
def _(block: Block, x: Operand, out: Avals, lower: bool) -> list[Operand]:
    vectors, values = out
    if x.aval.size == 0:
        return [x, block.full(0, values)]
    outs = [vectors, values, integers(x.aval)]
    if has_lapack(block):
        routine = "heevd" if dtypes.is_complex(x.aval.dtype) else "syevd"
        options = (
            f"{letter_attribute('mode', 'V')}, {letter_attribute('uplo', 'L' if lower else 'U')}"
        )
        return lapack(block, routine, [x], outs, "M>MVV", options, {0: 0}, checked=True)
    if has_cusolver(block):
        options = f"algorithm = 0 : ui8, lower = {str(lower).lower()}"
        target = "cusolver_syevd_ffi"
        *results, info = cusolver(block, target, [x], outs, "M>MVV", options, {0: 0})
        return nan_where_failed(block, info, *results)
    return list(lowered_algorithm(portable_hermitian)(block, x, out=out, lower=lower))


def portable_hermitian(x: Value, *, lower: bool) -> Sequence[Value]:
    """Eigenvectors and eigenvalues of the Hermitian matrices that one triangle of x defines."""
    return portable_eigh(hermitian_of(x, lower))


@eigh.jvp
def _(primals: Values, tangents: Values, out: Values, *, lower: bool) -> Tangents:
    """dw is the diagonal of Vᴴ dx V, and dV = V (F ∘ Vᴴ dx V), F[i, j] = 1 / (w[j] - w[i]).

    F is 0 where eigenvalues are equal: a function of the eigenvalues, or of the eigenspace of equal
    ones, does not depend on these elements. Source: M. Giles, Collected matrix derivative results
    for forward and reverse mode algorithmic differentiation, 2008, 3.1.
    """
    (dx,), (v, w) = tangents, out
    v_product = product_of(adjoint(v), hermitian_of(dx, lower), v)
    inverse = guarded_inverse(outer(w, w, lambda a, b: sub(b, a)), largest(w))
    dv = product_of(v, mul(in_dtype_of_matrix(inverse, v), v_product))
    return dv, real_of(diagonal_of(v_product))


@eigh.batch
def _(args: Values, batched: Batched, batch_size: int, *, lower: bool) -> Values:
    return eigh(args[0], lower=lower)
