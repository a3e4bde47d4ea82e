"""Complete elliptic integrals: ellipk, ellipkm1, ellipe, by the arithmetic-geometric mean."""

import math
from typing import Any

from ...primitives.arithmetic import like, sqrt
from ...primitives.comparison import eq, gt, lt
from ...primitives.selection import where
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["ellipe", "ellipk", "ellipkm1"]

MAX_AGM_STEPS = 14
"""Each step doubles the number of correct digits once the means are close; for 1e-308 and 1, that
takes ten steps."""
AGM_STEPS = 6
"""Number of steps for the means of 1 and a number from √½ to 1."""


def _first_kind(complement: Any) -> Any:
    """K of 1 - complement: π/2 over the arithmetic-geometric mean of 1 and √complement."""
    is_inside = gt(complement, like(complement, 0))
    a, b = like(complement, 1), sqrt(where(is_inside, complement, like(complement, 1)))
    for _ in range(MAX_AGM_STEPS):
        a, b = (a + b) / 2, sqrt(a * b)
    edge = where(
        eq(complement, like(complement, 0)), like(complement, math.inf), like(complement, math.nan)
    )
    edge = where(eq(complement, like(complement, math.inf)), like(complement, 0), edge)
    return where(is_inside & lt(complement, like(complement, math.inf)), (math.pi / 2) / a, edge)


def _second_kind(m: Any) -> Any:
    """E, as a sum of positive terms. With (a, b) of the mean of 1 and √(1 - m), and c = (a - b) /
    2,
    E / K is 1 - S, S = m / 2 + c² + 2 c² + 4 c² …; for m > 1/2 Legendre's relation gives E of the
    complement's K' and S', and for m < 0 a rotation by a quarter turns it into m / (m - 1)."""
    complement = original_complement = 1 - m
    is_inside = gt(complement, like(complement, 0)) & lt(complement, like(complement, math.inf))
    positive_complement = where(is_inside, complement, like(complement, 1))
    is_inverted = gt(positive_complement, like(complement, 1))
    scale = where(is_inverted, sqrt(positive_complement), like(complement, 1))
    m = where(is_inside, where(is_inverted, 1 - 1 / positive_complement, m), like(complement, 0))
    complement = where(is_inverted, 1 / positive_complement, positive_complement)
    is_large = gt(m, like(m, 0.5))
    a, b = like(m, 1), sqrt(where(is_large, m, complement))
    total, weight = where(is_large, complement, m) / 2, 1.0
    for _ in range(AGM_STEPS):
        c = (a - b) / 2
        a, b, total = (a + b) / 2, sqrt(a * b), total + weight * (c * c)
        weight *= 2
    k = _first_kind(complement)
    result = where(is_large, a + k * total, k - k * total)
    edge = where(eq(original_complement, like(m, 0)), like(m, 1), like(m, math.nan))
    edge = where(eq(original_complement, like(m, math.inf)), original_complement, edge)
    return where(is_inside, scale * result, edge)


@computed_by(lambda m: _first_kind(1 - m))
def ellipk(m: ArrayLike) -> Array:
    """The complete elliptic integral of the first kind: ∫ 1 / sqrt(1 - m sin² t) over [0, π/2].

    Args:
      m: real array, the parameter (the square of the modulus), at most 1.
    Returns: array of m's shape, of a float dtype; infinite at 1, NaN above. Near 1, `ellipkm1` is
      more accurate.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{ellipk(0.5).item():.4f}'
      '1.8541'
    Source: SciPy documentation, `scipy.special.ellipk`; DLMF 19.8.5.
    """


@computed_by(_first_kind)
def ellipkm1(p: ArrayLike) -> Array:
    """The complete elliptic integral of the first kind at 1 - p, accurate near p = 0.

    Args:
      p: real array, not negative.
    Returns: array of p's shape, of a float dtype; infinite at 0, NaN below.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{ellipkm1(1e-20).item():.4f}'
      '24.4121'
    Source: SciPy documentation, `scipy.special.ellipkm1`.
    """


@computed_by(_second_kind)
def ellipe(m: ArrayLike) -> Array:
    """The complete elliptic integral of the second kind: ∫ sqrt(1 - m sin² t) over [0, π/2].

    Args:
      m: real array, the parameter (the square of the modulus), at most 1.
    Returns: array of m's shape, of a float dtype; NaN above 1.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{ellipe(0.5).item():.4f}'
      '1.3506'
    Source: SciPy documentation, `scipy.special.ellipe`.
    """
