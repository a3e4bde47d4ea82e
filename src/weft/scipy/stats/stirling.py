"""Logarithms of gamma and beta functions, in the combinations that densities need.

Large terms that nearly cancel are combined before rounding, so densities keep their digits when
parameters are large.
"""

import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.selection import stop_gradient
from ...lax.special import digamma, lgamma
from ...primitives.gamma_formulas import STIRLING
from ...transforms.custom_derivatives import custom_jvp
from ..special.exponential import xlogy

__all__: list[str] = []

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
STIRLING_MIN = 8.0  # from here on Stirling's series is exact to float64


def series(coefficients: Sequence[float], t: Array) -> Array:
    """The sum of c[k] t**k, of two terms or more, by Horner's rule."""
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


def stirling_error(x: Array) -> Array:
    """log Γ(x) - ((x - 1/2) log x - x + log(2π)/2), for x >= 8.

    Source: DLMF 5.11.1.
    """
    inverse = 1 / x
    return series(STIRLING, inverse * inverse) * inverse


# of 1 to 7, from mpmath with 40 digits
_ERRORS = (
    0.081061466795327258,
    0.041340695955409294,
    0.027677925684998339,
    0.020790672103765093,
    0.016644691189821192,
    0.013876128823070748,
    0.01189670994589177,
)  # fmt: skip


@custom_jvp
def _tabulated_error(x: Array) -> Array:
    total: Array = np.full_like(x, _ERRORS[0])
    for i, error in enumerate(_ERRORS[1:]):
        total = np.where(x > i + 1.5, error, total)
    return total


_tabulated_error.defjvps(lambda dx, out, x: dx * (digamma(x) - np.log(x) + 0.5 / x))


def stirling_error_of_whole(x: Array) -> Array:
    """The same for integers x >= 1."""
    is_large = x >= STIRLING_MIN
    series = stirling_error(np.where(is_large, x, STIRLING_MIN))
    return np.where(is_large, series, _tabulated_error(np.where(is_large, 1.0, x)))


def log1p_excess(u: Array, ratio: Array) -> Array:
    """u - log(1 + u), for u > -1; `ratio` is 1 + u and is used where it is far from 1."""
    is_small = np.abs(u) < 0.5
    return u - np.where(
        is_small, np.log1p(np.where(is_small, u, 0.0)), np.log(np.where(is_small, 1.0, ratio))
    )


def deviance(a: Array, b: Array, x: Array, complement: Array) -> Array:
    """a log(a / (n x)) + b log(b / (n complement)) with n = a + b and complement = 1 - x, exact
    near 0."""
    total = a + b
    delta = x * b - complement * a
    return a * log1p_excess(delta / a, x * (total / a)) + b * log1p_excess(
        -delta / b, complement * (total / b)
    )


def log_poisson(k: Array, mu: Array) -> Array:
    """log(mu**k exp(-mu) / Γ(k + 1)), for k >= 0 and mu > 0.

    Uses C. Loader's form for large k: “Fast and accurate computation of binomial probabilities”
    (2000), with the deviance of k from mu and Stirling's error.
    """
    is_large = k >= STIRLING_MIN
    n = np.where(is_large, k, STIRLING_MIN)
    large_value = (
        -n * log1p_excess((mu - n) / n, mu / n)
        - stirling_error(n)
        - 0.5 * np.log(n)
        - HALF_LOG_TWO_PI
    )
    k_small = np.where(is_large, 1.0, k)
    return np.where(is_large, large_value, xlogy(k_small, mu) - mu - lgamma(k_small + 1))


def log_gamma_rise(x: Array, a: Array) -> Array:
    """log Γ(x + a) - log Γ(x), for x >= 8 and a >= 0."""
    total = x + a
    leading_terms = (x - 0.5) * np.log1p(a / x) + a * np.log(total) - a
    return leading_terms + stirling_error(total) - stirling_error(x)


def log_beta(a: Array, b: Array) -> Array:
    """log B(a, b), for positive a and b."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    is_large = high >= STIRLING_MIN
    high_small = np.where(is_large, 1.0, high)
    lgamma_low, lgamma_high, lgamma_total = (
        lgamma(low),
        lgamma(high_small),
        lgamma(low + high_small),
    )
    large_value = lgamma_low - log_gamma_rise(np.where(is_large, high, STIRLING_MIN), low)
    return np.where(is_large, large_value, lgamma_low + lgamma_high - lgamma_total)


def log_beta_weight(
    p: Array, q: Array, x: Array, complement: Array, logs: tuple[Array, Array] | None = None
) -> Array:
    """log(x**p (1 - x)**q / B(p, q)), for positive p and q, 0 < x < 1, complement = 1 - x.

    For large p and q it works like `log_poisson`, with the deviance of x from p / (p + q).
    """
    is_large = (p >= STIRLING_MIN) & (q >= STIRLING_MIN)
    a, b = np.where(is_large, p, STIRLING_MIN), np.where(is_large, q, STIRLING_MIN)
    total = a + b
    large_value = (
        0.5 * (np.log(a) + np.log(b / total)) - deviance(a, b, x, complement) - HALF_LOG_TWO_PI
    )
    large_value = large_value + stirling_error(total) - stirling_error(a) - stirling_error(b)
    c, d = np.where(is_large, 1.0, p), np.where(is_large, 1.0, q)
    log_x, log_complement = (np.log(x), np.log(complement)) if logs is None else logs
    return np.where(is_large, large_value, c * log_x + d * log_complement - log_beta(c, d))


def log_of_tail(tail: Array, complement: Array) -> Array:
    """log(tail), computed from 1 - tail where that is smaller."""
    is_small = tail < 0.5
    return np.where(
        is_small,
        np.log(np.where(is_small, tail, 0.5)),
        np.log1p(-np.where(is_small, 0.5, complement)),
    )


def log_of_complement(logarithm: Any) -> Array:
    """log(1 - exp(y)) for y <= 0, exact at both ends; -inf at y = 0, with a derivative of -inf.

    Source: M. Mächler (2012), “Accurately computing log(1 - exp(-|a|))”.
    """
    near_zero = logarithm > -math.log(2)
    return log_or_of_rest(near_zero, -np.expm1(logarithm), np.exp(logarithm))


def log_or_of_rest(is_direct: Array, total: Array, part: Array) -> Array:
    """log(total) where `is_direct`, otherwise log(1 - part), with one logarithm, for `part` from 0
    to 1."""
    complement = 1 - part
    # the minimum keeps XLA from simplifying 1 - (1 - part)
    rounding_error = np.where(
        is_direct, 0.0, ((1 - np.minimum(complement, 2.0)) - part) / complement
    )
    return np.log(np.where(is_direct, total, complement)) + stop_gradient(rounding_error)


def log_one_plus_square(z: Array) -> Array:
    """log(1 + z²), where z² may be too large for the dtype."""
    magnitude = np.abs(z)
    is_large = magnitude > 1 / float(dtypes.finfo(z.dtype).eps)
    bounded_z = np.where(is_large, 0.0, z)
    return np.where(is_large, 2.0, 1.0) * np.log1p(
        np.where(is_large, magnitude, bounded_z * bounded_z)
    )
