"""Removes what nothing needs. Knows jaxprs; runs nothing."""

from collections.abc import Sequence
from typing import Any

from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs


def live_equations(
    equations: Sequence[Equation], wanted: set[Var], effects: bool = True
) -> list[Equation]:
    """The equations that the wanted variables depend on; `wanted` grows by what those need.

    Equations of a primitive with `effects` (callbacks, debug prints) are kept.
    """
    kept = []
    for equation in reversed(equations):
        for v in equation.outvars:
            if v in wanted:
                break
        else:
            if not (equation.primitive.may_act and effects and has_effects(equation)):
                continue
        kept.append(equation)
        for v in equation.inputs:
            if v.__class__ is Var:
                wanted.add(v)
    kept.reverse()
    return kept


def acts(equation: Equation, how: str) -> bool:
    """Whether an equation is of a primitive with the flag `how`: itself or in a jaxpr inside."""
    primitive = equation.primitive
    if not primitive.may_act:
        return False
    inside = subjaxprs(equation.params)
    return getattr(primitive, how) or any(jaxpr_acts(j, how) for j in inside)


def jaxpr_acts(jaxpr: Jaxpr, how: str) -> bool:
    """Whether any equation inside acts that way; found once."""
    known = jaxpr.cache.get(how)
    if known is None:
        known = jaxpr.cache[how] = any(acts(e, how) for e in jaxpr.equations)
    return bool(known)


def has_effects(equation: Equation) -> bool:
    """Whether an equation does something besides giving values."""
    return acts(equation, "effects")


def jaxpr_has_effects(jaxpr: Jaxpr) -> bool:
    """Whether any equation inside does something besides giving values."""
    return jaxpr_acts(jaxpr, "effects")


def jaxpr_calls_host(jaxpr: Jaxpr) -> bool:
    """Whether any equation inside runs Python code on the host."""
    return jaxpr_acts(jaxpr, "calls_host")


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """What computes the same outputs, for a program that is run a second time.

    Calls with effects are left out, but for those whose results the outputs need.
    """
    if not jaxpr_has_effects(jaxpr):
        return jaxpr
    quiet = jaxpr.cache.get("without effects")
    if quiet is None:
        wanted = {v for v in jaxpr.outvars if type(v) is Var}
        equations = [
            Equation(e.primitive, e.inputs, quietened(e.params), e.outvars, e.source)
            if has_effects(e)
            else e
            for e in live_equations(jaxpr.equations, wanted, effects=False)
        ]
        quiet = jaxpr.cache["without effects"] = Jaxpr(
            jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, jaxpr.outvars, jaxpr.name
        )
    return quiet


def quietened(params: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """An equation's params with the programs in them without effects."""

    def quiet(value: Any) -> Any:
        if isinstance(value, Jaxpr):
            return without_effects(value)
        return tuple(map(quiet, value)) if isinstance(value, tuple) else value

    return tuple((name, quiet(value)) for name, value in params)


def without_dead_code(jaxpr: Jaxpr) -> tuple[Jaxpr, set[Var]]:
    """The same program without equations and constants that its outputs don't need.

    Inputs stay, needed or not.
    Returns: the program, and the variables that its equations use.
    """
    wanted = {v for v in jaxpr.outvars if type(v) is Var}
    outputs = set(wanted)
    equations = live_equations(jaxpr.equations, wanted)
    consts = [(v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if v in wanted]
    lean = Jaxpr(
        [v for v, _ in consts],
        [c for _, c in consts],
        jaxpr.invars,
        equations,
        jaxpr.outvars,
        jaxpr.name,
    )
    passed = outputs.intersection([*jaxpr.invars, *jaxpr.constvars])
    if passed:  # an output that is an input isn't used by that alone
        for e in equations:
            passed.difference_update([v for v in e.inputs if type(v) is Var])
        wanted -= passed
    return lean, wanted
