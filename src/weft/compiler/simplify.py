"""Eliminates dead code, also in the programs inside equations, and common subexpressions."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..core.array import literal_key
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.masks import Mask, active


def live_equations(
    equations: Sequence[Equation], needed: set[Var], effects: bool = True
) -> list[Equation]:
    """The equations that the needed variables depend on. The variables that they read are added to
    `needed`.

    Equations with `effects` (callbacks, debug prints) are kept. An equation with programs inside
    may lose unused results, and operands that only those results need.
    """
    live = []
    for equation in reversed(equations):
        for v in equation.outvars:
            if v in needed:
                break
        else:
            if not (effects and has_effects(equation)):
                continue
        inside = equation.primitive.inside
        if inside is not None and inside.live_equation is not None:
            equation = inside.live_equation(
                equation, tuple([v in needed for v in equation.outvars])
            )
        live.append(equation)
        for v in equation.inputs:
            if v.__class__ is Var:
                needed.add(v)
    live.reverse()
    return live


@cached_on_program
def live_inputs(jaxpr: Jaxpr, used_outs: Mask) -> Mask:
    """A mask of the inputs that the used outputs and the effects of a program need."""
    needed = {v for v in active(jaxpr.outvars, used_outs) if type(v) is Var}
    live_equations(jaxpr.equations, needed)
    return tuple([v in needed for v in jaxpr.invars])


@cached_on_program
def live_part(jaxpr: Jaxpr, used: Mask, used_outs: Mask) -> Jaxpr:
    """The program from the inputs in `used` to the used outputs, which need only these inputs.
    Returns the program itself if it cannot be reduced.

    Args:
      jaxpr: without constants.
    """
    outvars = active(jaxpr.outvars, used_outs)
    needed = {v for v in outvars if type(v) is Var}
    equations = live_equations(jaxpr.equations, needed)
    same = all(used) and all(used_outs) and len(equations) == len(jaxpr.equations)
    if same and all([a is b for a, b in zip(equations, jaxpr.equations, strict=True)]):
        return jaxpr
    return Jaxpr([], [], active(jaxpr.invars, used), equations, outvars, jaxpr.name)


def live_call(e: Equation, used_outs: Mask) -> Equation:
    """The `live_equation` rule of primitives that apply `jaxpr`."""
    jaxpr: Jaxpr = dict(e.params)["jaxpr"]
    used = live_inputs(jaxpr, used_outs)
    inner = live_part(jaxpr, used, used_outs)
    if inner is jaxpr:
        return e
    return e.replace(active(e.inputs, used), active(e.outvars, used_outs), jaxpr=inner)


def has_effects(equation: Equation) -> bool:
    """True if an equation, or a program inside it, has effects."""
    effects = equation.primitive.effects
    if effects is None:
        return False
    return effects.acts or any(map(jaxpr_has_effects, subjaxprs(equation.params)))


@cached_on_program
def jaxpr_has_effects(jaxpr: Jaxpr) -> bool:
    """True if any equation inside has effects."""
    return any(map(has_effects, jaxpr.equations))


@cached_on_program
def jaxpr_calls_host(jaxpr: Jaxpr) -> bool:
    """True if any equation inside runs Python code on the host."""
    return any(
        effects.calls_host or any(map(jaxpr_calls_host, subjaxprs(e.params)))
        for e in jaxpr.equations
        if (effects := e.primitive.effects) is not None
    )


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """The program for a second run: it has the same outputs and no effects.

    Callbacks stay if the outputs need their results.
    """
    return quiet_jaxpr(jaxpr) if jaxpr_has_effects(jaxpr) else jaxpr


@cached_on_program
def quiet_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """See `without_effects`."""
    needed = {v for v in jaxpr.outvars if type(v) is Var}
    equations = [
        Equation(e.primitive, e.inputs, quiet_params(e.params), e.outvars, e.source)
        if has_effects(e)
        else e
        for e in live_equations(jaxpr.equations, needed, effects=False)
    ]
    return jaxpr.replace(equations=equations)


def quiet_params(params: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """An equation's parameters, with effects removed from the programs in them."""

    def quiet(value: object) -> Any:
        if isinstance(value, Jaxpr):
            return without_effects(value)
        if not isinstance(value, tuple):
            return value
        items = map(quiet, value)
        return value._make(items) if hasattr(value, "_make") else tuple(items)

    return tuple((name, quiet(value)) for name, value in params)


