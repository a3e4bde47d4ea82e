"""slice_, pad, concatenate, split and rev, at static positions.

They transpose to each other: a slice to a pad, a pad and a concatenation to slices.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.primitive import Primitive, is_linear
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .arithmetic import sub
from .creation import full, instantiate
from .elementwise import lowered_in_bytes, same_dtype
from .rule_types import Argument, Avals, Batched, Host, Integers, Kernel, Tangent, Tangents, Values
from .selection import where
from .structural import batch_in_front, check_axes, linear_jvp, others, reduce_sum, reshape, widen

# --- concatenate ---

concatenate = Primitive("concatenate", "Concatenates arrays along an axis.")
concatenate.takes_keys = True


@concatenate.type
def _(*xs: Aval, dimension: int) -> Aval:
    if not xs:
        raise ValueError("concatenate: expected at least one array; got none")
    same_dtype("concatenate", *xs)
    first_aval = xs[0]
    if any(x.ndim != first_aval.ndim for x in xs):
        raise ShapeError(
            f"concatenate: arrays must have the same number of axes; got {', '.join(map(str, xs))}"
        )
    if not 0 <= dimension < first_aval.ndim:
        raise AxisError(f"concatenate: dimension {dimension} is out of range for {first_aval}")
    for x in xs:
        if any(i != dimension and n != first_aval.shape[i] for i, n in enumerate(x.shape)):
            raise ShapeError(
                f"concatenate: arrays may differ in length along dimension {dimension} only; got "
                f"{', '.join(map(str, xs))}"
            )
    shape = list(first_aval.shape)
    shape[dimension] = sum(x.shape[dimension] for x in xs)
    return first_aval.update(shape=shape, weak_type=all(x.weak_type for x in xs))


@concatenate.evaluate
def _(*xs: Host, dimension: int) -> Host:
    return np.concatenate(xs, dimension)


@concatenate.lower
@lowered_in_bytes
def _(block: Block, *xs: Operand, out: Aval, dimension: int) -> Operand:
    if len(xs) == 1:
        return xs[0]
    if is_interleaving(xs, out, dimension) and block.module.platform == "cpu":
        return interleaved(block, xs, out)
    return block.op("concatenate", *xs, out=out, attributes=f"dimension = {dimension} : i64")


def is_interleaving(xs: Sequence[Operand], out: Aval, dimension: int) -> bool:
    """True for several parts with many elements, each of length one along the last axis."""
    is_worthwhile = len(xs) <= 8 and out.size >= 1024
    return is_worthwhile and dimension == out.ndim - 1 and all(x.aval.shape[-1] == 1 for x in xs)


def interleaved(block: Block, xs: Sequence[Operand], out: Aval) -> Operand:
    """Joins the parts along a new first axis and moves it to the end.

    XLA's CPU joins along the last axis element by element, which takes three times as long for
    three parts; nine parts and more are faster joined directly.
    """
    *leading_shape, n = out.shape
    rows = [block.reshape(x, (1, *leading_shape)) for x in xs]
    stacked_aval = out.update(shape=(n, *leading_shape))
    stacked = block.op("concatenate", *rows, out=stacked_aval, attributes="dimension = 0 : i64")
    order = ints((*range(1, out.ndim), 0))
    return block.op("transpose", stacked, out=out, attributes=f"permutation = {order}")


@concatenate.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, dimension: int) -> Tangent:
    pairs = zip(tangents, primals, strict=True)
    return concatenate(*[instantiate(t, p.aval) for t, p in pairs], dimension=dimension)


@concatenate.transpose
def _(ct: Value, *xs: Argument, dimension: int) -> Tangents:
    sizes = tuple(x.shape[dimension] for x in xs)
    parts = split(ct, sizes=sizes, axis=dimension)
    return [part if is_linear(x) else None for part, x in zip(parts, xs, strict=True)]


concatenate.batch(batch_in_front(concatenate, "dimension"))


# --- pad ---

pad = Primitive(
    "pad",
    "An array padded with a scalar: `padding` has (before, after, between) for each axis; negative "
    "ones crop.",
)
pad.takes_keys = True

Padding = tuple[tuple[int, int, int], ...]


@pad.type
def _(x: Aval, value: Aval, *, padding: Padding) -> Aval:
    same_dtype("pad", x, value)
    if value.ndim:
        raise ShapeError(f"pad: the padding value must be a scalar; got {value}")
    if len(padding) != x.ndim:
        raise ShapeError(f"pad: {x} needs {x.ndim} triples of padding; got {len(padding)}")
    if any(interior < 0 for _, _, interior in padding):
        raise ShapeError(f"pad: padding between elements must not be negative; got {padding}")
    shape = tuple(
        n + low + high + interior * max(n - 1, 0)
        for n, (low, high, interior) in zip(x.shape, padding, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ShapeError(f"pad: padding {padding} cuts off more than {x} has: shape {shape}")
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def _pad_slices(shape: Integers, padding: Padding) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The slices of an operand that padding keeps, and their positions in the padded array."""
    sources, targets = [], []
    for n, (low, high, interior) in zip(shape, padding, strict=True):
        step = interior + 1
        length = n + low + high + interior * max(n - 1, 0)
        first_index = 0 if low >= 0 else -(low // step)  # ceil(-low / step)
        last_index = min(n - 1, (length - 1 - low) // step)
        count = max(last_index - first_index + 1, 0)
        position = low + first_index * step if count else 0
        sources.append(slice(first_index, first_index + count))
        targets.append(slice(position, position + count * step, step))
    return tuple(sources), tuple(targets)


@pad.evaluate
def _(x: Host, value: Host, *, padding: Padding) -> Host:
    return _pad_kernel(x, value, padding=padding)(x, value)


def _pad_kernel(x: Host | Aval, value: Host | Aval, *, padding: Padding) -> Kernel:
    sources, targets = _pad_slices(x.shape, padding)
    shape = tuple(
        n + low + high + interior * max(n - 1, 0)
        for n, (low, high, interior) in zip(x.shape, padding, strict=True)
    )
    cuts = any(s.stop - s.start != n for s, n in zip(sources, x.shape, strict=True))

    def kernel(x: Host, value: Host) -> Host:
        out = np.empty(shape, x.dtype)
        out.fill(value)
        out[targets] = x[sources] if cuts else x
        return out

    return kernel


pad.host.kernel(_pad_kernel)


@pad.lower
@lowered_in_bytes
def _(block: Block, x: Operand, value: Operand, out: Aval, padding: Padding) -> Operand:
    axis = sparse_axis(block, x, padding, out)
    if axis is None:
        return block.pad(x, value, padding)
    other_padding = [(0, 0, 0) if i == axis else p for i, p in enumerate(padding)]
    if any(map(any, other_padding)):
        x = block.pad(x, value, other_padding)
    low, _, interior = padding[axis]
    return scatter_at_steps(block, x, block.widen(value, out.shape), out, axis, low, interior + 1)


def sparse_axis(block: Block, x: Operand, padding: Padding, out: Aval) -> int | None:
    """In a program for the CPU, the only axis with space between elements, if they are at least
    eight places apart; otherwise `None`."""
    spaced_axes = [i for i, (_, _, interior) in enumerate(padding) if interior]
    if len(spaced_axes) != 1 or block.module.platform != "cpu" or block.module.meshes is not None:
        return None
    low, high, interior = padding[spaced_axes[0]]
    is_dense = interior < 7 or min(low, high) < 0 or not x.aval.size
    return (
        None if is_dense or not dtypes.is_inexact(out.dtype) or out.size < 1024 else spaced_axes[0]
    )


def scatter_at_steps(
    block: Block, x: Operand, background: Operand, out: Aval, axis: int, start: int, step: int
) -> Operand:
    """Puts the elements of `x` at every `step`-th place along an axis of `background`.

    In a pad, XLA's CPU divides by the step for each element. So this is many times faster for the
    cotangent of a large matrix's diagonal.
    """
    count = x.aval.shape[axis]
    indices_aval = aval((count, 1), dtypes.int32 if out.shape[axis] < 2**31 else dtypes.int64)
    indices = block.elementwise(
        "multiply", (block.iota(indices_aval, 0), block.full(step, indices_aval)), indices_aval
    )
    indices = block.elementwise("add", (indices, block.full(start, indices_aval)), indices_aval)
    scalar = out.update(shape=(), weak_type=False)
    numbers = (
        f"update_window_dims = {list(others((axis,), out.ndim))}, inserted_window_dims = [{axis}], "
        f"scatter_dims_to_operand_dims = [{axis}], index_vector_dim = 1"
    )
    return block.op(
        "scatter",
        background,
        indices,
        x,
        out=out,
        regions=(block.region((scalar, scalar), lambda inner, args: [args[1]]),),
        attributes=f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, "
        "indices_are_sorted = true, unique_indices = true",
    )


@pad.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, padding: Padding) -> Tangent:
    dx, dv = (instantiate(t, p.aval) for t, p in zip(tangents, primals, strict=True))
    return pad(dx, dv, padding=padding)


@pad.transpose
def _(ct: Value, x: Argument, value: Argument, *, padding: Padding) -> Tangents:
    zero = full(ct.aval.update(shape=(), weak_type=False), 0)
    inverse_padding = tuple((-low, -high, 0) for low, high, _ in padding)
    ct_x = (
        pad(ct, zero, padding=inverse_padding)
        if any(b[:2] != (0, 0) for b in inverse_padding)
        else ct
    )
    if any(interior for _, _, interior in padding):
        strides = tuple(interior + 1 for _, _, interior in padding)
        ct_x = slice_(ct_x, start=(0,) * ct.ndim, limit=ct_x.shape, strides=strides)
    ct_value = None
    if is_linear(value):
        axes = tuple(range(ct.ndim))
        ct_value = sub(reduce_sum(ct, axes=axes), reduce_sum(ct_x, axes=axes))
    return ct_x if is_linear(x) else None, ct_value


@pad.batch
def _(args: Values, batched: Batched, batch_size: int, *, padding: Padding) -> Value:
    x, value = args
    if not batched[0]:
        x = widen(x, (batch_size, *x.shape))
    padding = ((0, 0, 0), *padding)
    if not batched[1]:
        return pad(x, value, padding=padding)
    zero = full(x.aval.update(shape=(), weak_type=False), 0)
    padded = pad(x, zero, padding=padding)
    flags = x.aval.update(dtype=np.dtype(np.bool_), shape=x.shape[1:], weak_type=False)
    is_outside = pad(full(flags, False), full(flags.update(shape=()), True), padding=padding[1:])
    values = reshape(value, shape=(batch_size, *(1,) * (x.ndim - 1)))
    return where(is_outside, widen(values, padded.shape), padded)


# --- rev ---

rev = Primitive("rev", "Reverses elements along `dimensions`.", host="always")
rev.takes_keys = True


@rev.type
def _(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("rev", x, dimensions)
    return x


@rev.evaluate
def _(x: Host, *, dimensions: tuple[int, ...]) -> Host:
    return np.flip(x, dimensions) if dimensions else x


@rev.lower
def _(block: Block, x: Operand, out: Aval, dimensions: Integers) -> Operand:
    return block.op("reverse", x, out=out, attributes=f"dimensions = {ints(dimensions)}")


rev.jvp(linear_jvp(rev))


@rev.transpose
def _(ct: Value, x: Argument, *, dimensions: Integers) -> Tangents:
    return (rev(ct, dimensions=dimensions),)


rev.batch(batch_in_front(rev, "dimensions"))


# --- slice ---

slice_ = Primitive(
    "slice",
    "Every `strides`-th element from `start` up to `limit`, along each axis.",
    host="always",
)
slice_.takes_keys = True


@slice_.type
def _(x: Aval, *, start: Integers, limit: Integers, strides: Integers) -> Aval:
    if not len(start) == len(limit) == len(strides) == x.ndim:
        raise ShapeError(
            f"slice: {x} needs {x.ndim} starts, limits and strides; got {start}, {limit}, {strides}"
        )
    shape = []
    for axis, (a, b, step, n) in enumerate(zip(start, limit, strides, x.shape, strict=True)):
        if not 0 <= a <= b <= n:
            raise ShapeError(
                f"slice: start {a} and limit {b} don't fit axis {axis} of {x}: expected "
                "0 <= start <= limit <= length"
            )
        if step <= 0:
            raise ShapeError(f"slice: a stride must be positive; got {step} for axis {axis} of {x}")
        shape.append(-((a - b) // step))
    return x.update(shape=shape)


@slice_.evaluate
def _(x: Host, *, start: Integers, limit: Integers, strides: Integers) -> Host:
    return x[tuple(map(slice, start, limit, strides))]


@slice_.host.kernel
def _(x: Aval, *, start: Integers, limit: Integers, strides: Integers) -> Kernel:
    window = tuple(map(slice, start, limit, strides))
    return lambda x: x[window]


@slice_.lower
def _(
    block: Block, x: Operand, out: Aval, start: Integers, limit: Integers, strides: Integers
) -> Operand:
    return block.slice(x, start, limit, strides)


slice_.jvp(linear_jvp(slice_))


@slice_.transpose
def _(ct: Value, x: Argument, *, start: Integers, limit: Integers, strides: Integers) -> Tangents:
    padding = tuple(
        (a, n - a - ((m - 1) * step + 1 if m else 0), step - 1)
        for a, step, n, m in zip(start, strides, x.shape, ct.shape, strict=True)
    )
    zero = full(ct.aval.update(shape=(), weak_type=False), 0)
    return (pad(ct, zero, padding=padding),)


@slice_.batch
def _(
    args: Values,
    batched: Batched,
    batch_size: int,
    *,
    start: Integers,
    limit: Integers,
    strides: Integers,
) -> Value:
    return slice_(args[0], start=(0, *start), limit=(batch_size, *limit), strides=(1, *strides))


# --- split ---

split = Primitive("split", "Parts of lengths `sizes` along an axis.", multiple=True, host="always")
split.takes_keys = True


@split.type
def _(x: Aval, *, sizes: tuple[int, ...], axis: int) -> Avals:
    check_axes("split", x, (axis,))
    if any(n < 0 for n in sizes) or sum(sizes) != x.shape[axis]:
        raise ShapeError(
            f"split: sizes must be at least 0 and add up to the length of axis {axis} of {x}; got "
            f"{sizes}"
        )
    return [x.update(shape=(*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]


@split.evaluate
def _(x: Host, *, sizes: tuple[int, ...], axis: int) -> Sequence[Host]:
    return _split_kernel(x, sizes=sizes, axis=axis)(x)


def _split_kernel(x: Host | Aval, *, sizes: tuple[int, ...], axis: int) -> Kernel:
    leading_slices = (slice(None),) * axis
    ends = itertools.accumulate(sizes)
    windows = [(*leading_slices, slice(end - n, end)) for n, end in zip(sizes, ends, strict=True)]
    return lambda x: [x[w] for w in windows]


split.host.kernel(_split_kernel)


@split.lower
def _(block: Block, x: Operand, out: Avals, sizes: tuple[int, ...], axis: int) -> Sequence[Operand]:
    parts = []
    for n, end in zip(sizes, itertools.accumulate(sizes), strict=True):
        start, limit = [0] * x.aval.ndim, list(x.aval.shape)
        start[axis], limit[axis] = end - n, end
        parts.append(block.slice(x, start, limit))
    return parts


split.jvp(linear_jvp(split))


@split.transpose
def _(cts: Tangents, x: Argument, *, sizes: tuple[int, ...], axis: int) -> Tangents:
    first_ct = next(ct for ct in cts if ct is not None)
    all_cts = [
        full(first_ct.aval.update(shape=(*x.shape[:axis], n, *x.shape[axis + 1 :])), 0)
        if ct is None
        else ct
        for ct, n in zip(cts, sizes, strict=True)
    ]
    return (concatenate(*all_cts, dimension=axis),)


split.batch(batch_in_front(split, "axis"))
