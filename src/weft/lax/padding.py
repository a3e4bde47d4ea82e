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
    padding = tuple([ints_of("pad", "padding_config", p) for p in padding_config])
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
    name = padding.upper() if isinstance(padding, str) else padding
    if name not in ("VALID", "SAME", "SAME_LOWER"):
        raise ValueError(
            f"padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs of ints; got {padding!r}"
        )
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ShapeError(
            f"padtype_to_pads: expected as many axes as windows and strides; got "
            f"{tuple(in_shape)}, {tuple(window_shape)} and {tuple(window_strides)}"
        )
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for n, k, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        smaller_half, larger_half = total // 2, total - total // 2
        pads.append((smaller_half, larger_half) if name == "SAME" else (larger_half, smaller_half))
    return pads
