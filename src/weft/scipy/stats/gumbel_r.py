"""The Gumbel distribution of largest values: cdf exp(-exp(-x))."""

import math

from ... import numpy as np
from ...core.array import Array
from .arguments import at, of
from .continuous import Continuous

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the right-skewed Gumbel distribution",
    "parameters": "",
    "at": "2.0",
    "of": "0.25",
    "cdf": "0.8734",
    "isf": "1.2459",
    "logcdf": "-0.1353",
    "logpdf": "-2.1353",
    "logsf": "-2.0669",
    "pdf": "0.1182",
    "ppf": "-0.3266",
    "sf": "0.1266",
}


def log_density(y: Array) -> Array:
    """Log of the density: -y - exp(-y), which is -inf at both ends."""
    low = y == -math.inf
    z = np.where(low, 0.0, y)
    return np.where(low, -math.inf, -z - np.exp(-z))


def log_tail(y: Array) -> Array:
    """Log of the probability of at most y."""
    return -np.exp(-y)


def log_complement(y: Array) -> Array:
    """Log of the probability of more than y."""
    far = y > 0  # where exp(-exp(-y)) is 1 - exp(-y), nearly
    small = np.exp(-np.where(far, y, 0.0))
    near = np.where(far, 0.0, y)
    tail = -np.where(far, y, 0.0) + np.log(-np.expm1(-small) / np.where(small > 0, small, 1.0))
    tail = np.where(small > 0, tail, -y)
    return np.where(far, tail, np.log1p(-np.exp(-np.exp(-near))))


def quantile(q: Array) -> Array:
    """The point of a lower tail q."""
    return -np.log(-np.log(q))


def upper_quantile(q: Array) -> Array:
    """The point of an upper tail q."""
    return -np.log(-np.log1p(-q))


_made = Continuous(
    __name__,
    at,
    of,
    _TEXTS,
    log_density,
    cdf=lambda y: np.exp(log_tail(y)),
    sf=lambda y: -np.expm1(log_tail(y)),
    logcdf=log_tail,
    logsf=log_complement,
    ppf=quantile,
    isf=upper_quantile,
)

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
