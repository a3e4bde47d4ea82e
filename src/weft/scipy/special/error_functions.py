"""Error functions, Fresnel integrals and the normal distribution: erf, erfc, erfcx, erfinv, wofz,
dawsn, fresnel, ndtr, ndtri, log_ndtr, owens_t.

`wofz` is Weideman's rational approximation (1994), with a continued fraction far from zero.
"""

import functools
import math
from typing import Any

import numpy as onp

from ... import numpy as np
from ...numpy.axes import as_int
from ...numpy.promotion import as_inexact, noted
from ...numpy.ufunc_options import takes_options
from ...primitives import error_functions as p, hypergeometric, integral_functions
from ...primitives.complex_numbers import complex_
from ...transforms.custom_derivatives import custom_jvp
from ...typing import Array, ArrayLike
from .makers import computed_by, elementwise

__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "fresnel",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "owens_t",
    "wofz",
]


@computed_by(p.erf)
def erf(x: ArrayLike) -> Array:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> erf(1.0).item()  # doctest: +ELLIPSIS
      0.8427...
    Source: DLMF 7.2.1.
    """


@computed_by(p.erfc)
def erfc(x: ArrayLike) -> Array:
    """The complementary error function 1 - erf(x), accurate for large x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{erfc(4.0).item():.3e}'
      '1.542e-08'
    Source: DLMF 7.2.2.
    """


@computed_by(p.erfcx)
def erfcx(x: ArrayLike) -> Array:
    """exp(x²) erfc(x), which neither vanishes nor overflows for large x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{erfcx(100.0).item():.5f}'
      '0.00564'
    Source: DLMF 7.2.3 on the imaginary axis; Shepherd and Laframboise 1981.
    """


@computed_by(p.erf_inv)
def erfinv(x: ArrayLike) -> Array:
    """The inverse of erf; NaN outside [-1, 1].

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{erfinv(0.5).item():.4f}'
      '0.4769'
    Source: DLMF 7.17.
    """


@computed_by(p.ndtr)
def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the normal distribution.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> ndtr(0.0).item()
      0.5
    Source: DLMF 7.1.
    """


@computed_by(p.ndtri)
def ndtri(p: ArrayLike) -> Array:
    """The quantiles of the normal distribution: the inverse of ndtr; NaN outside [0, 1].

    Args:
      p: real array of any shape; integers become the default float.
    Returns: array of p's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{ndtri(0.975).item():.2f}'
      '1.96'
    Source: M. J. Wichura 1988, “Algorithm AS 241”, Applied Statistics 37.
    """


_log_ndtr = elementwise(p.log_ndtr, "log_ndtr", "x")


@takes_options
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of ndtr(x), accurate far below 0, where ndtr underflows.

    Args:
      x: real array of any shape; integers become the default float.
      series_order: has no effect, since the result always has the accuracy of the dtype; must be 1
        to 30. Other implementations sum this many terms of a series.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: series_order is not an int. ValueError: it is out of range.
    Example:
      >>> log_ndtr(-100.0).item()  # doctest: +ELLIPSIS
      -5005.5...
    Source: DLMF 7.12.
    """
    order = as_int("log_ndtr", series_order, "series_order")
    if not 1 <= order <= 30:
        raise noted(ValueError(f"log_ndtr: series_order must be from 1 to 30; got {order}"))
    return _log_ndtr(x)


# --- Faddeeva's function ---


@functools.cache
def _expansion(count: int) -> tuple[float, tuple[float, ...]]:
    """(L, coefficients, highest power first) of J. A. C. Weideman 1994, “Computation of the complex
    error function”, SIAM J. Numer. Anal. 31."""
    points = 4 * count
    length = math.sqrt(count / math.sqrt(2))
    k = onp.arange(-points // 2 + 1, points // 2)
    t = length * onp.tan(0.5 * (2 * k * math.pi / points))
    f = onp.append(0.0, onp.exp(-t * t) * (length * length + t * t))
    spectrum = onp.real(onp.fft.fft(onp.fft.fftshift(f))) / points
    return length, tuple(spectrum[1 : count + 1][::-1].tolist())


@takes_options
def wofz(z: ArrayLike) -> Array:
    """Faddeeva's function exp(-z²) erfc(-iz).

    Args:
      z: array of any shape; real numbers become complex.
    Returns: complex array of z's shape.
    Raises: TypeError: z is not an array.
    Example:
      >>> wofz(0j).item()
      (1+0j)
    Source: DLMF 7.2.3; J. A. C. Weideman 1994, “Computation of the complex error function”.
    """
    v = as_inexact("wofz", z)
    if v.aval.dtype.kind != "c":
        v = v + 0j
    return _wofz(v)


@custom_jvp
def _wofz(z: Any) -> Any:
    length, coefficients = _expansion(16 if z.dtype == onp.complex64 else 40)
    is_lower_half = np.imag(z) < 0
    upper = np.where(is_lower_half, -z, z)  # w(-z) = 2 exp(-z²) - w(z)
    magnitude = np.maximum(np.abs(np.real(upper)), np.abs(np.imag(upper)))
    is_large = magnitude > 1e3
    bounded_z = np.where(is_large, 1j, upper)
    denominator = length - 1j * bounded_z
    ratio = (length + 1j * bounded_z) / denominator
    total = np.zeros_like(z)
    for c in coefficients:
        total = total * ratio + c
    out = (2 * total / denominator + 1 / math.sqrt(math.pi)) / denominator
    large_z = np.where(is_large, upper, 1j)
    out = np.where(
        is_large, (1j / math.sqrt(math.pi)) / (large_z - 0.5 / (large_z - 1 / large_z)), out
    )
    # on the real axis the real part is exp(-x²); the sum has only a bounded absolute error
    x = np.real(z)
    real = np.where(np.imag(z) == 0, np.exp(-x * x), np.real(out))
    out = complex_(real, np.imag(out))
    mirrored = 2 * np.exp(-np.where(is_lower_half, z * z, 0)) - out
    return np.where(is_lower_half, mirrored, out)


@_wofz.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    out = _wofz(z)
    return out, dz * (2j / math.sqrt(math.pi) - 2 * z * out)


@computed_by(integral_functions.dawsn)
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{dawsn(1.0).item():.4f}'
      '0.5381'
    Source: DLMF 7.2.5.
    """


_fresnel_sine = elementwise(integral_functions.fresnel_sine, "fresnel", "x")
_fresnel_cosine = elementwise(integral_functions.fresnel_cosine, "fresnel", "x")


@takes_options
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals of sin(πt²/2) and cos(πt²/2) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: (S, C), arrays of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> sine, cosine = fresnel(1.0)
      >>> f'{sine.item():.4f} {cosine.item():.4f}'
      '0.4383 0.7799'
    Source: DLMF 7.2.7 and 7.2.8.
    """
    return _fresnel_sine(x), _fresnel_cosine(x)


@computed_by(hypergeometric.owens_t)
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's function: the integral of exp(-h²(1 + t²)/2) / (1 + t²) from 0 to a, divided by 2π.

    Args:
      h, a: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> owens_t(0.0, 1.0).item()
      0.125
    Source: D. B. Owen 1956; M. Patefield and D. Tandy 2000.
    """
