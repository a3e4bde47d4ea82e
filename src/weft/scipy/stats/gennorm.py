"""The generalised normal distribution: density proportional to exp(-|x|**beta)."""

import math

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.special import lgamma
from ...typing import ArrayLike
from .arguments import Arguments
from .continuous import Continuous
from .incomplete_gamma_beta import gamma_tail
from .stirling import log_of_complement

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, beta, loc, scale


def _probability_arguments(
    q: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, beta, loc, scale


_TEXTS = {
    "about": "the generalised normal distribution",
    "parameters": "beta: the shape parameter, positive.",
    "at": "0.5, 3.0",
    "of": "0.25, 3.0",
    "cdf": "0.7715",
    "isf": "0.4571",
    "logcdf": "-0.2594",
    "logpdf": "-0.7050",
    "logsf": "-1.4763",
    "pdf": "0.4941",
    "ppf": "-0.4571",
    "sf": "0.2285",
}


def _power(y: Array, beta: Array) -> Array:
    """|y|**beta, with derivatives at y = 0."""
    zero = y == 0
    return np.where(zero, 0.0, np.exp(beta * np.log(np.where(zero, 1.0, np.abs(y)))))


def _log_density(y: Array, beta: Array) -> Array:
    inverse = 1 / beta
    return -math.log(2) - lgamma(1 + inverse) - _power(y, beta)


def _tail(y: Array, beta: Array) -> tuple[Array, Array]:
    """log P(X > |y|), from half the upper tail of a gamma distribution with shape 1 / beta."""
    power = _power(y, beta)
    is_zero, largest = power == 0, float(dtypes.finfo(power.dtype).max)
    log, lower = gamma_tail(np.where(is_zero, 1.0, np.minimum(power, largest)), 1 / beta)
    log_complement = log_of_complement(np.where(lower, log, -1.0))
    upper = np.where(is_zero, 0.0, np.where(lower, log_complement, log))
    return upper - math.log(2), y < 0


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    tail=_tail,
    symmetric=True,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
