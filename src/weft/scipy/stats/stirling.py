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
    large = x >= STIRLING_MIN
    series = stirling_error(np.where(large, x, STIRLING_MIN))
    return np.where(large, series, _tabulated_error(np.where(large, 1.0, x)))


def excess(u: Array, ratio: Array) -> Array:
    """u - log(1 + u), for u > -1; `ratio` is 1 + u and is used where it is far from 1."""
    small = np.abs(u) < 0.5
    return u - np.where(
        small, np.log1p(np.where(small, u, 0.0)), np.log(np.where(small, 1.0, ratio))
    )


def deviance(a: Array, b: Array, x: Array, complement: Array) -> Array:
    """a log(a / (n x)) + b log(b / (n rest)) with n = a + b, for x + rest = 1, exact near 0."""
    total = a + b
    delta = x * b - complement * a
    return a * excess(delta / a, x * (total / a)) + b * excess(-delta / b, complement * (total / b))


def log_poisson(k: Array, mu: Array) -> Array:
    """log(mu**k exp(-mu) / Γ(k + 1)), for k >= 0 and mu > 0.

    Uses C. Loader's form for large k: “Fast and accurate computation of binomial probabilities”
    (2000), with the deviance of k from mu and Stirling's error.
    """
    large = k >= STIRLING_MIN
    n = np.where(large, k, STIRLING_MIN)
    joined = (
        -n * excess((mu - n) / n, mu / n) - stirling_error(n) - 0.5 * np.log(n) - HALF_LOG_TWO_PI
    )
    small = np.where(large, 1.0, k)
    return np.where(large, joined, xlogy(small, mu) - mu - lgamma(small + 1))


def log_gamma_rise(x: Array, a: Array) -> Array:
    """log Γ(x + a) - log Γ(x), for x >= 8 and a >= 0."""
    total = x + a
    main = (x - 0.5) * np.log1p(a / x) + a * np.log(total) - a
    return main + stirling_error(total) - stirling_error(x)


def log_beta(a: Array, b: Array) -> Array:
    """log B(a, b), for positive a and b."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    large = high >= STIRLING_MIN
    small = np.where(large, 1.0, high)
    first, second, both = lgamma(low), lgamma(small), lgamma(low + small)
    joined = first - log_gamma_rise(np.where(large, high, STIRLING_MIN), low)
    return np.where(large, joined, first + second - both)


def log_beta_weight(
    p: Array, q: Array, x: Array, complement: Array, logs: tuple[Array, Array] | None = None
) -> Array:
    """log(x**p (1 - x)**q / B(p, q)), for positive p and q, 0 < x < 1, rest = 1 - x.

    For large p and q it works like `log_poisson`, with the deviance of x from p / (p + q).
    """
    large = (p >= STIRLING_MIN) & (q >= STIRLING_MIN)
    a, b = np.where(large, p, STIRLING_MIN), np.where(large, q, STIRLING_MIN)
    total = a + b
    joined = 0.5 * (np.log(a) + np.log(b / total)) - deviance(a, b, x, complement) - HALF_LOG_TWO_PI
    joined = joined + stirling_error(total) - stirling_error(a) - stirling_error(b)
    c, d = np.where(large, 1.0, p), np.where(large, 1.0, q)
    log_x, log_rest = (np.log(x), np.log(complement)) if logs is None else logs
    return np.where(large, joined, c * log_x + d * log_rest - log_beta(c, d))


def log_of_tail(tail: Array, complement: Array) -> Array:
    """log(tail), computed from 1 - tail where that is smaller."""
    small = tail < 0.5
    return np.where(
        small, np.log(np.where(small, tail, 0.5)), np.log1p(-np.where(small, 0.5, complement))
    )


def log_of_complement(logarithm: Any) -> Array:
    """log(1 - exp(y)) for y <= 0, exact at both ends; -inf at y = 0, with a derivative of -inf.

    Source: M. Mächler (2012), “Accurately computing log(1 - exp(-|a|))”.
    """
    near_zero = logarithm > -math.log(2)
    return log_or_of_rest(near_zero, -np.expm1(logarithm), np.exp(logarithm))


def log_or_of_rest(direct: Array, total: Array, part: Array) -> Array:
    """log(whole) where `direct`, otherwise log(1 - part), with one logarithm; `part` is from 0 to
    1."""
    complement = 1 - part
    # the minimum keeps XLA from simplifying 1 - (1 - part)
    lost = np.where(direct, 0.0, ((1 - np.minimum(complement, 2.0)) - part) / complement)
    return np.log(np.where(direct, total, complement)) + stop_gradient(lost)


def log_one_plus_square(z: Array) -> Array:
    """log(1 + z²), where z² may be too large for the dtype."""
    size = np.abs(z)
    large = size > 1 / float(dtypes.finfo(z.dtype).eps)
    bounded = np.where(large, 0.0, z)
    return np.where(large, 2.0, 1.0) * np.log1p(np.where(large, size, bounded * bounded))
