"""Hypergeometric functions, and Owen's function."""

from ...primitives import hypergeometric as p
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = [
    "hyp1f1",
    "hyp2f1",
    "owens_t",
]


@computed_by(p.hyp1f1)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function ₁F₁(a; b; x).

    It is differentiable in x; a derivative in a or b raises NotImplementedError.

    Args:
      a, b, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{hyp1f1(1.0, 2.0, 1.0).item():.4f}'
      '1.7183'
    Source: DLMF 13.2.2.
    """


@computed_by(p.hyp2f1)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x); NaN for x > 1.

    It is differentiable in x; a derivative in a, b or c raises NotImplementedError. Where c - a - b
    is a whole number, digits are lost between x = 0.99 and 1.

    Args:
      a, b, c, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{hyp2f1(1.0, 1.0, 2.0, 0.5).item():.4f}'
      '1.3863'
    Source: DLMF 15.2.1.
    """


@computed_by(p.owens_t)
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's function: the integral of exp(-h²(1 + t²)/2) / (1 + t²) from 0 to a, over 2π.

    Args:
      h, a: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> owens_t(0.0, 1.0).item()
      0.125
    Source: D. B. Owen 1956; M. Patefield and D. Tandy 2000.
    """
