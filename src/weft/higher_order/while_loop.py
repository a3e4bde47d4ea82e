"""The while_loop primitive: repeats a body as long as a condition holds.

The operands are the constants of the condition, the constants of the body, and the initial carry.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from ..compiler.compiled import run_program
from ..compiler.lower import lower_jaxpr, with_token
from ..compiler.lowered import LoweredProgram
from ..compiler.simplify import jaxpr_calls_host, live_inputs, live_part, without_effects
from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.caching import cached_on_program, latest
from ..core.jaxpr import Equation, Jaxpr, Var, run
from ..core.masks import Mask, active, groups_of, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.program_inside import ProgramInside
from ..core.trace import current
from ..core.value import Value
from ..dtypes import bool_, int32
from ..errors import DerivativeError
from ..interpreters.batch import with_batch
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.callbacks import token_of
from ..primitives.collectives import pmax
from ..primitives.selection import select_n
from ..primitives.structural import broadcast_in_dim, convert_element_type, reduce_sum
from ..programs.loop_bodies import interleave_tangents, live_carry
from ..programs.transform import (
    batch_partly,
    carry_fixpoint,
    depends,
    either,
    jvp_jaxpr,
    nonzero,
    transformed_at_fixpoint,
)
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs
from ..stablehlo import Block, Operand
from .applying import InnerRuns, with_shared
from .call import as_call
from .scan import element_program, must_be_sequential, one_equation, run_sequentially, with_zeros


class WhileParams(NamedTuple):
    """The parameters of `while_loop`: its two programs, and the number of constants of each."""

    body_jaxpr: Jaxpr
    cond_jaxpr: Jaxpr
    cond_nconsts: int
    body_nconsts: int

    def groups(self, items: Sequence[object]) -> list[list[Any]]:
        """The items of the condition's constants, of the body's constants, and of the carry."""
        return groups_of(items, self.cond_nconsts, self.body_nconsts)

    @property
    def owner(self) -> Jaxpr:
        """The program that owns everything derived from the loop."""
        return latest((self.body_jaxpr, self.cond_jaxpr))


def apply_while(
    condition: Jaxpr,
    body: Jaxpr,
    cond_consts: Sequence[Value],
    body_consts: Sequence[Value],
    carry: Sequence[Value],
) -> list[Value]:
    """Loops under the current trace; constants of the jaxprs become operands."""
    cond_consts = [*condition.consts, *cond_consts]
    body_consts = [*body.consts, *body_consts]
    params = WhileParams(
        body.without_consts(), condition.without_consts(), len(cond_consts), len(body_consts)
    )
    return bind_while(params, [*cond_consts, *body_consts, *carry])


def bind_while(params: WhileParams, operands: Sequence[Value]) -> list[Value]:
    """Applies the primitive under the current trace."""
    named = tuple(params._asdict().items())
    return current.trace.bind(while_loop, operands, named)


class WhileRules(ProgramInside):
    """The condition and the body of a loop."""

    def type(self, *avals: Aval, body_jaxpr: Jaxpr, **params: object) -> list[Aval]:
        return body_jaxpr.out_avals

    def execute(self, args: Sequence[Array], **named: Any) -> list[Array]:
        loop = WhileParams(**named)
        return run_program(loop_program(loop.owner, loop), args)

    def inner_runs(self, args: Sequence[Array], **named: Any) -> InnerRuns:
        params = WhileParams(**named)
        cond_consts, consts, carry = params.groups(args)
        numbers = range(params.cond_nconsts, len(args))
        step = 0
        while run(params.cond_jaxpr, [*cond_consts, *carry], current.base)[0].host():
            carry = yield (
                params.body_jaxpr,
                [*consts, *carry],
                numbers,
                f"step {step} of while_loop",
            )
            step += 1

    def lower(self, block: Block, *operands: Operand, out: Any, **named: Any) -> list[Operand]:
        params = WhileParams(**named)
        cond_calls = jaxpr_calls_host(params.cond_jaxpr)
        calls = cond_calls or jaxpr_calls_host(params.body_jaxpr)
        if not out and not calls:
            return []
        cond_consts, body_consts, state = params.groups(operands)

        def condition(b: Block, args: Sequence[Operand]) -> list[Operand]:
            return lower_jaxpr(b, params.cond_jaxpr, [*cond_consts, *args])

        def body(b: Block, args: Sequence[Operand]) -> list[Operand]:
            return lower_jaxpr(b, params.body_jaxpr, [*body_consts, *args])

        def body_and_condition(b: Block, args: Sequence[Operand]) -> list[Operand]:
            carry = body(b, args[1:])
            return [*condition(b, carry), *carry]

        n, test, step = len(state), condition, body
        if cond_calls:  # XLA's condition cannot return a token, so the body computes it
            state = [*condition(block, state), *state]
            n, test, step = 1, lambda b, args: list(args), body_and_condition
        if calls:
            state.append(token_of(block))
            step = with_token(step)
        avals = [o.aval for o in state]
        regions = [
            block.region(avals, lambda b, args: test(b, args[:n])),
            block.region(avals, step),
        ]
        state = block.op("while", *state, out=avals, regions=regions)
        if calls:
            block.token = state.pop()
        return state[1:] if cond_calls else state

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        """Like the rule of scan, but the carry that the condition needs is also live."""
        body, condition, n_cond, n_body = WhileParams(**dict(e.params))
        live = live_inputs(condition, (True,))
        cond_consts, cond_carry = live[:n_cond], live[n_cond:]
        carry = live_carry(body, n_body, len(used_outs), either(used_outs, cond_carry))
        body_consts = live_inputs(body, carry)[:n_body]
        step = live_part(body, (*body_consts, *carry), carry)
        test = live_part(condition, (*cond_consts, *carry), (True,))
        if step is body and test is condition:
            return e
        return e.replace(
            active(e.inputs, (*cond_consts, *body_consts, *carry)),
            active(e.outvars, carry),
            body_jaxpr=step,
            cond_jaxpr=test,
            cond_nconsts=sum(cond_consts),
            body_nconsts=sum(body_consts),
        )

    def depends(self, mask: Mask, inexact: bool, **named: Any) -> Mask:
        params = WhileParams(**named)
        nb, body = params.body_nconsts, params.body_jaxpr
        n = len(body.outvars)
        consts, inner = mask[: params.cond_nconsts], mask[params.cond_nconsts :]
        carry = carry_fixpoint(inner, nb, n, lambda m: depends(body, m, inexact))[nb:]
        if not inexact and any(depends(params.cond_jaxpr, (*consts, *carry))):
            return (True,) * n
        return carry

    def vary(
        self, ins: Sequence[VaryingAxes], context: Divergence, **named: Any
    ) -> list[VaryingAxes]:
        return carry_variation(WhileParams(**named), ins, context)[1]

    def keep_uniform(
        self, e: Equation, ins: Sequence[VaryingAxes], context: Divergence
    ) -> Equation:
        params = WhileParams(**dict(e.params))
        cond_consts, body_consts, _ = params.groups(ins)
        going, carry = carry_variation(params, ins, context)
        condition = context.keep_uniform(params.cond_jaxpr, [*cond_consts, *carry])
        body = context.keep_uniform(params.body_jaxpr, [*body_consts, *carry])
        if over := context.diverging(e, going, (params.cond_jaxpr, params.body_jaxpr)):
            names = [
                (context.scope.name(axis), context.sizes[axis]) for axis in sorted(over, key=str)
            ]
            new = params._replace(cond_jaxpr=condition, body_jaxpr=body)
            return as_call(e, lambda *xs: until_all_end(new, names, xs))
        return with_jaxprs(e, cond_jaxpr=condition, body_jaxpr=body)

    def pushforward(self, mask: Mask, avals: Sequence[Aval], **named: Any) -> tuple[Jaxpr, Mask]:
        params = WhileParams(**named)
        inner, nb, nk = params.body_jaxpr, params.body_nconsts, len(params.body_jaxpr.outvars)
        full, _ = transformed_at_fixpoint(
            mask[params.cond_nconsts :],
            nb,
            nk,
            lambda m: depends(inner, m, True),
            lambda m: jvp_jaxpr(inner, m),
        )
        carry_mask = full[nb:]
        pushed, _ = jvp_jaxpr(inner, full, carry_mask)
        body = interleave_tangents(pushed, full, carry_mask, nb, nk)
        tangents = [a.strong() for a in active(inner.out_avals, carry_mask)]
        condition = ignoring(params.cond_jaxpr, tangents)
        carry_avals = params.groups(avals)[2]

        def program(*args: Value) -> list[Value]:
            cond_consts, body_consts, carry = params.groups(args[: len(mask)])
            _, t_consts, t_carry = params.groups(scatter_list(args[len(mask) :], mask))
            t_carry = with_zeros(t_carry, carry_mask, carry_avals)
            return apply_while(
                condition,
                body,
                cond_consts,
                [*body_consts, *nonzero(t_consts)],
                [*carry, *nonzero(t_carry)],
            )

        t_avals = [a.strong() for a in active(avals, mask)]
        return stage(program, [*avals, *t_avals], name="while_loop_jvp"), carry_mask

    def linearize(self, mask: Mask, avals: Sequence[Aval], **params: object) -> Derivative | None:
        # only forward mode is supported, so the linear part may run the loop again
        pushed, out_mask = self.pushforward(mask, avals, **params)
        if not any(out_mask):
            return None
        n, n_outs = len(mask), len(out_mask)
        again = without_effects(pushed)

        def forward(*args: Value) -> list[Value]:
            return [*while_loop(*args, **params), *args]

        def push(*args: Value) -> list[Value]:
            return run(again, args, current.trace)[n_outs:]

        tangents = [a.strong() for a in active(avals, mask)]
        return Derivative(
            mask,
            stage(forward, avals, name="while_loop"),
            n_outs,
            out_mask,
            stage(push, [*avals[:n], *tangents], name="while_loop_linear"),
        )

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, **params: object
    ) -> NoReturn:
        raise DerivativeError(
            "while_loop: reverse-mode differentiation (grad, vjp, jacrev) needs the values of "
            "every step, but the number of steps of a while_loop is known only after it has run; "
            "got a while_loop, or a fori_loop whose bounds are traced values\n"
            "  fix: lax.scan, or lax.fori_loop with bounds that are Python integers; or forward "
            "mode (jvp, jacfwd), which works; or state the derivative with custom_vjp"
        )

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, **named: Any
    ) -> Sequence[Value | Shared]:
        params = WhileParams(**named)
        inner, nb, nk = params.body_jaxpr, params.body_nconsts, len(params.body_jaxpr.outvars)
        cond_consts, body_consts, carry = params.groups(args)
        c_batched, b_batched, k_batched = params.groups(batched)
        full, _ = transformed_at_fixpoint(
            (*b_batched, *k_batched),
            nb,
            nk,
            lambda m: depends(inner, m),
            lambda m: batch_partly(inner, m, axis),
        )
        carry_batched = full[nb:]
        condition, (one_by_one,) = batch_partly(
            params.cond_jaxpr, (*c_batched, *carry_batched), axis
        )
        if one_by_one and must_be_sequential("while_loop", (params.cond_jaxpr, inner), axis):
            avals = tuple(x.aval for x in args)
            element = element_of_loop(params.owner, params, tuple(batched), avals)
            return run_sequentially(element, args, batched, axis.size)
        if one_by_one:
            # some elements go on while others have ended, so the whole carry is batched
            carry_batched = (True,) * nk
            condition, _ = batch_partly(params.cond_jaxpr, (*c_batched, *carry_batched), axis)
        body, _ = batch_partly(inner, (*b_batched, *carry_batched), axis, carry_batched)
        carry = with_batch(carry, k_batched, carry_batched, axis.size)
        if not one_by_one:
            outs = apply_while(condition, body, cond_consts, body_consts, carry)
            return with_shared(outs, carry_batched)
        cond_consts = [*condition.consts, *cond_consts]
        body_consts = [*body.consts, *body_consts]
        condition, body = condition.without_consts(), body.without_consts()
        params = WhileParams(body, condition, len(cond_consts), len(body_consts))
        test, step = masked_loop(params.owner, params, axis.size)
        (going,) = run(condition, [*cond_consts, *carry], current.trace)
        outs = apply_while(test, step, [], [*cond_consts, *body_consts], [going, *carry])
        return outs[1:]

    def follow_keys(self, marks: Any, uses: Any, **named: Any) -> Any:
        params = WhileParams(**named)
        for_cond, for_body, carry = params.groups(marks)
        for _ in range(2):  # the second step shows reuse by the first
            uses.program(params.cond_jaxpr, [*for_cond, *carry])
            carry = uses.program(params.body_jaxpr, [*for_body, *carry])
        return carry


while_loop = HigherOrder(
    "while_loop", "Applies a body to the carry as long as a condition holds.", WhileRules()
)


@cached_on_program
def loop_program(owner: Jaxpr, params: WhileParams) -> LoweredProgram:
    """The compiled loop."""
    avals = [*params.cond_jaxpr.in_avals[: params.cond_nconsts], *params.body_jaxpr.in_avals]
    return LoweredProgram(one_equation(while_loop, [a.strong() for a in avals], params._asdict()))


def carry_variation(
    params: WhileParams, ins: Sequence[VaryingAxes], context: Divergence
) -> tuple[VaryingAxes, list[VaryingAxes]]:
    """The axes along which a loop's condition varies, and for each carry the axes along which it
    varies."""
    cond_consts, body_consts, carry = params.groups(ins)
    while True:
        (going,) = context.vary(params.cond_jaxpr, [*cond_consts, *carry])
        outs = context.vary(params.body_jaxpr, [*body_consts, *carry])
        wider = [c | o | going for c, o in zip(carry, outs, strict=True)]
        if wider == list(carry):
            return going, wider
        carry = wider


def until_all_end(
    params: WhileParams, axes: Sequence[tuple[Any, int]], operands: Sequence[Value]
) -> list[Value]:
    """A while loop that runs until its condition is false on all devices along `axes`.

    Devices whose condition does not hold keep their carry.
    """
    condition, body = params.cond_jaxpr, params.body_jaxpr
    cond_consts, body_consts, carry = params.groups(operands)
    group = {"axes": tuple(n for n, _ in axes), "sizes": tuple(s for _, s in axes), "groups": None}

    def conditions(cond_consts: Sequence[Value], carry: Sequence[Value]) -> list[Value]:
        (going,) = run(condition, [*cond_consts, *carry], current.trace)
        any_going = pmax(convert_element_type(going, dtype=int32), **group)
        return [convert_element_type(any_going, dtype=bool_), going]

    def step(*args: Value) -> list[Value]:
        cond_consts, body_consts, (_, going, *carry) = params.groups(args)
        new = run(body, [*body_consts, *carry], current.trace)
        carry = [select_n(going, old, x) for old, x in zip(carry, new, strict=True)]
        return [*conditions(cond_consts, carry), *carry]

    state = [*conditions(cond_consts, carry), *carry]
    avals = [x.aval.strong() for x in state]
    test = stage(lambda any_going, *_: [any_going], avals, name=condition.name)
    consts = [*cond_consts, *body_consts]
    loop = stage(step, [*[c.aval for c in consts], *avals], name=body.name)
    return apply_while(test, loop, [], consts, state)[2:]


def ignoring(jaxpr: Jaxpr, avals: Sequence[Aval]) -> Jaxpr:
    """The program with additional, unused inputs."""
    invars = [*jaxpr.invars, *[Var(a) for a in avals]]
    return jaxpr.replace(invars=invars)


@cached_on_program
def element_of_loop(
    owner: Jaxpr, params: WhileParams, batched: Mask, avals: tuple[Aval, ...]
) -> Jaxpr:
    """The program of one element of a batch."""
    return element_program(lambda *xs: bind_while(params, xs), batched, avals)


@cached_on_program
def masked_loop(owner: Jaxpr, params: WhileParams, size: int) -> tuple[Jaxpr, Jaxpr]:
    """Condition and body of a loop over a batch that runs until the last element has ended.

    Its carry begins with a boolean for each element, which is true until the element has ended;
    then its carry no longer changes.
    """
    body, condition, n_cond, n_body = params
    carry_avals = body.in_avals[n_body:]
    going_aval = aval((size,), bool_)
    avals = [going_aval, *carry_avals]

    def any_going(going: Value, *carry: Value) -> list[Value]:
        return [reduce_sum(going, axes=(0,))]

    def step(*args: Value) -> list[Value]:
        cond_consts, body_consts, (going, *carry) = groups_of(args, n_cond, n_body)
        new = run(body, [*body_consts, *carry], current.trace)
        carry = [
            select_n(broadcast_in_dim(going, shape=x.shape, dims=(0,)), old, x)
            for old, x in zip(carry, new, strict=True)
        ]
        return [*run(condition, [*cond_consts, *carry], current.trace), *carry]

    consts = [*condition.in_avals[:n_cond], *body.in_avals[:n_body]]
    return (
        stage(any_going, avals, name=condition.name),
        stage(step, [*consts, *avals], name=body.name),
    )
