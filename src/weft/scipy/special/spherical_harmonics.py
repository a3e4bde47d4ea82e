"""Spherical harmonics and associated Legendre functions: sph_harm_y, sph_harm, lpmn, lpmn_values.

All degrees and orders up to a limit are computed by stable recurrences; the requested ones are
selected from them.
"""

import math
from typing import Any

from ... import numpy as np
from ...errors import ConcretizationTypeError
from ...numpy.axes import as_int
from ...numpy.promotion import noted, value
from ...primitives.complex_numbers import complex_
from ...typing import Array, ArrayLike
from .makers import floats

__all__ = ["lpmn", "lpmn_values", "sph_harm", "sph_harm_y"]


def _degrees(name: str, m: Any, n: Any) -> tuple[int, int]:
    """The largest order and degree, as ints."""
    order, degree = as_int(name, m, "m"), as_int(name, n, "n")
    if not 0 <= order <= degree:
        raise noted(ValueError(f"{name}: expected 0 <= m <= n; got m = {order}, n = {degree}"))
    return order, degree


def _normalised(order: int, degree: int, z: Any, root: Any) -> list[list[Any]]:
    """[m][l] → the Legendre function of degree l and order m, times the factor that makes spherical
    harmonics orthonormal; None for l < m. `root` is sqrt(1 - z²)."""
    table: list[list[Any]] = []
    diagonal_value = np.full_like(z, math.sqrt(0.25 / math.pi))
    for m in range(order + 1):
        if m:
            diagonal_value = diagonal_value * root * -math.sqrt((2 * m + 1) / (2 * m))
        row: list[Any] = [None] * m + [diagonal_value]
        if m < degree:
            row.append(math.sqrt(2 * m + 3) * z * diagonal_value)
        for k in range(m + 2, degree + 1):
            scale = math.sqrt((4 * k * k - 1) / (k * k - m * m))
            previous_factor = math.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1))
            row.append(scale * (z * row[k - 1] - previous_factor * row[k - 2]))
        table.append(row)
    return table


