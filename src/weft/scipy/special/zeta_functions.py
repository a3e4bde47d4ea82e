"""Zeta functions of Riemann and Hurwitz."""

from ...primitives import special as p
from ...typing import Array, ArrayLike
from .makers import elementwise

__all__ = ["zeta"]

_hurwitz = elementwise(p.zeta, "zeta", "x", "q")


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …; Riemann's without q.

    Args:
      x: real array of any shape; NaN where x < 1.
      q: real array that broadcasts with x; 1 by default.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{zeta(2.0, 1.0).item():.4f}'
      '1.6449'
    Source: DLMF 25.2.1 and 25.11.1.
    """
    return _hurwitz(x, 1.0 if q is None else q)
