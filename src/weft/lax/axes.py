"""Axes as users give them: counted from the end if negative. Knows nothing of operations."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import AxisError, ShapeError


def axis_of(name: str, x: Any, axis: int) -> int:
    """One axis of `x`, counted from the front.

    Raises: ValueError: out of range. TypeError: not an integer.
    """
    if axis.__class__ is int and 0 <= axis < x.ndim:
        return axis
    index = number_of_axis(name, axis)
    if not -x.ndim <= index < x.ndim:
        raise AxisError(
            f"{name}: axis {axis} is out of range for {x.aval}, which has {x.ndim} axes"
        )
    return index % x.ndim


def number_of_axis(name: str, axis: Any) -> int:
    """An axis as a Python int.

    Raises: TypeError: not an integer.
    """
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: an axis must be an int; got {axis!r}") from None


def axes_of(name: str, x: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Axes of `x`, counted from the front; none twice."""
    if not isinstance(axes, (list, tuple, range, np.ndarray)):
        raise TypeError(f"{name}: axes must be a sequence of ints; got {axes!r}")
    found = tuple([axis_of(name, x, a) for a in axes])
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: axes are repeated in {tuple(axes)}")
    return found


def shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints; none negative.

    Raises: ValueError: a negative length. TypeError: not ints.
    """
    lengths = ints_of(name, "a shape", shape)
    if any(n < 0 for n in lengths):
        raise ShapeError(f"{name}: lengths must not be negative; got shape {lengths}")
    return lengths


def ints_of(name: str, what: str, values: Any) -> tuple[int, ...]:
    """A sequence of ints as a tuple."""
    try:
        return tuple([operator.index(v) for v in values])
    except TypeError:
        raise TypeError(
            f"{name}: {what} must be a sequence of ints known when traced; got {values!r}"
        ) from None
