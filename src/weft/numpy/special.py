"""Special functions: i0, sinc, and logsumexp, which `weft.nn` and `weft.scipy.special` export."""

import math
from typing import Any, Literal, overload

from .. import dtypes
from ..core.array import Array, literal
from ..errors import ShapeError
from ..primitives import (
    arithmetic,
    bessel_functions,
    comparison,
    complex_numbers,
    exponential,
    reductions,
    selection,
    structural,
    trigonometric,
)
from ..primitives.exponential import exp, log
from ..typing import ArrayLike, Axes
from .arithmetic import EVEN
from .axes import all_axes
from .creation import broadcast
from .plans import composite
from .promotion import as_inexact, cast, noted, promote_values, strong, value
from .reductions import keep_axes, truth, wide_of

__all__ = ["i0", "sinc"]


@composite
def _sinc(x: Any) -> Any:
    dtype = x.aval.dtype
    angle = arithmetic.mul(x, literal(math.pi, dtype))
    magnitude = arithmetic.abs_(angle)
    limit = 0.1 if dtypes.real_of(dtype) != dtypes.float64 else 1e-2
    is_small = comparison.lt(magnitude, literal(limit, magnitude.aval.dtype))
    safe_angle = selection.select_n(is_small, angle, literal(1.0, dtype))
    if dtypes.is_complex(dtype):
        sine = trigonometric.sin(safe_angle)
    else:  # π times the distance from the nearest integer, which is accurate near the zeros
        nearest = arithmetic.round_(x, rounding_method=EVEN)
        is_odd = nearest - 2 * arithmetic.floor(nearest * 0.5)
        sine = trigonometric.sin((x - nearest) * math.pi) * (1 - 2 * is_odd)
    # near 0 a polynomial, which has accurate derivatives
    small_angle = selection.select_n(is_small, literal(0.0, dtype), angle)
    z = arithmetic.mul(small_angle, small_angle)
    series = 1 - z / 6 * (1 - z / 20 * (1 - z / 42))
    return selection.select_n(is_small, arithmetic.div(sine, safe_angle), series)


def sinc(x: ArrayLike) -> Array:
    """sin(πx) / (πx), and 1 at 0.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.sinc(np.array([0.0, 0.5]))
      Array([1.        , 0.63661975], dtype=float32)
    """
    return _sinc(as_inexact("sinc", x))


