"""The normal distribution, truncated at a and b."""

import math

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.error_functions import log_ndtr, ndtr, ndtri
from .arguments import Arguments
from .continuous import Continuous
from .stirling import HALF_LOG_TWO_PI, log_of_complement

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    loc: ArrayLike = 0,
    scale: ArrayLike = 1,
) -> Arguments:
    return x, a, b, loc, scale


def _probability_arguments(
    q: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    loc: ArrayLike = 0,
    scale: ArrayLike = 1,
) -> Arguments:
    return q, a, b, loc, scale


_TEXTS = {
    "about": "the truncated normal distribution",
    "parameters": "a, b: the ends, of the distribution before it is moved and stretched.",
    "at": "0.5, -1.0, 2.0",
    "of": "0.25, -1.0, 2.0",
    "cdf": "0.6509",
    "isf": "0.7474",
    "logcdf": "-0.4294",
    "logpdf": "-0.8438",
    "logsf": "-1.0523",
    "pdf": "0.4301",
    "ppf": "-0.3496",
    "sf": "0.3491",
}


def _log_mass(a: Array, b: Array) -> Array:
    """log P(a < X < b) for a normal X and a < b. If a and b have the same sign, it uses the tails
    on that side."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    has_zero = high > 0
    lower_end, upper_end = np.where(has_zero, 0.0, low), np.where(has_zero, 1.0, high)
    log = log_ndtr(upper_end)
    one_sided = ~has_zero & (log > -math.inf)
    ratio = log_ndtr(np.where(one_sided, lower_end, -2.0)) - np.where(one_sided, log, -1.0)
    one_sided_log = log + log_of_complement(ratio)
    outer_probability = ndtr(np.where(has_zero, low, -1.0)) + ndtr(-np.where(has_zero, high, 1.0))
    return np.where(has_zero, np.log1p(-outer_probability), one_sided_log)


def _log_density(y: Array, a: Array, b: Array) -> Array:
    return -y * y / 2 - HALF_LOG_TWO_PI - _log_mass(a, b)


def _median(a: Array, b: Array) -> Array:
    """An approximate median; in a tail, the median of an exponential distribution."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    is_in_tail = high < -5
    high_in_tail = np.where(is_in_tail, high, -5.0)
    exponential_median = np.maximum(
        high_in_tail + math.log(2) / high_in_tail, (low + high_in_tail) / 2
    )
    median = np.where(is_in_tail, exponential_median, ndtri((ndtr(low) + ndtr(high)) / 2))
    return np.where(right, -median, median)


def _tail(y: Array, a: Array, b: Array) -> tuple[Array, Array]:
    lower = y < _median(a, b)
    part = _log_mass(np.where(lower, a, y), np.where(lower, y, b))
    return part - _log_mass(a, b), lower


def _inside(a: Array, b: Array) -> Array:
    """A point between a and b; both may be infinite."""
    low = np.where(a == -math.inf, np.minimum(b, 1.0) - 2, a)
    high = np.where(b == math.inf, np.maximum(a, -1.0) + 2, b)
    return (low + high) / 2


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    low=lambda a, b: a,
    high=lambda a, b: b,
    inside=_inside,
    valid=lambda a, b: a < b,
    tail=_tail,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
