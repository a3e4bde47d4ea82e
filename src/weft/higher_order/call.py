"""The call primitive: apply a jaxpr. Its rules transform the jaxpr inside, once each.

Two options go with a call into everything derived from it: `named=True`, the jaxpr's name is to be
seen in the program that XLA makes of the call; `device`, where it is to run.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.loaded import run_jaxpr
from ..compiler.lower import lower_call
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr
from ..core.masks import Mask
from ..core.primitive import HigherOrder
from ..core.trace import Trace, current
from ..core.value import Value
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..programs.partial_eval import partial_eval_call
from ..programs.transform import (
    jvp_jaxpr,
    linearize_jaxpr,
)
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import location
from .applying import applies_jaxpr, mapped_by, transposed_by

call = HigherOrder("call", "Applies a jaxpr; compiled as one program when evaluated.")
call.inlinable = True
applies_jaxpr(call)
call.partial_eval(partial_eval_call)


def call_jaxpr(
    jaxpr: Jaxpr, args: Sequence[Value], trace: Trace | None = None, **options: object
) -> list[Value]:
    """Applies a jaxpr to values under a trace; constants of the jaxpr become arguments."""
    trace = trace or current.trace
    whole = jaxpr.without_consts()
    params = (("jaxpr", whole), *options.items())
    return trace.bind(call, [*jaxpr.consts, *args], params, whole.out_avals)  # type: ignore[no-any-return]


def wrapped(jaxpr: Jaxpr, options: dict[str, Any]) -> Jaxpr:
    """A program that calls another."""
    return stage(lambda *xs: call_jaxpr(jaxpr, xs, **options), jaxpr.in_avals, name=jaxpr.name)


def as_call(e: Equation, function: Callable[..., Sequence[Value]]) -> Equation:
    """A call of `function` in the place of an equation."""
    jaxpr = stage(function, [v.aval for v in e.inputs], name=e.primitive.name)
    return Equation(call, e.inputs, (("jaxpr", jaxpr),), e.outvars, e.source)


@call.execute
def _(args: Sequence[Array], *, jaxpr: Jaxpr, device: Any = None, **options: object) -> list[Array]:
    return run_jaxpr(jaxpr, args, device)


@call.lower
def _(
    block: Block, *operands: Operand, jaxpr: Jaxpr, named: bool = False, **_: object
) -> list[Operand]:
    return lower_call(block, jaxpr, operands, "", location(jaxpr.name) if named else "")


@call.pushforward
def _(mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: object) -> tuple[Jaxpr, Mask]:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    return wrapped(pushed, options), out_mask


@call.linearize
def _(mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: object) -> Derivative | None:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    return Derivative(
        mask, wrapped(forward, options), len(jaxpr.outvars), out_mask, wrapped(linear, options)
    )


call.transpose(transposed_by(call_jaxpr))
call.batch(mapped_by(call_jaxpr))
