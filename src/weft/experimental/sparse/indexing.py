"""`x[index]` for sparse matrices: integers, slices, None, and at most one integer array."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ... import numpy as np
from ...errors import IndexingError
from ...transforms.vmap import vmap
from ...typing import Array
from .coordinates import Coordinates
from .manipulation import (
    bcoo_broadcast_in_dim,
    bcoo_dynamic_slice,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)

M = TypeVar("M", bound=Coordinates)


class Window(NamedTuple):
    """The part of one axis that an index selects: a static part, and a run-time window of it."""

    start: int
    limit: int
    stride: int
    at: Any
    size: int
    backwards: bool = False
    gone: bool = False


def item(mat: M, index: Any) -> M:
    """`mat[index]`."""
    full = expanded(mat, index)
    arrays = [k for k, i in enumerate(full) if is_array(i)]
    if arrays:
        return at_array(mat, full, arrays)
    taking = [i for i in full if i is not None]
    windows = [window_of(i, mat.shape[axis], axis, mat) for axis, i in enumerate(taking)]
    mat = bcoo_slice(
        mat,
        start_indices=[w.start for w in windows],
        limit_indices=[w.limit for w in windows],
        strides=[w.stride for w in windows],
    )
    if any(isinstance(w.at, Array) for w in windows):
        mat = bcoo_dynamic_slice(mat, [w.at for w in windows], [w.size for w in windows])
    if backwards := [axis for axis, w in enumerate(windows) if w.backwards]:
        mat = bcoo_rev(mat, dimensions=backwards)
    if dropped_axes := [axis for axis, w in enumerate(windows) if w.gone]:
        mat = bcoo_squeeze(mat, dimensions=dropped_axes)
    left = [i for i in full if i is None or isinstance(i, slice)]
    if None in left:
        lengths = iter(mat.shape)
        shape = [1 if i is None else next(lengths) for i in left]
        kept = [axis for axis, i in enumerate(left) if i is not None]
        mat = bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=kept)
    return mat


def expanded(mat: Coordinates, index: Any) -> list[Any]:
    """The index with one entry for each axis, and its `None` entries."""
    full = list(index) if isinstance(index, tuple) else [index]
    dots = [k for k, i in enumerate(full) if i is Ellipsis]
    n_indices = sum(i is not None and i is not Ellipsis for i in full)
    if n_indices > mat.ndim or len(dots) > 1:
        raise IndexingError(
            f"getitem: too many indices for {mat!r}: {n_indices}, and {len(dots)} times ..."
        )
    at = dots[0] if dots else len(full)
    full[at : at + len(dots)] = [slice(None)] * (mat.ndim - n_indices)
    return full


def is_array(i: Any) -> bool:
    """True for an index that is an array with axes."""
    return isinstance(i, list) or bool(getattr(i, "ndim", 0))


def window_of(i: Any, n: int, axis: int, mat: Coordinates) -> Window:
    """The window of an axis of length n that a slice or an integer selects."""
    if isinstance(i, slice):
        start, stop, step = i.indices(n)
        size = len(range(start, stop, step))
        if not size:
            return Window(0, 0, 1, 0, 0)
        first = start if step > 0 else start + (size - 1) * step
        limit = first + (size - 1) * abs(step) + 1
        return Window(first, limit, abs(step), 0, size, step < 0)
    if isinstance(i, Array):
        if i.dtype.kind not in "iu":
            raise wrong_index(i, mat)
        return Window(0, n, 1, np.where(i < 0, i + n, i), 1, gone=True)
    if isinstance(i, bool) or not hasattr(i, "__index__"):
        raise wrong_index(i, mat)
    at = i.__index__()
    if not -n <= at < n:
        raise IndexingError(f"getitem: index {at} is out of range for axis {axis} of {mat!r}")
    return Window(at % n, at % n + 1, 1, 0, 1, gone=True)


def wrong_index(i: Any, mat: Coordinates) -> IndexingError:
    """The error for an object that is not an index of a sparse matrix."""
    return IndexingError(
        f"getitem: {mat!r} is indexed by whole numbers, slices, None and one array of whole "
        f"numbers; got {type(i).__name__} {i!r:.60}"
    )


def at_array(mat: M, index: Sequence[Any], arrays: Sequence[int]) -> M:
    """`mat[index]` where the index has an array. Each axis of the array becomes a batch axis."""
    place, rest = arrays[0], tuple(index[arrays[0] + 1 :])
    array = np.asarray(index[place])
    if array.dtype.kind not in "iu":
        raise wrong_index(array, mat)
    if len(arrays) > 1 or any(i != slice(None) for i in index[:place]) or place > mat.n_batch:
        raise IndexingError(
            f"getitem: expected one array among the indices of {mat!r}, for its first sparse axis "
            "or for one of the batch, with nothing but ':' before it\n"
            "  fix: mat.transpose(…)[array], or mat.todense()[…]"
        )
    if place < mat.n_batch:
        data, indices = (np.take(x, array, axis=place) for x in (mat.data, mat.indices))
        selection = mat.like(data, indices, mat.inner)
        return item(selection, (*(slice(None),) * (place + array.ndim), *rest))

    def chosen(mat: M, i: Array) -> M:
        return item(mat, (i, *rest))

    for _ in range(array.ndim):
        chosen = vmap(chosen, (None, 0))
    for _ in range(mat.n_batch):
        chosen = vmap(chosen, (0, None))
    return chosen(mat, array)
