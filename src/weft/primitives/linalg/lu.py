"""lu and lu_pivots_to_permutation: triangular factors of any matrix, with partial pivoting.

It uses LAPACK's or cuSOLVER's getrf, and `portable/lu.py` elsewhere. Other decompositions use
`permuted_rows` and `solve_by_lu`."""

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval, aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...lazy import Deferred
from ...stablehlo import Block, Operand
from ..arithmetic import mul, sub
from ..creation import full, iota, zeros
from ..dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..indexing import gather, scatter
from ..portable.lowering import lowered_algorithm, repeated_while, write_values
from ..portable.lu import portable_lu
from ..rule_types import Argument, Avals, Batched, Host, Tangents, Values
from ..slicing import concatenate, slice_
from ..sorting import take_along
from ..structural import add, convert_element_type, reshape, transpose, with_batch_axis
from .matrix_operations import identities, part_of, product_of
from .solver_calls import check_matrices, cusolver, has_cusolver, has_lapack, integers, lapack, work
from .triangular_solve import triangular_solve

# --- lu_pivots_to_permutation ---

lu_pivots_to_permutation = Primitive(
    "lu_pivots_to_permutation",
    "The permutation of rows that results from a sequence of row exchanges.",
)


@lu_pivots_to_permutation.type
def _(pivots: Aval, *, permutation_size: int) -> Aval:
    name = "lu_pivots_to_permutation"
    if pivots.ndim < 1 or not dtypes.is_integer(pivots.dtype):
        raise ShapeError(f"{name}: pivots must be a stack of integer vectors; got {pivots}")
    if permutation_size < pivots.shape[-1]:
        raise ShapeError(
            f"{name}: permutation_size must be at least the number of pivots; got "
            f"{permutation_size} for {pivots}"
        )
    return pivots.update(shape=(*pivots.shape[:-1], permutation_size), weak_type=False)


@lu_pivots_to_permutation.host.work
def _(avals: Avals, outs: Avals, **params: Any) -> int:
    return 500 * int(avals[0].shape[-1])  # a Python loop over the swaps


@lu_pivots_to_permutation.evaluate
def _(pivots: Host, *, permutation_size: int) -> Host:
    batch = pivots.shape[:-1]
    permutations = np.broadcast_to(
        np.arange(permutation_size, dtype=pivots.dtype), (*batch, permutation_size)
    )
    permutations = np.array(permutations).reshape(-1, permutation_size)
    rows = np.arange(len(permutations))
    swaps = pivots.reshape(len(permutations), -1)
    for i in range(swaps.shape[-1]):
        j = swaps[:, i]
        column = permutations[:, i].copy()
        permutations[:, i] = permutations[rows, j]
        permutations[rows, j] = column
    return permutations.reshape(*batch, permutation_size)


@lu_pivots_to_permutation.lower
def _(block: Block, pivots: Operand, out: Aval, permutation_size: int) -> Operand:
    if out.size == 0 or pivots.aval.size == 0:
        return block.iota(out, out.ndim - 1)
    if has_cusolver(block) and out.dtype == dtypes.int32:
        target = "cu_lu_pivots_to_permutation"
        return cusolver(block, target, [pivots], [out], "V>V")[0]
    return write_values(block, lambda p: [permutations_of(p, permutation_size)], [pivots])[0]


def permutations_of(pivots: Value, size: int) -> Value:
    """Computes a stack of permutations, one exchange a step in all of them. They are stored in a
    flat array, in which equal positions of all permutations are contiguous."""
    *batch, k = pivots.shape
    count = math.prod(batch)
    vector = aval((count,), dtypes.int32)
    indices = reshape(convert_element_type(pivots, dtype=dtypes.int32), shape=(count, k))
    lane = iota(dtype=dtypes.int32, shape=(k, count), dimension=1)
    indices = add(mul(transpose(indices, permutation=(1, 0)), full(lane.aval, count)), lane)
    permutations = iota(dtype=dtypes.int32, shape=(size, count), dimension=0)

    def step(i: Value, permutations: Value, indices: Value) -> tuple[Value, Value]:
        start = mul(i, full(i.aval, count))
        elements, targets = (
            dynamic_slice(x, start, sizes=vector.shape) for x in (permutations, indices)
        )
        target_elements = take_along(permutations, targets, 0)
        permutations = dynamic_update_slice(permutations, target_elements, start)
        return replace_elements(permutations, targets, elements), indices

    vectors = [reshape(x, shape=(x.size,)) for x in (permutations, indices)]
    permutations, _ = repeated_while(k, None, step, vectors)
    permutations = transpose(reshape(permutations, shape=(size, count)), permutation=(1, 0))
    permutations = reshape(permutations, shape=(*batch, size))
    return convert_element_type(permutations, dtype=pivots.dtype)


