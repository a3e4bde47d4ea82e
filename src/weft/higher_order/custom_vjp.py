"""Functions with a reverse-mode rule of their own, staged: the equation keeps function and rules.

Outside jit such a function simply runs; see `bind_custom` of each trace.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..compiler.lower import lower_jaxpr
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis, HigherOrder
from ..core.source_location import in_backward_pass
from ..core.trace import current
from ..interpreters.batch import repeated
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.structural import instantiate, reduce_sum
from .call import call_jaxpr
from .custom_jvp import axes_in_scope, mapper, refuse_closure, shared_if_same
from .interning import interned
from .jaxprs import batch_jaxpr, depends

custom_vjp_call = HigherOrder("custom_vjp_call", "Applies a jaxpr that has a vjp rule of its own.")
custom_pullback = HigherOrder(
    "custom_pullback", "A linear map of which only the transpose is known, as a jaxpr."
)


class CustomVjp:
    """Rules on leaves.

    Attributes:
      forward: (primals, in which a derivative is asked for) -> (outputs, residuals, the
        residuals' tree).
      backward: (residuals' tree, residuals, cotangents, in_avals) -> a cotangent or `None` for each
        argument. Cotangents are `None` for outputs that aren't inexact.
      named_axes: those in scope, which the rules may refer to.
    """

    keeps_closures = True  # of the user's rules, for as long as a program has them
    __slots__ = ("backward", "forward", "jvp", "name", "named_axes", "programs")

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        named_axes: Any = None,
    ) -> None:
        self.name, self.forward, self.backward = name, forward, backward
        self.jvp = None
        self.named_axes = axes_in_scope() if named_axes is None else named_axes
        self.programs: dict[Any, Any] = {}  # of the function: they die with the rules

    def __repr__(self) -> str:
        return f"vjp of {self.name}"

    def batched(self, batched: Sequence[bool], over: Callable[..., list[Any]]) -> "CustomVjp":
        """The rules for batched arguments.

        Args:
          over: maps a function: (function, args, which are batched) -> outputs, all batched.
        """

        def forward(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
            n_outs = 0
            tree: Any = None

            def flat(*xs: Any) -> list[Any]:
                nonlocal n_outs, tree
                outs, residuals, tree = self.forward(xs, perturbed)
                n_outs = len(outs)
                return [*outs, *residuals]

            results = over(flat, primals, batched)
            return results[:n_outs], results[n_outs:], tree

        def backward(tree: Any, residuals: Any, cts: Any, in_avals: Sequence[Aval]) -> list[Any]:
            there = [ct is not None for ct in cts]
            inner_avals = [
                a.update(shape=a.shape[1:]) if b else a
                for a, b in zip(in_avals, batched, strict=True)
            ]
            nonzero: list[bool] = []

            def flat(*xs: Any) -> list[Any]:
                waiting = iter(xs[len(residuals) :])
                full = [next(waiting) if t else None for t in there]
                results = self.backward(tree, xs[: len(residuals)], full, inner_avals)
                nonzero[:] = [r is not None for r in results]
                return [r for r in results if r is not None]

            given = [*residuals, *[ct for ct in cts if ct is not None]]
            results = iter(over(flat, given, [True] * len(given)))
            full = [next(results) if n else None for n in nonzero]
            return [
                ct if ct is None or b else reduce_sum(ct, axes=(0,))
                for ct, b in zip(full, batched, strict=True)
            ]

        return CustomVjp(self.name, forward, backward, self.named_axes)


def stage_custom_vjp(trace: Any, function: Any, rules: CustomVjp, args: Sequence[Any]) -> Any:
    """Writes a call of the function into the program that `trace` records."""
    jaxpr = stage(function, [a.aval for a in args], name=rules.name, about=function)
    # one program for the function, so that programs around it can be told to be equal
    program, _ = interned(jaxpr.without_consts(), table=rules.programs)
    params = (("jaxpr", program), ("rules", rules), ("consts", len(jaxpr.consts)))
    return current.trace.bind(custom_vjp_call, [*jaxpr.consts, *args], params)


custom_vjp_call.stage_rule = stage_custom_vjp  # type: ignore[attr-defined]


@custom_vjp_call.type
def _(*avals: Aval, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    return jaxpr.out_avals


@custom_vjp_call.execute
def _(args: Any, *, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    return run(jaxpr, args, current.base)


@custom_vjp_call.unfold
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    yield jaxpr, args, range(len(args)), ""


@custom_vjp_call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    return lower_jaxpr(block, jaxpr, operands)


@custom_vjp_call.batch
def _(args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    inner = batch_jaxpr(jaxpr, tuple(batched), axis)
    outs = custom_vjp_call(
        *inner.consts,
        *args,
        jaxpr=inner.without_consts(),
        rules=rules.batched(batched[consts:], mapper(axis)),
        consts=len(inner.consts) + consts,
    )
    return shared_if_same(outs, jaxpr, batched, axis)


@custom_vjp_call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


@custom_vjp_call.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    raise forward_mode(rules.name)


@custom_vjp_call.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, rules: CustomVjp, consts: int) -> Any:
    refuse_closure(rules.name, "custom_vjp", mask[:consts])
    n_outs = 0
    tree: Any = None

    def forward(*args: Any) -> list[Any]:
        nonlocal n_outs, tree
        outs, residuals, tree = rules.forward(args[consts:], mask[consts:])
        n_outs = len(outs)
        return [*outs, *residuals]

    fwd = stage(forward, avals, name=rules.name + "_fwd")
    out_avals = [a.strong() for a in fwd.out_avals[:n_outs]]
    res_avals = fwd.out_avals[n_outs:]
    out_mask = tuple(dtypes.is_inexact(a.dtype) for a in out_avals)
    ct_avals = [a for a, m in zip(out_avals, out_mask, strict=True) if m]
    in_avals = [a.strong() for a, m in zip(avals, mask, strict=True) if m]

    def backward(*args: Any) -> list[Any]:
        waiting = iter(args[len(res_avals) :])
        cts = [next(waiting) if m else None for m in out_mask]
        with in_backward_pass(rules.name):
            results = rules.backward(tree, args[: len(res_avals)], cts, avals[consts:])
        chosen = [r for r, m in zip(results, mask[consts:], strict=True) if m]
        return [instantiate(r, a) for r, a in zip(chosen, in_avals, strict=True)]

    bwd = stage(backward, [*res_avals, *ct_avals], name=rules.name + "_bwd")

    def linear(*args: Any) -> Any:
        residuals, tangents = args[: len(res_avals)], args[len(res_avals) :]
        return custom_pullback(
            *bwd.consts,
            *residuals,
            *tangents,
            jaxpr=bwd.without_consts(),
            outs=tuple(ct_avals),
            name=rules.name,
        )

    lin = stage(linear, [*res_avals, *in_avals], name=rules.name + "_linear")
    if lin.consts:  # constants of the backward rule travel as residuals
        fwd.outvars = [*fwd.outvars, *lin.constvars]
        fwd.constvars, fwd.consts = [*fwd.constvars, *lin.constvars], [*fwd.consts, *lin.consts]
        n = len(res_avals)
        order = [*lin.invars[:n], *lin.constvars, *lin.invars[n:]]
        lin = Jaxpr([], [], order, lin.equations, lin.outvars, lin.name)
    return Derivative(mask, fwd, n_outs, out_mask, lin)


def forward_mode(name: str) -> TypeError:
    """The error for pushing tangents through a function of which only the vjp is known."""
    return TypeError(
        f"{name}: forward-mode differentiation (jvp, jacfwd, linearize) of a custom_vjp function: "
        "only its reverse-mode rule is known\n  fix: use custom_jvp, which serves both modes"
    )


# --- the linear map of which only the transpose is known ---


@custom_pullback.type
def _(*avals: Aval, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    return outs


@custom_pullback.execute
def _(args: Any, *, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    raise forward_mode(name)


@custom_pullback.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    raise forward_mode(name)


@custom_pullback.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    raise forward_mode(name)


@custom_pullback.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    raise forward_mode(name)


@custom_pullback.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    known = [a for a in args if type(a) is not Aval]
    given = [instantiate(ct, a) for ct, a in zip(cts, outs, strict=True)]
    results = iter(call_jaxpr(jaxpr, [*known, *given]))
    return [next(results) if type(a) is Aval else None for a in args]


@custom_pullback.batch
def _(args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, outs: Any, name: str) -> Any:
    n_known = len(jaxpr.invars) - len(outs)
    which = [*batched[:n_known], *[True] * len(outs)]
    inner = batch_jaxpr(jaxpr, tuple(which), axis)
    wide = tuple(a.update(shape=(axis.size, *a.shape)) for a in outs)
    tangents = [
        a if b else repeated(a, axis.size)
        for a, b in zip(args[n_known:], batched[n_known:], strict=True)
    ]
    known = [*inner.consts, *args[:n_known]]
    return custom_pullback(*known, *tangents, jaxpr=inner.without_consts(), outs=wide, name=name)
