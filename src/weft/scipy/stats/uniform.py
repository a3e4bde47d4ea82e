"""The uniform distribution between loc and loc + scale."""

from ... import numpy as np
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the uniform distribution",
    "parameters": "",
    "at": "0.5",
    "of": "0.25",
    "cdf": "0.5000",
    "isf": "0.7500",
    "logcdf": "-0.6931",
    "logpdf": "0.0000",
    "logsf": "-0.6931",
    "pdf": "1.0000",
    "ppf": "0.2500",
    "sf": "0.5000",
}


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    lambda y: 0 * y,
    low=0.0,
    high=1.0,
    pdf=lambda y: 0 * y + 1,
    cdf=lambda y: y,
    sf=lambda y: 1 - y,
    logcdf=np.log,
    logsf=lambda y: np.log1p(-y),
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
