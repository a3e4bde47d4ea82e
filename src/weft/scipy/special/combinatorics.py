"""Factorials and binomial coefficients: factorial, comb, poch."""

from typing import Any

from ... import dtypes
from ...core.array import literal
from ...numpy.arithmetic import EVEN
from ...numpy.plans import composite
from ...numpy.promotion import noted
from ...primitives import arithmetic, comparison, gamma_functions as g, selection, structural
from ...typing import Array, ArrayLike
from .makers import computed_by, floats

__all__ = ["comb", "factorial", "poch"]


@computed_by(g.poch)
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol Γ(z + m) / Γ(z).

    Args:
      z, m: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> poch(2.0, 3.0).item()
      24.0
    Source: DLMF 5.2.4.
    """


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n!, which is Γ(n + 1); 0 for negative n.

    Args:
      n: real array of any shape; integers become the default float.
      exact: must be False: arrays cannot hold integers of unlimited size.
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
    zero, one = literal(0.0, x.aval.dtype), literal(1.0, x.aval.dtype)
    negative = comparison.lt(x, zero)
    out = g.gamma(structural.add(selection.select_n(negative, x, zero), one))
    return selection.select_n(negative, _round_near_integers(out), zero)


def _only_inexact(name: str, is_exact: bool) -> None:
    if is_exact:
        raise noted(
            NotImplementedError(
                f"{name}: exact must be False: integers in arrays have a limited size\n"
                f"  fix: scipy.special.{name}, for numbers known in Python"
            )
        )


def _round_near_integers(x: Any) -> Any:
    """Rounds numbers that differ from an integer by rounding errors only."""
    integer = arithmetic.round_(x, rounding_method=EVEN)
    distance = arithmetic.abs_(arithmetic.sub(integer, x))
    eps = 16 * float(dtypes.finfo(x.aval.dtype).eps)
    is_integer = comparison.lt(distance, arithmetic.mul(x, literal(eps, x.aval.dtype)))
    difference = selection.select_n(
        is_integer, literal(0.0, x.aval.dtype), arithmetic.sub(integer, x)
    )
    return structural.add(x, selection.stop_gradient(difference))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose k of N elements; 0 for k < 0, N < 0 or k > N.

    Args:
      N, k: real arrays that broadcast together, promoted to one float dtype.
      repetition: count choices with repetition: comb(N + k - 1, k).
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> comb(5, 2).item()
      10.0
    Source: DLMF 1.2.1, 5.12.1.
    """
    number, k_value = floats("comb", N=N, k=k)
    return _comb(number, k_value, repetition=bool(repetition))


@composite
def _comb(number: Any, subset_size: Any, *, repetition: bool) -> Any:
    zero, one = literal(0.0, number.aval.dtype), literal(1.0, number.aval.dtype)
    if repetition:
        is_empty = comparison.eq(
            structural.add(number, subset_size), zero
        )  # one way to choose none
        total = arithmetic.sub(structural.add(number, subset_size), one)
        total = selection.select_n(is_empty, total, zero)
    else:
        total = number
    valid = comparison.ge(subset_size, zero) & comparison.ge(number, zero)
    valid = valid & comparison.le(subset_size, total)
    n, k = selection.select_n(valid, one, total), selection.select_n(valid, zero, subset_size)
    ways = g.beta(structural.add(arithmetic.sub(n, k), one), structural.add(k, one))
    ways = arithmetic.div(one, arithmetic.mul(structural.add(n, one), ways))
    return selection.select_n(valid, zero, _round_near_integers(ways))
