"""Repeating arrays and elements: tile, repeat."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ConcretizationTypeError, ShapeError
from ..primitives import structural
from ..typing import ArrayLike, Axis
from .axes import as_int, axes_of, host_array, one_axis, result_length
from .axis_gathers import gather_along, merge_axes, take_static
from .creation import from_numpy
from .cumulative import cumsum
from .plans import host_elements
from .promotion import value
from .shapes import ravel
from .sorting import searchsorted

__all__ = ["repeat", "tile"]


_base = current.base


@located
def tile(A: ArrayLike, reps: int | Sequence[int] | Array) -> Array:
    """Repeats an array along its axes.

    Args:
      A: array of any shape.
      reps: the number of repetitions along each axis, aligned from the right; additional numbers
        add axes in front.
    Returns: array with longer axes.
    Example:
      >>> np.tile(np.arange(2), 2)
      Array([0, 1, 0, 1], dtype=int32)
    """
    x = value("tile", A, "A")
    repeats = [as_int("tile", r, "reps") for r in _listed(reps)]
    if any(r < 0 for r in repeats):
        raise ValueError(f"tile: reps must not be negative; got {reps}")
    rank = max(x.ndim, len(repeats))
    repeats = [1] * (rank - len(repeats)) + repeats
    lengths = (1,) * (rank - x.ndim) + x.shape
    if all(r == 1 for r in repeats):
        return structural.reshape(x, shape=lengths) if lengths != x.shape else x
    tiled = structural.broadcast_in_dim(
        x,
        shape=tuple(n for pair in zip(repeats, lengths, strict=True) for n in pair),
        dims=tuple(2 * (rank - x.ndim + i) + 1 for i in range(x.ndim)),
    )
    return structural.reshape(
        tiled, shape=tuple(r * n for r, n in zip(repeats, lengths, strict=True))
    )


def _listed(reps: Any) -> Any:
    """The numbers of a sequence or array as a sequence; one number becomes a sequence."""
    has_axes = isinstance(reps, (Value, np.ndarray)) and reps.ndim
    return list(reps) if has_axes else axes_of(reps)


@located
def repeat(
    a: ArrayLike, repeats: ArrayLike, axis: Axis = None, *, total_repeat_length: int | None = None
) -> Array:
    """Repeats each element of an array.

    Args:
      a: array of any shape.
      repeats: the number of repetitions: an int, or an int array with one for each element along
        the axis.
      axis: one axis; None flattens the array first.
      total_repeat_length: the length of the axis of the result, required when `repeats` is traced;
        the result is padded with the last element, or truncated.
    Returns: array with a longer axis.
    Raises: ValueError: the axis has no last element to pad with.
    Example:
      >>> np.repeat(np.arange(3), np.array([1, 0, 2]))
      Array([0, 2, 2], dtype=int32)
    """
    x = value("repeat", a, "a")
    if axis is None:
        x, axis = ravel(x), 0
    elif not x.ndim:
        x = ravel(x)  # a scalar counts as one element
    i = one_axis("repeat", axis, x)
    n = x.shape[i]
    if total_repeat_length is not None:
        total_repeat_length = result_length("repeat", total_repeat_length, "total_repeat_length")
    if total_repeat_length and not n:
        raise ShapeError(
            f"repeat: axis {i} of {x.aval} has no element to pad to total_repeat_length "
            f"{total_repeat_length}"
        )
    if isinstance(repeats, (list, tuple)):
        expected = "an int, or an int for each element"
        dtype = None if repeats else int
        repeats = host_array("repeat", repeats, "repeats", expected, dtype)  # type: ignore[assignment]
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
            f"repeat: repeats must be one number, or one for each of the {n} elements; got shape "
            f"{counts.shape}"
        )
    if (counts < 0).any():
        raise ValueError("repeat: repeats must not be negative")
    if counts.size == 1 and total_repeat_length is None:
        count = int(counts.reshape(()))
        if count == 1:
            return x
        repeated_slices = structural.broadcast_in_dim(
            x,
            shape=(*x.shape[: i + 1], count, *x.shape[i + 1 :]),
            dims=tuple(k if k <= i else k + 1 for k in range(x.ndim)),
        )
        return merge_axes(repeated_slices, i)
    counts = counts.astype(np.int64)  # NumPy does not accept uint64
    host = host_elements(x) if total_repeat_length is None else None
    if host is not None:
        result = np.repeat(host, counts, i)
        return Array(result, x.aval.update(shape=result.shape))
    indices = np.repeat(np.arange(n), counts)
    if total_repeat_length is not None:
        missing_count = total_repeat_length - len(indices)
        indices = np.concatenate([indices, np.full(max(missing_count, 0), max(n - 1, 0))])[
            :total_repeat_length
        ]
    return take_static(x, indices, i)


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
    positions = searchsorted(ends, from_numpy(np.arange(total, dtype=ends.dtype)), side="right")
    return gather_along(x, positions, axis)
