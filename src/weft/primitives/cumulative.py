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
    together: int = 4,
) -> Operand:
    """Writes a loop along an axis: out[k] = step(out[k - 1], *(x[k] for x in xs)).

    On CPUs a loop is faster, and compiles faster, than reduce_window and an associative scan
    (benchmarks/README.md).

    Args:
      start: the value of `out` before the first step, as a scalar of the dtype; `None` to begin
        with the first element of the only `x`, because an infinite complex number times 1 has NaN.
      step: called as (block, before, *now, out), on slices of length one.
      together: the number of steps in a round, if each step computes one number.
    """
    if axis and xs[0].aval.size > 100_000:  # rows are read three times faster than columns
        order = (axis, *(i for i in range(xs[0].aval.ndim) if i != axis))
        back = tuple(sorted(range(len(order)), key=lambda i: order[i]))
        transposed = [block.transpose(x, order) for x in xs]
        return block.transpose(
            loop(block, 0, reverse, start, step, *transposed, together=together), back
        )
    array_aval = xs[0].aval.update(weak_type=False)
    n = array_aval.shape[axis]
    row = of_length(array_aval, axis, 1)
    counter = array_aval.update(shape=(), dtype=dtypes.int32)
    flag = array_aval.update(shape=(), dtype=dtypes.bool_)
    carried = [counter, row, array_aval, *[array_aval] * len(xs)]

    def going(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        return [inner.compare("LT", args[0], inner.full(n, counter), flag)]

    def advance(inner: Block, args: Sequence[Operand], steps: int) -> list[Operand]:
        return take_steps(inner, axis, reverse, step, steps, *args)

    if start is None:
        first = [n - 1 if reverse and i == axis else 0 for i in range(array_aval.ndim)]
        before = block.slice(xs[0], first, [i + m for i, m in zip(first, row.shape, strict=True)])
        state, done = [block.full(1, counter), before, xs[0], *xs], 1
    else:
        nothing = block.constant(array_aval.dtype.type(0), array_aval)
        state, done = [block.full(0, counter), block.constant(start, row), nothing, *xs], 0
    steps = together if row.size == 1 and n >= 64 else 1
    for _ in range((n - done) % steps):
        state = advance(block, state, 1)
    rounds = block.region(carried, lambda inner, args: advance(inner, args, steps))
    results = block.op("while", *state, out=carried, regions=[block.region(carried, going), rounds])
    return results[2]


def take_steps(
    block: Block,
    axis: int,
    reverse: bool,
    step: Combine,
    steps: int,
    count: Operand,
    before: Operand,
    out: Operand,
    *xs: Operand,
) -> list[Operand]:
    """Writes some steps of a loop after the first `count`; returns the state after them."""
    counter, row, out_aval = count.aval, before.aval, out.aval
    window = of_length(out_aval, axis, steps)
    place = count
    if reverse:
        last = block.full(out_aval.shape[axis] - steps, counter)
        place = block.elementwise("subtract", (last, count), counter)
    at = [place if i == axis else block.full(0, counter) for i in range(out_aval.ndim)]
    sizes = f"slice_sizes = {ints(window.shape)}"
    now = [block.op("dynamic_slice", x, *at, out=window, attributes=sizes) for x in xs]
    rows = []
    for k in range(steps):
        first = steps - 1 - k if reverse else k
        start = [first if i == axis else 0 for i in range(out_aval.ndim)]
        limit = [i + m for i, m in zip(start, row.shape, strict=True)]
        before = step(block, before, *[block.slice(x, start, limit) for x in now], row)
        rows.append(before)
    result = rows[0]
    if steps > 1:
        along = f"dimension = {axis} : i64"
        ordered = rows[::-1] if reverse else rows
        result = block.op("concatenate", *ordered, out=window, attributes=along)
    out = block.op("dynamic_update_slice", out, result, *at, out=out_aval)
    count = block.elementwise("add", (count, block.full(steps, counter)), counter)
    return [count, before, out, *xs]


def of_length(whole: Aval, axis: int, n: int) -> Aval:
    """The aval with another length along an axis."""
    return whole.update(shape=(*whole.shape[:axis], n, *whole.shape[axis + 1 :]))


def write_prefix_windows(
    block: Block, axis: int, reverse: bool, monoid: Monoid, x: Operand
) -> Operand:
    """Writes a window reduction in which the window of each element ends there. XLA's GPU and TPU
    compilers recognise this form and run it fast."""
    array_aval = x.aval.update(weak_type=False)
    n = array_aval.shape[axis]
    size = [n if i == axis else 1 for i in range(array_aval.ndim)]
    edge = (0, n - 1) if reverse else (n - 1, 0)
    padding = [edge if i == axis else (0, 0) for i in range(array_aval.ndim)]
    scalar = array_aval.update(shape=())
    identity = monoid.identity(array_aval.dtype)
    flag = scalar.update(dtype=dtypes.bool_)

    def combined(inner: Block, xs: Sequence[Operand]) -> list[Operand]:
        both = monoid.write(inner, xs[0], xs[1], scalar)
        if not (monoid is PRODUCT and dtypes.is_complex(array_aval.dtype)):
            return [both]
        one = inner.constant(identity, scalar)  # an infinite complex number times 1 has a NaN
        for before, x in (xs, xs[::-1]):
            both = inner.select(inner.compare("EQ", before, one, flag), x, both)
        return [both]

    (result,) = block.op(
        "reduce_window",
        x,
        block.constant(identity, scalar),
        out=[array_aval],
        attributes=f"window_dimensions = {ints(size)}, padding = {matrix(padding)}",
        regions=[block.region([scalar] * 2, combined)],
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
            together = 1 if monoid is LOGSUMEXP else 4  # whose steps are long
            result = loop(block, axis, reverse, None, monoid.write, x, together=together)
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
    before = None
    for k in range(len(rows) - 1, -1, -1) if reverse else range(len(rows)):
        before = out[k] = rows[k] if before is None else factors[k] * before + rows[k]
    return np.moveaxis(out, 0, axis).astype(b.dtype)


@linear_recurrence.lower
def _(block: Block, a: Operand, b: Operand, out: Aval, axis: int, reverse: bool) -> Operand:
    if out.size == 0:
        return b

    def step(inner: Block, before: Operand, factor: Operand, x: Operand, row: Aval) -> Operand:
        return inner.elementwise(
            "add", (inner.elementwise("multiply", (factor, before), row), x), row
        )

    wide_dtype = REDUCTION_DTYPE.get(out.dtype, out.dtype)
    a, b = block.convert(a, wide_dtype), block.convert(b, wide_dtype)
    # nothing precedes the first element, so its factor is ignored, even if it is infinite
    array_aval = a.aval.update(dtype=dtypes.int32)
    end = block.full(array_aval.shape[axis] - 1 if reverse else 0, array_aval)
    first = block.compare(
        "EQ", block.iota(array_aval, axis), end, array_aval.update(dtype=dtypes.bool_)
    )
    a = block.select(first, block.full(0, a.aval), a)
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
    back = linear_recurrence(
        shift_by_one(a, axis, not reverse, 0), ct, axis=axis, reverse=not reverse
    )
    return None, back


linear_recurrence.batch(batch_in_front(linear_recurrence, "axis"))


def shift_by_one(x: Value, axis: int, reverse: bool, first: float | np.generic) -> Value:
    """The array shifted by one along an axis, with `first` in front (at the end if `reverse`)."""
    n = x.shape[axis]
    if not n:
        return x
    edge = full(
        x.aval.update(shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]), weak_type=False), first
    )
    start = tuple(int(reverse) if i == axis else 0 for i in range(x.ndim))
    limit = tuple(s + m - (i == axis) for i, (s, m) in enumerate(zip(start, x.shape, strict=True)))
    remaining = slice_(x, start=start, limit=limit, strides=(1,) * x.ndim)
    return concatenate(*((remaining, edge) if reverse else (edge, remaining)), dimension=axis)


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
    share = mul(dx, shift_by_one(out, axis, reverse, 1))
    return linear_recurrence(x, share, axis=axis, reverse=reverse)


cummax = cumulative("cummax", "Cumulative maximum along `axis`.", MAXIMUM, accepts="any")
cummin = cumulative("cummin", "Cumulative minimum along `axis`.", MINIMUM, accepts="any")


def _cumulative_extreme_jvp(
    primals: Values, tangents: Tangents, out: Value, *, axis: int, reverse: bool
) -> Tangent:
    """An element that equals the extreme before it shares the derivative with it equally."""
    (x,), (dx,) = primals, tangents
    one = out.aval.update(shape=(), weak_type=False)
    tied = eq(shift_by_one(out, axis, reverse, np.nan), out)  # NaN: nothing comes before the first
    weight = where(eq(x, out), where(tied, full(one, 0.5), full(one, 1)), full(one, 0))
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
    nothing = eq(out, full(scalar, low))
    above = sub(x, shift_by_one(out, axis, reverse, low))
    above = where(nothing, full(scalar, 0), above)
    here = where(nothing, full(scalar, 0), logistic(above))
    there = logistic(neg(above))
    return linear_recurrence(there, mul(dx, here), axis=axis, reverse=reverse)
