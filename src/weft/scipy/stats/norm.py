"""The normal distribution."""

from ..special.error_functions import log_ndtr, ndtr, ndtri
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous
from .stirling import HALF_LOG_TWO_PI

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the normal distribution",
    "parameters": "",
    "at": "0.5",
    "of": "0.25",
    "cdf": "0.6915",
    "isf": "0.6745",
    "logcdf": "-0.3689",
    "logpdf": "-1.0439",
    "logsf": "-1.1759",
    "pdf": "0.3521",
    "ppf": "-0.6745",
    "sf": "0.3085",
}


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    lambda y: -y * y / 2 - HALF_LOG_TWO_PI,
    cdf=ndtr,
    sf=lambda y: ndtr(-y),
    logcdf=log_ndtr,
    logsf=lambda y: log_ndtr(-y),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
