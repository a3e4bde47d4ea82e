"""The chi-square distribution, of a sum of df squares of standard normal numbers."""

import math

from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments
from .continuous import Continuous
from .gamma import log_density, tail

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, df, loc, scale


def _probability_arguments(
    q: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, df, loc, scale


_TEXTS = {
    "about": "the chi-square distribution",
    "parameters": "df: the degrees of freedom, positive.",
    "at": "2.0, 3.0",
    "of": "0.25, 3.0",
    "cdf": "0.4276",
    "isf": "4.1083",
    "logcdf": "-0.8496",
    "logpdf": "-1.5724",
    "logsf": "-0.5579",
    "pdf": "0.2076",
    "ppf": "1.2125",
    "sf": "0.5724",
}


def _log_density(x: Array, df: Array) -> Array:
    return log_density(x / 2, df / 2) - math.log(2)


def _tail(x: Array, df: Array) -> tuple[Array, Array]:
    return tail(x / 2, df / 2)


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    low=0.0,
    inside=1.0,
    tail=_tail,
    invertible=lambda df: df < math.inf,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
