"""Transformed bodies of loops: (constants, carry, slices) -> (carry, slices)."""

from collections.abc import Sequence
from typing import NamedTuple

from ..compiler.simplify import has_effects, live_equations, live_inputs
from ..core.caching import cached_on_program
from ..core.jaxpr import Atom, Jaxpr, Var, run
from ..core.masks import Mask, active, groups_of, inactive, scatter_list
from ..core.trace import current
from ..core.value import Value
from ..interpreters.dependence import dependents, partition_by_linearity
from .transform import either, nonzero


class LeanBody(NamedTuple):
    """A body without the values that it passes through unchanged.

    Attributes:
      steady: a mask of the carries that no step changes. They become constants of the body.
      passed: for each stacked output, the number of the sliced operand that it equals, or `None`.
    """

    body: Jaxpr
    steady: Mask
    passed: list[int | None]


@cached_on_program
def without_copies(jaxpr: Jaxpr, nc: int, nk: int) -> LeanBody:
    """The body without the values that it only passes on."""
    consts, carry, xs = groups_of(jaxpr.invars, nc, nk)
    outs, ys = groups_of(jaxpr.outvars, nk)
    steady = tuple(v is o for v, o in zip(carry, outs, strict=True))
    inputs = {v: i for i, v in enumerate(xs)}
    passed = [inputs.get(v) if type(v) is Var else None for v in ys]
    if not any(steady) and all(i is None for i in passed):
        return LeanBody(jaxpr, steady, passed)
    invars = [*consts, *active(carry, steady), *inactive(carry, steady), *xs]
    computed = [v for v, i in zip(ys, passed, strict=True) if i is None]
    outvars = [*inactive(outs, steady), *computed]
    body = jaxpr.replace(invars=invars, outvars=outvars)
    return LeanBody(body, steady, passed)


def live_carry(jaxpr: Jaxpr, nc: int, nk: int, live: Mask) -> Mask:
    """The outputs that every step must compute to make the `live` outputs of the last step correct.

    They are the live outputs, and each carry that one of them needs in the next step.
    """
    while True:
        carry_needed = live_inputs(jaxpr, live)[nc : nc + nk]
        wider = (*either(live[:nk], carry_needed), *live[nk:])
        if wider == live:
            return live
        live = wider


def interleave_tangents(pushed: Jaxpr, mask: Mask, out_mask: Mask, nc: int, nk: int) -> Jaxpr:
    """Reorders (primals, tangents) -> (outputs, tangents) for a loop: each group is followed by its
    tangents."""
    n, n_outs = len(mask), len(out_mask)
    groups = groups_of(pushed.invars[:n], nc, nk)
    t_groups = groups_of(scatter_list(pushed.invars[n:], mask), nc, nk)
    outs = groups_of(pushed.outvars[:n_outs], nk)
    t_outs = groups_of(scatter_list(pushed.outvars[n_outs:], out_mask), nk)
    return pushed.replace(
        invars=[v for vs, ts in zip(groups, t_groups, strict=True) for v in (*vs, *nonzero(ts))],
        outvars=[v for vs, ts in zip(outs, t_outs, strict=True) for v in (*vs, *nonzero(ts))],
    )


