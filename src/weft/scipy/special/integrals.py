"""Integrals of elementary functions."""

from ...numpy.ufunc_options import takes_options
from ...primitives import integral_functions as p
from ...typing import Array, ArrayLike
from .makers import computed_by, elementwise

__all__ = [
    "dawsn",
    "exp1",
    "expi",
    "expn",
    "fresnel",
    "sici",
    "spence",
]


@computed_by(p.exp1)
def exp1(x: ArrayLike) -> Array:
    """The exponential integral E₁(x) for x ≥ 0; NaN below.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{exp1(1.0).item():.4f}'
      '0.2194'
    Source: DLMF 6.2.1.
    """


@computed_by(p.expi)
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{expi(1.0).item():.4f}'
      '1.8951'
    Source: DLMF 6.2.5.
    """


@computed_by(p.expn)
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral of order n, for whole numbers n ≥ 0 and x ≥ 0; NaN elsewhere.

    Args:
      n, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{expn(2, 1.0).item():.4f}'
      '0.1485'
    Source: DLMF 8.19.1.
    """


@computed_by(p.spence)
def spence(x: ArrayLike) -> Array:
    """The dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x; NaN below 0.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{spence(0.0).item():.4f}'
      '1.6449'
    Source: DLMF 25.12.2.
    """


@computed_by(p.dawsn)
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{dawsn(1.0).item():.4f}'
      '0.5381'
    Source: DLMF 7.2.5.
    """


_sine = elementwise(p.sine_integral, "sici", "x")
_cosine = elementwise(p.cosine_integral, "sici", "x")


@takes_options
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral and the cosine integral.

    Args:
      x: real array of any shape; integers become the default float. The cosine integral is that
        of |x|.
    Returns: (Si, Ci), arrays of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> sine, cosine = sici(1.0)
      >>> f'{sine.item():.4f} {cosine.item():.4f}'
      '0.9461 0.3374'
    Source: DLMF 6.2.9 and 6.2.11.
    """
    return _sine(x), _cosine(x)


_fresnel_sine = elementwise(p.fresnel_sine, "fresnel", "x")
_fresnel_cosine = elementwise(p.fresnel_cosine, "fresnel", "x")


@takes_options
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals of sin(πt²/2) and cos(πt²/2) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: (S, C), arrays of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> sine, cosine = fresnel(1.0)
      >>> f'{sine.item():.4f} {cosine.item():.4f}'
      '0.4383 0.7799'
    Source: DLMF 7.2.7 and 7.2.8.
    """
    return _fresnel_sine(x), _fresnel_cosine(x)
