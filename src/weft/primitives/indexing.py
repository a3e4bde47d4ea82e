"""gather, which reads windows at run-time indices; scatter, scatter_add, scatter_mul, scatter_min
and scatter_max, which write them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.aval import Aval, aval
from ..core.primitive import Primitive, Rule, is_linear
from ..core.value import Value
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .arithmetic import div, mul
from .comparison import eq
from .creation import instantiate, iota, zeros
from .gather_dimension_numbers import (
    CLIP,
    GatherDimensionNumbers,
    GatherScatterMode,
    Numbers,
    ScatterDimensionNumbers,
    check_batching,
    check_increasing,
    check_indices,
    check_scatter,
    fill_scalar,
    window_sizes,
)
from .gather_kernels import Windows, gather_kernel, scatter_kernel
from .monoids import MAXIMUM, MINIMUM, PRODUCT, SUM, Monoid
from .rule_types import (
    Argument,
    Avals,
    Batched,
    DType,
    Host,
    Integers,
    Kernel,
    Tangent,
    Tangents,
    Ufunc,
    Values,
)
from .selection import where
from .structural import convert_element_type, others, reshape, with_batch_axis

# --- gather ---

gather = Primitive("gather", "Reads windows at run-time indices.")
gather.takes_keys = True


@gather.type
def _(
    x: Aval,
    indices: Aval,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **_: object,
) -> Aval:
    dn = dimension_numbers
    check_indices("gather", "start_indices", x, indices, dn.start_index_map, "start_index_map")
    check_batching("gather", x, indices, dn.operand_batching_dims, dn.start_indices_batching_dims)
    check_increasing("gather", "collapsed_slice_dims", dn.collapsed_slice_dims, x)
    if len(slice_sizes) != x.ndim:
        raise errors.ShapeError(f"gather: {x} needs {x.ndim} slice sizes; got {slice_sizes}")
    removed_axes = (*dn.collapsed_slice_dims, *dn.operand_batching_dims)
    for axis, (n, length) in enumerate(zip(x.shape, slice_sizes, strict=True)):
        if not 0 <= length <= n:
            raise errors.ShapeError(f"gather: slice size {length} does not fit axis {axis} of {x}")
        if axis in removed_axes and length != 1:
            raise errors.ShapeError(
                f"gather: slice sizes must be 1 along collapsed and batching axes {removed_axes}; "
                f"got {slice_sizes}"
            )
    window = [slice_sizes[d] for d in others(removed_axes, x.ndim)]
    rank = len(window) + indices.ndim - 1
    if len(dn.offset_dims) != len(window):
        raise errors.ShapeError(
            f"gather: a window has {len(window)} axes; got {len(dn.offset_dims)} offset_dims "
            f"{dn.offset_dims}"
        )
    check_increasing("gather", "offset_dims", dn.offset_dims, indices, rank)
    shape = [0] * rank
    for d, n in zip(dn.offset_dims, window, strict=True):
        shape[d] = n
    for d, n in zip(others(dn.offset_dims, rank), indices.shape, strict=False):
        shape[d] = n
    return x.update(shape=shape)


@gather.host.kernel
def _(
    x: Aval,
    indices: Aval,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Integers,
    mode: GatherScatterMode,
    fill_value: object,
    **_: object,
) -> Kernel:
    windows = Windows(x.shape, indices.shape, slice_sizes, dimension_numbers)
    return gather_kernel(windows, fill_scalar(x.dtype, mode, fill_value))


@gather.evaluate
def _(x: Host, indices: Host, **params: object) -> Host:
    return gather.host.kernel_rule(x, indices, **params)(x, indices)  # type: ignore[misc]


def wide_indices(block: Block, indices: Operand, shape: Sequence[int]) -> Operand:
    """Indices in a signed dtype that can hold the operand's lengths. Unsigned indices that do not
    fit are clamped to its largest number."""
    dtype = indices.aval.dtype
    needs_int64 = max(shape, default=0) > dtypes.iinfo(dtypes.int32).max
    wide_dtype = dtypes.int64 if dtypes.bit_width(dtype) == 64 or needs_int64 else dtypes.int32
    if dtypes.is_unsigned(dtype) and dtypes.bit_width(dtype) >= dtypes.bit_width(wide_dtype):
        bound = block.full(dtypes.iinfo(wide_dtype).max, indices.aval)
        indices = block.elementwise("minimum", (indices, bound), indices.aval)
    return block.convert(indices, wide_dtype)


def within_bounds(block: Block, indices: Operand, bounds: Sequence[int]) -> Operand:
    """A mask of the indices whose elements along the last axis are all from 0 to the bounds."""
    a = indices.aval
    flags = a.update(dtype=dtypes.bool_)
    limits = block.constant(np.array(bounds, a.dtype), aval((len(bounds),), a.dtype))
    in_bounds = block.elementwise(
        "and",
        (
            block.compare("GE", indices, block.full(0, a), flags),
            block.compare("LE", indices, limits, flags),
        ),
        flags,
    )
    return block.reduce("and", True, in_bounds, (a.ndim - 1,), flags.update(shape=a.shape[:-1]))


@gather.lower
def _(
    block: Block,
    x: Operand,
    indices: Operand,
    out: Aval,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Integers,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: object,
    **_: object,
) -> Operand:
    dn = dimension_numbers
    indices = wide_indices(block, indices, x.aval.shape)
    numbers = (
        f"offset_dims = {list(dn.offset_dims)}, "
        f"collapsed_slice_dims = {list(dn.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(dn.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(dn.start_indices_batching_dims)}, "
        f"start_index_map = {list(dn.start_index_map)}, index_vector_dim = {indices.aval.ndim - 1}"
    )
    result = block.op(  # XLA moves windows inside
        "gather",
        x,
        indices,
        out=out,
        attributes=f"dimension_numbers = #stablehlo.gather<{numbers}>, "
        f"slice_sizes = {ints(slice_sizes)}, "
        f"indices_are_sorted = {str(indices_are_sorted).lower()}",
    )
    fill = fill_scalar(out.dtype, mode, fill_value)
    if fill is None:
        return result
    bounds = [x.aval.shape[d] - slice_sizes[d] for d in dn.start_index_map]
    in_bounds = within_bounds(block, indices, bounds)
    in_bounds = block.broadcast(in_bounds, others(dn.offset_dims, out.ndim), out.shape)
    return block.select(in_bounds, result, block.constant(np.asarray(fill), out.strong()))


@gather.jvp
def _(
    primals: Values, tangents: Tangents, out: Value, *, fill_value: object, **params: object
) -> Tangent:
    return gather(tangents[0], primals[1], fill_value=0, **params)


@gather.transpose
def _(
    ct: Value,
    x: Argument,
    indices: Argument,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Integers,
    fill_value: object,
    **flags: object,
) -> Tangents:
    x_zeros = zeros(ct.aval.update(shape=x.shape, weak_type=False))
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    return scatter_add(x_zeros, indices, ct, dimension_numbers=numbers, **flags), None


def shift_axes(axes: Sequence[int]) -> tuple[int, ...]:
    """Axis numbers increased by one, for a new axis in front."""
    return tuple(d + 1 for d in axes)


def batched_numbers(numbers: Numbers, indices_batched: bool) -> Numbers:
    """The dimension numbers for an operand with a batch axis in front; the indices may have one
    too."""
    window, removed_axes, index_map, batching, index_batching = [shift_axes(a) for a in numbers]
    if indices_batched:
        return type(numbers)(window, removed_axes, index_map, (0, *batching), (0, *index_batching))
    return type(numbers)((0, *window), removed_axes, index_map, batching, numbers[4])


@gather.batch
def _(
    args: Values,
    batched: Batched,
    batch_size: int,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Integers,
    indices_are_sorted: bool,
    **params: Any,
) -> Value:
    numbers: Numbers = dimension_numbers
    if batched[0]:
        numbers = batched_numbers(numbers, batched[1])
        slice_sizes = (min(batch_size, 1) if batched[1] else batch_size, *slice_sizes)
    else:
        offset, removed_axes, index_map, batching, index_batching = numbers
        numbers = GatherDimensionNumbers(
            shift_axes(offset), removed_axes, index_map, batching, shift_axes(index_batching)
        )
    return gather(
        *args,
        dimension_numbers=numbers,
        slice_sizes=slice_sizes,
        indices_are_sorted=indices_are_sorted and not batched[1],
        **params,
    )


# --- the rules of scatters ---


def scatterer(name: str, doc: str, *, ufunc: Ufunc | None, write: Rule) -> Primitive:
    """A primitive that combines windows of its operand with updates.

    Args:
      ufunc: NumPy's function of old and new elements; `None` replaces.
      write: writes the operation on scalars, as (block, old, new, aval).
    """
    primitive = Primitive(name, doc)

    @primitive.type
    def _(
        x: Aval,
        indices: Aval,
        updates: Aval,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **_: object,
    ) -> Aval:
        check_scatter(name, x, indices, updates, dimension_numbers)
        return x

    @primitive.host.kernel
    def kernel_rule(
        x: Aval | Host,
        indices: Aval | Host,
        updates: Aval | Host,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        unique_indices: bool,
        **_: object,
    ) -> Kernel:
        sizes = window_sizes(x, updates, dimension_numbers)
        windows = Windows(x.shape, indices.shape, sizes, dimension_numbers)
        return scatter_kernel(windows, ufunc, mode is CLIP, unique_indices)

    @primitive.evaluate
    def _(x: Host, indices: Host, updates: Host, **params: Any) -> Host:
        return kernel_rule(x, indices, updates, **params)(x, indices, updates)

    @primitive.lower
    def _(
        block: Block, x: Operand, indices: Operand, updates: Operand, out: Aval, **params: Any
    ) -> Operand:
        return lower_scatter(block, x, indices, updates, out, write, **params)

    @primitive.batch
    def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Value:
        return batch_scatter(primitive, args, batched, batch_size, **params)

    @primitive.host.work
    def _(avals: Avals, outs: Avals, **params: Any) -> int:
        x, indices, updates = avals
        writes_elements = not params["dimension_numbers"].update_window_dims
        is_fast = ufunc is None or writes_elements or writes_once(indices, params["unique_indices"])
        return max(x.size, updates.size * (1 if is_fast else 400))  # ufunc.at is slow for windows

    return primitive


def lower_scatter(
    block: Block,
    x: Operand,
    indices: Operand,
    updates: Operand,
    out: Aval,
    write: Rule,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> Operand:
    """Writes a scatter. XLA drops windows outside the operand."""
    dn = dimension_numbers
    indices = wide_indices(block, indices, x.aval.shape)
    a = indices.aval
    if mode is CLIP and a.size:
        sizes = window_sizes(x.aval, updates.aval, dn)
        bounds = [x.aval.shape[d] - sizes[d] for d in dn.scatter_dims_to_operand_dims]
        limits = block.constant(np.array(bounds, a.dtype), aval((len(bounds),), a.dtype))
        zero = block.full(0, a.update(shape=()))
        indices = block.op("clamp", zero, indices, block.widen(limits, a.shape), out=a)
    scalar = out.update(shape=(), weak_type=False)
    region = block.region(
        (scalar, scalar), lambda inner, args: [write(inner, args[0], args[1], scalar)]
    )
    numbers = (
        f"update_window_dims = {list(dn.update_window_dims)}, "
        f"inserted_window_dims = {list(dn.inserted_window_dims)}, "
        f"input_batching_dims = {list(dn.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {list(dn.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {list(dn.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {a.ndim - 1}"
    )
    return block.op(
        "scatter",
        x,
        indices,
        updates,
        out=out,
        regions=(region,),
        attributes=f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, "
        f"indices_are_sorted = {str(indices_are_sorted).lower()}, "
        f"unique_indices = {str(unique_indices).lower()}",
    )


def batch_scatter(
    primitive: Primitive,
    args: Values,
    batched: Batched,
    batch_size: int,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    **params: object,
) -> Value:
    """A batch of scatters as one scatter, with one more window axis or batching axis."""
    x, indices, updates = args
    x, updates = with_batch_axis((x, updates), (batched[0], batched[2]), batch_size)
    return primitive(
        x,
        indices,
        updates,
        dimension_numbers=batched_numbers(dimension_numbers, batched[1]),
        indices_are_sorted=indices_are_sorted and not batched[1],
        **params,
    )


def scatter_with(name: str, doc: str, monoid: Monoid) -> Primitive:
    """A scatter that combines old and new elements."""
    return scatterer(name, doc, ufunc=monoid.ufunc, write=monoid.write)


scatter = scatterer(
    "scatter",
    "Replaces windows of a copy of the operand; the last of several updates of an element wins.",
    ufunc=None,
    write=lambda block, old, new, out: new,
)
scatter.takes_keys = True
scatter_add = scatter_with("scatter_add", "Adds updates to windows of the operand.", SUM)
scatter_mul = scatter_with("scatter_mul", "Multiplies windows of the operand.", PRODUCT)
scatter_min = scatter_with("scatter_min", "Minima of windows and updates.", MINIMUM)
scatter_max = scatter_with("scatter_max", "Maxima of windows and updates.", MAXIMUM)


# --- their derivatives ---


def gather_updates(
    x: Value,
    indices: Argument,
    updates: Argument,
    fill_value: object = 0,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **flags: object,
) -> Any:
    """The windows of `x` that a scatter with these parameters writes."""
    return gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(*dimension_numbers),
        slice_sizes=window_sizes(x, updates, dimension_numbers),
        fill_value=fill_value,
        **flags,
    )


def zeros_shaped(x: Value, dtype: DType | None = None) -> Value:
    """Zeros of the shape of a value."""
    return zeros(aval(x.shape, x.dtype if dtype is None else dtype))


def writes_once(indices: Argument, unique_indices: bool) -> bool:
    """True if each element is written at most once."""
    return unique_indices or all(n <= 1 for n in indices.shape[:-1])


@scatter.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    x, indices, updates = primals
    dx, _, du = tangents
    if du is None:
        return scatter(dx, indices, zeros_shaped(updates), **params)
    if writes_once(indices, params["unique_indices"]):
        return scatter(instantiate(dx, x.aval), indices, du, **params)
    # Several updates may go to one element, so number them and see which number remains.
    numbers = reshape(
        iota(dtype=dtypes.int32, shape=(updates.size,), dimension=0), shape=updates.shape
    )
    last_writers = scatter(zeros_shaped(x, dtypes.int32), indices, numbers, **params)
    is_last_writer = eq(gather_updates(last_writers, indices, updates, -1, **params), numbers)
    du = where(is_last_writer, du, zeros_shaped(du))
    base = zeros_shaped(x)
    if dx is not None:
        base = scatter(dx, indices, zeros_shaped(updates), **params)
    return scatter_add(base, indices, du, **params)


@scatter.transpose
def _(ct: Value, x: Argument, indices: Argument, updates: Argument, **params: Any) -> Tangents:
    # linear in the updates only if each element is written at most once: see the jvp rule
    ct_x = ct_updates = None
    if is_linear(x):
        update_zeros = zeros(ct.aval.update(shape=updates.shape, weak_type=False))
        ct_x = scatter(ct, indices, update_zeros, **params)
    if is_linear(updates):
        ct_updates = gather_updates(ct, indices, updates, **params)
    return ct_x, None, ct_updates


@scatter_add.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    x, indices, _ = primals
    dx, _, du = tangents
    return dx if du is None else scatter_add(instantiate(dx, x.aval), indices, du, **params)


@scatter_add.transpose
def _(ct: Value, x: Argument, indices: Argument, updates: Argument, **params: Any) -> Tangents:
    ct_updates = gather_updates(ct, indices, updates, **params) if is_linear(updates) else None
    return ct if is_linear(x) else None, None, ct_updates


@scatter_mul.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    x, indices, updates = primals
    dx, _, du = tangents
    total = None if dx is None else scatter_mul(dx, indices, updates, **params)
    if du is None:
        return total
    if not writes_once(indices, params["unique_indices"]):
        raise errors.MissingRuleError(
            "scatter_mul: the derivative in the updates is known only if no element is multiplied "
            "twice\n  fix: unique_indices=True, if that is so"
        )
    contribution = mul(du, gather_updates(x, indices, updates, **params))
    base = zeros_shaped(x) if total is None else total
    return scatter_add(base, indices, contribution, **params)


@scatter_mul.transpose
def _(ct: Value, x: Argument, indices: Argument, updates: Argument, **params: Any) -> Tangents:
    return scatter_mul(ct, indices, updates, **params), None, None


def _scatter_extreme_jvp(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    # elements equal to the extreme share the derivative, as in jax
    x, indices, updates = primals
    dx, _, du = tangents
    is_unchanged = eq(x, out)
    is_extreme = eq(updates, gather_updates(out, indices, updates, np.nan, **params))
    one = x.dtype
    counts = scatter_add(
        convert_element_type(is_unchanged, dtype=one),
        indices,
        convert_element_type(is_extreme, dtype=one),
        **params,
    )
    total = zeros_shaped(x) if dx is None else where(is_unchanged, dx, zeros_shaped(x))
    if du is not None:
        total = scatter_add(total, indices, where(is_extreme, du, zeros_shaped(updates)), **params)
    return div(total, counts)


scatter_min.jvp(_scatter_extreme_jvp)
scatter_max.jvp(_scatter_extreme_jvp)
