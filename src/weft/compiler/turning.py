"""Finds the transposes that are better made apart than in the loops of what reads them.

Knows jaxprs; writes nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from ..core.caching import derived
from ..core.jaxpr import Equation, Jaxpr, Var
from ..primitives.contraction import dot_general
from ..primitives.selection import select_n
from ..primitives.structural import convert_element_type, transpose
from ..stablehlo.block import strides_collide

# nearly elementwise: a choice, which a scalar may make, and a conversion
POINTWISE = (select_n, convert_element_type)


@derived
def turned_apart(jaxpr: Jaxpr) -> frozenset[Var]:
    """The transposes of matrices with colliding strides that elementwise operations alone read.

    XLA makes a product's transpose, where nothing else reads the product, as the product of the
    operands' transposes: that one costs nothing.
    """
    found = {e.outvars[0]: e for e in jaxpr.equations if is_turn(e)}
    if not found:
        return frozenset()
    reads = Counter([v for e in jaxpr.equations for v in e.inputs if v.__class__ is Var])
    reads.update([v for v in jaxpr.outvars if v.__class__ is Var])
    loops = [e for e in jaxpr.equations if e.primitive.elementwise or e.primitive in POINTWISE]
    alone = Counter([v for e in loops for v in e.inputs if v.__class__ is Var])
    products = {
        v for e in jaxpr.equations if e.primitive is dot_general for v in e.outvars if reads[v] == 1
    }
    repeated = {
        v
        for e in jaxpr.equations
        for v in e.outvars
        if all([x.aval.size < v.aval.size for x in e.inputs])
    }
    undone = {v for x in found for v in both_ways(x, found, loops, repeated)}
    return frozenset(
        [
            v
            for v, e in found.items()
            if reads[v] == alone[v] and e.inputs[0] not in products and v not in undone
        ]
    )


def both_ways(
    x: Var, turns: Mapping[Var, Equation], loops: Sequence[Equation], repeated: Set[Var]
) -> Set[Var]:
    """A transpose and those that undo it, if what it becomes before is made of no other matrix:
    XLA leaves out all of them."""
    made = {x}
    for e in loops:
        inputs = {v for v in e.inputs if v.__class__ is Var and v.aval.shape == x.aval.shape}
        if not made.isdisjoint(inputs):
            if not made | repeated >= inputs:
                return set()
            made.update(e.outvars)
    undoing = {v for v, e in turns.items() if e.inputs[0] in made}
    return undoing | {x} if undoing else undoing


def is_turn(e: Equation) -> bool:
    """True of an exchange of the last two axes of matrices with colliding strides."""
    if e.primitive is not transpose:
        return False
    out = e.outvars[0].aval
    *front, i, j = range(out.ndim) if out.ndim >= 2 else (0, 0)
    wanted = (*front, j, i) == tuple(dict(e.params)["permutation"])
    return wanted and strides_collide(out.shape, out.dtype.itemsize)
