"""Axes as users give them: counted from the end if negative. Knows nothing of operations."""

import operator
from collections.abc import Sequence
from typing import Any


def axis_of(name: str, x: Any, axis: int) -> int:
    """One axis of `x`, counted from the front.

    Raises: ValueError: out of range. TypeError: not an integer.
    """
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: an axis must be an int; got {axis!r}") from None
    if not -x.ndim <= index < x.ndim:
        raise ValueError(
            f"{name}: axis {axis} is out of range for {x.aval}, which has {x.ndim} axes"
        )
    return index % x.ndim


def axes_of(name: str, x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Axes of `x`, counted from the front; none twice."""
    if not isinstance(axes, (list, tuple)):
        raise TypeError(f"{name}: axes must be a sequence of ints; got {axes!r}")
    found = tuple(axis_of(name, x, a) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: axes are repeated in {tuple(axes)}")
    return found
