"""The rules that primitives have in common that apply their parameter `jaxpr` to their operands."""

from collections.abc import Generator, Sequence
from typing import Any

from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr
from ..core.masks import Mask
from ..core.primitive import HigherOrder
from ..core.value import Value
from ..programs.transform import depends
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs

# what `unfold` yields, and is sent
Unfolding = Generator[tuple[Jaxpr, Sequence[Value], Sequence[int], str], list[Array], None]


def applies_jaxpr(primitive: HigherOrder) -> None:
    """Defines the rules that say no more of a primitive than that it applies its `jaxpr`."""

    @primitive.type
    def _(*avals: Aval, jaxpr: Jaxpr, **params: object) -> Sequence[Aval]:
        return jaxpr.out_avals

    @primitive.unfold
    def _(args: Sequence[Value], *, jaxpr: Jaxpr, **params: object) -> Unfolding:
        yield jaxpr, args, range(len(args)), ""

    @primitive.depends
    def _(mask: Mask, inexact: bool, *, jaxpr: Jaxpr, **params: object) -> Mask:
        return depends(jaxpr, mask, inexact)

    @primitive.follow_keys
    def _(marks: Any, uses: Any, *, jaxpr: Jaxpr, again: bool = False, **params: Any) -> Any:
        return (uses.again() if again else uses).program(jaxpr, marks)

    @primitive.vary
    def _(
        ins: Sequence[VaryingAxes], context: Divergence, *, jaxpr: Jaxpr, **params: object
    ) -> Sequence[VaryingAxes]:
        return context.vary(jaxpr, ins)

    @primitive.keep_uniform
    def _(e: Equation, ins: Sequence[VaryingAxes], context: Divergence) -> Equation:
        return with_jaxprs(e, jaxpr=context.keep_uniform(dict(e.params)["jaxpr"], ins))
