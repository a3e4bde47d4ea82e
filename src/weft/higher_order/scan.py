"""The scan primitive: a loop of a known number of steps over slices of arrays.

Its jaxpr goes from (constants, carry, slices) to (carry, slices); the operands are the constants,
the initial carry, and arrays with one slice a step along axis 0. The transposition of the loop is
in `scan_transpose.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.dead_code import has_effects, jaxpr_calls_host, live_equations
from ..compiler.loaded import run as run_program
from ..compiler.lower import lower_call, lower_jaxpr, with_token
from ..compiler.program import Program
from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.jaxpr import Equation, Jaxpr, Var, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..dtypes import int32
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.callbacks import token_of
from ..primitives.structural import move_axis, zeros
from ..stablehlo.attributes import ints
from .jaxprs import (
    Mask,
    active,
    batch_partly,
    depends,
    divided,
    filled,
    inactive,
    jvp_jaxpr,
    linearize_jaxpr,
    repeated,
    settled,
    settled_by,
    spread,
)

scan = HigherOrder("scan", "A loop of `length` steps over slices: the last carry, and stacks.")

_INDEX = aval((), int32)


def apply_scan(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    *,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Any]:
    """Scans under the current trace; constants of the jaxpr become operands.

    A carry that no step changes becomes a constant, and a stack of the slices of an operand is
    that operand.
    """
    consts = [*jaxpr.consts, *consts]
    jaxpr = jaxpr.without_consts()
    nc, nk = len(consts), len(carry)
    body, steady, taken = without_copies(jaxpr, nc, nk)
    params = (
        ("jaxpr", body),
        ("length", length),
        ("reverse", reverse),
        ("unroll", unroll),
        ("num_consts", nc + sum(steady)),
        ("num_carry", nk - sum(steady)),
    )
    operands = [*consts, *active(carry, steady), *inactive(carry, steady), *xs]
    outs = current.trace.bind(scan, operands, params)
    if body is jaxpr:
        return outs  # type: ignore[no-any-return]
    computed = iter(outs)
    return [
        *[x if s else next(computed) for x, s in zip(carry, steady, strict=True)],
        *[next(computed) if i is None else xs[i] for i in taken],
    ]


def without_copies(jaxpr: Jaxpr, nc: int, nk: int) -> tuple[Jaxpr, Mask, list[int | None]]:
    """The body with what it only passes on taken out; once each.

    Returns: the body, which of the carry are constants instead, and for each stack the number of
    the operand that it equals, if any.
    """
    key = ("without copies", nc, nk)
    if key not in jaxpr.cache:
        consts, carry, xs = divided(jaxpr.invars, nc, nk)
        outs, ys = divided(jaxpr.outvars, nk)
        steady = tuple(v is o for v, o in zip(carry, outs, strict=True))
        inputs = {v: i for i, v in enumerate(xs)}
        taken = [inputs.get(v) if type(v) is Var else None for v in ys]
        body = jaxpr
        if any(steady) or any(i is not None for i in taken):
            body = Jaxpr(
                [],
                [],
                [*consts, *active(carry, steady), *inactive(carry, steady), *xs],
                jaxpr.equations,
                [
                    *inactive(outs, steady),
                    *[v for v, i in zip(ys, taken, strict=True) if i is None],
                ],
                jaxpr.name,
            )
        jaxpr.cache[key] = body, steady, taken
    return jaxpr.cache[key]  # type: ignore[no-any-return]


@scan.type
def _(*avals: Aval, jaxpr: Jaxpr, length: int, num_carry: int, **params: Any) -> Any:
    carry, ys = divided(jaxpr.out_avals, num_carry)
    return [*carry, *[a.update(shape=(length, *a.shape)) for a in ys]]


@scan.execute
def _(args: Any, **params: Any) -> Any:
    cache = params["jaxpr"].cache
    key = ("program", scan, *params.values())
    if key not in cache:
        cache[key] = Program(one_equation(scan, [a.aval.strong() for a in args], params))
    return run_program(cache[key], args)


def one_equation(primitive: HigherOrder, avals: Sequence[Aval], params: dict[str, Any]) -> Jaxpr:
    """The program that applies a primitive to its inputs."""
    assert primitive.type_rule is not None
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in primitive.type_rule(*avals, **params)]
    equation = Equation(primitive, invars, tuple(params.items()), outvars)
    return Jaxpr([], [], invars, [equation], outvars, primitive.name)


@scan.unfold
def _(
    args: Any,
    *,
    jaxpr: Jaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    consts, carry, xs = divided(args, num_consts, num_carry)
    for i in reversed(range(length)) if reverse else range(length):
        slices = [slice_now(x, i) for x in xs]
        outs = yield jaxpr, [*consts, *carry, *slices], range(len(args)), f"step {i} of scan"
        carry = outs[:num_carry]


def slice_now(x: Any, i: int) -> Any:
    """One slice of an array along axis 0, computed now."""
    return Array(np.asarray(x.host())[i], x.aval.update(shape=x.aval.shape[1:]))


@scan.depends
def _(
    mask: Mask, inexact: bool, *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    mask = settled_by(mask, num_consts, num_carry, lambda m: depends(jaxpr, m, inexact))
    outs = depends(jaxpr, mask, inexact)
    return (*mask[num_consts : num_consts + num_carry], *outs[num_carry:])


# --- StableHLO ---


@scan.lower
def _(
    block: Any,
    *operands: Any,
    out: Any,
    jaxpr: Jaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> Any:
    consts, carry, xs = divided(operands, num_consts, num_carry)
    avals = jaxpr.out_avals[num_carry:]
    stacks = [block.full(0, a.update(shape=(length, *a.shape), weak_type=False)) for a in avals]
    unroll = max(1, min(unroll, length))
    whole, rest = divmod(length, unroll)
    write = lower_jaxpr if whole * unroll + rest <= 1 or unroll == 1 else lower_call
    if length and unroll == length:
        whole, rest = 0, length

    def step(inner: Any, at: Any, carry: Any, stacks: Any) -> tuple[Any, Any]:
        if reverse:
            last = inner.constant(int32.type(length - 1), _INDEX)
            at = inner.elementwise("subtract", (last, at), _INDEX)
        outs = write(inner, jaxpr, [*consts, *carry, *[slice_at(inner, x, at) for x in xs]])
        ys = outs[num_carry:]
        return outs[:num_carry], [put_at(inner, s, y, at) for s, y in zip(stacks, ys, strict=True)]

    def steps(inner: Any, at: Any, count: int, carry: Any, stacks: Any) -> tuple[Any, Any, Any]:
        one = inner.constant(int32.type(1), _INDEX) if count else None
        for _ in range(count):
            carry, stacks = step(inner, at, carry, stacks)
            at = inner.elementwise("add", (at, one), _INDEX)
        return at, carry, stacks

    at = block.constant(int32.type(0), _INDEX)
    if whole:
        calls = jaxpr_calls_host(jaxpr)
        state = [at, *carry, *stacks, *([token_of(block)] if calls else [])]
        avals = [o.aval for o in state]

        def condition(inner: Any, args: Any) -> Any:
            limit = inner.constant(int32.type(whole * unroll), _INDEX)
            return [inner.compare("LT", args[0], limit, aval((), bool))]

        def body(inner: Any, args: Any) -> Any:
            at, carry, stacks = steps(inner, args[0], unroll, *divided(args[1:], num_carry))
            return [at, *carry, *stacks]

        write_body = with_token(body) if calls else body
        regions = [block.region(avals, condition), block.region(avals, write_body)]
        at, *state = block.op("while", *state, out=avals, regions=regions)
        if calls:
            block.token = state.pop()
        carry, stacks = divided(state, num_carry)
    _, carry, stacks = steps(block, at, rest, carry, stacks)
    return [*carry, *stacks]


def starts(block: Any, at: Any, ndim: int) -> list[Any]:
    """The start indices of slice `at` along axis 0."""
    zero = block.constant(int32.type(0), _INDEX) if ndim > 1 else None
    return [at, *[zero] * (ndim - 1)]


def slice_at(block: Any, x: Any, at: Any) -> Any:
    """One slice along axis 0."""
    shape = x.aval.shape[1:]
    window = block.op(
        "dynamic_slice",
        x,
        *starts(block, at, x.aval.ndim),
        out=x.aval.update(shape=(1, *shape), weak_type=False),
        attributes=f"slice_sizes = {ints((1, *shape))}",
    )
    return block.reshape(window, shape)


def put_at(block: Any, stack: Any, y: Any, at: Any) -> Any:
    """The stack with one slice replaced."""
    window = block.reshape(y, (1, *y.aval.shape))
    places = starts(block, at, stack.aval.ndim)
    return block.op("dynamic_update_slice", stack, window, *places, out=stack.aval)


# --- derivatives ---


@scan.pushforward
def _(
    mask: Mask,
    avals: Sequence[Aval],
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **rest: Any,
) -> Any:
    nc, nk = num_consts, num_carry
    full, (_, out_mask) = settled(
        mask, nc, nk, lambda m: depends(jaxpr, m, True), lambda m: jvp_jaxpr(jaxpr, m)
    )
    carry_mask = full[nc : nc + nk]
    out_mask = (*carry_mask, *out_mask[nk:])
    pushed, _ = jvp_jaxpr(jaxpr, full, out_mask)
    body = joined(pushed, full, out_mask, nc, nk)

    def program(*args: Any) -> list[Any]:
        consts, carry, xs = divided(args[: len(mask)], nc, nk)
        t_consts, t_carry, t_xs = divided(spread(args[len(mask) :], mask), nc, nk)
        t_carry = instantiated(t_carry, carry_mask, avals[nc : nc + nk])
        outs = apply_scan(
            body,
            [*consts, *given(t_consts)],
            [*carry, *given(t_carry)],
            [*xs, *given(t_xs)],
            **rest,
        )
        n_t = sum(carry_mask)
        carry, t_carry, ys, t_ys = divided(outs, nk, n_t, len(jaxpr.outvars) - nk)
        return [*carry, *ys, *t_carry, *t_ys]

    tangents = [a.strong() for a in active(avals, mask)]
    return stage(program, [*avals, *tangents], name="scan_jvp"), out_mask


def joined(pushed: Jaxpr, mask: Mask, out_mask: Mask, nc: int, nk: int) -> Jaxpr:
    """(primals, tangents) -> (outputs, tangents) in the order of a scan: each group with its
    tangents behind."""
    n, n_outs = len(mask), len(out_mask)
    groups = divided(pushed.invars[:n], nc, nk)
    t_groups = divided(spread(pushed.invars[n:], mask), nc, nk)
    outs = divided(pushed.outvars[:n_outs], nk)
    t_outs = divided(spread(pushed.outvars[n_outs:], out_mask), nk)
    return Jaxpr(
        pushed.constvars,
        pushed.consts,
        [v for vs, ts in zip(groups, t_groups, strict=True) for v in (*vs, *given(ts))],
        pushed.equations,
        [v for vs, ts in zip(outs, t_outs, strict=True) for v in (*vs, *given(ts))],
        pushed.name,
    )


def given(items: Sequence[Any]) -> list[Any]:
    """What isn't `None`."""
    return [x for x in items if x is not None]


