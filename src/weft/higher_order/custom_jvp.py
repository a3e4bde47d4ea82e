"""Functions with a forward-mode rule of their own, staged: the equation keeps function and rule.

Outside jit such a function simply runs; see `bind_custom` of each trace.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.lower import lower_jaxpr
from ..config import thread
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..interpreters.batch import batch, first, repeated
from ..interpreters.derivative import split_jvp
from ..interpreters.stage import closes_over, stage
from .interning import interned
from .jaxprs import batch_jaxpr, batch_partly, depends

custom_jvp_call = HigherOrder("custom_jvp_call", "Applies a jaxpr that has a jvp rule of its own.")

Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJvp:
    """A jvp rule on leaves: (primals, tangents or `None`) -> (outputs, tangents or `None`).

    `named_axes` are those in scope: the rule may refer to them, and what it does isn't known before
    it is called.
    """

    keeps_closures = True  # of the user's rules, for as long as a program has them
    __slots__ = ("jvp", "name", "named_axes", "programs")

    def __init__(self, name: str, jvp: Rule, named_axes: Any = None) -> None:
        self.name, self.jvp = name, jvp
        self.named_axes = axes_in_scope() if named_axes is None else named_axes
        self.programs: dict[Any, Any] = {}  # of the function: they die with the rules

    def __repr__(self) -> str:
        return f"jvp of {self.name}"

    def batched(self, batched: Sequence[bool], over: Callable[..., list[Any]]) -> "CustomJvp":
        """The rule for batched arguments; tangents are batched where their primals are.

        Args:
          over: maps a function: (function, args, which are batched) -> outputs, all batched.
        """

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            there = [t is not None for t in tangents]
            given = [t for t in tangents if t is not None]
            out_there: list[bool] = []

            def flat(*args: Any) -> list[Any]:
                waiting = iter(args[len(primals) :])
                full = [next(waiting) if t else None for t in there]
                outs, t_outs = self.jvp(args[: len(primals)], full)
                out_there[:] = [t is not None for t in t_outs]
                return [*outs, *[t for t in t_outs if t is not None]]

            which = [*batched, *[b for b, t in zip(batched, there, strict=True) if t]]
            results = over(flat, [*primals, *given], which)
            n = len(out_there)
            waiting = iter(results[n:])
            return results[:n], [next(waiting) if t else None for t in out_there]

        return CustomJvp(self.name, rule, self.named_axes)


def axes_in_scope() -> tuple[Any, ...]:
    """The names of the axes that collectives may refer to here."""
    return tuple(name for name, _ in thread.axes)


def stage_custom_jvp(trace: Any, function: Any, rules: CustomJvp, args: Sequence[Any]) -> Any:
    """Writes a call of the function into the program that `trace` records."""
    jaxpr = stage(function, [a.aval for a in args], name=rules.name, about=function)
    # one program for the function, so that programs around it can be told to be equal
    program, _ = interned(jaxpr.without_consts(), table=rules.programs)
    params = (("jaxpr", program), ("rules", rules), ("consts", len(jaxpr.consts)))
    # not `trace`: what the function closes over may belong to transformations inside it
    return current.trace.bind(custom_jvp_call, [*jaxpr.consts, *args], params)


custom_jvp_call.stage_rule = stage_custom_jvp  # type: ignore[attr-defined]


@custom_jvp_call.type
def _(*avals: Aval, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    return jaxpr.out_avals


@custom_jvp_call.execute
def _(args: Any, *, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    return run(jaxpr, args, current.base)


@custom_jvp_call.unfold
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    yield jaxpr, args, range(len(args)), ""


@custom_jvp_call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    return lower_jaxpr(block, jaxpr, operands)


@custom_jvp_call.batch
def _(args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    which = (*[True] * consts, *batched[consts:]) if any(batched[:consts]) else tuple(batched)
    args = [
        a if b or not w else repeated(a, axis.size)
        for a, b, w in zip(args, batched, which, strict=True)
    ]
    inner = batch_jaxpr(jaxpr, which, axis)
    outs = custom_jvp_call(
        *inner.consts,
        *args,
        jaxpr=inner.without_consts(),
        rules=rules.batched(which[consts:], mapper(axis)),
        consts=len(inner.consts) + consts,
    )
    return shared_if_same(outs, jaxpr, which, axis)


def shared_if_same(outs: Any, jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis) -> list[Any]:
    """Batched results; those that are the same for all elements of a named axis once."""
    if axis.name is None:
        return list(outs)
    _, differ = batch_partly(jaxpr, batched, axis)
    return [o if d else Shared(first(o)) for o, d in zip(outs, differ, strict=True)]


def mapper(axis: Axis) -> Callable[..., list[Any]]:
    """What `batched` of custom rules maps functions with."""
    return lambda function, args, batched: batch(function, args, batched, axis)


@custom_jvp_call.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


@custom_jvp_call.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    refuse_closure(rules.name, "custom_jvp", mask[:consts])

    def pushed(trace: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return rules.jvp(primals[consts:], tangents[consts:])

    return split_jvp(pushed, avals, mask, True, rules.name)


@custom_jvp_call.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, rules: CustomJvp, consts: int) -> Any:
    refuse_closure(rules.name, "custom_jvp", mask[:consts])
    out_mask: tuple[bool, ...] = ()

    def pushed(*args: Any) -> list[Any]:
        nonlocal out_mask
        n = len(mask)
        waiting = iter(args[n:])
        tangents = [next(waiting) if m else None for m in mask]
        outs, t_outs = rules.jvp(args[consts:n], tangents[consts:])
        out_mask = tuple(t is not None for t in t_outs)
        return [*outs, *[t for t in t_outs if t is not None]]

    tangent_avals = [a.strong() for a, m in zip(avals, mask, strict=True) if m]
    jaxpr = stage(pushed, [*avals, *tangent_avals], name=rules.name + "_jvp")
    return jaxpr.without_consts() if not jaxpr.consts else jaxpr, out_mask


def refuse_closure(name: str, kind: str, mask: Sequence[bool]) -> None:
    """A function with a custom rule can't close over what is being differentiated."""
    if any(mask):
        raise closes_over(name, kind)
