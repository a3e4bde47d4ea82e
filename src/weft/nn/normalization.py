"""Functions over axes: softmax and its logarithm, means of exponentials, standardization."""

import math
from typing import Any

from ..core.array import Array, literal
from ..core.source import located
from ..numpy.axes import all_axes
from ..numpy.creation import broadcast
from ..numpy.log_sums import largest, logsumexp
from ..numpy.plans import composite
from ..numpy.promotion import cast, promote_values, value
from ..numpy.reductions import keep_axes, truth, wide_of
from ..primitives import arithmetic, selection, structural
from ..primitives.transcendental import exp, log
from ..typing import ArrayLike, Axes
from .operands import activation, no_complex, number, real_number

__all__ = [
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "normalize",
    "softmax",
    "standardize",
]

like, where_ = arithmetic.like, selection.where


def _total(x: Any, axes: tuple[int, ...]) -> Any:
    return keep_axes(structural.reduce_sum(x, axes=axes), x, axes, True)


def _with_mask(name: str, x: Any, where: Any) -> list[Any]:
    """The mask among the operands, if there is one."""
    if where is None:
        return []
    mask = truth(name, where, "where")
    broadcast(name, mask, x.shape)
    return [mask]


@activation
def _softmax(x: Any, mask: Any = None, *, axes: tuple[int, ...]) -> Any:
    distance = x - largest(x, axes, mask)
    if mask is None:
        terms = exp(distance)
        return terms / _total(terms, axes)
    nothing = like(x, 0)
    terms = where_(mask, exp(where_(mask, distance, nothing)), nothing)
    counts = _total(cast(broadcast("softmax", mask, x.shape), x.aval.dtype), axes)
    empty = arithmetic.max_(like(x, 1) - counts, nothing)  # 1 where the mask leaves nothing
    return terms / (_total(terms, axes) + empty)


def softmax(x: ArrayLike, axis: Axes = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) divided by its sum over axes.

    Args:
      x: real array; integers become float32. 16-bit floats are computed in float32.
      axis: the axis or axes of the sum; `None` is all of them.
      where: booleans that broadcast to `x`: which elements count. The others get 0, and have no
        derivative; so do all elements where none counts.
    Returns: array of the shape of `x`; NaN where x is +inf, or -inf in all that counts.
    Raises: ValueError: an axis is out of range. TypeError: `x` is complex or a list.
    Example:
      >>> from weft import nn
      >>> nn.softmax(np.array([1000.0, 1000.0]))
      Array([0.5, 0.5], dtype=float32)
    Source: JAX documentation, `jax.nn.softmax`.
    """
    x = real_number("softmax", x)
    axes = all_axes("softmax", axis, x)
    return _softmax(x, *_with_mask("softmax", x, where), axes=axes)


@activation
def _log_softmax(x: Any, mask: Any = None, *, axes: tuple[int, ...]) -> Any:
    distance = x - largest(x, axes, mask)
    if mask is None:
        return distance - log(_total(exp(distance), axes))
    nothing, out = like(x, 0), like(x, -math.inf)
    distance = where_(mask, distance, nothing)
    terms = where_(mask, exp(distance), nothing)
    total = _total(terms, axes)
    empty = _total(cast(broadcast("log_softmax", mask, x.shape), x.aval.dtype), axes) == 0
    return where_(mask, distance - log(where_(empty, like(x, 1), total)), out)


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
    x = real_number("log_softmax", x)
    axes = all_axes("log_softmax", axis, x)
    return _log_softmax(x, *_with_mask("log_softmax", x, where), axes=axes)


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


# --- mean 0, variance 1 ---


@composite
def _standardized(
    x: Any,
    epsilon: Any,
    *given: Any,
    axes: tuple[int, ...],
    has: tuple[bool, bool, bool],
    fast: bool,
) -> Any:
    """`given` has the mean, the variance and the mask; `has` says which of them."""
    dtype, weak = x.aval.dtype, x.aval.weak_type
    wide = wide_of(dtype)
    rest = iter(given)
    mean, variance, mask = [next(rest) if there else None for there in has]
    x = cast(x, wide, weak)
    count: Any = math.prod([x.shape[i] for i in axes])
    count = like(x, float(count))
    if mask is not None:
        count = _total(cast(broadcast("standardize", mask, x.shape), wide), axes)

    def average(v: Any) -> Any:
        return _total(v if mask is None else where_(mask, v, like(v, 0)), axes) / count

    mean = average(x) if mean is None else cast(mean, wide)
    centred = x - mean
    if variance is None:
        variance = average(arithmetic.square(centred))
        if fast and has[0]:  # mean(x²) - mean², and the mean may be any number
            variance = variance + 2 * mean * average(centred)
    else:
        variance = cast(variance, wide)
    return cast(centred * arithmetic.rsqrt(variance + cast(epsilon, wide)), dtype, weak)


@located
def standardize(
    x: ArrayLike,
    axis: Axes = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x - mean) / sqrt(variance + epsilon), over axes.

    Args:
      x: real array; integers become float32. 16-bit floats are computed in float32.
      axis: the axis or axes of the mean and the variance; `None` is all of them.
      mean, variance: arrays that broadcast with `x`, if they are known.
      epsilon: a number added to the variance, or an array of them.
      where: booleans that broadcast to `x`: which elements the mean and the variance are of.
      algorithm: "fast" or "stable". The variance is the mean of squared distances from the mean,
        which loses no digits where the mean is large. They differ for a `mean` that isn't that of
        `x`: "fast" is the mean of squares less the square of `mean` then.
    Returns: array of the shape that all of them broadcast to.
    Raises: ValueError: an axis is out of range, or another algorithm. TypeError: `x` is complex.
    Example:
      >>> from weft import nn
      >>> nn.standardize(np.array([1.0, 3.0]), epsilon=0.0)
      Array([-1.,  1.], dtype=float32)
    Source: JAX documentation, `jax.nn.standardize`.
    """
    name = "standardize"
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"{name}: algorithm must be 'fast' or 'stable'; got {algorithm!r}")
    v = real_number(name, x)
    given = {"mean": mean, "variance": variance}
    known = {
        argument: no_complex(name, value(name, x, argument), argument)
        for argument, x in given.items()
        if x is not None
    }
    v, *values = promote_values(name, v, *known.values(), to_inexact=True)
    axes = all_axes(name, axis, v)
    masks = _with_mask(name, v, where)
    small = cast(no_complex(name, value(name, epsilon, "epsilon"), "epsilon"), v.aval.dtype)
    return _standardized(
        v, small, *values, *masks, axes=axes,
        has=(mean is not None, variance is not None, where is not None),
        fast=algorithm == "fast",
    )  # fmt: skip


normalize = standardize
