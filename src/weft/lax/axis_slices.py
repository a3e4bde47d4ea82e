"""Slices of values along one axis, at bounds known when traced, and values put together along one.

Knows three primitives; knows nothing of signatures.
"""

from collections.abc import Sequence
from typing import Any

from ..core.array import as_value
from ..core.value import Value
from ..primitives.slicing import concatenate, slice_
from ..primitives.structural import reshape


def slice_along(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """The elements from `start` up to `stop` along an axis; `x` itself if that is all."""
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], strides[axis] = min(start, stop), stop, step
    return slice_(x, start=tuple(starts), limit=tuple(limits), strides=tuple(strides))


def row(x: Any, i: int) -> Any:
    """`x[i]`."""
    return reshape(slice_along(x, 0, i, i + 1), shape=x.shape[1:])


def concatenated(values: Sequence[Value], axis: int = 0) -> Any:
    """Values one after the other along an axis."""
    return values[0] if len(values) == 1 else concatenate(*values, dimension=axis)


def along_new_axis(values: Sequence[Any], axis: int = 0) -> Any:
    """Values of one shape, one after the other along a new axis."""
    values = [as_value(v) for v in values]
    shape = values[0].shape
    return concatenated([reshape(v, shape=(*shape[:axis], 1, *shape[axis:])) for v in values], axis)
