"""The Pareto distribution: density b / x**(b + 1) for x >= 1.

The probability of a value above x is x**-b; the quantile of q is (1 - q)**(-1/b). `loc` and
`scale` move and stretch the distribution: x stands for (x - loc) / scale, and the density is
divided by `scale`.
"""

from ... import numpy as np
from ...typing import ArrayLike
from .arguments import Arguments
from .continuous import Continuous
from .stirling import log_of_complement

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, b, loc, scale


def _probability_arguments(
    q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, b, loc, scale


_TEXTS = {
    "about": "the Pareto distribution",
    "parameters": "b: the shape parameter, positive.",
    "at": "2.0, 3.0",
    "of": "0.25, 3.0",
    "cdf": "0.8750",
    "isf": "1.5874",
    "logcdf": "-0.1335",
    "logpdf": "-1.6740",
    "logsf": "-2.0794",
    "pdf": "0.1875",
    "ppf": "1.1006",
    "sf": "0.1250",
}


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    lambda y, b: np.log(b) - (b + 1) * np.log(y),
    low=1.0,
    inside=2.0,
    cdf=lambda y, b: -np.expm1(-b * np.log(y)),
    sf=lambda y, b: np.exp(-b * np.log(y)),
    logcdf=lambda y, b: log_of_complement(-b * np.log(y)),
    logsf=lambda y, b: -b * np.log(y),
    ppf=lambda q, b: np.exp(-np.log1p(-q) / b),
    isf=lambda q, b: np.exp(-np.log(q) / b),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
