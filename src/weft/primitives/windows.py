"""reduce_window_sum, reduce_window_max, reduce_window_min, and the positions of a window's
extremes.

A window reduction combines a few shifted slices, axis by axis. On CPUs this is several times faster
than XLA's reduce_window and select_and_scatter (benchmarks/README.md).
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints, matrix
from .convolution import dilate_and_pad, dilated, out_length, spatial_shape
from .elementwise import check_kind
from .gather_dimension_numbers import GatherScatterMode
from .monoids import MAXIMUM, MINIMUM, REDUCTION_DTYPE, SUM, Monoid, highest, lowest
from .reductions import better_pair
from .rule_types import (
    Argument,
    Avals,
    Batched,
    Host,
    Integers,
    Tangent,
    Tangents,
    Values,
)
from .sorting import take_along
from .structural import linear_jvp, reshape


class Geometry(NamedTuple):
    """The sizes and positions of windows, one entry for each axis.

    Attributes:
      window: the number of elements of a window.
      strides: the distance between windows.
      padding: (before, after): the numbers of identities around the array; negative numbers crop.
      base_dilation: `d - 1` identities are put between elements.
      window_dilation: `d - 1` places between a window's elements are skipped.
    """

    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def out_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The output's shape for an array of `shape`."""
        return tuple(spatial_shape(shape, *self))

    def batched(self) -> "Geometry":
        """The same with one more axis in front, along which windows have length one."""
        return Geometry(
            (1, *self.window),
            (1, *self.strides),
            ((0, 0), *self.padding),
            (1, *self.base_dilation),
            (1, *self.window_dilation),
        )

    @property
    def attributes(self) -> str:
        """StableHLO's attributes for the windows."""
        return (
            f"window_dimensions = {ints(self.window)}, window_strides = {ints(self.strides)}, "
            f"padding = {matrix(np.reshape(self.padding, (-1, 2)))}, "
            f"base_dilations = {ints(self.base_dilation)}, "
            f"window_dilations = {ints(self.window_dilation)}"
        )


def check_geometry(name: str, x: Aval, geometry: Geometry) -> None:
    """Raises an error for windows that do not fit an array."""
    for name_of_entry, values in geometry._asdict().items():
        if len(values) != x.ndim:
            raise ShapeError(
                f"{name}: {name_of_entry} needs one entry for each axis of {x}; got {tuple(values)}"
            )
        if name_of_entry != "padding" and any(v < 1 for v in values):
            raise ShapeError(f"{name}: {name_of_entry} must be positive; got {tuple(values)}")


# --- windows as slices ---

T = TypeVar("T")  # a NumPy array, an operand, or pairs of a value and its tangent


def slide(
    x: T,
    geometry: Geometry,
    shape: Sequence[int],
    cut: Callable[[T, int, int, int, int], T],
    combine: Callable[[T, T], T],
) -> T:
    """Combines the elements of each window, axis by axis; the array is already padded and dilated.

    Args:
      shape: the output's.
      cut: (x, axis, start, length, step) -> the slice.
      combine: (x, y) -> their combination.
    """
    for axis, (w, stride, _, _, gap) in enumerate(zip(*geometry, strict=True)):
        n = shape[axis]
        if w <= 8 or stride > 1:
            taps = (cut(x, axis, t * gap, n, stride) for t in range(w))
            x = combine_all(taps, combine)
            continue
        # windows of 1, 2, 4, … elements, put together to one of w
        pieces, start, window_length, length = [], 0, 1, n + (w - 1) * gap
        while window_length <= w:
            if w & window_length:
                pieces.append(cut(x, axis, start * gap, n, 1))
                start += window_length
            if 2 * window_length <= w:
                length -= window_length * gap
                x = combine(
                    cut(x, axis, 0, length, 1), cut(x, axis, window_length * gap, length, 1)
                )
            window_length *= 2
        x = combine_all(pieces, combine)
    return x


def combine_all(pieces: Iterable[T], combine: Callable[[T, T], T]) -> T:
    """Combines arrays from the left."""
    return functools.reduce(combine, pieces)