def instantiated(items: Sequence[Any], mask: Sequence[bool], avals: Sequence[Aval]) -> list[Any]:
    """The items, with zeros for those missing in the mask."""
    return [
        zeros(a.strong()) if x is None and m else x
        for x, m, a in zip(items, mask, avals, strict=True)
    ]


@scan.linearize
def _(
    mask: Mask,
    avals: Sequence[Aval],
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **rest: Any,
) -> Any:
    nc, nk = num_consts, num_carry
    full, (forward, linear, out_mask) = settled(
        mask, nc, nk, lambda m: depends(jaxpr, m, True), lambda m: linearize_jaxpr(jaxpr, m)
    )
    carry_mask = full[nc : nc + nk]
    linear, out_mask = filled(linear, 0, out_mask, (*carry_mask, *out_mask[nk:]), jaxpr.out_avals)
    if not any(out_mask):
        return None
    n_outs = len(jaxpr.outvars)
    forward_consts = forward.consts
    forward = forward.without_consts()
    kept = Kept(forward, len(forward_consts) + nc, nk, n_outs)
    n_fixed = len(kept.fixed)

    def run_forward(*args: Any) -> list[Any]:
        consts, carry, xs = divided(args, nc, nk)
        consts = [*forward_consts, *consts]
        outs = apply_scan(kept.body, consts, carry, xs, **rest)
        return [*outs[:n_outs], *kept.values(consts, xs, outs)]

    # the body of the linear scan: residuals that change are its xs, the others its constants
    n_kept = len(kept.fixed) + len(kept.moving)
    residuals = linear.invars[:n_kept]
    t_consts, t_carry, t_xs = divided(spread(linear.invars[n_kept:], full), nc, nk)
    fixed = [residuals[i] for i in kept.fixed]
    moving = [residuals[i] for i in kept.moving]
    order = [*fixed, *given(t_consts), *given(t_carry), *moving, *given(t_xs)]
    body = Jaxpr(
        linear.constvars, linear.consts, order, linear.equations, linear.outvars, linear.name
    )

    def push(*args: Any) -> list[Any]:
        fixed, moving, tangents = divided(args, n_fixed, n_kept - n_fixed)
        t_consts, t_carry, t_xs = divided(spread(tangents, mask), nc, nk)
        t_carry = instantiated(t_carry, carry_mask, avals[nc : nc + nk])
        return apply_scan(
            body, [*fixed, *given(t_consts)], given(t_carry), [*moving, *given(t_xs)], **rest
        )

    whole = stage(run_forward, avals, name="scan")
    kept_avals = whole.out_avals[n_outs:]
    tangents = [a.strong() for a in active(avals, mask)]
    return Derivative(
        mask, whole, n_outs, out_mask, stage(push, [*kept_avals, *tangents], name="scan_linear")
    )


