"""The geometry of windows: paddings, and the order of axes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..user_lines import noted

Pads = list[tuple[int, int]]


def pads_of(
    operation: str,
    padding: str | Sequence[tuple[int, int]],
    lengths: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> Pads:
    """The numbers of elements to add before and after each axis.

    Args:
      operation: the name of the operation, for errors.
      padding: "VALID", "SAME", or the pairs themselves.
      lengths, sizes, strides: the lengths of the axes, the window sizes, and the steps.
    Raises: ValueError: an invalid padding, or counts differ.
    """
    if not len(lengths) == len(sizes) == len(strides):
        raise noted(
            ValueError(
                f"{operation}: there are {len(lengths)} axes for windows; got {len(sizes)} sizes "
                f"and {len(strides)} strides"
            )
        )
    if not isinstance(padding, str):
        pads = [(int(low), int(high)) for low, high in padding]
        if len(pads) == len(lengths):
            return pads
    elif padding.upper() == "VALID":
        return [(0, 0)] * len(lengths)
    elif padding.upper() == "SAME":
        totals = [
            max((-(-n // stride) - 1) * stride + size - n, 0)
            for n, size, stride in zip(lengths, sizes, strides, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]
    raise noted(
        ValueError(
            f"{operation}: padding must be 'SAME', 'VALID' or {len(lengths)} pairs of ints; "
            f"got {padding!r}"
        )
    )


def positive(operation: str, name: str, values: Sequence[int] | None, count: int) -> list[int]:
    """A positive int for each axis with windows; ones by default."""
    lengths = [int(v) for v in values or (1,) * count]
    if len(lengths) != count or any(v < 1 for v in lengths):
        raise noted(
            ValueError(f"{operation}: {name} must be {count} positive ints; got {values!r}")
        )
    return lengths


def dilated(n: int, gap: int) -> int:
    """The length of an axis of `n` elements that are `gap` apart."""
    return (n - 1) * gap + 1 if n else 0


def gaps_of(dilation: Sequence[int] | None, padding: Any, count: int) -> list[int]:
    """The distances between an input's elements.

    Raises: ValueError: they are not `count` positive ints, or the padding is a name.
    """
    gaps = positive("conv", "input_dilation", dilation, count)
    if isinstance(padding, str) and max(gaps, default=1) > 1:
        raise noted(
            ValueError(
                f"conv: padding by name, {padding!r}, has no meaning with input_dilation "
                f"{tuple(gaps)}\n  fix: give pairs of ints"
            )
        )
    return gaps


class ConvAxes(NamedTuple):
    """The order of axes of a convolution.

    Attributes:
      inputs: the input's axes as batch, spatial, channels.
      kernel: the kernel's axes as spatial, in, out.
      outputs: the permutation from [batch, spatial, channels] to the output layout.
      spatial: the number of spatial axes.
    """

    inputs: list[int]
    kernel: list[int]
    outputs: list[int]
    spatial: int


def conv_axes(dimension_numbers: Sequence[str], ndim: int) -> ConvAxes:
    """The order of axes from three strings, such as ("NHWC", "HWIO", "NHWC").

    Raises: ValueError: they do not match.
    """
    if len(dimension_numbers) == 3 and all(isinstance(d, str) for d in dimension_numbers):
        inp, kernel, out = dimension_numbers
        spatial = [axis for axis in kernel if axis not in "IO"]
        expected = sorted(["N", "C", *spatial])
        kinds = (sorted(inp), sorted(out), sorted(kernel))
        if kinds == (expected, expected, sorted(["I", "O", *spatial])) and len(inp) == ndim:
            ordered = ["N", *spatial, "C"]
            return ConvAxes(
                [inp.index(axis) for axis in ordered],
                [kernel.index(axis) for axis in (*spatial, "I", "O")],
                [ordered.index(axis) for axis in out],
                len(spatial),
            )
    raise noted(
        ValueError(
            f"conv: dimension_numbers must be three strings of {ndim} letters, such as "
            f"('NHWC', 'HWIO', 'NHWC'); got {tuple(dimension_numbers)!r}"
        )
    )


def check_channels(x: Any, kernel: Any) -> None:
    """Raises ValueError if a kernel [..., in, out] does not match inputs [batch, ..., in]."""
    if x.shape[-1] != kernel.shape[-2]:
        raise noted(
            ValueError(
                f"conv: the input has {x.shape[-1]} channels, the kernel is for {kernel.shape[-2]}"
            )
        )
