"""Functions of complex numbers: Faddeeva's function, the logarithm of the gamma function.

Knows how they are computed for both halves of the plane.
"""

import functools
import math
from typing import Any

import numpy as onp

from ... import numpy as np
from ...core.array import literal
from ...numpy.plans import composite
from ...numpy.promotion import inexact
from ...numpy.ufunc_options import takes_options
from ...primitives import special as p
from ...primitives.gamma_formulas import STIRLING
from ...transforms.custom_derivatives import custom_jvp
from ...typing import Array, ArrayLike

__all__ = ["loggamma", "wofz"]

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
    Raises: TypeError: z is no array.
    Example:
      >>> wofz(0j).item()
      (1+0j)
    Source: DLMF 7.2.3; J. A. C. Weideman 1994, “Computation of the complex error function”.
    """
    v = inexact("wofz", z)
    if v.aval.dtype.kind != "c":
        v = v + 0j
    return _wofz(v)


@custom_jvp
def _wofz(z: Any) -> Any:
    length, coefficients = _expansion(16 if z.dtype == onp.complex64 else 40)
    below = np.imag(z) < 0
    upper = np.where(below, -z, z)  # w(-z) = 2 exp(-z²) - w(z)
    size = np.maximum(np.abs(np.real(upper)), np.abs(np.imag(upper)))
    far = size > 1e3
    near = np.where(far, 1j, upper)
    turned = length - 1j * near
    ratio = (length + 1j * near) / turned
    total = np.zeros_like(z)
    for c in coefficients:
        total = total * ratio + c
    out = (2 * total / turned + 1 / math.sqrt(math.pi)) / turned
    away = np.where(far, upper, 1j)
    out = np.where(far, (1j / math.sqrt(math.pi)) / (away - 0.5 / (away - 1 / away)), out)
    # on the real axis the real part is exp(-x²), which the sum has to an absolute error only
    x = np.real(z)
    real = np.where(np.imag(z) == 0, np.exp(-x * x), np.real(out))
    out = real + 1j * np.imag(out)
    mirrored = 2 * np.exp(-np.where(below, z * z, 0)) - out
    return np.where(below, mirrored, out)


@_wofz.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    out = _wofz(z)
    return out, dz * (2j / math.sqrt(math.pi) - 2 * z * out)


# --- the logarithm of the gamma function ---


@takes_options
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of log Γ(x), which is analytic but for the negative real numbers.

    Args:
      x: real or complex array of any shape; integers become the default float.
    Returns: array of x's shape; of real x a float one, NaN for negative x.
    Raises: TypeError: x is no array.
    Example:
      >>> loggamma(3.0).item()  # doctest: +ELLIPSIS
      0.693147...
    Source: DLMF 5.2.1, 5.5.3, 5.11.1.
    """
    v = inexact("loggamma", x)
    return _complex_loggamma(v) if v.aval.dtype.kind == "c" else _real_loggamma(v)


@composite
def _real_loggamma(x: Any) -> Any:
    dtype = x.aval.dtype
    return np.where(np.less(x, literal(0.0, dtype)), np.nan, p.lgamma(x))


@composite
def _complex_loggamma(z: Any) -> Any:
    left = np.less(np.real(z), 0)
    low = np.less(np.imag(z), 0)
    here = np.where(left, 1 - z, z)
    moved = here
    product = np.zeros_like(z)
    for _ in range(9):  # the logarithms one by one: that of their product would lose turns
        near = np.less(np.real(moved), 9)
        product = product + np.log(np.where(near, moved, 1))
        moved = np.where(near, moved + 1, moved)
    inverse = 1 / moved
    square, tail = inverse * inverse, 0.0
    for c in reversed(STIRLING):
        tail = tail * square + c
    out = (moved - 0.5) * np.log(moved) - moved + (0.5 * math.log(2 * math.pi) + tail * inverse)
    out = out - product
    # log Γ(z) = log π - log sin(πz) - log Γ(1 - z), with sin(πz) from exp(2πiz), in the upper half
    upper = np.where(left, np.where(low, np.conj(z), z), 0.5j)
    turn = np.exp(2j * math.pi * (upper - np.round(np.real(upper))))
    sine = 1j * math.pi * (0.5 - upper) - math.log(2) + np.log1p(-turn)
    reflected = math.log(math.pi) - np.where(low, np.conj(sine), sine) - out
    return np.where(left, reflected, out)
