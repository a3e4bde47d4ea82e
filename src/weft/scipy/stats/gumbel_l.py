"""The Gumbel distribution of smallest values: cdf 1 - exp(-exp(x))."""

from .arguments import point_arguments, probability_arguments
from .continuous import Continuous
from .gumbel_r import cdf_of, density, log_cdf, log_density, log_sf, quantile, sf_of, upper_quantile

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_TEXTS = {
    "about": "the left-skewed Gumbel distribution",
    "parameters": "",
    "at": "-2.0",
    "of": "0.25",
    "cdf": "0.1266",
    "isf": "0.3266",
    "logcdf": "-2.0669",
    "logpdf": "-2.1353",
    "logsf": "-0.1353",
    "pdf": "0.1182",
    "ppf": "-1.2459",
    "sf": "0.8734",
}


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    lambda y: log_density(-y),
    pdf=lambda y: density(-y),
    cdf=lambda y: sf_of(-y),
    sf=lambda y: cdf_of(-y),
    logcdf=lambda y: log_sf(-y),
    logsf=lambda y: log_cdf(-y),
    ppf=lambda q: -upper_quantile(q),
    isf=lambda q: -quantile(q),
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
