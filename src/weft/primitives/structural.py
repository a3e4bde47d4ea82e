"""The linear primitives that the interpreters use themselves: add, broadcast_in_dim, reduce_sum,
transpose, reshape, convert_element_type. They share a file because they transpose to each other.

The transpose of a broadcast is a sum and vice versa; reshape, transpose and convert_element_type
transpose to themselves.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .rule_types import Argument, Batched, DType, Host, Integers, Kernel, Tangent, Tangents, Values
from .single_thread_blas import BLOCK_ELEMENTS, MIN_SPLIT_ELEMENTS, column_sums, long_sum, row_sums


def others(axes: Iterable[int], ndim: int) -> tuple[int, ...]:
    """The axes of an array that are not in `axes`."""
    excluded = set(axes)
    return tuple([i for i in range(ndim) if i not in excluded])


def broadcast_shape(name: str, avals: Sequence[Aval]) -> tuple[int, ...]:
    """NumPy's broadcasting of shapes, with an error that names the operands."""
    shapes = {a.shape for a in avals}
    if len(shapes) > 1:
        shapes.discard(())
    if len(shapes) == 1:
        return shapes.pop()
    ndim = max(a.ndim for a in avals)
    result = []
    for axis in range(-ndim, 0):
        lengths = {a.shape[axis] for a in avals if a.ndim >= -axis} - {1}
        if len(lengths) > 1:
            raise ShapeError(
                f"{name}: shapes don't broadcast together: {', '.join(map(str, avals))} "
                f"differ on axis {axis}\n"
                "  fix: axes are aligned from the right and must be equal or 1; reshape or add "
                "axes with x[:, None]"
            )
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


# --- add ---

add = Primitive("add", "Sum of two arrays.")
add.elementwise = True


@add.type
def _(x: Aval, y: Aval) -> Aval:
    if x.dtype != y.dtype:
        raise ShapeError(
            f"add: operands must have one dtype; got {x} and {y}\n"
            "  fix: convert one with .astype, or use weft.numpy.add, which promotes"
        )
    shape = broadcast_shape("add", (x, y))
    return x.update(shape=shape, weak_type=x.weak_type and y.weak_type)


add.evaluate(np.add)


