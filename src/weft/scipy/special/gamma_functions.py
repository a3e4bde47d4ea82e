"""The gamma function and its relatives: logarithm, derivatives, beta, incomplete ones."""

import math
from typing import Any

import numpy as np

from ...core.array import Array as HostArray, literal
from ...core.aval import aval
from ...numpy.axes import whole_number
from ...numpy.plans import composite
from ...numpy.promotion import noted
from ...primitives import (
    arithmetic,
    comparison,
    gamma_functions as g,
    incomplete,
    selection,
    special as p,
    structural,
)
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
    "multigammaln",
    "polygamma",
]


@computed_by(g.gamma)
def gamma(x: ArrayLike) -> Array:
    """The gamma function Γ(x); NaN at the negative integers.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> beta(2.0, 3.0).item()  # doctest: +ELLIPSIS
      0.08333...
    Source: DLMF 5.12.1.
    """


@computed_by(g.betaln)
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log |B(a, b)|, exact for large arguments too.

    Args:
      a, b: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{betaln(1e6, 2.0).item():.4f}'
      '-27.6310'
    Source: DLMF 5.11.1 and 5.12.1.
    """


@computed_by(incomplete.igamma)
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x).

    Args:
      a, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where one is negative.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{gammainc(1.0, 1.0).item():.4f}'
      '0.6321'
    Source: DLMF 8.2.4.
    """


@computed_by(incomplete.igammac)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where one is negative.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{gammaincc(1.0, 1.0).item():.4f}'
      '0.3679'
    Source: DLMF 8.2.4.
    """


@computed_by(incomplete.regularized_incomplete_beta)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function I(a, b, x).

    Args:
      a, b, x: real arrays that broadcast together, promoted to one float dtype.
        NaN for negative a or b, and x outside [0, 1].
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> betainc(1.0, 1.0, 0.25).item()  # doctest: +ELLIPSIS
      0.25...
    Source: DLMF 8.17.2.
    """


_polygamma = elementwise(p.polygamma, "polygamma", "n", "x")


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of digamma, for whole numbers n ≥ 0.

    Args:
      n, x: real arrays that broadcast together, promoted to one float dtype.
        NaN where n isn't a whole number.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
      d: the dimension, a known int of at least 1.
    Returns: array of a's shape, of a float dtype.
    Raises: TypeError: d is no known int. ValueError: it is less than 1.
    Example:
      >>> f'{multigammaln(3.0, 2).item():.4f}'
      '1.5502'
    Source: DLMF 35.3.
    """
    dimension = whole_number("multigammaln", d, "d")
    if dimension < 1:
        raise noted(ValueError(f"multigammaln: d must be at least 1; got {dimension}"))
    (x,) = floats("multigammaln", a=a)
    return _multigammaln(x, d=dimension)


@composite
def _multigammaln(a: Any, *, d: int) -> Any:
    dtype = a.aval.dtype
    column = (d, *[1] * a.aval.ndim)  # in front: XLA computes the last axis in vectors
    halves = np.arange(d).astype(dtype).reshape(column) * dtype.type(0.5)
    first = structural.reshape(a, shape=(1, *a.aval.shape))
    parts = p.lgamma(arithmetic.sub(first, HostArray(halves, aval(column, dtype))))
    total = structural.reduce_sum(parts, axes=(0,))
    constant = literal(0.25 * d * (d - 1) * math.log(math.pi), dtype)
    inside = comparison.gt(a, literal(0.5 * (d - 1), dtype))
    nan = literal(math.nan, dtype)
    return selection.select_n(inside, nan, structural.add(total, constant))
