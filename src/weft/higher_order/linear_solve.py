"""The linear_solve primitive: A x = b by a user's solver, differentiated by the implicit rule.

A is a linear program with parameters, `matvec`: (parameters, x) -> A x. A x = b implies A dx = db -
dA x, which the same solver solves. The transpose of b -> x is a solve with Aᵀ.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

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
from ..primitives.creation import instantiate
from ..primitives.structural import add
from ..programs.transform import batch_jaxpr, not_linear, stage_pushed
from ..stablehlo import Block, Operand
from .applying import AppliesJaxpr


class Side(NamedTuple):
    """A linear map and its solver, as programs of (parameters, x) and (parameters, b)."""

    matvec: Jaxpr
    solve: Jaxpr


class SolveParams(NamedTuple):
    """The parameters of `linear_solve`, without `jaxpr`: the solver of `side`.

    Attributes:
      other: the transposed map, or `None`.
      num_params: the number of parameters of the linear map.
    """

    side: Side
    other: Side | None
    num_params: int

    def apply(self, args: Sequence[Value]) -> list[Value]:
        """Solves under the current trace; `args` are the parameters, then the right-hand side."""
        return linear_solve(*args, jaxpr=self.side.solve, **self._asdict())


class LinearSolveRules(AppliesJaxpr):
    """A user's solver of a linear map."""

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **params: object) -> list[Array]:
        return run_jaxpr(jaxpr, args)

    def lower(
        self, block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr, **params: object
    ) -> list[Operand]:
        return lower_call(block, jaxpr, operands)

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **named: Any
    ) -> Derivative | None:
        params = SolveParams(**named)

        def rule(
            trace: Trace, primals: Sequence[Value], tangents: Sequence[Value | None]
        ) -> tuple[list[Value], list[Value | None]]:
            return solve_jvp(params, primals, tangents)

        return split_jvp(rule, avals, mask, True, "linear_solve")

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **named: Any
    ) -> tuple[Jaxpr, Mask]:
        rule = functools.partial(solve_jvp, SolveParams(**named))
        return stage_pushed(rule, avals, mask, jaxpr.name)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, jaxpr: Jaxpr, **named: Any
    ) -> list[Value | None]:
        side, other, count = SolveParams(**named)
        if other is None:
            raise DerivativeError(
                "custom_linear_solve: reverse-mode differentiation needs a solver for the "
                "transposed system\n  fix: pass transpose_solve, or symmetric=True if A equals its "
                "transpose"
            )
        n_x = len(args) - count
        rhs = [
            instantiate(ct, v.aval)
            for ct, v in zip(cts[:n_x], side.solve.outvars[:n_x], strict=True)
        ]
        transposed = SolveParams(other, side, count)
        solutions = transposed.apply([*not_linear(args[:count]), *rhs])
        return [*[None] * count, *solutions[:n_x]]

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, *, jaxpr: Jaxpr, **named: Any
    ) -> list[Value]:
        side, other, count = SolveParams(**named)
        # a solution is batched if any input is; right-hand sides are solutions of the transposed
        # system
        mask = [*batched[:count], *[True] * (len(args) - count)]
        of_batch = lambda s: Side(*[batch_jaxpr(program, mask, axis) for program in s])  # noqa: E731
        params = SolveParams(of_batch(side), None if other is None else of_batch(other), count)
        return params.apply(with_batch(args, batched, mask, axis.size))


linear_solve = HigherOrder(
    "linear_solve", "Solves A x = b; x may be followed by auxiliary values.", LinearSolveRules()
)


def solve_jvp(
    params: SolveParams, primals: Sequence[Value], tangents: Sequence[Value | None]
) -> tuple[list[Value], list[Value | None]]:
    """The solution and its tangent, from A dx = db - dA x. Auxiliary values do not have a
    tangent."""
    n = params.num_params
    outs = params.apply(primals)
    parameters, rhs = primals[:n], list(tangents[n:])
    x = outs[: len(rhs)]
    if any(t is not None for t in tangents[:n]):
        matvec = lambda *ps: run(params.side.matvec, [*ps, *x], current.trace)  # noqa: E731
        _, products = jvp(matvec, parameters, tangents[:n])
        rhs = [minus(db, product) for db, product in zip(rhs, products, strict=True)]
    if all(db is None for db in rhs):
        return outs, [None] * len(outs)
    full = [instantiate(db, v.aval) for db, v in zip(rhs, primals[n:], strict=True)]
    solutions = params.apply([*parameters, *full])
    return outs, [*solutions[: len(rhs)], *[None] * (len(outs) - len(rhs))]


def minus(a: Value | None, b: Value | None) -> Value | None:
    """a - b, where `None` is zero."""
    if b is None:
        return a
    return neg(b) if a is None else add(a, neg(b))
