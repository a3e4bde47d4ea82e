"""The geometric distribution: the number of trials until the first success."""

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.exponential import xlog1py
from .arguments import Arguments
from .discrete import Discrete

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _point_arguments(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, p, loc


def _probability_arguments(q: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return q, p, loc


_TEXTS = {
    "about": "the geometric distribution",
    "parameters": "p: the probability of success, 0 < p <= 1.",
    "at": "3, 0.3",
    "of": "0.25, 0.3",
    "cdf": "0.6570",
    "isf": "4.0000",
    "logcdf": "-0.4201",
    "logpmf": "-1.9173",
    "logsf": "-1.0700",
    "pmf": "0.1470",
    "ppf": "1.0000",
    "sf": "0.3430",
}


def _log_mass(k: Array, p: Array) -> Array:
    return xlog1py(k - 1, -p) + np.log(p)


def _tail(k: Array, p: Array) -> tuple[Array, Array]:
    log = xlog1py(k, -p)
    return log, np.zeros_like(log, bool)


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_mass,
    _tail,
    lambda p: (p > 0) & (p <= 1),
    low=1.0,
    loops=False,
)

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
