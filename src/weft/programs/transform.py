"""Transforms programs with the interpreters; each result is stored on its program.

The rules of higher-order primitives share these functions. Their programs do not have constants;
resulting programs may have some (`Jaxpr.without_consts` makes them inputs).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..compiler.compiled import run_jaxpr
from ..compiler.simplify import live_equations, without_dead_code
from ..core.array import Array
from ..core.aval import Aval, aval_of
from ..core.caching import cached_on_program
from ..core.jaxpr import Jaxpr, Var, named_axes, run
from ..core.masks import Mask, active, inactive, scatter_list
from ..core.primitive import Axis
from ..core.trace import current
from ..core.value import Value
from ..interpreters.batch import batch, repeated
from ..interpreters.dependence import dependents, zero_atom
from ..interpreters.jvp import jvp
from ..interpreters.linearize import LinearMap, linearize
from ..interpreters.plans import PreparedProgram
from ..interpreters.stage import stage, stage_with_aux
from ..interpreters.transpose import backward

R = TypeVar("R", bound=tuple[Any, ...])
T = TypeVar("T")

# --- forward mode, linearization, transposition, batching ---


def jvp_jaxpr(
    jaxpr: Jaxpr, mask: Sequence[bool], instantiate: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """(primals, active tangents) -> (outputs, the tangents of outputs that have one).

    Args:
      instantiate: outputs that get a tangent even if it is zero.
    """
    pushed, out_mask = _jvp_jaxpr(jaxpr, tuple(mask))
    return instantiate_zeros(pushed, len(jaxpr.outvars), out_mask, instantiate, jaxpr.out_avals)


@cached_on_program
def _jvp_jaxpr(jaxpr: Jaxpr, mask: Mask) -> tuple[Jaxpr, Mask]:
    def pushed(
        primals: Sequence[Value], tangents: Sequence[Value | None]
    ) -> tuple[Sequence[Value], Sequence[Value | None]]:
        return jvp(lambda *xs: run(jaxpr, xs, current.trace), primals, tangents)

    return stage_pushed(pushed, jaxpr.in_avals, mask, jaxpr.name)


def stage_pushed(
    pushed: Callable[[Sequence[Value], Sequence[Value | None]], Any],
    avals: Sequence[Aval],
    mask: Mask,
    name: str,
) -> tuple[Jaxpr, Mask]:
    """(primals, active tangents) -> (outputs, nonzero tangents), with the mask of the tangents.

    Args:
      pushed: (primals, tangents or `None`) -> (outputs, tangents or `None`).
    """

    def program(*args: Value) -> tuple[list[Value], Mask]:
        n = len(mask)
        outs, t_outs = pushed(args[:n], scatter_list(args[n:], mask))
        return [*outs, *nonzero(t_outs)], tuple(t is not None for t in t_outs)

    tangents = [a.strong() for a in active(avals, mask)]
    return stage_with_aux(program, [*avals, *tangents], name=name + "_jvp")


def linearize_jaxpr(jaxpr: Jaxpr, mask: Sequence[bool]) -> tuple[Jaxpr, Jaxpr, Mask]:
    """Two programs: inputs -> (outputs, residuals), and (residuals, tangents) -> output tangents.

    Each residual occurs once, and the second program needs all of them.
    """
    return _linearize_jaxpr(jaxpr, tuple(mask))


@cached_on_program
def _linearize_jaxpr(jaxpr: Jaxpr, mask: Mask) -> tuple[Jaxpr, Jaxpr, Mask]:
    def forward(*args: Value) -> tuple[list[Value], LinearMap]:
        outs, linear = linearize(lambda *xs: run(jaxpr, xs, current.trace), args, mask=mask)
        return [*outs, *residuals_of(linear)], linear

    primal_program, linear = stage_with_aux(forward, jaxpr.in_avals, name=jaxpr.name)
    out_mask = tuple([o is not None for o in linear.outputs])
    n_outs = len(jaxpr.outvars)
    outs, residuals = primal_program.outvars[:n_outs], primal_program.outvars[n_outs:]
    distinct, order = without_repeats(residuals)

    def push(*args: Value) -> list[Value]:
        residuals, tangents = args[: len(distinct)], args[len(distinct) :]
        use_residuals(linear, [residuals[i] for i in order])
        return [t for t in linear.push(tangents) if t is not None]

    avals = [*map(aval_of, distinct)]
    avals += [v.aval.strong() for v, m in zip(jaxpr.invars, mask, strict=True) if m]
    linear_jaxpr = stage(push, avals, name=jaxpr.name + "_linear")
    invars, needed = linear_jaxpr.invars, {v for v in linear_jaxpr.outvars if type(v) is Var}
    equations = live_equations(linear_jaxpr.equations, needed)
    dead = [v not in needed for v in invars[: len(distinct)]]
    if True not in dead:
        return primal_program.replace(outvars=[*outs, *distinct]), linear_jaxpr, out_mask
    # unused tangents do not need residuals
    primal_program = without_dead_code(
        primal_program.replace(outvars=[*outs, *inactive(distinct, dead)])
    )[0]
    invars = (*inactive(invars[: len(distinct)], dead), *invars[len(distinct) :])
    return primal_program, linear_jaxpr.replace(invars=invars, equations=equations), out_mask


def residuals_of(linear: LinearMap) -> list[Value]:
    """All residuals on the tape, in order."""
    return [r for node in linear.tape for r in node.residuals]


def use_residuals(linear: LinearMap, residuals: Sequence[Value]) -> None:
    """Replaces the residuals on the tape."""
    start = 0
    for node in linear.tape:
        end = start + len(node.residuals)
        node.residuals = list(residuals[start:end])
        start = end


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: Sequence[bool], known: Sequence[bool], instantiate: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """(nonlinear inputs, given cotangents) -> nonzero cotangents.

    Args:
      linear: a mask of the linear inputs.
      known: a mask of the outputs that have a cotangent.
      instantiate: a mask of the inputs that get a cotangent even if it is zero.
    Returns: the program, and a mask of the inputs that get a cotangent.
    """
    transposed, there = _transpose_jaxpr(jaxpr, tuple(linear), tuple(known))
    return instantiate_zeros(transposed, 0, there, instantiate, jaxpr.in_avals)


@cached_on_program
def _transpose_jaxpr(jaxpr: Jaxpr, linear: Mask, known: Mask) -> tuple[Jaxpr, Mask]:
    n_residuals = len(linear) - sum(linear)
    invars = [*inactive(jaxpr.invars, linear), *active(jaxpr.invars, linear)]
    ordered = jaxpr.replace(invars=invars)

    def back(*args: Value) -> tuple[list[Value], Mask]:
        cts = scatter_list(args[n_residuals:], known)
        results = backward(ordered, args[:n_residuals], cts, current.trace)
        full = scatter_list(results, linear)
        return nonzero(full), tuple([r is not None for r in full])

    avals = [
        *inactive(jaxpr.in_avals, linear),
        *[a.strong() for a in active(jaxpr.out_avals, known)],
    ]
    return stage_with_aux(back, avals, name=jaxpr.name + "_t")


def batch_jaxpr(jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis) -> Jaxpr:
    """The program mapped over axis 0 of the batched inputs; all outputs are batched."""
    return batch_partly(jaxpr, batched, axis, [True] * len(jaxpr.outvars))[0]


def batch_partly(
    jaxpr: Jaxpr, batched: Sequence[bool], axis: Axis, instantiate: Sequence[bool] = ()
) -> tuple[Jaxpr, Mask]:
    """The program mapped over axis 0 of the batched inputs; only dependent outputs are batched.

    Args:
      instantiate: outputs that are batched even if they are the same for the whole batch.
    Returns: the program, and a mask of the batched outputs.
    """
    if axis.name is not None and axis.name not in named_axes(jaxpr):
        axis = axis.unnamed()
    return _batch_jaxpr(jaxpr, tuple(batched), axis, tuple(instantiate))


@cached_on_program
def _batch_jaxpr(jaxpr: Jaxpr, batched: Mask, axis: Axis, instantiate: Mask) -> tuple[Jaxpr, Mask]:
    size = axis.size

    def mapped(*args: Value) -> tuple[list[Value], Mask]:
        pairs = batch(lambda *xs: run(jaxpr, xs, current.trace), args, batched, axis, keep=True)
        if instantiate:
            pairs = [
                (repeated(x, size), True) if w and not b else (x, b)
                for (x, b), w in zip(pairs, instantiate, strict=True)
            ]
        return [x for x, _ in pairs], tuple(b for _, b in pairs)

    avals = [
        a.update(shape=(size, *a.shape)) if b else a
        for a, b in zip(jaxpr.in_avals, batched, strict=True)
    ]
    return stage_with_aux(mapped, avals, name=jaxpr.name + "_batched")


# --- dependence of outputs on inputs ---


def depends(jaxpr: Jaxpr, mask: Sequence[bool], inexact: bool = False) -> Mask:
    """A mask of the outputs that depend on the inputs in `mask`.

    Args:
      inexact: count only dependence through values that have derivatives.
    """
    return _depends(jaxpr, tuple(mask), inexact)


@cached_on_program
def _depends(jaxpr: Jaxpr, mask: Mask, inexact: bool) -> Mask:
    variables = dependents(jaxpr, mask, inexact)
    return tuple(type(v) is Var and v in variables for v in jaxpr.outvars)


def carry_fixpoint(
    mask: Sequence[bool], begin: int, count: int, out_mask_of: Callable[[Mask], Sequence[bool]]
) -> Mask:
    """The mask of a loop body's inputs, in which a carry is set if any step sets it.

    Args:
      mask: the mask of all inputs; the carry is the `count` inputs from number `begin` on.
      out_mask_of: the outputs' mask for such a mask; the carry comes first.
    """
    mask = tuple(mask)
    while True:
        carry = either(mask[begin : begin + count], out_mask_of(mask)[:count])
        if carry == mask[begin : begin + count]:
            return mask
        mask = (*mask[:begin], *carry, *mask[begin + count :])


def transformed_at_fixpoint(
    mask: Sequence[bool],
    begin: int,
    count: int,
    reach: Callable[[Mask], Sequence[bool]],
    transform: Callable[[Mask], R],
) -> tuple[Mask, R]:
    """Like `carry_fixpoint`, for an exact answer that requires a transformation of the body.

    Args:
      reach: a cheap guess at the outputs' mask (dependence), which is rarely too small. With it one
        transformation is enough in nearly all cases.
      transform: returns a tuple that ends in the outputs' mask.
    Returns: the mask, and the result of `transform` for it. A carry that is set in the mask may be
    unset in the outputs' mask, but never the reverse.
    """
    start = tuple(mask[begin : begin + count])
    mask = carry_fixpoint(mask, begin, count, reach)
    grown = False
    while True:
        transformed = transform(mask)
        carry = mask[begin : begin + count]
        exact = either(start, transformed[-1][:count])
        wider = either(carry, exact)
        if exact == carry or (grown and wider == carry):
            return mask, transformed
        grown = grown or wider != carry
        mask = (*mask[:begin], *(wider if grown else exact), *mask[begin + count :])


def either(a: Sequence[bool], b: Sequence[bool]) -> Mask:
    """The union of two masks."""
    return tuple(x or y for x, y in zip(a, b, strict=True))


# --- outputs and atoms ---


def instantiate_zeros(
    jaxpr: Jaxpr, start: int, there: Mask, instantiate: Sequence[bool], avals: Sequence[Aval]
) -> tuple[Jaxpr, Mask]:
    """The program with zeros for the outputs of `instantiate` that it lacks.

    Args:
      there: a mask of the `avals` that the program has, as its outputs from number `start` on.
      instantiate: a mask of the required avals.
    """
    if not instantiate or either(there, instantiate) == there:
        return jaxpr, there
    equations, outvars = list(jaxpr.equations), list(jaxpr.outvars[:start])
    present = scatter_list(jaxpr.outvars[start:], there)
    for atom, needed, aval in zip(present, instantiate, avals, strict=True):
        if atom is not None:
            outvars.append(atom)
        elif needed:
            outvars.append(zero_atom(aval, equations))
    return jaxpr.replace(equations=equations, outvars=outvars), either(there, instantiate)


def nonzero(items: Sequence[T | None]) -> list[T]:
    """The items that are not `None`: nonzero tangents or cotangents."""
    return [x for x in items if x is not None]


def not_linear(args: Sequence[Value | Aval]) -> list[Value]:
    """The arguments of a transpose rule that are values, not linear arguments."""
    return [a for a in args if not isinstance(a, Aval)]


def without_repeats(atoms: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The distinct atoms, and the position of each atom among them."""
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


# --- running programs ---


@cached_on_program
def prepared(jaxpr: Jaxpr) -> PreparedProgram:
    """A program prepared to run often."""
    return PreparedProgram(jaxpr)


def run_now(jaxpr: Jaxpr, args: Sequence[Array]) -> list[Array]:
    """Applies a program to arrays: by NumPy if that is faster for the whole program, otherwise
    compiled."""
    program = prepared(jaxpr)
    if program.planned().kernel is not None and all([a.type is a.aval for a in args]):
        return program.run(args, current.base)
    return run_jaxpr(jaxpr, args)
