"""Gathers and scatters on NumPy arrays.

They read or write windows of an operand; an array of indices holds the windows' starts. Here the
starts become NumPy's index arrays on the operand's leading axes, after a transposition (a view).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .gather_dimension_numbers import Numbers
from .rule_types import Host, Kernel, Ufunc


class Windows:
    """The windows of an operand for one signature, and the layout of results.

    Args:
      shape: of the operand.
      index_shape: of the indices; the last axis holds an index for each axis along which windows
        move.
      sizes: of a window, one for each axis of the operand (1 for those that are dropped).
      numbers: the dimension numbers of a gather or a scatter; a scatter's updates count as the
        result.
    """

    def __init__(
        self,
        shape: Sequence[int],
        index_shape: Sequence[int],
        sizes: Sequence[int],
        numbers: Numbers,
    ) -> None:
        window_axes, removed_axes, start_map, operand_batching, indices_batching = numbers
        batch = tuple(index_shape[:-1])
        n_batch = len(batch)
        axes = [d for d in range(len(shape)) if d not in removed_axes and d not in operand_batching]
        # a window as long as its axis can begin only at 0, so it needs no index array
        indexed_axes = {d: k for k, d in enumerate(start_map) if sizes[d] != shape[d]}
        advanced = sorted({*indexed_axes, *operand_batching})
        basic = [d for d in range(len(shape)) if d not in advanced]
        remaining_advanced = [d for d in advanced if d in axes]
        self.batch, self.order = batch, (*advanced, *basic)
        self.bounds = np.array([shape[d] - sizes[d] for d in start_map], np.int64)
        self.fixed = (
            *(slice(None) for _ in advanced),
            *(0 if d in removed_axes else slice(0, sizes[d]) for d in basic),
            ...,
        )
        self.whole = all(d not in removed_axes and sizes[d] == shape[d] for d in basic)
        self.columns: list[tuple[Any, Any]] = []  # (place in start_map or starts, offsets or None)
        for d in advanced:
            if d in indexed_axes:
                start: Any = indexed_axes[d]
            else:
                axis = indices_batching[list(operand_batching).index(d)]
                indices = np.arange(shape[d]).reshape((-1, *(1,) * (n_batch - axis - 1)))
                start = np.broadcast_to(indices, batch)
            offsets = None
            if d in remaining_advanced:
                offsets = np.arange(sizes[d]).reshape(
                    (-1, *(1,) * (len(remaining_advanced) - remaining_advanced.index(d) - 1))
                )
            self.columns.append((start, offsets))
        self.wide = len(remaining_advanced)
        rank = n_batch + len(axes)
        batch_positions = [i for i in range(rank) if i not in window_axes]
        axis_positions = dict(zip(axes, window_axes, strict=True))
        window_positions = [axis_positions[d] for d in (*remaining_advanced, *basic) if d in axes]
        self.places = (*batch_positions, *window_positions)
        self.inverse = tuple(int(i) for i in np.argsort(self.places)) if self.places else ()
        self.straight = self.places == tuple(range(rank))
        self.in_order = self.order == tuple(range(len(shape)))
        # one index along one axis and all other axes whole: numpy.take
        self.axis = None
        if len(advanced) == 1 and not remaining_advanced and not operand_batching and self.whole:
            self.axis = advanced[0]
            dims_before = [axis_positions[d] for d in basic if d < self.axis]
            dims_after = [axis_positions[d] for d in basic if d > self.axis]
            permutation = (*dims_before, *batch_positions, *dims_after)
            self.take_inverse = (
                None
                if permutation == tuple(range(rank))
                else tuple(int(i) for i in np.argsort(permutation))
            )
            self.take_column = indexed_axes[self.axis]

    def view(self, x: Any) -> Any:
        """The operand with the axes to be indexed in front."""
        if not self.in_order:
            x = x.transpose(self.order)
        return x if self.whole else x[self.fixed]

    def valid(self, indices: Any) -> Any:
        """A mask of the windows that are within the operand."""
        return ((indices >= 0) & (indices <= self.bounds)).all(-1)

    def clipped(self, indices: Host) -> Any:
        """Indices clamped so that the windows are within the operand."""
        return np.minimum(np.maximum(indices, 0), self.bounds)

    def index(self, indices: Any, mask: object = None) -> tuple[Any, ...]:
        """NumPy's index into `view`: arrays for the batch axes, then for the window axes."""
        arrays = []
        stretch = (..., *(None,) * self.wide)
        for start, offsets in self.columns:
            if start.__class__ is int:
                start = indices[..., start]
            elif mask is not None:
                start = start[mask]
            if self.wide:
                start = start[stretch]
            arrays.append(start if offsets is None else start + offsets)
        return tuple(arrays)


def as_int64(indices: Host) -> Host:
    """Indices as int64; those of uint64 are clamped to 2**62."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(2**62))
    return indices.astype(np.int64)


def gather_kernel(windows: Windows, fill: np.generic | None) -> Kernel:
    """(operand, indices) -> the windows read.

    Args:
      fill: the value for windows outside the operand, a scalar of its dtype; `None` moves them
        inside.
    """
    w = windows

    def kernel(x: Host, indices: Host) -> Host:
        indices = as_int64(indices)
        if w.axis is not None:
            result = x.take(indices[..., w.take_column], axis=w.axis, mode="clip")
            if w.take_inverse is not None:
                result = result.transpose(w.take_inverse)
        else:
            result = w.view(x)
            if w.columns:
                result = result[w.index(w.clipped(indices))]
            elif w.batch:
                result = np.broadcast_to(result, (*w.batch, *result.shape))
            if not w.straight:
                result = result.transpose(w.inverse)
        if fill is None:
            return result
        valid = w.valid(indices)
        if valid.all():
            return result
        valid = np.asarray(valid)[(..., *(None,) * (result.ndim - valid.ndim))]
        return np.where(valid.transpose(w.inverse), result, fill)

    return kernel


def scatter_kernel(windows: Windows, combine: Ufunc | None, clip: bool, unique: bool) -> Kernel:
    """(operand, indices, updates) -> a copy with the windows combined with the updates.

    Args:
      combine: a ufunc, or `None` to replace (the last update wins).
      clip: whether windows outside the operand are moved inside; otherwise they are dropped.
      unique: True if windows do not overlap.
    """
    w = windows
    unique = unique or math.prod(w.batch) <= 1

    def kernel(x: Host, indices: Host, updates: Host) -> Host:
        out = np.array(x)
        if not updates.size or not out.size:
            return out
        indices = as_int64(indices)
        if not w.straight:
            updates = updates.transpose(w.places)
        mask = None
        if clip:
            indices = w.clipped(indices)
        else:
            mask = np.asarray(w.valid(indices))
            if mask.all():
                mask = None
            else:
                indices, updates = indices[mask], updates[mask]
        view = w.view(out)
        if w.columns:
            index = w.index(indices, mask)
        elif updates.ndim > view.ndim:  # several windows at one place
            view = view[None]
            index = (np.zeros(updates.shape[: updates.ndim - view.ndim + 1], np.int64),)
        else:
            index = (...,)
        if combine is None:
            view[index] = updates
        elif unique:
            view[index] = combine(view[index], updates)
        else:
            combine.at(view, index, updates)
        return out

    return kernel