def _legendre_tables(order: int, degree: int, z: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """[m][l] → the Legendre function of degree l and order m, and its derivative."""
    values: list[list[Any]] = []
    slopes: list[list[Any]] = []
    square = (1 - z) * (1 + z)
    root, factor = np.sqrt(square), 1.0
    for m in range(order + 1):
        factor = -factor * (2 * m - 1) if m else 1.0
        diagonal_value = factor * root**m
        # the derivative of root**m is -m z root**(m - 2)
        lower = 1 / root if m == 1 else root ** max(m - 2, 0)
        slope = (-m * factor) * z * lower if m else np.zeros_like(z)
        row: list[Any] = [None] * m + [diagonal_value]
        row_slopes: list[Any] = [None] * m + [slope]
        if m < degree:
            row.append((2 * m + 1) * z * diagonal_value)
            row_slopes.append((2 * m + 1) * (diagonal_value + z * slope))
        for k in range(m + 2, degree + 1):
            a, b = (2 * k - 1) / (k - m), (k + m - 1) / (k - m)
            row_slopes.append(a * (row[k - 1] + z * row_slopes[k - 1]) - b * row_slopes[k - 2])
            row.append(a * z * row[k - 1] - b * row[k - 2])
        values.append(row)
        slopes.append(row_slopes)
    return values, slopes


def _stacked_table(table: list[list[Any]], z: Any) -> Any:
    """One array [order, degree, …]; 0 where the degree is less than the order."""
    zeros = np.zeros_like(z)
    return np.stack([np.stack([zeros if x is None else x for x in row]) for row in table])


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of all orders up to m and degrees up to n, and their
    derivatives.

    Args:
      m, n: the largest order and degree: concrete ints, 0 <= m <= n.
      z: real array, between -1 and 1.
    Returns: two arrays [m + 1, n + 1, *z.shape]: values, derivatives in z.
    Raises: TypeError: m or n is not a concrete int. ValueError: not 0 <= m <= n.
    Example:
      >>> values, derivatives = lpmn(1, 1, np.array([0.0]))
      >>> values[:, :, 0].tolist()
      [[1.0, 0.0], [0.0, -1.0]]
    Source: DLMF 14.7.8, 14.10.3; with the factor (-1)**m of Condon and Shortley.
    """
    order, degree = _degrees("lpmn", m, n)
    (x,) = floats("lpmn", z=z)
    values, slopes = _legendre_tables(order, degree, x)
    return _stacked_table(values, x), _stacked_table(slopes, x)


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions of all orders up to m and degrees up to n.

    Args:
      m, n: the largest order and degree: concrete ints, 0 <= m <= n.
      z: real array, between -1 and 1.
      is_normalized: multiply by the factors that make spherical harmonics orthonormal.
    Returns: array [m + 1, n + 1, *z.shape].
    Raises: TypeError: m or n is not a concrete int. ValueError: not 0 <= m <= n.
    Example:
      >>> lpmn_values(1, 1, np.array([0.0]), False)[:, :, 0].tolist()
      [[1.0, 0.0], [0.0, -1.0]]
    Source: DLMF 14.7.8, 14.10.3; with the factor (-1)**m of Condon and Shortley.
    """
    order, degree = _degrees("lpmn_values", m, n)
    (x,) = floats("lpmn_values", z=z)
    if is_normalized:
        return _stacked_table(_normalised(order, degree, x, np.sqrt((1 - x) * (1 + x))), x)
    return _stacked_table(_legendre_tables(order, degree, x)[0], x)


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """The spherical harmonics of degree n and order m.

    Args:
      n, m: integer arrays; 0 where |m| > n or n > n_max.
      theta: real array: the angle from the pole, from 0 to π.
      phi: real array: the angle around the pole. All four broadcast.
      diff_n: must be None or 0: use weft's transformations for derivatives.
      n_max: the largest degree, a concrete int; by default the largest n, which must be concrete.
    Returns: complex array of the shape to which they broadcast.
    Raises: TypeError: degrees or orders are not integers. ValueError: n_max is negative.
      NotImplementedError: diff_n is not supported.
    Example:
      >>> sph_harm_y(1, 0, 0.0, 0.0).real.item()  # doctest: +ELLIPSIS
      0.48860...
    Source: DLMF 14.30.1.
    """
    if diff_n not in (None, 0):
        raise noted(
            NotImplementedError(
                f"sph_harm_y: diff_n must be None or 0; got {diff_n!r}\n  fix: jvp or jacfwd"
            )
        )
    return _harmonics("sph_harm_y", n, m, theta, phi, n_max)


def sph_harm(
    m: ArrayLike, n: ArrayLike, theta: ArrayLike, phi: ArrayLike, n_max: int | None = None
) -> Array:
    """The spherical harmonics of order m and degree n, with the arguments as in SciPy before 1.15.

    Args:
      m, n: integer arrays; 0 where |m| > n or n > n_max.
      theta: real array: the angle around the pole.
      phi: real array: the angle from the pole, from 0 to π. All four broadcast.
      n_max: the largest degree, a concrete int; by default the largest n, which must be concrete.
    Returns: complex array of the shape to which they broadcast.
    Raises: TypeError: degrees or orders are not integers. ValueError: n_max is negative.
    Example:
      >>> sph_harm(0, 1, 0.0, 0.0).real.item()  # doctest: +ELLIPSIS
      0.48860...
    Source: DLMF 14.30.1.
    """
    return _harmonics("sph_harm", n, m, phi, theta, n_max)


def _harmonics(name: str, n: Any, m: Any, polar: Any, azimuth: Any, n_max: Any) -> Any:
    n, m = value(name, n, "n"), value(name, m, "m")
    for argument, x in (("n", n), ("m", m)):
        if x.aval.dtype.kind not in "iu":
            raise noted(TypeError(f"{name}: {argument} must be of integer dtype; got {x.aval}"))
    if n_max is None:
        n_max = _largest_degree(name, n)
    limit = as_int(name, n_max, "n_max")
    if limit < 0:
        raise noted(ValueError(f"{name}: n_max must be at least 0; got {limit}"))
    polar, azimuth = floats(name, theta=polar, phi=azimuth)
    n, m, polar, azimuth = np.broadcast_arrays(n, m, polar, azimuth)
    shape = n.shape
    n, m, polar, azimuth = (x.reshape(-1) for x in (n, m, polar, azimuth))
    table = _stacked_table(_normalised(limit, limit, np.cos(polar), np.sin(polar)), polar)
    magnitude = np.abs(m)
    valid = (n >= 0) & (n <= limit) & (magnitude <= n)
    result = table[np.where(valid, magnitude, 0), np.where(valid, n, 0), np.arange(n.shape[0])]
    sign = np.where((m < 0) & (magnitude % 2 == 1), -1, 1).astype(result.dtype)
    result = np.where(valid, result * sign, 0)
    angle = m.astype(result.dtype) * azimuth
    return complex_(result * np.cos(angle), result * np.sin(angle)).reshape(shape)


def _largest_degree(name: str, n: Any) -> int:
    """The largest requested degree."""
    try:
        return int(np.max(n, initial=0))
    except ConcretizationTypeError:
        raise noted(
            ConcretizationTypeError(
                f"{name}: the largest degree n must be known; n is traced: {n.aval}\n"
                "  fix: give n_max, an int"
            )
        ) from None
