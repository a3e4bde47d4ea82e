"""The Bernoulli distribution: 1 with probability p, otherwise 0."""

from ... import dtypes, numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments
from .discrete import Discrete

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _at(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, p, loc


def _of(q: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Arguments:
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
    size = (4 - 2 * np.log(np.where(tail > 0, tail, 1.0))) * tail
    slack = float(dtypes.finfo(q.dtype).eps) / 2 * np.where(tail <= 0.5, size, 1.0)
    return (q < tail - slack if of_upper else q > tail + slack).astype(q.dtype)


_made = Discrete(
    __name__,
    _at,
    _of,
    _TEXTS,
    _log_mass,
    _tail,
    lambda p: (p >= 0) & (p <= 1),
    high=1.0,
    loops=False,
    quantile=_quantile,
    pmf=lambda k, p: np.where(k == 0, 1 - p, p),
)

pmf, logpmf = _made.pmf, _made.logpmf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
