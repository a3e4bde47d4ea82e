"""Bessel functions."""

from ...primitives import special as p
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = [
    "i0",
    "i0e",
    "i1",
    "i1e",
]


@computed_by(p.bessel_i0)
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind I₀(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> i0(0.0).item()
      1.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i0e)
def i0e(x: ArrayLike) -> Array:
    """exp(-|x|) I₀(x), which doesn't overflow.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> i0e(0.0).item()
      1.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i1)
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind I₁(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> i1(0.0).item()
      0.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i1e)
def i1e(x: ArrayLike) -> Array:
    """exp(-|x|) I₁(x), which doesn't overflow.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> i1e(0.0).item()
      0.0
    Source: DLMF 10.25.2.
    """
