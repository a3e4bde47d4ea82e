"""dynamic_slice and dynamic_update_slice: windows of fixed size at run-time positions. A window
that would cross an edge is moved inside.

Batched windows become gathers and scatters (`indexing.py`).
"""

from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive, is_linear
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .creation import instantiate, zeros
from .elementwise import same_dtype
from .gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from .indexing import gather, scatter, wide_indices
from .rule_types import Argument, Batched, Host, Integers, Tangent, Tangents, Values
from .slicing import concatenate
from .structural import broadcast_in_dim, convert_element_type, reshape, with_batch_axis

# --- dynamic_slice ---

dynamic_slice = Primitive(
    "dynamic_slice",
    "Reads a window of static `sizes` at run-time `starts`, which are clamped so that it "
    "is inside.",
    host="always",
)
dynamic_slice.takes_keys = True


@dynamic_slice.type
def _(x: Aval, *starts: Aval, sizes: tuple[int, ...]) -> Aval:
    if len(sizes) != x.ndim:
        raise ShapeError(f"dynamic_slice: {x} needs {x.ndim} slice sizes; got {tuple(sizes)}")
    check_starts("dynamic_slice", x, starts)
    for axis, (n, length) in enumerate(zip(x.shape, sizes, strict=True)):
        if not 0 <= length <= n:
            raise ShapeError(
                f"dynamic_slice: size {length} does not fit axis {axis} of {x}\n"
                f"  fix: slice sizes from 0 to {n}"
            )
    return x.update(shape=sizes)


def check_starts(name: str, x: Aval, starts: Sequence[Aval]) -> None:
    """Raises an error unless there is one integer scalar for each axis."""
    if len(starts) != x.ndim:
        raise ShapeError(f"{name}: {x} needs {x.ndim} start indices; got {len(starts)}")
    for start in starts:
        if start.ndim or not dtypes.is_integer(start.dtype):
            raise ShapeError(f"{name}: start indices must be integer scalars; got {start}")


def clamped_window(
    shape: Sequence[int], starts: Sequence[Host], sizes: Sequence[int]
) -> tuple[slice, ...]:
    """The window as an index for NumPy. Like XLA, it moves starts so that the window is inside."""
    return tuple(
        [
            slice(None)
            if length == n
            else slice(0, length)
            if (i := int(start)) <= 0
            else slice(i, i + length)
            if i <= n - length
            else slice(n - length, n)
            for n, start, length in zip(shape, starts, sizes, strict=True)
        ]
    )


@dynamic_slice.evaluate
def _(x: Host, *starts: Host, sizes: Integers) -> Host:
    return x[clamped_window(x.shape, starts, sizes)]


def signed_starts(block: Block, starts: Sequence[Operand], shape: Integers) -> list[Operand]:
    """Start indices as operands of one signed dtype, since XLA's CPU reads unsigned ones as
    signed."""
    widened_starts = [wide_indices(block, s, shape) for s in starts]
    if len({s.aval.dtype for s in widened_starts}) > 1:
        widened_starts = [block.convert(s, dtypes.int64) for s in widened_starts]
    return widened_starts


@dynamic_slice.lower
def _(block: Block, x: Operand, *starts: Operand, out: Aval, sizes: Integers) -> Operand:
    if out.shape == x.aval.shape:
        return x
    attributes = f"slice_sizes = {ints(sizes)}"
    return block.op(
        "dynamic_slice",
        x,
        *signed_starts(block, starts, x.aval.shape),
        out=out,
        attributes=attributes,
    )


@dynamic_slice.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, sizes: Integers) -> Tangent:
    return dynamic_slice(tangents[0], *primals[1:], sizes=sizes)


@dynamic_slice.transpose
def _(ct: Value, x: Argument, *starts: Argument, sizes: Integers) -> Tangents:
    # the cotangent goes back to where the window was read
    x_zeros = zeros(ct.aval.update(shape=x.shape, weak_type=False))
    return (dynamic_update_slice(x_zeros, ct, *starts), *[None] * len(starts))


