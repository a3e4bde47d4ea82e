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


def _at(
    x: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    loc: ArrayLike = 0,
    scale: ArrayLike = 1,
) -> Arguments:
    return x, a, b, loc, scale


def _of(
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
    across = high > 0
    first, last = np.where(across, 0.0, low), np.where(across, 1.0, high)
    log = log_ndtr(last)
    one_sided = ~across & (log > -math.inf)
    ratio = log_ndtr(np.where(one_sided, first, -2.0)) - np.where(one_sided, log, -1.0)
    aside = log + log_of_complement(ratio)
    outer = ndtr(np.where(across, low, -1.0)) + ndtr(-np.where(across, high, 1.0))
    return np.where(across, np.log1p(-outer), aside)


def _log_density(y: Array, a: Array, b: Array) -> Array:
    return -y * y / 2 - HALF_LOG_TWO_PI - _log_mass(a, b)


def _median(a: Array, b: Array) -> Array:
    """An approximate median; in a tail, the median of an exponential distribution."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    far_out = high < -5
    deep = np.where(far_out, high, -5.0)
    decayed = np.maximum(deep + math.log(2) / deep, (low + deep) / 2)
    middle = np.where(far_out, decayed, ndtri((ndtr(low) + ndtr(high)) / 2))
    return np.where(right, -middle, middle)


def _tail(y: Array, a: Array, b: Array) -> tuple[Array, Array]:
    lower = y < _median(a, b)
    part = _log_mass(np.where(lower, a, y), np.where(lower, y, b))
    return part - _log_mass(a, b), lower


def _inside(a: Array, b: Array) -> Array:
    """A point between a and b; both may be infinite."""
    low = np.where(a == -math.inf, np.minimum(b, 1.0) - 2, a)
    high = np.where(b == math.inf, np.maximum(a, -1.0) + 2, b)
    return (low + high) / 2


_made = Continuous(
    __name__,
    _at,
    _of,
    _TEXTS,
    _log_density,
    low=lambda a, b: a,
    high=lambda a, b: b,
    inside=_inside,
    valid=lambda a, b: a < b,
    tail=_tail,
)

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
