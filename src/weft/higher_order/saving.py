"""What to keep and what to compute again: a program cut in two by a policy.

A policy is asked about every first-order operation, in the programs inside calls, branches and
scans too. What an operation with effects gives is always kept: it is to be done once.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..compiler.dead_code import has_effects
from ..core.jaxpr import Equation, Jaxpr, Var, run, subjaxprs
from ..core.trace import current
from ..interpreters.stage import stage
from ..primitives.structural import zeros
from .call import call
from .cond import Residuals, cond
from .jaxprs import Mask, active, divided
from .scan import scan

Policy = Callable[..., bool]


class Parts(NamedTuple):
    """A program cut in two.

    Attributes:
      first: inputs -> outputs, then what is kept and isn't an output.
      kept: the numbers of what is kept, among the outputs of `first`.
      again: (the inputs in `used`, what is kept) -> the wanted outputs.
      used: numbers of inputs.
    """

    first: Jaxpr
    kept: tuple[int, ...]
    again: Jaxpr
    used: tuple[int, ...]


class Cut(NamedTuple):
    """An equation cut in two: the one that also gives what is kept, the one that uses that."""

    first: Equation
    kept: Sequence[Var]
    again: Equation


def parts(jaxpr: Jaxpr, wanted: Mask, policy: Policy | None, begin: int = 0) -> Parts:
    """What to run now, and what computes the wanted outputs again from inputs and what was kept.

    Args:
      jaxpr: without constants.
      wanted: which outputs.
      policy: called as `policy(primitive, *avals, **params)`, says whether to keep the results;
        without it only results of operations with effects are kept.
      begin: outputs before this one can't serve as what is kept.
    """
    key = ("kept and again", wanted, policy, begin)
    if key not in jaxpr.cache:
        jaxpr.cache[key] = _parts(jaxpr, wanted, policy, begin)
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def _parts(jaxpr: Jaxpr, wanted: Mask, policy: Policy | None, begin: int) -> Parts:
    outs = active(jaxpr.outvars, wanted)
    needed = {v for v in outs if type(v) is Var}
    kept: dict[Var, None] = {}  # an ordered set
    first: list[Equation] = []
    again: list[Equation] = []
    for e in reversed(jaxpr.equations):
        here = [v in needed for v in e.outvars]
        saved = [m and k for m, k in zip(here, kept_outputs(e, policy), strict=True)]
        kept.update(dict.fromkeys(active(e.outvars, saved)))
        rest = tuple(m and not s for m, s in zip(here, saved, strict=True))
        later = e
        if True in rest:
            if e.primitive in CUTTERS:
                e, inside, later = CUTTERS[e.primitive](e, rest, policy)
                kept.update(dict.fromkeys(inside))
            needed.update(v for v in later.inputs if type(v) is Var)
            again.append(later)
        first.append(e)
    used = tuple(i for i, v in enumerate(jaxpr.invars) if v in needed)
    results = list(jaxpr.outvars)
    places = {v: i for i, v in enumerate(results) if type(v) is Var and i >= begin}
    for v in kept:
        if v not in places:
            places[v] = len(results)
            results.append(v)
    return Parts(
        Jaxpr([], [], jaxpr.invars, first[::-1], results, jaxpr.name),
        tuple(places[v] for v in kept),
        Jaxpr([], [], [*[jaxpr.invars[i] for i in used], *kept], again[::-1], outs, jaxpr.name),
        used,
    )


def kept_outputs(e: Equation, policy: Policy | None) -> Mask:
    """Which outputs of an equation are kept as they are."""
    acts = has_effects(e)
    if policy is None and not acts:
        return (False,) * len(e.outvars)
    if e.primitive not in CUTTERS:
        keep = acts or policy(e.primitive, *[v.aval for v in e.inputs], **dict(e.params))  # type: ignore[misc]
        return (bool(keep),) * len(e.outvars)
    # that of a call, if it is kept inside; that of a choice, if it is in all branches
    masks = [kept_inside(j, policy) for j in subjaxprs(e.params)]
    return tuple(all(m) for m in zip(*masks, strict=True))


def kept_inside(jaxpr: Jaxpr, policy: Policy | None) -> Mask:
    """Which outputs of a program are results that are kept."""
    key = ("kept", policy)
    if key not in jaxpr.cache:
        found: set[Any] = set()
        for e in jaxpr.equations:
            found.update(active(e.outvars, kept_outputs(e, policy)))
        jaxpr.cache[key] = tuple(type(v) is Var and v in found for v in jaxpr.outvars)
    return jaxpr.cache[key]  # type: ignore[no-any-return]


# --- equations with programs inside ---


def remade(e: Equation, inputs: Sequence[Any], outvars: Sequence[Var], **changes: Any) -> Equation:
    """The equation between other variables, with other params."""
    params = tuple((dict(e.params) | changes).items())
    return Equation(e.primitive, inputs, params, outvars, e.source)


def cut_call(e: Equation, wanted: Mask, policy: Policy | None) -> Cut:
    """A call: of a program that gives more, and of one that takes more."""
    cut = parts(e.params[0][1], wanted, policy)
    n = len(e.outvars)
    outvars = [*e.outvars, *[Var(v.aval) for v in cut.first.outvars[n:]]]
    kept = [outvars[i] for i in cut.kept]
    first = remade(e, e.inputs, outvars, jaxpr=cut.first) if len(outvars) > n else e
    if all(wanted) and not kept and len(cut.used) == len(e.inputs):
        return Cut(first, kept, e)
    inputs = [*[e.inputs[i] for i in cut.used], *kept]
    return Cut(first, kept, remade(e, inputs, active(e.outvars, wanted), jaxpr=cut.again))


def cut_cond(e: Equation, wanted: Mask, policy: Policy | None) -> Cut:
    """A choice: each branch keeps its own, in slots that all of them share."""
    branches: tuple[Jaxpr, ...] = dict(e.params)["branches"]
    in_avals, n_outs = branches[0].in_avals, len(e.outvars)
    cuts = [parts(b, wanted, policy) for b in branches]
    slots = Residuals()
    places = [
        [at for _, at in slots.place(b, [c.first.outvars[i] for i in c.kept])]
        for b, c in zip(branches, cuts, strict=True)
    ]

    def keeping(cut: Parts, where: Sequence[int]) -> Jaxpr:
        def branch(*xs: Any) -> list[Any]:
            outs = run(cut.first, xs, current.trace)
            values = {at: outs[i] for at, i in zip(where, cut.kept, strict=True)}
            full = [values[i] if i in values else zeros(a) for i, a in enumerate(slots.slots)]
            return [*outs[:n_outs], *full]

        return stage(branch, in_avals, name=cut.first.name)

    def using(cut: Parts, where: Sequence[int]) -> Jaxpr:
        def branch(*xs: Any) -> list[Any]:
            operands, values = divided(xs, len(in_avals))
            given = [*[operands[i] for i in cut.used], *[values[i] for i in where]]
            return run(cut.again, given, current.trace)

        return stage(branch, [*in_avals, *slots.slots], name=cut.again.name)

    kept = [Var(a) for a in slots.slots]
    first = e
    if kept:
        both = zip(cuts, places, strict=True)
        inner = tuple(keeping(c, where) for c, where in both)
        first = remade(e, e.inputs, [*e.outvars, *kept], branches=inner)
    inner = tuple(using(c, where) for c, where in zip(cuts, places, strict=True))
    again = remade(e, [*e.inputs, *kept], active(e.outvars, wanted), branches=inner)
    return Cut(first, kept, again)


def cut_scan(e: Equation, wanted: Mask, policy: Policy | None) -> Cut:
    """A loop: what a step keeps is stacked; the steps that are done again read it from there."""
    params = dict(e.params)
    jaxpr: Jaxpr = params["jaxpr"]
    nc, nk, n_outs = params["num_consts"], params["num_carry"], len(e.outvars)
    asked = wanted
    while True:  # a carry that a step needs is to be computed by the step before
        cut = parts(jaxpr, wanted, policy, begin=nk)
        carry = tuple(w or nc + i in cut.used for i, w in enumerate(wanted[:nk]))
        if carry == wanted[:nk]:
            break
        wanted = (*carry, *wanted[nk:])
    stacks = [
        Var(v.aval.update(shape=(params["length"], *v.aval.shape)))
        for v in cut.first.outvars[n_outs:]
    ]
    outvars = [*e.outvars, *stacks]
    kept = [outvars[i] for i in cut.kept]
    first = remade(e, e.inputs, outvars, jaxpr=cut.first) if stacks else e
    # all of a carry that is computed again goes in, used or not
    given = [
        i for i in range(len(e.inputs)) if i in cut.used or (nc <= i < nc + nk and carry[i - nc])
    ]
    known = dict(zip(cut.used, cut.again.invars, strict=False))
    invars = [known[i] if i in known else Var(jaxpr.in_avals[i]) for i in given]
    body = Jaxpr(
        [],
        [],
        [*invars, *cut.again.invars[len(cut.used) :]],
        cut.again.equations,
        cut.again.outvars,
        cut.again.name,
    )
    again = remade(
        e,
        [*[e.inputs[i] for i in given], *kept],
        # a carry that wasn't asked for may be among what is kept: it has its variable
        active([v if a else Var(v.aval) for v, a in zip(e.outvars, asked, strict=True)], wanted),
        jaxpr=body,
        num_consts=sum(i < nc for i in given),
        num_carry=sum(carry),
    )
    return Cut(first, kept, again)


CUTTERS: dict[Any, Callable[[Equation, Mask, Policy | None], Cut]] = {
    call: cut_call,
    cond: cut_cond,
    scan: cut_scan,
}
