"""Rematerialisation: the linear part computes residuals anew instead of keeping them.

A policy says which intermediate values are kept all the same.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.dead_code import live_equations
from ..compiler.lower import lower_call
from ..compiler.program import program_of
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var, run
from ..core.primitive import HigherOrder
from ..core.trace import current
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.selection import optimization_barrier
from .jaxprs import (
    active,
    batch_jaxpr,
    call_jaxpr,
    depends,
    inactive,
    jvp_jaxpr,
    linearize_jaxpr,
    spread,
    transpose_jaxpr,
)

Policy = Callable[..., bool]

checkpoint_call = HigherOrder(
    "checkpoint", "Applies a jaxpr whose residuals are computed anew for the backward pass."
)


@checkpoint_call.type
def _(*avals: Aval, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    return jaxpr.out_avals


@checkpoint_call.execute
def _(args: Any, *, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    return program_of(jaxpr).run(args)


@checkpoint_call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    return lower_call(block, jaxpr, operands)


@checkpoint_call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


@checkpoint_call.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)

    def call(*xs: Any) -> Any:
        return apply(pushed, xs, policy, prevent_cse)

    return stage(call, pushed.in_avals, name=jaxpr.name), out_mask


def apply(jaxpr: Jaxpr, args: Sequence[Any], policy: Any, prevent_cse: bool) -> Any:
    """Applies a jaxpr under checkpoint to values; its constants become arguments."""
    whole = jaxpr.without_consts()
    params = (("jaxpr", whole), ("policy", policy), ("prevent_cse", prevent_cse))
    return current.trace.process(
        checkpoint_call, [*jaxpr.consts, *args], params, tuple(whole.out_avals)
    )


@checkpoint_call.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    # of a function that is linear in some arguments: only they are kept in any case
    return transposed(cts, args, jaxpr)


@checkpoint_call.batch
def _(
    args: Any, batched: Any, batch_size: int, *, jaxpr: Jaxpr, policy: Any, prevent_cse: bool
) -> Any:
    return apply(batch_jaxpr(jaxpr, tuple(batched), batch_size), args, policy, prevent_cse)


@checkpoint_call.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, policy: Any, prevent_cse: bool) -> Any:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    n_outs = len(jaxpr.outvars)
    residuals = forward.outvars[n_outs:]
    saved = [v for v in saved_variables(forward, policy) if v not in forward.invars]
    wanted = {v for v in residuals if type(v) is Var}
    given = set(saved)
    again = live_equations(
        [e for e in forward.equations if not all(v in given for v in e.outvars)], wanted
    )
    used_saved = [v for v in saved if v in wanted]
    used_inputs = [v for v in forward.invars if v in wanted]
    recompute = Jaxpr(
        [v for v in forward.constvars if v in wanted],
        [c for v, c in zip(forward.constvars, forward.consts, strict=True) if v in wanted],
        [*used_inputs, *used_saved],
        again,
        residuals,
        jaxpr.name + "_again",
    )

    def first(*args: Any) -> list[Any]:
        whole = Jaxpr(
            forward.constvars,
            forward.consts,
            forward.invars,
            forward.equations,
            [*forward.outvars[:n_outs], *used_saved],
            jaxpr.name,
        )
        outs = call_jaxpr(whole, args)
        inputs = [a for a, v in zip(args, forward.invars, strict=True) if v in wanted]
        return [*outs[:n_outs], *inputs, *outs[n_outs:]]

    kept = len(used_inputs) + len(used_saved)

    def body(*args: Any) -> list[Any]:
        values, tangents = list(args[:kept]), args[kept:]
        if prevent_cse and values:
            values = list(optimization_barrier(*values))
        computed = run(recompute, values, current.trace)
        return run(linear, [*computed, *tangents], current.trace)

    n_res = len(residuals)
    tangent_avals = [v.aval for v in linear.invars[n_res:]]
    kept_avals = [v.aval for v in (*used_inputs, *used_saved)]
    inner = stage(body, [*kept_avals, *tangent_avals], name=jaxpr.name + "_linear")
    params = (("jaxpr", inner.without_consts()), ("known", kept + len(inner.consts)))

    def push(*args: Any) -> Any:
        return checkpoint_linear(*inner.consts, *args, **dict(params))

    forward_jaxpr = stage(first, forward.in_avals, name=jaxpr.name)
    linear_jaxpr = stage(push, [*kept_avals, *tangent_avals], name=jaxpr.name + "_linear")
    if linear_jaxpr.consts:
        linear_jaxpr, forward_jaxpr = hoist(linear_jaxpr, forward_jaxpr, kept)
    return Derivative(mask, forward_jaxpr, n_outs, out_mask, linear_jaxpr)


def hoist(linear: Jaxpr, forward: Jaxpr, kept: int) -> tuple[Jaxpr, Jaxpr]:
    """Constants of the linear program travel as residuals."""
    new_forward = Jaxpr(
        [*forward.constvars, *linear.constvars],
        [*forward.consts, *linear.consts],
        forward.invars,
        forward.equations,
        [*forward.outvars, *linear.constvars],
        forward.name,
    )
    invars = [*linear.invars[:kept], *linear.constvars, *linear.invars[kept:]]
    return Jaxpr([], [], invars, linear.equations, linear.outvars, linear.name), new_forward


def saved_variables(jaxpr: Jaxpr, policy: Policy | None) -> list[Var]:
    """The variables whose values a policy keeps."""
    if policy is None:
        return []
    saved = []
    for e in jaxpr.equations:
        avals = [v.aval for v in e.inputs]
        if policy(e.primitive, *avals, **dict(e.params)):
            saved += list(e.outvars)
    return saved


# --- the linear part: computes residuals, then applies the linear map ---

checkpoint_linear = HigherOrder(
    "checkpoint_linear", "Computes residuals from `known` inputs, then a linear map of the others."
)


@checkpoint_linear.type
def _(*avals: Aval, jaxpr: Jaxpr, known: int) -> Any:
    return jaxpr.out_avals


@checkpoint_linear.execute
def _(args: Any, *, jaxpr: Jaxpr, known: int) -> Any:
    return program_of(jaxpr).run(args)


@checkpoint_linear.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, known: int) -> Any:
    return lower_call(block, jaxpr, operands)


@checkpoint_linear.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


@checkpoint_linear.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, known: int) -> Any:
    return jvp_jaxpr(jaxpr, mask)


@checkpoint_linear.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, known: int) -> Any:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    return Derivative(mask, forward, len(jaxpr.outvars), out_mask, linear)


@checkpoint_linear.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, known: int) -> Any:
    return transposed(cts, args, jaxpr)


def transposed(cts: Any, args: Any, jaxpr: Jaxpr) -> list[Any]:
    """A cotangent for each linear argument of a call of `jaxpr`."""
    linear = tuple(type(a) is Aval for a in args)
    there = tuple(ct is not None for ct in cts)
    program, nonzero = transpose_jaxpr(jaxpr, linear, there)
    given = [*inactive(args, linear), *active(cts, there)]
    return spread(call_jaxpr(program, given), nonzero)


@checkpoint_linear.batch
def _(args: Any, batched: Any, batch_size: int, *, jaxpr: Jaxpr, known: int) -> Any:
    inner = batch_jaxpr(jaxpr, tuple(batched), batch_size)
    return checkpoint_linear(
        *inner.consts, *args, jaxpr=inner.without_consts(), known=known + len(inner.consts)
    )
