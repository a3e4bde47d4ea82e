"""schur and hessenberg: reduce square matrices by unitary ones to triangular, or nearly triangular,
form.

They use LAPACK's gees and gehrd on CPUs, and the algorithms in `portable` elsewhere."""

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...stablehlo import Block, Operand
from ..portable.hessenberg import portable_gehrd
from ..portable.lowering import lowered_algorithm
from ..portable.schur import portable_schur
from ..rule_types import Avals, Batched, Values
from .solver_calls import (
    aval_of_shape,
    check_matrices,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
)

# --- schur ---

schur = Primitive(
    "schur",
    "The Schur form T, and with `vectors` Z: Z T Zᴴ = x.",
    multiple=True,
)


@schur.type
def _(x: Aval, *, vectors: bool) -> Avals:
    check_matrices("schur", x, square=True)
    return (x.strong(),) * (1 + vectors)


@schur.lower
def _(block: Block, x: Operand, out: Avals, vectors: bool) -> list[Operand]:
    if x.aval.size == 0:
        return [x] * len(out)
    if not has_lapack(block):
        return list(lowered_algorithm(portable_schur)(block, x, out=out, vectors=vectors))
    n, info = x.aval.shape[-1], integers(x.aval)
    values = [aval_of_shape(x.aval, n)] * (1 if dtypes.is_complex(x.aval.dtype) else 2)
    outs = [x.aval.strong(), x.aval.strong(), *values, info, info]
    options = (
        f"{letter_attribute('mode', 'V' if vectors else 'N')}, {letter_attribute('sort', 'N')}"
    )
    kinds = f"M>MM{'V' * len(values)}VV"
    return lapack(block, "gees", [x], outs, kinds, options, {0: 0}, checked=True)[: len(out)]


@schur.batch
def _(args: Values, batched: Batched, batch_size: int, *, vectors: bool) -> Values:
    return schur(args[0], vectors=vectors)


# --- hessenberg ---

hessenberg = Primitive(
    "hessenberg",
    "The Hessenberg form with the reflectors below its subdiagonal, and their factors.",
    multiple=True,
)


@hessenberg.type
def _(x: Aval) -> Avals:
    check_matrices("hessenberg", x, square=True, argument="a")
    return x.strong(), aval_of_shape(x, max(x.shape[-1] - 1, 0))


@hessenberg.lower
def _(block: Block, x: Operand, out: Avals) -> list[Operand]:
    n = x.aval.shape[-1]
    if x.aval.size == 0 or n == 1:
        return [x, block.full(0, out[1])]
    if not has_lapack(block):
        return list(lowered_algorithm(portable_gehrd)(block, x, out=out))
    options = f"low = 1 : i32, high = {n} : i32"
    outs = [*out, integers(x.aval)]
    return lapack(block, "gehrd", [x], outs, "M>MVV", options, {0: 0}, checked=True)


@hessenberg.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return hessenberg(args[0])
