"""Removes what nothing needs, in the programs inside equations too, and computes once what a
program computes twice. Knows jaxprs; runs nothing.
"""

from collections.abc import Sequence
from typing import Any

from ..core.caching import derived
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.masks import Mask, active


def live_equations(
    equations: Sequence[Equation], wanted: set[Var], effects: bool = True
) -> list[Equation]:
    """The equations that the wanted variables depend on; `wanted` grows by what those need.

    Equations of a primitive with `effects` (callbacks, debug prints) are kept. One with programs
    inside may come without the results that nothing wants, and what only those need.
    """
    kept = []
    for equation in reversed(equations):
        for v in equation.outvars:
            if v in wanted:
                break
        else:
            if not (effects and has_effects(equation)):
                continue
        inside = equation.primitive.inside
        if inside is not None and inside.keep_live is not None:
            equation = inside.keep_live(equation, tuple([v in wanted for v in equation.outvars]))
        kept.append(equation)
        for v in equation.inputs:
            if v.__class__ is Var:
                wanted.add(v)
    kept.reverse()
    return kept


@derived
def live_inputs(jaxpr: Jaxpr, wanted: Mask) -> Mask:
    """The inputs that the wanted outputs and effects of a program need, as a mask."""
    needed = {v for v in active(jaxpr.outvars, wanted) if type(v) is Var}
    live_equations(jaxpr.equations, needed)
    return tuple([v in needed for v in jaxpr.invars])


@derived
def live_part(jaxpr: Jaxpr, used: Mask, wanted: Mask) -> Jaxpr:
    """The program of the inputs in `used` to the wanted outputs, which need no other inputs; itself
    if there is nothing to leave out.

    Args:
      jaxpr: without constants.
    """
    outvars = active(jaxpr.outvars, wanted)
    needed = {v for v in outvars if type(v) is Var}
    equations = live_equations(jaxpr.equations, needed)
    same = all(used) and all(wanted) and len(equations) == len(jaxpr.equations)
    if same and all([a is b for a, b in zip(equations, jaxpr.equations, strict=True)]):
        return jaxpr
    return Jaxpr([], [], active(jaxpr.invars, used), equations, outvars, jaxpr.name)


def live_call(e: Equation, wanted: Mask) -> Equation:
    """The `keep_live` rule of primitives that apply `jaxpr`."""
    jaxpr: Jaxpr = dict(e.params)["jaxpr"]
    used = live_inputs(jaxpr, wanted)
    inner = live_part(jaxpr, used, wanted)
    if inner is jaxpr:
        return e
    return e.replace(active(e.inputs, used), active(e.outvars, wanted), jaxpr=inner)


def has_effects(equation: Equation) -> bool:
    """True if an equation does something besides computing its results, itself or inside."""
    effects = equation.primitive.effects
    if effects is None:
        return False
    return effects.acts or any(map(jaxpr_has_effects, subjaxprs(equation.params)))


@derived
def jaxpr_has_effects(jaxpr: Jaxpr) -> bool:
    """True if any equation inside has effects."""
    return any(map(has_effects, jaxpr.equations))


@derived
def jaxpr_calls_host(jaxpr: Jaxpr) -> bool:
    """True if any equation inside runs Python code on the host."""
    return any(
        effects.calls_host or any(map(jaxpr_calls_host, subjaxprs(e.params)))
        for e in jaxpr.equations
        if (effects := e.primitive.effects) is not None
    )


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """A program that computes the same outputs, to be run a second time.

    Calls with effects are left out, unless the outputs need their results.
    """
    return quiet_jaxpr(jaxpr) if jaxpr_has_effects(jaxpr) else jaxpr


@derived
def quiet_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """See `without_effects`."""
    wanted = {v for v in jaxpr.outvars if type(v) is Var}
    equations = [
        Equation(e.primitive, e.inputs, quiet_params(e.params), e.outvars, e.source)
        if has_effects(e)
        else e
        for e in live_equations(jaxpr.equations, wanted, effects=False)
    ]
    return jaxpr.replace(equations=equations)


def quiet_params(params: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """An equation's parameters with the programs in them without effects."""

    def quiet(value: object) -> Any:
        if isinstance(value, Jaxpr):
            return without_effects(value)
        if not isinstance(value, tuple):
            return value
        items = map(quiet, value)
        return value._make(items) if hasattr(value, "_make") else tuple(items)

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
    lean = jaxpr.replace(
        constvars=[v for v, _ in consts], consts=[c for _, c in consts], equations=equations
    )
    passed = outputs.intersection([*jaxpr.invars, *jaxpr.constvars])
    if passed:  # an output that is an input isn't used by that alone
        for e in equations:
            passed.difference_update([v for v in e.inputs if type(v) is Var])
        wanted -= passed
    return lean, wanted


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
    return jaxpr.replace(equations=equations, outvars=outvars)
