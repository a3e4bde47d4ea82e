"""Hypergeometric functions: hyp1f1, hyp2f1."""

from ...primitives import hypergeometric
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["hyp1f1", "hyp2f1"]


@computed_by(hypergeometric.hyp1f1)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function ₁F₁(a; b; x).

    It is differentiable with respect to x; derivatives with respect to a or b raise
    NotImplementedError.

    Args:
      a, b, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{hyp1f1(1.0, 2.0, 1.0).item():.4f}'
      '1.7183'
    Source: DLMF 13.2.2.
    """


@computed_by(hypergeometric.hyp2f1)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x); NaN for x > 1.

    It is differentiable with respect to x; derivatives with respect to a, b or c raise
    NotImplementedError. If c - a - b is an integer, it is less accurate between x = 0.99 and 1.

    Args:
      a, b, c, x: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{hyp2f1(1.0, 1.0, 2.0, 0.5).item():.4f}'
      '1.3863'
    Source: DLMF 15.2.1.
    """
