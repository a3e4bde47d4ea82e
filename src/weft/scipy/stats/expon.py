"""The exponential distribution: density exp(-x) for x >= 0."""

from ... import numpy as np
from .arguments import at, of
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


_made = Continuous(
    __name__,
    at,
    of,
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

pdf, logpdf = _made.pdf, _made.logpdf
cdf, logcdf = _made.cdf, _made.logcdf
sf, logsf = _made.sf, _made.logsf
ppf, isf = _made.ppf, _made.isf
