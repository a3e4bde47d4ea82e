"""The von Mises distribution on the circle: density exp(κ cos x) / (2π I0(κ))."""

import math

import numpy as onp

from ... import numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.bessel import i0e
from .arguments import Arguments
from .continuous import Continuous
from .probabilities import formulas_of_tail
from .stirling import log_of_tail

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, kappa: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, kappa, loc, scale


def _probability_arguments(
    q: ArrayLike, kappa: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, kappa, loc, scale


_TEXTS = {
    "about": "the von Mises distribution",
    "parameters": "kappa: the concentration, not negative.",
    "at": "0.5, 2.0",
    "of": "0.25, 2.0",
    "cdf": "0.7382",
    "isf": "0.5297",
    "logcdf": "-0.3036",
    "logpdf": "-0.9067",
    "logsf": "-1.3401",
    "pdf": "0.4039",
    "ppf": "-0.5297",
    "sf": "0.2618",
}


_CIRCLE = 2 * math.pi
_NODES, _WEIGHTS = onp.polynomial.legendre.leggauss(64)


def _log_density(y: Array, kappa: Array) -> Array:
    half = np.sin(y / 2)
    return -2 * kappa * half * half - math.log(_CIRCLE) - np.log(i0e(kappa))


def _tail(y: Array, kappa: Array) -> tuple[Array, Array]:
    """The log of the integral of the density from |y| to π, or to where the density vanishes.

    Uses Gauss-Legendre quadrature with 64 points; the sum is relative to the density at |y|.
    """
    start = np.minimum(np.abs(y), math.pi)
    drop = 40 / np.maximum(kappa, 1e-6)
    end = np.arccos(np.maximum(np.cos(start) - drop, -1.0))
    end = np.where(np.cos(start) - drop <= -1, math.pi, np.maximum(end, start))
    centre, width = ((end + start) / 2)[..., None], ((end - start) / 2)[..., None]
    t = centre + width * np.asarray(_NODES, y.dtype)
    # cos t - cos |y|, as a product
    cosine_difference = -2 * np.sin((t + start[..., None]) / 2) * np.sin((t - start[..., None]) / 2)
    terms = np.asarray(_WEIGHTS, y.dtype) * np.exp(kappa[..., None] * cosine_difference)
    return np.log(np.sum(width * terms, -1)) + _log_density(start, kappa), y < 0


_followed = formulas_of_tail(_log_density, _tail, -math.pi, math.pi, symmetric=True)


def _cdf(y: Array, kappa: Array) -> Array:
    """The cdf on a line that is wound around the circle; it grows by 1 with each turn."""
    is_infinite = np.abs(y) == math.inf
    angle = np.where(is_infinite, 0.0, y)
    turns = np.rint(angle / _CIRCLE)
    wound_cdf = turns + _followed["cdf"](angle - _CIRCLE * turns, kappa)
    return np.where(is_infinite, np.where(y > 0, 1.0, 0.0), wound_cdf)


def _sf(y: Array, kappa: Array) -> Array:
    return _cdf(-y, kappa)


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    valid=lambda kappa: kappa >= 0,
    cdf=_cdf,
    sf=_sf,
    logcdf=lambda y, kappa: log_of_tail(_cdf(y, kappa), _sf(y, kappa)),
    logsf=lambda y, kappa: log_of_tail(_sf(y, kappa), _cdf(y, kappa)),
    ppf=_followed["ppf"],
    isf=_followed["isf"],
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
