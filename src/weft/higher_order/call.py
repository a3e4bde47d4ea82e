"""The call primitive: apply a jaxpr. Its rules transform the jaxpr inside, once each."""

from collections.abc import Sequence
from typing import Any

from ..compiler.lower import lower_call, lower_jaxpr
from ..compiler.program import program_of
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr
from ..interpreters.batch import Shared
from ..interpreters.derivative import Derivative
from .jaxprs import (
    batch_partly,
    call,
    call_jaxpr,
    depends,
    jvp_jaxpr,
    linearize_jaxpr,
    transpose_jaxpr,
    wrapped,
)


@call.type
def _(*avals: Aval, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return jaxpr.out_avals


@call.execute
def _(args: Any, *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return program_of(jaxpr).run(args)


@call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return (lower_jaxpr if inline else lower_call)(block, jaxpr, operands)


@call.pushforward
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    return wrapped(pushed, inline), out_mask


@call.linearize
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    return Derivative(
        mask, wrapped(forward, inline), len(jaxpr.outvars), out_mask, wrapped(linear, inline)
    )


@call.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, inline: bool = False) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    known = tuple(ct is not None for ct in cts)
    transposed, nonzero = transpose_jaxpr(jaxpr, linear, known)
    given = [a for a, is_linear in zip(args, linear, strict=True) if not is_linear]
    results = iter(
        call_jaxpr(transposed, [*given, *[ct for ct in cts if ct is not None]], inline=inline)
    )
    return [next(results) if there else None for there in nonzero]


@call.batch
def _(args: Any, batched: Any, batch_size: int, *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    mapped, out_batched = batch_partly(jaxpr, batched, batch_size)
    outs = call_jaxpr(mapped, args, inline=inline)
    return [o if b else Shared(o) for o, b in zip(outs, out_batched, strict=True)]


@call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return depends(jaxpr, mask, inexact)


__all__ = ["call", "call_jaxpr"]
