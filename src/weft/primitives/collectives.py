"""Collectives: operations between the elements of named axes, each of which runs the same program.

Their parameters are alike. `axes` are names and `sizes` their lengths; the elements of several axes
are counted row by row. `groups` are tuples of elements' numbers, each group by itself; None if all
belong together.

`vmap` applies them to the stack of all elements' values, by the `collective` rule; a compiled
program of many replicas has operations of XLA's for them. Knows nothing of what brings a name into
scope.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import Aval, aval
from ..core.primitive import Axis, Primitive, Shared, is_linear
from ..stablehlo.attributes import matrix
from ..stablehlo.shardy import Region
from .arithmetic import add, div, max_, min_, mul
from .comparison import eq
from .creation import iota
from .device_numbers import Groups, between, own_number, replica_groups, stride
from .dynamic_slicing import dynamic_slice
from .families import check_kind
from .index_numbers import GatherDimensionNumbers, GatherScatterMode
from .indexing import gather
from .reduction import reduce_max, reduce_min
from .selection import where
from .slicing import concatenate
from .structural import convert_element_type, move_axis, reduce_sum, reshape, widen, zeros


def members(sizes: Sequence[int], groups: Groups) -> int:
    """How many elements a group has; all of them have as many."""
    return math.prod(sizes) if groups is None else len(groups[0])


def linear_index(axes: tuple[Any, ...], sizes: tuple[int, ...]) -> Any:
    """The number of this element, row by row."""
    number: Any = None
    for name, size in zip(axes, sizes, strict=True):
        at = axis_index(axes=(name,), sizes=(size,))
        number = at if number is None else add(mul(number, literal(size, dtypes.int32)), at)
    return literal(0, dtypes.int32) if number is None else number


# --- the stack of all values: what `vmap` makes of a collective ---


def take(x: Any, numbers: Sequence[int]) -> Any:
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


def grouped(x: Any, groups: Groups) -> Any:
    """[elements, …] as [groups, members, …]."""
    if groups is None:
        return reshape(x, shape=(1, *x.shape))
    rows = take(x, [i for group in groups for i in group])
    return reshape(rows, shape=(len(groups), len(groups[0]), *x.shape[1:]))


def ungrouped(x: Any, groups: Groups) -> Any:
    """[groups, members, …] as [elements, …]."""
    flat = reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))
    if groups is None:
        return flat
    order = [i for group in groups for i in group]
    return take(flat, [int(i) for i in np.argsort(order)])


def to_members(x: Any, groups: Groups) -> Any:
    """[groups, …], what each group has in common, for all elements."""
    if groups is None:
        return Shared(reshape(x, shape=x.shape[1:]))
    group_of = {i: n for n, group in enumerate(groups) for i in group}
    return take(x, [group_of[i] for i in range(len(group_of))])


def on_stack(whole: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a collective for its own axis, from what it does to the stack of all values.

    Args:
      whole: (stack [elements, …], groups, further params) -> stack, or `Shared`.
    """

    def rule(
        args: Any, batched: Any, axis: Axis, *, axes: Any, sizes: Any, groups: Groups, **params: Any
    ) -> Any:
        (x,), at = args, axes.index(axis.name)
        if not batched[0]:
            x = widen(x, (axis.size, *x.shape))
        rest, lengths = without(axes, at), without(sizes, at)
        if not rest:
            return whole(x, groups, **params)
        # the other axes aren't mapped here: fetch all, do it, and keep what belongs to this element
        everyone = all_gather(
            reshape(x, shape=(1, *x.shape)), axes=rest, sizes=lengths, groups=None, dimension=0
        )
        stack = move_axis(reshape(everyone, shape=(*lengths, *x.shape)), len(lengths), at)
        done = whole(reshape(stack, shape=(math.prod(sizes), *x.shape[1:])), groups, **params)
        if done.__class__ is Shared:
            return done
        shape = done.shape[1:]
        done = move_axis(reshape(done, shape=(*sizes, *shape)), at, len(lengths))
        done = reshape(done, shape=(math.prod(lengths), axis.size, *shape))
        return reshape(own_part(done, 0, rest, lengths, 1), shape=done.shape[1:])

    return rule


