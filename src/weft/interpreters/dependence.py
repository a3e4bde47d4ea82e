"""The dependence of values on inputs, and equations partitioned by it.

Knows jaxprs and the `depends` rule of higher-order primitives; runs nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.array import Array, literal
from ..core.aval import Aval
from ..core.caching import derived
from ..core.jaxpr import Equation, Jaxpr, Var
from ..primitives.structural import broadcast_in_dim


def reached(e: Equation, touched: Sequence[bool], inexact: bool = False) -> Sequence[bool]:
    """A mask of the results of an equation that depend on the inputs in `touched`."""
    rule = e.primitive.depends_rule
    if rule is None:
        return [True] * len(e.outvars)
    return rule(tuple(touched), inexact, **dict(e.params))  # type: ignore[no-any-return]


def dependents(jaxpr: Jaxpr, mask: Sequence[bool], inexact: bool = False) -> set[Var]:
    """The variables that depend on inputs in `mask`; only those with derivatives if `inexact`."""
    found = {v for v, m in zip(jaxpr.invars, mask, strict=True) if m}
    for e in jaxpr.equations:
        touched = [type(v) is Var and v in found for v in e.inputs]
        if True not in touched:
            continue
        found.update(
            v
            for v, r in zip(e.outvars, reached(e, touched, inexact), strict=True)
            if r and (not inexact or v.aval.inexact)
        )
    return found


def partition_equations(jaxpr: Jaxpr, linear: set[Var]) -> Iterator[tuple[Equation, bool]]:
    """The equations in order, each with whether it depends on the variables in `linear`.

    Results that do are added to `linear`. An equation with a program inside of which some results
    do and others don't becomes two: the others don't change if what they don't depend on is zero.
    """
    used: set[Any] | None = None
    for e in jaxpr.equations:
        touched = [type(v) is Var and v in linear for v in e.inputs]
        if True not in touched:
            yield e, False
            continue
        there = reached(e, touched)
        if False in there:
            if used is None:
                used = {v for e in jaxpr.equations for v in e.inputs if type(v) is Var}
                used.update(v for v in jaxpr.outvars if type(v) is Var)
            if any(v in used for v, t in zip(e.outvars, there, strict=True) if not t):
                zeros: list[Equation] = []
                inputs = [
                    zero_atom(v.aval, zeros) if t else v
                    for v, t in zip(e.inputs, touched, strict=True)
                ]
                for zero in zeros:
                    yield zero, False
                yield e.replace(inputs, _only(e.outvars, [not t for t in there])), False
            if True not in there:
                continue
            e = e.replace(e.inputs, _only(e.outvars, there))
        linear.update(v for v, t in zip(e.outvars, there, strict=True) if t)
        yield e, True


@derived
def partition_by_linearity(jaxpr: Jaxpr, mask: tuple[bool, ...]) -> Jaxpr:
    """The same program; all results of an equation depend on the inputs in `mask`, or none do."""
    linear = {v for v, m in zip(jaxpr.invars, mask, strict=True) if m}
    return jaxpr.with_equations([e for e, _ in partition_equations(jaxpr, linear)])


def _only(outvars: Sequence[Var], mask: Sequence[bool]) -> list[Var]:
    """The variables in the mask, with new ones in the place of the others."""
    return [v if m else Var(v.aval) for v, m in zip(outvars, mask, strict=True)]


def zero_atom(aval: Aval, equations: list[Equation]) -> Any:
    """A literal zero, or a variable of zeros with the equation that makes it."""
    zero = Array(literal(0, aval.dtype).host(), aval.update(shape=(), weak_type=False))
    if not aval.ndim:
        return zero
    var = Var(aval.strong())
    params = (("shape", aval.shape), ("dims", ()))
    equations.append(Equation(broadcast_in_dim, [zero], params, (var,)))
    return var
