"""Finds the transposes that are better made apart than in the loops of what reads them.

Knows jaxprs; writes nothing.
"""

from collections import Counter

from ..core.caching import derived
from ..core.jaxpr import Equation, Jaxpr, Var
from ..stablehlo.block import strides_collide


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
    alone = Counter(
        [
            v
            for e in jaxpr.equations
            if e.primitive.elementwise or e.primitive.selects
            for v in e.inputs
            if v.__class__ is Var
        ]
    )
    products = {
        v for e in jaxpr.equations if e.primitive.contracts for v in e.outvars if reads[v] == 1
    }
    return frozenset(
        [v for v, e in found.items() if reads[v] == alone[v] and e.inputs[0] not in products]
    )


def is_turn(e: Equation) -> bool:
    """True of an exchange of the last two axes of matrices with colliding strides."""
    if not e.primitive.permutes:
        return False
    out = e.outvars[0].aval
    *front, i, j = range(out.ndim) if out.ndim >= 2 else (0, 0)
    wanted = (*front, j, i) == tuple(dict(e.params)["permutation"])
    return wanted and strides_collide(out.shape, out.dtype.itemsize)
