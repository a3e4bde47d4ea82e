"""Solutions of a x = b by what `lu` made of a. Derivatives in a don't go through `lu`."""

from typing import Any

import numpy as np

from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..arithmetic import neg
from ..portable.writing import write_values
from ..rule_types import Argument, Avals, Batched, Host, Tangent, Tangents, Values
from ..structural import add, reshape, transpose, with_batch_axis
from .factors import inverse_permutation, permuted_rows, solve_with_lu
from .native import each, work
from .triangular import triangular_solve
from .values import product_of, turned

factored_solve = Primitive(
    "factored_solve",
    "Solves a x = b, or with `transposed` aᵀ x = b, by factors and permutation of a from `lu`.",
)


@factored_solve.type
def _(factors: Aval, order: Aval, a: Aval, b: Aval, *, transposed: bool) -> Aval:
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or factors.shape != a.shape:
        raise ShapeError(f"factored_solve: {b} doesn't fit {a} with factors {factors}")
    return b.strong()


@factored_solve.host_when
def _(avals: Avals, outs: Avals, **params: Any) -> bool:
    return work(avals[2]) + outs[0].size <= 100_000


@factored_solve.evaluate
def _(factors: Host, order: Host, a: Host, b: Host, *, transposed: bool) -> Host:
    out = Aval(b.shape, b.dtype)
    matrix = a.swapaxes(-1, -2) if transposed else a
    return each(lambda x, y: [np.linalg.solve(x, y)], [out], matrix, b)[0]


@factored_solve.lower
def _(
    block: Block,
    factors: Operand,
    order: Operand,
    a: Operand,
    b: Operand,
    out: Aval,
    transposed: bool,
) -> Operand:
    if out.size == 0:
        return b
    solve = transposed_solution if transposed else solve_with_lu
    return write_values(block, lambda *xs: [solve(*xs)], [factors, order, b])[0]


def transposed_solution(factors: Value, order: Value, b: Value) -> Value:
    """The solutions of aᵀ x = b, with what `lu` made of a."""
    for lower in (False, True):
        b = triangular_solve(
            factors,
            b,
            left_side=True,
            lower=lower,
            unit_diagonal=lower,
            transpose_a=True,
            conjugate_a=False,
        )
    return permuted_rows(b, inverse_permutation(order))


@factored_solve.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, transposed: bool) -> Tangent:
    """a dx = db - da x; the factors have no tangents: what depends on them depends on a."""
    factors, order, a, _ = primals
    *_, da, db = tangents
    if da is not None:
        da = turned(da) if transposed else da
        change = neg(product_of(da, out))
        db = change if db is None else add(db, change)
    if db is None:
        return None
    return factored_solve(factors, order, a, db, transposed=transposed)  # type: ignore[no-any-return]


@factored_solve.transpose
def _(
    ct: Value, factors: Argument, order: Argument, a: Argument, b: Argument, *, transposed: bool
) -> Tangents:
    return None, None, None, factored_solve(factors, order, a, ct, transposed=not transposed)


@factored_solve.batch
def _(args: Values, batched: Batched, batch_size: int, *, transposed: bool) -> Value:
    if any(batched[:3]):
        args = with_batch_axis(args, batched, batch_size)
        return factored_solve(*args, transposed=transposed)  # type: ignore[no-any-return]
    # more columns: [size, batch…, n, k] -> [batch…, n, size k]
    *matrices, b = args
    size, *front, n, k = b.shape
    last = b.ndim - 1
    b = transpose(b, permutation=(*range(1, last), 0, last))
    b = reshape(b, shape=(*front, n, size * k))
    x = factored_solve(*matrices, b, transposed=transposed)
    x = reshape(x, shape=(*front, n, size, k))
    return transpose(x, permutation=(last - 1, *range(last - 1), last))  # type: ignore[no-any-return]
