"""RegularGridInterpolator: interpolation of a function between its values on a rectangular grid,
linear or by the nearest value.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy.creation import asarray
from ...numpy.extrema import clip
from ...numpy.joining import stack
from ...numpy.logic import isnan
from ...numpy.promotion import cast, promote_values, value
from ...numpy.selection import where
from ...numpy.shapes import broadcast_arrays
from ...numpy.sorting import searchsorted
from ...typing import ArrayLike

__all__ = ["RegularGridInterpolator"]


NAME = "RegularGridInterpolator"
METHODS = ("linear", "nearest")


def _method(method: Any) -> Any:
    if method not in METHODS:
        raise ValueError(f"{NAME}: method must be one of 'linear', 'nearest'; got {method!r}")
    return method


def _array(x: Any, argument: str) -> Any:
    """A value from an array, or from lists and tuples of numbers."""
    return asarray(x) if isinstance(x, (list, tuple)) else value(NAME, x, argument)


class RegularGridInterpolator:
    """Interpolates a function from its values on a rectangular grid, whose spacing may vary.

    Args:
      points: for each of n axes of the grid, its coordinates [m], increasing or decreasing.
      values: array of the grid's shape, with optional axes after it.
      method: 'linear' or 'nearest'.
      bounds_error: True raises an error for points outside of the grid; a compiled program can't
        raise errors and refuses it.
      fill_value: the value outside the grid; `None` extrapolates.
    Raises: ValueError: an unknown method. ShapeError: points and values do not match, or points are
      neither increasing nor decreasing.
    Example:
      >>> from weft.scipy.interpolate import RegularGridInterpolator
      >>> x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0])
      >>> f = RegularGridInterpolator((x, y), np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 4.0]]))
      >>> f(np.array([[2.0, 0.5], [9.0, 0.0]]))
      Array([2.5, nan], dtype=float32)
    Source: scipy.interpolate.RegularGridInterpolator.
    """

    grid: tuple[Array, ...]
    values: Array
    method: str
    bounds_error: bool
    fill_value: Any

    @located
    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = float("nan"),
    ) -> None:
        self.method = _method(method)
        self.bounds_error = bool(bounds_error)
        (self.values,) = promote_values(NAME, values, to_inexact=True)
        dtype = dtypes.real_of(self.values.dtype)
        if len(points) > self.values.ndim:
            raise ShapeError(f"{NAME}: {len(points)} axes of points for values {self.values.aval}")
        grid = []
        for i, line_points in enumerate(points):
            coordinates = cast(_array(line_points, "points"), dtype)
            if coordinates.ndim != 1 or coordinates.shape[0] != self.values.shape[i]:
                raise ShapeError(
                    f"{NAME}: points[{i}] must be one number for each element of axis {i} of "
                    f"{self.values.aval}; got {coordinates.aval}"
                )
            if not coordinates.shape[0]:
                raise ShapeError(f"{NAME}: points[{i}] must have elements; got {coordinates.aval}")
            concrete = coordinates.concrete()
            if concrete is not None:
                coordinates = self._rising(i, coordinates, np.diff(np.asarray(concrete)))
            grid.append(coordinates)
        self.grid = tuple(grid)
        self.fill_value = fill_value
        if fill_value is not None:
            self.fill_value = cast(value(NAME, fill_value, "fill_value"), self.values.dtype)

    def _rising(self, axis: int, coordinates: Any, steps: Any) -> Any:
        """The coordinates of an axis in increasing order; decreasing ones are reversed, and so are
        the values."""
        if (steps > 0).all():
            return coordinates
        if not (steps < 0).all():
            raise ShapeError(f"{NAME}: points[{axis}] must rise or fall strictly")
        self.values = self.values[(slice(None),) * axis + (slice(None, None, -1),)]
        return coordinates[::-1]

    @located
    def __call__(self, xi: ArrayLike | Sequence[ArrayLike], method: str | None = None) -> Array:
        """The interpolated function at points.

        Args:
          xi: array [..., n] of points, or a tuple of n arrays that broadcast, one for each axis.
            An array with one axis holds points one after another, so the result of [n] has shape
            [1].
          method: replaces the constructor's method.
        Returns: array of the points' shape, followed by the axes of `values` after the grid's.
        Raises: ShapeError: points have another number of coordinates. ValueError: an unknown
          method; a point is outside, with `bounds_error`.
        """
        kind = self.method if method is None else _method(method)
        n = len(self.grid)
        if isinstance(xi, tuple) and len(xi) != 1:
            coordinates = broadcast_arrays(*[_array(x, "xi") for x in xi])
            points: Any = stack(coordinates, -1)
        else:
            (xi,) = xi if isinstance(xi, tuple) else (xi,)
            points = _array(xi, "xi")
            if n == 1 and points.ndim < 2:
                points = points[..., None]
            elif points.ndim == 1 and not points.size % n:
                points = points.reshape(-1, n)
        if not points.ndim or points.shape[-1] != n:
            raise ShapeError(f"{NAME}: points must have {n} coordinates; got {points.aval}")
        points = cast(points, dtypes.real_of(self.values.dtype))
        is_outside = self._outside(points)
        result = self._linear(points) if kind == "linear" else self._nearest(points)
        extra_axes = (...,) + (None,) * (self.values.ndim - n)
        is_nan = isnan(points).any(-1)[extra_axes]
        if self.fill_value is not None:
            result = where(is_outside[extra_axes], self.fill_value, result)
        return where(is_nan, np.nan, result)

    def _outside(self, points: Any) -> Any:
        """True for points outside the grid. Raises an error for them with `bounds_error`."""
        is_outside: Any = False
        for i, coordinates in enumerate(self.grid):
            x = points[..., i]
            is_outside = is_outside | (x < coordinates[0]) | (x > coordinates[-1])
        if self.bounds_error and self.grid:
            concrete = is_outside.concrete()
            if concrete is None:
                raise ValueError(
                    f"{NAME}: bounds_error=True can't be held in a compiled program\n"
                    "  fix: bounds_error=False, and a fill_value"
                )
            if np.asarray(concrete).any():
                bounds = ", ".join(
                    [f"{coordinates[0]:.6g} to {coordinates[-1]:.6g}" for coordinates in self.grid]
                )
                raise ValueError(
                    f"{NAME}: {int(np.sum(concrete))} of {np.size(concrete)} points are outside "
                    f"the grid, which goes from {bounds}\n"
                    "  fix: bounds_error=False, and a fill_value"
                )
        return is_outside

    def _cells(self, points: Any) -> list[tuple[Any, Any]]:
        """For each axis, the index of the element before each point, and the fraction of the way to
        the next element, from 0 to 1 inside the grid."""
        cells = []
        for i, coordinates in enumerate(self.grid):
            x, last_index = points[..., i], coordinates.shape[0] - 1
            if not last_index:
                cells.append((searchsorted(coordinates, x) * 0, x * 0))
                continue
            index = clip(searchsorted(coordinates, x) - 1, 0, last_index - 1)
            left_knot, right_knot = coordinates[index], coordinates[index + 1]
            cells.append((index, (x - left_knot) / (right_knot - left_knot)))
        return cells

    def _nearest(self, points: Any) -> Any:
        cells = self._cells(points)
        last_indices = [coordinates.shape[0] - 1 for coordinates in self.grid]
        return self.values[
            tuple(
                [clip(i + (t > 0.5), 0, n) for (i, t), n in zip(cells, last_indices, strict=True)]
            )
        ]

    def _linear(self, points: Any) -> Any:
        cells = self._cells(points)
        extra_axes = (...,) + (None,) * (self.values.ndim - len(cells))
        total: Any = 0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1
            indices = []
            for side, (index, t), coordinates in zip(corner, cells, self.grid, strict=True):
                weight = weight * (t if side else 1 - t)
                indices.append(clip(index + side, 0, coordinates.shape[0] - 1))
            total = total + self.values[tuple(indices)] * asarray(weight)[extra_axes]
        return total
