"""The exponential distribution: density exp(-x) for x >= 0."""

from ... import numpy as np
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous
from .stirling import log_of_complement

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the exponential distribution",
    "parameters": "",
    "at": "2.0",
    "of": "0.25",
    "cdf": "0.8647",
    "isf": "1.3863",
    "logcdf": "-0.1454",
    "logpdf": "-2.0000",
    "logsf": "-2.0000",
    "pdf": "0.1353",
    "ppf": "0.2877",
    "sf": "0.1353",
}


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    lambda y: -y,
    low=0.0,
    cdf=lambda y: -np.expm1(-y),
    sf=lambda y: np.exp(-y),
    logcdf=lambda y: log_of_complement(-y),
    logsf=lambda y: -y,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
