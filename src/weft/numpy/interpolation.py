"""Linear interpolation between points: interp."""

from typing import Any

from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import arithmetic, comparison, selection, sorting as sorting_primitive
from ..typing import ArrayLike
from .axis_gathers import gather_along
from .extrema import clip
from .joining import concatenate
from .plans import composite
from .promotion import as_inexact, cast, promote_values, value
from .sorting import searchsorted

__all__ = ["interp"]


@located
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """One-dimensional linear interpolation.

    Args:
      x: array of any shape: the points at which to interpolate.
      xp: array [n] of increasing coordinates.
      fp: array [n] of the values at `xp`.
      left, right: the values outside `xp`; by default the first and last value; 'extrapolate'
        continues the lines.
      period: the period of the coordinates; `left` and `right` are then ignored.
    Returns: array of the shape of `x`.
    Example:
      >>> np.interp(0.5, np.array([0.0, 1.0]), np.array([10.0, 20.0]))
      Array(15., dtype=float32)
    """
    points, coordinates = promote_values("interp", x, xp, to_inexact=True)
    values = as_inexact("interp", fp)
    if coordinates.ndim != 1 or coordinates.shape != values.shape:
        raise ShapeError(
            f"interp: xp and fp must be arrays of equal length; got {coordinates.aval} and "
            f"{values.aval}"
        )
    for name, edge in (("left", left), ("right", right)):
        if isinstance(edge, str) and edge != "extrapolate":
            raise ValueError(
                f"interp: {name} must be a number, None or 'extrapolate'; got {edge!r}"
            )
    if period is not None:
        span = arithmetic.abs_(cast(value("interp", period, "period"), points.dtype))
        points, coordinates = points % span, coordinates % span
        coordinates, values = sorted_pairs(coordinates, values)
        coordinates = concatenate([coordinates[-1:] - span, coordinates, coordinates[:1] + span])
        values = concatenate([values[-1:], values, values[:1]])
        left = right = "extrapolate"
    positions: Any = searchsorted(coordinates, points, side="right")
    outside_modes = [e if e is None or isinstance(e, str) else "given" for e in (left, right)]
    edges = [
        value("interp", edge, "left or right")
        for edge, outside_mode in zip((left, right), outside_modes, strict=True)
        if outside_mode == "given"
    ]
    return _between(
        points,
        coordinates,
        values,
        positions,
        *edges,
        left=outside_modes[0],
        right=outside_modes[1],
    )


@composite
def _between(
    points: Any, coordinates: Any, values: Any, positions: Any, *edges: Any, left: Any, right: Any
) -> Any:
    """Linear interpolation at points with known positions among the coordinates.

    Args:
      edges: the values outside on the left and on the right, if given.
      left, right: 'given', 'extrapolate', or None for the value at the first or last point.
    """
    n = coordinates.size
    i = clip(positions, 1, max(n - 1, 1))
    left_index = i - 1
    x0, f0 = gather_along(coordinates, left_index), gather_along(values, left_index)
    dx = gather_along(coordinates, i) - x0
    df = gather_along(values, i) - f0
    is_vertical = comparison.eq(dx, literal(0.0, dx.dtype))
    nonzero_dx = selection.select_n(is_vertical, dx, literal(1.0, dx.dtype))
    result = selection.select_n(is_vertical, f0 + (points - x0) / nonzero_dx * df, f0 + 0 * points)
    if left != "extrapolate":
        edge = edges[0] if left else values[0]
        result = _outside(comparison.lt(points, coordinates[0]), result, edge)
    if right != "extrapolate":
        edge = edges[-1] if right else values[-1]
        result = _outside(comparison.gt(points, coordinates[n - 1]), result, edge)
    return result


def _outside(flag: Any, result: Any, edge: Any) -> Any:
    return selection.select_n(flag, result, cast(edge, result.dtype))


def sorted_pairs(keys: Any, values: Any) -> tuple[Any, Any]:
    """Two vectors, sorted by the first."""
    return tuple(sorting_primitive.sort(keys, values, dimension=0, is_stable=True, num_keys=1))  # type: ignore[return-value]
