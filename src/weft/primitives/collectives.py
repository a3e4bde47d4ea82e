"""Collectives between the elements of named axes: psum, pmax, pmin, ppermute, all_gather,
psum_scatter, all_to_all, axis_index.

They share parameters. `axes` are names and `sizes` their lengths; the elements of several axes are
counted in row-major order. `groups` are tuples of element numbers, and elements communicate only
within their group; None is one group of all elements.

`vmap` applies the `collective` rule to the stacked values of all elements. Compiled programs for
several replicas use XLA's operations.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import Aval, aval
from ..core.primitive import Axis, Collective, Primitive, Rule, Shared
from ..core.value import Value
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import matrix
from ..stablehlo.shardy import Region
from .arithmetic import add, max_, min_, mul
from .creation import iota, zeros
from .dynamic_slicing import dynamic_slice
from .elementwise import check_kind
from .gather_dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from .indexing import gather
from .reductions import mean_at_extreme, reduce_max, reduce_min
from .replica_groups import Groups, own_replica, replica_attributes, replica_groups, stride
from .rule_types import (
    Batched,
    BatchedResult,
    Integers,
    Names,
    Tangent,
    Tangents,
    Values,
)
from .selection import where
from .slicing import concatenate
from .structural import batch_in_front, linear_jvp, move_axis, reduce_sum, reshape, widen

T = TypeVar("T")
Pairs = tuple[tuple[int, int], ...]  # (from, to)


def group_size(sizes: Sequence[int], groups: Groups) -> int:
    """The number of elements in a group. All groups have the same size."""
    return math.prod(sizes) if groups is None else len(groups[0])


def linear_index(axes: Names, sizes: tuple[int, ...]) -> Value:
    """The number of this element in row-major order."""
    number: Any = None
    for name, length in zip(axes, sizes, strict=True):
        index = axis_index(axes=(name,), sizes=(length,))
        number = index if number is None else add(mul(number, literal(length, dtypes.int32)), index)
    return literal(0, dtypes.int32) if number is None else number


# --- collectives on the stack of all values: `vmap` ---


def take_rows(x: Value, numbers: Sequence[int]) -> Value:
    """Slices of the first axis, by number."""
    table = np.asarray(numbers, np.int32).reshape(-1, 1)
    return gather(
        x,
        Array(table, aval(table.shape, dtypes.int32)),
        dimension_numbers=GatherDimensionNumbers(tuple(range(1, x.ndim)), (0,), (0,)),
        slice_sizes=(1, *x.shape[1:]),
        indices_are_sorted=False,
        unique_indices=len(set(numbers)) == len(numbers),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def grouped(x: Value, groups: Groups) -> Value:
    """[elements, …] as [groups, members, …]."""
    if groups is None:
        return reshape(x, shape=(1, *x.shape))
    rows = take_rows(x, [i for group in groups for i in group])
    return reshape(rows, shape=(len(groups), len(groups[0]), *x.shape[1:]))


def ungrouped(x: Value, groups: Groups) -> Value:
    """[groups, members, …] as [elements, …]."""
    elements = reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))
    if groups is None:
        return elements
    order = [i for group in groups for i in group]
    return take_rows(elements, [int(i) for i in np.argsort(order)])


def to_members(x: Value, groups: Groups) -> BatchedResult:
    """Gives each element the value of its group; the input is [groups, …]."""
    if groups is None:
        return Shared(reshape(x, shape=x.shape[1:]))
    group_of = {i: n for n, group in enumerate(groups) for i in group}
    return take_rows(x, [group_of[i] for i in range(len(group_of))])


def stack_collective(stack_rule: Rule) -> Rule:
    """The `collective` rule, from a function of the stack of all elements' values.

    Args:
      stack_rule: (stack [elements, …], groups, further params) -> stack, or `Shared`.
    """

    def rule(
        args: Values,
        batched: Batched,
        axis: Axis,
        *,
        axes: Names,
        sizes: Integers,
        groups: Groups,
        **params: object,
    ) -> BatchedResult:
        (x,), position = args, axes.index(axis.name)
        if not batched[0]:
            x = widen(x, (axis.size, *x.shape))
        other_axes, lengths = remove_at(axes, position), remove_at(sizes, position)
        if not other_axes:
            return stack_rule(x, groups, **params)
        # the other axes are not mapped here: gather all parts, compute, and keep this element's
        # part
        gathered = all_gather(
            reshape(x, shape=(1, *x.shape)),
            axes=other_axes,
            sizes=lengths,
            groups=None,
            dimension=0,
        )
        stack = move_axis(reshape(gathered, shape=(*lengths, *x.shape)), len(lengths), position)
        result = stack_rule(
            reshape(stack, shape=(math.prod(sizes), *x.shape[1:])), groups, **params
        )
        if isinstance(result, Shared):
            return result
        shape = result.shape[1:]
        result = move_axis(reshape(result, shape=(*sizes, *shape)), position, len(lengths))
        result = reshape(result, shape=(math.prod(lengths), axis.size, *shape))
        return reshape(part_of_element(result, 0, other_axes, lengths, 1), shape=result.shape[1:])

    return rule


def on_own_axis(primitive: Primitive, equal_results: bool = False) -> Callable[[Rule], None]:
    """Decorates a function of the stacked values of all elements and makes it a collective; see
    `stack_collective`."""

    def define(stack_rule: Rule) -> None:
        primitive.collective = Collective(stack_collective(stack_rule), equal_results=equal_results)

    return define


def remove_at(items: tuple[T, ...], position: int) -> tuple[T, ...]:
    """All items except one."""
    return items[:position] + items[position + 1 :]


def part_of_element(x: Value, dimension: int, axes: Names, sizes: Integers, length: int) -> Value:
    """This element's part of an axis, of the given length."""
    starts = [literal(0, dtypes.int32)] * x.ndim
    starts[dimension] = mul(linear_index(axes, sizes), literal(length, dtypes.int32))
    part = (*x.shape[:dimension], length, *x.shape[dimension + 1 :])
    return dynamic_slice(x, *starts, sizes=part)


