"""The while_loop primitive: repeat a body as long as a condition holds.

The operands are the constants of the condition, those of the body, and the initial carry.
"""

from collections.abc import Sequence
from typing import Any

from ..compiler.dead_code import jaxpr_calls_host, without_effects
from ..compiler.loaded import run as run_program
from ..compiler.lower import lower_jaxpr, with_token
from ..compiler.program import Program
from ..core.aval import Aval, aval
from ..core.jaxpr import Jaxpr, Var, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..dtypes import bool_
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.callbacks import token_of
from ..primitives.selection import select_n
from ..primitives.structural import broadcast_in_dim, reduce_sum
from .in_turn import in_turn, must_take_turns
from .jaxprs import (
    Mask,
    active,
    batch_partly,
    depends,
    divided,
    jvp_jaxpr,
    repeated,
    settled,
    settled_by,
    spread,
)
from .scan import given, instantiated, joined, one_equation

while_loop = HigherOrder("while_loop", "Applies a body to the carry as long as a condition holds.")


def apply_while(
    condition: Jaxpr,
    body: Jaxpr,
    cond_consts: Sequence[Any],
    body_consts: Sequence[Any],
    carry: Sequence[Any],
) -> list[Any]:
    """Loops under the current trace; constants of the jaxprs become operands."""
    cond_consts = [*condition.consts, *cond_consts]
    body_consts = [*body.consts, *body_consts]
    params = (
        ("body_jaxpr", body.without_consts()),
        ("cond_jaxpr", condition.without_consts()),
        ("cond_nconsts", len(cond_consts)),
        ("body_nconsts", len(body_consts)),
    )
    return current.trace.bind(  # type: ignore[no-any-return]
        while_loop, [*cond_consts, *body_consts, *carry], params
    )


@while_loop.type
def _(*avals: Aval, body_jaxpr: Jaxpr, **params: Any) -> Any:
    return body_jaxpr.out_avals


@while_loop.execute
def _(args: Any, **params: Any) -> Any:
    cache = params["body_jaxpr"].cache
    key = ("program", while_loop, *params.values())
    if key not in cache:
        cache[key] = Program(one_equation(while_loop, [a.aval.strong() for a in args], params))
    return run_program(cache[key], args)


@while_loop.unfold
def _(
    args: Any, *, body_jaxpr: Jaxpr, cond_jaxpr: Jaxpr, cond_nconsts: int, body_nconsts: int
) -> Any:
    cond_consts, consts, carry = divided(args, cond_nconsts, body_nconsts)
    places = range(cond_nconsts, len(args))
    step = 0
    while run(cond_jaxpr, [*cond_consts, *carry], current.base)[0].host():
        carry = yield body_jaxpr, [*consts, *carry], places, f"step {step} of while_loop"
        step += 1