def without_dead_code(jaxpr: Jaxpr) -> tuple[Jaxpr, set[Var]]:
    """The program without equations and constants that its outputs do not need. All inputs stay.

    Returns: the program, and the variables that its equations use.
    """
    needed = {v for v in jaxpr.outvars if type(v) is Var}
    outputs = set(needed)
    equations = live_equations(jaxpr.equations, needed)
    consts = [(v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if v in needed]
    lean = jaxpr.replace(
        constvars=[v for v, _ in consts], consts=[c for _, c in consts], equations=equations
    )
    passed = outputs.intersection([*jaxpr.invars, *jaxpr.constvars])
    if passed:  # an input that is only an output counts as unused
        for e in equations:
            passed.difference_update([v for v in e.inputs if type(v) is Var])
        needed -= passed
    return lean, needed


def called(e: Equation) -> Jaxpr | None:
    """The program of an equation that only applies it, so that the program's equations may replace
    it."""
    inside = e.primitive.inside
    if inside is None or not inside.inlinable:
        return None
    params = dict(e.params)
    jaxpr: Jaxpr = params["jaxpr"]
    return None if params.get("named") or params.get("device") is not None else jaxpr


def calls_of(jaxpr: Jaxpr, counts: Counter[int] | None = None) -> Counter[int]:
    """The number of calls of each function, in a program and in its functions, by identity."""
    counts = Counter() if counts is None else counts
    for e in jaxpr.equations:
        inside = called(e)
        if inside is not None:
            counts[id(inside)] += 1
            if counts[id(inside)] == 1:
                calls_of(inside, counts)
    return counts


def without_single_calls(jaxpr: Jaxpr, min_equations: int) -> Jaxpr:
    """The same program, with calls of functions that are called once replaced by the functions'
    equations.

    XLA inlines these too. Functions that are called more often are compiled once.

    Args:
      min_equations: a program that would be shorter is returned unchanged.
    """
    once = {number for number, count in calls_of(jaxpr).items() if count == 1}
    if not once:
        return jaxpr
    equations: list[Equation] = []
    names: dict[Any, Any] = {}
    for e in jaxpr.equations:
        copy_equation(e, names, e.outvars, equations, once)
    if len(equations) < min_equations:
        return jaxpr
    outvars = [names.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return jaxpr.replace(equations=equations, outvars=outvars)


def copy_equation(
    e: Equation,
    names: dict[Any, Any],
    outvars: Sequence[Var],
    result: list[Equation],
    once: set[int],
) -> None:
    """Appends an equation with its inputs renamed, or the equations of the function that it calls.

    Args:
      names: new variables for old ones; it grows by the results.
      outvars: the equation's results, unless it is a call.
      once: the identities of the functions that are called once.
    """
    inputs = [names.get(v, v) if v.__class__ is Var else v for v in e.inputs]
    inside = called(e)
    if inside is None or id(inside) not in once:
        names.update(zip(e.outvars, outvars, strict=True))
        result.append(e.replace(inputs, outvars))
        return
    inner: dict[Any, Any] = dict(zip(inside.invars, inputs, strict=True))
    for equation in inside.equations:
        copy_equation(equation, inner, [Var(v.aval) for v in equation.outvars], result, once)
    results = [inner.get(v, v) if type(v) is Var else v for v in inside.outvars]
    names.update(zip(e.outvars, results, strict=True))


def without_repetition(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with each repeated equation replaced by its first.

    Equations are equal if their primitives, params and inputs are equal. Equations with effects
    stay.
    """
    same: dict[Var, Any] = {}
    seen: dict[Any, Equation] = {}
    equations: list[Equation] = []
    for e in jaxpr.equations:
        inputs = (
            [same.get(v, v) if v.__class__ is Var else v for v in e.inputs] if same else e.inputs
        )
        values = [v if v.__class__ is Var else literal_key(v) for v in inputs]
        key = (e.primitive, e.params, *values)
        first = seen.setdefault(key, e)
        if first is not e and not has_effects(e):
            same.update(zip(e.outvars, first.outvars, strict=True))
            continue
        equations.append(e if inputs is e.inputs else e.replace(inputs, e.outvars))
    if not same:
        return jaxpr
    outvars = [same.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return jaxpr.replace(equations=equations, outvars=outvars)
