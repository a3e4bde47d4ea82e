"""The gamma function and related functions: gamma, gammaln, gammasgn, loggamma, digamma, polygamma,
beta, betaln, betainc, gammainc, gammaincc, multigammaln.

For complex numbers, `loggamma` uses Stirling's series after a shift to the right, and the
reflection formula in the left half-plane.
"""

import math
from typing import Any

import numpy as onp

from ... import numpy as np
from ...core.array import Array as HostArray, literal
from ...core.aval import aval
from ...numpy.axes import as_int
from ...numpy.plans import composite
from ...numpy.promotion import as_inexact, noted
from ...numpy.ufunc_options import takes_options
from ...primitives import (
    arithmetic,
    comparison,
    gamma_functions as g,
    gamma_functions as p,
    incomplete_gamma_beta,
    selection,
    structural,
)
from ...primitives.gamma_formulas import STIRLING
from ...typing import Array, ArrayLike
from .makers import computed_by, elementwise, floats

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "digamma",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "polygamma",
]


@computed_by(g.gamma)
def gamma(x: ArrayLike) -> Array:
    """The gamma function Γ(x); NaN at the negative integers.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> gamma(5.0).item()
      24.0
    Source: DLMF 5.2.1.
    """


@computed_by(p.lgamma)
def gammaln(x: ArrayLike) -> Array:
    """log |Γ(x)|; inf at 0 and the negative integers.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> gammaln(3.0).item()  # doctest: +ELLIPSIS
      0.693147...
    Source: DLMF 5.2.1.
    """


@computed_by(g.gammasgn)
def gammasgn(x: ArrayLike) -> Array:
    """The sign of Γ(x): 1 or -1; NaN at the negative integers.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> gammasgn(-0.5).item()
      -1.0
    Source: DLMF 5.5.3.
    """


@computed_by(p.digamma)
def digamma(x: ArrayLike) -> Array:
    """The derivative of log Γ(x); NaN at the negative integers.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{digamma(1.0).item():.4f}'
      '-0.5772'
    Source: DLMF 5.2.2.
    """


@computed_by(g.beta)
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function B(a, b) = Γ(a) Γ(b) / Γ(a + b).

    Args:
      a, b: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> beta(2.0, 3.0).item()  # doctest: +ELLIPSIS
      0.08333...
    Source: DLMF 5.12.1.
    """


@computed_by(g.betaln)
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log |B(a, b)|, accurate for large arguments.

    Args:
      a, b: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{betaln(1e6, 2.0).item():.4f}'
      '-27.6310'
    Source: DLMF 5.11.1 and 5.12.1.
    """


@computed_by(incomplete_gamma_beta.igamma)
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x).

    Args:
      a, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where one is negative.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{gammainc(1.0, 1.0).item():.4f}'
      '0.6321'
    Source: DLMF 8.2.4.
    """


@computed_by(incomplete_gamma_beta.igammac)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where one is negative.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{gammaincc(1.0, 1.0).item():.4f}'
      '0.3679'
    Source: DLMF 8.2.4.
    """


@computed_by(incomplete_gamma_beta.regularized_incomplete_beta)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function I(a, b, x).

    Args:
      a, b, x: real arrays that broadcast together, promoted to one float dtype.
        NaN for negative a or b, and x outside [0, 1].
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> betainc(1.0, 1.0, 0.25).item()  # doctest: +ELLIPSIS
      0.25...
    Source: DLMF 8.17.2.
    """


_polygamma = elementwise(p.polygamma, "polygamma", "n", "x")


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of digamma, for integers n ≥ 0.

    Args:
      n, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where n is not an integer.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{polygamma(1, 1.0).item():.4f}'
      '1.6449'
    Source: DLMF 5.15.1.
    """
    return _polygamma(n, x)


def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension d.

    Args:
      a: real array of any shape; integers become the default float. NaN where a ≤ (d - 1) / 2.
      d: the dimension, a concrete int of at least 1.
    Returns: array of a's shape, of a float dtype.
    Raises: TypeError: d is not a concrete int. ValueError: d is less than 1.
    Example:
      >>> f'{multigammaln(3.0, 2).item():.4f}'
      '1.5502'
    Source: DLMF 35.3.
    """
    dimension = as_int("multigammaln", d, "d")
    if dimension < 1:
        raise noted(ValueError(f"multigammaln: d must be at least 1; got {dimension}"))
    (x,) = floats("multigammaln", a=a)
    return _multigammaln(x, d=dimension)


@composite
def _multigammaln(a: Any, *, d: int) -> Any:
    dtype = a.aval.dtype
    column = (d, *[1] * a.aval.ndim)  # first, because XLA vectorises the last axis
    halves = onp.arange(d).astype(dtype).reshape(column) * dtype.type(0.5)
    expanded = structural.reshape(a, shape=(1, *a.aval.shape))
    parts = p.lgamma(arithmetic.sub(expanded, HostArray(halves, aval(column, dtype))))
    total = structural.reduce_sum(parts, axes=(0,))
    constant = literal(0.25 * d * (d - 1) * math.log(math.pi), dtype)
    is_inside = comparison.gt(a, literal(0.5 * (d - 1), dtype))
    nan = literal(math.nan, dtype)
    return selection.select_n(is_inside, nan, structural.add(total, constant))


# --- the logarithm of the gamma function ---


@takes_options
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of log Γ(x), which is analytic except on the negative real axis.

    Args:
      x: real or complex array of any shape; integers become the default float.
    Returns: array of x's shape. For real x, it has a float dtype, and NaN for negative x.
    Raises: TypeError: x is not an array.
    Example:
      >>> loggamma(3.0).item()  # doctest: +ELLIPSIS
      0.693147...
    Source: DLMF 5.2.1, 5.5.3, 5.11.1.
    """
    v = as_inexact("loggamma", x)
    return _complex_loggamma(v) if v.aval.dtype.kind == "c" else _real_loggamma(v)


@composite
def _real_loggamma(x: Any) -> Any:
    dtype = x.aval.dtype
    return np.where(np.less(x, literal(0.0, dtype)), np.nan, p.lgamma(x))


@composite
def _complex_loggamma(z: Any) -> Any:
    is_left = np.less(np.real(z), 0)
    is_low = np.less(np.imag(z), 0)
    reflected_z = np.where(is_left, 1 - z, z)
    shifted_z = reflected_z
    product = np.zeros_like(z)
    for _ in range(
        9
    ):  # one logarithm for each factor: the logarithm of the product would lose multiples of 2πi
        is_small = np.less(np.real(shifted_z), 9)
        product = product + np.log(np.where(is_small, shifted_z, 1))
        shifted_z = np.where(is_small, shifted_z + 1, shifted_z)
    inverse = 1 / shifted_z
    square, tail = inverse * inverse, 0.0
    for c in reversed(STIRLING):
        tail = tail * square + c
    out = (
        (shifted_z - 0.5) * np.log(shifted_z)
        - shifted_z
        + (0.5 * math.log(2 * math.pi) + tail * inverse)
    )
    out = out - product
    # log Γ(z) = log π - log sin(πz) - log Γ(1 - z), with sin(πz) from exp(2πiz), in the upper half
    upper = np.where(is_left, np.where(is_low, np.conj(z), z), 0.5j)
    exponential = np.exp(2j * math.pi * (upper - np.round(np.real(upper))))
    sine = 1j * math.pi * (0.5 - upper) - math.log(2) + np.log1p(-exponential)
    reflected = math.log(math.pi) - np.where(is_low, np.conj(sine), sine) - out
    return np.where(is_left, reflected, out)
