"""The scan primitive: a loop of a known number of steps over slices of arrays.

Its jaxpr goes from (constants, carry, slices) to (carry, slices); the operands are the constants,
the initial carry, and arrays with one slice along axis 0 for each step.

`run_sequentially` computes a batch element by element, in a scan, for programs with effects. A
batched cond runs all branches, and a batched loop continues for elements that have ended; both
would repeat effects.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..compiler.compiled import run_program
from ..compiler.lowered import LoweredProgram
from ..compiler.simplify import jaxpr_has_effects, live_inputs, live_part
from ..core.array import Array
from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, named_axes, run
from ..core.masks import Mask, active, groups_of, inactive, merge_lists, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.program_inside import ProgramInside
from ..core.trace import current
from ..core.value import Value
from ..interpreters.batch import with_batch
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.creation import instantiate, zeros
from ..primitives.structural import add, move_axis
from ..programs.loop_bodies import (
    ResidualHoisting,
    interleave_tangents,
    live_carry,
    partition_carry,
    reached_back,
    without_copies,
)
from ..programs.partial_eval import EquationParts, Policy, partial_eval_jaxpr
from ..programs.transform import (
    batch_partly,
    carry_fixpoint,
    depends,
    instantiate_zeros,
    jvp_jaxpr,
    linearize_jaxpr,
    nonzero,
    transformed_at_fixpoint,
    transpose_jaxpr,
)
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs
from ..stablehlo import Block, Operand
from .applying import InnerRuns, with_shared
from .scan_lowering import lower_scan


class ScanParams(NamedTuple):
    """The parameters of `scan`."""

    jaxpr: Jaxpr
    length: int
    reverse: bool
    unroll: int
    num_consts: int
    num_carry: int

    def groups(self, items: Sequence[object]) -> list[list[Any]]:
        """The items of the constants, of the carry, and of the sliced operands."""
        return groups_of(items, self.num_consts, self.num_carry)

    @property
    def loop(self) -> "Loop":
        """The parameters apart from the body."""
        return {"length": self.length, "reverse": self.reverse, "unroll": self.unroll}


class Loop(TypedDict):
    """The order of the steps."""

    length: int
    reverse: bool
    unroll: int


def apply_scan(
    jaxpr: Jaxpr,
    consts: Sequence[Value],
    carry: Sequence[Value],
    xs: Sequence[Value],
    *,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Value]:
    """Scans under the current trace; constants of the jaxpr become operands.

    A carry that no step changes becomes a constant, and an output that stacks the slices of an
    operand is replaced by that operand.
    """
    consts = [*jaxpr.consts, *consts]
    jaxpr = jaxpr.without_consts()
    nc, nk = len(consts), len(carry)
    body, fixed, passed = without_copies(jaxpr, nc, nk)
    n_fixed = sum(fixed)
    params = ScanParams(body, length, reverse, unroll, nc + n_fixed, nk - n_fixed)
    operands = [*consts, *active(carry, fixed), *inactive(carry, fixed), *xs]
    outs: list[Value] = current.trace.bind(scan, operands, tuple(params._asdict().items()))
    if body is jaxpr:
        return outs
    computed = iter(outs)
    return [
        *[x if f else next(computed) for x, f in zip(carry, fixed, strict=True)],
        *[next(computed) if i is None else xs[i] for i in passed],
    ]


class ScanRules(ProgramInside):
    """The body of a loop of a known number of steps."""

    def type(self, *avals: Aval, **named: Any) -> list[Aval]:
        params = ScanParams(**named)
        carry, ys = groups_of(params.jaxpr.out_avals, params.num_carry)
        return [*carry, *[a.update(shape=(params.length, *a.shape)) for a in ys]]

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **named: object) -> list[Array]:
        return run_program(scan_program(jaxpr, tuple(named.items())), args)

    def inner_runs(self, args: Sequence[Array], **named: Any) -> InnerRuns:
        params = ScanParams(**named)
        consts, carry, xs = params.groups(args)
        steps = range(params.length)
        for i in reversed(steps) if params.reverse else steps:
            slices = [slice_now(x, i) for x in xs]
            inputs = [*consts, *carry, *slices]
            outs = yield params.jaxpr, inputs, range(len(args)), f"step {i} of scan"
            carry = outs[: params.num_carry]

    def lower(self, block: Block, *operands: Operand, out: Any, **params: Any) -> list[Operand]:
        return lower_scan(block, operands, **params)

    def depends(self, mask: Mask, inexact: bool, **named: Any) -> Mask:
        jaxpr, *_, nc, nk = ScanParams(**named)
        mask = carry_fixpoint(mask, nc, nk, lambda m: depends(jaxpr, m, inexact))
        outs = depends(jaxpr, mask, inexact)
        return (*mask[nc : nc + nk], *outs[nk:])

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        """A carry is live if its final value is used, or if the live part of a step needs it."""
        params = ScanParams(**dict(e.params))
        jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
        live_outs = live_carry(jaxpr, nc, nk, used_outs)
        consts, _, xs = params.groups(live_inputs(jaxpr, live_outs))
        carry = live_outs[:nk]
        used = (*consts, *carry, *xs)
        body = live_part(jaxpr, used, live_outs)
        if body is jaxpr:
            return e
        return e.replace(
            active(e.inputs, used),
            active(e.outvars, live_outs),
            jaxpr=body,
            num_consts=sum(consts),
            num_carry=sum(carry),
        )

    def vary(
        self, ins: Sequence[VaryingAxes], context: Divergence, **named: Any
    ) -> list[VaryingAxes]:
        params = ScanParams(**named)
        return context.vary(params.jaxpr, body_variation(params, ins, context))

    def keep_uniform(
        self, e: Equation, ins: Sequence[VaryingAxes], context: Divergence
    ) -> Equation:
        params = ScanParams(**dict(e.params))
        inside = body_variation(params, ins, context)
        return with_jaxprs(e, jaxpr=context.keep_uniform(params.jaxpr, inside))

    def pushforward(self, mask: Mask, avals: Sequence[Aval], **named: Any) -> tuple[Jaxpr, Mask]:
        params = ScanParams(**named)
        jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
        full, (_, out_mask) = transformed_at_fixpoint(
            mask, nc, nk, lambda m: depends(jaxpr, m, True), lambda m: jvp_jaxpr(jaxpr, m)
        )
        carry_mask = full[nc : nc + nk]
        out_mask = (*carry_mask, *out_mask[nk:])
        pushed, _ = jvp_jaxpr(jaxpr, full, out_mask)
        body = interleave_tangents(pushed, full, out_mask, nc, nk)

        def program(*args: Value) -> list[Value]:
            consts, carry, xs = params.groups(args[: len(mask)])
            t_consts, t_carry, t_xs = params.groups(scatter_list(args[len(mask) :], mask))
            t_carry = with_zeros(t_carry, carry_mask, avals[nc : nc + nk])
            outs = apply_scan(
                body,
                [*consts, *nonzero(t_consts)],
                [*carry, *nonzero(t_carry)],
                [*xs, *nonzero(t_xs)],
                **params.loop,
            )
            n_ys = len(jaxpr.outvars) - nk
            carry, t_carry, ys, t_ys = groups_of(outs, nk, sum(carry_mask), n_ys)
            return [*carry, *ys, *t_carry, *t_ys]

        tangents = [a.strong() for a in active(avals, mask)]
        return stage(program, [*avals, *tangents], name="scan_jvp"), out_mask

    def linearize(self, mask: Mask, avals: Sequence[Aval], **named: Any) -> Derivative | None:
        params = ScanParams(**named)
        jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
        full, (forward, linear, out_mask) = transformed_at_fixpoint(
            mask, nc, nk, lambda m: depends(jaxpr, m, True), lambda m: linearize_jaxpr(jaxpr, m)
        )
        carry_mask = full[nc : nc + nk]
        linear, out_mask = instantiate_zeros(
            linear, 0, out_mask, (*carry_mask, *out_mask[nk:]), jaxpr.out_avals
        )
        if not any(out_mask):
            return None
        n_outs = len(jaxpr.outvars)
        forward_consts = forward.consts
        forward = forward.without_consts()
        hoisting = ResidualHoisting(forward, len(forward_consts) + nc, nk, n_outs)
        n_fixed = len(hoisting.fixed)

        def run_forward(*args: Value) -> list[Value]:
            consts, carry, xs = params.groups(args)
            consts = [*forward_consts, *consts]
            outs = apply_scan(hoisting.body, consts, carry, xs, **params.loop)
            return [*outs[:n_outs], *hoisting.values(consts, xs, outs)]

        # the body of the linear scan: residuals of each step are its xs, the others its constants
        n_residuals = n_fixed + len(hoisting.moving)
        residuals = linear.invars[:n_residuals]
        t_consts, t_carry, t_xs = params.groups(scatter_list(linear.invars[n_residuals:], full))
        fixed = [residuals[i] for i in hoisting.fixed]
        moving = [residuals[i] for i in hoisting.moving]
        invars = [*fixed, *nonzero(t_consts), *nonzero(t_carry), *moving, *nonzero(t_xs)]
        body = linear.replace(invars=invars)

        def push(*args: Value) -> list[Value]:
            fixed, moving, tangents = groups_of(args, n_fixed, n_residuals - n_fixed)
            t_consts, t_carry, t_xs = params.groups(scatter_list(tangents, mask))
            t_carry = with_zeros(t_carry, carry_mask, avals[nc : nc + nk])
            consts, xs = [*fixed, *nonzero(t_consts)], [*moving, *nonzero(t_xs)]
            return apply_scan(body, consts, nonzero(t_carry), xs, **params.loop)

        primal = stage(run_forward, avals, name="scan")
        linear_avals = [*primal.out_avals[n_outs:], *[a.strong() for a in active(avals, mask)]]
        push_jaxpr = stage(push, linear_avals, name="scan_linear")
        return Derivative(mask, primal, n_outs, out_mask, push_jaxpr)

    def partial_eval(self, e: Equation, used_outs: Mask, policy: Policy | None) -> EquationParts:
        """Stacks the residuals of the steps; the rematerialised steps read them from the stack."""
        params = ScanParams(**dict(e.params))
        jaxpr, nc, nk, n_outs = params.jaxpr, params.num_consts, params.num_carry, len(e.outvars)
        needed = used_outs
        reusable = tuple(i >= nk for i in range(n_outs))  # the last carry is not each step's carry
        while True:  # if a step needs a carry, the step before has to compute it
            parts = partial_eval_jaxpr(jaxpr, needed, policy, reusable)
            carry = tuple(w or nc + i in parts.used for i, w in enumerate(needed[:nk]))
            if carry == needed[:nk]:
                break
            needed = (*carry, *needed[nk:])
        stacks = [
            Var(a.update(shape=(params.length, *a.shape))) for a in parts.known.out_avals[n_outs:]
        ]
        outvars = [*e.outvars, *stacks]
        residuals = [outvars[i] for i in parts.residuals]
        known_equation = e.replace(e.inputs, outvars, jaxpr=parts.known) if stacks else e
        # a recomputed carry is an input, used or not
        used = set(parts.used).union(nc + i for i, c in enumerate(carry) if c)
        inputs = [i for i in range(len(e.inputs)) if i in used]
        first = dict(zip(parts.used, parts.remat.invars, strict=False))
        invars = [first[i] if i in first else Var(jaxpr.in_avals[i]) for i in inputs]
        body = parts.remat.replace(invars=[*invars, *parts.remat.invars[len(parts.used) :]])
        remat = e.replace(
            [*[e.inputs[i] for i in inputs], *residuals],
            # the variable of an unused carry may be among the residuals, so it gets another one
            active(
                [v if u else Var(v.aval) for v, u in zip(e.outvars, used_outs, strict=True)], needed
            ),
            jaxpr=body,
            num_consts=sum(i < nc for i in inputs),
            num_carry=sum(carry),
        )
        return EquationParts(known_equation, residuals, remat)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, **named: Any
    ) -> list[Value | None]:
        params = ScanParams(**named)
        jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
        linear = tuple(type(a) is Aval for a in args)
        linear = carry_fixpoint(linear, nc, nk, lambda m: depends(jaxpr, m))
        moving = linear[nc : nc + nk]
        if all(moving):
            return scan_back(params, cts, args)
        # a nonlinear carry, such as a counter, is computed first, forwards; the linear part gets
        # its values as slices
        parts = partition_carry(jaxpr, nc, nk, linear)
        consts, carry, xs = params.groups(args)
        lin_consts, _, lin_xs = params.groups(linear)
        known_consts, known_xs = inactive(consts, lin_consts), inactive(xs, lin_xs)
        counters = inactive(carry, moving)
        outs = apply_scan(parts.forward, known_consts, counters, known_xs, **params.loop)
        ct_carry, ct_ys = groups_of(cts, nk)
        ct_ys = [ct if m else None for ct, m in zip(ct_ys, parts.linear_ys, strict=True)]
        operands = [*consts, *active(carry, moving), *xs, *outs[parts.n_counters :]]
        linear_params = params._replace(jaxpr=parts.linear, num_carry=sum(moving))
        results = scan_back(linear_params, [*active(ct_carry, moving), *ct_ys], operands)
        arg_mask = [*[True] * nc, *moving, *[True] * len(xs)]
        return scatter_list(results[: sum(arg_mask)], arg_mask)

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, **named: Any
    ) -> list[Value | Shared]:
        params = ScanParams(**named)
        jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
        full, (_, out_batched) = transformed_at_fixpoint(
            batched, nc, nk, lambda m: depends(jaxpr, m), lambda m: batch_partly(jaxpr, m, axis)
        )
        carry_batched = full[nc : nc + nk]
        out_batched = (*carry_batched, *out_batched[nk:])
        mapped, _ = batch_partly(jaxpr, full, axis, out_batched)
        consts, carry, xs = params.groups(args)
        _, init_batched, x_batched = params.groups(batched)
        carry = with_batch(carry, init_batched, carry_batched, axis.size)
        xs = [move_axis(x, 0, 1) if b else x for x, b in zip(xs, x_batched, strict=True)]
        outs = apply_scan(mapped, consts, carry, xs, **params.loop)
        carry, ys = groups_of(outs, nk)
        ys = [move_axis(y, 1, 0) if b else y for y, b in zip(ys, out_batched[nk:], strict=True)]
        return with_shared([*carry, *ys], out_batched)

    def follow_keys(self, marks: Any, uses: Any, **named: Any) -> Any:
        params = ScanParams(**named)
        consts, carry, xs = params.groups(marks)
        stacks = len(params.jaxpr.outvars) - params.num_carry
        keys = any(x is not None for x in xs)
        # the second step shows reuse by the first; sliced keys differ at each step
        for i in range(params.length if keys else min(2, params.length)):
            at = params.length - 1 - i if params.reverse else i
            slices = [None if x is None else x.at(at) for x in xs]
            carry = uses.program(params.jaxpr, [*consts, *carry, *slices])[: params.num_carry]
        return [*carry, *[None] * stacks]


scan = HigherOrder(
    "scan", "A loop of `length` steps over slices: the last carry, and stacks.", ScanRules()
)


@cached_on_program
def scan_program(body: Jaxpr, named: tuple[tuple[str, Any], ...]) -> LoweredProgram:
    """The compiled loop."""
    params = ScanParams(body, **dict(named))
    consts, carry, xs = params.groups(body.in_avals)
    xs = [a.update(shape=(params.length, *a.shape)) for a in xs]
    avals = [a.strong() for a in (*consts, *carry, *xs)]
    return LoweredProgram(one_equation(scan, avals, params._asdict()))


def one_equation(primitive: HigherOrder, avals: Sequence[Aval], params: dict[str, Any]) -> Jaxpr:
    """The program that applies a primitive to its inputs."""
    assert primitive.type_rule is not None
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in primitive.type_rule(*avals, **params)]
    equation = Equation(primitive, invars, tuple(params.items()), outvars)
    return Jaxpr([], [], invars, [equation], outvars, primitive.name)


def slice_now(x: Array, i: int) -> Array:
    """One slice of an array along axis 0, computed now."""
    return Array(np.asarray(x.host())[i], x.aval.update(shape=x.aval.shape[1:]))


def body_variation(
    params: ScanParams, ins: Sequence[VaryingAxes], context: Divergence
) -> list[VaryingAxes]:
    """The axes along which the inputs of the body vary."""
    consts, carry, xs = params.groups(ins)
    while True:
        outs = context.vary(params.jaxpr, [*consts, *carry, *xs])
        wider = [c | o for c, o in zip(carry, outs, strict=False)]
        if wider == carry:
            return [*consts, *carry, *xs]
        carry = wider


def with_zeros(
    items: Sequence[Value | None], mask: Sequence[bool], avals: Sequence[Aval]
) -> list[Value | None]:
    """The items, with zeros for `None` where the mask is true."""
    return [instantiate(x, a) if m else x for x, m, a in zip(items, mask, avals, strict=True)]


def scan_back(
    params: ScanParams, cts: Sequence[Value | None], args: Sequence[Value | Aval]
) -> list[Value | None]:
    """A cotangent or `None` for each argument of a scan whose carry is linear.

    The cotangents of the carry are the carry of a scan in the other direction. That carry also sums
    the cotangents of constants, and the stacked outputs are the cotangents of slices. An initial
    carry without a cotangent is zero, since the loop is linear.
    """
    jaxpr, nc, nk = params.jaxpr, params.num_consts, params.num_carry
    lin_consts, lin_carry, lin_xs = params.groups([type(a) is Aval for a in args])
    linear = (*lin_consts, *[True] * nk, *lin_xs)

    def transposed(ct_mask: Mask) -> tuple[Jaxpr, Mask, Mask]:
        program, out_mask = transpose_jaxpr(jaxpr, linear, ct_mask)
        return program, out_mask, out_mask[nc : nc + nk]

    ct_mask, (_, nonzero_mask, _) = transformed_at_fixpoint(
        tuple(ct is not None for ct in cts),
        0,
        nk,
        lambda ct_mask: reached_back(jaxpr, linear, ct_mask)[nc : nc + nk],
        transposed,
    )
    carry_mask = ct_mask[:nk]
    nonzero_mask = (*nonzero_mask[:nc], *carry_mask, *nonzero_mask[nc + nk :])
    z_consts, _, z_xs = params.groups(nonzero_mask)
    in_consts = params.groups(jaxpr.in_avals)[0]
    step = transposed_step(jaxpr, nc, nk, linear, ct_mask, nonzero_mask)
    ct_carry, ct_ys = groups_of(cts, nk)
    ct_carry = with_zeros(ct_carry, carry_mask, jaxpr.out_avals[:nk])
    consts, _, xs = params.groups(args)
    sums = [zeros(a.strong()) for a in active(in_consts, z_consts)]
    outs = apply_scan(
        step,
        inactive(consts, lin_consts),
        [*nonzero(ct_carry), *sums],
        [*inactive(xs, lin_xs), *nonzero(ct_ys)],
        length=params.length,
        reverse=not params.reverse,
        unroll=params.unroll,
    )
    cts_out, sums, ct_xs = groups_of(outs, sum(carry_mask), len(sums))
    ct_init = [
        ct if is_linear else None
        for ct, is_linear in zip(scatter_list(cts_out, carry_mask), lin_carry, strict=True)
    ]
    return [*scatter_list(sums, z_consts), *ct_init, *scatter_list(ct_xs, z_xs)]


@cached_on_program
def transposed_step(
    jaxpr: Jaxpr, nc: int, nk: int, linear: Mask, ct_mask: Mask, nonzero_mask: Mask
) -> Jaxpr:
    """The body of the transposed loop: (known constants, cotangents of the carry, sums for
    constants, known slices, cotangents of ys) -> (cotangents, sums, cotangents of slices)."""
    body, _ = transpose_jaxpr(jaxpr, linear, ct_mask, nonzero_mask)
    in_consts, _, in_xs = groups_of(jaxpr.in_avals, nc, nk)
    lin_consts, _, lin_xs = groups_of(linear, nc, nk)
    known_consts, known_xs = inactive(in_consts, lin_consts), inactive(in_xs, lin_xs)
    n_ct = sum(ct_mask[:nk])
    sum_avals = [a.strong() for a in active(in_consts, nonzero_mask[:nc])]
    n_sums = len(sum_avals)

    def step(*args: Value) -> list[Value]:
        consts, cts, sums, residuals, ct_ys = groups_of(
            args, len(known_consts), n_ct, n_sums, len(known_xs)
        )
        results = run(body, [*consts, *residuals, *cts, *ct_ys], current.trace)
        terms, cts, ct_xs = groups_of(results, n_sums, n_ct)
        return [*cts, *[add(s, t) for s, t in zip(sums, terms, strict=True)], *ct_xs]

    out_avals = [a.strong() for a in active(jaxpr.out_avals, ct_mask)]
    avals = [*known_consts, *out_avals[:n_ct], *sum_avals, *known_xs, *out_avals[n_ct:]]
    return stage(step, avals, name=jaxpr.name + "_t")


def must_be_sequential(name: str, jaxprs: Sequence[Jaxpr], axis: Axis) -> bool:
    """True if any of the programs has effects. Then it cannot refer to the mapped axis."""
    if not any(map(jaxpr_has_effects, jaxprs)):
        return False
    if axis.name is not None and any(axis.name in named_axes(j) for j in jaxprs):
        raise TypeError(
            f"{name}: under vmap, its functions may have effects or use collectives over "
            f"{axis.name!r}, not both: with effects, elements are computed one after the other\n"
            f"  fix: do one of the two outside of {name}"
        )
    return True


def element_program(
    apply: Callable[..., Sequence[Value]], batched: Mask, avals: Sequence[Aval]
) -> Jaxpr:
    """The program of one element of a batch: (shared arguments, its own arguments) -> results.

    Args:
      batched: the arguments of `apply` that carry the batch, as a mask.
      avals: the avals of the arguments, including the batch axis.
    """
    shared = inactive(avals, batched)
    own = [a.update(shape=a.shape[1:]) for a in active(avals, batched)]

    def element(*values: Value) -> Sequence[Value]:
        return apply(*merge_lists(values[len(shared) :], values[: len(shared)], batched))

    return stage(element, [*shared, *own], name="in_turn")


def run_sequentially(
    element: Jaxpr, args: Sequence[Value], batched: Sequence[bool], size: int
) -> list[Value]:
    """An element's program for each element of a batch, in order; all outputs are batched."""
    shared, own = inactive(args, batched), active(args, batched)
    return apply_scan(element, shared, [], own, length=size, reverse=False, unroll=1)
