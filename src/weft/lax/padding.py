"""pad, and padtype_to_pads, which converts the paddings SAME and VALID to numbers."""

from collections.abc import Sequence
from typing import Any

from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives import slicing
from ..typing import ArrayLike
from .axes import items_of

__all__ = ["pad", "padtype_to_pads"]


@located
def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """Pads an array with a scalar, around and between its elements.

    Args:
      operand: array [n0, …], any dtype.
      padding_value: a scalar of the same dtype; a Python number takes it.
      padding_config: for each axis, the numbers of copies before the first element, after the last,
        and between two neighbours. Negative numbers before or after remove elements.
    Returns: array; an axis has length before + n + between * (n - 1) + after.
    Raises: TypeError: dtypes differ. ValueError: more elements are removed than there are.
    Source: StableHLO `pad`.
    Example:
      >>> lax.pad(np.array([1, 2, 3]), 0, [(1, -1, 1)]).tolist()
      [0, 1, 0, 2, 0]
    """
    x = as_value(operand)
    triples = items_of("pad", "padding_config", padding_config, "(before, after, between)")
    padding = tuple([ints_of("pad", "padding_config", triple) for triple in triples])
    if any(len(p) != 3 for p in padding):
        raise ShapeError(
            f"pad: padding_config has (before, after, between) for each axis; got {padding}"
        )
    return slicing.pad(x, _scalar_like(x, padding_value), padding=padding)


def _scalar_like(x: Any, value: ArrayLike) -> Any:
    """A Python number in the dtype of `x`; other values unchanged."""
    if isinstance(value, Value) or not isinstance(value, (bool, int, float, complex)):
        return as_value(value)
    if isinstance(value, complex) and x.dtype.kind != "c":
        return as_value(value)
    if isinstance(value, float) and x.dtype.kind in "iub":
        return as_value(value)
    return as_value(x.dtype.type(value))


@located
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The padding before and after each axis, for a padding name.

    Args:
      in_shape: lengths of the axes.
      window_shape: lengths of the window, gaps included.
      window_strides: the steps of the window.
      padding: 'VALID': none. 'SAME': enough for an output at every stride, with an odd element
        after; 'SAME_LOWER': with an odd element before. Upper or lower case.
    Returns: a pair for each axis.
    Raises: ValueError: an unknown name, or lengths differ.
    Source: the TensorFlow guide on padding.
    Example:
      >>> from weft import lax
      >>> lax.padtype_to_pads((7, 8), (3, 2), (2, 3), 'SAME')
      [(1, 1), (0, 0)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"padtype_to_pads: padding must be one of {_NAMES}; got {padding!r:.80}")
    return pads_by_name("padtype_to_pads", in_shape, window_shape, window_strides, padding)


_NAMES = "'SAME', 'SAME_LOWER', 'VALID'"


def pads_by_name(
    name: str,
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
    parameter: str = "padding",
) -> list[tuple[int, int]]:
    """`padtype_to_pads` for an argument of another function.

    Args:
      name: the function, for errors.
      parameter: the name of `padding` there.
    """
    kind = padding.upper()
    if kind not in ("VALID", "SAME", "SAME_LOWER"):
        names = f"one of {_NAMES}" if name == "padtype_to_pads" else f"{_NAMES} or pairs of ints"
        raise ValueError(f"{name}: {parameter} must be {names}; got {padding!r:.80}")
    lengths = ints_of(name, "in_shape", in_shape)
    windows = ints_of(name, "window_shape", window_shape)
    strides = ints_of(name, "window_strides", window_strides)
    if not len(lengths) == len(windows) == len(strides):
        raise ShapeError(
            f"{name}: expected as many axes as windows and strides; got {lengths}, {windows} and "
            f"{strides}"
        )
    if min(strides, default=1) < 1:
        raise ShapeError(f"{name}: window_strides must be positive; got {strides}")
    if kind == "VALID":
        return [(0, 0)] * len(lengths)
    pads = []
    for n, k, stride in zip(lengths, windows, strides, strict=True):
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        smaller_half, larger_half = total // 2, total - total // 2
        pads.append((smaller_half, larger_half) if kind == "SAME" else (larger_half, smaller_half))
    return pads
