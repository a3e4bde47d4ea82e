"""The gamma distribution: density x**(a - 1) exp(-x) / Γ(a) for x > 0."""

import math

from ... import numpy as np
from ...core.array import Array
from ...lax.special import lgamma
from ...typing import ArrayLike
from ..special.exponential import xlogy
from .arguments import Arguments
from .continuous import Continuous
from .incomplete_gamma_beta import gamma_tail
from .stirling import log_poisson

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, a, loc, scale


def _probability_arguments(
    q: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, a, loc, scale


_TEXTS = {
    "about": "the gamma distribution",
    "parameters": "a: the shape parameter, positive.",
    "at": "2.0, 3.0",
    "of": "0.25, 3.0",
    "cdf": "0.3233",
    "isf": "3.9204",
    "logcdf": "-1.1291",
    "logpdf": "-1.3069",
    "logsf": "-0.3906",
    "pdf": "0.2707",
    "ppf": "1.7273",
    "sf": "0.6767",
}


def log_density(x: Array, a: Array) -> Array:
    """log(x**(a - 1) exp(-x) / Γ(a)). For small a it uses this formula directly, since that is
    defined at x = 0."""
    is_large = (a >= 8) & (a < math.inf)
    is_zero = x <= 0
    a_large, y = np.where(is_large, a, 8.0), np.where(is_zero, 1.0, x)
    large_value = np.where(is_zero, -math.inf, log_poisson(a_large, y) + np.log(a_large / y))
    a_small = np.where(is_large, 1.0, a)
    return np.where(is_large, large_value, xlogy(a_small - 1, x) - x - lgamma(a_small))


def tail(x: Array, a: Array) -> tuple[Array, Array]:
    """The log of a tail. With an infinite shape, all mass is at infinity."""
    is_infinite = a == math.inf
    log, lower = gamma_tail(x, np.where(is_infinite, 1.0, a))
    return np.where(is_infinite, -math.inf, log), is_infinite | lower


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    log_density,
    low=0.0,
    inside=1.0,
    tail=tail,
    invertible=lambda a: a < math.inf,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
