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


def _at(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, a, b, loc, scale


def _of(
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
    large = (a >= 8) & (b >= 8)
    p, q = np.where(large, a, 8.0), np.where(large, b, 8.0)
    end = (x <= 0) | (x >= 1)
    y = np.where(end, 0.5, x)
    joined = log_beta_weight(p, q, y, 1 - y) - np.log(y) - np.log1p(-y)
    joined = np.where(end & (p + q < math.inf), -math.inf, joined)
    c, d = np.where(large, 1.0, a), np.where(large, 1.0, b)
    plain = xlogy(c - 1, x) + xlog1py(d - 1, -x) - log_beta(c, d)
    return np.where(large, joined, plain)


def _tail(x: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """The log of a tail. One infinite shape puts all mass at an end; two infinite shapes give
    NaN."""
    low, high = a == math.inf, b == math.inf
    endless = low | high
    c, d = np.where(endless, 1.0, a), np.where(endless, 1.0, b)
    log, lower = beta_tail(x, 1 - x, c, d)
    sure = np.where(low & high, math.nan, -math.inf)
    return np.where(endless, sure, log), np.where(endless, low, lower)


_made = Continuous(
    __name__,
    _at,
    _of,
    _TEXTS,
    _log_density,
    low=0.0,
    high=1.0,
    tail=_tail,
    invertible=lambda a, b: np.maximum(a, b) < math.inf,
)

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
