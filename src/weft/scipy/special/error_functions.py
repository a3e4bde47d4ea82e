"""Error functions, and the normal distribution's functions."""

from ...numpy.axes import whole_number
from ...numpy.promotion import noted
from ...numpy.ufunc_options import takes_options
from ...primitives import normal_distribution as normal, special as p
from ...typing import Array, ArrayLike
from .makers import computed_by, elementwise

__all__ = [
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
]


@computed_by(p.erf)
def erf(x: ArrayLike) -> Array:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> erf(1.0).item()  # doctest: +ELLIPSIS
      0.8427...
    Source: DLMF 7.2.1.
    """


@computed_by(p.erfc)
def erfc(x: ArrayLike) -> Array:
    """The complementary error function 1 - erf(x), exact for large x too.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{erfc(4.0).item():.3e}'
      '1.542e-08'
    Source: DLMF 7.2.2.
    """


@computed_by(normal.erfcx)
def erfcx(x: ArrayLike) -> Array:
    """exp(x²) erfc(x), which neither vanishes nor overflows for large x.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{erfcx(100.0).item():.5f}'
      '0.00564'
    Source: DLMF 7.2.3 on the imaginary axis; Shepherd and Laframboise 1981.
    """


@computed_by(p.erf_inv)
def erfinv(x: ArrayLike) -> Array:
    """The inverse of erf; NaN outside [-1, 1].

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{erfinv(0.5).item():.4f}'
      '0.4769'
    Source: DLMF 7.17.
    """


@computed_by(normal.ndtr)
def ndtr(x: ArrayLike) -> Array:
    """The distribution function of the normal distribution.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> ndtr(0.0).item()
      0.5
    Source: DLMF 7.1.
    """


@computed_by(normal.ndtri)
def ndtri(p: ArrayLike) -> Array:
    """The quantiles of the normal distribution: the inverse of ndtr; NaN outside [0, 1].

    Args:
      p: real array of any shape; integers become the default float.
    Returns: array of p's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{ndtri(0.975).item():.2f}'
      '1.96'
    Source: M. J. Wichura 1988, “Algorithm AS 241”, Applied Statistics 37.
    """


_log_ndtr = elementwise(normal.log_ndtr, "log_ndtr", "x")


@takes_options
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of ndtr(x), which keeps its digits far below 0, where ndtr vanishes.

    Args:
      x: real array of any shape; integers become the default float.
      series_order: from 1 to 30. Other implementations take so many terms of a series; this one
        has all digits whatever it is.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: series_order is no int. ValueError: it is out of its range.
    Example:
      >>> log_ndtr(-100.0).item()  # doctest: +ELLIPSIS
      -5005.5...
    Source: DLMF 7.12.
    """
    order = whole_number("log_ndtr", series_order, "series_order")
    if not 1 <= order <= 30:
        raise noted(ValueError(f"log_ndtr: series_order must be from 1 to 30; got {order}"))
    return _log_ndtr(x)
