"""Integrals of sampled functions: cumulative_trapezoid, simpson."""

from typing import Any

from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy.axes import one_axis
from ...numpy.calculus import diff
from ...numpy.cumulative import cumsum
from ...numpy.joining import concatenate
from ...numpy.plans import composite
from ...numpy.promotion import promote_values
from ...numpy.shapes import broadcast_to, moveaxis
from ...typing import ArrayLike

__all__ = ["cumulative_trapezoid", "simpson"]


def samples(name: str, y: Any, x: Any, dx: Any, axis: Any) -> tuple[Any, Any, int]:
    """(y, the distances between its elements, the axis); in both arrays the axis is last."""
    if x is None:
        values, distance = promote_values(name, y, dx, to_inexact=True)
        axis_position = one_axis(name, axis, values)
        values = moveaxis(values, axis_position, -1)
        if distance.ndim:
            raise ShapeError(f"{name}: dx must be a number; got {distance.aval}")
        return values, broadcast_to(distance, (max(values.shape[-1] - 1, 0),)), axis_position
    values, points = promote_values(name, y, x, to_inexact=True)
    axis_position = one_axis(name, axis, values)
    values = moveaxis(values, axis_position, -1)
    if points.ndim > 1:
        if points.ndim != values.ndim:
            raise ShapeError(
                f"{name}: x must have one axis, or as many as y; got {points.aval} and "
                f"{values.aval}"
            )
        points = moveaxis(points, axis_position, -1)
    if not points.ndim or points.shape[-1] != values.shape[-1]:
        raise ShapeError(
            f"{name}: x must be as long as y along axis {axis_position}; got {points.aval} and "
            f"{values.aval}"
        )
    return values, diff(points), axis_position


@located
def cumulative_trapezoid(
    y: ArrayLike,
    x: ArrayLike | None = None,
    dx: ArrayLike = 1.0,
    axis: int = -1,
    initial: ArrayLike | None = None,
) -> Array:
    """The cumulative integral along an axis, by the trapezoidal rule.

    Args:
      y, x, dx, axis: as in `trapezoid`.
      initial: 0 puts a 0 in front, the integral up to the first element; `None` does not.
    Returns: array; the axis has one element fewer than in y, or as many with `initial`.
    Raises: ValueError: another `initial`. ShapeError: y is empty, or x does not match y.
    Example:
      >>> from weft.scipy import integrate
      >>> integrate.cumulative_trapezoid(np.array([1.0, 2.0, 3.0]), initial=0)
      Array([0. , 1.5, 4. ], dtype=float32)
    Source: scipy.integrate.cumulative_trapezoid.
    """
    name = "cumulative_trapezoid"
    values, steps, axis_position = samples(name, y, x, dx, axis)
    if not values.shape[-1]:
        raise ShapeError(f"{name}: the axis {axis} of y must have elements; got {values.aval}")
    total = cumsum(steps * (values[..., 1:] + values[..., :-1]) * 0.5, -1)
    if initial is not None:
        if initial != 0:
            raise ValueError(f"{name}: initial must be None or 0; got {initial!r}")
        total = concatenate([values[..., :1] * 0, total], -1)
    return moveaxis(total, -1, axis_position)


@located
def simpson(
    y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The integral along an axis by Simpson's rule, with a parabola through each three neighbours.

    For an even number of elements, the last interval uses the parabola through the last three.

    Args:
      y, x, dx, axis: as in `trapezoid`; the spacing may vary.
    Returns: array without the axis.
    Raises: ShapeError: y is empty, or x does not match y.
    Example:
      >>> from weft.scipy import integrate
      >>> integrate.simpson(np.array([0.0, 1.0, 4.0]))
      Array(2.6666667, dtype=float32)
    Source: scipy.integrate.simpson.
    """
    values, steps, _ = samples("simpson", y, x, dx, axis)
    if not values.shape[-1]:
        raise ShapeError(f"simpson: the axis {axis} of y must have elements; got {values.aval}")
    return parabolas(values, steps)


@composite
def parabolas(values: Any, steps: Any) -> Any:
    """Simpson's rule along the last axis, for elements with the given spacing."""
    n = values.shape[-1]
    if n == 1:
        return values[..., 0] * 0
    if n == 2:
        return (values[..., 0] + values[..., 1]) * steps[..., 0] * 0.5
    odd_count = n - 1 + n % 2
    left_steps, right_steps = steps[..., 0 : odd_count - 1 : 2], steps[..., 1:odd_count:2]
    a, b, c = (values[..., i : odd_count - 2 + i : 2] for i in range(3))
    ratio, width = left_steps / right_steps, left_steps + right_steps
    parts = a * (2 - 1 / ratio) + b * width**2 / (left_steps * right_steps) + c * (2 - ratio)
    total = (parts * width).sum(-1) / 6
    if n % 2:
        return total
    # the parabola through the last three elements, over the last interval
    h, k = steps[..., -2], steps[..., -1]
    last_weight = (2 * k**2 + 3 * h * k) / (6 * (h + k))
    second_weight = (k**2 + 3 * h * k) / (6 * h)
    third_weight = -(k**3) / (6 * h * (h + k))
    last_interval = (
        last_weight * values[..., -1]
        + second_weight * values[..., -2]
        + third_weight * values[..., -3]
    )
    return total + last_interval
