"""Base classes of primitives that apply their parameter `jaxpr` to their operands."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..compiler.lower import lower_jaxpr
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, run
from ..core.masks import Mask, scatter_list
from ..core.primitive import Axis, Primitive, Shared
from ..core.program_inside import ProgramInside
from ..core.trace import current
from ..core.value import Value
from ..interpreters.stage import stage
from ..programs.hash_consing import consed_with
from ..programs.partial_eval import EquationParts, Policy, partial_eval_call
from ..programs.transform import batch_partly, depends, nonzero, not_linear, transpose_jaxpr
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs
from ..stablehlo import Block, Operand

Apply = Callable[..., list[Value]]
"""(jaxpr, args, **params): applies the operation with another program."""
InnerRuns = Generator[tuple[Jaxpr, Sequence[Value], Sequence[int], str], list[Array], None]
"""The result of `inner_runs`."""


class AppliesJaxpr(ProgramInside):
    """The rules that follow from the fact that the primitive applies its `jaxpr`."""

    def type(self, *avals: Aval, jaxpr: Jaxpr, **params: object) -> Sequence[Aval]:
        return jaxpr.out_avals

    def inner_runs(self, args: Sequence[Value], *, jaxpr: Jaxpr, **params: object) -> InnerRuns:
        yield jaxpr, args, range(len(args)), ""

    def depends(self, mask: Mask, inexact: bool, *, jaxpr: Jaxpr, **params: object) -> Mask:
        return depends(jaxpr, mask, inexact)

    def follow_keys(
        self, marks: Any, uses: Any, *, jaxpr: Jaxpr, again: bool = False, **params: Any
    ) -> Any:
        return (uses.again() if again else uses).program(jaxpr, marks)

    def vary(
        self, ins: Sequence[VaryingAxes], context: Divergence, *, jaxpr: Jaxpr, **params: object
    ) -> Sequence[VaryingAxes]:
        return context.vary(jaxpr, ins)

    def keep_uniform(
        self, e: Equation, ins: Sequence[VaryingAxes], context: Divergence
    ) -> Equation:
        return with_jaxprs(e, jaxpr=context.keep_uniform(dict(e.params)["jaxpr"], ins))


class AppliesTransformed(AppliesJaxpr):
    """A primitive whose rules transpose, batch or split its `jaxpr`."""

    apply: Apply

    def partial_eval(self, e: Equation, used_outs: Mask, policy: Policy | None) -> EquationParts:
        return partial_eval_call(e, used_outs, policy)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, **params: Any
    ) -> list[Value | None]:
        return transposed_call(self.apply, cts, args, **params)

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, *, jaxpr: Jaxpr, **params: Any
    ) -> list[Value | Shared]:
        inner, out_batched = batch_partly(jaxpr, batched, axis)
        outs = self.apply(inner, args, **params)
        return with_shared(outs, out_batched)


class AppliesFunction(AppliesJaxpr):
    """A call of a function, its `jaxpr`, with the user's `rules`."""

    def stage_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Value],
    ) -> list[Value]:
        jaxpr = stage(function, [a.aval for a in args], name=rules.name, about=function)
        # one program for the function, so that programs around it compare equal
        program = consed_with(rules, jaxpr.without_consts())
        params = (("jaxpr", program), ("rules", rules), ("consts", len(jaxpr.consts)))
        # under the current trace: values in the closure may belong to transformations inside the
        # one that stages
        return current.trace.bind(primitive, [*jaxpr.consts, *args], params)

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **params: object) -> list[Array]:
        return run(jaxpr, args, current.base)

    def lower(
        self,
        block: Block,
        *operands: Operand,
        out: Sequence[Aval],
        jaxpr: Jaxpr,
        **params: object,
    ) -> list[Operand]:
        return lower_jaxpr(block, jaxpr, operands)


def with_shared(outs: Sequence[Value], batched: Sequence[bool]) -> list[Value | Shared]:
    """The outputs of a batch rule, marked as `Shared` where they are not batched."""
    return [o if b else Shared(o) for o, b in zip(outs, batched, strict=True)]


def transposed_call(
    apply: Apply,
    cts: Sequence[Value | None],
    args: Sequence[Value | Aval],
    jaxpr: Jaxpr,
    **params: Any,
) -> list[Value | None]:
    """The transpose of an operation: the operation with the transposed program."""
    linear = tuple(type(a) is Aval for a in args)
    ct_mask = tuple(ct is not None for ct in cts)
    transposed, out_mask = transpose_jaxpr(jaxpr, linear, ct_mask)
    results = apply(transposed, [*not_linear(args), *nonzero(cts)], **params)
    return scatter_list(results, out_mask)
