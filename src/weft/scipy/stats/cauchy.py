"""The Cauchy distribution: density 1 / (π (1 + x²))."""

import math

from ... import numpy as np
from ...core.array import Array
from .arguments import at, of
from .continuous import Continuous
from .stirling import log_one_plus_square, log_or_of_rest

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the Cauchy distribution",
    "parameters": "",
    "at": "2.0",
    "of": "0.25",
    "cdf": "0.8524",
    "isf": "1.0000",
    "logcdf": "-0.1597",
    "logpdf": "-2.7542",
    "logsf": "-1.9134",
    "pdf": "0.0637",
    "ppf": "-1.0000",
    "sf": "0.1476",
}


def _log_density(y: Array) -> Array:
    return -log_one_plus_square(y) - math.log(math.pi)


def _tail(y: Array) -> tuple[Array, Array]:
    """(P(X > |y|), a mask of y < 0), from the arctangent of |y| or of its inverse."""
    below = y < 0
    size = np.abs(y)
    inverted = size > 1
    angle = np.arctan(np.where(inverted, 1 / np.where(inverted, size, 1.0), size)) / math.pi
    return np.where(inverted, angle, 0.5 - angle), below


def _cdf(y: Array) -> Array:
    tail, below = _tail(y)
    return np.where(below, tail, 1 - tail)


def _log_cdf(y: Array) -> Array:
    tail, below = _tail(y)
    return log_or_of_rest(below, tail, tail)


def _isf(q: Array) -> Array:
    """cot(π q), from the tangent near 1/2 and from 1 - q near 1."""
    middle = np.abs(q - 0.5) < 0.25
    tangent = np.tan(math.pi * np.where(middle, 0.5 - q, np.minimum(q, 1 - q)))
    tail = 1 / np.where(middle, 1.0, tangent)
    return np.where(middle, tangent, np.where(q < 0.5, tail, -tail))


_made = Continuous(
    __name__,
    at,
    of,
    _TEXTS,
    _log_density,
    pdf=lambda y: 1 / (math.pi * (1 + y * y)),
    cdf=_cdf,
    sf=lambda y: _cdf(-y),
    logcdf=_log_cdf,
    logsf=lambda y: _log_cdf(-y),
    ppf=lambda q: -_isf(q),
    isf=_isf,
)

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