@composite
def _i0(x: Any) -> Any:
    dtype = x.aval.dtype
    magnitude = arithmetic.abs_(x)
    is_small = comparison.lt(magnitude, literal(0.5, dtype))
    large_value = arithmetic.mul(exponential.exp(magnitude), bessel_functions.bessel_i0e(magnitude))
    # near 0 a polynomial, because the derivative of |x| has a step there
    small_x = selection.select_n(is_small, literal(0.0, dtype), x)
    z = arithmetic.mul(small_x, small_x)
    series = 1.0
    for k in range(8, 0, -1):
        series = 1 + z / (4 * k * k) * series
    return selection.select_n(is_small, large_value, series)


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind and order 0.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.i0(np.zeros(2))
      Array([1., 1.], dtype=float32)
    """
    v = as_inexact("i0", x)
    if dtypes.is_complex(v.aval.dtype):
        raise noted(ShapeError(f"i0: expected a real operand; got {v.aval}"))
    return _i0(v)


like, where = arithmetic.like, selection.where


def largest(x: Any, axes: tuple[int, ...], mask: Any = None) -> Any:
    """The largest element (by real part) along axes, which are kept with length one.

    Its derivative is set to zero, because it is subtracted and added again, or cancels.
    """
    x = selection.stop_gradient(x)
    x = complex_numbers.real(x) if dtypes.is_complex(x.aval.dtype) else x
    lowest = like(x, -float("inf"))
    x = x if mask is None else where(mask, x, lowest)
    return keep_axes(reductions.reduce_max(x, axes=axes), x, axes, True)


@composite
def _sum_of_exponentials(
    x: Any, *factor_and_mask: Any, axes: tuple[int, ...], keepdims: bool, signed: bool, scaled: bool
) -> Any:
    """`factor_and_mask`: the factors, if `scaled`, and the mask, if there is one."""
    dtype, weak_type = x.aval.dtype, x.aval.weak_type
    sum_dtype = wide_of(dtype)
    x = cast(x, sum_dtype, weak_type)
    b = cast(factor_and_mask[0], sum_dtype) if scaled else None
    mask = factor_and_mask[-1] if len(factor_and_mask) > scaled else None
    zero = like(x, 0)
    if scaled:  # an element with factor 0 may be infinite
        has_weight = comparison.ne(b, zero)
        mask = has_weight if mask is None else mask & has_weight
    maximum = largest(x, axes, mask)
    maximum = where(arithmetic.is_finite(maximum), maximum, like(maximum, 0))
    maximum = cast(maximum, sum_dtype) if dtypes.is_complex(sum_dtype) else maximum
    difference = x - maximum
    if mask is not None:
        difference = where(mask, difference, zero)
    terms = exp(difference)
    if scaled:
        terms = terms * b
    if mask is not None:
        terms = where(mask, terms, zero)
    total = keep_axes(structural.reduce_sum(terms, axes=axes), x, axes, True)
    outs = [total]
    if signed:
        outs = [arithmetic.abs_(total), arithmetic.sign(total)]
        maximum = complex_numbers.real(maximum) if dtypes.is_complex(sum_dtype) else maximum
    is_zero = comparison.eq(outs[0], like(outs[0], 0))  # with derivative zero
    positive_sum = where(is_zero, like(outs[0], 1), outs[0])
    outs[0] = where(is_zero, like(maximum, -float("inf")), log(positive_sum) + maximum)
    if not keepdims:
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        outs = [structural.reshape(v, shape=shape) for v in outs]
    outs = [cast(v, dtype, weak_type) if v.aval.dtype == sum_dtype else v for v in outs]
    return tuple(outs) if signed else outs[0]


@overload
def logsumexp(
    a: ArrayLike, axis: Axes = ..., b: ArrayLike | None = ..., keepdims: bool = ...,
    return_sign: Literal[False] = ..., where: ArrayLike | None = ...,
) -> Array: ...  # fmt: skip


@overload
def logsumexp(
    a: ArrayLike, axis: Axes = ..., b: ArrayLike | None = ..., keepdims: bool = ...,
    *, return_sign: Literal[True], where: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...  # fmt: skip


def logsumexp(
    a: ArrayLike,
    axis: Axes = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """The logarithm of the sum of b exp(a) over axes, without overflow.

    Args:
      a: array of any shape; integers become float32.
      axis: one axis or several; by default all of them.
      b: factors that broadcast with `a`; 1 by default. Elements with factor 0 are ignored, even
        infinite ones.
      keepdims: keep the reduced axes, with length one.
      return_sign: return the logarithm of the absolute value of the sum, and its sign.
      where: boolean mask that broadcasts to `a`: the elements to include.
    Returns: array without the reduced axes: -inf for no elements, NaN for a negative sum; with
      `return_sign` a pair of arrays.
    Raises: ValueError: an axis is out of range. TypeError: `a` is a list.
    Example:
      >>> from weft import nn
      >>> nn.logsumexp(np.array([1000.0, 1000.0]))
      Array(1000.6932, dtype=float32)
    Source: SciPy documentation, `scipy.special.logsumexp`.
    """
    name = "logsumexp"
    if b is None:
        x, factor_and_mask = as_inexact(name, value(name, a, "a")), []
    else:
        x, factor = promote_values(name, value(name, a, "a"), value(name, b, "b"), to_inexact=True)
        factor_and_mask = [factor]
    if where is not None:
        factor_and_mask.append(truth(name, where, "where"))
    if factor_and_mask:
        shape = structural.broadcast_shape(name, [v.aval for v in (x, *factor_and_mask)])
        x = broadcast(name, x, shape)
    axes = all_axes(name, axis, x)
    return _sum_of_exponentials(
        strong(x), *factor_and_mask, axes=axes, keepdims=bool(keepdims), signed=bool(return_sign),
        scaled=b is not None,
    )  # fmt: skip
