"""The checkpoint primitive (rematerialisation): the linear part recomputes the residuals.

A policy says which intermediate values are saved: see `programs/partial_eval.py`.
"""

from collections.abc import Sequence
from typing import Any

from ..compiler.lower import lower_call, lower_isolated
from ..compiler.simplify import live_call
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, run
from ..core.masks import Mask, active
from ..core.primitive import HigherOrder
from ..core.trace import current
from ..core.value import Value
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..programs.partial_eval import (
    Policy,
    partial_eval_jaxpr,
    with_policy,
)
from ..programs.transform import (
    jvp_jaxpr,
    linearize_jaxpr,
    run_now,
)
from ..stablehlo import Block, Operand
from .applying import AppliesTransformed


def apply_checkpoint(
    jaxpr: Jaxpr,
    args: Sequence[Value],
    policy: Policy | None,
    prevent_cse: bool,
    again: bool = False,
) -> list[Value]:
    """Applies a jaxpr under checkpoint to values; its constants become arguments.

    Args:
      again: whether it is the second computation. The compiler may not merge it with the first or
        start it early.
    """
    program = jaxpr.without_consts()
    params = {"jaxpr": program, "policy": policy, "prevent_cse": prevent_cse, "again": again}
    args, out_avals = [*jaxpr.consts, *args], tuple(program.out_avals)
    return current.trace.bind(checkpoint_call, args, tuple(params.items()), out_avals)


class CheckpointRules(AppliesTransformed):
    """A program that recomputes its residuals."""

    apply = staticmethod(apply_checkpoint)

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **params: object) -> list[Array]:
        return run_now(jaxpr, args)

    def lower(
        self,
        block: Block,
        *operands: Operand,
        jaxpr: Jaxpr,
        prevent_cse: bool,
        again: bool,
        **_: object,
    ) -> list[Operand]:
        # The cotangents are operands too, so a block is recomputed only when the backward pass
        # reaches it. To recompute all blocks at once would use the memory that checkpoint saves.
        return (lower_isolated if again and prevent_cse else lower_call)(block, jaxpr, operands)

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[Jaxpr, Mask]:
        pushed, out_mask = jvp_jaxpr(jaxpr, mask)
        program = stage(
            lambda *xs: apply_checkpoint(pushed, xs, **params), pushed.in_avals, name=jaxpr.name
        )
        return program, out_mask

    def linearize(
        self,
        mask: Mask,
        avals: Sequence[Aval],
        *,
        jaxpr: Jaxpr,
        policy: Policy | None,
        prevent_cse: bool,
        again: bool,
    ) -> Derivative | None:
        if policy is not None:
            jaxpr = with_policy(jaxpr, policy)
        forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
        if not any(out_mask):
            return None
        n_outs, consts = len(jaxpr.outvars), forward.consts
        forward = forward.without_consts()
        is_residual = tuple(i >= n_outs for i in range(len(forward.outvars)))
        parts = partial_eval_jaxpr(forward, is_residual, policy)
        n_saved = len(parts.remat.invars)
        new = [i for i in parts.residuals if i >= n_outs]
        outvars = parts.known.outvars
        known_part = parts.known.replace(outvars=[*outvars[:n_outs], *[outvars[i] for i in new]])
        numbers = {i: n_outs + n for n, i in enumerate(new)}

        def run_known(*args: Value) -> list[Value]:
            inputs = [*consts, *args]
            outs = apply_checkpoint(known_part, inputs, policy, prevent_cse, again)
            saved = [outs[numbers.get(i, i)] for i in parts.residuals]
            return [*outs[:n_outs], *[inputs[i] for i in parts.used], *saved]

        def compute_and_push(*args: Value) -> list[Value]:
            residuals = run(parts.remat, args[:n_saved], current.trace)
            return run(linear, [*residuals, *args[n_saved:]], current.trace)

        primal = stage(run_known, avals, name=jaxpr.name)
        in_avals = [*primal.out_avals[n_outs:], *[a.strong() for a in active(avals, mask)]]
        body = stage(compute_and_push, in_avals, name=jaxpr.name + "_again")
        push = lambda *xs: apply_checkpoint(body, xs, policy, prevent_cse, True)  # noqa: E731
        return Derivative(mask, primal, n_outs, out_mask, stage(push, in_avals, name=body.name))

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        return live_call(e, used_outs)


checkpoint_call = HigherOrder(
    "checkpoint",
    "Applies a jaxpr whose residuals are computed anew for the backward pass.",
    CheckpointRules(),
)
