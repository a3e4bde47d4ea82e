"""The custom_jvp primitive: a function with a user's forward-mode rule; the equation has both.

Outside jit such a function just runs; see `bind_custom` of each trace.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..config import thread
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.masks import Mask, active, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import Trace, current
from ..core.value import Value
from ..interpreters.batch import WithAux, all_repeated, batch_with_aux, first, with_batch
from ..interpreters.derivative import Derivative, split_jvp
from ..interpreters.stage import closes_over
from ..programs.hash_consing import ProgramOwner
from ..programs.transform import batch_jaxpr, batch_partly, nonzero, stage_pushed
from .applying import AppliesFunction, transposed_call

Tangents = Sequence[Value | None]
JvpRule = Callable[[Sequence[Value], Tangents], tuple[list[Value], list[Value | None]]]
Mapper = Callable[[WithAux[Any], Sequence[Value], Sequence[bool]], tuple[list[Value], Any]]
"""(function, args, which are batched) -> outputs, all batched, and its other results"""


class CustomJvp(ProgramOwner):
    """A jvp rule on leaves: (primals, tangents or `None`) -> (outputs, tangents or `None`).

    `named_axes` are the axes in scope, since the rule may refer to them when it is called.
    """

    keeps_closures = True  # a program keeps the closures of the user's rules alive
    __slots__ = ("jvp", "name", "named_axes")

    def __init__(self, name: str, jvp: JvpRule, named_axes: tuple[Any, ...] | None = None) -> None:
        super().__init__()
        self.name, self.jvp = name, jvp
        self.named_axes = axes_in_scope() if named_axes is None else named_axes

    def __repr__(self) -> str:
        return f"jvp of {self.name}"

    def functions(self) -> tuple[Any, ...]:
        """The functions that the rule consists of."""
        return (self.jvp,)

    def batched(self, batched: Sequence[bool], over: Mapper) -> "CustomJvp":
        """The rule for batched arguments. Tangents are batched where their primals are batched.

        Args:
          over: maps a function over axis 0.
        """

        def rule(
            primals: Sequence[Value], tangents: Tangents
        ) -> tuple[list[Value], list[Value | None]]:
            n, mask = len(primals), [t is not None for t in tangents]

            def pushed(*args: Value) -> tuple[list[Value], list[bool]]:
                outs, t_outs = self.jvp(args[:n], scatter_list(args[n:], mask))
                return [*outs, *nonzero(t_outs)], [t is not None for t in t_outs]

            which = [*batched, *active(batched, mask)]
            results, out_mask = over(pushed, [*primals, *nonzero(tangents)], which)
            n_outs = len(out_mask)
            return results[:n_outs], scatter_list(results[n_outs:], out_mask)

        return CustomJvp(self.name, rule, self.named_axes)


def axes_in_scope() -> tuple[Any, ...]:
    """The names of the axes in scope."""
    return tuple(name for name, _ in thread.axes)


class CustomJvpRules(AppliesFunction):
    """A function with a user's jvp rule."""

    def batch(
        self,
        args: Sequence[Value],
        batched: Mask,
        axis: Axis,
        *,
        jaxpr: Jaxpr,
        rules: CustomJvp,
        consts: int,
    ) -> list[Value | Shared]:
        which = (*[True] * consts, *batched[consts:]) if any(batched[:consts]) else tuple(batched)
        args = with_batch(args, batched, which, axis.size)
        inner = batch_jaxpr(jaxpr, which, axis)
        outs = custom_jvp_call(
            *inner.consts,
            *args,
            jaxpr=inner.without_consts(),
            rules=rules.batched(which[consts:], mapper(axis)),
            consts=len(inner.consts) + consts,
        )
        return shared_if_same(outs, jaxpr, which, axis)

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, rules: CustomJvp, consts: int
    ) -> Derivative | None:
        refuse_closure(rules.name, "custom_jvp", mask[:consts])

        def pushed(
            trace: Trace, primals: Sequence[Value], tangents: Tangents
        ) -> tuple[list[Value], list[Value | None]]:
            return rules.jvp(primals[consts:], tangents[consts:])

        return split_jvp(pushed, avals, mask, True, rules.name)

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, rules: CustomJvp, consts: int
    ) -> tuple[Jaxpr, Mask]:
        refuse_closure(rules.name, "custom_jvp", mask[:consts])

        def pushed(primals: Sequence[Value], tangents: Tangents) -> Any:
            return rules.jvp(primals[consts:], tangents[consts:])

        return stage_pushed(pushed, avals, mask, rules.name)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, **params: Any
    ) -> list[Value | None]:
        return transposed_call(applied, cts, args, **params)


custom_jvp_call = HigherOrder(
    "custom_jvp_call", "Applies a jaxpr that has its own jvp rule.", CustomJvpRules()
)


def shared_if_same(
    outs: Sequence[Value], jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis
) -> list[Value | Shared]:
    """Batched results, with `Shared` for results that are equal for all elements."""
    if axis.name is None:
        return list(outs)
    _, differ = batch_partly(jaxpr, batched, axis)
    return [o if d else Shared(first(o)) for o, d in zip(outs, differ, strict=True)]


def mapper(axis: Axis) -> Mapper:
    """Maps functions over axis 0, for `batched` of custom rules."""

    def over(
        function: WithAux[Any], args: Sequence[Value], batched: Sequence[bool]
    ) -> tuple[list[Value], Any]:
        pairs, aux = batch_with_aux(function, args, batched, axis)
        return all_repeated(pairs, axis.size), aux

    return over


def applied(jaxpr: Jaxpr, args: Sequence[Value], **_: object) -> list[Value]:
    """Applies the function's own program."""
    return run(jaxpr.without_consts(), [*jaxpr.consts, *args], current.trace)


def refuse_closure(name: str, kind: str, mask: Sequence[bool]) -> None:
    """Raises an error if a function with a custom rule closes over a differentiated value."""
    if any(mask):
        raise closes_over(name, kind)
