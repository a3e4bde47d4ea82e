"""Bessel functions."""

from ...numpy.ufunc_options import takes_options
from ...primitives import special as p
from ...typing import Array, ArrayLike
from .makers import elementwise

__all__ = [
    "i0",
    "i0e",
    "i1",
    "i1e",
]

_i0 = elementwise(p.bessel_i0, "i0", "x")


@takes_options
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
    return _i0(x)


_i0e = elementwise(p.bessel_i0e, "i0e", "x")


@takes_options
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
    return _i0e(x)


_i1 = elementwise(p.bessel_i1, "i1", "x")


@takes_options
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
    return _i1(x)


_i1e = elementwise(p.bessel_i1e, "i1e", "x")


@takes_options
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
    return _i1e(x)
