"""Solving A x = b with a solver of the user's; derivatives by the implicit rule, not through it.

A is a linear program with parameters, `matvec`: (parameters, x) -> A x. From A x = b follows
A dx = db - dA x, which the same solver solves; and the transpose of b -> x is a solve with Aᵀ.

Knows programs; knows nothing of how a solver works.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

from ..compiler.compiled import run_jaxpr
from ..compiler.lower import lower_call
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.masks import Mask
from ..core.primitive import Axis, HigherOrder
from ..core.trace import Trace, current
from ..core.value import Value
from ..errors import DerivativeError
from ..interpreters.batch import with_batch
from ..interpreters.derivative import Derivative, split_jvp
from ..interpreters.jvp import jvp
from ..primitives.arithmetic import neg
from ..primitives.structural import add, instantiate
from ..programs.transform import batch_jaxpr, not_linear, stage_pushed
from ..stablehlo import Block, Operand
from .applying import AppliesJaxpr


class Side(NamedTuple):
    """A linear map and its solver, as programs of (parameters, x) and (parameters, b)."""

    matvec: Jaxpr
    solve: Jaxpr


# params: jaxpr, this side's solver, on which what is derived is kept; `side`; `other`, the side of
# the transposed map, or None; `count`, how many parameters there are.


def apply_solve(side: Side, other: Side | None, count: int, args: Sequence[Value]) -> list[Value]:
    """Solves, under the current trace: the parameters, then the right-hand side."""
    return linear_solve(*args, jaxpr=side.solve, side=side, other=other, count=count)


class LinearSolveRules(AppliesJaxpr):
    """A solver of the user's, of a linear map."""

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **params: object) -> list[Array]:
        return run_jaxpr(jaxpr, args)

    def lower(
        self, block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr, **params: object
    ) -> list[Operand]:
        return lower_call(block, jaxpr, operands)

    def linearize(
        self,
        mask: Mask,
        avals: Sequence[Aval],
        *,
        jaxpr: Jaxpr,
        side: Side,
        other: Side | None,
        count: int,
    ) -> Derivative | None:
        def rule(
            trace: Trace, primals: Sequence[Value], tangents: Sequence[Value | None]
        ) -> tuple[list[Value], list[Value | None]]:
            return pushed(primals, tangents, side, other, count)

        return split_jvp(rule, avals, mask, True, "linear_solve")

    def pushforward(
        self,
        mask: Mask,
        avals: Sequence[Aval],
        *,
        jaxpr: Jaxpr,
        side: Side,
        other: Side | None,
        count: int,
    ) -> tuple[Jaxpr, Mask]:
        rule = functools.partial(pushed, side=side, other=other, n=count)
        return stage_pushed(rule, avals, mask, jaxpr.name)

    def transpose(
        self,
        cts: Sequence[Value | None],
        *args: Value | Aval,
        jaxpr: Jaxpr,
        side: Side,
        other: Side | None,
        count: int,
    ) -> list[Value | None]:
        if other is None:
            raise DerivativeError(
                "custom_linear_solve: reverse-mode differentiation needs a solver for the "
                "transposed system\n  fix: pass transpose_solve, or symmetric=True if A equals its "
                "transpose"
            )
        n_x = len(args) - count
        given = [
            instantiate(ct, v.aval)
            for ct, v in zip(cts[:n_x], side.solve.outvars[:n_x], strict=True)
        ]
        solved = apply_solve(other, side, count, [*not_linear(args[:count]), *given])
        return [*[None] * count, *solved[:n_x]]

    def batch(
        self,
        args: Sequence[Value],
        batched: Mask,
        axis: Axis,
        *,
        jaxpr: Jaxpr,
        side: Side,
        other: Side | None,
        count: int,
    ) -> list[Value]:
        # a solution is batched if anything is; right-hand sides are solutions of the other side
        which = [*batched[:count], *[True] * (len(args) - count)]
        full = with_batch(args, batched, which, axis.size)
        sides = [
            None if s is None else Side(*[batch_jaxpr(program, which, axis) for program in s])
            for s in (side, other)
        ]
        return apply_solve(sides[0], sides[1], count, full)  # type: ignore[arg-type]


linear_solve = HigherOrder(
    "linear_solve", "Solves A x = b; x may be followed by auxiliary values.", LinearSolveRules()
)


def pushed(
    primals: Sequence[Value],
    tangents: Sequence[Value | None],
    side: Side,
    other: Side | None,
    n: int,
) -> tuple[list[Value], list[Value | None]]:
    """The solution and its tangent; auxiliary values have none."""
    outs = apply_solve(side, other, n, primals)
    parameters, rhs = primals[:n], list(tangents[n:])
    x = outs[: len(rhs)]
    if any(t is not None for t in tangents[:n]):
        moved = lambda *ps: run(side.matvec, [*ps, *x], current.trace)  # noqa: E731
        _, changes = jvp(moved, parameters, tangents[:n])
        rhs = [minus(db, change) for db, change in zip(rhs, changes, strict=True)]
    if all(db is None for db in rhs):
        return outs, [None] * len(outs)
    full = [instantiate(db, v.aval) for db, v in zip(rhs, primals[n:], strict=True)]
    solved = apply_solve(side, other, n, [*parameters, *full])
    return outs, [*solved[: len(rhs)], *[None] * (len(outs) - len(rhs))]


def minus(db: Value | None, change: Value | None) -> Value | None:
    """db - change, where `None` is zero."""
    if change is None:
        return db
    return neg(change) if db is None else add(db, neg(change))
