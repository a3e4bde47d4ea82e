"""The Bernoulli distribution: 1 with probability p, otherwise 0."""

from ... import dtypes, numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments
from .discrete import Discrete

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _point_arguments(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, p, loc


def _probability_arguments(q: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return q, p, loc


_TEXTS = {
    "about": "the Bernoulli distribution",
    "parameters": "p: the probability of 1.",
    "at": "0, 0.3",
    "of": "0.25, 0.3",
    "cdf": "0.7000",
    "isf": "1.0000",
    "logcdf": "-0.3567",
    "logpmf": "-0.3567",
    "logsf": "-1.2040",
    "pmf": "0.7000",
    "ppf": "0.0000",
    "sf": "0.3000",
}


def _log_mass(k: Array, p: Array) -> Array:
    return np.where(k == 0, np.log1p(-p), np.log(p))


def _tail(k: Array, p: Array) -> tuple[Array, Array]:
    return np.log1p(-p) + 0 * k, np.full_like(p + k, True, bool)


def _quantile(q: Array, of_upper: bool, p: Array) -> Array:
    """0 where the tail after 0 equals the probability q, up to rounding."""
    tail = p if of_upper else 1 - p
    relative_slack = (4 - 2 * np.log(np.where(tail > 0, tail, 1.0))) * tail
    slack = float(dtypes.finfo(q.dtype).eps) / 2 * np.where(tail <= 0.5, relative_slack, 1.0)
    return (q < tail - slack if of_upper else q > tail + slack).astype(q.dtype)


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_mass,
    _tail,
    lambda p: (p >= 0) & (p <= 1),
    high=1.0,
    loops=False,
    quantile=_quantile,
    pmf=lambda k, p: np.where(k == 0, 1 - p, p),
)

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
