"""Partial evaluation under a `checkpoint` policy: splits a program into a known and a remat part.

The known part runs now and saves the values that the policy names. The rematerialised part
recomputes the other values from the inputs and the saved values. The policy decides about every
first-order operation, including those inside calls, branches, scans and maps. The results of
operations with effects are always saved, so that such an operation runs once.

Higher-order primitives split themselves by their `partial_eval` rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..compiler.simplify import has_effects
from ..core.caching import cached_on_program
from ..core.jaxpr import Atom, Equation, Jaxpr, Var, subjaxprs
from ..core.masks import Mask, active

Policy = Callable[..., bool]


class JaxprParts(NamedTuple):
    """A program in two parts.

    Attributes:
      known: inputs -> outputs, then residuals that are not outputs.
      residuals: the numbers of the residuals among the outputs of `known`.
      remat: (the inputs in `used`, the residuals) -> the used outputs.
      used: numbers of inputs.
    """

    known: Jaxpr
    residuals: tuple[int, ...]
    remat: Jaxpr
    used: tuple[int, ...]


class EquationParts(NamedTuple):
    """An equation in two parts: the known one, whose results include the residuals, and the
    rematerialised one, which uses them."""

    known: Equation
    residuals: Sequence[Var]
    remat: Equation


def partial_eval_jaxpr(
    jaxpr: Jaxpr, used_outs: Mask, policy: Policy | None, reusable: Mask | None = None
) -> JaxprParts:
    """Splits a program into a part to run now and a part that recomputes the used outputs.

    Args:
      jaxpr: without constants.
      used_outs: a mask of the outputs to recompute.
      policy: `policy(primitive, *avals, **params)` returns whether to save the results. Without a
        policy, only results of operations with effects are saved.
      reusable: a mask of the outputs that can serve as residuals; by default all.
    """
    if reusable is None:
        reusable = (True,) * len(jaxpr.outvars)
    return _partial_eval_jaxpr(jaxpr, used_outs, policy, reusable)


@cached_on_program
def _partial_eval_jaxpr(
    jaxpr: Jaxpr, used_outs: Mask, policy: Policy | None, reusable: Mask
) -> JaxprParts:
    outs = active(jaxpr.outvars, used_outs)
    needed = {v for v in outs if type(v) is Var}
    residuals: dict[Var, None] = {}  # an ordered set
    known_equations: list[Equation] = []
    remat: list[Equation] = []
    for e in reversed(jaxpr.equations):
        here = [v in needed for v in e.outvars]
        saved = [h and s for h, s in zip(here, saved_outputs(e, policy), strict=True)]
        residuals.update(dict.fromkeys(active(e.outvars, saved)))
        residual_mask = tuple(h and not s for h, s in zip(here, saved, strict=True))
        again = e
        if True in residual_mask:
            if (split := parting(e)) is not None:
                e, inside, again = split(e, residual_mask, policy)
                residuals.update(dict.fromkeys(inside))
            needed.update(v for v in again.inputs if type(v) is Var)
            remat.append(again)
        known_equations.append(e)
    used = tuple(i for i, v in enumerate(jaxpr.invars) if v in needed)
    results = list(jaxpr.outvars)
    numbers = {v: i for i, v in enumerate(results) if type(v) is Var and reusable[i]}
    for v in residuals:
        if v not in numbers:
            numbers[v] = len(results)
            results.append(v)
    inputs = [*[jaxpr.invars[i] for i in used], *residuals]
    return JaxprParts(
        Jaxpr([], [], jaxpr.invars, known_equations[::-1], results, jaxpr.name),
        tuple(numbers[v] for v in residuals),
        Jaxpr([], [], inputs, remat[::-1], outs, jaxpr.name),
        used,
    )


def parting(e: Equation) -> Callable[..., EquationParts] | None:
    """The rule that splits an equation; `None` if it cannot be split."""
    inside = e.primitive.inside
    return None if inside is None else inside.partial_eval


def saved_outputs(e: Equation, policy: Policy | None) -> Mask:
    """A mask of the outputs of an equation that are saved unchanged."""
    acts = has_effects(e)
    if policy is None and not acts:
        return (False,) * len(e.outvars)
    if parting(e) is None:
        save = acts or saves(e, policy)
        return (bool(save),) * len(e.outvars)
    # a call's output if it is saved inside; a `cond`'s output if it is saved in all branches
    masks = [saved_inside(j, policy) for j in subjaxprs(e.params)]
    return tuple(all(m) for m in zip(*masks, strict=True))


def saves(e: Equation, policy: Policy | None) -> bool:
    """True if a policy names an equation that cannot be split, or an operation inside it.

    Values inside a while loop cannot be saved, since the number of steps is unknown. Values inside
    a function with its own derivative rules cannot be saved either. The results of the loop or
    function are saved instead, so that no value that the policy names is computed twice.
    """
    if policy is None:
        return False
    if policy(e.primitive, *[v.aval for v in e.inputs], **dict(e.params)):
        return True
    return any(saves_inside(j, policy) for j in subjaxprs(e.params))


@cached_on_program
def saves_inside(jaxpr: Jaxpr, policy: Policy) -> bool:
    """True if a policy names any operation of a program."""
    return any(saves(e, policy) for e in jaxpr.equations)


@cached_on_program
def saved_inside(jaxpr: Jaxpr, policy: Policy | None) -> Mask:
    """A mask of the outputs of a program that are results of saved operations."""
    saved: set[Atom] = set()
    for e in jaxpr.equations:
        saved.update(active(e.outvars, saved_outputs(e, policy)))
    return tuple(type(v) is Var and v in saved for v in jaxpr.outvars)


# --- equations that apply one program to their operands ---


def partial_eval_call(e: Equation, used_outs: Mask, policy: Policy | None) -> EquationParts:
    """The `partial_eval` rule of primitives that apply `jaxpr`. It returns an equation with
    additional results, and one with additional operands."""
    inner: Jaxpr = dict(e.params)["jaxpr"]
    parts = partial_eval_jaxpr(inner, used_outs, policy)
    n = len(e.outvars)
    outvars = [*e.outvars, *[Var(a) for a in parts.known.out_avals[n:]]]
    residuals = [outvars[i] for i in parts.residuals]
    known_call = e.replace(e.inputs, outvars, jaxpr=parts.known) if len(outvars) > n else e
    if all(used_outs) and not residuals and len(parts.used) == len(e.inputs):
        return EquationParts(known_call, residuals, e)
    inputs = [*[e.inputs[i] for i in parts.used], *residuals]
    remat = e.replace(inputs, active(e.outvars, used_outs), jaxpr=parts.remat)
    return EquationParts(known_call, residuals, remat)


# --- nested policies ---


@dataclass(frozen=True)
class Either:
    """The policy that saves a result if either of two policies does."""

    one: Policy
    other: Policy

    def __call__(self, primitive: object, *avals: object, **params: object) -> bool:
        return bool(
            self.one(primitive, *avals, **params) or self.other(primitive, *avals, **params)
        )


@cached_on_program
def with_policy(jaxpr: Jaxpr, policy: Policy) -> Jaxpr:
    """The program, with inner checkpoints that also save the values that `policy` names.

    These become results of the inner checkpoint, and the outer program saves them. Otherwise they
    would be recomputed.
    """
    equations = [with_policy_inside(e, policy) for e in jaxpr.equations]
    if all(a is b for a, b in zip(equations, jaxpr.equations, strict=True)):
        return jaxpr
    return jaxpr.replace(equations=equations)


def with_policy_inside(e: Equation, policy: Policy) -> Equation:
    """The equation with `with_policy` applied to the programs inside."""
    if parting(e) is None:
        return e

    def changed(name: str, value: Any) -> Any:
        if isinstance(value, Jaxpr):
            return with_policy(value, policy)
        if isinstance(value, tuple) and value and isinstance(value[0], Jaxpr):
            return tuple(with_policy(v, policy) for v in value)
        if name == "policy":
            return policy if value is None else Either(value, policy)
        return value

    params = tuple((name, changed(name, value)) for name, value in e.params)
    if params == e.params:
        return e
    return Equation(e.primitive, e.inputs, params, e.outvars, e.source)