# --- lowering: replicas and devices ---


def lower_reduction(combiner: Primitive, name: str) -> Rule:
    """A lowering rule: reduces over the replicas by a binary primitive."""

    def rule(
        block: Block,
        x: Operand,
        out: Aval,
        axes: Names,
        sizes: Integers,
        groups: Groups,
        **options: object,
    ) -> Operand:
        scalar = x.aval.update(shape=(), weak_type=False)
        body = block.region(
            (scalar, scalar),
            lambda b, args: [combiner.lower_rule(b, *args, out=scalar)],  # type: ignore[misc]
        )
        attributes = replica_attributes(block, combiner.name, axes, groups)
        attributes += "".join(f", {k} = {v} : i64" for k, v in options.items())
        return block.op(name, x, out=out, attributes=attributes, regions=[body])

    return rule


# --- reductions ---


def axis_reduction(
    name: str,
    doc: str,
    accepts: str,
    combiner: Primitive,
    reduce: Primitive,
    repeat: Callable[[Value, int], Value],
) -> Primitive:
    """A reduction over named axes by a binary operation.

    Args:
      repeat: (x, n) -> the reduction of n times x.
    """
    primitive = Primitive(name, doc)

    @primitive.type
    def _(x: Aval, *, axes: Names, sizes: Integers, groups: Groups) -> Aval:
        check_kind(name, accepts, x)
        return x

    primitive.batch(batch_in_front(primitive))

    def reduce_stack(x: Value, groups: Groups) -> BatchedResult:
        if groups is None:
            return Shared(reduce(x, axes=(0,)))
        # groups may differ in size
        rows = [reduce(take_rows(x, group), axes=(0,)) for group in groups]
        rows = [reshape(row, shape=(1, *row.shape)) for row in rows]
        return to_members(concatenate(*rows, dimension=0), groups)

    in_groups = stack_collective(reduce_stack)

    def on_axis(
        args: Values, batched: Batched, axis: Axis, *, axes: Names, sizes: Integers, groups: Groups
    ) -> BatchedResult:
        check_kind(name, accepts, args[0].aval)
        if groups is not None:
            return in_groups(args, batched, axis, axes=axes, sizes=sizes, groups=groups)
        position = axes.index(axis.name)
        x = reduce(args[0], axes=(0,)) if batched[0] else repeat(args[0], axis.size)
        if len(axes) > 1:
            x = primitive(
                x, axes=remove_at(axes, position), sizes=remove_at(sizes, position), groups=None
            )
        return Shared(x)

    primitive.collective = Collective(on_axis, equal_results=True)
    primitive.lower(lower_reduction(combiner, "all_reduce"))
    return primitive


def times_count(x: Value, n: int) -> Value:
    """The sum of n copies of a value."""
    if dtypes.is_inexact(x.dtype):
        return mul(x, literal(n, x.dtype))
    return reduce_sum(widen(x, (n, *x.shape)), axes=(0,))


def extreme_of_copies(x: Value, n: int) -> Value:
    """The extreme of n copies of a value, which is the value."""
    return x


psum = axis_reduction("psum", "Sum over named axes.", "number", add, reduce_sum, times_count)
pmax = axis_reduction(
    "pmax", "Maximum over named axes.", "real or bool", max_, reduce_max, extreme_of_copies
)
pmin = axis_reduction(
    "pmin", "Minimum over named axes.", "real or bool", min_, reduce_min, extreme_of_copies
)


