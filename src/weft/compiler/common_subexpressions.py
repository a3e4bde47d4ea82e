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
        inputs = (
            [same.get(v, v) if v.__class__ is Var else v for v in e.inputs] if same else e.inputs
        )
        # a literal is the same if it is the same object: Python scalars' are kept and shared
        key = (e.primitive, e.params, *[v if v.__class__ is Var else id(v) for v in inputs])
        first = seen.setdefault(key, e)
        if first is not e and not has_effects(e):
            same.update(zip(e.outvars, first.outvars, strict=True))
            continue
        equations.append(e if inputs is e.inputs else e.replace(inputs, e.outvars))
    if not same:
        return jaxpr
    outvars = [same.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, outvars, jaxpr.name)