class ResidualHoisting:
    """The residuals of a loop's steps, kept in as little memory as possible.

    A residual that follows from the constants is computed once before the loop, and a slice of an
    operand or of an output is read from there. Only the others are stacked.

    Attributes:
      body: the body, whose outputs are followed by the residuals to be stacked.
      fixed, moving: the numbers of the residuals that are equal in all steps, and of the others.
    """

    def __init__(self, forward: Jaxpr, n_consts: int, n_carry: int, n_outs: int) -> None:
        outs, atoms = forward.outvars[:n_outs], forward.outvars[n_outs:]
        consts, _, xs = groups_of(forward.invars, n_consts, n_carry)
        steady = set(consts)
        for e in forward.equations:
            if not has_effects(e) and all(type(v) is not Var or v in steady for v in e.inputs):
                steady.update(e.outvars)
        self.fixed = [i for i, v in enumerate(atoms) if type(v) is not Var or v in steady]
        self.moving = [i for i, v in enumerate(atoms) if i not in set(self.fixed)]
        before = [atoms[i] for i in self.fixed]
        needed = {v for v in before if type(v) is Var}
        hoisted = live_equations(forward.equations, needed, effects=False)
        self.before = Jaxpr([], [], consts, hoisted, before)
        inputs: dict[Atom, int] = {v: i for i, v in enumerate(xs)}
        outputs = {v: i for i, v in enumerate(outs) if i >= n_carry and type(v) is Var}
        stacked: list[Atom] = []
        self.sources: list[tuple[bool, int]] = []  # (whether it is an operand, its number)
        for i in self.moving:
            v = atoms[i]
            if v in inputs:
                self.sources.append((True, inputs[v]))
            elif v in outputs:
                self.sources.append((False, outputs[v]))
            else:
                self.sources.append((False, n_outs + len(stacked)))
                stacked.append(v)
        outvars = [*outs, *stacked]
        self.body = forward.replace(outvars=outvars)

    def values(
        self, consts: Sequence[Value], xs: Sequence[Value], outs: Sequence[Value]
    ) -> list[Value]:
        """The residuals of all steps: first the fixed ones, then the moving ones, stacked."""
        fixed = run(self.before, consts, current.trace)
        return [*fixed, *[(xs if is_operand else outs)[i] for is_operand, i in self.sources]]


class CarryParts(NamedTuple):
    """A body in two parts: one for the nonlinear carry, such as a counter, and a linear one.

    Attributes:
      forward: (known constants, nonlinear carry, known slices) -> (nonlinear carry, slices for
        `linear`).
      linear: (constants, linear carry, slices, slices of `forward`) -> (linear carry, slices).
      n_counters: the number of nonlinear carries.
      linear_ys: a mask of the stacked outputs that are linear.
    """

    forward: Jaxpr
    linear: Jaxpr
    n_counters: int
    linear_ys: Mask


@cached_on_program
def partition_carry(jaxpr: Jaxpr, nc: int, nk: int, linear: Mask) -> CarryParts:
    """Splits a loop in two: a loop over the nonlinear carry, and then a linear loop.

    Args:
      linear: a mask of the linear inputs. It includes the carries that depend on linear inputs in
        any step.
    """
    jaxpr = partition_by_linearity(jaxpr, linear)
    through = dependents(jaxpr, linear)
    consts, carry, xs = groups_of(jaxpr.invars, nc, nk)
    lin_consts, lin_carry, lin_xs = groups_of(linear, nc, nk)
    outs, ys = groups_of(jaxpr.outvars, nk)
    counted = set(inactive(carry, lin_carry))
    for e in jaxpr.equations:
        if through.isdisjoint(e.outvars) and any(type(v) is Var and v in counted for v in e.inputs):
            counted.update(e.outvars)
    linear_equations = [e for e in jaxpr.equations if counted.isdisjoint(e.outvars)]
    linear_outs = [*active(outs, lin_carry), *ys]
    read = [*[v for e in linear_equations for v in e.inputs], *linear_outs]
    needed = list(dict.fromkeys(v for v in read if isinstance(v, Var) and v in counted))
    counters = inactive(outs, lin_carry)
    needed_vars = {v for v in (*counters, *needed) if isinstance(v, Var)}
    others = [e for e in jaxpr.equations if through.isdisjoint(e.outvars)]
    primal_inputs = [
        *inactive(consts, lin_consts),
        *inactive(carry, lin_carry),
        *inactive(xs, lin_xs),
    ]
    return CarryParts(
        Jaxpr(
            [],
            [],
            primal_inputs,
            live_equations(others, needed_vars, effects=False),
            [*counters, *needed],
            jaxpr.name,
        ),
        Jaxpr(
            [],
            [],
            [*consts, *active(carry, lin_carry), *xs, *needed],
            linear_equations,
            linear_outs,
            jaxpr.name,
        ),
        len(counters),
        tuple(type(v) is Var and v in through for v in ys),
    )


def reached_back(jaxpr: Jaxpr, linear: Mask, known: Mask) -> list[bool]:
    """A mask of the linear inputs that get a cotangent, since known outputs depend on them."""
    through = dependents(jaxpr, linear)
    needed = {v for v, k in zip(jaxpr.outvars, known, strict=True) if k and type(v) is Var}
    live_equations(
        [e for e in jaxpr.equations if not through.isdisjoint(e.outvars)], needed, effects=False
    )
    return [m and v in needed for v, m in zip(jaxpr.invars, linear, strict=True)]
