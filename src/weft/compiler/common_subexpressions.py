"""Computes once what a program computes twice. Knows jaxprs; runs nothing."""

from typing import Any

from ..core.jaxpr import Equation, Jaxpr, Var
from .dead_code import has_effects


def without_repetition(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with each repeated equation replaced by its first.

    Equations are equal if their primitive, params and inputs are. Those with effects stay.
    """
    same: dict[Var, Any] = {}
    seen: dict[Any, Equation] = {}
    equations: list[Equation] = []
    for e in jaxpr.equations:
        inputs = [same.get(v, v) if type(v) is Var else v for v in e.inputs] if same else e.inputs
        key = (
            e.primitive,
            e.params,
            *[v if type(v) is Var else (v.aval, v.host().tobytes()) for v in inputs],
        )
        first = seen.get(key)
        if first is not None and not has_effects(e):
            same.update(zip(e.outvars, first.outvars, strict=True))
            continue
        if inputs is not e.inputs:
            e = e.replace(inputs, e.outvars)
        seen[key] = e
        equations.append(e)
    if not same:
        return jaxpr
    outvars = [same.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, outvars, jaxpr.name)
