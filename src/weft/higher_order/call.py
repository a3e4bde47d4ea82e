"""The call primitive: apply a jaxpr. Its rules transform the jaxpr inside, once each.

Two options travel along with a call into all that is derived from it: `named=True`, the jaxpr's
name is to be seen in what XLA makes of the call; `device`, where it is to run.
"""

from collections.abc import Sequence
from typing import Any

from ..compiler.loaded import run_jaxpr
from ..compiler.lower import lower_call
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..interpreters.derivative import Derivative
from ..interpreters.stage import StageTrace, stage
from ..stablehlo.attributes import location
from .jaxprs import (
    batch_partly,
    depends,
    jvp_jaxpr,
    linearize_jaxpr,
    transpose_jaxpr,
)

call = HigherOrder("call", "Applies a jaxpr; compiled as one program when evaluated.")


def call_jaxpr(jaxpr: Jaxpr, args: Sequence[Any], trace: Any = None, **options: Any) -> Any:
    """Applies a jaxpr to values under a trace; constants of the jaxpr become arguments."""
    trace = trace or current.trace
    whole = jaxpr.without_consts()
    params = (("jaxpr", whole), *options.items())
    return trace.bind(call, [*jaxpr.consts, *args], params, whole.out_avals)


def wrapped(jaxpr: Jaxpr, options: dict[str, Any]) -> Jaxpr:
    """A program that calls another."""
    return stage(lambda *xs: call_jaxpr(jaxpr, xs, **options), jaxpr.in_avals, name=jaxpr.name)


def named_block(trace: StageTrace, begin: int, name: str) -> None:
    """Makes the equations that a trace has recorded from number `begin` on one named call."""
    inside = (trace.equations or [])[begin:]
    if not inside:
        return
    outvars = [v for e in inside for v in e.outvars]
    made = set(outvars)
    used = [v for e in inside for v in e.inputs if type(v) is Var and v not in made]
    inputs = list(dict.fromkeys(used))
    params = (("jaxpr", Jaxpr([], [], inputs, inside, outvars, name)), ("named", True))
    assert trace.equations is not None
    trace.equations[begin:] = [Equation(call, inputs, params, outvars)]


@call.type
def _(*avals: Aval, jaxpr: Jaxpr, **options: Any) -> Any:
    return jaxpr.out_avals


@call.execute
def _(args: Any, *, jaxpr: Jaxpr, device: Any = None, **options: Any) -> Any:
    return run_jaxpr(jaxpr, args, device)


@call.unfold
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    yield jaxpr, args, range(len(args)), ""


@call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, named: bool = False, **_: Any) -> Any:
    return lower_call(block, jaxpr, operands, "", location(jaxpr.name) if named else "")


@call.pushforward
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: Any) -> Any:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    return wrapped(pushed, options), out_mask


@call.linearize
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, **options: Any) -> Any:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    return Derivative(
        mask, wrapped(forward, options), len(jaxpr.outvars), out_mask, wrapped(linear, options)
    )


@call.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, **options: Any) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    known = tuple(ct is not None for ct in cts)
    transposed, nonzero = transpose_jaxpr(jaxpr, linear, known)
    given = [a for a, is_linear in zip(args, linear, strict=True) if not is_linear]
    results = iter(
        call_jaxpr(transposed, [*given, *[ct for ct in cts if ct is not None]], **options)
    )
    return [next(results) if there else None for there in nonzero]


@call.batch
def _(args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, **options: Any) -> Any:
    mapped, out_batched = batch_partly(jaxpr, batched, axis)
    outs = call_jaxpr(mapped, args, **options)
    return [o if b else Shared(o) for o, b in zip(outs, out_batched, strict=True)]


@call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **options: Any) -> Any:
    return depends(jaxpr, mask, inexact)
