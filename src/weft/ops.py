"""Reductions over segments: segment_sum, segment_prod, segment_min, segment_max. Changed copies:
index_update, index_add, index_mul, index_min, index_max.

The functions `index_…` are older spellings of `x.at[index]`.
"""

from typing import Any

import numpy as onp

from . import dtypes, errors, numpy as np
from .core.array import Tracer
from .core.source import located
from .lax.indexing import GatherScatterMode
from .numpy.constants import inf
from .numpy.grids import index_exp
from .typing import ArrayLike

__all__ = [
    "index",
    "index_add",
    "index_max",
    "index_min",
    "index_mul",
    "index_update",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
]

index = index_exp
"""`index[1:, ::2]` returns the index between the brackets, as a value."""


def index_update(
    x: ArrayLike,
    idx: Any,
    y: ArrayLike,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """A copy of an array with the elements at an index replaced: `x.at[idx].set(y)`.

    Args:
      x: array.
      idx: the index between the brackets; `weft.ops.index[…]` makes one.
      y: array that broadcasts to the shape of `x[idx]`.
      indices_are_sorted, unique_indices: promises about index arrays.
    Returns: array like `x`. Updates out of range are ignored.
    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.index_update(np.zeros(3), ops.index[1:], 2.0)
      Array([0., 2., 2.], dtype=float32)
    Source: `jax.ops.index_update`.
    """
    return changed("set", x, idx, y, indices_are_sorted, unique_indices)


def index_add(
    x: ArrayLike,
    idx: Any,
    y: ArrayLike,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """A copy of an array with `y` added at an index: `x.at[idx].add(y)`. See `index_update`.

    Values for a repeated index are all added.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.index_add(np.zeros(3), np.array([0, 2, 2]), 1.0)
      Array([1., 0., 2.], dtype=float32)
    Source: `jax.ops.index_add`.
    """
    return changed("add", x, idx, y, indices_are_sorted, unique_indices)


def index_mul(
    x: ArrayLike,
    idx: Any,
    y: ArrayLike,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """A copy of an array multiplied by `y` at an index. See `index_update`.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.index_mul(np.ones(3), 1, 5.0)
      Array([1., 5., 1.], dtype=float32)
    Source: `jax.ops.index_mul`.
    """
    return changed("multiply", x, idx, y, indices_are_sorted, unique_indices)


def index_min(
    x: ArrayLike,
    idx: Any,
    y: ArrayLike,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """A copy of an array with the minimum of old elements and `y` at an index. See `index_update`.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.index_min(np.arange(3), ops.index[:], 1)
      Array([0, 1, 1], dtype=int32)
    Source: `jax.ops.index_min`.
    """
    return changed("min", x, idx, y, indices_are_sorted, unique_indices)


def index_max(
    x: ArrayLike,
    idx: Any,
    y: ArrayLike,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """A copy of an array with the maximum of old elements and `y` at an index. See `index_update`.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.index_max(np.arange(3), ops.index[:], 1)
      Array([1, 1, 2], dtype=int32)
    Source: `jax.ops.index_max`.
    """
    return changed("max", x, idx, y, indices_are_sorted, unique_indices)


def changed(method: str, x: ArrayLike, idx: Any, y: ArrayLike, ordered: bool, unique: bool) -> Any:
    """A copy of an array, updated at an index by a method of `at[…]`."""
    change = getattr(np.asarray(x).at[idx], method)
    return change(y, indices_are_sorted=ordered, unique_indices=unique)


# --- segments ---


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Sums of the slices of each segment of an array.

    Args:
      data: array [n, …], or a scalar, which stands for n equal ones.
      segment_ids: integers [n]: the segment of each slice, in any order. Slices with a negative
        number, or one not below `num_segments`, are ignored.
      num_segments: the number of segments; by default the largest of `segment_ids` plus one, which
        is not known inside `jit`.
      indices_are_sorted, unique_indices: promises about `segment_ids`.
      bucket_size: the number of slices to add first, which makes long sums more accurate.
      mode: "drop" (or `None`), or "clip", which moves slices outside all segments to the nearest.
    Returns: array [num_segments, …] with the dtype of `data`; a segment without slices is 0.
    Raises: TypeError: `segment_ids` aren't integers. ValueError: their number isn't n.
    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.segment_sum(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]))
      Array([4., 2.], dtype=float32)
    Source: `jax.ops.segment_sum`.
    """
    hints = (indices_are_sorted, unique_indices, bucket_size, mode)
    return over_segments("sum", data, segment_ids, num_segments, hints)


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Products of the slices of each segment; 1 for an empty segment. See `segment_sum`.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.segment_prod(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]))
      Array([8., 1., 3.], dtype=float32)
    Source: `jax.ops.segment_prod`.
    """
    hints = (indices_are_sorted, unique_indices, bucket_size, mode)
    return over_segments("prod", data, segment_ids, num_segments, hints)


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """The maximum of the slices of each segment. See `segment_sum`.

    A segment without slices is -inf, or the lowest integer.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.segment_max(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]))
      Array([  4., -inf,   3.], dtype=float32)
    Source: `jax.ops.segment_max`.
    """
    hints = (indices_are_sorted, unique_indices, bucket_size, mode)
    return over_segments("max", data, segment_ids, num_segments, hints)


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """The minimum of the slices of each segment. See `segment_sum`.

    A segment without slices is inf, or the highest integer.

    Example:
      >>> import weft.numpy as np
      >>> from weft import ops
      >>> ops.segment_min(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]))
      Array([ 2., inf,  3.], dtype=float32)
    Source: `jax.ops.segment_min`.
    """
    hints = (indices_are_sorted, unique_indices, bucket_size, mode)
    return over_segments("min", data, segment_ids, num_segments, hints)


# the initial value of a segment, the method of `at`, and the reduction over buckets
_KINDS: dict[str, Any] = {
    "sum": (lambda dtype: 0, "add", np.sum),
    "prod": (lambda dtype: 1, "multiply", np.prod),
    "max": (lambda dtype: extreme(dtype, "min", -inf), "max", np.max),
    "min": (lambda dtype: extreme(dtype, "max", inf), "min", np.min),
}


def extreme(dtype: Any, which: str, infinity: float) -> Any:
    """The lowest or the highest number of a dtype."""
    if dtypes.is_bool(dtype):
        return which == "max"
    return getattr(dtypes.iinfo(dtype), which) if dtypes.is_integer(dtype) else infinity


@located
def over_segments(
    kind: str, data: ArrayLike, segment_ids: ArrayLike, count: int | None, hints: Any
) -> Any:
    """Reduces each segment."""
    name = f"segment_{kind}"
    x, ids = np.asarray(data), np.asarray(segment_ids)
    if not dtypes.is_integer(ids.dtype):
        raise errors.ShapeError(f"{name}: segment_ids must be integers; got {ids.aval}")
    if not x.ndim:  # every segment number stands for the same scalar
        x = np.broadcast_to(x, ids.shape[:1])
    if ids.shape != x.shape[:1]:
        raise errors.ShapeError(
            f"{name}: expected a segment number for each slice along the first axis of data, "
            f"{x.aval}; got {ids.aval}"
        )
    if count is None:
        if isinstance(ids, Tracer):
            raise ids.conversion_error(f"{name}: num_segments", errors.ConcretizationTypeError)
        count = int(onp.max(onp.asarray(ids), initial=-1)) + 1
    if count < 0:
        raise ValueError(f"{name}: num_segments must not be negative; got {count}")
    are_sorted, unique, bucket_size, mode = hints
    begin, method, reduction = _KINDS[kind]
    options = {
        "indices_are_sorted": are_sorted,
        "unique_indices": unique,
        "mode": "drop" if mode is None else mode,
        "wrap_negative_indices": False,
    }
    shape = (count, *x.shape[1:])
    if bucket_size is None:
        out = np.full(shape, begin(x.dtype), x.dtype)
        return getattr(out.at[ids], method)(x, **options)
    if bucket_size < 1:
        raise ValueError(f"{name}: bucket_size must be positive; got {bucket_size}")
    buckets = -(-x.shape[0] // bucket_size)
    out = np.full((buckets, *shape), begin(x.dtype), x.dtype)
    places = (np.arange(x.shape[0]) // bucket_size, ids)
    out = getattr(out.at[places], method)(x, **options)
    if not buckets:
        return np.full(shape, begin(x.dtype), x.dtype)
    return np.asarray(reduction(out, axis=0), x.dtype)
