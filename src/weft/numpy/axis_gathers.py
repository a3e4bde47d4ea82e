"""Gathers elements along one axis, at known or run-time indices."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, from_host
from ..lax.axes import slice_along
from ..primitives import slicing, structural
from ..primitives.gather_dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..primitives.indexing import gather
from .plans import host_elements

_MAX_SLICES = 8  # for more slices, one gather is used


def take_static(x: Any, indices: Any, axis: int) -> Any:
    """Elements at known indices along an axis: a few slices joined, or one gather."""
    indices = np.asarray(indices)
    host = host_elements(x)
    if host is not None:
        elements = host.take(indices, axis)
        return Array(elements, x.aval.update(shape=elements.shape))
    slices = runs(indices)
    if len(slices) > _MAX_SLICES:
        return gather_along(x, from_host(indices.astype(dtypes.default_int()), copy=False), axis)
    parts = []
    for start, length, step in slices:
        if step == 0 and length > 1:
            part = slice_along(x, axis, start, start + 1)
            lengths = list(part.shape)
            lengths[axis] = length
            part = structural.broadcast_in_dim(
                part, shape=tuple(lengths), dims=tuple(range(x.ndim))
            )
        elif step == -1 and length > 1:
            part = slicing.rev(
                slice_along(x, axis, start - length + 1, start + 1), dimensions=(axis,)
            )
        else:
            part = slice_along(x, axis, start, start + length)
        parts.append(part)
    if not parts:
        return slice_along(x, axis, 0, 0)
    return parts[0] if len(parts) == 1 else slicing.concatenate(*parts, dimension=axis)


def runs(indices: Any) -> list[tuple[int, int, int]]:
    """Indices split greedily into runs (start, length, step) with steps of -1, 0 or 1."""
    run_list: list[tuple[int, int, int]] = []
    i, n = 0, len(indices)
    while i < n and len(run_list) <= _MAX_SLICES:
        step = int(indices[i + 1] - indices[i]) if i + 1 < n else 1
        if step not in (-1, 0, 1):
            run_list.append((int(indices[i]), 1, 1))
            i += 1
            continue
        breaks = np.flatnonzero(np.diff(indices[i:]) != step)
        length = int(breaks[0]) + 1 if breaks.size else n - i
        run_list.append((int(indices[i]), length, step))
        i += length
    return run_list


def gather_along(x: Any, indices: Any, axis: int = 0) -> Any:
    """Elements at run-time indices along an axis; indices out of range are clamped."""
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


def merge_axes(x: Any, axis: int) -> Any:
    """Merges the axes `axis` and `axis + 1`."""
    shape = (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
    return structural.reshape(x, shape=shape)