def on_own_axis(primitive: Primitive) -> Callable[..., Any]:
    """Decorates what a collective does to the stack of all values: see `on_stack`."""
    return lambda whole: primitive.collective(on_stack(whole))


def without(items: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    """All items but one."""
    return items[:at] + items[at + 1 :]


def own_part(x: Any, dimension: int, axes: Any, sizes: Any, length: int) -> Any:
    """Of the parts of this length along an axis, the one that has this element's number."""
    starts = [literal(0, dtypes.int32)] * x.ndim
    starts[dimension] = mul(linear_index(axes, sizes), literal(length, dtypes.int32))
    part = (*x.shape[:dimension], length, *x.shape[dimension + 1 :])
    return dynamic_slice(x, *starts, sizes=part)


# --- replicas and devices: what XLA makes of it ---


def lower_reduction(by: Primitive, name: str) -> Callable[..., Any]:
    """A lowering rule: reduces over the replicas by a binary primitive."""

    def rule(
        block: Any, x: Any, out: Aval, axes: Any, sizes: Any, groups: Groups, **rest: Any
    ) -> Any:
        scalar = x.aval.update(shape=(), weak_type=False)
        body = block.region(
            (scalar, scalar),
            lambda b, args: [by.lower_rule(b, *args, out=scalar)],  # type: ignore[misc]
        )
        marks = between(block, by.name, axes, groups)
        marks += "".join(f", {k} = {v} : i64" for k, v in rest.items())
        return block.op(name, x, out=out, attributes=marks, regions=[body])

    return rule


# --- reductions ---


def reducer(
    name: str,
    doc: str,
    accepts: str,
    by: Primitive,
    reduce: Primitive,
    repeat: Callable[[Any, int], Any],
) -> Primitive:
    """A reduction over named axes by a binary operation.

    Args:
      repeat: (x, n) -> the reduction of n times x.
    """
    primitive = Primitive(name, doc)
    primitive.equal_results = True

    @primitive.type
    def _(x: Aval, *, axes: Any, sizes: Any, groups: Groups) -> Aval:
        check_kind(name, accepts, x)
        return x

    @primitive.batch
    def _(args: Any, batched: Any, batch_size: int, **params: Any) -> Any:
        return primitive(args[0], **params)

    def whole(x: Any, groups: Groups) -> Any:
        if groups is None:
            return Shared(reduce(x, axes=(0,)))
        rows = [reduce(take(x, group), axes=(0,)) for group in groups]  # they may differ in size
        rows = [reshape(row, shape=(1, *row.shape)) for row in rows]
        return to_members(concatenate(*rows, dimension=0), groups)

    in_groups = on_stack(whole)

    @primitive.collective
    def _(args: Any, batched: Any, axis: Axis, *, axes: Any, sizes: Any, groups: Groups) -> Any:
        check_kind(name, accepts, args[0].aval)
        if groups is not None:
            return in_groups(args, batched, axis, axes=axes, sizes=sizes, groups=groups)
        at = axes.index(axis.name)
        x = reduce(args[0], axes=(0,)) if batched[0] else repeat(args[0], axis.size)
        if len(axes) > 1:
            x = primitive(x, axes=without(axes, at), sizes=without(sizes, at), groups=None)
        return Shared(x)

    primitive.lower(lower_reduction(by, "all_reduce"))
    return primitive


def times(x: Any, n: int) -> Any:
    """A value added to itself."""
    if dtypes.is_inexact(x.dtype):
        return mul(x, literal(n, x.dtype))
    return reduce_sum(widen(x, (n, *x.shape)), axes=(0,))


def itself(x: Any, n: int) -> Any:
    """The extreme of a value and itself."""
    return x


psum = reducer("psum", "Sum over named axes.", "number", add, reduce_sum, times)
pmax = reducer("pmax", "Maximum over named axes.", "real or bool", max_, reduce_max, itself)
pmin = reducer("pmin", "Minimum over named axes.", "real or bool", min_, reduce_min, itself)


@psum.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return psum(tangents[0], **params)


@psum.transpose
def _(ct: Any, x: Aval, **params: Any) -> Any:  # every element got the sum: their cotangents add up
    return (psum(ct, **params),)


def _extreme_jvp(extreme: Primitive) -> None:
    """Elements that share the extreme share its derivative equally."""

    @extreme.jvp
    def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
        (x,), (dx,) = primals, tangents
        here = convert_element_type(eq(x, out), dtype=x.dtype)
        return div(psum(mul(dx, here), **params), psum(here, **params))


_extreme_jvp(pmax)
_extreme_jvp(pmin)

# --- what is the same for all elements: for `reduce_axes` ---


def by_variation(
    name: str, doc: str, change: Callable[..., Any], across: Callable[..., Any]
) -> Primitive:
    """A linear map of the first operand. What it does along an axis depends on which of the others,
    the witnesses, vary along it; their values don't matter.

    Args:
      change: (operand, whether it varies, size) -> what becomes of it if no witness varies.
      across: the same in a program for one element: (operand, whether it varies, axis).
    """
    primitive = Primitive(name, doc)

    @primitive.type
    def _(x: Aval, *witnesses: Aval, axes: Any, sizes: Any) -> Aval:
        return x

    @primitive.lower
    def _(block: Any, *operands: Any, out: Aval, axes: Any, sizes: Any) -> Any:
        raise TypeError(
            f"reduce_axes={axes}: expected an axis along which it is known which values vary; it "
            "isn't in a loop or a branch on many devices\n"
            "  fix: leave the axis out of reduce_axes, and apply psum to the gradient"
        )

    @primitive.jvp
    def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
        return None if tangents[0] is None else primitive(tangents[0], *primals[1:], **params)

    @primitive.transpose
    def _(ct: Any, x: Any, *witnesses: Any, **params: Any) -> Any:
        if any(map(is_linear, witnesses)):
            raise TypeError(
                "linear_transpose: expected a linear function; got one that takes a gradient with "
                f"reduce_axes={params['axes']}, which asks how its argument varies\n  fix: vjp"
            )
        return (primitive(ct, *witnesses, **params), *[None] * len(witnesses))

    @primitive.batch
    def _(args: Any, batched: Any, batch_size: int, **params: Any) -> Any:
        x = primitive(*args, **params)
        return x if batched[0] else Shared(x)

    @primitive.resolve
    def _(args: Any, vary: Sequence[bool], axis: Axis, *, axes: Any, sizes: Any) -> Any:
        (x, *witnesses), (varies, *witnesses_vary) = args, vary
        if axis.name not in axes:
            return [primitive(*args, axes=axes, sizes=sizes)]
        at = axes.index(axis.name)
        if not any(witnesses_vary):
            x = across(x, varies, axis)
        if len(axes) > 1:  # along the others it goes on asking
            x = primitive(x, *witnesses, axes=without(axes, at), sizes=without(sizes, at))
        return [x]

    @primitive.collective
    def _(args: Any, batched: Any, axis: Axis, *, axes: Any, sizes: Any) -> Any:
        (x, *witnesses), (varies, *witnesses_vary) = args, batched
        at = axes.index(axis.name)
        if not any(witnesses_vary):
            x, varies = change(x, varies, axis.size)
        if len(axes) > 1:
            x = primitive(x, *witnesses, axes=without(axes, at), sizes=without(sizes, at))
        return x if varies else Shared(x)

    return primitive


def _sum(x: Any, varies: bool, size: int) -> tuple[Any, bool]:
    return reduce_sum(x, axes=(0,)) if varies else times(x, size), False


def _part(x: Any, varies: bool, size: int) -> tuple[Any, bool]:
    return div(x, literal(size, x.dtype)), varies


def _sum_across(x: Any, varies: bool, axis: Axis) -> Any:
    if not varies:
        return times(x, axis.size)
    return psum(x, axes=(axis.name,), sizes=(axis.size,), groups=None)


def _part_across(x: Any, varies: bool, axis: Axis) -> Any:
    return div(x, literal(axis.size, x.dtype))


psum_shared = by_variation(
    "psum_shared", "Sum over axes along which no witness varies.", _sum, _sum_across
)
share = by_variation(
    "share", "An equal part of the sum: divided by the length of the axes.", _part, _part_across
)

# --- moving ---

ppermute = Primitive(
    "ppermute", "The value of another element, by pairs (from, to); zeros where none is sent."
)


@ppermute.type
def _(x: Aval, *, axes: Any, sizes: Any, groups: Groups, perm: Any) -> Aval:
    return x


@ppermute.lower
def _(block: Any, x: Any, out: Aval, axes: Any, sizes: Any, groups: Groups, perm: Any) -> Any:
    rows = replica_groups(block, "ppermute", axes, groups)
    pairs = [(row[source], row[target]) for row in rows for source, target in perm]
    if not pairs:
        return block.full(0, out)
    marks = f"source_target_pairs = {matrix(pairs)}"
    if block.module.meshes is not None:
        marks += f", {block.module.channel()}"
    return block.op("collective_permute", x, out=out, attributes=marks)


@ppermute.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return ppermute(tangents[0], **params)


@ppermute.transpose
def _(ct: Any, x: Aval, *, perm: Any, **params: Any) -> Any:
    return (ppermute(ct, perm=tuple((target, source) for source, target in perm), **params),)


@ppermute.batch
def _(args: Any, batched: Any, batch_size: int, **params: Any) -> Any:
    return ppermute(args[0], **params)


@on_own_axis(ppermute)
def _(x: Any, groups: Groups, *, perm: Any) -> Any:
    source_of = {target: source for source, target in perm}
    moved = take(x, [source_of.get(i, 0) for i in range(x.shape[0])])
    if len(source_of) == x.shape[0]:
        return moved
    sent = np.array([i in source_of for i in range(x.shape[0])]).reshape(-1, *[1] * (x.ndim - 1))
    mask = Array(sent, aval(sent.shape, dtypes.bool_))
    return where(widen(mask, x.shape), moved, zeros(x.aval))


all_gather = Primitive("all_gather", "The values of all elements, joined along an axis.")
all_gather.equal_results = True


@all_gather.type
def _(x: Aval, *, axes: Any, sizes: Any, groups: Groups, dimension: int) -> Aval:
    return scaled(x, dimension, members(sizes, groups))


def scaled(x: Aval, dimension: int, factor: int) -> Aval:
    """An aval with one axis that many times as long."""
    shape = list(x.shape)
    shape[dimension] *= factor
    return x.update(shape=shape)


@all_gather.lower
def _(block: Any, x: Any, out: Aval, axes: Any, sizes: Any, groups: Groups, dimension: int) -> Any:
    marks = f"all_gather_dim = {dimension} : i64, {between(block, 'all_gather', axes, groups)}"
    return block.op("all_gather", x, out=out, attributes=marks)


@all_gather.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return all_gather(tangents[0], **params)


@all_gather.transpose
def _(ct: Any, x: Aval, **params: Any) -> Any:
    return (psum_scatter(ct, **params),)


@all_gather.batch
def _(args: Any, batched: Any, batch_size: int, *, dimension: int, **params: Any) -> Any:
    return all_gather(args[0], dimension=dimension + 1, **params)


@on_own_axis(all_gather)
def _(x: Any, groups: Groups, *, dimension: int) -> Any:
    rows = move_axis(grouped(x, groups), 1, 1 + dimension)
    return to_members(merged(rows, 1 + dimension), groups)


def merged(x: Any, axis: int) -> Any:
    """The array with this axis and the next made one."""
    n = x.shape[axis] * x.shape[axis + 1]
    return reshape(x, shape=(*x.shape[:axis], n, *x.shape[axis + 2 :]))


def parted(x: Any, axis: int, parts: int) -> Any:
    """The array with an axis made two: the parts, and what is in one."""
    n = x.shape[axis] // parts
    return reshape(x, shape=(*x.shape[:axis], parts, n, *x.shape[axis + 1 :]))


psum_scatter = Primitive(
    "psum_scatter", "The sum over named axes, of which each element gets a part along an axis."
)


@psum_scatter.type
def _(x: Aval, *, axes: Any, sizes: Any, groups: Groups, dimension: int) -> Aval:
    check_kind("psum_scatter", "number", x)
    return divided(x, dimension, members(sizes, groups))


def divided(x: Aval, dimension: int, parts: int) -> Aval:
    """An aval with one axis divided by that number."""
    shape = list(x.shape)
    shape[dimension] //= parts
    return x.update(shape=shape)


@psum_scatter.lower
def _(block: Any, x: Any, out: Aval, dimension: int, **params: Any) -> Any:
    rule = lower_reduction(add, "reduce_scatter")
    return rule(block, x, out=out, scatter_dimension=dimension, **params)


@psum_scatter.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return psum_scatter(tangents[0], **params)


@psum_scatter.transpose
def _(ct: Any, x: Aval, **params: Any) -> Any:
    return (all_gather(ct, **params),)


@psum_scatter.batch
def _(args: Any, batched: Any, batch_size: int, *, dimension: int, **params: Any) -> Any:
    return psum_scatter(args[0], dimension=dimension + 1, **params)


@on_own_axis(psum_scatter)
def _(x: Any, groups: Groups, *, dimension: int) -> Any:
    rows = grouped(x, groups)
    parts = parted(reduce_sum(rows, axes=(1,)), 1 + dimension, rows.shape[1])
    return ungrouped(move_axis(parts, 1 + dimension, 1), groups)


all_to_all = Primitive(
    "all_to_all",
    "Each element's parts along axis `split` go to all elements, which join theirs along `concat`.",
)


@all_to_all.type
def _(x: Aval, *, axes: Any, sizes: Any, groups: Groups, split: int, concat: int) -> Aval:
    count = members(sizes, groups)
    return scaled(divided(x, split, count), concat, count)


@all_to_all.lower
def _(
    block: Any, x: Any, out: Aval, axes: Any, sizes: Any, groups: Groups, split: int, concat: int
) -> Any:
    marks = (
        f"split_dimension = {split} : i64, concat_dimension = {concat} : i64, "
        f"split_count = {members(sizes, groups)} : i64, "
        + between(block, "all_to_all", axes, groups, ids=False)
    )
    return block.op("all_to_all", x, out=out, attributes=marks)


@all_to_all.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return all_to_all(tangents[0], **params)


@all_to_all.transpose
def _(ct: Any, x: Aval, *, split: int, concat: int, **params: Any) -> Any:
    return (all_to_all(ct, split=concat, concat=split, **params),)


@all_to_all.batch
def _(args: Any, batched: Any, batch_size: int, *, split: int, concat: int, **params: Any) -> Any:
    return all_to_all(args[0], split=split + 1, concat=concat + 1, **params)


@on_own_axis(all_to_all)
def _(x: Any, groups: Groups, *, split: int, concat: int) -> Any:
    rows = grouped(x, groups)  # [groups, from, …]
    rows = move_axis(parted(rows, 2 + split, rows.shape[1]), 2 + split, 1)  # [groups, to, from, …]
    return ungrouped(merged(move_axis(rows, 2, 2 + concat), 2 + concat), groups)


# --- where am I ---

axis_index = Primitive("axis_index", "The number of this element along a named axis.")


@axis_index.type
def _(*, axes: Any, sizes: Any) -> Aval:
    return aval((), dtypes.int32)


@axis_index.lower
def _(block: Any, out: Aval, axes: Any, sizes: Any) -> Any:
    step = stride(block, "axis_index", axes[0])
    number = out.update(dtype=dtypes.uint32)

    def write(block: Any, args: Any) -> list[Any]:
        size = block.constant(np.uint32(sizes[0]), number)
        own = own_number(block, number)
        at = block.elementwise("divide", (own, block.constant(np.uint32(step), number)), number)
        return [block.convert(block.elementwise("remainder", (at, size), number), dtypes.int32)]

    region = block.module.region
    if region is None or not region.rest:
        return write(block, ())[0]
    # XLA gives the number of a device only where the program is written for one
    inside = Region(region.mesh, frozenset(region.mesh.axis_names))
    (index,) = block.manual(
        [], [], [out], write, axes=block.module.axes, region=inside, manual=region.rest,
        inputs=[], results=[block.module.meshes.sharding(region.mesh, (), 0)],
    )  # fmt: skip
    return index


@axis_index.jvp
def _(primals: Any, tangents: Any, out: Any, **params: Any) -> Any:
    return None


@axis_index.collective
def _(args: Any, batched: Any, axis: Axis, **params: Any) -> Any:
    return iota(dtype=dtypes.int32, shape=(axis.size,), dimension=0)


axis_index.communicates = False
