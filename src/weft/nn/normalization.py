"""standardize (normalize): zero mean and unit variance along axes."""

import math
from typing import Any

from ..core.array import Array
from ..core.source import located
from ..numpy.axes import all_axes
from ..numpy.creation import broadcast
from ..numpy.plans import composite
from ..numpy.promotion import cast, promote_values, strong, value
from ..numpy.reductions import wide_of
from ..primitives import arithmetic, selection
from ..typing import ArrayLike, Axes
from .operands import no_complex, real_number, sum_over, with_mask

__all__ = ["normalize", "standardize"]


like, where_ = arithmetic.like, selection.where


# --- mean 0, variance 1 ---


@composite
def _standardized(
    x: Any,
    epsilon: Any,
    *present_statistics: Any,
    axes: tuple[int, ...],
    has: tuple[bool, bool, bool],
    fast: bool,
) -> Any:
    """`has` states which of mean, variance and mask are in `present_statistics`."""
    dtype, weak_type = x.aval.dtype, x.aval.weak_type
    sum_dtype = wide_of(dtype)
    statistics = iter(present_statistics)
    mean, variance, mask = [next(statistics) if is_present else None for is_present in has]
    x = cast(x, sum_dtype, weak_type)
    count: Any = math.prod([x.shape[i] for i in axes])
    count = like(x, float(count))
    if mask is not None:
        count = sum_over(cast(broadcast("standardize", mask, x.shape), sum_dtype), axes)

    def average(v: Any) -> Any:
        return sum_over(v if mask is None else where_(mask, v, like(v, 0)), axes) / count

    mean = average(x) if mean is None else cast(mean, sum_dtype)
    centred = x - mean
    if variance is None:
        variance = average(arithmetic.square(centred))
        if fast and has[0]:  # mean(x²) - mean², for any value of the mean
            variance = variance + 2 * mean * average(centred)
    else:
        variance = cast(variance, sum_dtype)
    return cast(centred * arithmetic.rsqrt(variance + cast(epsilon, sum_dtype)), dtype, weak_type)


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
      axis: the axis or axes of the mean and the variance; `None` means all axes.
      mean, variance: arrays that broadcast with `x`, if they are known.
      epsilon: a number, or an array of numbers, added to the variance.
      where: booleans that broadcast to `x`, True for elements to include in the mean and variance.
      algorithm: "fast" or "stable". The variance is always the mean of squared distances from the
        mean, which is accurate for large means. The two differ only if `mean` is not the mean of
        `x`: "fast" then uses the mean of squares minus the square of `mean`.
    Returns: array of the shape to which all arguments broadcast.
    Raises: ValueError: an axis is out of range, or the algorithm is unknown. TypeError: `x` is
      complex.
    Example:
      >>> from weft import nn
      >>> nn.standardize(np.array([1.0, 3.0]), epsilon=0.0)
      Array([-1.,  1.], dtype=float32)
    Source: JAX documentation, `jax.nn.standardize`.
    """
    name = "standardize"
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"{name}: algorithm must be 'fast' or 'stable'; got {algorithm!r}")
    v = strong(real_number(name, x))
    parameters = {"mean": mean, "variance": variance}
    statistics = {
        argument: no_complex(name, value(name, x, argument), argument)
        for argument, x in parameters.items()
        if x is not None
    }
    v, *values = promote_values(name, v, *statistics.values(), to_inexact=True)
    axes = all_axes(name, axis, v)
    masks = with_mask(name, v, where)
    epsilon_value = cast(no_complex(name, value(name, epsilon, "epsilon"), "epsilon"), v.aval.dtype)
    return _standardized(
        v, epsilon_value, *values, *masks, axes=axes,
        has=(mean is not None, variance is not None, where is not None),
        fast=algorithm == "fast",
    )  # fmt: skip


normalize = standardize
