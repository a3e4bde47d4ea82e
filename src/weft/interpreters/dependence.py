"""Finds the values that depend on given inputs of a program, and splits its equations
accordingly."""

from collections.abc import Sequence
from typing import Any

from ..core.array import Array, literal
from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.masks import active, inactive
from ..primitives.structural import broadcast_in_dim


def reached(e: Equation, touched: Sequence[bool], inexact: bool = False) -> Sequence[bool]:
    """A mask of the results of an equation that depend on the inputs in `touched`."""
    inside = e.primitive.inside
    if inside is None or inside.depends is None:
        return [True] * len(e.outvars)
    return inside.depends(tuple(touched), inexact, **dict(e.params))


def dependents(jaxpr: Jaxpr, mask: Sequence[bool], inexact: bool = False) -> set[Var]:
    """The variables that depend on inputs in `mask`. If `inexact`, only variables that have
    derivatives."""
    dependent = set(active(jaxpr.invars, mask))
    for e in jaxpr.equations:
        touched = [type(v) is Var and v in dependent for v in e.inputs]
        if True not in touched:
            continue
        for v, r in zip(e.outvars, reached(e, touched, inexact), strict=True):
            if r and (not inexact or v.aval.inexact):
                dependent.add(v)
    return dependent


def partition_equations(jaxpr: Jaxpr, linear: set[Var]) -> list[tuple[Equation, bool]]:
    """The equations in order, each with a boolean: whether it depends on the variables in `linear`.

    Dependent results are added to `linear`. If only some results of an equation with a program
    inside depend, it becomes two equations: see `parted`.
    """
    parts: list[tuple[Equation, bool]] = []
    for e in jaxpr.equations:
        for v in e.inputs:
            if v.__class__ is Var and v in linear:
                break
        else:
            parts.append((e, False))
            continue
        if e.primitive.inside is None:
            linear.update(e.outvars)
            parts.append((e, True))
        else:
            parts += parted(e, linear, jaxpr)
    return parts


def parted(e: Equation, linear: set[Var], jaxpr: Jaxpr) -> list[tuple[Equation, bool]]:
    """Splits an equation with a program inside. The first part computes the results that do not
    depend on `linear`, with zeros for the others; the second part computes the dependent results.
    Each part is included if it is needed."""
    touched = [type(v) is Var and v in linear for v in e.inputs]
    depends = reached(e, touched)
    parts: list[tuple[Equation, bool]] = []
    if False in depends:
        if not used_variables(jaxpr).isdisjoint(inactive(e.outvars, depends)):
            zeros: list[Equation] = []
            inputs = [
                zero_atom(v.aval, zeros) if t else v for v, t in zip(e.inputs, touched, strict=True)
            ]
            parts += [(zero, False) for zero in zeros]
            parts.append((e.replace(inputs, _only(e.outvars, [not t for t in depends])), False))
        if True not in depends:
            return parts
        e = e.replace(e.inputs, _only(e.outvars, depends))
    linear.update(active(e.outvars, depends))
    return [*parts, (e, True)]


@cached_on_program
def used_variables(jaxpr: Jaxpr) -> set[Any]:
    """The variables that the program's equations or outputs use."""
    used = {v for e in jaxpr.equations for v in e.inputs if type(v) is Var}
    used.update(v for v in jaxpr.outvars if type(v) is Var)
    return used


@cached_on_program
def partition_by_linearity(jaxpr: Jaxpr, mask: tuple[bool, ...]) -> Jaxpr:
    """The same program, changed so that either all results of an equation depend on the inputs in
    `mask`, or none do."""
    linear = {v for v, m in zip(jaxpr.invars, mask, strict=True) if m}
    return jaxpr.replace(equations=[e for e, _ in partition_equations(jaxpr, linear)])


def _only(outvars: Sequence[Var], mask: Sequence[bool]) -> list[Var]:
    """The variables in the mask; new variables replace the others."""
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
