"""Student's t distribution."""

import math

from ... import dtypes, numpy as np
from ...core.array import Array
from ...typing import ArrayLike
from ..special.error_functions import log_ndtr
from .arguments import Arguments
from .continuous import Continuous
from .incomplete_gamma_beta import beta_tail
from .stirling import log_beta, log_of_complement, log_one_plus_square

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _point_arguments(
    x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return x, df, loc, scale


def _probability_arguments(
    q: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Arguments:
    return q, df, loc, scale


_TEXTS = {
    "about": "Student's t distribution",
    "parameters": "df: the degrees of freedom, positive.",
    "at": "0.5, 3.0",
    "of": "0.25, 3.0",
    "cdf": "0.6743",
    "isf": "0.7649",
    "logcdf": "-0.3941",
    "logpdf": "-1.1610",
    "logsf": "-1.1217",
    "pdf": "0.3132",
    "ppf": "-0.7649",
    "sf": "0.3257",
}


def _log_parts(x: Array, df: Array) -> tuple[Array, Array]:
    """log(x²/(df + x²)) and log(df/(df + x²)), where x² may be too large for the dtype."""
    magnitude = np.maximum(np.abs(x), float(dtypes.finfo(x.dtype).tiny) ** 0.5)
    log_ratio = 2 * np.log(magnitude) - np.log(df)
    is_large = log_ratio > 0
    square = np.where(is_large, 1.0, magnitude) ** 2 / df
    inverse = np.exp(np.where(is_large, -log_ratio, 0.0))
    log_complement = np.where(is_large, -log_ratio - np.log1p(inverse), -np.log1p(square))
    return np.where(is_large, -np.log1p(inverse), log_ratio + log_complement), log_complement


def _bounded(df: Array) -> Array:
    """Clips the degrees of freedom at a number beyond which the distribution equals the normal
    one."""
    return np.minimum(df, float(dtypes.finfo(df.dtype).eps) ** -2)


def _log_density(x: Array, df: Array) -> Array:
    df = _bounded(df)
    magnitude = np.abs(x)
    ratio = magnitude / np.sqrt(df)
    overflows = ratio == math.inf  # with few degrees of freedom, x and the logarithm are large
    log = log_one_plus_square(np.where(overflows, magnitude, ratio)) - np.where(
        overflows, np.log(df), 0.0
    )
    return -(df + 1) / 2 * log - log_beta(np.asarray(0.5, df.dtype), df / 2) - 0.5 * np.log(df)


def _as_normal(log_rest: Array, df: Array) -> Array:
    """The point of the normal distribution with the same upper tail as |x|, for large df.

    Source: G. W. Hill (1970), “Algorithm 395: Student's t-distribution”.
    """
    a = df - 0.5
    b = 48 * a * a
    square = np.maximum(-a * log_rest, float(dtypes.finfo(df.dtype).tiny))
    y = np.minimum(square, 1e6)
    ratio = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b)
    return ((ratio + y + 3) / b + 1) * np.sqrt(square)


def _tail(x: Array, df: Array) -> tuple[Array, Array]:
    """log P(T > |x|) = log(1 - I(1/2, df/2, x²/(df + x²))) - log 2."""
    df = _bounded(df)
    is_large = df > (3000 if df.dtype == dtypes.float64 else 300)
    df_small = np.where(is_large, 1.0, df)
    log_x, log_1_minus_x = _log_parts(x, df_small)
    half = np.full_like(df, 0.5)
    log, lower = beta_tail(
        np.exp(log_x), np.exp(log_1_minus_x), half, df_small / 2, (log_x, log_1_minus_x)
    )
    log_complement = log_of_complement(np.where(lower, np.minimum(log, -1e-30), -1.0))
    df_large = np.where(is_large, df, 1e4)
    normal_tail = log_ndtr(-_as_normal(_log_parts(x, df_large)[1], df_large))
    tail = np.where(lower, log_complement, log) - math.log(2)
    return np.where(is_large, normal_tail, tail), x < 0


_distribution = Continuous(
    __name__,
    _point_arguments,
    _probability_arguments,
    _TEXTS,
    _log_density,
    tail=_tail,
    symmetric=True,
)

pdf, logpdf = _distribution.pdf, _distribution.logpdf
cdf, logcdf = _distribution.cdf, _distribution.logcdf
sf, logsf = _distribution.sf, _distribution.logsf
ppf, isf = _distribution.ppf, _distribution.isf