@add.lower
def _(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
    return block.elementwise("or" if out.dtype == np.bool_ else "add", (x, y), out)


@add.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> Tangent:
    dx, dy = tangents
    if dx is None or dy is None:
        return widen(dy if dx is None else dx, out.shape)
    return add(dx, dy)


@add.transpose
def _(ct: Value, x: Argument, y: Argument) -> Tangents:
    return (
        unbroadcast(ct, x) if type(x) is Aval else None,
        unbroadcast(ct, y) if type(y) is Aval else None,
    )


@add.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return add(*align(args, batched))


def align(args: Values, batched: Sequence[bool]) -> list[Value]:
    """The operands of an elementwise operation. The batched ones are reshaped to equal rank, so
    that they broadcast with the batch in front."""
    rank = max(a.ndim - b for a, b in zip(args, batched, strict=True))
    return [
        reshape(a, shape=(a.shape[0], *(1,) * (rank - a.ndim + 1), *a.shape[1:]))
        if b and a.ndim - 1 < rank
        else a
        for a, b in zip(args, batched, strict=True)
    ]


def with_batch_axis(args: Values, batched: Batched, batch_size: int) -> list[Any]:
    """The arguments with the batch along axis 0. An argument without the batch is repeated."""
    return [
        a if b else widen(a, (batch_size, *a.shape)) for a, b in zip(args, batched, strict=True)
    ]


def linear_jvp(primitive: Primitive) -> Rule:
    """The jvp rule of a primitive that is linear in its only operand: it applies the primitive to
    the tangent."""
    return lambda primals, tangents, out, **params: primitive(tangents[0], **params)


def bilinear_jvp(primitive: Primitive) -> Rule:
    """The jvp rule of a primitive that is linear in each of its two operands."""

    def jvp_rule(primals: Values, tangents: Tangents, out: Value, **params: object) -> Tangent:
        (x, y), (dx, dy) = primals, tangents
        left = None if dx is None else primitive(dx, y, **params)
        right = None if dy is None else primitive(x, dy, **params)
        return right if left is None else left if right is None else add(left, right)

    return jvp_rule


def batch_in_front(primitive: Primitive, *axes: str) -> Rule:
    """The batch rule of a primitive that treats the batch as one more axis in front.

    Args:
      axes: the parameters that number axes from the front; each number increases by one.
    """

    def batch_rule(args: Values, batched: Batched, batch_size: int, **params: Any) -> Any:
        for name in axes:
            axis_numbers = params[name]
            params[name] = (
                tuple(i + 1 for i in axis_numbers)
                if isinstance(axis_numbers, tuple)
                else axis_numbers + 1
            )
        return primitive(*with_batch_axis(args, batched, batch_size), **params)

    return batch_rule


# --- broadcast_in_dim ---

broadcast_in_dim = Primitive(
    "broadcast_in_dim",
    "Broadcasts an array to `shape`: axis i of the operand becomes axis dims[i]; axes of "
    "length one are repeated.",
    host="always",
)
broadcast_in_dim.takes_keys = True


@broadcast_in_dim.type
def _(x: Aval, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Aval:
    if len(dims) != x.ndim:
        raise ShapeError(
            f"broadcast_in_dim: {x} needs {x.ndim} broadcast dimensions; got {tuple(dims)}"
        )
    if list(dims) != sorted(set(dims)) or any(not 0 <= d < len(shape) for d in dims):
        if x.ndim > len(shape):
            raise ShapeError(f"broadcast_in_dim: {x} has more axes than shape {tuple(shape)}")
        raise ShapeError(
            "broadcast_in_dim: broadcast_dimensions must increase within "
            f"{tuple(shape)}; got {tuple(dims)}"
        )
    for n, d in zip(x.shape, dims, strict=True):
        if n not in (1, shape[d]):
            raise ShapeError(
                f"broadcast_in_dim: {x} does not fit shape {tuple(shape)} at dimensions "
                f"{tuple(dims)}"
            )
    return x.update(shape=shape)


@broadcast_in_dim.evaluate
def _(x: Host, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Host:
    expanded_shape = [1] * len(shape)
    for n, d in zip(x.shape, dims, strict=True):
        expanded_shape[d] = n
    return np.broadcast_to(x.reshape(expanded_shape), shape)


@broadcast_in_dim.lower
def _(block: Block, x: Operand, out: Aval, shape: Integers, dims: Integers) -> Operand:
    return block.broadcast(x, dims, shape)


broadcast_in_dim.jvp(linear_jvp(broadcast_in_dim))


@broadcast_in_dim.transpose
def _(ct: Value, x: Aval, *, shape: Integers, dims: Integers) -> Tangents:
    repeated_dims = [d for n, d in zip(x.shape, dims, strict=True) if n == 1 and shape[d] != 1]
    axes = tuple(sorted({*others(dims, len(shape)), *repeated_dims}))
    ct = reduce_sum(ct, axes=axes) if axes else ct
    return (reshape(ct, shape=x.shape) if ct.shape != x.shape else ct,)


@broadcast_in_dim.batch
def _(args: Values, batched: Batched, batch_size: int, *, shape: Integers, dims: Integers) -> Value:
    return broadcast_in_dim(args[0], shape=(batch_size, *shape), dims=(0, *(d + 1 for d in dims)))


# --- reduce_sum ---

reduce_sum = Primitive("reduce_sum", "Sum over `axes`.")


@reduce_sum.type
def _(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    check_axes("reduce_sum", x, axes)
    return x.update(shape=tuple(x.shape[a] for a in others(axes, x.ndim)))


@reduce_sum.evaluate
def sum_evaluated(x: Host, *, axes: tuple[int, ...]) -> Host:
    dtype = x.dtype
    if dtype.itemsize <= 2 and dtypes.is_inexact(dtype):
        return np.add.reduce(x.astype(np.float32), axis=axes).astype(dtype)
    return np.add.reduce(x, axis=axes, dtype=dtype)


@reduce_sum.host.kernel
def _(x: Aval, *, axes: tuple[int, ...]) -> Kernel:
    if x.dtype.itemsize <= 2 and dtypes.is_inexact(x.dtype):
        return functools.partial(sum_evaluated, axes=axes)
    axis = None if len(axes) == x.ndim else axes
    if dtypes.is_inexact(x.dtype):
        result = sum_by_product(x, axes)
        if result is not None:
            return result
        # without `dtype`, because NumPy keeps it anyway and each argument costs time
        return functools.partial(np.add.reduce, axis=axis)
    return functools.partial(np.add.reduce, axis=axis, dtype=x.dtype)


def sum_by_product(x: Aval, axes: tuple[int, ...]) -> Kernel | None:
    """The kernel of a sum as a product with ones, which takes NumPy a third of the time or less.

    A long sum is computed by rows, which is also more accurate. `None` for complex numbers, since
    infinity times 0i is NaN, and for a sum over axes that are not the first or last ones.
    """
    if dtypes.is_complex(x.dtype) or not x.size or not axes:
        return None
    count = math.prod([x.shape[a] for a in axes])
    if len(axes) == x.ndim and count > MIN_SPLIT_ELEMENTS:
        return long_sum(count, x.dtype)
    ones = np.ones(count, x.dtype)
    dot = ones.dot
    if len(axes) == x.ndim:
        return dot if x.ndim == 1 else lambda x: dot(x.ravel())
    shape = tuple(x.shape[a] for a in others(axes, x.ndim))
    is_long = x.size > BLOCK_ELEMENTS
    if first_or_last(axes, x.ndim) == "first":
        width = x.size // count
        columns = column_sums(count, width, x.dtype) if is_long else dot
        if x.ndim == 2:
            return columns
        return lambda x: columns(x.reshape(count, width)).reshape(shape)
    if first_or_last(axes, x.ndim) == "last":
        rows = row_sums(count, x.dtype) if is_long else lambda x: x.dot(ones)
        return lambda x: rows(x.reshape(-1, count)).reshape(shape)
    return None


def first_or_last(axes: tuple[int, ...], ndim: int) -> str | None:
    """A word for axes that are the first or the last of `ndim`; `None` for other axes."""
    if sorted(axes) == [*range(len(axes))]:
        return "first"
    return "last" if sorted(axes) == [*range(ndim - len(axes), ndim)] else None


@reduce_sum.lower
def _(block: Block, x: Operand, out: Aval, axes: Integers) -> Operand:
    return block.reduce("or" if out.dtype == np.bool_ else "add", 0, x, axes, out)


reduce_sum.jvp(linear_jvp(reduce_sum))


@reduce_sum.transpose
def _(ct: Value, x: Aval, *, axes: Integers) -> Tangents:
    # every summed element gets the whole cotangent
    return (broadcast_in_dim(ct, shape=x.shape, dims=others(axes, x.ndim)),)


reduce_sum.batch(batch_in_front(reduce_sum, "axes"))


def check_axes(name: str, x: Aval, axes: Sequence[int]) -> None:
    """Raises an error for axes that are out of range or repeated."""
    for axis in axes:
        if not 0 <= axis < x.ndim:
            raise AxisError(f"{name}: axis {axis} is out of range for {x}, which has {x.ndim} axes")
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: axes are repeated in {tuple(axes)}")


# --- transpose ---

transpose = Primitive("transpose", "Permutes the axes.", host="always")
transpose.takes_keys = True


@transpose.type
def _(x: Aval, *, permutation: tuple[int, ...]) -> Aval:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(
            f"transpose: permutation {tuple(permutation)} doesn't name each axis of {x} once"
        )
    return x.update(shape=tuple(x.shape[i] for i in permutation))


@transpose.evaluate
def _(x: Host, *, permutation: tuple[int, ...]) -> Host:
    return x.transpose(permutation)


@transpose.host.kernel
def _(x: Aval, *, permutation: tuple[int, ...]) -> Kernel:
    return lambda x: x.transpose(permutation)


@transpose.lower
def _(block: Block, x: Operand, out: Aval, permutation: Integers) -> Operand:
    return block.op("transpose", x, out=out, attributes=f"permutation = {ints(permutation)}")


transpose.jvp(linear_jvp(transpose))


@transpose.transpose
def _(ct: Value, x: Aval, *, permutation: Integers) -> Tangents:
    inverse = tuple(int(i) for i in np.argsort(permutation))
    return (transpose(ct, permutation=inverse),)


@transpose.batch
def _(args: Values, batched: Batched, batch_size: int, *, permutation: Integers) -> Value:
    return transpose(args[0], permutation=(0, *(i + 1 for i in permutation)))


# --- reshape ---

reshape = Primitive(
    "reshape", "Returns the elements, in row-major order, in another shape.", host="always"
)
reshape.takes_keys = True


@reshape.type
def _(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    out = x.update(shape=shape)
    if out.size != x.size or any(n < 0 for n in shape):
        raise ShapeError(
            f"reshape: {x} has {x.size} elements; shape {tuple(shape)} has {out.size}\n"
            "  fix: the products of the lengths must be equal; one length may be -1"
        )
    return out


@reshape.evaluate
def _(x: Host, *, shape: tuple[int, ...]) -> Host:
    return x.reshape(shape)


@reshape.host.kernel
def _(x: Aval, *, shape: tuple[int, ...]) -> Kernel:
    return lambda x: x.reshape(shape)


@reshape.lower
def _(block: Block, x: Operand, out: Aval, shape: Integers) -> Operand:
    return block.reshape(x, shape)


reshape.jvp(linear_jvp(reshape))


@reshape.transpose
def _(ct: Value, x: Aval, *, shape: Integers) -> Tangents:
    return (reshape(ct, shape=x.shape),)


@reshape.batch
def _(args: Values, batched: Batched, batch_size: int, *, shape: Integers) -> Value:
    return reshape(args[0], shape=(batch_size, *shape))


# --- convert_element_type ---

convert_element_type = Primitive("convert_element_type", "Converts elements to another dtype.")


_SMALL_DTYPES = {*dtypes.SMALL_INTS, *dtypes.SMALL_FLOATS}


@convert_element_type.type
def _(x: Aval, *, dtype: DType, weak_type: bool = False) -> Aval:
    return x.update(dtype=dtype, weak_type=weak_type)


@convert_element_type.evaluate
def converted(x: Host, dtype: DType, weak_type: bool = False) -> Host:
    if x.dtype == dtype:
        return x
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype) and dtype != np.bool_:
        x = x.real
    if dtypes.is_integer(dtype) and dtypes.is_float(x.dtype):
        # XLA: towards zero, NaN is 0, numbers out of range become the nearest limit
        low, high = dtypes.iinfo(dtype).min, dtypes.iinfo(dtype).max
        truncated = np.trunc(x.astype(np.float64))
        in_range = np.where(np.isnan(truncated), 0.0, np.clip(truncated, float(low), float(high)))
        limits = np.where(truncated >= float(high), high, np.where(truncated <= float(low), low, 0))
        edge = (truncated >= float(high)) | (truncated <= float(low))
        integers = np.where(edge, 0.0, in_range).astype(np.int64 if low < 0 else np.uint64)
        return np.where(edge, limits.astype(integers.dtype), integers).astype(dtype)
    if x.dtype in dtypes.SMALL_INTS and dtype in dtypes.SMALL_INTS:
        x = x.astype(np.int8)  # ml_dtypes cannot convert int4 and uint4 to each other
    elif x.dtype in dtypes.SMALL_FLOATS and dtype in dtypes.SMALL_FLOATS:
        x = x.astype(np.float32)  # or all 8-bit floats
    return x.astype(dtype)


@convert_element_type.host.kernel
def _(x: Aval, *, dtype: DType, weak_type: bool = False) -> Kernel:
    source = x.dtype
    if source == dtype:
        return lambda x: x
    if dtypes.is_complex(source) and not dtypes.is_complex(dtype):
        return functools.partial(converted, dtype=dtype)
    if {source, dtype} <= _SMALL_DTYPES:
        return functools.partial(converted, dtype=dtype)
    if not (dtypes.is_integer(dtype) and dtypes.is_float(source)):
        return lambda x: x.astype(dtype)
    if dtype not in (np.int32, np.int64) or source.itemsize < 4:
        return functools.partial(converted, dtype=dtype)
    low = np.iinfo(dtype).min

    def to_integers(x: Value) -> Value:
        # processors give the lowest integer (or the nearest one) for numbers out of range
        integers = x.astype(dtype)
        if (integers == low).any():
            return convert_element_type.evaluate_rule(x, dtype=dtype)  # type: ignore[misc]
        return integers

    return to_integers


@convert_element_type.lower
def _(block: Block, x: Operand, out: Aval, dtype: DType, weak_type: bool = False) -> Operand:
    if dtypes.is_complex(x.aval.dtype) and not dtypes.is_complex(out.dtype):
        if out.dtype == np.bool_:
            return block.compare("NE", x, block.full(0, x.aval.update(weak_type=False)), out)
        x = block.op("real", x, out=x.aval.update(dtype=dtypes.real_of(x.aval.dtype)))
    if x.aval.dtype == dtypes.float4_e2m1fn and not dtypes.is_float(out.dtype):
        x = block.convert(x, np.dtype(np.float32))  # XLA's CPU turns 6 into 127 directly
    return block.convert(x, out.dtype)


@convert_element_type.jvp
def _(
    primals: Values, tangents: Tangents, out: Value, *, dtype: DType, weak_type: bool = False
) -> Tangent:
    if not dtypes.is_inexact(dtype):
        return None
    return convert_element_type(tangents[0], dtype=dtype)


@convert_element_type.transpose
def _(ct: Value, x: Aval, *, dtype: DType, weak_type: bool = False) -> Tangents:
    return (convert_element_type(ct, dtype=x.dtype),)


convert_element_type.batch(batch_in_front(convert_element_type))


# --- functions for rules ---


def widen(x: Any, shape: tuple[int, ...]) -> Any:
    """NumPy's broadcasting of one array to a shape."""
    if x.shape == shape:
        return x
    offset = len(shape) - x.ndim
    return broadcast_in_dim(x, shape=shape, dims=tuple(range(offset, len(shape))))


def unbroadcast(ct: Value, x: Aval) -> Any:
    """The transpose of `widen`: sums over the repeated elements."""
    if ct.aval.shape == x.shape:
        return ct
    offset = ct.ndim - x.ndim
    axes = tuple(range(offset)) + tuple(
        offset + i for i, n in enumerate(x.shape) if n == 1 and ct.shape[offset + i] != 1
    )
    ct = reduce_sum(ct, axes=axes) if axes else ct
    return reshape(ct, shape=x.shape) if ct.shape != x.shape else ct


def move_axis(x: Value, source: int, destination: int) -> Any:
    """Moves one axis to another position."""
    if source == destination:
        return x
    order = [i for i in range(x.ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, permutation=tuple(order))
