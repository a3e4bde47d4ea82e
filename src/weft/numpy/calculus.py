"""Differences, derivatives and integrals of sampled functions: diff, ediff1d, gradient, trapezoid,
unwrap."""

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import arithmetic, comparison, selection, slicing, structural
from ..typing import ArrayLike
from .axes import all_axes, as_int, one_axis
from .creation import array
from .cumulative import cumsum
from .joining import concatenate
from .plans import composite
from .promotion import as_inexact, cast, promote_values, value
from .reductions import sum
from .shapes import ravel, reshape

__all__ = ["diff", "ediff1d", "gradient", "trapezoid", "trapz", "unwrap"]


@located
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Differences of neighbouring elements along an axis.

    Args:
      a: array of at least one axis; for booleans the result is whether neighbours differ.
      n: the order: the number of times differences are taken.
      axis: the axis.
      prepend, append: values to add before and after `a` first.
    Returns: array whose axis is shorter by `n`.
    Example:
      >>> np.diff(np.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = value("diff", a, "a")
    n = as_int("diff", n, "n")
    if not n:
        return x
    if n < 0:
        raise ValueError(f"diff: n must not be negative; got {n}")
    if not x.ndim:
        raise ShapeError(f"diff: expected at least one axis; got {x.aval}")
    i = one_axis("diff", axis, x)
    parts = [x]
    for side, extension in ((0, prepend), (1, append)):
        if extension is not None:
            edge = value("diff", extension, "append" if side else "prepend")
            if not edge.ndim:
                edge = structural.widen(
                    edge, tuple([1 if k == i else m for k, m in enumerate(x.shape)])
                )
            parts.insert(side * len(parts), edge)
    if len(parts) > 1:
        x = concatenate(parts, i)
    difference = comparison.ne if dtypes.is_bool(x.dtype) else arithmetic.sub
    for _ in range(n):
        m = x.shape[i]
        if not m:
            break
        x = difference(slice_along(x, i, 1, m), slice_along(x, i, 0, m - 1))
    return x


@located
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Differences of neighbouring elements of the flattened array.

    Args:
      to_end, to_begin: values to add after and before the differences.
    Example:
      >>> np.ediff1d(np.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = ravel(value("ediff1d", ary, "ary"))
    parts = [diff(x)]
    if to_begin is not None:
        parts.insert(0, cast(ravel(value("ediff1d", to_begin, "to_begin")), x.dtype))
    if to_end is not None:
        parts.append(cast(ravel(value("ediff1d", to_end, "to_end")), x.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@located
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Gradient along axes: central differences inside, one-sided differences at the ends.

    Args:
      f: array with at least two elements along each axis.
      varargs: the spacing: one number for all axes, or for each axis a number or coordinates.
      axis: one axis or several; by default all of them.
      edge_order: only 1 is supported.
    Returns: array of the shape of `f`; a list of arrays for several axes.
    Example:
      >>> np.gradient(np.array([1.0, 4.0, 9.0]))
      Array([3., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1; got {edge_order}")
    x = as_inexact("gradient", f)
    axes = all_axes("gradient", axis, x)
    if not varargs:
        steps: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1:
        steps = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        steps = list(varargs)
    else:
        raise ShapeError(
            f"gradient: needs a spacing for each of {len(axes)} axes; got {len(varargs)}"
        )
    results = [_derivative(x, i, h) for i, h in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else results


def _derivative(x: Any, i: int, h: Any) -> Any:
    n = x.shape[i]
    if n < 2:
        raise ShapeError(f"gradient: axis {i} of {x.aval} has fewer than two elements")
    first_slope = arithmetic.sub(slice_along(x, i, 1, 2), slice_along(x, i, 0, 1))
    last_slope = arithmetic.sub(slice_along(x, i, n - 1, n), slice_along(x, i, n - 2, n - 1))
    h = array(h) if isinstance(h, (list, tuple)) else value("gradient", h, "a distance")
    h = cast(h, x.dtype)
    if not h.ndim:
        inner_slopes = arithmetic.sub(slice_along(x, i, 2, n), slice_along(x, i, 0, n - 2)) * 0.5
        return slicing.concatenate(first_slope, inner_slopes, last_slope, dimension=i) / h
    if h.shape != (n,):
        raise ShapeError(f"gradient: coordinates must be of shape ({n},); got {h.aval}")
    gaps = arithmetic.sub(slice_along(h, 0, 1, n), slice_along(h, 0, 0, n - 1))
    gaps = reshape(gaps, tuple([n - 1 if k == i else 1 for k in range(x.ndim)]))
    a, b = slice_along(gaps, i, 0, n - 2), slice_along(gaps, i, 1, n - 1)
    inner_slopes = (
        slice_along(x, i, 2, n) * (a / (b * (a + b)))
        + slice_along(x, i, 1, n - 1) * ((b - a) / (a * b))
        - slice_along(x, i, 0, n - 2) * (b / (a * (a + b)))
    )
    first_slope = first_slope / slice_along(gaps, i, 0, 1)
    last_slope = last_slope / slice_along(gaps, i, n - 2, n - 1)
    return slicing.concatenate(first_slope, inner_slopes, last_slope, dimension=i)


@located
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integral along an axis, by the trapezoidal rule.

    Args:
      y: array of at least one axis.
      x: the coordinates: an array [n], or an array that broadcasts with `y`.
      dx: the spacing, if there are no coordinates.
      axis: the axis.
    Returns: array without the axis.
    Raises: ShapeError: `x` and `y` differ in length along the axis.
    Example:
      >>> np.trapezoid(np.array([1.0, 2.0, 3.0]))
      Array(4., dtype=float32)
    """
    if x is None:
        v = as_inexact("trapezoid", y)
        step: Any = cast(as_inexact("trapezoid", dx), v.dtype)
        i = one_axis("trapezoid", axis, v.ndim)
    else:
        v, points = promote_values("trapezoid", y, x, to_inexact=True)
        i = one_axis("trapezoid", axis, v.ndim)
        if points.ndim == 1:
            points = reshape(points, tuple([points.size if k == i else 1 for k in range(v.ndim)]))
            axis = i
        elif points.ndim < v.ndim:
            points = reshape(points, (*[1] * (v.ndim - points.ndim), *points.shape))
            axis = i
        axis_of_x = one_axis("trapezoid", axis, points)
        if points.shape[axis_of_x] != v.shape[i]:
            raise ShapeError(
                f"trapezoid: x must be as long as y along axis {i}; got {points.aval} and {v.aval}"
            )
        step = diff(points, axis=axis_of_x)
    n = v.shape[i]
    if not n:
        return sum(v, i)
    sums = structural.add(slice_along(v, i, 1, n), slice_along(v, i, 0, n - 1))
    return sum(sums * step, i) * 0.5


trapz = trapezoid


@located
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Removes jumps from angles by adding multiples of the period.

    Args:
      p: array of at least one axis.
      discont: the smallest jump to remove; by default half a period.
      axis: the axis.
      period: the period of the angles.
    Returns: array of the shape of `p`.
    Example:
      >>> np.unwrap(np.array([0, 3, 2]), period=4)
      Array([ 0, -1, -2], dtype=int32)
    """
    x = value("unwrap", p, "p")
    if dtypes.is_complex(x.dtype) or dtypes.is_bool(x.dtype):
        raise ShapeError(f"unwrap: expected real numbers; got {x.aval}")
    i = one_axis("unwrap", axis, x)
    x = promote_values("unwrap", x, period)[0]
    if not x.shape[i]:
        return x
    period_value = cast(value("unwrap", period, "period"), x.dtype)
    limits = () if discont is None else (cast(value("unwrap", discont, "discont"), x.dtype),)
    return _unwrapped(x, period_value, *limits, axis=i)


@composite
def _unwrapped(x: Any, period: Any, *limits: Any, axis: int) -> Any:
    i, is_integer = axis, not dtypes.is_inexact(x.dtype)
    half_period = period // 2 if is_integer else period / 2
    steps = diff(x, axis=i)
    wrapped_steps = (steps + half_period) % period - half_period
    is_even = period % 2 == 0 if is_integer else True
    at_half = (wrapped_steps == -half_period) & (steps > 0) & is_even
    wrapped_steps = selection.select_n(
        at_half, wrapped_steps, structural.widen(half_period, wrapped_steps.shape)
    )
    correction = wrapped_steps - steps
    is_small = comparison.lt(arithmetic.abs_(steps), limits[0] if limits else half_period)
    correction = selection.select_n(is_small, correction, literal(0, x.dtype))
    n = x.shape[i]
    unwrapped = structural.add(slice_along(x, i, 1, n), cumsum(correction, i))
    return slicing.concatenate(slice_along(x, i, 0, 1), unwrapped, dimension=i)
