"""Rematerialisation: the linear part computes residuals again instead of keeping them.

A policy says which intermediate values are saved all the same: see `programs/partial_eval.py`.
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
    args = [*jaxpr.consts, *args]
    return current.trace.bind(checkpoint_call, args, params, tuple(whole.out_avals))


class CheckpointRules(AppliesTransformed):
    """A program whose residuals are computed anew."""

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
        # The cotangents are operands too. So a block is computed again when the backward pass has
        # come to it, and not before: all blocks at once would need the memory that was to be saved.
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
        opened = forward.without_consts()
        n_residuals = len(opened.outvars) - n_outs
        wanted = (*[False] * n_outs, *[True] * n_residuals)
        parts = partial_eval_jaxpr(opened, wanted, policy)
        n_saved = len(parts.remat.invars)
        new = [i for i in parts.residuals if i >= n_outs]
        outvars = parts.known.outvars
        results = [*outvars[:n_outs], *[outvars[i] for i in new]]
        known = parts.known.replace(outvars=results)
        numbers = {i: n_outs + n for n, i in enumerate(new)}

        def run_known(*args: Value) -> list[Value]:
            inputs = [*consts, *args]
            outs = apply_checkpoint(known, inputs, policy, prevent_cse, again)
            saved = [outs[numbers.get(i, i)] for i in parts.residuals]
            return [*outs[:n_outs], *[inputs[i] for i in parts.used], *saved]

        def compute_and_push(*args: Value) -> list[Value]:
            residuals = run(parts.remat, args[:n_saved], current.trace)
            return run(linear, [*residuals, *args[n_saved:]], current.trace)

        whole = stage(run_known, avals, name=jaxpr.name)
        in_avals = [*whole.out_avals[n_outs:], *[a.strong() for a in active(avals, mask)]]
        body = stage(compute_and_push, in_avals, name=jaxpr.name + "_again")
        push = stage(
            lambda *xs: apply_checkpoint(body, xs, policy, prevent_cse, True),
            in_avals,
            name=body.name,
        )
        return Derivative(mask, whole, n_outs, out_mask, push)

    def keep_live(self, e: Equation, wanted: Mask) -> Equation:
        return live_call(e, wanted)


checkpoint_call = HigherOrder(
    "checkpoint",
    "Applies a jaxpr whose residuals are computed anew for the backward pass.",
    CheckpointRules(),
)
