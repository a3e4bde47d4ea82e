"""The Cauchy distribution: density 1 / (π (1 + x²))."""

import math

from ... import numpy as np
from ...core.array import Array
from .arguments import point_arguments, probability_arguments
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
    is_negative = y < 0
    magnitude = np.abs(y)
    is_inverted = magnitude > 1
    angle = (
        np.arctan(np.where(is_inverted, 1 / np.where(is_inverted, magnitude, 1.0), magnitude))
        / math.pi
    )
    return np.where(is_inverted, angle, 0.5 - angle), is_negative


def _cdf(y: Array) -> Array:
    tail, is_negative = _tail(y)
    return np.where(is_negative, tail, 1 - tail)


def _log_cdf(y: Array) -> Array:
    tail, is_negative = _tail(y)
    return log_or_of_rest(is_negative, tail, tail)


def _isf(q: Array) -> Array:
    """cot(π q), from the tangent near 1/2 and from 1 - q near 1."""
    is_central = np.abs(q - 0.5) < 0.25
    tangent = np.tan(math.pi * np.where(is_central, 0.5 - q, np.minimum(q, 1 - q)))
    tail = 1 / np.where(is_central, 1.0, tangent)
    return np.where(is_central, tangent, np.where(q < 0.5, tail, -tail))


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
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

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
