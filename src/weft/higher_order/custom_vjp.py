"""The custom_vjp primitive: a function with user's reverse-mode rules; the equation has them.

Outside jit such a function just runs; see `bind_custom` of each trace.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..core.array import Array
from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Jaxpr
from ..core.masks import Mask, active, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.program_inside import ProgramInside
from ..core.source_location import in_backward_pass
from ..core.trace import Trace, current
from ..core.value import Value
from ..errors import DerivativeError
from ..interpreters.batch import all_repeated, batch
from ..interpreters.derivative import Derivative, derivative_on, split_jvp
from ..interpreters.stage import stage, stage_with_aux
from ..primitives.creation import instantiate
from ..primitives.structural import reduce_sum
from ..programs.hash_consing import ProgramOwner
from ..programs.transform import (
    batch_jaxpr,
    nonzero,
    not_linear,
)
from ..stablehlo import Block, Operand
from .applying import AppliesFunction
from .call import call_jaxpr
from .custom_jvp import Mapper, axes_in_scope, mapper, refuse_closure, shared_if_same


class CustomVjp(ProgramOwner):
    """Rules on leaves.

    Attributes:
      forward: (primals, a mask of primals that need a cotangent) -> (outputs, residuals, their
        tree).
      backward: (tree of the residuals, residuals, cotangents, in_avals) -> a cotangent or `None`
        for each argument. Cotangents are `None` for outputs that are not inexact.
      named_axes: the axes in scope, to which the rules may refer.
    """

    keeps_closures = True  # a program keeps the closures of the user's rules alive
    __slots__ = ("backward", "forward", "jvp", "name", "named_axes")

    def __init__(
        self,
        name: str,
        forward: Callable[..., tuple[list[Value], list[Value], Any]],
        backward: Callable[..., list[Value | None]],
        named_axes: tuple[Any, ...] | None = None,
    ) -> None:
        super().__init__()
        self.name, self.forward, self.backward = name, forward, backward
        self.jvp = None
        self.named_axes = axes_in_scope() if named_axes is None else named_axes

    def __repr__(self) -> str:
        return f"vjp of {self.name}"

    def functions(self) -> tuple[Any, ...]:
        """The functions that the rules consist of."""
        return (self.forward, self.backward)

    def forward_mode(self) -> TypeError:
        """The error for pushing tangents through the function."""
        return forward_mode(self.name)

    def batched(self, batched: Sequence[bool], over: Mapper) -> "CustomVjp":
        """The rules for batched arguments.

        Args:
          over: maps a function over axis 0.
        """

        def forward(
            primals: Sequence[Value], perturbed: Sequence[bool]
        ) -> tuple[list[Value], list[Value], Any]:
            def one(*xs: Value) -> tuple[list[Value], tuple[int, Any]]:
                outs, residuals, tree = self.forward(xs, perturbed)
                return [*outs, *residuals], (len(outs), tree)

            results, (n_outs, tree) = over(one, primals, batched)
            return results[:n_outs], results[n_outs:], tree

        def backward(
            tree: object,
            residuals: Sequence[Value],
            cts: Sequence[Value | None],
            in_avals: Sequence[Aval],
        ) -> list[Value | None]:
            ct_mask = [ct is not None for ct in cts]
            inner_avals = [
                a.update(shape=a.shape[1:]) if b else a
                for a, b in zip(in_avals, batched, strict=True)
            ]

            def one(*xs: Value) -> tuple[list[Value], list[bool]]:
                n = len(residuals)
                results = self.backward(tree, xs[:n], scatter_list(xs[n:], ct_mask), inner_avals)
                return nonzero(results), [r is not None for r in results]

            operands = [*residuals, *nonzero(cts)]
            results, out_mask = over(one, operands, [True] * len(operands))
            return [
                ct if ct is None or b else reduce_sum(ct, axes=(0,))
                for ct, b in zip(scatter_list(results, out_mask), batched, strict=True)
            ]

        return CustomVjp(self.name, forward, backward, self.named_axes)


class BackwardRule(ProgramOwner):
    """A backward rule at one signature, traced when a transposition first needs it.

    Many derivatives are never transposed, because they only show a function's outputs and
    dependences. If each of them traced the rule, rules nested n deep would be traced 2ⁿ times.

    Attributes:
      function: (residuals, cotangents) -> cotangents of the arguments.
      residuals, cotangents: the avals of its arguments.
      named_axes: the axes in scope, to which the rule may refer.
    """

    keeps_closures = True  # a program keeps the closures of the user's rule alive
    __slots__ = ("cached_results", "cotangents", "function", "name", "named_axes", "residuals")

    def __init__(
        self,
        name: str,
        function: Callable[..., list[Value]],
        residuals: Sequence[Aval],
        cotangents: Sequence[Aval],
        named_axes: tuple[Any, ...],
    ) -> None:
        super().__init__()
        self.name, self.function, self.named_axes = name, function, named_axes
        self.residuals, self.cotangents = tuple(residuals), tuple(cotangents)
        self.cached_results: dict[Any, dict[Any, Any]] = {}

    def __repr__(self) -> str:
        return f"backward rule of {self.name}"

    def functions(self) -> tuple[Any, ...]:
        """The functions that the rule consists of."""
        return (self.function,)

    def batched(self, batched: Sequence[bool], axis: Axis) -> "BackwardRule":
        """The rule for batched cotangents and residuals, some of which are batched."""
        which = [*batched, *[True] * len(self.cotangents)]

        def function(*args: Value) -> list[Value]:
            return batch(self.function, args, which, axis)

        def with_axis(a: Aval) -> Aval:
            return a.update(shape=(axis.size, *a.shape))

        residuals = [with_axis(a) if b else a for a, b in zip(self.residuals, batched, strict=True)]
        cotangents = list(map(with_axis, self.cotangents))
        return BackwardRule(self.name, function, residuals, cotangents, self.named_axes)


@cached_on_program
def backward_program(rule: BackwardRule) -> Jaxpr:
    """The program of a backward rule."""
    avals = [*rule.residuals, *rule.cotangents]
    return stage(rule.function, avals, name=rule.name + "_bwd")


class CustomVjpRules(AppliesFunction):
    """A function with a user's vjp rule."""

    def batch(
        self,
        args: Sequence[Value],
        batched: Mask,
        axis: Axis,
        *,
        jaxpr: Jaxpr,
        rules: CustomVjp,
        consts: int,
    ) -> list[Value | Shared]:
        inner = batch_jaxpr(jaxpr, tuple(batched), axis)
        outs = custom_vjp_call(
            *inner.consts,
            *args,
            jaxpr=inner.without_consts(),
            rules=rules.batched(batched[consts:], mapper(axis)),
            consts=len(inner.consts) + consts,
        )
        return shared_if_same(outs, jaxpr, batched, axis)

    def pushforward(self, mask: Mask, avals: Sequence[Aval], **params: Any) -> tuple[Jaxpr, Mask]:
        # the linear map raises an error when it runs; transposed, it is the user's rule
        derivative = derivative_on(
            params["jaxpr"], custom_vjp_call, tuple(params.items()), mask, tuple(avals)
        )

        def pushed(*args: Value) -> list[Value]:
            trace, n = current.trace, derivative.outs
            results = derivative.forward.run(args[: len(mask)], trace)
            return [*results[:n], *derivative.push(results[n:], args[len(mask) :], trace)]

        tangents = [a.strong() for a in active(avals, mask)]
        return stage(pushed, [*avals, *tangents], name="vjp_pushed"), derivative.out_mask

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, rules: CustomVjp, consts: int
    ) -> Derivative:
        """The outputs and residuals of the forward rule, and the linear map with the backward
        rule."""
        refuse_closure(rules.name, "custom_vjp", mask[:consts])

        def forward(*args: Value) -> tuple[list[Value], tuple[int, Any]]:
            outs, residuals, tree = rules.forward(args[consts:], mask[consts:])
            return [*outs, *residuals], (len(outs), tree)

        fwd, (n_outs, tree) = stage_with_aux(forward, avals, name=rules.name + "_fwd")
        out_avals = [a.strong() for a in fwd.out_avals[:n_outs]]
        res_avals = fwd.out_avals[n_outs:]
        out_mask = tuple(a.inexact for a in out_avals)
        ct_avals = active(out_avals, out_mask)
        in_avals = [a.strong() for a in active(avals, mask)]

        def backward(*args: Value) -> list[Value]:
            residuals, cts = args[: len(res_avals)], scatter_list(args[len(res_avals) :], out_mask)
            with in_backward_pass(rules.name):
                results = rules.backward(tree, residuals, cts, avals[consts:])
            chosen = active(results, mask[consts:])
            return [instantiate(r, a) for r, a in zip(chosen, in_avals, strict=True)]

        rule = BackwardRule(rules.name, backward, res_avals, ct_avals, rules.named_axes)

        def linear(*args: Value) -> list[Value]:
            return custom_pullback(*args, rule=rule)

        lin = stage(linear, [*res_avals, *in_avals], name=rules.name + "_linear")
        return Derivative(mask, fwd, n_outs, out_mask, lin)


