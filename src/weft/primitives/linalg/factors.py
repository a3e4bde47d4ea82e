"""lu and lu_pivots_to_permutation: triangular factors of any matrix, rows exchanged."""

from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ...stablehlo.attributes import ints
from ..arithmetic import max_, sub
from ..bitwise import bitwise_and
from ..comparison import eq, lt
from ..creation import iota
from ..dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..indexing import gather
from ..portable.triangular import portable_lu
from ..portable.writing import lowered_algorithm, write_values
from ..reduction import reduce_max
from ..rule_types import Argument, Avals, Batched, Host, Tangents, Values
from ..selection import where
from ..slicing import concatenate, slice_
from ..sorting import take_along
from ..structural import (
    add,
    broadcast_in_dim,
    convert_element_type,
    full,
    reduce_sum,
    reshape,
    with_batch_axis,
    zeros,
)
from .native import (
    check_matrices,
    cusolver,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
)
from .triangular import triangular_solve
from .values import identities, part_of, product_of

# --- lu_pivots_to_permutation ---

lu_pivots_to_permutation = Primitive(
    "lu_pivots_to_permutation", "The permutation that a sequence of exchanges of rows comes to."
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


@lu_pivots_to_permutation.host_when
def _(avals: Avals, outs: Avals, **params: Any) -> bool:
    return bool(avals[0].shape[-1] <= 32)


@lu_pivots_to_permutation.evaluate
def _(pivots: Host, *, permutation_size: int) -> Host:
    batch = pivots.shape[:-1]
    found = np.broadcast_to(
        np.arange(permutation_size, dtype=pivots.dtype), (*batch, permutation_size)
    )
    found = np.array(found).reshape(-1, permutation_size)
    rows = np.arange(len(found))
    swaps = pivots.reshape(len(found), -1)
    for i in range(swaps.shape[-1]):
        j = swaps[:, i]
        here = found[:, i].copy()
        found[:, i] = found[rows, j]
        found[rows, j] = here
    return found.reshape(*batch, permutation_size)


@lu_pivots_to_permutation.lower
def _(block: Block, pivots: Operand, out: Aval, permutation_size: int) -> Operand:
    n = out.ndim
    start = block.iota(out, n - 1)
    count = pivots.aval.shape[-1]
    if out.size == 0 or count == 0:
        return start
    if has_cusolver(block) and out.dtype == dtypes.int32:
        target = "cu_lu_pivots_to_permutation"
        return cusolver(block, target, [pivots], [out], "V>V")[0]
    if pivots.aval.size == count:
        return exchanges(block, pivots, start, count)
    return write_values(block, lambda p: [permutations_of(p, permutation_size)], [pivots])[0]


def exchanges(block: Block, pivots: Operand, start: Operand, count: int) -> Operand:
    """Writes the loop over exchanges, for one permutation: 0.3 us a step on XLA's CPU."""
    out = start.aval
    counter, one = out.update(shape=()), out.update(shape=(1,) * out.ndim)
    carried = [counter, out, pivots.aval]
    sizes = f"slice_sizes = {ints(one.shape)}"

    def going(inner: Block, args: Any) -> list[Operand]:
        flag = counter.update(dtype=dtypes.bool_)
        return [inner.compare("LT", args[0], inner.full(count, counter), flag)]

    def body(inner: Block, args: Any) -> list[Operand]:
        i, found, swaps = args
        front = [inner.full(0, counter)] * (out.ndim - 1)
        j = inner.op("dynamic_slice", swaps, *front, i, out=one, attributes=sizes)
        j = inner.reshape(j, ())
        here = inner.op("dynamic_slice", found, *front, i, out=one, attributes=sizes)
        there = inner.op("dynamic_slice", found, *front, j, out=one, attributes=sizes)
        found = inner.op("dynamic_update_slice", found, here, *front, j, out=out)
        found = inner.op("dynamic_update_slice", found, there, *front, i, out=out)
        return [inner.elementwise("add", (i, inner.full(1, counter)), counter), found, swaps]

    regions = [block.region(carried, going), block.region(carried, body)]
    start_at = block.full(0, counter)
    results = block.op("while", start_at, start, pivots, out=carried, regions=regions)
    found: Operand = results[1]
    return found


def permutations_of(pivots: Value, size: int) -> Value:
    """A stack of permutations, without a loop over exchanges: in half of its time on XLA's CPU.

    Step i exchanges places i and p[i] >= i, and no later step comes to place i. So what place i has
    before its step is what the last earlier step j with p[j] = i moved there: what place j had
    before its own step, and so on to a place that no step moved anything to. It is found by
    following the links j of all places at once, twice as far each time.
    """
    dtype, k, axis = pivots.dtype, pivots.shape[-1], pivots.ndim - 1
    pivots = convert_element_type(pivots, dtype=dtypes.int32)
    steps = iota(dtype=pivots.dtype, shape=pivots.shape, dimension=axis)
    root = last_earlier(pivots, steps, steps, steps)
    reach = 1
    while reach < k:
        root = take_along(root, root, axis, unique=False)
        reach *= 2
    # place i gets what place p[i] has before step i
    wide = (*pivots.shape[:-1], size)
    places = iota(dtype=pivots.dtype, shape=wide, dimension=axis)
    ends = pivots if size == k else concatenate(pivots, window_of(places, k), dimension=axis)
    none = full(places.aval, -1)
    link = last_earlier(pivots, ends, places, none)
    found = take_along(root, max_(link, zeros(link.aval)), axis, unique=False)
    found = where(lt(link, zeros(link.aval)), ends, found)
    return convert_element_type(found, dtype=dtype)  # type: ignore[no-any-return]


def window_of(x: Value, start: int) -> Value:
    """The elements from `start` on along the last axis."""
    lows = (*[0] * (x.ndim - 1), start)
    return slice_(x, start=lows, limit=x.shape, strides=(1,) * x.ndim)  # type: ignore[no-any-return]


def last_earlier(pivots: Value, ends: Value, steps: Value, otherwise: Value) -> Value:
    """For each step the last earlier one whose pivot is its `end`, if there is one."""
    shape, n = (*pivots.shape, ends.shape[-1]), pivots.ndim
    rows, columns = tuple(range(n)), (*range(n - 1), n)  # the sum runs over rows: vectors add up
    earlier = iota(dtype=pivots.dtype, shape=shape, dimension=n - 1)
    same = eq(
        broadcast_in_dim(pivots, shape=shape, dims=rows),
        broadcast_in_dim(ends, shape=shape, dims=columns),
    )
    before = lt(earlier, broadcast_in_dim(steps, shape=shape, dims=columns))
    none = full(earlier.aval.update(shape=()), -1)
    last = reduce_max(where(bitwise_and(same, before), earlier, none), axes=(n - 1,))
    return where(lt(last, zeros(last.aval)), otherwise, last)  # type: ignore[no-any-return]


@lu_pivots_to_permutation.batch
def _(args: Values, batched: Batched, batch_size: int, *, permutation_size: int) -> Value:
    return lu_pivots_to_permutation(args[0], permutation_size=permutation_size)  # type: ignore[no-any-return]


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
    return permuted_rows(*with_batch_axis(args, batched, batch_size))  # type: ignore[no-any-return]


def inverse_permutation(order: Any) -> Value:
    """The place that each element of a permutation has."""
    shape, n = (*order.shape, order.shape[-1]), order.ndim
    wide = broadcast_in_dim(order, shape=shape, dims=tuple(range(n)))
    same = eq(wide, iota(dtype=order.dtype, shape=shape, dimension=n))
    places = iota(dtype=order.dtype, shape=shape, dimension=n - 1)
    nothing = zeros(order.aval.update(shape=()))
    return reduce_sum(where(same, places, nothing), axes=(n - 1,))  # type: ignore[no-any-return]


# --- lu ---

lu = Primitive(
    "lu",
    "L and U in one matrix, exchanges of rows, and the permutation: x[permutation] = L U.",
    multiple=True,
    host_limit=0,
)


@lu.type
def _(x: Aval) -> Avals:
    check_matrices("lu", x)
    m, n = x.shape[-2:]
    return x.strong(), integers(x, min(m, n)), integers(x, m)


@lu.lower
def _(block: Block, x: Operand, out: Avals) -> list[Operand]:
    whole, pivots, order = out
    if whole.size == 0:
        return [x, block.full(0, pivots), block.iota(order, order.ndim - 1)]
    outs = [whole, pivots, pivots.update(shape=pivots.shape[:-1])]
    if has_lapack(block):
        factors, swaps, _ = lapack(block, "getrf", [x], outs, "M>MVV", aliases={0: 0})
    elif has_cusolver(block):
        target = "cusolver_getrf_ffi"
        factors, swaps, _ = cusolver(block, target, [x], outs, "M>MVV", aliases={0: 0})
    else:
        return list(lowered_algorithm(portable_lu)(block, x, out=out))
    swaps = block.elementwise("subtract", (swaps, block.full(1, pivots)), pivots)  # from 0
    size = order.shape[-1]
    rule: Any = lu_pivots_to_permutation.lower_rule
    return [factors, swaps, rule(block, swaps, out=order, permutation_size=size)]


@lu.jvp
def _(primals: Values, tangents: Values, out: Values) -> Tangents:
    """With x[permutation] = L U: L⁻¹ dx U⁻¹ = L⁻¹ dL + dU U⁻¹, a strictly lower and an upper
    triangle, of square factors; the rest of an oblong matrix follows from those."""
    (dx,), (factors, _, order) = tangents, out
    dx = permuted_rows(dx, order)
    m, n = factors.shape[-2:]
    k = min(m, n)
    square = corner(factors, k, k)
    unit = identities(factors.aval, k)
    lower = add(part_of(square, "strictly lower"), unit)
    upper = part_of(square, "upper")
    inner = solved(square, corner(dx, k, k), left=True)
    inner = solved(square, inner, left=False)
    d_lower = product_of(lower, part_of(inner, "strictly lower"))
    d_upper = product_of(part_of(inner, "upper"), upper)
    total = add(d_lower, d_upper)
    if m > n:  # L₂ U = x₂
        below = sub(rest(dx, k, 0), product_of(rest(factors, k, 0), d_upper))
        total = concatenate(total, solved(square, below, left=False), dimension=dx.ndim - 2)
    elif n > m:  # L U₂ = x₂
        beside = sub(rest(dx, 0, k), product_of(d_lower, rest(factors, 0, k)))
        total = concatenate(total, solved(square, beside, left=True), dimension=dx.ndim - 1)
    return total, None, None


def solved(factors: Value, b: Value, left: bool) -> Value:
    """L⁻¹ b, with L of the packed factors, or b U⁻¹."""
    return triangular_solve(  # type: ignore[no-any-return]
        factors,
        b,
        left_side=left,
        lower=left,
        unit_diagonal=left,
        transpose_a=False,
        conjugate_a=False,
    )


def solve_by_lu(a: Value, b: Value) -> Value:
    """The solutions x of a x = b, of stacks of square matrices."""
    factors, _, order = lu(a)
    return solve_with_lu(factors, order, b)


def solve_with_lu(factors: Value, order: Value, b: Value) -> Value:
    """The solutions of a x = b, with what `lu` made of a."""
    below = solved(factors, permuted_rows(b, order), left=True)
    return triangular_solve(  # type: ignore[no-any-return]
        factors,
        below,
        left_side=True,
        lower=False,
        unit_diagonal=False,
        transpose_a=False,
        conjugate_a=False,
    )


def corner(x: Value, rows: int, columns: int) -> Value:
    """The first rows and columns of a stack of matrices."""
    return window(x, 0, rows, 0, columns)


def rest(x: Value, rows: int, columns: int) -> Value:
    """A stack of matrices without the first rows and columns."""
    m, n = x.shape[-2:]
    return window(x, rows, m, columns, n)


def window(x: Value, top: int, bottom: int, left: int, right: int) -> Value:
    """Some rows and columns of a stack of matrices."""
    batch = x.shape[:-2]
    if (top, left) == (0, 0) and x.shape[-2:] == (bottom, right):
        return x
    start, limit = (*[0] * len(batch), top, left), (*batch, bottom, right)
    return slice_(x, start=start, limit=limit, strides=(1,) * x.ndim)  # type: ignore[no-any-return]


@lu.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return lu(args[0])  # type: ignore[no-any-return]
