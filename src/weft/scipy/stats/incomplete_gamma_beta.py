"""Logarithms of the incomplete gamma and beta functions: tails of distributions, however small.

Each is the logarithm of a factor times a series or a continued fraction, in the region where it
converges quickly, roughly where the tail is small. The other tail is the complement. So one loop
gives cdf, sf and both logarithms, without underflow before the logarithm. Derivatives with respect
to parameters differentiate the series term by term.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.loops import while_loop
from ...transforms.custom_derivatives import custom_jvp
from ...transforms.derivatives import jvp
from ...transforms.symbolic_zeros import SymbolicZero
from .stirling import log_beta_weight, log_poisson

__all__: list[str] = []

LIMIT = 20000  # maximum steps of a loop; about 5 sqrt(a) are needed near x = a

State = Sequence[Any]


def loop(cond_fun: Callable[..., Array], step: Callable[..., State], start: State) -> State:
    """Repeats `state = step(n, *state)` for n = 1, 2, … in each element while `cond_fun(*state)` is
    true there. One more step makes the derivatives of the state converge too.

    An element that has ended does not change, because further steps would add rounding errors.
    """

    def is_unfinished(carry: Any) -> Array:
        n, n_converged, _ = carry
        return np.any(n_converged < 2) & (n <= LIMIT)

    def body(carry: Any) -> Any:
        n, n_converged, state = carry
        is_active = n_converged < 2
        next_state = step(n.astype(start[0].dtype), *state)
        n_converged = np.where(cond_fun(*next_state), 0, n_converged + 1)
        updated = [
            np.where(is_active, new_value, old_value)
            for new_value, old_value in zip(next_state, state, strict=True)
        ]
        return n + 1, np.where(is_active, n_converged, 2), updated

    n_converged = np.zeros(start[0].shape, np.int32)
    return while_loop(is_unfinished, body, (np.int32(1), n_converged, [*start]))[2]


def by_parts(function: Callable[..., Array]) -> Any:
    """A function that computes its derivatives by running its loop in forward mode.

    So reverse mode does not need a transposed loop: the derivatives are computed with the value.
    """
    custom = custom_jvp(function)

    def rule(primals: Any, tangents: Any) -> tuple[Array, Any]:
        total: Any = 0.0
        out: Any = None
        for i, tangent in enumerate(tangents):
            if not isinstance(tangent, SymbolicZero):

                def in_one_argument(x: Array, i: int = i) -> Array:
                    return function(*primals[:i], x, *primals[i + 1 :])

                out, slope = jvp(in_one_argument, (primals[i],), (np.ones_like(primals[i]),))
                total = total + tangent * slope
        return out, np.broadcast_to(total, out.shape).astype(out.dtype)

    custom.defjvp(rule, symbolic_zeros=True)
    return custom


# --- gamma ---


@by_parts
def _log_series(a: Array, x: Array) -> Array:
    """log(1 + x/(a+1) + x²/((a+1)(a+2)) + …). Source: DLMF 8.11.4."""
    eps = float(dtypes.finfo(x.dtype).eps)

    def step(n: Array, term: Array, total: Array) -> State:
        term = term * (x / (a + n))
        return term, total + term

    one = np.ones_like(a + x)
    return np.log(loop(lambda term, total: term > total * (eps / 4), step, (one, one))[1])


@by_parts
def _log_fraction(a: Array, x: Array) -> Array:
    """log h in Γ(a, x) = x**a exp(-x) h, by Lentz's method. Source: DLMF 8.9.2."""
    eps = float(dtypes.finfo(x.dtype).eps)
    first_denominator = x + 1 - a

    def step(n: Array, h: Array, c: Array, d: Array, change: Array) -> State:
        numerator, b = n * (a - n), first_denominator + 2 * n
        d = 1 / (numerator * d + b)
        u = b + numerator * c
        factor = d * u
        return h * factor, 1 / u, d, np.abs(factor - 1)

    d = 1 / first_denominator
    start = (d, np.zeros_like(d), d, np.ones_like(d))
    return np.log(loop(lambda h, c, d, change: change > 2 * eps, step, start)[0])


def gamma_tail(x: Array, a: Array) -> tuple[Array, Array]:
    """(log of a tail, True where it is the lower one) of the gamma distribution with shape a.

    Both x and a are positive and finite.
    """
    lower = (x <= 1) | (x <= a)
    one = np.ones_like(x)
    a_low, x_low = np.where(lower, a, 1.0), np.where(lower, x, 0.5 * one)
    largest_x = 0.01 / float(dtypes.finfo(x.dtype).tiny)  # so that 1 / x is not rounded to 0
    a_high, x_high = np.where(lower, 1.0, a), np.where(lower, 2.0 * one, np.minimum(x, largest_x))
    weight = log_poisson(a, x)
    low = weight + _log_series(a_low, x_low)
    high = weight + np.log(a) + _log_fraction(a_high, x_high)
    return np.where(lower, low, high), lower


# --- beta ---


@by_parts
def _log_beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """log h in I(a, b, x) = x**a (1-x)**b h / (a B(a, b)), by Lentz's method. Source: DLMF
    8.17.22."""
    eps = float(dtypes.finfo(x.dtype).eps)

    def nonzero(z: Array) -> Array:
        return np.where(np.abs(z) < 1e-30, 1e-30, z)

    def step(n: Array, h: Array, c: Array, d: Array, change: Array) -> State:
        even_term = n * (b - n) / (a + (2 * n - 1)) / (a + 2 * n) * x
        d = 1 / nonzero(1 + even_term * d)
        c = nonzero(1 + even_term / c)
        h = h * d * c
        odd_term = -(a + n) / (a + 2 * n) * ((a + b + n) / (a + (2 * n + 1))) * x
        d = 1 / nonzero(1 + odd_term * d)
        c = nonzero(1 + odd_term / c)
        return h * d * c, c, d, np.abs(d * c - 1)

    d = 1 / nonzero(1 - (a + b) / (a + 1) * x)
    start = (d, np.ones_like(d), d, np.ones_like(d))
    return np.log(loop(lambda h, c, d, change: change > 2 * eps, step, start)[0])


def beta_tail(
    x: Array, complement: Array, a: Array, b: Array, logs: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """(log of a tail, True where it is the lower one) of the beta distribution.

    Here 0 < x < 1, complement = 1 - x, and a and b are positive and finite; logs are log x and
    log(1 - x), if known.
    """
    lower = x * (a + b + 2) <= a + 1
    p, q = np.where(lower, a, b), np.where(lower, b, a)
    y = np.where(lower, x, complement)
    fraction = _log_beta_fraction(p, q, y)
    weight = log_beta_weight(a, b, x, complement, logs)
    return weight - np.log(p) + fraction, lower
