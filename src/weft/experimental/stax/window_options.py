"""Options of layers with windows: lengths, strides, padding."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...errors import ShapeError

Padding: TypeAlias = str | Sequence[tuple[int, int]]


def lengths_of(name: str, argument: str, values: Any, count: int) -> tuple[int, ...]:
    """A positive int for each spatial axis."""
    if (
        isinstance(values, (tuple, list))
        and len(values) == count
        and all(isinstance(n, int) and n > 0 for n in values)
    ):
        return tuple(values)
    raise ShapeError(
        f"{name}: {argument} must be a tuple of {count} positive ints, one for each spatial "
        f"axis; got {values!r}"
    )


def pads_of(name: str, padding: Any, count: int) -> list[Any]:
    """The padding of each axis: a name, or a pair (before, after)."""
    if isinstance(padding, str):
        if padding.upper() in ("SAME", "SAME_LOWER", "VALID"):
            return [padding] * count
        raise ValueError(
            f"{name}: padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs of ints; got "
            f"{padding!r}"
        )
    pairs = list(padding) if isinstance(padding, (tuple, list)) else []
    if len(pairs) == count and all(map(_is_pair, pairs)):
        return pairs
    raise ShapeError(
        f"{name}: padding must be a name, such as 'SAME', or a pair of ints for each of {count} "
        f"axes; got {padding!r}"
    )


def _is_pair(pair: Any) -> bool:
    listed = isinstance(pair, (tuple, list)) and len(pair) == 2
    return listed and all(isinstance(n, int) for n in pair)
