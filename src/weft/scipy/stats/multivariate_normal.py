"""The normal distribution of vectors: pdf, logpdf."""

import math
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax.linalg.cholesky import cholesky
from ...lax.linalg.eigh import eigh
from ...lax.linalg.triangular_solve import triangular_solve
from ...typing import ArrayLike
from .arguments import in_wide_real_dtype

__all__ = ["logpdf", "pdf"]

LOG_TWO_PI = math.log(2 * math.pi)


def log_density(centred: Any, factor: Any) -> Any:
    """The log of the density, from x - mean […,n] and the lower Cholesky factor […,n,n] of cov."""
    n = factor.shape[-1]
    if factor.ndim == 2:  # one matrix for all points
        columns = centred.reshape(-1, n).T
        y = triangular_solve(factor, columns, left_side=True, lower=True).T.reshape(centred.shape)
    else:
        shape = np.broadcast_shapes(centred.shape[:-1], factor.shape[:-2])
        factors = np.broadcast_to(factor, (*shape, n, n))
        right = np.broadcast_to(centred, (*shape, n))
        y = triangular_solve(factors, right[..., None], left_side=True, lower=True)[..., 0]
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return -0.5 * (np.sum(y * y, -1) + n * LOG_TWO_PI) - np.sum(np.log(diagonal), -1)


def _singular(centred: Any, cov: Any) -> Any:
    """The log of the density on the subspace that a singular matrix spans; -inf elsewhere."""
    vectors, values = eigh(cov)
    largest_value = np.max(np.abs(values), -1, keepdims=True)
    eps = float(dtypes.finfo(cov.dtype).eps)
    smallest_value = largest_value * eps * (1e6 if cov.dtype == dtypes.float64 else 1e3)
    is_nonzero = values > smallest_value
    nonzero_values = np.where(is_nonzero, values, 1.0)
    parts = np.squeeze(np.matmul(centred[..., None, :], vectors), -2)
    distance = np.sqrt(np.sum(np.where(is_nonzero, 0.0, parts * parts), -1))
    square = np.sum(np.where(is_nonzero, parts * parts / nonzero_values, 0.0), -1)
    rank = np.sum(is_nonzero, -1)
    log = -0.5 * (square + rank * LOG_TWO_PI + np.sum(np.log(nonzero_values), -1))
    log = np.where(distance > smallest_value[..., 0] * 1e3, -math.inf, log)
    return np.where(np.any(values < -smallest_value, -1), math.nan, log)


def _of_values(name: str, x: Any, mean: Any, cov: Any, singular: bool) -> Any:
    n = mean.shape[-1] if mean.ndim else cov.shape[-1] if cov.ndim else 1
    if not mean.ndim and not cov.ndim:  # one variable, elementwise
        return -0.5 * ((x - mean) ** 2 / cov + LOG_TWO_PI + np.log(cov))
    if cov.ndim == 1:
        cov = np.diag(cov)
    elif not cov.ndim:
        cov = cov * np.eye(n, dtype=cov.dtype)
    shapes_fit = cov.shape[-2:] == (n, n) and all(not a.ndim or a.shape[-1] == n for a in (x, mean))
    if not shapes_fit:
        raise ShapeError(
            f"{name}: expected x[…,n], mean[…,n] and cov[…,n,n]; got x: {x.aval}, "
            f"mean: {mean.aval}, cov: {cov.aval}"
        )
    centred = x - mean
    centred = centred if centred.ndim else np.broadcast_to(centred, (n,))
    return _singular(centred, cov) if singular else log_density(centred, cholesky(cov))


def _probability_arguments(
    name: str, x: ArrayLike, mean: Any, cov: ArrayLike, allow_singular: bool | None
) -> Array:
    if allow_singular not in (None, False, True):
        raise TypeError(f"{name}: allow_singular must be a bool; got {allow_singular!r}")
    center = 0.0 if mean is None else mean

    def function(x: Any, mean: Any, cov: Any) -> Any:
        return _of_values(name, x, mean, cov, bool(allow_singular))

    return in_wide_real_dtype(name, function, x=x, mean=center, cov=cov)


@located
def logpdf(
    x: ArrayLike,
    mean: ArrayLike | None = None,
    cov: ArrayLike = 1,
    allow_singular: bool | None = None,
) -> Array:
    """The log of the density of a normal distribution of vectors.

    Args:
      x: points, a real array […,n], or of any shape if mean and cov are scalars.
      mean: array […,n], or a scalar; 0 by default.
      cov: the covariance matrix […,n,n], its diagonal [n], or a scalar, the variance of all
        variables.
      allow_singular: accept a singular matrix; the distribution is on the subspace that it spans.
    Returns: array […]; NaN for a matrix that is not positive definite; with `allow_singular`, NaN
      for a matrix with a negative eigenvalue.
    Raises: TypeError: an argument is complex, or not an array. ValueError: the shapes do not match.
    Example:
      >>> from weft.scipy.stats import multivariate_normal
      >>> x, cov = np.array([1.0, 2.0]), np.array([[2.0, 1.0], [1.0, 2.0]])
      >>> f"{multivariate_normal.logpdf(x, np.zeros(2), cov).item():.4f}"
      '-3.3872'
    Source: SciPy documentation, `scipy.stats.multivariate_normal`.
    """
    return _probability_arguments("multivariate_normal.logpdf", x, mean, cov, allow_singular)


@located
def pdf(
    x: ArrayLike,
    mean: ArrayLike | None = None,
    cov: ArrayLike = 1,
    allow_singular: bool | None = None,
) -> Array:
    """The density of a normal distribution of vectors.

    Args: as in `logpdf`.
    Returns: array […].
    Example:
      >>> from weft.scipy.stats import multivariate_normal
      >>> x, cov = np.array([1.0, 2.0]), np.array([[2.0, 1.0], [1.0, 2.0]])
      >>> f"{multivariate_normal.pdf(x, np.zeros(2), cov).item():.4f}"
      '0.0338'
    Source: SciPy documentation, `scipy.stats.multivariate_normal`.
    """
    return np.exp(_probability_arguments("multivariate_normal.pdf", x, mean, cov, allow_singular))
