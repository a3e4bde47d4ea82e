"""The zeta functions of Riemann and Hurwitz, and the Bernoulli numbers: zeta, bernoulli."""

import fractions
import math

from ... import dtypes, numpy as np
from ...numpy.axes import as_int
from ...numpy.promotion import noted
from ...primitives import gamma_functions as p
from ...typing import Array, ArrayLike
from .makers import elementwise

__all__ = ["bernoulli", "zeta"]


_hurwitz = elementwise(p.zeta, "zeta", "x", "q")


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …; Riemann's without q.

    Args:
      x: real array of any shape; NaN where x < 1.
      q: real array that broadcasts with x; 1 by default.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{zeta(2.0, 1.0).item():.4f}'
      '1.6449'
    Source: DLMF 25.2.1 and 25.11.1.
    """
    return _hurwitz(x, 1.0 if q is None else q)


def bernoulli(n: int) -> Array:
    """Bernoulli's numbers B₀ to Bₙ, with B₁ = -1/2.

    Args:
      n: a concrete int of at least 0.
    Returns: array [n + 1] of the default float dtype.
    Raises: TypeError: n is not a concrete int. ValueError: n is negative.
    Example:
      >>> bernoulli(2).tolist()  # doctest: +ELLIPSIS
      [1.0, -0.5, 0.1666...]
    Source: R. P. Brent and D. Harvey 2011, “Fast computation of Bernoulli, tangent and secant
    numbers”; DLMF 24.2.
    """
    count = as_int("bernoulli", n, "n")
    if count < 0:
        raise noted(ValueError(f"bernoulli: n must be at least 0; got {count}"))
    return np.array(_bernoulli(count), dtypes.default_float())


def _bernoulli(n: int) -> list[float]:
    half = n // 2
    tangents = [0, 1]
    for k in range(2, half + 1):
        tangents.append((k - 1) * tangents[k - 1])
    for k in range(2, half + 1):
        for j in range(k, half + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    numbers = [0.0] * (n + 1)
    numbers[:2] = [1.0, -0.5][: n + 1]
    for k in range(1, half + 1):
        power = 4**k
        sign = 1 if k % 2 else -1
        magnitude = fractions.Fraction(2 * k * tangents[k], power * (power - 1))
        numbers[2 * k] = sign * (float(magnitude) if magnitude < 2**1000 else math.inf)
    return numbers
