"""Complete elliptic integrals of the first and second kind, by means of arithmetic and geometry."""

import math
from typing import Any

from ...primitives.arithmetic import like, sqrt
from ...primitives.comparison import eq, gt, lt
from ...primitives.selection import where
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["ellipe", "ellipk", "ellipkm1"]

STEPS = 14
"""Each doubles the digits, once the two means have come near; 1e-308 and 1 take ten before."""
FEW_STEPS = 6
"""For means of 1 and √½, or nearer."""


def _first_kind(rest: Any) -> Any:
    """K of 1 - rest: π/2 over the arithmetic-geometric mean of 1 and √rest."""
    inside = gt(rest, like(rest, 0))
    a, b = like(rest, 1), sqrt(where(inside, rest, like(rest, 1)))
    for _ in range(STEPS):
        a, b = (a + b) / 2, sqrt(a * b)
    edge = where(eq(rest, like(rest, 0)), like(rest, math.inf), like(rest, math.nan))
    edge = where(eq(rest, like(rest, math.inf)), like(rest, 0), edge)
    return where(inside & lt(rest, like(rest, math.inf)), (math.pi / 2) / a, edge)


def _second_kind(m: Any) -> Any:
    """E, of positive terms alone. With (a, b) of the mean of 1 and √(1 - m), and c = (a - b) / 2,
    E / K is 1 - S, S = m / 2 + c² + 2 c² + 4 c² …; for m > 1/2 Legendre's relation gives E of the
    complement's K' and S', and for m < 0 a rotation by a quarter turns it into m / (m - 1)."""
    rest = outside = 1 - m
    inside = gt(rest, like(rest, 0)) & lt(rest, like(rest, math.inf))
    safe = where(inside, rest, like(rest, 1))
    negative = gt(safe, like(rest, 1))
    scale = where(negative, sqrt(safe), like(rest, 1))
    m = where(inside, where(negative, 1 - 1 / safe, m), like(rest, 0))
    rest = where(negative, 1 / safe, safe)
    large = gt(m, like(m, 0.5))
    a, b = like(m, 1), sqrt(where(large, m, rest))
    total, weight = where(large, rest, m) / 2, 1.0
    for _ in range(FEW_STEPS):
        c = (a - b) / 2
        a, b, total = (a + b) / 2, sqrt(a * b), total + weight * (c * c)
        weight *= 2
    k = _first_kind(rest)
    found = where(large, a + k * total, k - k * total)
    edge = where(eq(outside, like(m, 0)), like(m, 1), like(m, math.nan))
    edge = where(eq(outside, like(m, math.inf)), outside, edge)
    return where(inside, scale * found, edge)


@computed_by(lambda m: _first_kind(1 - m))
def ellipk(m: ArrayLike) -> Array:
    """The complete elliptic integral of the first kind: of 1 / sqrt(1 - m sin² t) over [0, π/2].

    Args:
      m: real array, the parameter (the square of the modulus), at most 1.
    Returns: array of m's shape, of a float dtype; infinite at 1, NaN beyond. Near 1, `ellipkm1`
      knows more digits.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{ellipk(0.5).item():.4f}'
      '1.8541'
    Source: SciPy documentation, `scipy.special.ellipk`; DLMF 19.8.5.
    """


@computed_by(_first_kind)
def ellipkm1(p: ArrayLike) -> Array:
    """The complete elliptic integral of the first kind of 1 - p: exact near p = 0.

    Args:
      p: real array, not negative.
    Returns: array of p's shape, of a float dtype; infinite at 0, NaN below.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{ellipkm1(1e-20).item():.4f}'
      '24.4121'
    Source: SciPy documentation, `scipy.special.ellipkm1`.
    """


@computed_by(_second_kind)
def ellipe(m: ArrayLike) -> Array:
    """The complete elliptic integral of the second kind: of sqrt(1 - m sin² t) over [0, π/2].

    Args:
      m: real array, the parameter (the square of the modulus), at most 1.
    Returns: array of m's shape, of a float dtype; NaN beyond 1.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{ellipe(0.5).item():.4f}'
      '1.3506'
    Source: SciPy documentation, `scipy.special.ellipe`.
    """
