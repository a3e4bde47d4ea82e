"""Finds the matrix transposes that run faster as separate operations than fused into the
loops that read them."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var
from ..primitives.products import dot_general
from ..primitives.selection import select_n
from ..primitives.structural import convert_element_type, transpose
from ..stablehlo.block import strides_collide

# elementwise too, except that the condition of `select_n` may be a scalar
POINTWISE = (select_n, convert_element_type)


@cached_on_program
def separate_transposes(jaxpr: Jaxpr) -> frozenset[Var]:
    """The transposes of matrices with colliding strides that only elementwise operations read.

    The transpose of a product without other readers stays: XLA computes the product of the
    transposed operands instead, at no cost.
    """
    transposes = {e.outvars[0]: e for e in jaxpr.equations if is_matrix_transpose(e)}
    if not transposes:
        return frozenset()
    uses = Counter([v for e in jaxpr.equations for v in e.inputs if v.__class__ is Var])
    uses.update([v for v in jaxpr.outvars if v.__class__ is Var])
    loops = [e for e in jaxpr.equations if e.primitive.elementwise or e.primitive in POINTWISE]
    loop_uses = Counter([v for e in loops for v in e.inputs if v.__class__ is Var])
    products = {
        v for e in jaxpr.equations if e.primitive is dot_general for v in e.outvars if uses[v] == 1
    }
    broadcasts = {
        v
        for e in jaxpr.equations
        for v in e.outvars
        if all([x.aval.size < v.aval.size for x in e.inputs])
    }
    cancelled = {v for x in transposes for v in cancelling(x, transposes, loops, broadcasts)}
    return frozenset(
        [
            v
            for v, e in transposes.items()
            if uses[v] == loop_uses[v] and e.inputs[0] not in products and v not in cancelled
        ]
    )


def cancelling(
    x: Var, transposes: Mapping[Var, Equation], loops: Sequence[Equation], broadcasts: Set[Var]
) -> Set[Var]:
    """The transpose `x` and the later ones that undo it, which XLA removes together.

    XLA removes them if the elementwise operations between them do not read other matrices.
    """
    between = {x}
    for e in loops:
        inputs = {v for v in e.inputs if v.__class__ is Var and v.aval.shape == x.aval.shape}
        if not between.isdisjoint(inputs):
            if not between | broadcasts >= inputs:
                return set()
            between.update(e.outvars)
    undoing = {v for v, e in transposes.items() if e.inputs[0] in between}
    return undoing | {x} if undoing else undoing


def is_matrix_transpose(e: Equation) -> bool:
    """True if an equation exchanges the last two axes of matrices with colliding strides."""
    if e.primitive is not transpose:
        return False
    out = e.outvars[0].aval
    *batch, i, j = range(out.ndim) if out.ndim >= 2 else (0, 0)
    exchanges = (*batch, j, i) == tuple(dict(e.params)["permutation"])
    return exchanges and strides_collide(out.shape, out.dtype.itemsize)
