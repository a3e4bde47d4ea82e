"""softmax and log_softmax along axes, with masks, and logmeanexp."""

import math
from typing import Any

from ..core.array import Array, literal
from ..numpy.axes import all_axes
from ..numpy.creation import broadcast
from ..numpy.promotion import cast, strong
from ..numpy.reductions import keep_axes, truth, wide_of
from ..numpy.special import largest, logsumexp
from ..primitives import arithmetic, selection, structural
from ..primitives.exponential import exp, log
from ..typing import ArrayLike, Axes
from .operands import activation, number, real_number, sum_over, with_mask

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax"]

like, where_ = arithmetic.like, selection.where


@activation
def _softmax(x: Any, mask: Any = None, *, axes: tuple[int, ...]) -> Any:
    distance = x - cast(largest(x, axes, mask), x.aval.dtype, x.aval.weak_type)
    if mask is None:
        terms = exp(distance)
        return terms / sum_over(terms, axes)
    zero = like(x, 0)
    terms = where_(mask, exp(where_(mask, distance, zero)), zero)
    counts = sum_over(cast(broadcast("softmax", mask, x.shape), x.aval.dtype), axes)
    empty_count = where_(counts == zero, like(x, 1), zero)  # 1 where all elements are masked
    return terms / (sum_over(terms, axes) + empty_count)


def softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) divided by its sum over axes.

    Args:
      x: array; integers become float32. 16-bit floats are computed in float32.
      axis: the axis or axes of the sum; `None` means all axes.
      where: booleans that broadcast to `x`, True for elements to include. The others become 0, with
        derivative 0; so do all elements if none is included.
    Returns: array of the shape of `x`; NaN where x is +inf, or where all included elements are
      -inf.
    Raises: ValueError: an axis is out of range. TypeError: `x` is a list.
    Example:
      >>> from weft import nn
      >>> nn.softmax(np.array([1000.0, 1000.0]))
      Array([0.5, 0.5], dtype=float32)
    Source: JAX documentation, `jax.nn.softmax`.
    """
    x = strong(number("softmax", x))
    axes = all_axes("softmax", axis, x)
    return _softmax(x, *with_mask("softmax", x, where), axes=axes)


@activation
def _log_softmax(x: Any, mask: Any = None, *, axes: tuple[int, ...]) -> Any:
    distance = x - largest(x, axes, mask)
    if mask is None:
        return distance - log(sum_over(exp(distance), axes))
    zero, out = like(x, 0), like(x, -math.inf)
    distance = where_(mask, distance, zero)
    terms = where_(mask, exp(distance), zero)
    total = sum_over(terms, axes)
    is_empty = sum_over(cast(broadcast("log_softmax", mask, x.shape), x.aval.dtype), axes) == 0
    return where_(mask, distance - log(where_(is_empty, like(x, 1), total)), out)


def log_softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of `softmax`.

    Args:
      x: real array; integers become float32. 16-bit floats are computed in float32.
      axis: the axis or axes of the sum; `None` is all of them.
      where: booleans that broadcast to `x`: which elements count. The others get -inf.
    Returns: array of the shape of `x`.
    Raises: ValueError: an axis is out of range. TypeError: `x` is complex or a list.
    Example:
      >>> from weft import nn
      >>> nn.log_softmax(np.array([1000.0, 0.0]))
      Array([    0., -1000.], dtype=float32)
    Source: JAX documentation, `jax.nn.log_softmax`.
    """
    x = strong(real_number("log_softmax", x))
    axes = all_axes("log_softmax", axis, x)
    return _log_softmax(x, *with_mask("log_softmax", x, where), axes=axes)


def logmeanexp(
    x: ArrayLike, axis: Axes = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """The logarithm of the mean of exp(x) over axes, without overflow.

    Args:
      x: array of any shape; integers become float32.
      axis: an axis or several; all of them by default.
      where: booleans that broadcast to `x`: which elements count.
      keepdims: keep the reduced axes with length one.
    Returns: array without the reduced axes; NaN where there is no element.
    Raises: ValueError: an axis is out of range. TypeError: `x` is a list.
    Example:
      >>> from weft import nn
      >>> nn.logmeanexp(np.array([1000.0, 1000.0]))
      Array(1000., dtype=float32)
    Source: JAX documentation, `jax.nn.logmeanexp`.
    """
    v = number("logmeanexp", x)
    axes = all_axes("logmeanexp", axis, v)
    dtype = v.aval.dtype
    v = cast(v, wide_of(dtype), v.aval.weak_type)  # a count may be beyond a narrow dtype
    total: Any = logsumexp(v, axes, None, keepdims, where=where)
    if where is None:
        count: Any = literal(float(math.prod([v.shape[i] for i in axes])), total.dtype)
    else:
        mask = broadcast("logmeanexp", truth("logmeanexp", where, "where"), v.shape)
        ones = cast(mask, total.dtype)
        count = keep_axes(structural.reduce_sum(ones, axes=axes), v, axes, keepdims)
    return cast(total - log(count), dtype)