psum.jvp(linear_jvp(psum))


@psum.transpose
def _(ct: Value, x: Aval, **params: object) -> Tangents:
    return (psum(ct, **params),)  # every element received the sum, so their cotangents add up


def _collective_extreme_jvp(
    primals: Values, tangents: Values, out: Value, **params: object
) -> Tangent:
    (x,), (dx,) = primals, tangents
    return mean_at_extreme(x, dx, out, lambda v: psum(v, **params))


pmax.jvp(_collective_extreme_jvp)
pmin.jvp(_collective_extreme_jvp)

# --- moving ---

ppermute = Primitive(
    "ppermute",
    "Sends values between elements, by pairs (from, to); an element that receives none gets zeros.",
)
ppermute.takes_keys = True


@ppermute.type
def _(x: Aval, **_: object) -> Aval:
    return x


@ppermute.lower
def _(
    block: Block, x: Operand, out: Aval, axes: Names, groups: Groups, perm: Pairs, **_: object
) -> Operand:
    rows = replica_groups(block, "ppermute", axes, groups)
    pairs = [(row[source], row[target]) for row in rows for source, target in perm]
    if not pairs:
        return block.full(0, out)
    attributes = f"source_target_pairs = {matrix(pairs)}"
    if block.module.meshes is not None:
        attributes += f", {block.module.channel()}"
    return block.op("collective_permute", x, out=out, attributes=attributes)


ppermute.jvp(linear_jvp(ppermute))


@ppermute.transpose
def _(ct: Value, x: Aval, *, perm: Pairs, **params: object) -> Tangents:
    return (ppermute(ct, perm=tuple((target, source) for source, target in perm), **params),)


ppermute.batch(batch_in_front(ppermute))


@on_own_axis(ppermute)
def _(x: Value, groups: Groups, *, perm: Pairs) -> BatchedResult:
    source_of = {target: source for source, target in perm}
    received_values = take_rows(x, [source_of.get(i, 0) for i in range(x.shape[0])])
    if len(source_of) == x.shape[0]:
        return received_values
    is_received = np.array([i in source_of for i in range(x.shape[0])]).reshape(
        -1, *[1] * (x.ndim - 1)
    )
    mask = Array(is_received, aval(is_received.shape, dtypes.bool_))
    return where(widen(mask, x.shape), received_values, zeros(x.aval))


all_gather = Primitive("all_gather", "Gathers the values of all elements along an axis.")
all_gather.takes_keys = True


@all_gather.type
def _(x: Aval, *, axes: Names, sizes: Integers, groups: Groups, dimension: int) -> Aval:
    return scale_axis(x, dimension, group_size(sizes, groups))


def scale_axis(x: Aval, dimension: int, factor: int) -> Aval:
    """An aval with one axis longer by a factor."""
    shape = list(x.shape)
    shape[dimension] *= factor
    return x.update(shape=shape)


@all_gather.lower
def _(
    block: Block, x: Operand, out: Aval, axes: Names, groups: Groups, dimension: int, **_: object
) -> Operand:
    replicas = replica_attributes(block, "all_gather", axes, groups)
    attributes = f"all_gather_dim = {dimension} : i64, {replicas}"
    return block.op("all_gather", x, out=out, attributes=attributes)


all_gather.jvp(linear_jvp(all_gather))


@all_gather.transpose
def _(ct: Value, x: Aval, **params: object) -> Tangents:
    return (psum_scatter(ct, **params),)


all_gather.batch(batch_in_front(all_gather, "dimension"))


@on_own_axis(all_gather, equal_results=True)
def _(x: Value, groups: Groups, *, dimension: int) -> BatchedResult:
    rows = move_axis(grouped(x, groups), 1, 1 + dimension)
    return to_members(merge_axes(rows, 1 + dimension), groups)


def merge_axes(x: Value, axis: int) -> Value:
    """The array with this axis and the next one merged."""
    n = x.shape[axis] * x.shape[axis + 1]
    return reshape(x, shape=(*x.shape[:axis], n, *x.shape[axis + 2 :]))


def split_axis(x: Value, axis: int, parts: int) -> Value:
    """The array with an axis split in two: the number of parts, and the length of a part."""
    n = x.shape[axis] // parts
    return reshape(x, shape=(*x.shape[:axis], parts, n, *x.shape[axis + 1 :]))


psum_scatter = Primitive(
    "psum_scatter", "Sums over named axes and gives each element a part of the sum along an axis."
)


