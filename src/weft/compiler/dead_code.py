"""Removes what nothing needs. Knows jaxprs; runs nothing."""

from collections.abc import Sequence

from ..core.jaxpr import Equation, Jaxpr, Var


def live_equations(
    equations: Sequence[Equation], wanted: set[Var], effects: bool = True
) -> list[Equation]:
    """The equations that the wanted variables depend on; `wanted` grows by what those need.

    Equations of a primitive with `effects` (callbacks, debug prints) are kept.
    """
    kept = []
    for equation in reversed(equations):
        keep = effects and has_effects(equation)
        if not keep:
            for v in equation.outvars:
                if v in wanted:
                    keep = True
                    break
        if keep:
            kept.append(equation)
            wanted.update([v for v in equation.inputs if type(v) is Var])
    kept.reverse()
    return kept


def has_effects(equation: Equation) -> bool:
    """Whether an equation does something besides giving values."""
    primitive = equation.primitive
    if getattr(primitive, "effects", False):
        return True
    if primitive.host_limit == 0 and hasattr(primitive, "execute_rule"):
        from_params = (value for _, value in equation.params)
        for value in from_params:
            jaxprs = value if isinstance(value, tuple) else (value,)
            for inner in jaxprs:
                if isinstance(inner, Jaxpr) and jaxpr_has_effects(inner):
                    return True
    return False


def jaxpr_has_effects(jaxpr: Jaxpr) -> bool:
    """Whether any equation inside does something besides giving values; found once."""
    known = jaxpr.cache.get("effects")
    if known is None:
        known = jaxpr.cache["effects"] = any(has_effects(e) for e in jaxpr.equations)
    return bool(known)


def without_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """The same program without equations and constants that its outputs don't need.

    Inputs stay, needed or not.
    """
    wanted = {v for v in jaxpr.outvars if type(v) is Var}
    equations = live_equations(jaxpr.equations, wanted)
    consts = [(v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if v in wanted]
    return Jaxpr(
        [v for v, _ in consts],
        [c for _, c in consts],
        jaxpr.invars,
        equations,
        jaxpr.outvars,
        jaxpr.name,
    )