@while_loop.lower
def _(
    block: Any,
    *operands: Any,
    out: Any,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    asks, calls = jaxpr_calls_host(cond_jaxpr), jaxpr_calls_host(body_jaxpr)
    if not out and not asks and not calls:
        return []
    cond_consts, body_consts, state = divided(operands, cond_nconsts, body_nconsts)

    def condition(b: Any, args: Any) -> Any:
        return lower_jaxpr(b, cond_jaxpr, [*cond_consts, *args])

    def body(b: Any, args: Any) -> Any:
        return lower_jaxpr(b, body_jaxpr, [*body_consts, *args])

    def body_and_condition(b: Any, args: Any) -> Any:
        carry = body(b, args[1:])
        return [*condition(b, carry), *carry]

    n, test, step = len(state), condition, body
    if asks:  # XLA's condition gives a boolean and no token: so it is computed in the body
        state = [*condition(block, state), *state]
        n, test, step = 1, lambda b, args: args, body_and_condition
    if asks or calls:
        state.append(token_of(block))
        step = with_token(step)
    avals = [o.aval for o in state]
    regions = [
        block.region(avals, lambda b, args: test(b, args[:n])),
        block.region(avals, step),
    ]
    state = block.op("while", *state, out=avals, regions=regions)
    if asks or calls:
        block.token = state.pop()
    return state[1:] if asks else state


@while_loop.depends
def _(
    mask: Mask,
    inexact: bool,
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    n = len(body_jaxpr.outvars)
    consts, inner = mask[:cond_nconsts], mask[cond_nconsts:]
    inner = settled_by(inner, body_nconsts, n, lambda m: depends(body_jaxpr, m, inexact))
    carry = inner[body_nconsts:]
    if not inexact and any(depends(cond_jaxpr, (*consts, *carry))):
        return (True,) * n
    return carry


# --- derivatives ---


@while_loop.pushforward
def _(
    mask: Mask,
    avals: Sequence[Aval],
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    nb, nk = body_nconsts, len(body_jaxpr.outvars)
    full, _ = settled(
        mask[cond_nconsts:],
        nb,
        nk,
        lambda m: depends(body_jaxpr, m, True),
        lambda m: jvp_jaxpr(body_jaxpr, m),
    )
    carry_mask = full[nb:]
    pushed, _ = jvp_jaxpr(body_jaxpr, full, carry_mask)
    body = joined(pushed, full, carry_mask, nb, nk)
    tangents = [a.strong() for a in active(body_jaxpr.out_avals, carry_mask)]
    condition = ignoring(cond_jaxpr, tangents)

    def program(*args: Any) -> list[Any]:
        cond_consts, body_consts, carry = divided(args[: len(mask)], cond_nconsts, nb)
        _, t_consts, t_carry = divided(spread(args[len(mask) :], mask), cond_nconsts, nb)
        t_carry = instantiated(t_carry, carry_mask, avals[cond_nconsts + nb :])
        return apply_while(
            condition,
            body,
            cond_consts,
            [*body_consts, *given(t_consts)],
            [*carry, *given(t_carry)],
        )

    t_avals = [a.strong() for a in active(avals, mask)]
    return stage(program, [*avals, *t_avals], name="while_loop_jvp"), carry_mask


def ignoring(jaxpr: Jaxpr, avals: Sequence[Aval]) -> Jaxpr:
    """The program with further inputs that it has no use for."""
    invars = [*jaxpr.invars, *[Var(a) for a in avals]]
    return Jaxpr([], [], invars, jaxpr.equations, jaxpr.outvars, jaxpr.name)


@while_loop.linearize
def _(mask: Mask, avals: Sequence[Aval], **params: Any) -> Any:
    # forward mode only, so the linear part may as well run the loop again: its values, that is
    pushed, out_mask = while_loop.pushforward_rule(mask, avals, **params)  # type: ignore[misc]
    if not any(out_mask):
        return None
    n, n_outs = len(mask), len(out_mask)
    again = without_effects(pushed)

    def forward(*args: Any) -> list[Any]:
        return [*while_loop(*args, **params), *args]

    def push(*args: Any) -> list[Any]:
        return run(again, args, current.trace)[n_outs:]

    tangents = [a.strong() for a in active(avals, mask)]
    return Derivative(
        mask,
        stage(forward, avals, name="while_loop"),
        n_outs,
        out_mask,
        stage(push, [*avals[:n], *tangents], name="while_loop_linear"),
    )


@while_loop.transpose
def _(cts: Any, *args: Any, **params: Any) -> Any:
    raise TypeError(
        "while_loop: reverse-mode differentiation (grad, vjp, jacrev) needs the values of every "
        "step, and how many steps a while_loop takes is known only when it has run; got a "
        "while_loop, or a fori_loop whose bounds are traced values\n"
        "  fix: lax.scan, or lax.fori_loop with bounds that are Python integers; or forward mode "
        "(jvp, jacfwd), which works; or state the derivative with custom_vjp"
    )


# --- batches ---


@while_loop.batch
def _(
    args: Any,
    batched: Any,
    axis: Axis,
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    nb, nk = body_nconsts, len(body_jaxpr.outvars)
    cond_consts, body_consts, carry = divided(args, cond_nconsts, nb)
    c_batched, b_batched, k_batched = divided(batched, cond_nconsts, nb)
    full, _ = settled(
        (*b_batched, *k_batched),
        nb,
        nk,
        lambda m: depends(body_jaxpr, m),
        lambda m: batch_partly(body_jaxpr, m, axis),
    )
    carry_batched = full[nb:]
    condition, (one_by_one,) = batch_partly(cond_jaxpr, (*c_batched, *carry_batched), axis)
    if one_by_one and must_take_turns("while_loop", (cond_jaxpr, body_jaxpr), axis):
        params = (
            ("body_jaxpr", body_jaxpr),
            ("cond_jaxpr", cond_jaxpr),
            ("cond_nconsts", cond_nconsts),
            ("body_nconsts", body_nconsts),
        )
        return in_turn(
            lambda *xs: while_loop(*xs, **dict(params)),
            args, batched, axis.size, body_jaxpr.cache, params,
        )  # fmt: skip
    if one_by_one:  # some elements go on while others have ended: so all of the carry is batched
        carry_batched = (True,) * nk
        condition, _ = batch_partly(cond_jaxpr, (*c_batched, *carry_batched), axis)
    body, _ = batch_partly(body_jaxpr, (*b_batched, *carry_batched), axis, carry_batched)
    carry = [
        repeated(x, axis.size) if now and not before else x
        for x, now, before in zip(carry, carry_batched, k_batched, strict=True)
    ]
    if not one_by_one:
        outs = apply_while(condition, body, cond_consts, body_consts, carry)
        return [o if b else Shared(o) for o, b in zip(outs, carry_batched, strict=True)]
    cond_consts = [*condition.consts, *cond_consts]
    body_consts = [*body.consts, *body_consts]
    condition, body = condition.without_consts(), body.without_consts()
    loops = masked(condition, body, len(cond_consts), len(body_consts), axis.size)
    (going,) = run(condition, [*cond_consts, *carry], current.trace)
    outs = apply_while(*loops, [], [*cond_consts, *body_consts], [going, *carry])
    return outs[1:]


def masked(
    condition: Jaxpr, body: Jaxpr, n_cond: int, n_body: int, size: int
) -> tuple[Jaxpr, Jaxpr]:
    """Condition and body of a loop over a batch that goes on until the last element has ended.

    Its carry begins with a boolean for each element: whether it still goes on. The others keep
    what they have.
    """
    carry_avals = body.in_avals[n_body:]
    going_aval = aval((size,), bool_)
    avals = [going_aval, *carry_avals]

    def any_going(going: Any, *carry: Any) -> list[Any]:
        return [reduce_sum(going, axes=(0,))]

    def step(*args: Any) -> list[Any]:
        cond_consts, body_consts, (going, *carry) = divided(args, n_cond, n_body)
        new = run(body, [*body_consts, *carry], current.trace)
        carry = [
            select_n(broadcast_in_dim(going, shape=x.shape, dims=(0,)), old, x)
            for old, x in zip(carry, new, strict=True)
        ]
        return [*run(condition, [*cond_consts, *carry], current.trace), *carry]

    key = ("masked", condition)
    if key not in body.cache:
        consts = [*condition.in_avals[:n_cond], *body.in_avals[:n_body]]
        body.cache[key] = (
            stage(any_going, avals, name=condition.name),
            stage(step, [*consts, *avals], name=body.name),
        )
    return body.cache[key]  # type: ignore[no-any-return]