def host_slice(x: Host, axis: int, start: int, length: int, step: int) -> Host:
    """A slice along an axis, of a NumPy array."""
    stop = start + (length - 1) * step + 1
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def block_slice(block: Block) -> Rule:
    """Writes slices along an axis."""

    def cut(x: Operand, axis: int, start: int, length: int, step: int) -> Operand:
        shape = x.aval.shape
        start_indices = [start if i == axis else 0 for i in range(len(shape))]
        stop = [start + (length - 1) * step + 1 if i == axis else n for i, n in enumerate(shape)]
        steps = [step if i == axis else 1 for i in range(len(shape))]
        return block.slice(x, start_indices, stop, steps)

    return cut


def block_dilate_and_pad(
    block: Block, x: Operand, geometry: Geometry, value: np.generic
) -> Operand:
    """Writes the padding and dilation of an array."""
    if not any(map(any, geometry.padding)) and all(d == 1 for d in geometry.base_dilation):
        return x
    padding = [(*p, d - 1) for p, d in zip(geometry.padding, geometry.base_dilation, strict=True)]
    scalar = x.aval.update(shape=(), weak_type=False)
    return block.pad(x, block.constant(value, scalar), padding)


# --- sums and extremes ---


def window_reduction(name: str, doc: str, monoid: Monoid, *, accepts: str) -> Primitive:
    """A reduction of windows by a binary operation."""
    primitive = Primitive(name, doc, host="other")
    identity = monoid.identity

    def type_rule(x: Aval, *, geometry: Geometry) -> Aval:
        check_kind(name, accepts, x)
        check_geometry(name, x, geometry)
        return x.update(shape=geometry.out_shape(x.shape), weak_type=False)

    def evaluate_rule(x: Host, *, geometry: Geometry) -> Host:
        dtype, shape = x.dtype, geometry.out_shape(x.shape)
        wide_dtype = REDUCTION_DTYPE.get(dtype, dtype)
        if 0 in shape:
            return np.zeros(shape, dtype)
        start = identity(wide_dtype)
        padded = dilate_and_pad(
            x.astype(wide_dtype), geometry.padding, geometry.base_dilation, start
        )
        result = slide(padded, geometry, shape, host_slice, monoid.ufunc)
        return result.astype(dtype)

    def lower_rule(block: Block, x: Operand, out: Aval, geometry: Geometry) -> Operand:
        if not out.size:
            return block.full(0, out)
        if block.module.platform != "cpu":
            return lower_reduce_window(
                block, [x], [identity(out.dtype)], [out], geometry, monoid.region(block, out)
            )[0]
        x = block.convert(x, REDUCTION_DTYPE.get(out.dtype, out.dtype))

        def combine(a: Operand, b: Operand) -> Operand:
            return monoid.write(block, a, b, a.aval)

        padded = block_dilate_and_pad(block, x, geometry, identity(x.aval.dtype))
        return block.convert(
            slide(padded, geometry, out.shape, block_slice(block), combine), out.dtype
        )

    def batch_rule(args: Values, batched: Batched, batch_size: int, *, geometry: Geometry) -> Value:
        return primitive(args[0], geometry=geometry.batched())

    primitive.type(type_rule)
    primitive.evaluate(evaluate_rule)
    primitive.lower(lower_rule)
    primitive.batch(batch_rule)
    return primitive


def lower_reduce_window(
    block: Block,
    xs: Sequence[Operand],
    inits: Sequence[Operand | np.generic],
    outs: Avals,
    geometry: Geometry,
    body: str,
) -> list[Operand]:
    """Writes XLA's own operation; initial values are operands, or scalars of NumPy."""
    starts = [
        block.constant(i, x.aval.update(shape=(), weak_type=False))
        if isinstance(i, np.generic)
        else i
        for x, i in zip(xs, inits, strict=True)
    ]
    return block.op(
        "reduce_window",
        *xs,
        *starts,
        out=list(outs),
        attributes=geometry.attributes,
        regions=[body],
    )


reduce_window_sum = window_reduction(
    "reduce_window_sum", "Sum of each window.", SUM, accepts="number"
)


reduce_window_sum.jvp(linear_jvp(reduce_window_sum))


