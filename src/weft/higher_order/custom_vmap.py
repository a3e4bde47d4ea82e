"""The custom_vmap primitive: a function with a user's batching rule; the equation has both.

`vmap` calls the rule; everything else uses the function. A jvp pushes the rule forward and keeps
it; `linearize` differentiates the function without the rule.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..core.aval import Aval
from ..core.caching import remember
from ..core.jaxpr import Jaxpr
from ..core.masks import Mask, active, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.value import Value
from ..interpreters.batch import with_batch
from ..interpreters.derivative import Derivative
from ..interpreters.jvp import jvp
from ..interpreters.stage import stage
from ..primitives.creation import instantiate
from ..programs.hash_consing import ProgramOwner
from ..programs.transform import (
    batch_partly,
    jvp_jaxpr,
    linearize_jaxpr,
)
from ..user_lines import noted
from .applying import AppliesFunction, transposed_call, with_shared
from .call import CallDerivative, call_jaxpr

# (length of the axis, which arguments have it, arguments) -> (results, which results have it)
BatchingRule = Callable[[int, Sequence[bool], Sequence[Value]], tuple[list[Value], list[bool]]]


class CustomVmap(ProgramOwner):
    """A batching rule on leaves. The mapped axis is axis 0."""

    __slots__ = ("name", "pushed_rules", "rule")

    def __init__(self, name: str, rule: BatchingRule) -> None:
        super().__init__()
        self.name, self.rule = name, rule
        self.pushed_rules: dict[Any, CustomVmap] = {}

    def __repr__(self) -> str:
        return f"batching rule of {self.name}"

    def pushed(self, mask: Mask, out_mask: Mask) -> "CustomVmap":
        """The rule of the pushforward: of (primals, active tangents) -> (outputs, tangents).

        Args:
          mask, out_mask: the arguments, and the outputs, that have a tangent.
        """

        def rule(
            size: int, batched: Sequence[bool], args: Sequence[Value]
        ) -> tuple[list[Value], list[bool]]:
            n = len(mask)
            t_batched = [bool(b) for b in scatter_list(batched[n:], mask)]
            which = [p or t for p, t in zip(batched[:n], t_batched, strict=True)]
            primals = with_batch(args[:n], batched[:n], which, size)
            tangents = with_batch(args[n:], batched[n:], active(which, mask), size)
            out_batched: list[bool] = []

            def primal_rule(*xs: Value) -> list[Value]:
                outs, out_batched[:] = self.rule(size, which, xs)
                return outs

            outs, t_outs = jvp(primal_rule, primals, scatter_list(tangents, mask))
            out_tangents = [
                instantiate(t, o.aval)
                for o, t in zip(active(outs, out_mask), active(t_outs, out_mask), strict=True)
            ]
            return [*outs, *out_tangents], [*out_batched, *active(out_batched, out_mask)]

        pushed = CustomVmap(self.name + "_jvp", rule)
        return remember(self.pushed_rules, (mask, out_mask), pushed)  # type: ignore[no-any-return]


class CustomVmapRules(AppliesFunction):
    """A function with a user's batching rule."""

    def batch(
        self,
        args: Sequence[Value],
        batched: Mask,
        axis: Axis,
        *,
        jaxpr: Jaxpr,
        rules: CustomVmap,
        consts: int,
    ) -> list[Value | Shared]:
        if any(batched[:consts]):
            raise noted(
                TypeError(
                    f"custom_vmap: {rules.name} closes over a value that is mapped, which its rule "
                    "does not get\n  fix: pass the value as an argument"
                )
            )
        if any(batched):
            outs, out_batched = rules.rule(axis.size, batched[consts:], args[consts:])
            check_mapped_results(rules.name, outs, out_batched, jaxpr.out_avals, axis.size)
            return with_shared(outs, out_batched)
        mapped, mask = batch_partly(jaxpr, batched, axis)  # it refers to the axis by name
        return with_shared(call_jaxpr(mapped, args), mask)

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, rules: CustomVmap, consts: int
    ) -> tuple[Jaxpr, Mask]:
        pushed, out_mask = jvp_jaxpr(jaxpr, mask)
        if any(mask[:consts]):  # the rule does not get the tangents of constants
            return pushed, out_mask
        params = {
            "jaxpr": pushed.without_consts(),
            "rules": rules.pushed(tuple(mask[consts:]), out_mask),
            "consts": len(pushed.consts) + consts,
        }
        apply = lambda *args: custom_vmap_call(*pushed.consts, *args, **params)  # noqa: E731

        return stage(apply, pushed.in_avals, name=pushed.name), out_mask

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, rules: CustomVmap, consts: int
    ) -> Derivative | None:
        forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
        if not any(out_mask):
            return None
        return CallDerivative(mask, forward, len(jaxpr.outvars), out_mask, linear, {})

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, jaxpr: Jaxpr, **params: object
    ) -> list[Value | None]:
        return transposed_call(call_jaxpr, cts, args, jaxpr)


custom_vmap_call = HigherOrder(
    "custom_vmap_call", "Applies a jaxpr that has its own batching rule.", CustomVmapRules()
)


def check_mapped_results(
    name: str, outs: Sequence[Value], batched: Sequence[bool], avals: Sequence[Aval], size: int
) -> None:
    """Raises an error for results of a rule that do not match the mapped function's results."""
    for i, (o, b, a) in enumerate(zip(outs, batched, avals, strict=True)):
        expected = a.update(shape=(size, *a.shape)) if b else a
        if o.aval.shape != expected.shape or o.aval.dtype != expected.dtype:
            raise noted(
                TypeError(
                    f"custom_vmap: the rule of {name} must return {expected} as leaf {i} of its "
                    f"output, which it marks as {'' if b else 'not '}batched; got {o.aval}\n"
                    "  fix: a batched output has the mapped axis as its axis 0"
                )
            )
