"""The negative binomial distribution: failures before the n-th success."""

import math

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.exponential import xlogy
from .arguments import Arguments
from .discrete import Discrete
from .incomplete_gamma_beta import beta_tail
from .stirling import log_beta_weight

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _point_arguments(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, n, p, loc


def _probability_arguments(
    q: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0
) -> Arguments:
    return q, n, p, loc


_TEXTS = {
    "about": "the negative binomial distribution",
    "parameters": "n: the number of successes, positive.\np: the probability of success.",
    "at": "2, 5, 0.3",
    "of": "0.25, 5, 0.3",
    "cdf": "0.0288",
    "isf": "15.0000",
    "logcdf": "-3.5475",
    "logpmf": "-4.0252",
    "logsf": "-0.0292",
    "pmf": "0.0179",
    "ppf": "7.0000",
    "sf": "0.9712",
}


def _log_mass(k: Array, n: Array, p: Array) -> Array:
    """p**n (1 - p)**k / (k B(n, k)); p**n for k = 0."""
    is_degenerate = (k == 0) | (p == 1)
    number, r = np.where(is_degenerate, 1.0, k), np.where(p == 1, 0.5, p)
    weight = log_beta_weight(n, number, r, 1 - r) - np.log(number)
    return np.where(k == 0, xlogy(n, p), np.where(p == 1, -math.inf, weight))


def _tail(k: Array, n: Array, p: Array) -> tuple[Array, Array]:
    """P(K <= k), which is the lower tail at p of a beta distribution with shapes n and k + 1."""
    is_degenerate = p == 1
    r = np.where(is_degenerate, 0.5, p)
    log, lower = beta_tail(r, 1 - r, n, k + 1)
    return np.where(is_degenerate, -math.inf, log), np.where(is_degenerate, False, lower)


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_mass,
    _tail,
    lambda n, p: (n > 0) & (p > 0) & (p <= 1),
)

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
