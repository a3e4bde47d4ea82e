"""Logarithms of gamma and beta functions in the combinations that densities are made of.

Terms that are large and nearly cancel are joined before they are rounded, so that densities of
distributions with large parameters keep their digits. Knows no distribution.
"""

import math
from typing import Any

from ... import numpy as np
from ...core.array import Array
from ...lax.special import lgamma
from ...primitives.gamma_formulas import STIRLING
from ..special.logarithms import xlogy

__all__: list[str] = []

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
LARGE = 8.0  # from here on Stirling's series is exact to float64


def stirling_error(x: Array) -> Array:
    """log Γ(x) - ((x - 1/2) log x - x + log(2π)/2), for x >= 8.

    Source: DLMF 5.11.1.
    """
    inverse = 1 / x
    square = inverse * inverse
    total: Array | float = STIRLING[-1]
    for c in STIRLING[-2::-1]:
        total = total * square + c
    return total * inverse


def excess(u: Array, ratio: Array) -> Array:
    """u - log(1 + u), for a ratio 1 + u > 0, which is known itself where it is far from 1."""
    near = np.abs(u) < 0.5
    return u - np.where(near, np.log1p(np.where(near, u, 0.0)), np.log(np.where(near, 1.0, ratio)))


def log_poisson(k: Array, mu: Array) -> Array:
    """log(mu**k exp(-mu) / Γ(k + 1)), for k >= 0 and mu > 0.

    For large k in C. Loader's form, “Fast and accurate computation of binomial probabilities”
    (2000): the deviance of k from mu, and Stirling's error.
    """
    large = k >= LARGE
    n = np.where(large, k, LARGE)
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
    large = high >= LARGE
    small = np.where(large, 1.0, high)
    first, second, both = lgamma(low), lgamma(small), lgamma(low + small)
    joined = first - log_gamma_rise(np.where(large, high, LARGE), low)
    return np.where(large, joined, first + second - both)


def log_beta_weight(
    p: Array, q: Array, x: Array, rest: Array, logs: tuple[Array, Array] | None = None
) -> Array:
    """log(x**p (1 - x)**q / B(p, q)), for positive p and q, 0 < x < 1, rest = 1 - x.

    For large p and q, as in `log_poisson`, with the deviance of x from p / (p + q).
    """
    large = (p >= LARGE) & (q >= LARGE)
    a, b = np.where(large, p, LARGE), np.where(large, q, LARGE)
    total = a + b
    delta = x * b - rest * a
    joined = -a * excess(delta / a, x * (total / a)) - b * excess(-delta / b, rest * (total / b))
    joined = joined + 0.5 * (np.log(a) + np.log(b / total)) - HALF_LOG_TWO_PI
    joined = joined + stirling_error(total) - stirling_error(a) - stirling_error(b)
    c, d = np.where(large, 1.0, p), np.where(large, 1.0, q)
    log_x, log_rest = (np.log(x), np.log(rest)) if logs is None else logs
    return np.where(large, joined, c * log_x + d * log_rest - log_beta(c, d))


def log_of_tail(tail: Array, rest: Array) -> Array:
    """log(tail), from 1 - tail where that is the smaller one."""
    small = tail < 0.5
    return np.where(
        small, np.log(np.where(small, tail, 0.5)), np.log1p(-np.where(small, 0.5, rest))
    )


def log_of_complement(logarithm: Any) -> Array:
    """log(1 - exp(y)) for y <= 0, exact at both ends; -inf at y = 0, with a derivative of -inf.

    Source: M. Mächler (2012), “Accurately computing log(1 - exp(-|a|))”.
    """
    near = logarithm > -math.log(2)
    y = np.where(near, logarithm, -1.0)
    z = np.where(near, -1.0, logarithm)
    return np.where(near, np.log(-np.expm1(y)), np.log1p(-np.exp(z)))
