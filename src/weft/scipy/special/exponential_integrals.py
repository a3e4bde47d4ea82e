"""Exponential, sine, cosine and dilogarithm integrals: exp1, expi, expn, sici, spence."""

from ...numpy.ufunc_options import takes_options
from ...primitives import integral_functions
from ...typing import Array, ArrayLike
from .makers import computed_by, elementwise

__all__ = ["exp1", "expi", "expn", "sici", "spence"]


@computed_by(integral_functions.exp1)
def exp1(x: ArrayLike) -> Array:
    """The exponential integral E₁(x) for x ≥ 0; NaN below.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{exp1(1.0).item():.4f}'
      '0.2194'
    Source: DLMF 6.2.1.
    """


@computed_by(integral_functions.expi)
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{expi(1.0).item():.4f}'
      '1.8951'
    Source: DLMF 6.2.5.
    """


@computed_by(integral_functions.expn)
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral of order n, for whole numbers n ≥ 0 and x ≥ 0; NaN elsewhere.

    Args:
      n, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{expn(2, 1.0).item():.4f}'
      '0.1485'
    Source: DLMF 8.19.1.
    """


@computed_by(integral_functions.spence)
def spence(x: ArrayLike) -> Array:
    """The dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x; NaN below 0.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{spence(0.0).item():.4f}'
      '1.6449'
    Source: DLMF 25.12.2.
    """


_sine = elementwise(integral_functions.sine_integral, "sici", "x")
_cosine = elementwise(integral_functions.cosine_integral, "sici", "x")


@takes_options
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral and the cosine integral.

    Args:
      x: real array of any shape; integers become the default float. The cosine integral takes
        |x|.
    Returns: (Si, Ci), arrays of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> sine, cosine = sici(1.0)
      >>> f'{sine.item():.4f} {cosine.item():.4f}'
      '0.9461 0.3374'
    Source: DLMF 6.2.9 and 6.2.11.
    """
    return _sine(x), _cosine(x)
