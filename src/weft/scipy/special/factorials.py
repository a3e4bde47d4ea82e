"""Factorials, and what is made of them."""

import fractions
import math
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import literal
from ...numpy.axes import whole_number
from ...numpy.elementwise import EVEN
from ...numpy.plans import composite
from ...numpy.promotion import noted
from ...primitives import (
    arithmetic,
    comparison,
    gamma_functions as g,
    selection,
    structural,
)
from ...typing import Array, ArrayLike
from .makers import computed_by, floats

__all__ = [
    "bernoulli",
    "comb",
    "factorial",
    "poch",
]


@computed_by(g.poch)
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol Γ(z + m) / Γ(z).

    Args:
      z, m: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> poch(2.0, 3.0).item()
      24.0
    Source: DLMF 5.2.4.
    """


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n!, which is Γ(n + 1); 0 for negative n.

    Args:
      n: real array of any shape; integers become the default float.
      exact: must be False: arrays hold no integers without a limit.
    Returns: array of n's shape, of a float dtype.
    Raises: NotImplementedError: exact is True. TypeError: n isn't real.
    Example:
      >>> factorial(4).item()
      24.0
    Source: DLMF 5.4.1.
    """
    _only_inexact("factorial", exact)
    (x,) = floats("factorial", n=n)
    return _factorial(x)


@composite
def _factorial(x: Any) -> Any:
    none, one = literal(0.0, x.aval.dtype), literal(1.0, x.aval.dtype)
    negative = comparison.lt(x, none)
    out = g.gamma(structural.add(selection.select_n(negative, x, none), one))
    return selection.select_n(negative, _snapped(out), none)


def _only_inexact(name: str, exact: bool) -> None:
    if exact:
        raise noted(
            NotImplementedError(
                f"{name}: exact must be False: arrays hold no integers without a limit\n"
                f"  fix: scipy.special.{name}, for numbers known in Python"
            )
        )


def _snapped(x: Any) -> Any:
    """Rounds to a whole number what is one but for rounding."""
    whole = arithmetic.round_(x, rounding_method=EVEN)
    apart = arithmetic.abs_(arithmetic.sub(whole, x))
    eps = 16 * float(dtypes.finfo(x.aval.dtype).eps)
    near = comparison.lt(apart, arithmetic.mul(x, literal(eps, x.aval.dtype)))
    lift = selection.select_n(near, literal(0.0, x.aval.dtype), arithmetic.sub(whole, x))
    return structural.add(x, selection.stop_gradient(lift))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to take k of N things; 0 where k < 0, N < 0 or k > N.

    Args:
      N, k: real arrays that broadcast together, promoted to one float dtype.
      repetition: a thing may be taken more than once: comb(N + k - 1, k).
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> comb(5, 2).item()
      10.0
    Source: DLMF 1.2.1, 5.12.1.
    """
    number, taken = floats("comb", N=N, k=k)
    return _comb(number, taken, repetition=bool(repetition))


@composite
def _comb(number: Any, taken: Any, *, repetition: bool) -> Any:
    none, one = literal(0.0, number.aval.dtype), literal(1.0, number.aval.dtype)
    if repetition:
        empty = comparison.eq(structural.add(number, taken), none)  # one way to take nothing
        total = arithmetic.sub(structural.add(number, taken), one)
        total = selection.select_n(empty, total, none)
    else:
        total = number
    valid = comparison.ge(taken, none) & comparison.ge(number, none)
    valid = valid & comparison.le(taken, total)
    n, k = selection.select_n(valid, one, total), selection.select_n(valid, none, taken)
    ways = g.beta(structural.add(arithmetic.sub(n, k), one), structural.add(k, one))
    ways = arithmetic.div(one, arithmetic.mul(structural.add(n, one), ways))
    return selection.select_n(valid, none, _snapped(ways))


def bernoulli(n: int) -> Array:
    """Bernoulli's numbers B₀ to Bₙ, with B₁ = -1/2.

    Args:
      n: a known int of at least 0.
    Returns: array [n + 1] of the default float dtype.
    Raises: TypeError: n is no known int. ValueError: it is negative.
    Example:
      >>> bernoulli(2).tolist()  # doctest: +ELLIPSIS
      [1.0, -0.5, 0.1666...]
    Source: R. P. Brent and D. Harvey 2011, “Fast computation of Bernoulli, tangent and secant
    numbers”; DLMF 24.2.
    """
    count = whole_number("bernoulli", n, "n")
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
        size = fractions.Fraction(2 * k * tangents[k], power * (power - 1))
        numbers[2 * k] = sign * (float(size) if size < 2**1000 else math.inf)
    return numbers
