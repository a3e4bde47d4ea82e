"""The call primitive: apply a jaxpr. Its rules transform the jaxpr inside, once each.

Two options go with a call into everything derived from it: `named=True`, the jaxpr's name is to be
seen in the program that XLA makes of the call; `device`, where it is to run.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.compiled import run_jaxpr
from ..compiler.lower import lower_call
from ..compiler.simplify import live_call
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.masks import Mask
from ..core.primitive import HigherOrder
from ..core.source_location import location_of
from ..core.trace import Trace, current, locations_wanted
from ..core.value import Value
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..programs.transform import jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import location
from .applying import AppliesTransformed


def call_jaxpr(
    jaxpr: Jaxpr, args: Sequence[Value], trace: Trace | None = None, **options: object
) -> list[Value]:
    """Applies a jaxpr to values under a trace; constants of the jaxpr become arguments."""
    trace = trace or current.trace
    whole = jaxpr.without_consts()
    params = (("jaxpr", whole), *options.items())
    return trace.bind(call, [*jaxpr.consts, *args], params, whole.out_avals)


def wrapped(jaxpr: Jaxpr, options: dict[str, Any], first: Sequence[Value] = ()) -> Jaxpr:
    """A program that calls another; its first inputs are these constants."""
    whole, consts = jaxpr.without_consts(), [*jaxpr.consts, *first]
    inputs, outvars = [*map(Var, whole.in_avals)], [*map(Var, whole.out_avals)]
    source = location_of(call.name) if locations_wanted() else None
    equation = Equation(call, inputs, (("jaxpr", whole), *options.items()), outvars, source)
    n = len(consts)
    return Jaxpr(inputs[:n], consts, inputs[n:], [equation], outvars, jaxpr.name)


class CallDerivative(Derivative):
    """The derivative of a call: calls of a forward, a linear and, in reverse, a transposed program.

    Args:
      forward, linear: as `Derivative` has them, to be called.
      options: of the call.
    """

    __slots__ = ("called", "options")

    def __init__(
        self,
        mask: Mask,
        forward: Jaxpr,
        outs: int,
        out_mask: Mask,
        linear: Jaxpr,
        options: dict[str, Any],
    ) -> None:
        super().__init__(mask, wrapped(forward, options), outs, out_mask, wrapped(linear, options))
        self.called, self.options = linear, options

    def transposed(self, n_residuals: int, known: Mask) -> tuple[Jaxpr, Mask]:
        linear = self.called
        n_known = len(linear.consts) + n_residuals
        is_linear = [i >= n_known for i in range(len(linear.consts) + len(linear.invars))]
        jaxpr, there = transpose_jaxpr(linear.without_consts(), is_linear, known)
        return wrapped(jaxpr, self.options, linear.consts), there[n_known:]


def as_call(e: Equation, function: Callable[..., Sequence[Value]]) -> Equation:
    """A call of `function` in the place of an equation."""
    jaxpr = stage(function, [v.aval for v in e.inputs], name=e.primitive.name)
    return Equation(call, e.inputs, (("jaxpr", jaxpr),), e.outvars, e.source)


class CallRules(AppliesTransformed):
    """The program of a function that is called."""

    apply = staticmethod(call_jaxpr)

    inlinable = True

    def keep_live(self, e: Equation, wanted: Mask) -> Equation:
        """A call stays as it is where only first-order operations are dead inside: XLA, which
        writes it out, removes those, and calls that are equal stay one function."""
        lean = live_call(e, wanted)
        if lean is e or len(lean.inputs) < len(e.inputs):
            return lean
        before = set(map(id, dict(e.params)["jaxpr"].equations))
        after: Jaxpr = dict(lean.params)["jaxpr"]
        return e if all(id(inner) in before for inner in after.equations) else lean

    def execute(
        self, args: Sequence[Array], *, jaxpr: Jaxpr, device: Any = None, **options: object
    ) -> list[Array]:
        return run_jaxpr(jaxpr, args, device)

    def lower(
        self, block: Block, *operands: Operand, jaxpr: Jaxpr, named: bool = False, **_: object
    ) -> list[Operand]:
        return lower_call(block, jaxpr, operands, "", location(jaxpr.name) if named else "")

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: object
    ) -> tuple[Jaxpr, Mask]:
        pushed, out_mask = jvp_jaxpr(jaxpr, mask)
        return wrapped(pushed, options), out_mask

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: object
    ) -> Derivative | None:
        forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
        if not any(out_mask):
            return None
        return CallDerivative(mask, forward, len(jaxpr.outvars), out_mask, linear, options)


call = HigherOrder("call", "Applies a jaxpr; compiled as one program when evaluated.", CallRules())
