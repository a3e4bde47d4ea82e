"""Rematerialisation: the linear part computes residuals anew instead of keeping them.

A policy says which intermediate values are kept all the same; `saving.py` cuts programs by it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..compiler.lower import lower_apart, lower_call
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from .jaxprs import (
    active,
    batch_partly,
    depends,
    inactive,
    jvp_jaxpr,
    linearize_jaxpr,
    run_now,
    spread,
    transpose_jaxpr,
)
from .saving import CUTTERS, cut_call, parts

Policy = Callable[..., bool]

checkpoint_call = HigherOrder(
    "checkpoint", "Applies a jaxpr whose residuals are computed anew for the backward pass."
)
CUTTERS[checkpoint_call] = cut_call


def apply(
    jaxpr: Jaxpr, args: Sequence[Any], policy: Any, prevent_cse: bool, again: bool = False
) -> Any:
    """Applies a jaxpr under checkpoint to values; its constants become arguments.

    Args:
      again: whether it computes what has been computed before. The compiler is to keep such a
        program apart: it may neither merge it with the rest nor begin it early.
    """
    whole = jaxpr.without_consts()
    params = (
        ("jaxpr", whole),
        ("policy", policy),
        ("prevent_cse", prevent_cse),
        ("again", again),
    )
    return current.trace.bind(
        checkpoint_call, [*jaxpr.consts, *args], params, tuple(whole.out_avals)
    )


@checkpoint_call.type
def _(*avals: Aval, jaxpr: Jaxpr, **params: Any) -> Any:
    return jaxpr.out_avals


@checkpoint_call.execute
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return run_now(jaxpr, args)


@checkpoint_call.unfold
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    yield jaxpr, args, range(len(args)), ""


@checkpoint_call.lower
def _(
    block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, policy: Any, prevent_cse: bool, again: bool
) -> Any:
    # The cotangents are operands too. So a block is computed again when the backward pass has come
    # to it, and not before: all blocks at once would need the memory that was to be saved.
    return (lower_apart if again and prevent_cse else lower_call)(block, jaxpr, operands)


@checkpoint_call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


@checkpoint_call.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    return stage(
        lambda *xs: apply(pushed, xs, **params), pushed.in_avals, name=jaxpr.name
    ), out_mask


@checkpoint_call.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, policy: Any, prevent_cse: bool, again: bool) -> Any:
    if policy is not None:
        jaxpr = with_policy(jaxpr, policy)
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    n_outs, consts = len(jaxpr.outvars), forward.consts
    opened = forward.without_consts()
    n_residuals = len(opened.outvars) - n_outs
    cut = parts(opened, (*[False] * n_outs, *[True] * n_residuals), policy)
    n_kept = len(cut.again.invars)
    new = [i for i in cut.kept if i >= n_outs]
    results = [*cut.first.outvars[:n_outs], *[cut.first.outvars[i] for i in new]]
    first = Jaxpr([], [], cut.first.invars, cut.first.equations, results, jaxpr.name)
    places = {i: n_outs + n for n, i in enumerate(new)}

    def run_first(*args: Any) -> list[Any]:
        inputs = [*consts, *args]
        outs = apply(first, inputs, policy, prevent_cse, again)
        kept = [outs[places.get(i, i)] for i in cut.kept]
        return [*outs[:n_outs], *[inputs[i] for i in cut.used], *kept]

    def compute_and_push(*args: Any) -> list[Any]:
        residuals = run(cut.again, args[:n_kept], current.trace)
        return run(linear, [*residuals, *args[n_kept:]], current.trace)

    whole = stage(run_first, avals, name=jaxpr.name)
    in_avals = [*whole.out_avals[n_outs:], *[a.strong() for a in active(avals, mask)]]
    body = stage(compute_and_push, in_avals, name=jaxpr.name + "_again")
    push = stage(lambda *xs: apply(body, xs, policy, prevent_cse, True), in_avals, name=body.name)
    return Derivative(mask, whole, n_outs, out_mask, push)


@checkpoint_call.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, **params: Any) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    there = tuple(ct is not None for ct in cts)
    program, nonzero = transpose_jaxpr(jaxpr, linear, there)
    given = [*inactive(args, linear), *active(cts, there)]
    return spread(apply(program, given, **params), nonzero)


@checkpoint_call.batch
def _(args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, **params: Any) -> Any:
    mapped, out_batched = batch_partly(jaxpr, batched, axis)
    outs = apply(mapped, args, **params)
    return [o if b else Shared(o) for o, b in zip(outs, out_batched, strict=True)]


# --- policies in policies ---


@dataclass(frozen=True)
class Either:
    """The policy that keeps what either of two keeps."""

    one: Policy
    other: Policy

    def __call__(self, primitive: Any, *avals: Any, **params: Any) -> bool:
        return bool(
            self.one(primitive, *avals, **params) or self.other(primitive, *avals, **params)
        )


def with_policy(jaxpr: Jaxpr, policy: Policy) -> Jaxpr:
    """The program, in which checkpoints inside keep what `policy` names, too.

    They give it to the program around, which keeps it; else it would be computed again inside.
    """
    key = ("with policy", policy)
    if key not in jaxpr.cache:
        equations = [with_policy_inside(e, policy) for e in jaxpr.equations]
        same = all(a is b for a, b in zip(equations, jaxpr.equations, strict=True))
        jaxpr.cache[key] = (
            jaxpr
            if same
            else Jaxpr(
                jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, jaxpr.outvars, jaxpr.name
            )
        )
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def with_policy_inside(e: Equation, policy: Policy) -> Equation:
    """The equation with `with_policy` done to the programs inside."""
    if e.primitive not in CUTTERS:
        return e

    def changed(name: str, value: Any) -> Any:
        if isinstance(value, Jaxpr):
            return with_policy(value, policy)
        if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr):
            return tuple(with_policy(v, policy) for v in value)
        if name == "policy":
            return policy if value is None else Either(value, policy)
        return value

    params = tuple((name, changed(name, value)) for name, value in e.params)
    if params == e.params:
        return e
    return Equation(e.primitive, e.inputs, params, e.outvars, e.source)
