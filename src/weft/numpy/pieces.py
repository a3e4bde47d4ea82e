"""Pieces of arrays along an axis: slices, fixed and run-time choices of elements.

Knows the cheapest way to read them; knows nothing of NumPy's signatures.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import from_host
from ..primitives import slicing, structural
from ..primitives.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..primitives.indexing import gather

_RUNS = 8  # more pieces than these are read by one gather instead


def take_fixed(x: Any, indices: Any, axis: int) -> Any:
    """Elements at indices known now along an axis: slices put together, where they are few."""
    indices = np.asarray(indices)
    pieces = runs(indices)
    if len(pieces) > _RUNS:
        return look_up(x, from_host(indices.astype(dtypes.default_int()), copy=False), axis)
    parts = []
    for start, length, step in pieces:
        if step == 0 and length > 1:
            part = cut(x, axis, start, start + 1)
            lengths = list(part.shape)
            lengths[axis] = length
            part = structural.broadcast_in_dim(
                part, shape=tuple(lengths), dims=tuple(range(x.ndim))
            )
        elif step == -1 and length > 1:
            part = slicing.rev(cut(x, axis, start - length + 1, start + 1), dimensions=(axis,))
        else:
            part = cut(x, axis, start, start + length)
        parts.append(part)
    if not parts:
        return cut(x, axis, 0, 0)
    return parts[0] if len(parts) == 1 else slicing.concatenate(*parts, dimension=axis)


def runs(indices: Any) -> list[tuple[int, int, int]]:
    """Indices as (start, length, step) with steps of -1, 0 or 1: few of them, read greedily."""
    found: list[tuple[int, int, int]] = []
    i, n = 0, len(indices)
    while i < n and len(found) <= _RUNS:
        step = int(indices[i + 1] - indices[i]) if i + 1 < n else 1
        if step not in (-1, 0, 1):
            found.append((int(indices[i]), 1, 1))
            i += 1
            continue
        wrong = np.flatnonzero(np.diff(indices[i:]) != step)
        length = int(wrong[0]) + 1 if wrong.size else n - i
        found.append((int(indices[i]), length, step))
        i += length
    return found


def cut(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """The elements from `start` up to `stop` along an axis; `x` itself if that is all."""
    if start == 0 and stop == x.shape[axis] and step == 1:
        return x
    starts = tuple([start if i == axis else 0 for i in range(x.ndim)])
    limits = tuple([stop if i == axis else n for i, n in enumerate(x.shape)])
    strides = tuple([step if i == axis else 1 for i in range(x.ndim)])
    return slicing.slice_(x, start=starts, limit=limits, strides=strides)


def look_up(x: Any, indices: Any, axis: int = 0) -> Any:
    """Elements at run-time indices along an axis; those out of range are moved inside."""
    n = indices.ndim
    offset = (*range(axis), *range(axis + n, x.ndim - 1 + n))
    return gather(
        x,
        structural.reshape(indices, shape=(*indices.shape, 1)),
        dimension_numbers=GatherDimensionNumbers(offset, (axis,), (axis,)),
        slice_sizes=tuple(1 if i == axis else m for i, m in enumerate(x.shape)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def merged(x: Any, axis: int) -> Any:
    """The axes `axis` and `axis + 1` as one."""
    shape = (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
    return structural.reshape(x, shape=shape)
