"""Elements repeated, shifted and padded."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ConcretizationTypeError, ShapeError
from ..primitives import slicing, structural
from ..primitives.dynamic_slicing import dynamic_slice
from ..typing import ArrayLike, Axis
from .axes import axes_of, one_axis, result_length, whole_number
from .axis_choices import gather_along, merge_axes, take_known
from .creation import from_numpy
from .plans import host_elements
from .promotion import cast, value
from .running import cumsum
from .shapes import ravel
from .sorting import searchsorted

__all__ = ["repeat", "roll", "tile"]

_base = current.base


@located
def tile(A: ArrayLike, reps: int | Sequence[int] | Array) -> Array:
    """The whole array repeated along axes.

    Args:
      A: array of any shape.
      reps: how often along each axis, aligned from the right; more of them make new axes in front.
    Returns: array with longer axes.
    Example:
      >>> np.tile(np.arange(2), 2)
      Array([0, 1, 0, 1], dtype=int32)
    """
    x = value("tile", A, "A")
    times = [whole_number("tile", r, "reps") for r in _listed(reps)]
    if any(r < 0 for r in times):
        raise ValueError(f"tile: reps must not be negative; got {reps}")
    rank = max(x.ndim, len(times))
    times = [1] * (rank - len(times)) + times
    lengths = (1,) * (rank - x.ndim) + x.shape
    if all(r == 1 for r in times):
        return structural.reshape(x, shape=lengths) if lengths != x.shape else x
    wide = structural.broadcast_in_dim(
        x,
        shape=tuple(n for pair in zip(times, lengths, strict=True) for n in pair),
        dims=tuple(2 * (rank - x.ndim + i) + 1 for i in range(x.ndim)),
    )
    return structural.reshape(wide, shape=tuple(r * n for r, n in zip(times, lengths, strict=True)))


def _listed(reps: Any) -> Any:
    """Numbers one after the other, from one, or from a sequence or array of them."""
    several = isinstance(reps, (Value, np.ndarray)) and reps.ndim
    return list(reps) if several else axes_of(reps)


@located
def repeat(
    a: ArrayLike, repeats: ArrayLike, axis: Axis = None, *, total_repeat_length: int | None = None
) -> Array:
    """Each element repeated, right behind it.

    Args:
      a: array of any shape.
      repeats: how often: an int, or an int array for each element along the axis.
      axis: one axis; None flattens the array first.
      total_repeat_length: the length of the result's axis, needed where `repeats` is traced; the
        last element fills up what is missing, and what is too much is cut off.
    Returns: array with a longer axis.
    Raises: ValueError: there is no last element.
    Example:
      >>> np.repeat(np.arange(3), np.array([1, 0, 2]))
      Array([0, 2, 2], dtype=int32)
    """
    x = value("repeat", a, "a")
    if axis is None:
        x, axis = ravel(x), 0
    elif not x.ndim:
        x = ravel(x)  # a scalar is a row of one
    i = one_axis("repeat", axis, x)
    n = x.shape[i]
    if total_repeat_length is not None:
        total_repeat_length = result_length("repeat", total_repeat_length, "total_repeat_length")
    if total_repeat_length and not n:
        raise ShapeError(
            f"repeat: axis {i} of {x.aval} has no element to fill up total_repeat_length "
            f"{total_repeat_length} with"
        )
    if isinstance(repeats, (list, tuple)):
        repeats = np.asarray(repeats, int)  # type: ignore[assignment]
    counts: Any = repeats
    if isinstance(repeats, Value):
        array = repeats.concrete()
        counts = repeats if array is None else np.asarray(array.host())
    if isinstance(counts, Value):
        return _repeat_traced(x, counts, i, total_repeat_length)
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu":
        raise ShapeError(f"repeat: repeats must be integers; got {counts.dtype}")
    if counts.ndim > 1 or counts.size not in (1, n):
        raise ShapeError(
            f"repeat: repeats must be one number or one for each of the {n} elements; got shape "
            f"{counts.shape}"
        )
    if (counts < 0).any():
        raise ValueError("repeat: repeats must not be negative")
    if counts.size == 1 and total_repeat_length is None:
        times = int(counts.reshape(()))
        if times == 1:
            return x
        wide = structural.broadcast_in_dim(
            x,
            shape=(*x.shape[: i + 1], times, *x.shape[i + 1 :]),
            dims=tuple(k if k <= i else k + 1 for k in range(x.ndim)),
        )
        return merge_axes(wide, i)
    counts = counts.astype(np.int64)  # NumPy refuses uint64
    host = host_elements(x) if total_repeat_length is None else None
    if host is not None:
        result = np.repeat(host, counts, i)
        return Array(result, x.aval.update(shape=result.shape))
    places = np.repeat(np.arange(n), counts)
    if total_repeat_length is not None:
        missing = total_repeat_length - len(places)
        places = np.concatenate([places, np.full(max(missing, 0), max(n - 1, 0))])[
            :total_repeat_length
        ]
    return take_known(x, places, i)


def _repeat_traced(x: Any, counts: Any, axis: int, total: int | None) -> Any:
    if total is None:
        raise ConcretizationTypeError(
            f"repeat: repeats decide the shape, and are traced ({counts.aval}); got no "
            "total_repeat_length\n  fix: np.repeat(x, repeats, total_repeat_length=n)"
        )
    n = x.shape[axis]
    if counts.ndim == 0 or counts.shape[0] != n:
        counts = structural.widen(counts, (n,))
    ends = cumsum(counts, dtype=dtypes.default_int())
    places = searchsorted(ends, from_numpy(np.arange(total, dtype=ends.dtype)), side="right")
    return gather_along(x, places, axis)


@located
def roll(a: ArrayLike, shift: Any, axis: Any = None) -> Array:
    """The elements moved along axes; those that leave come in at the other end.

    Args:
      a: array of any shape.
      shift: by how many places; one for each axis. It may be traced.
      axis: an axis or several; None moves in the flattened array.
    Returns: array of the same shape.
    Example:
      >>> np.roll(np.arange(4), 1)
      Array([3, 0, 1, 2], dtype=int32)
    """
    x = value("roll", a, "a")
    if axis is None:
        return structural.reshape(_rolled(ravel(x), shift, 0), shape=x.shape)
    axes = tuple([one_axis("roll", k, x) for k in axes_of(axis)])  # one may come twice
    if isinstance(shift, Value) and shift.ndim:
        shifts = list(shift)
    else:
        shifts = (
            list(shift)
            if isinstance(shift, (tuple, list, np.ndarray)) and np.ndim(shift)
            else [shift]
        )
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ShapeError(
            f"roll: shift and axis must be equally many; got {len(shifts)} and {len(axes)}"
        )
    for s, i in zip(shifts, axes, strict=True):
        x = _rolled(x, s, i)
    return x


def _rolled(x: Any, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if not n:
        return x
    if isinstance(shift, Value):
        array = shift.concrete()
        if array is None:
            shift = cast(shift.reshape(()), dtypes.int32)
            start = literal(n, dtypes.int32) - shift % n
            twice = slicing.concatenate(x, x, dimension=axis)
            zero = literal(0, dtypes.int32)
            starts = [start if i == axis else zero for i in range(x.ndim)]
            return dynamic_slice(twice, *starts, sizes=x.shape)
        shift = array.item()
    shift = whole_number("roll", shift, "shift") % n
    if not shift:
        return x
    stays, leaves = slicing.split(x, sizes=(n - shift, shift), axis=axis)
    return slicing.concatenate(leaves, stays, dimension=axis)
