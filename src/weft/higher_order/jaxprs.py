"""Programs transformed: once each, kept on the program they come from.

What the rules of higher-order primitives share. The programs have no constants when they come in;
those that go out may (`Jaxpr.without_consts` makes them inputs). Knows the interpreters; knows no
higher-order primitive.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.loaded import run_jaxpr
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var, named_axes, run
from ..core.primitive import Axis
from ..core.trace import current
from ..interpreters.batch import batch, repeated
from ..interpreters.dependence import dependents, zero_atom
from ..interpreters.jvp import jvp
from ..interpreters.linearize import linearize
from ..interpreters.plan import Plan
from ..interpreters.stage import stage
from ..interpreters.transpose import backward

Mask = tuple[bool, ...]

# --- forward mode, linearization, transposition, batching ---


def jvp_jaxpr(
    jaxpr: Jaxpr, mask: Sequence[bool], wanted: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """(primals, tangents of the active) -> (outputs, tangents of those that have one).

    Args:
      wanted: outputs that get a tangent even if it is zero.
    """
    key = ("jvp", tuple(mask))
    if key not in jaxpr.cache:
        out_mask: Mask = ()

        def pushed(*args: Any) -> list[Any]:
            nonlocal out_mask
            primals, rest = args[: len(mask)], iter(args[len(mask) :])
            tangents = [next(rest) if m else None for m in mask]
            outs, t_outs = jvp(lambda *xs: run(jaxpr, xs, current.trace), primals, tangents)
            out_mask = tuple(t is not None for t in t_outs)
            return [*outs, *[t for t in t_outs if t is not None]]

        avals = [*jaxpr.in_avals, *active(jaxpr.in_avals, mask)]
        jaxpr.cache[key] = stage(pushed, avals, name=jaxpr.name + "_jvp"), out_mask
    found, out_mask = jaxpr.cache[key]
    return filled(found, len(jaxpr.outvars), out_mask, wanted, jaxpr.out_avals)


def linearize_jaxpr(jaxpr: Jaxpr, mask: Sequence[bool]) -> tuple[Jaxpr, Jaxpr, Mask]:
    """Two programs: inputs -> (outputs, residuals), and (residuals, tangents) -> output tangents.

    No residual comes twice.
    """
    key = ("linearize", tuple(mask))
    if key not in jaxpr.cache:
        linear: Any = None
        n_outs = len(jaxpr.outvars)

        def forward(*args: Any) -> list[Any]:
            nonlocal linear

            def body(*live: Any) -> list[Any]:
                waiting = iter(live)
                full = [next(waiting) if m else a for a, m in zip(args, mask, strict=True)]
                return run(jaxpr, full, current.trace)

            outs, linear = linearize(body, active(args, mask))
            return [*outs, *residuals_of(linear)]

        whole = stage(forward, jaxpr.in_avals, name=jaxpr.name)
        out_mask = tuple(o is not None for o in linear.outputs)
        distinct, order = without_repeats(whole.outvars[n_outs:])
        whole.outvars = [*whole.outvars[:n_outs], *distinct]

        def push(*args: Any) -> list[Any]:
            residuals, tangents = args[: len(distinct)], args[len(distinct) :]
            use_residuals(linear, [residuals[i] for i in order])
            return [t for t in linear.push(tangents) if t is not None]

        avals = [*[v.aval for v in distinct], *[a.strong() for a in active(jaxpr.in_avals, mask)]]
        jaxpr.cache[key] = whole, stage(push, avals, name=jaxpr.name + "_linear"), out_mask
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def residuals_of(linear: Any) -> list[Any]:
    """All residuals on the tape, in order."""
    return [r for node in linear.tape for r in node.residuals]


def use_residuals(linear: Any, residuals: Sequence[Any]) -> None:
    """Puts other values in the place of the residuals on the tape."""
    waiting = iter(residuals)
    for node in linear.tape:
        node.residuals = [next(waiting) for _ in node.residuals]


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: Sequence[bool], known: Sequence[bool], wanted: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """(inputs that aren't linear, given cotangents) -> cotangents that aren't zero.

    Args:
      linear: which inputs are linear.
      known: which outputs have a cotangent.
      wanted: inputs that get a cotangent even if it is zero.
    Returns: the program, and which of all inputs get a cotangent.
    """
    key = ("transpose", tuple(linear), tuple(known))
    if key not in jaxpr.cache:
        n_given = len(linear) - sum(linear)
        nonzero: Mask = ()
        ordered = Jaxpr(
            [],
            [],
            [*inactive(jaxpr.invars, linear), *active(jaxpr.invars, linear)],
            jaxpr.equations,
            jaxpr.outvars,
            jaxpr.name,
        )

        def back(*args: Any) -> list[Any]:
            nonlocal nonzero
            rest = iter(args[n_given:])
            cts = [next(rest) if k else None for k in known]
            results = iter(backward(ordered, args[:n_given], cts, current.trace))
            full = [next(results) if is_linear else None for is_linear in linear]
            nonzero = tuple(r is not None for r in full)
            return [r for r in full if r is not None]

        avals = [
            *[v.aval for v in inactive(jaxpr.invars, linear)],
            *[v.aval.strong() for v, k in zip(jaxpr.outvars, known, strict=True) if k],
        ]
        jaxpr.cache[key] = stage(back, avals, name=jaxpr.name + "_t"), nonzero
    found, nonzero = jaxpr.cache[key]
    return filled(found, 0, nonzero, wanted, jaxpr.in_avals)


def batch_jaxpr(jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis) -> Jaxpr:
    """The program mapped over axis 0 of the batched inputs; all outputs are batched."""
    return batch_partly(jaxpr, batched, axis, [True] * len(jaxpr.outvars))[0]


def batch_partly(
    jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis, wanted: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """The program mapped over axis 0 of the batched inputs; outputs are batched if need be.

    Args:
      wanted: outputs that are batched even if they are the same for all.
    Returns: the program, and which outputs are batched.
    """
    wanted = tuple(wanted)
    if axis.name is not None and axis.name not in named_axes(jaxpr):
        axis = Axis(axis.size)
    size = axis.size
    key = ("batch", tuple(batched), axis, wanted)
    if key not in jaxpr.cache:
        out_batched: Mask = ()

        def mapped(*args: Any) -> list[Any]:
            nonlocal out_batched
            pairs = batch(lambda *xs: run(jaxpr, xs, current.trace), args, batched, axis, keep=True)
            if wanted:
                pairs = [
                    (repeated(x, size), True) if w and not b else (x, b)
                    for (x, b), w in zip(pairs, wanted, strict=True)
                ]
            out_batched = tuple(b for _, b in pairs)
            return [x for x, _ in pairs]

        avals = [
            v.aval.update(shape=(size, *v.aval.shape)) if b else v.aval
            for v, b in zip(jaxpr.invars, batched, strict=True)
        ]
        made = stage(mapped, avals, name=jaxpr.name + "_batched")
        jaxpr.cache[key] = made, out_batched
    return jaxpr.cache[key]  # type: ignore[no-any-return]


# --- which outputs depend on which inputs ---


def depends(jaxpr: Jaxpr, mask: Sequence[bool], inexact: bool = False) -> Mask:
    """Which outputs depend on the inputs in `mask`."""
    key = ("depends", tuple(mask), inexact)
    if key not in jaxpr.cache:
        found = dependents(jaxpr, mask, inexact)
        jaxpr.cache[key] = tuple(type(v) is Var and v in found for v in jaxpr.outvars)
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def settled_by(
    mask: Sequence[bool], begin: int, count: int, out_mask_of: Callable[[Mask], Sequence[bool]]
) -> Mask:
    """The mask of a loop body's inputs in which a carry is set if it ever will be.

    Args:
      mask: of all inputs; the carry are `count` of them from `begin` on.
      out_mask_of: from such a mask to that of the outputs; the carry come first.
    """
    mask = tuple(mask)
    while True:
        carry = either(mask[begin : begin + count], out_mask_of(mask)[:count])
        if carry == mask[begin : begin + count]:
            return mask
        mask = (*mask[:begin], *carry, *mask[begin + count :])


def settled(
    mask: Sequence[bool],
    begin: int,
    count: int,
    reach: Callable[[Mask], Sequence[bool]],
    transform: Callable[[Mask], Any],
) -> tuple[Mask, Any]:
    """As `settled_by`, where the exact answer costs a transformation of the body.

    Args:
      reach: a cheap guess at the outputs' mask, rarely too small: dependence.
      transform: gives a tuple that ends in the outputs' mask.
    Returns: the mask, and what `transform` gives for it. A carry set in the mask may be unset in
      the outputs' mask; never the reverse.

    Beginning with the guess makes it one transformation in nearly all cases.
    """
    start = tuple(mask[begin : begin + count])
    mask = settled_by(mask, begin, count, reach)
    grown = False
    while True:
        found = transform(mask)
        carry = mask[begin : begin + count]
        exact = either(start, found[-1][:count])
        wider = either(carry, exact)
        if exact == carry or (grown and wider == carry):
            return mask, found
        grown = grown or wider != carry
        mask = (*mask[:begin], *(wider if grown else exact), *mask[begin + count :])


def either(a: Sequence[bool], b: Sequence[bool]) -> Mask:
    """The union of two masks."""
    return tuple(x or y for x, y in zip(a, b, strict=True))


# --- taking programs apart ---


def active(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The items that the mask names."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def inactive(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The items that the mask doesn't name."""
    return [x for x, m in zip(items, mask, strict=True) if not m]


def divided(items: Sequence[Any], *counts: int) -> list[list[Any]]:
    """The items in groups of these counts, and the rest."""
    groups, at = [], 0
    for count in counts:
        groups.append(list(items[at : at + count]))
        at += count
    return [*groups, list(items[at:])]


def spread(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The items in the places that the mask names, `None` in the others."""
    waiting = iter(items)
    return [next(waiting) if m else None for m in mask]


def filled(
    jaxpr: Jaxpr, start: int, there: Mask, wanted: Sequence[bool], avals: Sequence[Aval]
) -> tuple[Jaxpr, Mask]:
    """The program with zeros for wanted outputs that it doesn't give.

    Args:
      there: which of `avals` the outputs from `start` on are.
      wanted: which to add.
    """
    if not wanted or either(there, wanted) == there:
        return jaxpr, there
    equations, outvars = list(jaxpr.equations), jaxpr.outvars[:start]
    waiting = iter(jaxpr.outvars[start:])
    for has, want, aval in zip(there, wanted, avals, strict=True):
        if has:
            outvars.append(next(waiting))
        elif want:
            outvars.append(zero_atom(aval, equations))
    made = Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, equations, outvars, jaxpr.name)
    return made, either(there, wanted)


def without_repeats(atoms: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The atoms once each, and where among them each is."""
    places: dict[Any, int] = {}
    distinct: list[Any] = []
    order = []
    for atom in atoms:
        key = atom if type(atom) is Var else id(atom)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(atom)
        order.append(places[key])
    return distinct, order


# --- now ---


def run_now(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Applies a program to arrays: on the host if all of it is tier 0, else compiled.

    Tracing and running it on the host take some µs an equation; compiling it 20 ms and more.
    """
    plan = jaxpr.cache.get("plan")
    if plan is None:
        plan = jaxpr.cache["plan"] = Plan(jaxpr)
    if plan.prepared().steps is not None and all(a.type is a.aval for a in args):
        return plan.run(args, current.base)
    return run_jaxpr(jaxpr, args)
