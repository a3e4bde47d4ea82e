"""Axes, which count from the end if negative; slices and concatenation along an axis."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.array import as_value
from ..core.value import Value
from ..errors import AxisError, ShapeError, WeftError
from ..primitives.slicing import concatenate, slice_
from ..primitives.structural import reshape
from ..transforms.arguments import described
from ..user_lines import noted


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


def int_of(name: str, parameter: str, value: Any) -> int:
    """An argument as a Python int.

    Raises: TypeError: not an integer.
    """
    try:
        return operator.index(value)
    except WeftError:  # a traced value
        raise
    except TypeError:
        raise noted(TypeError(f"{name}: {parameter} must be an int; got {value!r:.80}")) from None


def items_of(name: str, parameter: str, values: Any, kind: str = "arrays") -> list[Any]:
    """The elements of a sequence; `kind` says what they are, for the error.

    Raises: TypeError: not a sequence.
    """
    try:
        elements = iter(values)
    except TypeError:
        raise noted(
            TypeError(f"{name}: {parameter} must be a sequence of {kind}; got {described(values)}")
        ) from None
    return list(elements)


def axes_of(name: str, x: Any, axes: Sequence[int], argument: str = "axes") -> tuple[int, ...]:
    """Axes of `x`, counted from the front, without repetitions."""
    if not isinstance(axes, (list, tuple, range, np.ndarray)):
        raise TypeError(f"{name}: {argument} must be a sequence of ints; got {axes!r}")
    numbered_axes = tuple([axis_of(name, x, a) for a in axes])
    if len(set(numbered_axes)) != len(numbered_axes):
        raise ShapeError(f"{name}: axes are repeated in {tuple(axes)}")
    return numbered_axes


def slice_along(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """The elements from `start` up to `stop` along an axis; `x` itself if these are all."""
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], strides[axis] = min(start, stop), stop, step
    return slice_(x, start=tuple(starts), limit=tuple(limits), strides=tuple(strides))


def row(x: Any, i: int) -> Any:
    """`x[i]`."""
    return reshape(slice_along(x, 0, i, i + 1), shape=x.shape[1:])


def concatenated(values: Sequence[Value], axis: int = 0) -> Any:
    """Concatenates values along an axis."""
    return values[0] if len(values) == 1 else concatenate(*values, dimension=axis)


def along_new_axis(values: Sequence[Any], axis: int = 0) -> Any:
    """Stacks values of one shape along a new axis."""
    values = [as_value(v) for v in values]
    shape = values[0].shape
    return concatenated([reshape(v, shape=(*shape[:axis], 1, *shape[axis:])) for v in values], axis)