@reduce_window_sum.transpose
def _(ct: Value, x: Argument, *, geometry: Geometry) -> Tangents:
    # An element gets the cotangents of all windows that contain it. That is again a window sum, of
    # the cotangent spread by the strides.
    window, strides, _, base, gaps = geometry
    if not ct.size or not x.size:
        return (None,)
    pads = []
    for n, w, s, (low, _), d, e, m in zip(x.shape, *geometry, ct.shape, strict=True):
        window_reach = dilated(w, e) - 1
        low_padding = window_reach - low
        pads.append((low_padding, dilated(n, d) + window_reach - dilated(m, s) - low_padding))
    ct_geometry = Geometry(window, base, tuple(pads), strides, gaps)
    return (reduce_window_sum(ct, geometry=ct_geometry),)


reduce_window_max = window_reduction(
    "reduce_window_max", "Maximum of each window.", MAXIMUM, accepts="real or bool"
)
reduce_window_min = window_reduction(
    "reduce_window_min", "Minimum of each window.", MINIMUM, accepts="real or bool"
)


def _window_extreme_jvp(largest: bool) -> Rule:
    def rule(primals: Values, tangents: Values, out: Value, *, geometry: Geometry) -> Tangent:
        """The first extreme of each window gets the whole derivative."""
        (x,), (dx,) = primals, tangents
        if not out.size or not x.size:
            return None
        positions = window_place(x, geometry=geometry, largest=largest, batch_dims=0)
        elements = reshape(dx, shape=(dx.size,))
        has_no_padding = all(map(reaches_all, x.shape, *geometry))
        mode = (
            GatherScatterMode.PROMISE_IN_BOUNDS
            if has_no_padding
            else GatherScatterMode.FILL_OR_DROP
        )
        dx_elements = take_along(
            elements, reshape(positions, shape=(out.size,)), 0, mode=mode, unique=False
        )
        return reshape(dx_elements, shape=out.shape)

    return rule


def reaches_all(n: int, w: int, stride: int, padding: tuple[int, int], base: int, gap: int) -> bool:
    """True if every window has at least one element, and not only padding, along an axis."""
    starts = np.arange(out_length(n, w, stride, padding, base, gap)) * stride - padding[0]
    positions = starts[:, None] + np.arange(w) * gap
    return bool(
        ((positions >= 0) & (positions < dilated(n, base)) & (positions % base == 0)).any(1).all()
    )


# --- places of extremes ---

window_place = Primitive(
    "window_place",
    "The position of the first extreme of each window, as an int32 index into the "
    "elements after the first `batch_dims` axes, or their number for a window of padding "
    "only.",
    host="other",
)


@window_place.type
def _(x: Aval, *, geometry: Geometry, largest: bool, batch_dims: int) -> Aval:
    check_kind("window_place", "real or bool", x)
    check_geometry("window_place", x, geometry)
    return x.update(shape=geometry.out_shape(x.shape), dtype=dtypes.int32, weak_type=False)


@window_place.evaluate
def _(x: Host, *, geometry: Geometry, largest: bool, batch_dims: int) -> Host:
    shape = geometry.out_shape(x.shape)
    x = x.astype(REDUCTION_DTYPE.get(x.dtype, x.dtype))
    padded = dilate_and_pad(x, geometry.padding, geometry.base_dilation, x.dtype.type(0))
    nowhere = math.prod(x.shape[batch_dims:])
    extreme, position = None, np.full(shape, nowhere, np.int32)
    for tap in itertools.product(*map(range, geometry.window)):
        value = padded
        for axis, (t, n, s, e) in enumerate(
            zip(tap, shape, geometry.strides, geometry.window_dilation, strict=True)
        ):
            value = host_slice(value, axis, t * e, n, s)
        index, valid = np.zeros((), np.int32), np.ones((), np.bool_)
        for axis, (axis_indices, axis_valid) in enumerate(
            zip(*tap_lines(x.shape, geometry, tap, batch_dims), strict=True)
        ):
            broadcast_shape = [-1 if i == axis else 1 for i in range(x.ndim)]
            index, valid = (
                index + axis_indices.reshape(broadcast_shape),
                valid & axis_valid.reshape(broadcast_shape),
            )
        if extreme is None:
            extreme, is_better = value, valid
        else:
            exceeds = value > extreme if largest else value < extreme
            is_better = valid & (
                exceeds | (position == nowhere) | ((value != value) & (extreme == extreme))
            )
        extreme = np.where(is_better, value, extreme)
        position = np.where(is_better, index, position)
    return np.broadcast_to(position, shape).astype(np.int32)