@psum_scatter.type
def _(x: Aval, *, axes: Names, sizes: Integers, groups: Groups, dimension: int) -> Aval:
    check_kind("psum_scatter", "number", x)
    return divide_axis(x, dimension, group_size(sizes, groups))


def divide_axis(x: Aval, dimension: int, parts: int) -> Aval:
    """An aval with the length of one axis divided by a number."""
    shape = list(x.shape)
    shape[dimension] //= parts
    return x.update(shape=shape)


@psum_scatter.lower
def _(block: Block, x: Operand, out: Aval, dimension: int, **params: object) -> Operand:
    rule = lower_reduction(add, "reduce_scatter")
    return rule(block, x, out=out, scatter_dimension=dimension, **params)


psum_scatter.jvp(linear_jvp(psum_scatter))


@psum_scatter.transpose
def _(ct: Value, x: Aval, **params: object) -> Tangents:
    return (all_gather(ct, **params),)


psum_scatter.batch(batch_in_front(psum_scatter, "dimension"))


@on_own_axis(psum_scatter)
def _(x: Value, groups: Groups, *, dimension: int) -> BatchedResult:
    rows = grouped(x, groups)
    parts = split_axis(reduce_sum(rows, axes=(1,)), 1 + dimension, rows.shape[1])
    return ungrouped(move_axis(parts, 1 + dimension, 1), groups)


all_to_all = Primitive(
    "all_to_all",
    "Sends each element's parts along axis `split` to all elements, which join them "
    "along `concat`.",
)
all_to_all.takes_keys = True


@all_to_all.type
def _(x: Aval, *, axes: Names, sizes: Integers, groups: Groups, split: int, concat: int) -> Aval:
    count = group_size(sizes, groups)
    return scale_axis(divide_axis(x, split, count), concat, count)


@all_to_all.lower
def _(
    block: Block,
    x: Operand,
    out: Aval,
    axes: Names,
    sizes: Integers,
    groups: Groups,
    split: int,
    concat: int,
) -> Operand:
    attributes = (
        f"split_dimension = {split} : i64, concat_dimension = {concat} : i64, "
        f"split_count = {group_size(sizes, groups)} : i64, "
        + replica_attributes(block, "all_to_all", axes, groups, ids=False)
    )
    return block.op("all_to_all", x, out=out, attributes=attributes)


all_to_all.jvp(linear_jvp(all_to_all))


@all_to_all.transpose
def _(ct: Value, x: Aval, *, split: int, concat: int, **params: object) -> Tangents:
    return (all_to_all(ct, split=concat, concat=split, **params),)


all_to_all.batch(batch_in_front(all_to_all, "split", "concat"))


@on_own_axis(all_to_all)
def _(x: Value, groups: Groups, *, split: int, concat: int) -> BatchedResult:
    rows = grouped(x, groups)  # [groups, from, …]
    rows = split_axis(rows, 2 + split, rows.shape[1])
    rows = move_axis(rows, 2 + split, 1)  # [groups, to, from, …]
    return ungrouped(merge_axes(move_axis(rows, 2, 2 + concat), 2 + concat), groups)


# --- axis_index ---

axis_index = Primitive("axis_index", "The number of this element along a named axis.")


@axis_index.type
def _(*, axes: Names, sizes: Integers) -> Aval:
    return aval((), dtypes.int32)


@axis_index.lower
def _(block: Block, out: Aval, axes: Names, sizes: Integers) -> Operand:
    step = stride(block, "axis_index", axes[0])
    number = out.update(dtype=dtypes.uint32)

    def write(block: Block, args: Sequence[Operand]) -> list[Operand]:
        length = block.constant(np.uint32(sizes[0]), number)
        replica = own_replica(block, number)
        quotient = block.elementwise(
            "divide", (replica, block.constant(np.uint32(step), number)), number
        )
        return [
            block.convert(block.elementwise("remainder", (quotient, length), number), dtypes.int32)
        ]

    region, meshes = block.module.region, block.module.meshes
    if region is None or meshes is None or not region.rest:
        return write(block, ())[0]
    # XLA gives the number of a device only where the program is written for one
    manual_region = Region(region.mesh, frozenset(region.mesh.axis_names))
    (index,) = block.manual(
        [], [], [out], write, axes=block.module.axes, region=manual_region, manual=region.rest,
        inputs=[], results=[meshes.sharding(region.mesh, (), 0)],
    )  # fmt: skip
    return index


@axis_index.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: object) -> Tangent:
    return None


def numbers_along(args: Values, batched: Batched, axis: Axis, **params: object) -> Value:
    """The number of each element of a mapped axis."""
    return iota(dtype=dtypes.int32, shape=(axis.size,), dimension=0)


axis_index.collective = Collective(numbers_along, communicates=False)
