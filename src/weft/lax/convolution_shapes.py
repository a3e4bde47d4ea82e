"""Shapes of convolutions and the order of their axes: conv_shape_tuple, conv_general_shape_tuple,
conv_transpose_shape_tuple, conv_general_permutations."""

from collections.abc import Sequence

from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives.convolution import ConvDimensionNumbers, out_length
from .axes import int_of
from .convolution import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    numbers_of_axes,
    padding_pairs,
    transposed_pads,
)
from .padding import pads_by_name

__all__ = [
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
]

Shape = tuple[int, ...]


@located
def conv_general_permutations(
    dimension_numbers: tuple[str, str, str] | ConvDimensionNumbers,
) -> tuple[Shape, Shape, Shape]:
    """The permutations that bring a convolution's arrays into the order batch, feature, spatial.

    Args:
      dimension_numbers: three strings such as ('NHWC', 'HWIO', 'NHWC').
    Returns: permutations of the axes of lhs (batch, feature, spatial), of rhs (out, in, spatial)
      and of the output (batch, feature, spatial).
    Raises: TypeError: not three strings. ValueError: an axis is missing.
    Source: StableHLO `convolution`.
    Example:
      >>> lax.conv_general_permutations(("NHC", "HIO", "NHC"))
      ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        lhs, rhs, out = dimension_numbers
        return tuple(lhs), tuple(rhs), tuple(out)
    if not isinstance(dimension_numbers, (tuple, list)) or not all(
        isinstance(s, str) for s in dimension_numbers
    ):
        raise TypeError(
            "conv_general_permutations: dimension_numbers must be three strings; got "
            f"{dimension_numbers!r}"
        )
    shape = (1,) * len(dimension_numbers[0])
    lhs, rhs, out = conv_dimension_numbers(shape, shape, dimension_numbers)
    return tuple(lhs), tuple(rhs), tuple(out)


@located
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of a convolution's output, for axes in the order batch, feature, spatial.

    Args:
      lhs_shape: (batch, features, spatial …).
      rhs_shape: (out-features, in-features, spatial …).
      strides: the step of the kernel along each spatial axis.
      pads: 'SAME', 'SAME_LOWER', 'VALID', or a pair (before, after) for each spatial axis.
      batch_group_count: as in `conv_general_dilated`.
    Returns: (batch, out-features, spatial …).
    Raises: ValueError: the numbers of axes or groups are inconsistent.
    Source: StableHLO `convolution`.
    Example:
      >>> lax.conv_shape_tuple((2, 3, 8), (5, 3, 3), (2,), 'SAME')
      (2, 5, 4)
    """
    name = "conv_shape_tuple"
    lhs, rhs = _shapes(name, lhs_shape, rhs_shape)
    groups = int_of(name, "batch_group_count", batch_group_count)
    if groups < 1 or lhs[0] % groups:
        raise ShapeError(
            f"{name}: batch_group_count must divide the length {lhs[0]} of the batch; got {groups}"
        )
    steps = _strides(name, "strides", strides, len(lhs) - 2)
    spatial = _spatial(name, lhs, rhs, steps, pads, "pads")
    return (lhs[0] // groups, rhs[0], *spatial)


def _spatial(
    name: str, lhs: Shape, rhs: Shape, steps: Shape, padding: Padding, parameter: str
) -> list[int]:
    """The lengths of the output's spatial axes."""
    if isinstance(padding, str):
        pads = pads_by_name(name, lhs[2:], rhs[2:], steps, padding, parameter)
    else:
        pads = _pairs(name, parameter, padding, len(steps))
    return [
        out_length(n, k, s, p, 1, 1)
        for n, k, s, p in zip(lhs[2:], rhs[2:], steps, pads, strict=True)
    ]


@located
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> Shape:
    """The shape of the output of a convolution without dilation.

    Args:
      lhs_shape, rhs_shape: the operands' shapes.
      window_strides, padding, dimension_numbers: as in `conv_general_dilated`.
    Returns: the shape.
    Raises: TypeError, ValueError: as `conv_general_dilated`.
    Source: StableHLO `convolution`.
    Example:
      >>> lax.conv_general_shape_tuple((2, 8, 3), (3, 3, 5), (2,), 'SAME', ("NHC", "HIO", "NHC"))
      (2, 4, 5)
    """
    name = "conv_general_shape_tuple"
    lhs, rhs, numbers = _standard_shapes(name, lhs_shape, rhs_shape, dimension_numbers)
    steps = _strides(name, "window_strides", window_strides, len(lhs) - 2)
    spatial = _spatial(name, lhs, rhs, steps, padding, "padding")
    return _output_order((lhs[0], rhs[0], *spatial), numbers)


@located
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> Shape:
    """The shape of the output of `conv_transpose`.

    Args:
      lhs_shape, rhs_shape: the operands' shapes.
      window_strides: the factors by which the output is larger.
      padding: 'SAME', 'VALID', or a pair for each spatial axis.
      dimension_numbers: as in `conv_general_dilated`.
    Returns: the shape.
    Raises: TypeError, ValueError: as `conv_transpose`.
    Source: StableHLO `convolution`.
    Example:
      >>> numbers = ("NHC", "HIO", "NHC")
      >>> lax.conv_transpose_shape_tuple((2, 4, 3), (3, 3, 5), (2,), 'SAME', numbers)
      (2, 8, 5)
    """
    name = "conv_transpose_shape_tuple"
    lhs, rhs, numbers = _standard_shapes(name, lhs_shape, rhs_shape, dimension_numbers)
    steps = _strides(name, "window_strides", window_strides, len(lhs) - 2)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"{name}: padding must be 'SAME', 'VALID' or pairs; got {padding!r}")
        is_same = padding.upper() == "SAME"
        pads = [transposed_pads(k, s, is_same) for k, s in zip(rhs[2:], steps, strict=True)]
    else:
        pads = _pairs(name, "padding", padding, len(steps))
    spatial = [
        out_length(n, k, 1, p, s, 1)
        for n, k, s, p in zip(lhs[2:], rhs[2:], steps, pads, strict=True)
    ]
    return _output_order((lhs[0], rhs[0], *spatial), numbers)


