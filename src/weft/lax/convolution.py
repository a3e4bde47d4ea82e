"""Convolutions in any layout: conv_general_dilated, conv, conv_with_general_padding,
conv_transpose, conv_general_dilated_patches, conv_dimension_numbers.

Operands have one dtype; nothing is promoted.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, from_host
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives import convolution
from ..primitives.convolution import ConvDimensionNumbers, dilated
from ..primitives.products import precision_only
from ..primitives.slicing import rev
from ..primitives.structural import transpose
from ..typing import ArrayLike, DTypeLike
from .padding import pads_by_name
from .products import PrecisionLike

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
]

ConvGeneralDilatedDimensionNumbers = None | tuple[str, str, str] | ConvDimensionNumbers
"""`None` (batch, feature, spatial…; out, in, spatial…), three strings such as ('NHWC', 'HWIO',
'NHWC'), or `ConvDimensionNumbers`."""

Padding = str | Sequence[tuple[int, int]]


def numbers_of_axes(name: str, ndim: int, dimension_numbers: Any) -> ConvDimensionNumbers:
    """The positions of the axes, from an argument `dimension_numbers`."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*(tuple(int(i) for i in spec) for spec in dimension_numbers))
    if dimension_numbers is None:
        order = tuple(range(ndim))
        return ConvDimensionNumbers(order, order, order)
    strings = isinstance(dimension_numbers, (tuple, list)) and len(dimension_numbers) == 3
    if not strings or not all(isinstance(s, str) for s in dimension_numbers):
        raise TypeError(
            f"{name}: dimension_numbers must be None, three strings, or ConvDimensionNumbers; got "
            f"{dimension_numbers!r}"
        )
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    for role, spec, required in (("lhs", lhs, "NC"), ("rhs", rhs, "OI"), ("out", out, "NC")):
        if len(spec) != ndim or sorted(spec) != sorted([*required, *spatial]):
            raise ShapeError(
                f"{name}: the {role} string of dimension_numbers must name {ndim} axes: "
                f"{required[0]}, {required[1]} and the spatial {''.join(spatial)} once each; got "
                f"{spec!r}"
            )
    return ConvDimensionNumbers(
        tuple(lhs.index(c) for c in ["N", "C", *spatial]),
        tuple(rhs.index(c) for c in ["O", "I", *spatial]),
        tuple(out.index(c) for c in ["N", "C", *spatial]),
    )


@located
def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """The positions of a convolution's axes, from strings with a letter for each axis.

    Args:
      lhs_shape: shape of the array: one batch axis 'N', one feature axis 'C', spatial axes.
      rhs_shape: shape of the kernel: out-features 'O', in-features 'I', spatial axes.
      dimension_numbers: (lhs, rhs, out), each a letter per axis; `None` for ('NCHW', 'OIHW',
        'NCHW') and the like; `ConvDimensionNumbers` are returned unchanged.
    Returns: ConvDimensionNumbers.
    Raises: TypeError: the form is unknown, or ranks differ. ValueError: the letters do not match
      the axes.
    Source: StableHLO `convolution`.
    Example:
      >>> from weft import lax
      >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ('NHWC', 'HWIO', 'NHWC')).rhs_spec
      (3, 2, 0, 1)
    """
    name = "conv_dimension_numbers"
    lhs, rhs = ints_of(name, "lhs_shape", lhs_shape), ints_of(name, "rhs_shape", rhs_shape)
    if len(lhs) != len(rhs):
        raise ShapeError(
            f"{name}: expected shapes of lhs and rhs with equal lengths; got {lhs} and {rhs}"
        )
    return numbers_of_axes(name, len(lhs), dimension_numbers)


