"""The Laplace distribution: density exp(-|x|) / 2."""

import math

from ... import numpy as np
from ...core.array import Array
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the Laplace distribution",
    "parameters": "",
    "at": "2.0",
    "of": "0.25",
    "cdf": "0.9323",
    "isf": "0.6931",
    "logcdf": "-0.0701",
    "logpdf": "-2.6931",
    "logsf": "-2.6931",
    "pdf": "0.0677",
    "ppf": "-0.6931",
    "sf": "0.0677",
}


def _cdf(y: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(y))
    return np.where(y < 0, tail, 1 - tail)


def _log_cdf(y: Array) -> Array:
    magnitude = np.abs(y)
    return np.where(y < 0, -magnitude - math.log(2), np.log1p(-0.5 * np.exp(-magnitude)))


def _ppf(q: Array) -> Array:
    lower = q < 0.5
    magnitude = -np.log(2 * np.where(lower, q, 1 - q))
    return np.where(lower, -magnitude, magnitude)


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    lambda y: -np.abs(y) - math.log(2),
    cdf=_cdf,
    sf=lambda y: _cdf(-y),
    logcdf=_log_cdf,
    logsf=lambda y: _log_cdf(-y),
    ppf=_ppf,
    isf=lambda q: -_ppf(q),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
