"""The Dirichlet distribution of vectors of positive numbers whose sum is 1: pdf, logpdf."""

import math
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy.plans import composite
from ...typing import ArrayLike
from ..special.exponential import xlogy
from ..special.gamma import gammaln
from .arguments import in_wide_real_dtype

__all__ = ["logpdf", "pdf"]


def _log_density(x: Any, alpha: Any) -> Any:
    if len(x) < len(alpha):
        x = np.concatenate([x, 1 - np.sum(x, 0, keepdims=True)])
    alpha = alpha.reshape(-1, *[1] * (x.ndim - 1))
    is_inside = np.all(x >= 0, 0) & (np.abs(np.sum(x, 0) - 1) < _near(x.dtype))
    x_inside = np.where(is_inside, x, 0.5)
    log = np.sum(xlogy(alpha - 1, x_inside) - gammaln(alpha), 0) + gammaln(np.sum(alpha, 0))
    log = np.where(is_inside | np.any(np.isnan(x), 0), log, -math.inf)
    return np.where(np.any(np.isnan(x), 0) | ~np.all(alpha > 0, 0), math.nan, log)


def _near(dtype: Any) -> float:
    """The tolerance for the sum, which must be 1; in float64 the same as in SciPy."""
    return 1e-9 if dtype == dtypes.float64 else 1e-6


_log_densities = composite(_log_density)
_densities = composite(lambda x, alpha: np.exp(_log_density(x, alpha)))


def _probability_arguments(name: str, function: Any, x: ArrayLike, alpha: ArrayLike) -> Array:
    """The result of a function, after it checks the shapes."""

    def checked_density(x: Any, alpha: Any) -> Any:
        lengths = (alpha.shape[0], alpha.shape[0] - 1) if alpha.ndim == 1 else ()
        if not x.ndim or x.shape[0] not in lengths:
            raise ShapeError(
                f"{name}: expected alpha[k] and x of k or k - 1 rows; got alpha: {alpha.aval}, "
                f"x: {x.aval}"
            )
        return function(x, alpha)

    return in_wide_real_dtype(name, checked_density, x=x, alpha=alpha)


@located
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Log of the density of the Dirichlet distribution.

    Args:
      x: real array [k,…] of points, one in each column. The last row may be omitted: [k-1,…].
      alpha: the concentrations [k], positive.
    Returns: array [...] without the first axis. It is -inf for points that are not positive or do
      not sum to 1, and NaN for concentrations that are not positive.
    Raises: TypeError: an argument is complex, or not an array. ValueError: the shapes do not match.
    Example:
      >>> from weft.scipy.stats import dirichlet
      >>> x, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.0, 2.0, 3.0])
      >>> f"{dirichlet.logpdf(x, alpha).item():.4f}"
      '1.5041'
    Source: SciPy documentation, `scipy.stats.dirichlet`.
    """
    return _probability_arguments("dirichlet.logpdf", _log_densities, x, alpha)


@located
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density of the Dirichlet distribution.

    Args: as in `logpdf`.
    Returns: array [...] without the first axis; 0 for points that do not sum to 1.
    Example:
      >>> from weft.scipy.stats import dirichlet
      >>> x, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.0, 2.0, 3.0])
      >>> f"{dirichlet.pdf(x, alpha).item():.4f}"
      '4.5000'
    Source: SciPy documentation, `scipy.stats.dirichlet`.
    """
    return _probability_arguments("dirichlet.pdf", _densities, x, alpha)
