"""The Poisson distribution: the number of events if mu are expected; also its entropy."""

import math
from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments, public
from .discrete import Discrete
from .docstrings import described
from .gamma import log_density
from .incomplete_gamma_beta import gamma_tail
from .probabilities import Formula, probabilities
from .stirling import log_poisson

__all__ = ["cdf", "entropy", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _at(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, mu, loc


def _of(q: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return q, mu, loc


_TEXTS = {
    "about": "the Poisson distribution",
    "parameters": "mu: the mean, not negative.",
    "at": "2, 3.0",
    "of": "0.25, 3.0",
    "entropy": "1.9315",
    "cdf": "0.4232",
    "isf": "4.0000",
    "logcdf": "-0.8599",
    "logpmf": "-1.4959",
    "logsf": "-0.5502",
    "pmf": "0.2240",
    "ppf": "2.0000",
    "sf": "0.5768",
}


def _tail(k: Array, mu: Array) -> tuple[Array, Array]:
    """P(K > k), which is the lower tail at mu of a gamma distribution with shape k + 1."""
    sure = (mu == 0) | (mu == math.inf)
    log, upper = gamma_tail(np.where(sure, 1.0, mu), k + 1)
    return np.where(sure, -math.inf, log), np.where(sure, mu > 0, ~upper)


def _log_mass(k: Array, mu: Array) -> Array:
    """The log of the probability; -inf where infinitely many events are expected."""
    endless = mu == math.inf
    return np.where(endless, -math.inf, log_poisson(k, np.where(endless, 1.0, mu)))


_OF_GAMMA = probabilities(log_density, gamma_tail)


def _probability(of_gamma: str, few: float, many: float) -> Formula:
    """A tail at mu of the gamma distribution with shape k + 1; `few` is the value for mu = 0 and
    `many` for mu = ∞."""

    def formula(k: Array, mu: Array) -> Array:
        sure = (mu == 0) | (mu == math.inf)
        out = _OF_GAMMA[of_gamma](np.where(sure, 1.0, mu), k + 1)
        return np.where(sure, np.where(mu > 0, many, few), out)

    return formula


_made = Discrete(
    __name__,
    _at,
    _of,
    _TEXTS,
    _log_mass,
    _tail,
    lambda mu: mu >= 0,
    closed={
        "cdf": _probability("sf", 1, 0),
        "sf": _probability("cdf", 0, 1),
        "logcdf": _probability("logsf", 0, -math.inf),
        "logsf": _probability("logcdf", -math.inf, 0),
    },
)

pmf, logpmf = _made.pmf, _made.logpmf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf


_ENTROPY_TERMS = 320.0  # with a mean up to 100, later terms are 0 in float64


def _direct(mu: Any) -> Any:
    """The sum of -P log P over the numbers, for means up to 100."""
    log = log_poisson(np.arange(_ENTROPY_TERMS, dtype=mu.dtype), mu[..., None])
    return -np.sum(np.exp(log) * np.where(log > -math.inf, log, 0.0), -1)


def _asymptotic(mu: Any) -> Any:
    """The expansion for large means. Source: Evans and Boersma (1988), “The entropy of a Poisson
    distribution”, SIAM Review 30."""
    inverse = 1 / mu
    tail = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360 + inverse * (9 / 80))))
    return 0.5 * (1 + math.log(2 * math.pi) + np.log(mu)) - tail


def _entropy_of(mu: Any, *_: Any, standard: bool) -> Any:
    large = mu > 100
    some = (mu > 0) & ~large
    few = _direct(np.where(some, mu, 1.0))
    entropy = np.where(large, _asymptotic(np.where(large, mu, 1e3)), np.where(some, few, 0.0))
    return np.where(mu >= 0, entropy, math.nan)


def _parameters(mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return mu, loc


entropy = public(
    __name__, "entropy", _parameters, _entropy_of, described("entropy", __name__, _TEXTS)
)