def tap_lines(
    shape: Integers, geometry: Geometry, tap: Sequence[int], batch_dims: int
) -> tuple[list[Any], list[Any]]:
    """For each axis, the contribution of one position in the window to each output's index, and a
    mask of the outputs for which there is an element."""
    lines, masks = [], []
    for axis, (n, w, stride, padding, base, gap) in enumerate(zip(shape, *geometry, strict=True)):
        positions = np.arange(out_length(n, w, stride, padding, base, gap)) * stride
        positions = positions + tap[axis] * gap - padding[0]
        masks.append((positions >= 0) & (positions % base == 0) & (positions < dilated(n, base)))
        step = math.prod(shape[axis + 1 :]) if axis >= batch_dims else 0
        lines.append((positions // base * step).astype(np.int32))
    return lines, masks


@window_place.lower
def _(
    block: Block, x: Operand, out: Aval, geometry: Geometry, largest: bool, batch_dims: int
) -> Operand:
    if not out.size:
        return block.full(0, out)
    if block.module.platform != "cpu":
        return place_by_pairs(block, x, out, geometry, largest, batch_dims)
    if math.prod(geometry.window) > 64:
        is_strided = [
            w > 8 and s > 1 for w, s in zip(geometry.window, geometry.strides, strict=True)
        ]
        lower_positions = place_by_pairs if any(is_strided) else place_by_halves
        return lower_positions(block, x, out, geometry, largest, batch_dims)
    shape, flags = x.aval.shape, out.update(dtype=dtypes.bool_)
    nowhere = block.full(math.prod(shape[batch_dims:]), out)
    padded = block_dilate_and_pad(block, x, geometry, x.aval.dtype.type(0))
    cut, inexact = block_slice(block), x.aval.inexact
    extreme, position, is_valid_everywhere = None, nowhere, False

    def logic(name: str, a: Operand, b: Operand) -> Operand:
        return block.elementwise(name, (a, b), flags)

    for tap in itertools.product(*map(range, geometry.window)):
        value = padded
        for axis, (t, n, s, e) in enumerate(
            zip(tap, out.shape, geometry.strides, geometry.window_dilation, strict=True)
        ):
            value = cut(value, axis, t * e, n, s)
        index, valid = tap_index(block, out, shape, geometry, tap, batch_dims)
        if extreme is None:
            extreme, is_valid_everywhere = value, valid is None
            position = index if valid is None else block.select(valid, index, position)
            continue
        is_better = block.compare("GT" if largest else "LT", value, extreme, flags)
        if inexact:
            extreme_is_number = block.compare("EQ", extreme, extreme, flags)
            x_is_nan = logic("and", block.compare("NE", value, value, flags), extreme_is_number)
            is_better = logic("or", is_better, x_is_nan)
        if not is_valid_everywhere:  # some windows may not have an element yet
            is_better = logic("or", is_better, block.compare("EQ", position, nowhere, flags))
            is_valid_everywhere = valid is None
        if valid is not None:
            is_better = logic("and", is_better, valid)
        extreme = block.select(is_better, value, extreme)
        position = block.select(is_better, index, position)
    return position


def tap_index(
    block: Block,
    out: Aval,
    shape: Integers,
    geometry: Geometry,
    tap: Sequence[int],
    batch_dims: int,
) -> tuple[Any, Any]:
    """Writes the sums of `tap_lines`; the second is `None` if all positions are valid."""
    total = valid = None
    flags = out.update(dtype=dtypes.bool_)
    index_lines, masks = tap_lines(shape, geometry, tap, batch_dims)
    for axis, (indices, mask) in enumerate(zip(index_lines, masks, strict=True)):
        row, row_flags = out.update(shape=indices.shape), flags.update(shape=indices.shape)
        if indices.any():
            part = block.broadcast(block.constant(indices, row), [axis], out.shape)
            total = part if total is None else block.elementwise("add", (total, part), out)
        if not mask.all():
            part = block.broadcast(block.constant(mask, row_flags), [axis], out.shape)
            valid = part if valid is None else block.elementwise("and", (valid, part), flags)
    return block.full(0, out) if total is None else total, valid


def place_by_halves(
    block: Block, x: Operand, out: Aval, geometry: Geometry, largest: bool, batch_dims: int
) -> Operand:
    """Writes the positions as `slide` writes the extremes: it combines windows of 1, 2, 4, … pairs
    (element, index). For long windows this is many times faster than XLA's reduce_window."""
    x = block.convert(x, REDUCTION_DTYPE.get(x.aval.dtype, x.aval.dtype))
    starts = (lowest if largest else highest)(x.aval.dtype), places_end(x.aval, batch_dims)
    pair = tuple(
        block_dilate_and_pad(block, v, geometry, start)
        for v, start in zip((x, places_of(block, x, batch_dims)), starts, strict=True)
    )
    slices = block_slice(block)

    def cut(pair: Any, *where: int) -> Any:
        return tuple(slices(v, *where) for v in pair)

    def choose_pair(a: Any, b: Any) -> Any:
        (x, i), (y, j) = a, b
        flags = x.aval.update(dtype=dtypes.bool_, weak_type=False)

        def logic(name: str, *xs: Operand) -> Operand:
            return block.elementwise(name, xs, flags)

        exceeds = block.compare("GT" if largest else "LT", y, x, flags)
        is_tie = block.compare("EQ", y, x, flags)
        if x.aval.inexact:
            nan_x, nan_y = (block.compare("NE", v, v, flags) for v in (x, y))
            exceeds = logic("or", exceeds, logic("and", nan_y, logic("not", nan_x)))
            is_tie = logic("or", is_tie, logic("and", nan_y, nan_x))
        is_better = logic("or", exceeds, logic("and", is_tie, block.compare("LT", j, i, flags)))
        return block.select(is_better, y, x), block.select(is_better, j, i)

    result: Operand = slide(pair, geometry, out.shape, cut, choose_pair)[1]
    return result


def places_end(x: Aval, batch_dims: int) -> Any:
    """The position that stands for no element: one past the last."""
    return np.int32(math.prod(x.shape[batch_dims:]))


def places_of(block: Block, x: Operand, batch_dims: int) -> Operand:
    """Writes the position of each element, without the batch axes."""
    shape, batch_shape = x.aval.shape, x.aval.shape[:batch_dims]
    count = math.prod(shape[batch_dims:])
    indices = block.iota(x.aval.update(shape=(count,), dtype=dtypes.int32, weak_type=False), 0)
    return block.reshape(block.broadcast(indices, [len(batch_shape)], (*batch_shape, count)), shape)


def place_by_pairs(
    block: Block, x: Operand, out: Aval, geometry: Geometry, largest: bool, batch_dims: int
) -> Operand:
    """Writes XLA's reduce_window of (element, index) pairs."""
    element = x.aval.update(shape=(), weak_type=False)
    index = out.update(shape=())
    indices = places_of(block, x, batch_dims)
    start = (lowest if largest else highest)(element.dtype)
    values = x.aval.update(shape=out.shape, weak_type=False)
    text = block.region([element, index] * 2, better_pair(largest))
    outs = lower_reduce_window(
        block, [x, indices], [start, places_end(x.aval, batch_dims)], [values, out], geometry, text
    )
    return outs[1]


@window_place.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: object) -> Tangent:
    return None


@window_place.batch
def _(
    args: Values,
    batched: Batched,
    batch_size: int,
    *,
    geometry: Geometry,
    largest: bool,
    batch_dims: int,
) -> Value:
    return window_place(
        args[0], geometry=geometry.batched(), largest=largest, batch_dims=batch_dims + 1
    )


reduce_window_max.jvp(_window_extreme_jvp(largest=True))
reduce_window_min.jvp(_window_extreme_jvp(largest=False))
