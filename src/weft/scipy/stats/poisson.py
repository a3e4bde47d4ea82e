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


def _point_arguments(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return k, mu, loc


def _probability_arguments(q: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
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
    is_degenerate = (mu == 0) | (mu == math.inf)
    log, upper = gamma_tail(np.where(is_degenerate, 1.0, mu), k + 1)
    return np.where(is_degenerate, -math.inf, log), np.where(is_degenerate, mu > 0, ~upper)


def _log_mass(k: Array, mu: Array) -> Array:
    """The log of the probability; -inf where infinitely many events are expected."""
    is_infinite = mu == math.inf
    return np.where(is_infinite, -math.inf, log_poisson(k, np.where(is_infinite, 1.0, mu)))


_OF_GAMMA = probabilities(log_density, gamma_tail)


def _probability(of_gamma: str, value_at_0: float, value_at_infinity: float) -> Formula:
    """A tail at mu of the gamma distribution with shape k + 1; `value_at_0` is the
    value for mu = 0, `value_at_infinity` for mu = ∞."""

    def formula(k: Array, mu: Array) -> Array:
        is_degenerate = (mu == 0) | (mu == math.inf)
        out = _OF_GAMMA[of_gamma](np.where(is_degenerate, 1.0, mu), k + 1)
        return np.where(is_degenerate, np.where(mu > 0, value_at_infinity, value_at_0), out)

    return formula


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
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

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf


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
    is_large = mu > 100
    is_moderate = (mu > 0) & ~is_large
    direct_value = _direct(np.where(is_moderate, mu, 1.0))
    entropy = np.where(
        is_large, _asymptotic(np.where(is_large, mu, 1e3)), np.where(is_moderate, direct_value, 0.0)
    )
    return np.where(mu >= 0, entropy, math.nan)


def _parameters(mu: ArrayLike, loc: ArrayLike = 0) -> Arguments:
    return mu, loc


entropy = public(
    __name__, "entropy", _parameters, _entropy_of, described("entropy", __name__, _TEXTS)
)
