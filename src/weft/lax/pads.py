"""Padding by name: what SAME and VALID mean in numbers."""

from collections.abc import Sequence

from ..core.source import located
from ..errors import ShapeError

__all__ = ["padtype_to_pads"]


@located
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The padding before and after each axis that a name stands for.

    Args:
      in_shape: lengths of the axes.
      window_shape: lengths of the window, gaps included.
      window_strides: how far it moves.
      padding: 'VALID': none. 'SAME': so much that there is an output for every stride, an odd one
        after; 'SAME_LOWER': an odd one before. Upper or lower case.
    Returns: a pair for each axis.
    Raises: ValueError: another name, or lengths differ.
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
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return pads
