"""The call of a repeated block: a primitive that only the compiler makes, by outlining."""

from collections.abc import Sequence

from ..core.aval import Aval
from ..core.effects import OF_PROGRAMS_INSIDE
from ..core.jaxpr import Jaxpr
from ..core.primitive import Primitive
from ..stablehlo import Block, Operand
from .lower import lower_call, no_inlining

block_call = Primitive(
    "block_call", "A call of a repeated block, not to be inlined.", multiple=True
)
block_call.effects = OF_PROGRAMS_INSIDE


@block_call.type
def _(*avals: Aval, jaxpr: Jaxpr) -> Sequence[Aval]:
    return jaxpr.out_avals


@block_call.lower
def _(block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr) -> list[Operand]:
    return lower_call(block, jaxpr, operands, no_inlining(block))
