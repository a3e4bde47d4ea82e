"""The binomial distribution: the number of successes in n trials."""

import math

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.exponential import xlog1py, xlogy
from .arguments import Arguments
from .discrete import Discrete
from .incomplete_gamma_beta import beta_tail
from .stirling import HALF_LOG_TWO_PI, deviance, stirling_error_of_whole

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _point_arguments(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, n, p, loc


def _probability_arguments(
    q: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0
) -> Arguments:
    return q, n, p, loc


_TEXTS = {
    "about": "the binomial distribution",
    "parameters": "n: the number of trials.\np: the probability of success.",
    "at": "2, 5, 0.3",
    "of": "0.25, 5, 0.3",
    "cdf": "0.8369",
    "isf": "2.0000",
    "logcdf": "-0.1780",
    "logpmf": "-1.1754",
    "logsf": "-1.8135",
    "pmf": "0.3087",
    "ppf": "1.0000",
    "sf": "0.1631",
}


def _log_mass(k: Array, n: Array, p: Array) -> Array:
    """Uses the deviation of k from n p, and the plain formula at both ends.

    Source: C. Loader (2000), “Fast and accurate computation of binomial probabilities”.
    """
    is_inner = (k > 0) & (k < n) & (p > 0) & (p < 1)
    a, b, r = np.where(is_inner, k, 1.0), np.where(is_inner, n - k, 1.0), np.where(is_inner, p, 0.5)
    error = stirling_error_of_whole(np.maximum(n, 1.0))
    error = error - stirling_error_of_whole(a) - stirling_error_of_whole(b)
    inner_value = (
        error - deviance(a, b, r, 1 - r) - 0.5 * np.log(a * (b / (a + b))) - HALF_LOG_TWO_PI
    )
    return np.where(is_inner, inner_value, xlogy(k, p) + xlog1py(n - k, -p))


def _tail(k: Array, n: Array, p: Array) -> tuple[Array, Array]:
    """P(K > k), which is the lower tail at p of a beta distribution with shapes k + 1 and n - k."""
    is_degenerate = (p == 0) | (p == 1)
    r = np.where(is_degenerate, 0.5, p)
    log, upper = beta_tail(r, 1 - r, k + 1, np.maximum(n - k, 1.0))
    return np.where(is_degenerate, -math.inf, log), np.where(is_degenerate, p == 1, ~upper)


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_mass,
    _tail,
    lambda n, p: (n >= 0) & (n == np.floor(n)) & (p >= 0) & (p <= 1),
    high=lambda n, p: n,
)

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