@dynamic_slice.batch
def _(args: Values, batched: Batched, batch_size: int, *, sizes: Integers) -> Value:
    x, *starts = args
    if not any(batched[1:]):
        return dynamic_slice(x, zero_like(starts), *starts, sizes=(batch_size, *sizes))
    axes = tuple(range(len(sizes)))
    indices = batched_starts(starts, batched[1:], batch_size)
    b = batched[0]
    dims = GatherDimensionNumbers(
        offset_dims=tuple(a + 1 for a in axes),
        collapsed_slice_dims=(),
        start_index_map=tuple(a + b for a in axes),
        operand_batching_dims=(0,) if b else (),
        start_indices_batching_dims=(0,) if b else (),
    )
    return gather(
        x,
        indices,
        dimension_numbers=dims,
        slice_sizes=(1, *sizes) if b else sizes,
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def zero_like(starts: Values) -> Value | np.int32:
    """A start index of zero, in the dtype of the others."""
    return zeros(starts[0].aval.strong()) if starts else np.int32(0)


def batched_starts(starts: Values, batched: Sequence[bool], batch_size: int) -> Value:
    """Batched start indices as one array [batch, axes]."""
    kinds = {s.dtype for s in starts}
    wide_dtype = kinds.pop() if len(kinds) == 1 else dtypes.default_int()
    columns = []
    for s, b in zip(starts, batched, strict=True):
        if s.dtype != wide_dtype:
            s = convert_element_type(s, dtype=wide_dtype)
        columns.append(
            reshape(s, shape=(batch_size, 1))
            if b
            else broadcast_in_dim(s, shape=(batch_size, 1), dims=())
        )
    return concatenate(*columns, dimension=1) if len(columns) > 1 else columns[0]


# --- dynamic_update_slice ---

dynamic_update_slice = Primitive(
    "dynamic_update_slice",
    "A copy of the operand with a window at run-time `starts` replaced by the update.",
)
dynamic_update_slice.takes_keys = True


@dynamic_update_slice.type
def _(x: Aval, update: Aval, *starts: Aval) -> Aval:
    same_dtype("dynamic_update_slice", x, update)
    check_starts("dynamic_update_slice", x, starts)
    if update.ndim != x.ndim or any(m > n for m, n in zip(update.shape, x.shape, strict=True)):
        raise ShapeError(
            f"dynamic_update_slice: the update must have as many axes as the operand, none longer; "
            f"got {update} for {x}"
        )
    return x


@dynamic_update_slice.evaluate
def _(x: Host, update: Host, *starts: Host) -> Host:
    out = np.array(x)
    out[clamped_window(x.shape, starts, update.shape)] = update
    return out


@dynamic_update_slice.lower
def _(block: Block, x: Operand, update: Operand, *starts: Operand, out: Aval) -> Operand:
    if update.aval.shape == x.aval.shape:
        return update
    return block.op(
        "dynamic_update_slice", x, update, *signed_starts(block, starts, x.aval.shape), out=out
    )


@dynamic_update_slice.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> Tangent:
    x, update, *starts = primals
    dx, du = instantiate(tangents[0], x.aval), instantiate(tangents[1], update.aval)
    return dynamic_update_slice(dx, du, *starts)


@dynamic_update_slice.transpose
def _(ct: Value, x: Argument, update: Argument, *starts: Argument) -> Tangents:
    ct_x = ct_update = None
    if is_linear(x):
        update_zeros = zeros(ct.aval.update(shape=update.shape, weak_type=False))
        ct_x = dynamic_update_slice(ct, update_zeros, *starts)
    if is_linear(update):
        ct_update = dynamic_slice(ct, *starts, sizes=update.shape)
    return (ct_x, ct_update, *[None] * len(starts))


@dynamic_update_slice.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    x, update, *starts = args
    x, update = with_batch_axis((x, update), batched[:2], batch_size)
    if not any(batched[2:]):
        return dynamic_update_slice(x, update, zero_like(starts), *starts)
    axes = tuple(range(1, x.ndim))
    dims = ScatterDimensionNumbers(
        update_window_dims=axes,
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=axes,
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    return scatter(
        x,
        batched_starts(starts, batched[2:], batch_size),
        update,
        dimension_numbers=dims,
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
