"""The beta distribution: density proportional to x**(a - 1) (1 - x)**(b - 1) on [0, 1]."""

import math

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.exponential import xlog1py, xlogy
from .arguments import Arguments
from .continuous import Continuous
from .incomplete_gamma_beta import beta_tail
from .stirling import log_beta, log_beta_weight

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, a, b, loc, scale


def _probability_arguments(
    q: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, a, b, loc, scale


_TEXTS = {
    "about": "the beta distribution",
    "parameters": "a, b: the shape parameters, positive.",
    "at": "0.25, 2.0, 3.0",
    "of": "0.25, 2.0, 3.0",
    "cdf": "0.2617",
    "isf": "0.5437",
    "logcdf": "-1.3405",
    "logpdf": "0.5232",
    "logsf": "-0.3034",
    "pdf": "1.6875",
    "ppf": "0.2430",
    "sf": "0.7383",
}


def _log_density(x: Array, a: Array, b: Array) -> Array:
    is_large = (a >= 8) & (b >= 8)
    p, q = np.where(is_large, a, 8.0), np.where(is_large, b, 8.0)
    is_end = (x <= 0) | (x >= 1)
    y = np.where(is_end, 0.5, x)
    large_value = log_beta_weight(p, q, y, 1 - y) - np.log(y) - np.log1p(-y)
    large_value = np.where(is_end & (p + q < math.inf), -math.inf, large_value)
    c, d = np.where(is_large, 1.0, a), np.where(is_large, 1.0, b)
    small_value = xlogy(c - 1, x) + xlog1py(d - 1, -x) - log_beta(c, d)
    return np.where(is_large, large_value, small_value)


def _tail(x: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """The log of a tail. One infinite shape puts all mass at an end; two infinite shapes give
    NaN."""
    low, high = a == math.inf, b == math.inf
    is_infinite = low | high
    c, d = np.where(is_infinite, 1.0, a), np.where(is_infinite, 1.0, b)
    log, lower = beta_tail(x, 1 - x, c, d)
    log_at_infinity = np.where(low & high, math.nan, -math.inf)
    return np.where(is_infinite, log_at_infinity, log), np.where(is_infinite, low, lower)


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    low=0.0,
    high=1.0,
    tail=_tail,
    invertible=lambda a, b: np.maximum(a, b) < math.inf,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