def _shapes(name: str, lhs: Sequence[int], rhs: Sequence[int]) -> tuple[Shape, Shape]:
    lhs, rhs = ints_of(name, "lhs_shape", lhs), ints_of(name, "rhs_shape", rhs)
    if len(lhs) != len(rhs) or len(lhs) < 2:
        raise ShapeError(
            f"{name}: expected shapes with an equal number of axes, at least two; got {lhs} and "
            f"{rhs}"
        )
    return lhs, rhs


def _strides(name: str, parameter: str, strides: Sequence[int], count: int) -> Shape:
    steps = ints_of(name, parameter, strides)
    if len(steps) != count:
        raise ShapeError(f"{name}: {parameter} needs {count} entries; got {steps}")
    if min(steps, default=1) < 1:
        raise ShapeError(f"{name}: {parameter} must be positive; got {steps}")
    return steps


def _pairs(name: str, parameter: str, padding: Padding, count: int) -> list[tuple[int, int]]:
    pairs = padding_pairs(name, padding, parameter)
    if len(pairs) != count:
        raise ShapeError(f"{name}: {parameter} needs {count} pairs; got {len(pairs)}")
    return list(pairs)


def _standard_shapes(
    name: str, lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: object
) -> tuple[Shape, Shape, ConvDimensionNumbers]:
    """The shapes in the order batch, feature, spatial; and the positions of the axes."""
    lhs, rhs = _shapes(name, lhs_shape, rhs_shape)
    numbers = numbers_of_axes(name, len(lhs), dimension_numbers)
    return (
        tuple([lhs[i] for i in numbers.lhs_spec]),
        tuple([rhs[i] for i in numbers.rhs_spec]),
        numbers,
    )


def _output_order(shape: Shape, numbers: ConvDimensionNumbers) -> Shape:
    """A shape in the order of the output's axes."""
    return tuple([shape[list(numbers.out_spec).index(i)] for i in range(len(shape))])
