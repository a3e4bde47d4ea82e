"""Running sums and products along an axis, and the places of extremes."""

import functools
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.primitive import Primitive
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import cumulative, reduction, slicing, structural
from ..typing import ArrayLike, Axis, DTypeLike
from .axes import one_axis
from .creation import wanted_dtype
from .plans import planned
from .promotion import cast, no_out, noted, value
from .reductions import keep_axes, summed_dtype

__all__ = [
    "argmax",
    "argmin",
    "cumprod",
    "cumproduct",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
]

# --- places of extremes ---


def _index_of(name: str, primitive: Primitive, x: Value, axis: Any, keepdims: Any) -> Array:
    ndim = x.aval.ndim
    i = 0 if axis is None else one_axis(name, axis, ndim)
    if not (x.aval.size if axis is None else x.aval.shape[i]):
        raise noted(
            ShapeError(
                f"{name}: an empty {x.aval} has no element to point to"
                + ("" if axis is None else f" along axis {i}")
            )
        )
    if axis is None:
        flat = structural.reshape(x, shape=(x.aval.size,)) if ndim != 1 else x
        result = primitive(flat, axis=0, dtype=dtypes.default_int())
        return structural.reshape(result, shape=(1,) * ndim) if keepdims else result
    result = primitive(x, axis=i, dtype=dtypes.default_int())
    return keep_axes(result, x, (i,), keepdims)


_argmax = planned("argmax", functools.partial(_index_of, "argmax", reduction.argmax))
_argmin = planned("argmin", functools.partial(_index_of, "argmin", reduction.argmin))


def argmax(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum along an axis, or in the flattened array; a NaN counts as one.

    Args:
      a: array of any shape.
      axis: one axis; None is the flattened array.
      out: not supported.
      keepdims: keep the reduced axes with length one.
    Returns: int32 array without the axis.
    Example:
      >>> np.argmax(np.array([1, 3, 2]))
      Array(1, dtype=int32)
    """
    no_out("argmax", out)
    return _argmax(a, axis, keepdims)


def argmin(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum along an axis, or in the flattened array; a NaN counts as one.

    Args: as in `argmax`.
    Returns: int32 array without the axis.
    Example:
      >>> np.argmin(np.array([3, 1, 2]))
      Array(1, dtype=int32)
    """
    no_out("argmin", out)
    return _argmin(a, axis, keepdims)


# --- running sums and products ---


def running(name: str, primitive: Any, a: Any, axis: Any, dtype: Any, promote: bool = False) -> Any:
    """A cumulative sum or product, or one of the flattened array."""
    x = value(name, a, "a")
    wanted = wanted_dtype(name, dtype)
    if axis is None:
        x = structural.reshape(x, shape=(x.aval.size,)) if x.aval.ndim != 1 else x
        axis = 0
    i = one_axis(name, axis, x)
    weak = x.aval.weak_type and wanted is None
    found = summed_dtype(x.aval.dtype, promote) if wanted is None else wanted
    if x.aval.dtype != found or x.aval.weak_type != weak:
        x = cast(x, found, weak)
    if dtypes.is_bool(found):  # "or" and "and"
        primitive = cumulative.cummax if primitive is cumulative.cumsum else cumulative.cummin
    return primitive(x, axis=i, reverse=False)


def cumsum(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Running sum along an axis, or of the flattened array.

    Args:
      a: array of any shape.
      axis: one axis; None flattens the array.
      dtype: that of the sums; booleans become integers.
      out: not supported.
    Returns: array of the shape of `a`, or of its size.
    Example:
      >>> np.cumsum(np.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """
    no_out("cumsum", out)
    return running("cumsum", cumulative.cumsum, a, axis, dtype)


def cumprod(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Running product along an axis, or of the flattened array.

    Args: as in `cumsum`.
    Example:
      >>> np.cumprod(np.array([2, 3, 4]))
      Array([ 2,  6, 24], dtype=int32)
    """
    no_out("cumprod", out)
    return running("cumprod", cumulative.cumprod, a, axis, dtype)


cumproduct = cumprod


@located
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Running sum along an axis; small integers are promoted as in `sum`.

    Args:
      x: array of at least one axis.
      axis: needed if there are several.
      dtype: that of the sums.
      include_initial: begin with a zero, so that the axis is one longer.
    Example:
      >>> np.cumulative_sum(np.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", cumulative.cumsum, 0, x, axis, dtype, include_initial)


@located
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Running product along an axis; small integers are promoted as in `prod`.

    Args: as in `cumulative_sum`.
    Example:
      >>> np.cumulative_prod(np.array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", cumulative.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(
    name: str, primitive: Any, start: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    x = value(name, x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}: axis is needed for an array with {x.ndim} axes: {x.aval}")
    i = 0 if axis is None else one_axis(name, axis, x)
    result = running(name, primitive, x, i, dtype, promote=True)
    if include_initial:
        edge = result.aval.update(shape=[1 if k == i else n for k, n in enumerate(result.shape)])
        result = slicing.concatenate(structural.full(edge, start), result, dimension=i)
    return result