custom_vjp_call = HigherOrder(
    "custom_vjp_call", "Applies a jaxpr that has its own vjp rule.", CustomVjpRules()
)


def forward_mode(name: str) -> TypeError:
    """The error for forward mode through a function that has only a vjp rule."""
    return DerivativeError(
        f"{name}: forward-mode differentiation (jvp, jacfwd, linearize) of a custom_vjp function: "
        "only its reverse-mode rule is known\n  fix: use custom_jvp, which serves both modes"
    )


class PullbackRules(ProgramInside):
    """A linear map that is known only by its transpose."""

    def type(self, *avals: Aval, rule: BackwardRule) -> tuple[Aval, ...]:
        return rule.cotangents

    def execute(self, args: Sequence[Array], *, rule: BackwardRule) -> NoReturn:
        raise forward_mode(rule.name)

    def lower(
        self, block: Block, *operands: Operand, out: Sequence[Aval], rule: BackwardRule
    ) -> NoReturn:
        raise forward_mode(rule.name)

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, rule: BackwardRule
    ) -> Derivative | None:
        n_known = len(rule.residuals)
        if any(mask[:n_known]):
            raise forward_mode(rule.name)

        def pushed(
            trace: Trace, args: Sequence[Value], tangents: Sequence[Value | None]
        ) -> tuple[list[Value], list[Value]]:
            pairs = zip(tangents[n_known:], avals[n_known:], strict=True)
            full = [instantiate(t, a) for t, a in pairs]
            outs: list[Value] = custom_pullback(*args, rule=rule)
            return outs, custom_pullback(*args[:n_known], *full, rule=rule)

        return split_jvp(pushed, avals, mask, True, rule.name)

    def pushforward(self, mask: Mask, avals: Sequence[Aval], *, rule: BackwardRule) -> NoReturn:
        raise forward_mode(rule.name)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, rule: BackwardRule
    ) -> list[Value | None]:
        n_known = len(rule.residuals)
        full = [instantiate(ct, a) for ct, a in zip(cts, rule.cotangents, strict=True)]
        results = call_jaxpr(backward_program(rule), [*not_linear(args[:n_known]), *full])
        # a tangent may be known to be zero
        pairs = zip(results, args[n_known:], strict=True)
        return [*[None] * n_known, *[r if type(a) is Aval else None for r, a in pairs]]

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, *, rule: BackwardRule
    ) -> list[Value]:
        n_known = len(rule.residuals)
        pairs = [*zip(args, batched, strict=True)]
        tangents = all_repeated(pairs[n_known:], axis.size)
        batched_rule = rule.batched(batched[:n_known], axis)
        return custom_pullback(*args[:n_known], *tangents, rule=batched_rule)

    def depends(self, mask: Mask, inexact: bool, *, rule: BackwardRule) -> Mask:
        return (True,) * len(rule.cotangents)


custom_pullback = HigherOrder(
    "custom_pullback",
    "A linear map that is known only by its transpose, a backward rule.",
    PullbackRules(),
)
