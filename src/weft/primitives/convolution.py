"""conv_general_dilated: strided, dilated, padded, grouped convolution of any number of spatial
axes, in any layout.

Transposing or batching a convolution gives another convolution, with other groups and layouts.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints, matrix
from .creation import zeros
from .elementwise import lowered_in_bytes
from .products import (
    Precisions,
    accumulator,
    check_result_dtype,
    from_accumulator,
    in_dtype,
    must_convert,
    precision_config,
)
from .rule_types import Argument, Avals, Batched, DType, Host, Integers, Tangents, Values
from .slicing import rev
from .structural import bilinear_jvp, move_axis, reshape


class ConvDimensionNumbers(NamedTuple):
    """The layout of a convolution's arrays.

    Attributes:
      lhs_spec: (batch, feature, spatial…): the positions of these axes in the lhs.
      rhs_spec: (out feature, in feature, spatial…), in the rhs (the kernel).
      out_spec: (batch, feature, spatial…), in the output.
    Example:
      >>> lax.conv_dimension_numbers((8, 32, 32, 3), (5, 5, 3, 16), ("NHWC", "HWIO", "NHWC"))
      ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


Padding = tuple[tuple[int, int], ...]
"""(before, after) for each axis; negative numbers crop."""


class Convolution(NamedTuple):
    """The parameters of a convolution; each of the first four has one entry for each spatial axis.

    Attributes:
      feature_groups, batch_groups: the number of parts of the features or the batch. Each part is
        convolved with its own part of the kernel. At least one of the two is 1.
      dtype: the dtype of the sums, if it differs from the operands'.
    """

    strides: Integers
    padding: Padding
    lhs_dilation: Integers
    rhs_dilation: Integers
    numbers: ConvDimensionNumbers
    feature_groups: int = 1
    batch_groups: int = 1
    precision: Precisions = None
    dtype: DType | None = None


conv_general_dilated = Primitive(
    "conv_general_dilated",
    "Slides a kernel (rhs) over an array (lhs) and sums the products.",
)


def dilated(n: int, dilation: int) -> int:
    """The length of an axis with `dilation - 1` gaps between its elements."""
    return (n - 1) * dilation + 1 if n else 0


def out_length(
    n: int, k: int, stride: int, padding: Sequence[int], dilation: int, k_dilation: int
) -> int:
    """The length of an output's spatial axis, from the lengths of the input's and the kernel's."""
    last_start = dilated(n, dilation) + sum(padding) - dilated(k, k_dilation)
    return last_start // stride + 1 if last_start >= 0 else 0