def replace_elements(x: Value, positions: Value, updates: Value) -> Value:
    """A vector with elements replaced at distinct positions."""
    return scatter(
        x,
        reshape(positions, shape=(*positions.shape, 1)),
        updates,
        dimension_numbers=ScatterDimensionNumbers(
            update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


@lu_pivots_to_permutation.batch
def _(args: Values, batched: Batched, batch_size: int, *, permutation_size: int) -> Value:
    return lu_pivots_to_permutation(args[0], permutation_size=permutation_size)


# --- permuted_rows ---

permuted_rows = Primitive("permuted_rows", "The rows of matrices, in an order for each matrix.")


@permuted_rows.type
def _(x: Aval, order: Aval) -> Aval:
    if order.shape != x.shape[:-1] or not dtypes.is_integer(order.dtype):
        raise ShapeError(f"permuted_rows: order must have a place for each row; got {order} of {x}")
    return x.strong()


@permuted_rows.evaluate
def _(x: Host, order: Host) -> Host:
    return np.take_along_axis(x, order[..., None], -2)


@permuted_rows.lower
def _(block: Block, x: Operand, order: Operand, out: Aval) -> Operand:
    n = out.ndim
    batch = tuple(range(n - 2))
    numbers = GatherDimensionNumbers(
        offset_dims=(n - 1,),
        collapsed_slice_dims=(n - 2,),
        start_index_map=(n - 2,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )

    def rows(x: Value, order: Value) -> list[Value]:
        return [
            gather(
                x,
                reshape(order, shape=(*order.shape, 1)),
                dimension_numbers=numbers,
                slice_sizes=(*[1] * (n - 1), x.shape[-1]),
                indices_are_sorted=False,
                unique_indices=True,
                mode=GatherScatterMode.PROMISE_IN_BOUNDS,
                fill_value=None,
            )
        ]

    return write_values(block, rows, [x, order])[0]


permuted_rows.jvp(lambda primals, tangents, out: permuted_rows(tangents[0], primals[1]))


@permuted_rows.transpose
def _(ct: Value, x: Argument, order: Argument) -> Tangents:
    # a scatter would be a loop on a CPU
    return permuted_rows(ct, inverse_permutation(order)), None


@permuted_rows.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return permuted_rows(*with_batch_axis(args, batched, batch_size))


def inverse_permutation(order: Any) -> Value:
    """The inverses of a stack of permutations, by one scatter."""
    if not order.size:
        return order
    shape, n = order.shape, order.shape[-1]
    rows = iota(dtype=order.dtype, shape=(order.size // n, n), dimension=0)
    indices = add(mul(rows, full(rows.aval, n)), reshape(order, shape=rows.shape))
    positions = iota(dtype=order.dtype, shape=rows.shape, dimension=1)
    indices, positions = (reshape(x, shape=(order.size,)) for x in (indices, positions))
    return reshape(replace_elements(zeros(positions.aval), indices, positions), shape=shape)


# --- lu ---

lu = Primitive(
    "lu",
    "L and U in one matrix, exchanges of rows, and the permutation: x[permutation] = L U.",
    multiple=True,
)
scipy_lapack = Deferred("scipy.linalg.lapack")


@lu.type
def _(x: Aval) -> Avals:
    check_matrices("lu", x)
    m, n = x.shape[-2:]
    return x.strong(), integers(x, min(m, n)), integers(x, m)


@lu.host.work
def _(avals: Avals, outs: Avals) -> int:
    return work(avals[0])


@lu.evaluate
def _(x: Host) -> list[Host]:
    double = x.astype(np.promote_types(x.dtype, np.float64))
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    factors, pivots = np.zeros(x.shape, x.dtype), np.zeros((*batch, min(m, n)), np.int32)
    order = np.zeros((*batch, m), np.int32)
    (getrf,) = scipy_lapack.get_lapack_funcs(("getrf",), (double,))
    for index in np.ndindex(batch):
        if double[index].size:
            factors[index], pivots[index], _ = getrf(double[index])
        rows = [*range(m)]
        for i, j in enumerate(pivots[index].tolist()):
            rows[i], rows[j] = rows[j], rows[i]
        order[index] = rows
    return [factors, pivots, order]


@lu.lower
def _(block: Block, x: Operand, out: Avals) -> list[Operand]:
    factors_aval, pivots_aval, order_aval = out
    if factors_aval.size == 0:
        return [x, block.full(0, pivots_aval), block.iota(order_aval, order_aval.ndim - 1)]
    outs = [factors_aval, pivots_aval, pivots_aval.update(shape=pivots_aval.shape[:-1])]
    if has_lapack(block):
        factors, swaps, _ = lapack(block, "getrf", [x], outs, "M>MVV", aliases={0: 0})
    elif has_cusolver(block):
        target = "cusolver_getrf_ffi"
        factors, swaps, _ = cusolver(block, target, [x], outs, "M>MVV", aliases={0: 0})
    else:
        return list(lowered_algorithm(portable_lu)(block, x, out=out))
    swaps = block.elementwise(
        "subtract", (swaps, block.full(1, pivots_aval)), pivots_aval
    )  # from 0
    n_rows = order_aval.shape[-1]
    rule: Any = lu_pivots_to_permutation.lower_rule
    return [factors, swaps, rule(block, swaps, out=order_aval, permutation_size=n_rows)]


@lu.jvp
def _(primals: Values, tangents: Values, out: Values) -> Tangents:
    """Uses L⁻¹ dx U⁻¹ = L⁻¹ dL + dU U⁻¹ for x[permutation] = L U. For square factors the two terms
    are a strictly lower and an upper triangle. The remaining rows or columns follow from the square
    part."""
    (dx,), (factors, _, order) = tangents, out
    dx = permuted_rows(dx, order)
    m, n = factors.shape[-2:]
    k = min(m, n)
    square = corner(factors, k, k)
    identity = identities(factors.aval, k)
    lower = add(part_of(square, "strictly lower"), identity)
    upper = part_of(square, "upper")
    product = solve_with_factor(square, corner(dx, k, k), left=True)
    product = solve_with_factor(square, product, left=False)
    d_lower = product_of(lower, part_of(product, "strictly lower"))
    d_upper = product_of(part_of(product, "upper"), upper)
    total = add(d_lower, d_upper)
    if m > n:  # L₂ U = x₂
        rows_below = sub(
            trailing_block(dx, k, 0), product_of(trailing_block(factors, k, 0), d_upper)
        )
        total = concatenate(
            total, solve_with_factor(square, rows_below, left=False), dimension=dx.ndim - 2
        )
    elif n > m:  # L U₂ = x₂
        columns_beside = sub(
            trailing_block(dx, 0, k), product_of(d_lower, trailing_block(factors, 0, k))
        )
        total = concatenate(
            total, solve_with_factor(square, columns_beside, left=True), dimension=dx.ndim - 1
        )
    return total, None, None


def solve_with_factor(factors: Value, b: Value, left: bool) -> Value:
    """L⁻¹ b or b U⁻¹, with L or U from the packed factors."""
    return triangular_solve(
        factors,
        b,
        left_side=left,
        lower=left,
        unit_diagonal=left,
        transpose_a=False,
        conjugate_a=False,
    )


def solve_by_lu(a: Value, b: Value) -> Value:
    """The solutions x of a x = b, for stacks of square matrices."""
    factors, _, order = lu(a)
    return solve_with_lu(factors, order, b)


def solve_with_lu(factors: Value, order: Value, b: Value) -> Value:
    """The solutions of a x = b, from the factors of a."""
    l_solution = solve_with_factor(factors, permuted_rows(b, order), left=True)
    return triangular_solve(
        factors,
        l_solution,
        left_side=True,
        lower=False,
        unit_diagonal=False,
        transpose_a=False,
        conjugate_a=False,
    )


def corner(x: Value, rows: int, columns: int) -> Value:
    """The first rows and columns of a stack of matrices."""
    return window(x, 0, rows, 0, columns)


def trailing_block(x: Value, rows: int, columns: int) -> Value:
    """A stack of matrices without the first rows and columns."""
    m, n = x.shape[-2:]
    return window(x, rows, m, columns, n)


def window(x: Value, top: int, bottom: int, left: int, right: int) -> Value:
    """Some rows and columns of a stack of matrices."""
    batch = x.shape[:-2]
    if (top, left) == (0, 0) and x.shape[-2:] == (bottom, right):
        return x
    start, limit = (*[0] * len(batch), top, left), (*batch, bottom, right)
    return slice_(x, start=start, limit=limit, strides=(1,) * x.ndim)


@lu.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return lu(args[0])
