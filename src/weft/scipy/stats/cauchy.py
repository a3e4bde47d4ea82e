"""The Cauchy distribution: density 1 / (π (1 + x²))."""

import math

from ... import numpy as np
from ...core.array import Array
from .arguments import at, of
from .continuous import Continuous
from .stirling import log_of_tail

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
    size = np.abs(y)
    far = size > 1
    inverse = 1 / np.where(far, size, 1.0)
    near = np.where(far, 0.0, y)
    main = 2 * np.log(inverse) - np.log1p(inverse * inverse)
    return np.where(far, main, -np.log1p(near * near)) - math.log(math.pi)


def _sf(y: Array) -> Array:
    return np.arctan2(1.0, y) / math.pi


def _isf(q: Array) -> Array:
    """cot(π q), by the tangent near 1/2, and by 1 - q near 1."""
    middle = np.abs(q - 0.5) < 0.25
    tail = 1 / np.tan(math.pi * np.where(middle, 0.25, np.minimum(q, 1 - q)))
    tail = np.where(q == 0, math.inf, np.where(q == 1, -math.inf, np.where(q < 0.5, tail, -tail)))
    return np.where(middle, np.tan(math.pi * np.where(middle, 0.5 - q, 0.0)), tail)


def _cdf(y: Array) -> Array:
    return _sf(-y)


_made = Continuous(
    __name__,
    at,
    of,
    _TEXTS,
    _log_density,
    cdf=_cdf,
    sf=_sf,
    logcdf=lambda y: log_of_tail(_cdf(y), _sf(y)),
    logsf=lambda y: log_of_tail(_sf(y), _cdf(y)),
    ppf=lambda q: -_isf(q),
    isf=_isf,
)

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