def spatial_shape(
    lengths: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[int]:
    """The lengths of an output's spatial axes, from the lengths of an array's and a kernel's or
    window's."""
    options = zip(lengths, window, strides, padding, dilation, window_dilation, strict=True)
    return [out_length(*axis) for axis in options]


_NAME = "conv_general_dilated"
_OPTIONS = ("window_strides", "padding", "lhs_dilation", "rhs_dilation")  # as users call them


def check_layout(lhs: Aval, rhs: Aval, c: Convolution) -> None:
    """Raises an error for dimension numbers, strides, padding or dilations that do not match the
    operands."""
    n = lhs.ndim - 2
    if lhs.ndim != rhs.ndim or n < 0:
        raise ShapeError(
            f"{_NAME}: expected operands of equally many axes, at least two; got {lhs} and {rhs}"
        )
    for name, spec in c.numbers._asdict().items():
        if sorted(spec) != list(range(n + 2)):
            raise ShapeError(f"{_NAME}: {name} must name {n + 2} axes once each; got {spec}")
    options: Sequence[Any] = c[:4]
    for name, values in zip(_OPTIONS, options, strict=True):
        if len(values) != n:
            raise ShapeError(
                f"{_NAME}: {name} needs one entry for each of {n} spatial axes; got {tuple(values)}"
            )
        if name != "padding" and any(v < 1 for v in values):
            raise ShapeError(f"{_NAME}: {name} must be positive; got {tuple(values)}")


def check_groups(
    lhs: Aval, rhs: Aval, numbers: ConvDimensionNumbers, feature_groups: int, batch_groups: int
) -> None:
    """Raises an error for groups that do not divide the operands' batch and features."""
    batch, features = (lhs.shape[i] for i in numbers.lhs_spec[:2])
    out_features, in_features = (rhs.shape[i] for i in numbers.rhs_spec[:2])
    if min(feature_groups, batch_groups) < 1 or (feature_groups > 1 and batch_groups > 1):
        raise ShapeError(
            f"{_NAME}: feature_group_count and batch_group_count must be positive, and one of them "
            f"1; got {feature_groups} and {batch_groups}"
        )
    if features != in_features * feature_groups:
        raise ShapeError(
            f"{_NAME}: lhs features ({features}) must be rhs in-features ({in_features}) times "
            f"feature_group_count ({feature_groups}); got {lhs} and {rhs} with {numbers}"
        )
    for name, length, groups in (
        ("rhs out-features", out_features, feature_groups),
        ("rhs out-features", out_features, batch_groups),
        ("lhs batch", batch, batch_groups),
    ):
        if length % groups:
            raise ShapeError(f"{_NAME}: {name} ({length}) must be a multiple of {groups} groups")


@conv_general_dilated.type
def _(lhs: Aval, rhs: Aval, **params: Any) -> Aval:
    c = Convolution(**params)
    check_layout(lhs, rhs, c)
    check_groups(lhs, rhs, c.numbers, c.feature_groups, c.batch_groups)
    spec, k_spec, o_spec = c.numbers
    lengths, window = [lhs.shape[i] for i in spec[2:]], [rhs.shape[i] for i in k_spec[2:]]
    batch, outs = lhs.shape[spec[0]] // c.batch_groups, rhs.shape[k_spec[0]]
    shape = [0] * lhs.ndim
    for i, length in zip(
        o_spec, [batch, outs, *spatial_shape(lengths, window, *c[:4])], strict=True
    ):
        shape[i] = length
    dtype = check_result_dtype(_NAME, lhs, rhs, c.dtype)
    return lhs.update(shape=shape, dtype=dtype, weak_type=False)


@conv_general_dilated.host.work
def _(avals: Avals, outs: Avals, *, numbers: ConvDimensionNumbers, **params: object) -> int:
    (_, rhs), (out,) = avals, outs
    window = rhs.size // max(rhs.shape[numbers.rhs_spec[0]], 1)
    return 30 * out.size * window


@conv_general_dilated.evaluate
def _(lhs: Host, rhs: Host, **params: Any) -> Host:
    c = Convolution(**params)
    numbers, dtype = c.numbers, c.dtype or lhs.dtype
    wide_dtype = accumulator(dtype)
    x = lhs.transpose(numbers.lhs_spec).astype(wide_dtype)
    kernel = rhs.transpose(numbers.rhs_spec).astype(wide_dtype)
    n = x.ndim - 2
    groups = c.feature_groups * c.batch_groups
    spatial = spatial_shape(x.shape[2:], kernel.shape[2:], *c[:4])
    batch, out_features = x.shape[0] // c.batch_groups, kernel.shape[0] // groups
    if not (x.size and kernel.size and math.prod(spatial)):
        out_shape = (batch, groups * out_features, *spatial)
        return np.zeros([out_shape[i] for i in np.argsort(numbers.out_spec)], dtype)
    # windows [batch, feature, place…, kernel place…]
    x = dilate_and_pad(x, ((0, 0), (0, 0), *c.padding), (1, 1, *c.lhs_dilation), wide_dtype.type(0))
    windows = windows_of(x, kernel.shape[2:], spatial, c.strides, c.rhs_dilation)
    if c.batch_groups > 1:
        windows = windows.reshape(groups, batch, *windows.shape[1:])
    else:
        windows = windows.reshape(batch, groups, -1, *windows.shape[2:]).swapaxes(0, 1)
    # [group, batch, feature, place…, kernel place…] -> [group, batch, place…, feature, kernel…]
    windows = np.moveaxis(windows, 2, 2 + n)
    n_windows, n_taps = math.prod(spatial), math.prod(kernel.shape[1:])
    left = windows.reshape(groups, batch * n_windows, n_taps)
    right = kernel.reshape(groups, out_features, n_taps).swapaxes(1, 2)
    result = np.matmul(left, right).reshape(groups, batch, *spatial, out_features)
    # [group, batch, place…, out] -> [batch, group, out, place…]
    result = result.transpose(1, 0, 2 + n, *range(2, 2 + n))
    result = result.reshape(batch, groups * out_features, *spatial)
    result = result.transpose(np.argsort(numbers.out_spec))
    return result if wide_dtype == dtype else from_accumulator(result, dtype)


def dilate_and_pad(
    x: Host, padding: Sequence[tuple[int, int]], dilation: Integers, value: np.generic
) -> Host:
    """An array with gaps between its elements and padding around (cut off where negative)."""
    if all(p == (0, 0) for p in padding) and all(d == 1 for d in dilation):
        return x
    lengths = [dilated(n, d) for n, d in zip(x.shape, dilation, strict=True)]
    shape = [n + max(a, 0) + max(b, 0) for n, (a, b) in zip(lengths, padding, strict=True)]
    out = np.full(shape, value, x.dtype)
    region = [
        slice(max(a, 0), max(a, 0) + n, d)
        for n, d, (a, _) in zip(lengths, dilation, padding, strict=True)
    ]
    out[tuple(region)] = x
    crop_slices = [
        slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(shape, padding, strict=True)
    ]
    return out[tuple(crop_slices)]


def windows_of(
    x: Host,
    window: Sequence[int],
    out_lengths: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Host:
    """A view [lead…, place…, window place…] of the last axes of an array."""
    n = len(window)
    n_leading = x.ndim - n
    steps = x.strides[n_leading:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:n_leading], *out_lengths, *window),
        (
            *x.strides[:n_leading],
            *(s * step for s, step in zip(strides, steps, strict=True)),
            *(d * step for d, step in zip(dilation, steps, strict=True)),
        ),
        writeable=False,
    )


