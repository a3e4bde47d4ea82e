"""The call primitive, which applies a jaxpr. Each rule transforms the jaxpr once.

Everything derived from a call keeps its two options: `named=True` shows the name of the jaxpr in
XLA's program; `device` is the device that runs it.
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
    program = jaxpr.without_consts()
    params = (("jaxpr", program), *options.items())
    return trace.bind(call, [*jaxpr.consts, *args], params, program.out_avals)


def wrapped(jaxpr: Jaxpr, options: dict[str, Any], first: Sequence[Value] = ()) -> Jaxpr:
    """A program that only calls another program, whose first inputs are these constants."""
    program, consts = jaxpr.without_consts(), [*jaxpr.consts, *first]
    inputs, outvars = [*map(Var, program.in_avals)], [*map(Var, program.out_avals)]
    source = location_of(call.name) if locations_wanted() else None
    equation = Equation(call, inputs, (("jaxpr", program), *options.items()), outvars, source)
    n = len(consts)
    return Jaxpr(inputs[:n], consts, inputs[n:], [equation], outvars, jaxpr.name)


class CallDerivative(Derivative):
    """The derivative of a call: calls of a forward, a linear and, in reverse, a transposed program.

    Args:
      forward, linear: the programs of a `Derivative`, to be called.
      options: the options of the call.
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
        jaxpr, out_mask = transpose_jaxpr(linear.without_consts(), is_linear, known)
        return wrapped(jaxpr, self.options, linear.consts), out_mask[n_known:]


def as_call(e: Equation, function: Callable[..., Sequence[Value]]) -> Equation:
    """The equation of a call of `function` that replaces an equation."""
    jaxpr = stage(function, [v.aval for v in e.inputs], name=e.primitive.name)
    return Equation(call, e.inputs, (("jaxpr", jaxpr),), e.outvars, e.source)


class CallRules(AppliesTransformed):
    """The program of a function that is called."""

    apply = staticmethod(call_jaxpr)

    inlinable = True

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        """Leaves a call unchanged if only first-order operations inside are dead. XLA inlines the
        call and removes them, and equal calls stay one function."""
        live = live_call(e, used_outs)
        if live is e or len(live.inputs) < len(e.inputs):
            return live
        before = set(map(id, dict(e.params)["jaxpr"].equations))
        after: Jaxpr = dict(live.params)["jaxpr"]
        return e if all(id(inner) in before for inner in after.equations) else live

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
