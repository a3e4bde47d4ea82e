"""Slicing, concatenating, padding and reversing at static positions. Closed under transposition: a
slice's transpose is a pad, a pad's and a concatenation's are slices.

Knows nothing of positions known at run time; see `dynamic_slicing` and `indexing`.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.primitive import Primitive, is_linear
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .arithmetic import sub
from .families import lowered_in_bytes, same_dtype
from .rule_types import Argument, Avals, Batched, Host, Integers, Kernel, Tangent, Tangents, Values
from .selection import where
from .structural import (
    batch_in_front,
    check_axes,
    full,
    instantiate,
    linear_jvp,
    reduce_sum,
    reshape,
    widen,
)

# --- concatenate ---

concatenate = Primitive(
    "concatenate", "Arrays one after the other along an axis.", host_limit=2_000_000
)
concatenate.takes_keys = True


@concatenate.type
def _(*xs: Aval, dimension: int) -> Aval:
    if not xs:
        raise ValueError("concatenate: expected at least one array; got none")
    same_dtype("concatenate", *xs)
    first = xs[0]
    if any(x.ndim != first.ndim for x in xs):
        raise ShapeError(
            f"concatenate: arrays must have the same number of axes; got {', '.join(map(str, xs))}"
        )
    if not 0 <= dimension < first.ndim:
        raise AxisError(f"concatenate: dimension {dimension} is out of range for {first}")
    for x in xs:
        if any(i != dimension and n != first.shape[i] for i, n in enumerate(x.shape)):
            raise ShapeError(
                f"concatenate: arrays may differ in length along dimension {dimension} only; got "
                f"{', '.join(map(str, xs))}"
            )
    shape = list(first.shape)
    shape[dimension] = sum(x.shape[dimension] for x in xs)
    return first.update(shape=shape, weak_type=all(x.weak_type for x in xs))


@concatenate.evaluate
def _(*xs: Host, dimension: int) -> Host:
    return np.concatenate(xs, dimension)


@concatenate.lower
@lowered_in_bytes
def _(block: Block, *xs: Operand, out: Aval, dimension: int) -> Operand:
    if len(xs) == 1:
        return xs[0]
    return block.op("concatenate", *xs, out=out, attributes=f"dimension = {dimension} : i64")


@concatenate.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, dimension: int) -> Tangent:
    pairs = zip(tangents, primals, strict=True)
    return concatenate(*[instantiate(t, p.aval) for t, p in pairs], dimension=dimension)


@concatenate.transpose
def _(ct: Value, *xs: Argument, dimension: int) -> Tangents:
    ends = list(itertools.accumulate(x.shape[dimension] for x in xs))
    cts: list[Any] = []
    for x, end in zip(xs, ends, strict=True):
        if not is_linear(x):
            cts.append(None)
            continue
        start = [0] * ct.ndim
        limit = list(ct.shape)
        start[dimension], limit[dimension] = end - x.shape[dimension], end
        cts.append(slice_(ct, start=tuple(start), limit=tuple(limit), strides=(1,) * ct.ndim))
    return cts


concatenate.batch(batch_in_front(concatenate, "dimension"))


# --- pad ---

pad = Primitive(
    "pad",
    "An array padded with a scalar: `padding` has (before, after, between) for each axis; negative "
    "ones crop.",
    host_limit=2_000_000,
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
    if any(between < 0 for _, _, between in padding):
        raise ShapeError(f"pad: padding between elements must not be negative; got {padding}")
    shape = tuple(
        n + before + after + between * max(n - 1, 0)
        for n, (before, after, between) in zip(x.shape, padding, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ShapeError(f"pad: padding {padding} cuts off more than {x} has: shape {shape}")
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def _places(shape: Integers, padding: Padding) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The slices of an operand that are kept, and their positions in the padded array."""
    sources, targets = [], []
    for n, (before, after, between) in zip(shape, padding, strict=True):
        step = between + 1
        length = n + before + after + between * max(n - 1, 0)
        first = 0 if before >= 0 else -(before // step)  # ceil(-before / step)
        last = min(n - 1, (length - 1 - before) // step)
        count = max(last - first + 1, 0)
        at = before + first * step if count else 0
        sources.append(slice(first, first + count))
        targets.append(slice(at, at + count * step, step))
    return tuple(sources), tuple(targets)


@pad.evaluate
def _(x: Host, value: Host, *, padding: Padding) -> Host:
    return _pad_kernel(x, value, padding=padding)(x, value)


def _pad_kernel(x: Host | Aval, value: Host | Aval, *, padding: Padding) -> Kernel:
    sources, targets = _places(x.shape, padding)
    shape = tuple(
        n + before + after + between * max(n - 1, 0)
        for n, (before, after, between) in zip(x.shape, padding, strict=True)
    )
    cuts = any(s.stop - s.start != n for s, n in zip(sources, x.shape, strict=True))

    def kernel(x: Host, value: Host) -> Host:
        out = np.empty(shape, x.dtype)
        out.fill(value)
        out[targets] = x[sources] if cuts else x
        return out

    return kernel


pad.kernel(_pad_kernel)


@pad.lower
@lowered_in_bytes
def _(block: Block, x: Operand, value: Operand, out: Aval, padding: Padding) -> Operand:
    return block.pad(x, value, padding)


@pad.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, padding: Padding) -> Tangent:
    dx, dv = (instantiate(t, p.aval) for t, p in zip(tangents, primals, strict=True))
    return pad(dx, dv, padding=padding)


@pad.transpose
def _(ct: Value, x: Argument, value: Argument, *, padding: Padding) -> Tangents:
    nothing = full(ct.aval.update(shape=(), weak_type=False), 0)
    back = tuple((-before, -after, 0) for before, after, _ in padding)
    ct_x = pad(ct, nothing, padding=back) if any(b[:2] != (0, 0) for b in back) else ct
    if any(between for _, _, between in padding):
        strides = tuple(between + 1 for _, _, between in padding)
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
    inner = full(x.aval.update(shape=(), weak_type=False), 0)
    padded = pad(x, inner, padding=padding)
    flags = x.aval.update(dtype=np.dtype(np.bool_), shape=x.shape[1:], weak_type=False)
    outside = pad(full(flags, False), full(flags.update(shape=()), True), padding=padding[1:])
    values = reshape(value, shape=(batch_size, *(1,) * (x.ndim - 1)))
    return where(outside, widen(values, padded.shape), padded)


# --- rev ---

rev = Primitive("rev", "The elements in reverse order along `dimensions`.", host_limit=None)
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
    "Every `strides`-th element from `start` to before `limit`, along each axis.",
    host_limit=None,
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
            raise ShapeError(f"slice: strides must be positive; got {step} for axis {axis} of {x}")
        shape.append(-((a - b) // step))
    return x.update(shape=shape)


@slice_.evaluate
def _(x: Host, *, start: Integers, limit: Integers, strides: Integers) -> Host:
    return x[tuple(map(slice, start, limit, strides))]


@slice_.kernel
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
    nothing = full(ct.aval.update(shape=(), weak_type=False), 0)
    return (pad(ct, nothing, padding=padding),)


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

split = Primitive(
    "split", "Parts of lengths `sizes` along an axis.", multiple=True, host_limit=None
)
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
    front = (slice(None),) * axis
    ends = itertools.accumulate(sizes)
    return [x[(*front, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True)]


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
    known = next(ct for ct in cts if ct is not None)
    whole = [
        full(known.aval.update(shape=(*x.shape[:axis], n, *x.shape[axis + 1 :])), 0)
        if ct is None
        else ct
        for ct, n in zip(cts, sizes, strict=True)
    ]
    return (concatenate(*whole, dimension=axis),)


split.batch(batch_in_front(split, "axis"))
