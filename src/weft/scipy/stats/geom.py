"""The geometric distribution: the number of trials until the first success."""

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.exponential import xlog1py
from .arguments import Arguments
from .discrete import Discrete

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _at(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, p, loc


def _of(q: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
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


_made = Discrete(
    __name__,
    _at,
    _of,
    _TEXTS,
    _log_mass,
    _tail,
    lambda p: (p > 0) & (p <= 1),
    low=1.0,
    loops=False,
)

pmf, logpmf = _made.pmf, _made.logpmf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
