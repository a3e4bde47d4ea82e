"""factored_solve and factored_inverse: solutions of a x = b and inverses, from the factors of `lu`.

The derivatives follow from x = a⁻¹ b and do not differentiate `lu`."""

from typing import Any

from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..arithmetic import neg
from ..comparison import eq
from ..creation import iota
from ..portable.lowering import write_values
from ..rule_types import Argument, Avals, Batched, Host, Tangent, Tangents, Values
from ..structural import (
    add,
    broadcast_in_dim,
    convert_element_type,
    reshape,
    transpose,
    with_batch_axis,
)
from . import numpy_lapack
from .lu import inverse_permutation, permuted_rows
from .matrix_operations import matrix_transpose, product_of
from .solver_calls import each, work
from .triangular_solve import triangular_solve

# --- factored_solve ---

factored_solve = Primitive(
    "factored_solve",
    "Solves a x = b, or aᵀ x = b if `transposed`, with the factors and permutation of a from `lu`.",
)


@factored_solve.type
def _(factors: Aval, order: Aval, a: Aval, b: Aval, *, transposed: bool) -> Aval:
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or factors.shape != a.shape:
        raise ShapeError(f"factored_solve: {b} doesn't fit {a} with factors {factors}")
    return b.strong()


@factored_solve.host.work
def _(avals: Avals, outs: Avals, **params: Any) -> int:
    return work(avals[2]) + outs[0].size


factored_solve.host.unread = (0, 1)


@factored_solve.evaluate
def _(factors: Host, order: Host, a: Host, b: Host, *, transposed: bool) -> Host:
    out = Aval(b.shape, b.dtype)
    matrix = a.swapaxes(-1, -2) if transposed else a
    return each(lambda x, y: [numpy_lapack.solve(x, y)], [out], matrix, b)[0]


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
    if not transposed:
        (b,) = write_values(block, lambda b, order: [permuted_rows(b, order)], [b, order])
        return by_triangles(block, factors, b, transposed)
    b = by_triangles(block, factors, b, transposed)
    return write_values(
        block, lambda b, order: [permuted_rows(b, inverse_permutation(order))], [b, order]
    )[0]


def by_triangles(block: Block, factors: Operand, b: Operand, transposed: bool) -> Operand:
    """The solutions of L U x = b, or (L U)ᵀ x = b."""
    for lower in (False, True) if transposed else (True, False):
        b = triangular_solve.lower_rule(  # type: ignore[misc]
            block, factors, b, out=b.aval.strong(), left_side=True, lower=lower,
            transpose_a=transposed, conjugate_a=False, unit_diagonal=lower,
        )  # fmt: skip
    return b


@factored_solve.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, transposed: bool) -> Tangent:
    """Solves a dx = db - da x. It ignores the factors' tangents, since the tangent of a determines
    them."""
    factors, order, a, _ = primals
    *_, da, db = tangents
    if da is not None:
        da = matrix_transpose(da) if transposed else da
        change = neg(product_of(da, out))
        db = change if db is None else add(db, change)
    if db is None:
        return None
    return factored_solve(factors, order, a, db, transposed=transposed)


@factored_solve.transpose
def _(
    ct: Value, factors: Argument, order: Argument, a: Argument, b: Argument, *, transposed: bool
) -> Tangents:
    return None, None, None, factored_solve(factors, order, a, ct, transposed=not transposed)


@factored_solve.batch
def _(args: Values, batched: Batched, batch_size: int, *, transposed: bool) -> Value:
    if any(batched[:3]):
        args = with_batch_axis(args, batched, batch_size)
        return factored_solve(*args, transposed=transposed)
    # more columns: [size, batch…, n, k] -> [batch…, n, size k]
    *matrices, b = args
    size, *batch_shape, n, k = b.shape
    last_axis = b.ndim - 1
    b = transpose(b, permutation=(*range(1, last_axis), 0, last_axis))
    b = reshape(b, shape=(*batch_shape, n, size * k))
    x = factored_solve(*matrices, b, transposed=transposed)
    x = reshape(x, shape=(*batch_shape, n, size, k))
    return transpose(x, permutation=(last_axis - 1, *range(last_axis - 1), last_axis))


# --- factored_inverse ---

factored_inverse = Primitive(
    "factored_inverse",
    "The inverses of a, from the factors and permutation of `lu`.",
)


@factored_inverse.type
def _(factors: Aval, order: Aval, a: Aval) -> Aval:
    if factors.shape != a.shape:
        raise ShapeError(f"factored_inverse: {a} doesn't fit factors {factors}")
    return a.strong()


@factored_inverse.host.work
def _(avals: Avals, outs: Avals, **params: Any) -> int:
    return work(avals[2])


factored_inverse.host.unread = (0, 1)


@factored_inverse.evaluate
def _(factors: Host, order: Host, a: Host) -> Host:
    return each(lambda x: [numpy_lapack.inv(x)], [Aval(a.shape, a.dtype)], a)[0]


@factored_inverse.lower
def _(block: Block, factors: Operand, order: Operand, a: Operand, out: Aval) -> Operand:
    if out.size == 0:
        return a
    (b,) = write_values(block, lambda order: [permutation_matrices(order, out)], [order])
    return by_triangles(block, factors, b, transposed=False)


def permutation_matrices(order: Value, aval: Aval) -> Value:
    """The identity with its rows in an order: ones at [i, order[i]]."""
    rows = tuple(range(order.ndim))
    order_columns = broadcast_in_dim(order, shape=aval.shape, dims=rows)
    columns = iota(dtype=order.dtype, shape=aval.shape, dimension=aval.ndim - 1)
    return convert_element_type(eq(order_columns, columns), dtype=aval.dtype)


@factored_inverse.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> Tangent:
    """-a⁻¹ da a⁻¹, computed as the solution of a system."""
    da = tangents[2]
    if da is None:
        return None
    change = neg(product_of(da, out))
    return factored_solve(*primals, change, transposed=False)


@factored_inverse.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return factored_inverse(*with_batch_axis(args, batched, batch_size))