# --- lowering ---


@conv_general_dilated.lower
@lowered_in_bytes
def _(block: Block, lhs: Operand, rhs: Operand, out: Aval, **params: Any) -> Operand:
    if dtypes.is_complex(out.dtype):
        return by_parts(block, lhs, rhs, out, params)
    if must_convert(block, lhs.aval.dtype, out.dtype):
        lhs, rhs = block.convert(lhs, out.dtype), block.convert(rhs, out.dtype)
    c = Convolution(**params)
    attributes = [
        f"batch_group_count = {c.batch_groups} : i64",
        f"dimension_numbers = #stablehlo.conv<{layout_text(c.numbers)}>",
        f"feature_group_count = {c.feature_groups} : i64",
        f"lhs_dilation = {ints(c.lhs_dilation)}",
        f"padding = {matrix(np.reshape(c.padding, (-1, 2)))}",
        f"rhs_dilation = {ints(c.rhs_dilation)}",
        f"window_strides = {ints(c.strides)}",
    ]
    text = ", ".join(attributes) + precision_config(c.precision)
    return block.op("convolution", lhs, rhs, out=out, attributes=text)


def layout_text(numbers: ConvDimensionNumbers) -> str:
    """The layouts as text, such as `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    def names(spec: Sequence[int], batch_name: str, feature_name: str) -> str:
        name_of_axis = dict(
            zip(spec, [batch_name, feature_name, *map(str, range(len(spec) - 2))], strict=True)
        )
        return f"[{', '.join(name_of_axis[i] for i in range(len(spec)))}]"

    lhs, rhs, out = numbers
    return f"{names(lhs, 'b', 'f')}x{names(rhs, 'o', 'i')}->{names(out, 'b', 'f')}"


def by_parts(block: Block, lhs: Operand, rhs: Operand, out: Aval, params: Any) -> Operand:
    """A complex convolution as four real ones, since XLA has no complex convolutions on CPUs and
    GPUs."""
    part = dtypes.real_of(out.dtype)
    rule: Any = conv_general_dilated.lower_rule

    def parts(x: Operand) -> tuple[Operand, Operand | None]:
        if not dtypes.is_complex(x.aval.dtype):
            return block.convert(x, part), None
        x = block.convert(x, out.dtype)
        real = x.aval.update(dtype=part)
        return block.op("real", x, out=real), block.op("imag", x, out=real)

    half = out.update(dtype=part)
    (a, b), (c, d) = parts(lhs), parts(rhs)
    options = {**params, "dtype": None}

    def conv(x: Operand, y: Operand) -> Operand:
        return rule(block, x, y, out=half, **options)

    if b is None or d is None:
        real, imag = conv(a, c), block.full(0, half)
    else:
        real = block.elementwise("subtract", (conv(a, c), conv(b, d)), half)
        imag = block.elementwise("add", (conv(a, d), conv(b, c)), half)
    return block.op("complex", real, imag, out=out)


# --- derivatives ---


conv_general_dilated.jvp(bilinear_jvp(conv_general_dilated))


@conv_general_dilated.transpose
def _(ct: Value, lhs: Argument, rhs: Argument, **params: Any) -> Tangents:
    c = Convolution(**params)
    if not (lhs.size and rhs.size and ct.size):
        return [zeros(x.strong()) if isinstance(x, Aval) else None for x in (lhs, rhs)]
    if isinstance(lhs, Aval):
        return cotangent_of_lhs(ct, lhs, rhs, c), None
    return None, cotangent_of_rhs(ct, lhs, rhs, c)


def extents(x: Argument, axes: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """The lengths of spatial axes, dilated."""
    return [dilated(x.shape[i], d) for i, d in zip(axes, dilation, strict=True)]


def cotangent_of_lhs(ct: Value, lhs: Aval, rhs: Argument, c: Convolution) -> Value:
    """Convolves the cotangent, dilated by the strides, with the reversed kernel; in-features and
    out-features are swapped."""
    spec, k_spec, o_spec = c.numbers
    kernel = in_dtype(rhs, ct.dtype)
    groups = max(c.feature_groups, c.batch_groups)
    if groups > 1:  # outs [groups, outs], ins -> outs, [groups, ins]
        kernel = move_groups(kernel, k_spec[0], k_spec[1], groups)
    result = conv_general_dilated(
        ct,
        rev(kernel, dimensions=tuple(k_spec[2:])),
        strides=c.lhs_dilation,
        padding=padding_of_cotangent(ct, lhs, rhs, c),
        lhs_dilation=c.strides,
        rhs_dilation=c.rhs_dilation,
        numbers=ConvDimensionNumbers(o_spec, (k_spec[1], k_spec[0], *k_spec[2:]), spec),
        feature_groups=groups,
        batch_groups=1,
        precision=c.precision,
        dtype=None,
    )
    if c.batch_groups > 1:  # features [groups, features] -> batch [groups, batch]
        result = move_groups(result, spec[1], spec[0], groups)
    return in_dtype(result, lhs.dtype)


def padding_of_cotangent(ct: Value, lhs: Argument, rhs: Argument, c: Convolution) -> Padding:
    """The padding of a cotangent dilated by the strides. A window with the kernel's extent then has
    as many positions as the lhs has elements, and one with the lhs's extent as many as the kernel
    has."""
    spec, k_spec, o_spec = c.numbers
    lengths, window_extents = (
        extents(lhs, spec[2:], c.lhs_dilation),
        extents(rhs, k_spec[2:], c.rhs_dilation),
    )
    spans = extents(ct, o_spec[2:], c.strides)
    return tuple(
        (k - 1 - a, n - span + a)
        for n, k, span, (a, _) in zip(lengths, window_extents, spans, c.padding, strict=True)
    )


def cotangent_of_rhs(ct: Value, lhs: Value, rhs: Argument, c: Convolution) -> Value:
    """Convolves the operand with the cotangent, dilated by the strides; batch and features are
    swapped."""
    if math.prod(c.lhs_dilation) > math.prod(c.strides):
        return cotangent_of_rhs_by_lhs(ct, lhs, rhs, c)
    spec, k_spec, o_spec = c.numbers
    lengths, window_extents = (
        extents(lhs, spec[2:], c.lhs_dilation),
        extents(rhs, k_spec[2:], c.rhs_dilation),
    )
    spans = extents(ct, o_spec[2:], c.strides)
    result = conv_general_dilated(
        in_dtype(lhs, ct.dtype),
        ct,
        strides=c.rhs_dilation,
        padding=tuple(
            (a, k - 1 + span - n - a)
            for n, k, span, (a, _) in zip(lengths, window_extents, spans, c.padding, strict=True)
        ),
        lhs_dilation=c.lhs_dilation,
        rhs_dilation=c.strides,
        numbers=ConvDimensionNumbers(
            (spec[1], spec[0], *spec[2:]),
            (o_spec[1], o_spec[0], *o_spec[2:]),
            (k_spec[1], k_spec[0], *k_spec[2:]),
        ),
        feature_groups=c.batch_groups,
        batch_groups=c.feature_groups,
        precision=None if c.precision is None else c.precision[::-1],
        dtype=None,
    )
    return in_dtype(result, rhs.dtype)


def cotangent_of_rhs_by_lhs(ct: Value, lhs: Value, rhs: Argument, c: Convolution) -> Value:
    """The same with the roles exchanged: convolves the cotangent with the operand as the kernel."""
    # A kernel with gaps is fast; an operand with gaps is slow. For the kernel's gradient of a
    # transposed convolution, this form is hundreds of times faster than one with gaps in the
    # operand.
    spec, k_spec, o_spec = c.numbers
    groups = max(c.feature_groups, c.batch_groups)
    kernel = in_dtype(lhs, ct.dtype)
    if c.batch_groups > 1:  # batch [groups, batch] -> features [groups, features]
        kernel = move_groups(kernel, spec[0], spec[1], groups)
    result = conv_general_dilated(
        ct,
        kernel,
        strides=c.rhs_dilation,
        padding=padding_of_cotangent(ct, lhs, rhs, c),
        lhs_dilation=c.strides,
        rhs_dilation=c.lhs_dilation,
        numbers=ConvDimensionNumbers(
            (o_spec[1], o_spec[0], *o_spec[2:]), (spec[1], spec[0], *spec[2:]), k_spec
        ),
        feature_groups=1,
        batch_groups=groups,
        precision=c.precision,
        dtype=None,
    )
    if groups > 1:  # in-features [groups, ins] -> out-features [groups, outs]
        result = move_groups(result, k_spec[1], k_spec[0], groups)
    return in_dtype(rev(result, dimensions=tuple(k_spec[2:])), rhs.dtype)


def move_groups(x: Value, source: int, target: int, groups: int) -> Value:
    """Moves `groups`, the slower factor of one axis, to be the slower factor of another."""
    return fold_into(unfold_from(x, source, groups), target, 1)


def unfold_from(x: Value, axis: int, batch_size: int, groups: int = 1) -> Value:
    """Moves a factor of an axis to the front: [groups, size, rest] -> size, …, [groups, rest]."""
    shape = x.shape
    remaining_length = shape[axis] // (batch_size * groups)
    x = reshape(x, shape=(*shape[:axis], groups, batch_size, remaining_length, *shape[axis + 1 :]))
    x = move_axis(x, axis + 1, 0)
    return reshape(
        x, shape=(batch_size, *shape[:axis], groups * remaining_length, *shape[axis + 1 :])
    )


def fold_into(x: Value, axis: int, groups: int = 1) -> Value:
    """Merges axis 0 into an axis (counted without axis 0), between its groups and the rest; the
    inverse of `unfold_from`."""
    batch_size, *shape = x.shape
    remaining_length = shape[axis] // groups
    x = reshape(x, shape=(batch_size, *shape[:axis], groups, remaining_length, *shape[axis + 1 :]))
    x = move_axis(x, 0, axis + 1)
    return reshape(
        x, shape=(*shape[:axis], groups * batch_size * remaining_length, *shape[axis + 1 :])
    )


@conv_general_dilated.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Value:
    (lhs, rhs), c = args, Convolution(**params)
    spec, k_spec, o_spec = c.numbers
    if not batched[1]:  # more of a batch
        out = conv_general_dilated(fold_into(lhs, spec[0], c.batch_groups), rhs, **params)
        return unfold_from(out, o_spec[0], batch_size)
    if not batched[0]:  # more output features
        groups = max(c.feature_groups, c.batch_groups)
        out = conv_general_dilated(lhs, fold_into(rhs, k_spec[0], groups), **params)
        return unfold_from(out, o_spec[1], batch_size, groups)
    if c.batch_groups > 1:  # more groups
        axis, params["batch_groups"] = spec[0], c.batch_groups * batch_size
    else:
        axis, params["feature_groups"] = spec[1], c.feature_groups * batch_size
    out = conv_general_dilated(fold_into(lhs, axis), fold_into(rhs, k_spec[0]), **params)
    return unfold_from(out, o_spec[1], batch_size)
