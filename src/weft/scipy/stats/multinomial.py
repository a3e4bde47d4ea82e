"""The multinomial distribution, of the counts of each category in n trials: pmf, logpmf."""

import math
from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy.plans import composite
from ...typing import ArrayLike
from ..special.exponential import xlogy
from ..special.gamma import gammaln
from .arguments import in_wide_real_dtype

__all__ = ["logpmf", "pmf"]


def _log_mass(x: Any, n: Any, p: Any) -> Any:
    is_inside = np.all((x >= 0) & (x == np.floor(x)), -1) & (np.sum(x, -1) == n)
    x_inside = np.where(is_inside[..., None], x, 0.0)
    log = gammaln(n + 1) + np.sum(xlogy(x_inside, p) - gammaln(x_inside + 1), -1)
    total = np.abs(np.sum(p, -1) - 1) < 1e-5
    is_valid = (n >= 0) & (n == np.floor(n)) & np.all((p >= 0) & (p <= 1), -1) & total
    nan = np.any(np.isnan(x), -1) | ~is_valid
    return np.where(nan, math.nan, np.where(is_inside, log, -math.inf))


_log_masses = composite(_log_mass)
_masses = composite(lambda x, n, p: np.exp(_log_mass(x, n, p)))


def _probability_arguments(
    name: str, function: Any, x: ArrayLike, n: ArrayLike, p: ArrayLike
) -> Array:
    """The result of a function, after it checks the shapes."""

    def checked_mass(x: Any, n: Any, p: Any) -> Any:
        if not x.ndim or not p.ndim or x.shape[-1] != p.shape[-1]:
            raise ShapeError(
                f"{name}: the last axes of x and p must be the categories; got x: {x.aval}, "
                f"p: {p.aval}"
            )
        return function(x, n, p)

    return in_wide_real_dtype(name, checked_mass, x=x, n=n, p=p)


@located
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The log of the probability of counts under the multinomial distribution.

    Args:
      x: counts […,k], real numbers.
      n: the number of trials, with a shape that broadcasts to the shape of the counts without the
        last axis.
      p: the probabilities of the categories […,k].
    Returns: array […]. It is -inf for counts that are not integers or do not sum to n, and NaN for
      probabilities outside [0, 1] or that do not sum to 1.
    Raises: TypeError: an argument is complex, or not an array. ValueError: the shapes do not match.
    Example:
      >>> from weft.scipy.stats import multinomial
      >>> f"{multinomial.logpmf(np.array([1, 2]), 3, np.array([0.25, 0.75])).item():.4f}"
      '-0.8630'
    Source: SciPy documentation, `scipy.stats.multinomial`.
    """
    return _probability_arguments("multinomial.logpmf", _log_masses, x, n, p)


@located
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of counts under the multinomial distribution.

    Args: as in `logpmf`.
    Returns: array […]; 0 for counts that are not integers or do not sum to n.
    Example:
      >>> from weft.scipy.stats import multinomial
      >>> f"{multinomial.pmf(np.array([1, 2]), 3, np.array([0.25, 0.75])).item():.4f}"
      '0.4219'
    Source: SciPy documentation, `scipy.stats.multinomial`.
    """
    return _probability_arguments("multinomial.pmf", _masses, x, n, p)
