"""Removes what nothing needs. Knows jaxprs; runs nothing."""

from collections.abc import Sequence

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


def has_effects(equation: Equation) -> bool:
    """Whether an equation does something besides giving values: itself or in a jaxpr inside."""
    primitive = equation.primitive
    if not primitive.may_act:
        return False
    return primitive.effects or any(map(jaxpr_has_effects, subjaxprs(equation.params)))


def jaxpr_has_effects(jaxpr: Jaxpr) -> bool:
    """Whether any equation inside does something besides giving values; found once."""
    known = jaxpr.cache.get("effects")
    if known is None:
        known = jaxpr.cache["effects"] = any(has_effects(e) for e in jaxpr.equations)
    return bool(known)


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
