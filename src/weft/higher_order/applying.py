"""The rules that primitives have in common that apply their parameter `jaxpr` to their operands."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..compiler.lower import lower_jaxpr
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, run
from ..core.masks import Mask, scatter_list
from ..core.primitive import Axis, HigherOrder, Rule, Shared
from ..core.trace import Trace, current
from ..core.value import Value
from ..interpreters.stage import stage
from ..programs.hash_consing import consed_with
from ..programs.transform import batch_partly, depends, nonzero, not_linear, transpose_jaxpr
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs
from ..stablehlo import Block, Operand

Apply = Callable[..., list[Value]]
"""(jaxpr, args, **params): the operation with these parameters, of another program."""

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


def applies_function(primitive: HigherOrder) -> None:
    """Defines the rules of a call of a function with the user's `rules`, which is its `jaxpr`."""
    applies_jaxpr(primitive)

    @primitive.stage_custom
    def _(
        trace: Trace, function: Callable[..., list[Value]], rules: Any, args: Sequence[Value]
    ) -> list[Value]:
        jaxpr = stage(function, [a.aval for a in args], name=rules.name, about=function)
        # one program for the function, so that programs around it can be told to be equal
        program = consed_with(rules, jaxpr.without_consts())
        params = (("jaxpr", program), ("rules", rules), ("consts", len(jaxpr.consts)))
        # not `trace`: what the function closes over may belong to transformations inside it
        return current.trace.bind(primitive, [*jaxpr.consts, *args], params)

    @primitive.execute
    def _(args: Sequence[Array], *, jaxpr: Jaxpr, **params: object) -> list[Array]:
        return run(jaxpr, args, current.base)

    @primitive.lower
    def _(
        block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr, **params: object
    ) -> list[Operand]:
        return lower_jaxpr(block, jaxpr, operands)


def transposed_by(apply: Apply) -> Rule:
    """The transpose rule of an operation: it, of the transposed program."""

    def transpose_rule(
        cts: Sequence[Value | None], *args: Value | Aval, jaxpr: Jaxpr, **params: Any
    ) -> list[Value | None]:
        linear = tuple(type(a) is Aval for a in args)
        known = tuple(ct is not None for ct in cts)
        transposed, there = transpose_jaxpr(jaxpr, linear, known)
        return scatter_list(apply(transposed, [*not_linear(args), *nonzero(cts)], **params), there)

    return transpose_rule


def mapped_by(apply: Apply) -> Rule:
    """The batch rule of an operation: it, of the mapped program."""

    def batch_rule(
        args: Sequence[Value], batched: Mask, axis: Axis, *, jaxpr: Jaxpr, **params: Any
    ) -> list[Value | Shared]:
        mapped, out_batched = batch_partly(jaxpr, batched, axis)
        outs = apply(mapped, args, **params)
        return [o if b else Shared(o) for o, b in zip(outs, out_batched, strict=True)]

    return batch_rule
