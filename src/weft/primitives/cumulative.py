"""cumsum, cumprod, cummax, cummin and cumlogsumexp along an axis, and linear_recurrence, which is
their derivative.

Each takes O(n) steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints, matrix
from .arithmetic import mul, neg, sub
from .comparison import eq
from .creation import full
from .elementwise import check_kind, same_dtype
from .exponential import logistic
from .monoids import (
    LOGSUMEXP,
    MAXIMUM,
    MINIMUM,
    PRODUCT,
    REDUCTION_DTYPE,
    SUM,
    Monoid,
    lowest,
    signed_zeros,
)
from .rule_types import Argument, Avals, Host, Tangent, Tangents, Values
from .selection import where
from .slicing import concatenate, slice_
from .structural import add, batch_in_front, check_axes, linear_jvp

Combine = Callable[..., Any]


# --- running along an axis ---


def loop(
    block: Block,
    axis: int,
    reverse: bool,
    start: np.generic | None,
    step: Combine,
    *xs: Operand,
    unroll: int = 4,
) -> Operand:
    """Writes a loop along an axis: out[k] = step(out[k - 1], *(x[k] for x in xs)).

    On CPUs a loop is faster, and compiles faster, than reduce_window and an associative scan
    (benchmarks/README.md).

    Args:
      start: the value of `out` before the first step, as a scalar of the dtype; `None` to begin
        with the first element of the only `x`, because an infinite complex number times 1 has NaN.
      step: called as (block, carry, *elements, out), on slices of length one.
      unroll: the number of steps in a round, if each step computes one number.
    """
    if axis and xs[0].aval.size > 100_000:  # rows are read three times faster than columns
        order = (axis, *(i for i in range(xs[0].aval.ndim) if i != axis))
        inverse_order = tuple(sorted(range(len(order)), key=lambda i: order[i]))
        transposed = [block.transpose(x, order) for x in xs]
        return block.transpose(
            loop(block, 0, reverse, start, step, *transposed, unroll=unroll), inverse_order
        )
    array_aval = xs[0].aval.update(weak_type=False)
    n = array_aval.shape[axis]
    row = with_length(array_aval, axis, 1)
    counter = array_aval.update(shape=(), dtype=dtypes.int32)
    flag = array_aval.update(shape=(), dtype=dtypes.bool_)
    state_avals = [counter, row, array_aval, *[array_aval] * len(xs)]

    def is_unfinished(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        return [inner.compare("LT", args[0], inner.full(n, counter), flag)]

    def advance(inner: Block, args: Sequence[Operand], steps: int) -> list[Operand]:
        return take_steps(inner, axis, reverse, step, steps, *args)

    if start is None:
        start_indices = [n - 1 if reverse and i == axis else 0 for i in range(array_aval.ndim)]
        carry = block.slice(
            xs[0], start_indices, [i + m for i, m in zip(start_indices, row.shape, strict=True)]
        )
        state, n_done = [block.full(1, counter), carry, xs[0], *xs], 1
    else:
        zeros = block.constant(array_aval.dtype.type(0), array_aval)
        state, n_done = [block.full(0, counter), block.constant(start, row), zeros, *xs], 0
    steps = unroll if row.size == 1 and n >= 64 else 1
    for _ in range((n - n_done) % steps):
        state = advance(block, state, 1)
    rounds = block.region(state_avals, lambda inner, args: advance(inner, args, steps))
    results = block.op(
        "while", *state, out=state_avals, regions=[block.region(state_avals, is_unfinished), rounds]
    )
    return results[2]


def take_steps(
    block: Block,
    axis: int,
    reverse: bool,
    step: Combine,
    steps: int,
    count: Operand,
    carry: Operand,
    out: Operand,
    *xs: Operand,
) -> list[Operand]:
    """Writes some steps of a loop after the first `count`; returns the state after them."""
    counter, row, out_aval = count.aval, carry.aval, out.aval
    window = with_length(out_aval, axis, steps)
    start_index = count
    if reverse:
        last_start = block.full(out_aval.shape[axis] - steps, counter)
        start_index = block.elementwise("subtract", (last_start, count), counter)
    indices = [start_index if i == axis else block.full(0, counter) for i in range(out_aval.ndim)]
    sizes = f"slice_sizes = {ints(window.shape)}"
    windows = [block.op("dynamic_slice", x, *indices, out=window, attributes=sizes) for x in xs]
    rows = []
    for k in range(steps):
        row_number = steps - 1 - k if reverse else k
        start = [row_number if i == axis else 0 for i in range(out_aval.ndim)]
        limit = [i + m for i, m in zip(start, row.shape, strict=True)]
        carry = step(block, carry, *[block.slice(x, start, limit) for x in windows], row)
        rows.append(carry)
    result = rows[0]
    if steps > 1:
        dimension = f"dimension = {axis} : i64"
        rows_in_order = rows[::-1] if reverse else rows
        result = block.op("concatenate", *rows_in_order, out=window, attributes=dimension)
    out = block.op("dynamic_update_slice", out, result, *indices, out=out_aval)
    count = block.elementwise("add", (count, block.full(steps, counter)), counter)
    return [count, carry, out, *xs]


def with_length(array_aval: Aval, axis: int, n: int) -> Aval:
    """The aval with another length along an axis."""
    return array_aval.update(shape=(*array_aval.shape[:axis], n, *array_aval.shape[axis + 1 :]))


def write_prefix_windows(
    block: Block, axis: int, reverse: bool, monoid: Monoid, x: Operand
) -> Operand:
    """Writes a window reduction in which the window of each element ends there. XLA's GPU and TPU
    compilers recognise this form and run it fast."""
    array_aval = x.aval.update(weak_type=False)
    n = array_aval.shape[axis]
    window = [n if i == axis else 1 for i in range(array_aval.ndim)]
    edge = (0, n - 1) if reverse else (n - 1, 0)
    padding = [edge if i == axis else (0, 0) for i in range(array_aval.ndim)]
    scalar = array_aval.update(shape=())
    identity = monoid.identity(array_aval.dtype)
    flag = scalar.update(dtype=dtypes.bool_)

    def combine(inner: Block, xs: Sequence[Operand]) -> list[Operand]:
        combination = monoid.write(inner, xs[0], xs[1], scalar)
        if not (monoid is PRODUCT and dtypes.is_complex(array_aval.dtype)):
            return [combination]
        one = inner.constant(identity, scalar)  # an infinite complex number times 1 has a NaN
        for operand, x in (xs, xs[::-1]):
            combination = inner.select(inner.compare("EQ", operand, one, flag), x, combination)
        return [combination]

    (result,) = block.op(
        "reduce_window",
        x,
        block.constant(identity, scalar),
        out=[array_aval],
        attributes=f"window_dimensions = {ints(window)}, padding = {matrix(padding)}",
        regions=[block.region([scalar] * 2, combine)],
    )
    return result


def cumulative(name: str, doc: str, monoid: Monoid, *, accepts: str) -> Primitive:
    """A primitive that combines each element with all before it (`reverse`: after it).

    Args:
      accepts: one of `families.KINDS`.
    """
    ufunc = monoid.ufunc
    primitive = Primitive(name, doc, host="always")

    def type_rule(x: Aval, *, axis: int, reverse: bool) -> Aval:
        check_kind(name, accepts, x)
        check_axes(name, x, (axis,))
        return x

    def evaluate_rule(x: Host, *, axis: int, reverse: bool) -> Host:
        dtype = x.dtype
        wide_dtype = REDUCTION_DTYPE.get(dtype)
        if wide_dtype is not None:
            x = x.astype(wide_dtype)
        if reverse:
            x = np.flip(x, axis)
        result = ufunc.accumulate(x, axis=axis, dtype=x.dtype)
        if ufunc in (np.maximum, np.minimum) and np.count_nonzero(result) != result.size:
            result = signed_zeros(ufunc, np.logical_or.accumulate, x, axis, result)
        if reverse:
            result = np.flip(result, axis)
        return result if wide_dtype is None else result.astype(dtype)

    def lower_rule(block: Block, x: Operand, out: Aval, axis: int, reverse: bool) -> Operand:
        if x.aval.size <= 1 or x.aval.shape[axis] <= 1:
            return x
        x = block.convert(x, REDUCTION_DTYPE.get(out.dtype, out.dtype))  # rounded once, at the end
        if block.module.platform == "cpu":
            unroll = 1 if monoid is LOGSUMEXP else 4  # whose steps are long
            result = loop(block, axis, reverse, None, monoid.write, x, unroll=unroll)
        else:
            result = write_prefix_windows(block, axis, reverse, monoid, x)
        return block.convert(result, out.dtype)

    primitive.type(type_rule)
    primitive.evaluate(evaluate_rule)
    primitive.lower(lower_rule)
    primitive.batch(batch_in_front(primitive, "axis"))
    return primitive


# --- linear_recurrence ---

linear_recurrence = Primitive(
    "linear_recurrence",
    "out[k] = a[k] * out[k - 1] + b[k] along `axis`, from 0; backwards if `reverse`.",
    host="other",
)


@linear_recurrence.type
def _(a: Aval, b: Aval, *, axis: int, reverse: bool) -> Aval:
    same_dtype("linear_recurrence", a, b)
    check_kind("linear_recurrence", "inexact", a, b)
    check_axes("linear_recurrence", b, (axis,))
    if a.shape != b.shape:
        raise ShapeError(f"linear_recurrence: operands must have one shape; got {a} and {b}")
    return b.strong()


@linear_recurrence.host.work
def _(avals: Avals, outs: Avals, *, axis: int, reverse: bool) -> int:
    return max(1000 * avals[0].shape[axis], avals[0].size)  # a Python loop


@linear_recurrence.evaluate
def _(a: Host, b: Host, *, axis: int, reverse: bool) -> Host:
    wide_dtype = REDUCTION_DTYPE.get(b.dtype, b.dtype)
    factors = np.moveaxis(a, axis, 0).astype(wide_dtype)
    rows = np.moveaxis(b, axis, 0).astype(wide_dtype)
    out = np.empty_like(rows)
    carry = None
    for k in range(len(rows) - 1, -1, -1) if reverse else range(len(rows)):
        carry = out[k] = rows[k] if carry is None else factors[k] * carry + rows[k]
    return np.moveaxis(out, 0, axis).astype(b.dtype)


@linear_recurrence.lower
def _(block: Block, a: Operand, b: Operand, out: Aval, axis: int, reverse: bool) -> Operand:
    if out.size == 0:
        return b

    def step(inner: Block, carry: Operand, factor: Operand, x: Operand, row: Aval) -> Operand:
        return inner.elementwise(
            "add", (inner.elementwise("multiply", (factor, carry), row), x), row
        )

    wide_dtype = REDUCTION_DTYPE.get(out.dtype, out.dtype)
    a, b = block.convert(a, wide_dtype), block.convert(b, wide_dtype)
    # nothing precedes the first element, so its factor is ignored, even if it is infinite
    array_aval = a.aval.update(dtype=dtypes.int32)
    end = block.full(array_aval.shape[axis] - 1 if reverse else 0, array_aval)
    is_first = block.compare(
        "EQ", block.iota(array_aval, axis), end, array_aval.update(dtype=dtypes.bool_)
    )
    a = block.select(is_first, block.full(0, a.aval), a)
    return block.convert(loop(block, axis, reverse, wide_dtype.type(0), step, a, b), out.dtype)


@linear_recurrence.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, axis: int, reverse: bool) -> Tangent:
    a, _ = primals
    da, db = tangents
    total = db
    if da is not None:
        total = mul(da, shift_by_one(out, axis, reverse, 0))
        total = total if db is None else add(total, db)
    return linear_recurrence(a, total, axis=axis, reverse=reverse)


@linear_recurrence.transpose
def _(ct: Value, a: Argument, b: Argument, *, axis: int, reverse: bool) -> Tangents:
    if isinstance(a, Aval):
        raise TypeError("linear_recurrence: is linear in its second operand only")
    ct_b = linear_recurrence(
        shift_by_one(a, axis, not reverse, 0), ct, axis=axis, reverse=not reverse
    )
    return None, ct_b


linear_recurrence.batch(batch_in_front(linear_recurrence, "axis"))


def shift_by_one(x: Value, axis: int, reverse: bool, edge_value: float | np.generic) -> Value:
    """The array shifted by one along an axis, with `edge_value` first (last if `reverse`)."""
    n = x.shape[axis]
    if not n:
        return x
    edge = full(
        x.aval.update(shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]), weak_type=False), edge_value
    )
    start = tuple(int(reverse) if i == axis else 0 for i in range(x.ndim))
    limit = tuple(s + m - (i == axis) for i, (s, m) in enumerate(zip(start, x.shape, strict=True)))
    remaining_elements = slice_(x, start=start, limit=limit, strides=(1,) * x.ndim)
    return concatenate(
        *((remaining_elements, edge) if reverse else (edge, remaining_elements)), dimension=axis
    )


# --- the running reductions ---

cumsum = cumulative("cumsum", "Cumulative sum along `axis`.", SUM, accepts="number")


cumsum.jvp(linear_jvp(cumsum))


@cumsum.transpose
def _(ct: Value, x: Argument, *, axis: int, reverse: bool) -> Tangents:
    return (cumsum(ct, axis=axis, reverse=not reverse),)


cumprod = cumulative("cumprod", "Cumulative product along `axis`.", PRODUCT, accepts="number")


@cumprod.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, axis: int, reverse: bool) -> Tangent:
    (x,), (dx,) = primals, tangents
    contribution = mul(dx, shift_by_one(out, axis, reverse, 1))
    return linear_recurrence(x, contribution, axis=axis, reverse=reverse)


cummax = cumulative("cummax", "Cumulative maximum along `axis`.", MAXIMUM, accepts="any")
cummin = cumulative("cummin", "Cumulative minimum along `axis`.", MINIMUM, accepts="any")


def _cumulative_extreme_jvp(
    primals: Values, tangents: Tangents, out: Value, *, axis: int, reverse: bool
) -> Tangent:
    """An element that equals the extreme before it shares the derivative with it equally."""
    (x,), (dx,) = primals, tangents
    one = out.aval.update(shape=(), weak_type=False)
    is_tie = eq(
        shift_by_one(out, axis, reverse, np.nan), out
    )  # NaN: nothing comes before the first
    weight = where(eq(x, out), where(is_tie, full(one, 0.5), full(one, 1)), full(one, 0))
    return linear_recurrence(sub(full(one, 1), weight), mul(dx, weight), axis=axis, reverse=reverse)


cummax.jvp(_cumulative_extreme_jvp)
cummin.jvp(_cumulative_extreme_jvp)

cumlogsumexp = cumulative(
    "cumlogsumexp", "Cumulative logarithm of the sum of exponentials along `axis`.", LOGSUMEXP,
    accepts="float",
)  # fmt: skip


@cumlogsumexp.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, axis: int, reverse: bool) -> Tangent:
    (x,), (dx,) = primals, tangents
    # these weights, functions of (element - sum before it), add up to exactly one
    scalar = out.aval.update(shape=(), weak_type=False)
    low = lowest(out.dtype)
    is_lowest = eq(out, full(scalar, low))
    difference = sub(x, shift_by_one(out, axis, reverse, low))
    difference = where(is_lowest, full(scalar, 0), difference)
    weight_of_element = where(is_lowest, full(scalar, 0), logistic(difference))
    weight_of_sum = logistic(neg(difference))
    return linear_recurrence(weight_of_sum, mul(dx, weight_of_element), axis=axis, reverse=reverse)
