"""The beta-binomial distribution: binomial, with a probability that is beta distributed."""

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from .arguments import Arguments
from .discrete import Discrete
from .incomplete_gamma_beta import State, by_parts, loop
from .stirling import log_beta

__all__ = ["cdf", "isf", "logcdf", "logpmf", "logsf", "pmf", "ppf", "sf"]


def _point_arguments(
    k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
) -> Arguments:
    return k, n, a, b, loc


def _probability_arguments(
    q: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
) -> Arguments:
    return q, n, a, b, loc


_TEXTS = {
    "about": "the beta-binomial distribution",
    "parameters": "n: the number of trials.\na, b: the shape parameters, positive.",
    "at": "2, 5, 2.0, 3.0",
    "of": "0.25, 5, 2.0, 3.0",
    "cdf": "0.6429",
    "isf": "3.0000",
    "logcdf": "-0.4418",
    "logpmf": "-1.4351",
    "logsf": "-1.0296",
    "pmf": "0.2381",
    "ppf": "1.0000",
    "sf": "0.3571",
}


def _log_mass(k: Array, n: Array, a: Array, b: Array) -> Array:
    choose = -np.log(n + 1) - log_beta(n - k + 1, k + 1)
    return choose + log_beta(k + a, n - k + b) - log_beta(a, b)


@by_parts
def _log_sum(k: Array, n: Array, a: Array, b: Array) -> Array:
    """log(1 + P(k - 1) / P(k) + …), down to 0, from the ratios of neighbouring probabilities."""

    def step(i: Array, term: Array, total: Array) -> State:
        j = np.maximum(k - i + 1, 0)
        term = term * (j * (n - j + b) / ((n - j + 1) * (j - 1 + a + (j == 0))))
        return term, total + term

    one = np.ones_like(k + n + a + b)
    return np.log(loop(lambda term, total: term > 0, step, (one, one))[1])


def _tail(k: Array, n: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """A sum of probabilities, from k down or from k + 1 up. The upper sum is mirrored to a lower
    one."""
    lower = k * (a + b) <= n * a
    p, q = np.where(lower, a, b), np.where(lower, b, a)
    start = np.where(lower, k, np.maximum(n - k - 1, 0))
    return _log_mass(start, n, p, q) + _log_sum(start, n, p, q), lower


_distribution = Discrete(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_mass,
    _tail,
    lambda n, a, b: (n >= 0) & (n == np.floor(n)) & (a > 0) & (b > 0),
    high=lambda n, a, b: n,
)

pmf, logpmf = _distribution.pmf, _distribution.logpmf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
