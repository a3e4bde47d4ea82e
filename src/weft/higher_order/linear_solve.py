"""Solving A x = b with a solver of the user's; derivatives by the implicit rule, not through it.

A is a linear program with parameters, `matvec`: (parameters, x) -> A x. From A x = b follows
A dx = db - dA x, which the same solver solves; and the transpose of b -> x is a solve with Aᵀ.

Knows programs; knows nothing of how a solver works.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compiler.loaded import run_jaxpr
from ..compiler.lower import lower_call
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis, HigherOrder
from ..core.trace import current
from ..interpreters.batch import repeated
from ..interpreters.derivative import split
from ..interpreters.jvp import jvp
from ..interpreters.stage import stage
from ..primitives.arithmetic import neg
from ..primitives.structural import add, instantiate
from .jaxprs import batch_jaxpr, depends

linear_solve = HigherOrder("linear_solve", "Solves A x = b; x may be followed by auxiliary values.")


class Side(NamedTuple):
    """A linear map and its solver, as programs of (parameters, x) and (parameters, b)."""

    matvec: Jaxpr
    solve: Jaxpr


# params: jaxpr, this side's solver, on which what is derived is kept; `side`; `other`, the side of
# the transposed map, or None; `count`, how many parameters there are.


def apply(side: Side, other: Side | None, count: int, args: Sequence[Any]) -> list[Any]:
    """Solves, under the current trace: the parameters, then the right-hand side."""
    return linear_solve(  # type: ignore[no-any-return]
        *args, jaxpr=side.solve, side=side, other=other, count=count
    )


@linear_solve.type
def _(*avals: Aval, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    return jaxpr.out_avals


@linear_solve.execute
def _(args: Any, *, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    return run_jaxpr(jaxpr, args)


@linear_solve.unfold
def _(args: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    yield jaxpr, args, range(len(args)), ""


@linear_solve.lower
def _(block: Any, *xs: Any, out: Any, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    return lower_call(block, jaxpr, xs)


@linear_solve.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **params: Any) -> Any:
    return depends(jaxpr, mask, inexact)


def pushed(primals: Sequence[Any], tangents: Sequence[Any], side: Side, other: Any, n: int) -> Any:
    """The solution and its tangent; auxiliary values have none."""
    outs = apply(side, other, n, primals)
    parameters, rhs = primals[:n], list(tangents[n:])
    x = outs[: len(rhs)]
    if any(t is not None for t in tangents[:n]):
        moved = lambda *ps: run(side.matvec, [*ps, *x], current.trace)  # noqa: E731
        _, changes = jvp(moved, parameters, tangents[:n])
        rhs = [difference(db, change) for db, change in zip(rhs, changes, strict=True)]
    if all(db is None for db in rhs):
        return outs, [None] * len(outs)
    full = [instantiate(db, v.aval) for db, v in zip(rhs, primals[n:], strict=True)]
    solved = apply(side, other, n, [*parameters, *full])
    return outs, [*solved[: len(rhs)], *[None] * (len(outs) - len(rhs))]


def difference(db: Any, change: Any) -> Any:
    """db - change, where `None` is zero."""
    if change is None:
        return db
    return neg(change) if db is None else add(db, neg(change))


@linear_solve.linearize
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    def rule(trace: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return pushed(primals, tangents, side, other, count)

    return split(rule, avals, mask, True, "linear_solve")


@linear_solve.pushforward
def _(mask: Any, avals: Any, *, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    out_mask: tuple[bool, ...] = ()

    def rule(*args: Any) -> list[Any]:
        nonlocal out_mask
        waiting = iter(args[len(mask) :])
        tangents = [next(waiting) if m else None for m in mask]
        outs, t_outs = pushed(args[: len(mask)], tangents, side, other, count)
        out_mask = tuple(t is not None for t in t_outs)
        return [*outs, *[t for t in t_outs if t is not None]]

    tangent_avals = [a.strong() for a, m in zip(avals, mask, strict=True) if m]
    return stage(rule, [*avals, *tangent_avals], name=jaxpr.name + "_jvp"), out_mask


@linear_solve.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, side: Side, other: Any, count: int) -> Any:
    if other is None:
        raise TypeError(
            "custom_linear_solve: reverse-mode differentiation needs a solver for the transposed "
            "system\n  fix: pass transpose_solve, or symmetric=True if A equals its transpose"
        )
    n_x = len(args) - count
    given = [
        instantiate(ct, v.aval) for ct, v in zip(cts[:n_x], side.solve.outvars[:n_x], strict=True)
    ]
    solved = apply(other, side, count, [*args[:count], *given])
    return [*[None] * count, *solved[:n_x]]


@linear_solve.batch
def _(
    args: Any, batched: Any, axis: Axis, *, jaxpr: Jaxpr, side: Side, other: Any, count: int
) -> Any:
    # a solution is batched if anything is; right-hand sides are solutions of the other side
    which = [*batched[:count], *[True] * (len(args) - count)]
    full = [
        a if b or not w else repeated(a, axis.size)
        for a, b, w in zip(args, batched, which, strict=True)
    ]
    sides = [
        None if s is None else Side(*[batch_jaxpr(program, which, axis) for program in s])
        for s in (side, other)
    ]
    return apply(sides[0], sides[1], count, full)  # type: ignore[arg-type]
