"""Cumulative sums and products along an axis: cumsum, cumprod, cumulative_sum, cumulative_prod."""

from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..primitives import creation, cumulative, slicing, structural
from ..typing import ArrayLike, Axis, DTypeLike
from .axes import one_axis
from .creation import dtype_argument
from .promotion import cast, no_out, value
from .reductions import summed_dtype

__all__ = ["cumprod", "cumproduct", "cumsum", "cumulative_prod", "cumulative_sum"]


def accumulate(
    name: str, primitive: Any, a: Any, axis: Any, dtype: Any, promote: bool = False
) -> Any:
    """Cumulative sum or product along an axis; `None` flattens the array."""
    x = value(name, a, "a")
    requested_dtype = dtype_argument(name, dtype)
    if axis is None:
        x = structural.reshape(x, shape=(x.aval.size,)) if x.aval.ndim != 1 else x
        axis = 0
    i = one_axis(name, axis, x)
    out_dtype = summed_dtype(x.aval.dtype, promote) if requested_dtype is None else requested_dtype
    x = cast(x, out_dtype)
    if dtypes.is_bool(out_dtype):  # "or" and "and"
        primitive = cumulative.cummax if primitive is cumulative.cumsum else cumulative.cummin
    return primitive(x, axis=i, reverse=False)


def cumsum(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative sum along an axis, or of the flattened array.

    Args:
      a: array of any shape.
      axis: one axis; None flattens the array.
      dtype: dtype of the result and of the accumulation; booleans become integers.
      out: not supported.
    Returns: array of the shape of `a`; of one axis for the flattened array.
    Example:
      >>> np.cumsum(np.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """
    no_out("cumsum", out)
    return accumulate("cumsum", cumulative.cumsum, a, axis, dtype)


def cumprod(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative product along an axis, or of the flattened array.

    Args: as in `cumsum`.
    Example:
      >>> np.cumprod(np.array([2, 3, 4]))
      Array([ 2,  6, 24], dtype=int32)
    """
    no_out("cumprod", out)
    return accumulate("cumprod", cumulative.cumprod, a, axis, dtype)


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
    """Cumulative sum along an axis; small integers are promoted as in `sum`.

    Args:
      x: array of at least one axis.
      axis: one axis; it may be omitted for an array with one axis.
      dtype: dtype of the result and of the accumulation.
      include_initial: start with 0 (in `cumulative_prod`, 1); the axis is then longer by one.
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
    """Cumulative product along an axis; small integers are promoted as in `prod`.

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
    result = accumulate(name, primitive, x, i, dtype, promote=True)
    if include_initial:
        initial_aval = result.aval.update(
            shape=[1 if k == i else n for k, n in enumerate(result.shape)]
        )
        result = slicing.concatenate(creation.full(initial_aval, start), result, dimension=i)
    return result