class Kept:
    """How a scan keeps the residuals of its steps, with as little memory as can be.

    Stacked is only what has to be: a residual that follows from the constants is computed once
    before the loop, and one that is a slice of an operand or of an output is read from there.

    Attributes:
      body: the body, which gives what is to be stacked after its outputs.
      fixed, moving: numbers of the residuals that are the same in all steps, and of the others.
    """

    def __init__(self, forward: Jaxpr, n_consts: int, n_carry: int, n_outs: int) -> None:
        outs, atoms = forward.outvars[:n_outs], forward.outvars[n_outs:]
        consts, _, xs = divided(forward.invars, n_consts, n_carry)
        steady = set(consts)
        for e in forward.equations:
            if not has_effects(e) and all(type(v) is not Var or v in steady for v in e.inputs):
                steady.update(e.outvars)
        self.fixed = [i for i, v in enumerate(atoms) if type(v) is not Var or v in steady]
        self.moving = [i for i, v in enumerate(atoms) if i not in set(self.fixed)]
        before = [atoms[i] for i in self.fixed]
        wanted = {v for v in before if type(v) is Var}
        self.before = Jaxpr(
            [], [], consts, live_equations(forward.equations, wanted, effects=False), before
        )
        inputs = {v: i for i, v in enumerate(xs)}
        outputs = {v: i for i, v in enumerate(outs) if i >= n_carry and type(v) is Var}
        stacked: list[Var] = []
        self.places: list[tuple[bool, int]] = []  # (whether it is an operand, which)
        for i in self.moving:
            v = atoms[i]
            if v in inputs:
                self.places.append((True, inputs[v]))
            elif v in outputs:
                self.places.append((False, outputs[v]))
            else:
                self.places.append((False, n_outs + len(stacked)))
                stacked.append(v)
        self.body = Jaxpr(
            [], [], forward.invars, forward.equations, [*outs, *stacked], forward.name
        )

    def values(self, consts: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """The residuals of all steps: first the fixed, then the moving, stacked."""
        fixed = run(self.before, consts, current.trace)
        return [*fixed, *[(xs if is_operand else outs)[i] for is_operand, i in self.places]]


# --- batches ---


@scan.batch
def _(
    args: Any,
    batched: Any,
    axis: Axis,
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **rest: Any,
) -> Any:
    nc, nk = num_consts, num_carry
    full, (_, out_batched) = settled(
        batched,
        nc,
        nk,
        lambda m: depends(jaxpr, m),
        lambda m: batch_partly(jaxpr, m, axis),
    )
    carry_batched = full[nc : nc + nk]
    out_batched = (*carry_batched, *out_batched[nk:])
    mapped, _ = batch_partly(jaxpr, full, axis, out_batched)
    consts, carry, xs = divided(args, nc, nk)
    _, was, x_batched = divided(batched, nc, nk)
    carry = [
        repeated(x, axis.size) if now and not before else x
        for x, now, before in zip(carry, carry_batched, was, strict=True)
    ]
    xs = [move_axis(x, 0, 1) if b else x for x, b in zip(xs, x_batched, strict=True)]
    outs = apply_scan(mapped, consts, carry, xs, **rest)
    carry, ys = divided(outs, nk)
    ys = [move_axis(y, 1, 0) if b else y for y, b in zip(ys, out_batched[nk:], strict=True)]
    return [o if b else Shared(o) for o, b in zip([*carry, *ys], out_batched, strict=True)]
