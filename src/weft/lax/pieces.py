"""Parts of arrays along one axis, at places known when traced. Knows three primitives."""

from collections.abc import Sequence
from typing import Any

from ..core.array import as_value
from ..primitives.slicing import concatenate, slice_
from ..primitives.structural import reshape


def part(x: Any, begin: int, end: int, step: int = 1, axis: int = 0) -> Any:
    """`x[begin:end:step]` along an axis; places within its length."""
    if (begin, end, step) == (0, x.shape[axis], 1):
        return x
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    start[axis], limit[axis], strides[axis] = min(begin, end), end, step
    return slice_(x, start=tuple(start), limit=tuple(limit), strides=tuple(strides))


def slice_of(x: Any, i: int) -> Any:
    """`x[i]`."""
    return reshape(part(x, i, i + 1), shape=x.shape[1:])


def joined(parts: Sequence[Any], axis: int = 0) -> Any:
    """Values one after the other along an axis."""
    return parts[0] if len(parts) == 1 else concatenate(*parts, dimension=axis)


def stacked(parts: Sequence[Any], axis: int = 0) -> Any:
    """Values along a new axis."""
    values = [as_value(p) for p in parts]
    shape = values[0].shape
    return joined([reshape(v, shape=(*shape[:axis], 1, *shape[axis:])) for v in values], axis)
