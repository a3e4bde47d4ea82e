"""The Gumbel distribution of largest values: cdf exp(-exp(-x))."""

import math
from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...transforms.custom_derivatives import custom_jvp
from .arguments import point_arguments, probability_arguments
from .continuous import Continuous
from .stirling import series

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
    """The log of the density: -y - exp(-y), which is -inf at both ends."""
    z = np.where(y == -math.inf, -1e30, y)
    return -z - np.exp(-z)


def density(y: Array) -> Array:
    """The density, computed for y ≥ -80. Below that, the density is 0 and exp(-y) may overflow."""
    z = np.maximum(y, -80.0)
    return np.exp(-z - np.exp(-z))


def log_cdf(y: Array) -> Array:
    return -np.exp(-y)


@custom_jvp
def cdf_of(y: Array) -> Array:
    return np.exp(-np.exp(-y))


@custom_jvp
def sf_of(y: Array) -> Array:
    return -np.expm1(-np.exp(-y))


cdf_of.defjvps(lambda dy, out, y: dy * density(y))
sf_of.defjvps(lambda dy, out, y: -dy * density(y))

# of log((1 - exp(-x)) / x) + x / 2 in x², to 1e-17 for x <= 1: B(2n) / (2n (2n)!)
_SERIES = (
    1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800, 1 / 479001600, -691 / 15692092416000,
    1 / 1046139494400, -3617 / 170729965486080000, 43867 / 91963695909076992000,
    -174611 / 16057153253965824000000,
)  # fmt: skip


@custom_jvp
def log_sf(y: Array) -> Array:
    """log(1 - exp(-e)) with e = exp(-y). For e < 1 it is the sum of -y and log((1 - exp(-e)) /
    e)."""
    e = np.exp(-y)
    square = e * e
    by_series = series(_SERIES, square) * square - 0.5 * e - y
    return np.where(y > 0, by_series, np.log1p(-np.exp(-e)))


@log_sf.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (y,), (dy,) = primals, tangents
    z = np.clip(y, -80.0, 1e30)  # where both logarithms are finite
    return log_sf(y), -dy * np.exp(log_density(z) - log_sf(z))


def quantile(q: Array) -> Array:
    """The point whose lower tail is q."""
    return -np.log(-np.log(q))


def upper_quantile(q: Array) -> Array:
    """The point whose upper tail is q."""
    return -np.log(-np.log1p(-q))


_distribution = Continuous(
    __name__,
    point_arguments,
    probability_arguments,
    _TEXTS,
    log_density,
    pdf=density,
    cdf=cdf_of,
    sf=sf_of,
    logcdf=log_cdf,
    logsf=log_sf,
    ppf=quantile,
    isf=upper_quantile,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