@located
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolution in any layout, without reversing the kernel (a cross-correlation).

    Args:
      lhs: array with a batch axis, a feature axis and n spatial axes.
      rhs: kernel with an out-feature axis, an in-feature axis and n spatial axes.
      window_strides: n ints: the steps of the kernel between outputs.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or n pairs (before, after) of zeros around the spatial
        axes; negative ones remove elements.
      lhs_dilation: n ints: `d - 1` zeros are put between elements (a transposed convolution).
      rhs_dilation: n ints: the same for the kernel (an atrous convolution).
      dimension_numbers: the order of the axes; see `conv_dimension_numbers`.
      feature_group_count: the number of groups of features, each with its own kernels: `rhs` has
        in-features / groups, and out-features of all groups.
      batch_group_count: the number of groups of the batch, each with its own out-features.
      precision: how exactly an accelerator multiplies; see `Precision`.
      preferred_element_type: dtype of the sums and the output, not narrower than the operands'.
    Returns: array with batch, out-features and spatial axes, laid out as `dimension_numbers` says.
    Raises: TypeError: ranks, dtypes or features do not match. ValueError: an option is invalid.
    Source: StableHLO `convolution`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x, k = np.float32([[[1, 2, 3, 4]]]), np.float32([[[1, 1]]])
      >>> lax.conv_general_dilated(x, k, (1,), 'SAME').tolist()
      [[[3.0, 5.0, 7.0, 4.0]]]
    """
    name = "conv_general_dilated"
    x, kernel = as_value(lhs), as_value(rhs)
    if x.ndim != kernel.ndim or x.ndim < 2:
        raise ShapeError(
            f"{name}: expected operands with an equal number of axes, at least two; got {x.aval} "
            f"and {kernel.aval}"
        )
    n = x.ndim - 2
    numbers = numbers_of_axes(name, x.ndim, dimension_numbers)
    strides = _entries(name, "window_strides", window_strides, n)
    lhs_dilation = _entries(name, "lhs_dilation", lhs_dilation, n, default=1)
    rhs_dilation = _entries(name, "rhs_dilation", rhs_dilation, n, default=1)
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(
                f"{name}: padding by name, {padding!r}, has no meaning with lhs_dilation "
                f"{lhs_dilation}\n  fix: give pairs of ints, or use conv_transpose"
            )
        window = [
            dilated(kernel.shape[i], d)
            for i, d in zip(numbers.rhs_spec[2:], rhs_dilation, strict=True)
        ]
        padding = pads_by_name(
            name, [x.shape[i] for i in numbers.lhs_spec[2:]], window, strides, padding
        )
    dtype = preferred_element_type
    return convolution.conv_general_dilated(
        x,
        kernel,
        strides=strides,
        padding=padding_pairs(name, padding),
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        numbers=numbers,
        feature_groups=int(feature_group_count),
        batch_groups=int(batch_group_count),
        precision=precision_only(name, precision),
        dtype=None if dtype is None else dtypes.requested_dtype(dtype, name),
    )


def _ints(name: str, argument: str, values: Any) -> tuple[int, ...]:
    try:
        return tuple([operator.index(v) for v in values])
    except TypeError:
        raise TypeError(f"{name}: {argument} must be a sequence of ints; got {values!r}") from None


def _entries(
    name: str, argument: str, values: Any, n: int, default: int | None = None
) -> tuple[int, ...]:
    """One int for each of n spatial axes; the default for `None`."""
    if values is None and default is not None:
        return (default,) * n
    entries = _ints(name, argument, values)
    if len(entries) != n:
        raise ShapeError(
            f"{name}: {argument} needs one entry for each of {n} spatial axes; got {entries}"
        )
    return entries


def padding_pairs(
    name: str, padding: Any, parameter: str = "padding"
) -> tuple[tuple[int, int], ...]:
    """Padding as pairs of ints."""
    try:
        return tuple([(operator.index(a), operator.index(b)) for a, b in padding])
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: {parameter} must be a name or a sequence of pairs of ints; got "
            f"{padding!r:.80}"
        ) from None


@located
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """A convolution in the layout batch, feature, spatial…; kernel out, in, spatial….

    Args:
      lhs: array [batch, in, spatial…].
      rhs: kernel [out, in, spatial…].
      window_strides: the step of the kernel along each spatial axis.
      padding: 'SAME', 'SAME_LOWER' or 'VALID'.
      precision, preferred_element_type: as in `conv_general_dilated`.
    Returns: array [batch, out, spatial…].
    Raises: as `conv_general_dilated`.
    Source: StableHLO `convolution`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.conv(np.ones((1, 1, 5)), np.ones((1, 1, 3)), (2,), 'VALID').tolist()
      [[[3.0, 3.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@located
def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`conv` with any padding and dilations.

    Args:
      lhs: array [batch, in, spatial…].
      rhs: kernel [out, in, spatial…].
      window_strides, padding, lhs_dilation, rhs_dilation, precision, preferred_element_type: as in
        `conv_general_dilated`.
    Returns: array [batch, out, spatial…].
    Raises: as `conv_general_dilated`.
    Source: StableHLO `convolution`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x, k = np.ones((1, 1, 3)), np.ones((1, 1, 2))
      >>> lax.conv_with_general_padding(x, k, (1,), [(1, 0)], None, None).tolist()
      [[[1.0, 2.0, 2.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


@located
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """A convolution with fractional strides ("deconvolution"), whose output is larger than its
    input.

    Args:
      lhs: array with a batch axis, a feature axis and n spatial axes.
      rhs: kernel with out-features, in-features and n spatial axes.
      strides: n ints: the factor by which the output is larger.
      padding: 'SAME' (output length = length times stride), 'VALID' (all positions that the kernel
        reaches), or n pairs: the zeros around `lhs` once it is dilated by `strides`.
      rhs_dilation: n ints: gaps in the kernel.
      dimension_numbers: the order of the axes; by default channels last, as in ('NHWC', 'HWIO',
        'NHWC').
      transpose_kernel: reverses the kernel's spatial axes and exchanges its in- and out-features:
        the gradient of the convolution with that kernel.
      precision, preferred_element_type: as in `conv_general_dilated`.
      use_consistent_padding: whether pairs in `padding` are the padding of the convolution
        whose transpose this is.
    Returns: array with batch, out-features and spatial axes.
    Raises: TypeError, ValueError: as `conv_general_dilated`.
    Source: arXiv:1603.07285; StableHLO `convolution`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.conv_transpose(np.ones((1, 2, 1)), np.ones((3, 1, 1)), (2,), 'SAME').shape
      (1, 4, 1)
    """
    name = "conv_transpose"
    x, kernel = as_value(lhs), as_value(rhs)
    if x.ndim != kernel.ndim or x.ndim < 2:
        raise ShapeError(
            f"{name}: expected operands with an equal number of axes, at least two; got {x.aval} "
            f"and {kernel.aval}"
        )
    if dimension_numbers is None:
        if x.ndim not in _CHANNELS_LAST:
            raise ShapeError(f"{name}: {x.ndim - 2} spatial axes need dimension_numbers")
        dimension_numbers = _CHANNELS_LAST[x.ndim]  # type: ignore[assignment]
    numbers = numbers_of_axes(name, x.ndim, dimension_numbers)
    n = x.ndim - 2
    strides = _entries(name, "strides", strides, n)
    gaps = _entries(name, "rhs_dilation", rhs_dilation, n, default=1)
    spec = numbers.rhs_spec
    window = [dilated(kernel.shape[i], d) for i, d in zip(spec[2:], gaps, strict=True)]
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"{name}: padding must be 'SAME', 'VALID' or pairs; got {padding!r}")
        is_same = padding.upper() == "SAME"
        pads = [transposed_pads(k, s, is_same) for k, s in zip(window, strides, strict=True)]
    else:
        pads = list(padding_pairs(name, padding))
        if len(pads) != n:
            raise ShapeError(f"{name}: padding needs {n} pairs; got {pads}")
        if use_consistent_padding:
            pads = [(k - 1 - a, k - 1 - b) for k, (a, b) in zip(window, pads, strict=True)]
    if transpose_kernel:
        kernel = rev(kernel, dimensions=tuple(spec[2:]))
        permutation = list(range(x.ndim))
        permutation[spec[0]], permutation[spec[1]] = spec[1], spec[0]
        kernel = transpose(kernel, permutation=tuple(permutation))
    return conv_general_dilated(
        x,
        kernel,
        (1,) * n,
        pads,
        strides,
        gaps,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def transposed_pads(k: int, stride: int, is_same: bool) -> tuple[int, int]:
    """Zeros around an axis dilated by `stride`, for a kernel of length `k`."""
    if is_same:
        total = k + stride - 2
        low_padding = k - 1 if stride > k - 1 else math.ceil(total / 2)
    else:
        total = k + stride - 2 + max(k - stride, 0)
        low_padding = k - 1
    return low_padding, total - low_padding


@located
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The elements under a convolution's kernel at each position, as features ("im2col").

    Args:
      lhs: array with a batch axis, a feature axis and n spatial axes.
      filter_shape: n ints: the kernel's spatial shape.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision,
        preferred_element_type: as in `conv_general_dilated`.
    Returns: array with features · filter elements features; the filter elements vary fastest.
    Raises: TypeError, ValueError: as `conv_general_dilated`.
    Source: StableHLO `convolution`.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x = np.arange(4.0).reshape(1, 1, 4)
      >>> lax.conv_general_dilated_patches(x, (2,), (1,), 'VALID').tolist()
      [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]]
    """
    name = "conv_general_dilated_patches"
    x = as_value(lhs)
    shape = _ints(name, "filter_shape", filter_shape)
    if len(shape) != x.ndim - 2:
        raise ShapeError(
            f"{name}: filter_shape needs one entry for each spatial axis of {x.aval}; got {shape}"
        )
    numbers = numbers_of_axes(name, x.ndim, dimension_numbers)
    features, taps = x.shape[numbers.lhs_spec[1]], math.prod(shape)
    kernel: Any = np.eye(taps, dtype=bool).reshape(taps, 1, *shape)
    kernel = np.tile(kernel, (features, *[1] * (len(shape) + 1))).astype(x.dtype)
    kernel = kernel.transpose([list(numbers.rhs_spec).index(i) for i in range(x.ndim)])
    return conv_general_dilated(
        x,
        from_host(np.ascontiguousarray(kernel), copy=False),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
