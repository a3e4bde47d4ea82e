"""The logistic distribution: cdf 1 / (1 + exp(-x))."""

from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...transforms.custom_derivatives import custom_jvp
from ..special.exponential import expit
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the logistic distribution",
    "parameters": "",
    "at": "2.0",
    "of": "0.25",
    "cdf": "0.8808",
    "isf": "1.0986",
    "logcdf": "-0.1269",
    "logpdf": "-2.2539",
    "logsf": "-2.1269",
    "pdf": "0.1050",
    "ppf": "-1.0986",
    "sf": "0.1192",
}


def _log_density(y: Array) -> Array:
    magnitude = np.abs(y)
    return -magnitude - 2 * np.log1p(np.exp(-magnitude))


@custom_jvp
def _cdf(y: Array) -> Array:
    return expit(y)


@_cdf.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The density, accurate even where the cdf is rounded to 1."""
    (y,), (dy,) = primals, tangents
    exponential = np.exp(-np.abs(y))
    return _cdf(y), dy * exponential / (1 + exponential) ** 2


def _log_cdf(y: Array) -> Array:
    return np.where(y < 0, y, 0.0) - np.log1p(np.exp(-np.abs(y)))


@custom_jvp
def _ppf(q: Array) -> Array:
    """log(q / (1 - q)), from the smaller tail or from 1 - 2q, which is exact near the median."""
    smaller_tail = np.minimum(q, 1 - q)
    magnitude = np.log1p((1 - 2 * smaller_tail) / smaller_tail)
    return np.where(q < 0.5, -magnitude, magnitude)


@_ppf.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (q,), (dq,) = primals, tangents
    return _ppf(q), dq / (q * (1 - q))


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    _log_density,
    cdf=_cdf,
    sf=lambda y: _cdf(-y),
    logcdf=_log_cdf,
    logsf=lambda y: _log_cdf(-y),
    ppf=_ppf,
    isf=lambda q: -_ppf(q),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
