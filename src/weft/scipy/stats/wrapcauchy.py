"""The wrapped Cauchy distribution: density (1 - c²) / (2π (1 + c² - 2c cos x)), 0 <= x <= 2π."""

import math

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments
from .continuous import Continuous
from .stirling import log_of_tail

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, c, loc, scale


def _probability_arguments(
    q: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, c, loc, scale


_TEXTS = {
    "about": "the wrapped Cauchy distribution",
    "parameters": "c: the concentration, between 0 and 1.",
    "at": "1.0, 0.3",
    "of": "0.25, 0.3",
    "cdf": "0.2523",
    "isf": "5.2953",
    "logcdf": "-1.3771",
    "logpdf": "-1.6654",
    "logsf": "-0.2908",
    "pdf": "0.1891",
    "ppf": "0.9879",
    "sf": "0.7477",
}


_CIRCLE = 2 * math.pi


def _log_density(y: Array, c: Array) -> Array:
    half = np.sin(y / 2)
    return np.log1p(-c * c) - math.log(_CIRCLE) - np.log((1 - c) ** 2 + 4 * c * half * half)


def _cdf(y: Array, c: Array) -> Array:
    """Computes both halves of the circle from the nearer end."""
    upper = y > math.pi
    z = np.where(upper, _CIRCLE - y, y) / 2
    part = np.arctan2((1 + c) * np.sin(z), (1 - c) * np.cos(z)) / math.pi
    return np.where(upper, 1 - part, part)


def _sf(y: Array, c: Array) -> Array:
    return _cdf(_CIRCLE - y, c)


def _ppf(q: Array, c: Array) -> Array:
    is_upper = q > 0.5
    z = math.pi * np.where(is_upper, 1 - q, q)
    angle = 2 * np.arctan2((1 - c) * np.sin(z), (1 + c) * np.cos(z))
    return np.where(is_upper, _CIRCLE - angle, angle)


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    low=0.0,
    high=_CIRCLE,
    inside=1.0,
    valid=lambda c: (c > 0) & (c < 1),
    cdf=_cdf,
    sf=_sf,
    logcdf=lambda y, c: log_of_tail(_cdf(y, c), _sf(y, c)),
    logsf=lambda y, c: log_of_tail(_sf(y, c), _cdf(y, c)),
    ppf=_ppf,
    isf=lambda q, c: _ppf(1 - q, c),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
