"""Hypergeometric functions of real numbers, hyp1f1 and hyp2f1, and Owen's function, owens_t.

Arguments are transformed to where the series converge fast. Only the last argument has a
derivative.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..core.primitive import Primitive, Rule
from ..core.value import Value
from .arithmetic import add, div, like, mul, neg, square
from .error_formulas import normal_tail, with_exp_of_square
from .error_functions import erf
from .exponential import exp
from .formulas import Algebra, Number
from .gamma_formulas import gamma_sign, lgamma_formula
from .special import by_formula, undefined

_LIMIT = 5000  # terms of a series


def _parameters(name: str, names: Sequence[str]) -> list[Rule]:
    return [undefined(name, argument) for argument in names]


def _series_sum(
    m: Algebra, ratio: Callable[[Number], Number], first_term: Number, limit: int = _LIMIT
) -> Number:
    """The sum of a series in which term n is `ratio(n)` times the term before, starting
    from `first_term`."""

    def step(n: Number, term: Number, total: Number) -> Sequence[Number]:
        term = term * ratio(n)
        return term, total + term

    def is_unconverged(term: Number, total: Number) -> Number:
        return m.abs(term) > m.abs(total) * (m.eps / 8)

    return m.loop(limit, is_unconverged, step, (first_term, first_term))[1]


def _pole(m: Algebra, x: Number) -> Number:
    """True at the poles of the gamma function."""
    return (x <= 0) & (x == m.floor(x))


def _gamma_quotient(
    m: Algebra, numerators: Sequence[Number], denominators: Sequence[Number]
) -> Number:
    """A quotient of products of gamma functions; 0 where the denominator has a pole."""
    total, sign, is_zero = m.like(numerators[0], 0.0), m.like(numerators[0], 1.0), None
    for number in numerators:
        total, sign = total + lgamma_formula(m, number), sign * gamma_sign(m, number)
    for number in denominators:
        pole = _pole(m, number)
        safe_number = m.where(pole, 1.0, number)
        total, sign = total - lgamma_formula(m, safe_number), sign * gamma_sign(m, safe_number)
        is_zero = pole if is_zero is None else is_zero | pole
    out = sign * m.exp(total)
    return out if is_zero is None else m.where(is_zero, 0.0, out)


# --- Kummer's function ---


def _hyp1f1(m: Algebra, a: Number, b: Number, x: Number) -> Number:
    """DLMF 13.2.2 and 13.2.39; for large |x| DLMF 13.7.1 and 13.7.2."""
    is_negative, magnitude = x < 0, m.abs(x)
    series_limit = 60.0 if m.eps > 1e-10 else 300.0  # uses the asymptotic series there
    first_parameter = m.where(is_negative, b - a, a)
    is_polynomial = _pole(m, first_parameter)  # a polynomial
    is_far = (
        (magnitude > series_limit)
        & ~is_polynomial
        & (magnitude > 2 * m.abs(first_parameter) * m.abs(first_parameter))
    )
    is_defined = ~_pole(m, b)
    x_small, lower = m.where(is_far, 1.0, magnitude), m.where(is_defined, b, 1.0)
    series = _series_sum(
        m, lambda n: (first_parameter + (n - 1)) / (lower + (n - 1)) * (x_small / n), m.like(x, 1.0)
    )
    # for exp(x) times a polynomial at x < 0, the exponential is split into two halves
    half = m.exp(m.where(is_negative, -0.5 * x_small, 0.0))
    series_value = half * series * half
    first_numerator, second_numerator = (
        m.where(is_negative, a, b - a),
        m.where(is_negative, 1 + a - b, 1 - a),
    )
    x_large = m.where(is_far, magnitude, series_limit)
    asymptotic_series = m.like(x, 1.0)
    term = asymptotic_series
    for n in range(1, 25):
        term = term * ((first_numerator + (n - 1)) * (second_numerator + (n - 1)) / (n * x_large))
        asymptotic_series = asymptotic_series + term
    quotient = _gamma_quotient(m, [lower], [m.where(is_negative, b - a, a)])
    power = m.exp(m.where(is_negative, -a * m.log(x_large), x_large + (a - b) * m.log(x_large)))
    out = m.where(is_far, quotient * power * asymptotic_series, series_value)
    out = m.where((a == 0) | (x == 0), 1.0, out)
    is_invalid = (a != a) | (b != b) | (x != x)
    return m.where(is_invalid, math.nan, m.where(is_defined, out, math.inf))


def _hyp1f1_slope(dx: Value, out: Value, a: Value, b: Value, x: Value) -> Value:
    one = like(x, 1)
    return mul(dx, mul(div(a, b), hyp1f1(add(a, one), add(b, one), x)))


hyp1f1: Primitive = by_formula(
    "hyp1f1", "Kummer's confluent hypergeometric function 1F1(a; b; x).", _hyp1f1,
    (*_parameters("hyp1f1", "ab"), _hyp1f1_slope),
)  # fmt: skip

# --- Gauss's function ---


def _gauss_series(m: Algebra, a: Number, b: Number, c: Number, x: Number) -> Number:
    return _series_sum(
        m,
        lambda n: (a + (n - 1)) / (c + (n - 1)) * ((b + (n - 1)) * x / n),
        m.like(x, 1.0),
    )


def _hyp2f1(m: Algebra, a: Number, b: Number, c: Number, x: Number) -> Number:
    """DLMF 15.2.1 up to 3/4; 15.8.1 from negative numbers there; 15.8.4 from 3/4 to 1; 15.4.20 at
    1."""
    is_negative = x < 0
    is_defined = ~_pole(m, c) & (x <= 1)
    lower = m.where(is_defined, c, 1.0)
    y = m.where(is_negative, x / (x - 1), x)
    second_parameter = m.where(is_negative, c - b, b)
    is_polynomial = _pole(m, a) | _pole(m, second_parameter)  # a polynomial
    excess = lower - a - second_parameter
    is_integer = m.abs(excess - m.floor(excess + 0.5)) < 64 * m.eps * (1 + m.abs(excess))
    is_near_1 = (y > 0.75) & ~is_polynomial & ~is_integer & (y < 1)
    y_small = m.where(is_near_1 | (y >= 1) | ~is_defined, 0.0, y)
    direct_value = _gauss_series(m, a, second_parameter, lower, y_small)
    y_complement, change = m.where(is_near_1, 1 - y, 0.0), m.where(is_near_1, excess, 0.5)
    series_at_1 = _gauss_series(m, a, second_parameter, 1 - change, y_complement)
    power_series_at_1 = _gauss_series(
        m, lower - a, lower - second_parameter, 1 + change, y_complement
    )
    power = m.exp(change * m.log(m.where(is_near_1, y_complement, 1.0)))
    connected_value = (
        _gamma_quotient(m, [lower, change], [lower - a, lower - second_parameter]) * series_at_1
    )
    connected_value = connected_value + power * power_series_at_1 * _gamma_quotient(
        m, [lower, -change], [a, second_parameter]
    )
    end = m.where(
        excess > 0,
        _gamma_quotient(
            m, [lower, m.where(excess > 0, excess, 1.0)], [lower - a, lower - second_parameter]
        ),
        math.inf,
    )
    out = m.where(y == 1, end, m.where(is_near_1, connected_value, direct_value))
    out = m.where(is_negative, m.exp(-a * m.log1p(m.where(is_negative, -x, 0.0))) * out, out)
    out = m.where((x == 0) | (a == 0) | (b == 0), 1.0, out)
    is_invalid = (a != a) | (b != b) | (c != c) | ~(x <= 1)
    return m.where(is_invalid, math.nan, m.where(is_defined, out, math.inf))


def _hyp2f1_slope(dx: Value, out: Value, a: Value, b: Value, c: Value, x: Value) -> Value:
    one = like(x, 1)
    contiguous_value = hyp2f1(add(a, one), add(b, one), add(c, one), x)
    return mul(dx, mul(div(mul(a, b), c), contiguous_value))


hyp2f1: Primitive = by_formula(
    "hyp2f1", "Gauss's hypergeometric function 2F1(a, b; c; x) for x ≤ 1.", _hyp2f1,
    (*_parameters("hyp2f1", "abc"), _hyp2f1_slope),
)  # fmt: skip

# --- Owen's function ---


def _owens_t(m: Algebra, h: Number, a: Number) -> Number:
    """Gauss's quadrature of the definition for |a| ≤ 1; for |a| > 1, T(h, a) + T(ah, 1/a) (M.
    Patefield and D. Tandy 2000, “Fast and accurate calculation of Owen's T function”)."""
    count, width = (16, 5.5) if m.eps > 1e-10 else (36, 8.5)
    h, magnitude = m.abs(h), m.abs(a)
    is_large = magnitude > 1
    product = m.where(magnitude == math.inf, m.where(h == 0, 0.0, math.inf), h * magnitude)
    reduced_h = m.where(is_large, product, h)
    end = m.where(is_large, 1 / magnitude, magnitude)
    # the sum ends where the integrand vanishes
    end = m.where(reduced_h * end > width, width / m.where(reduced_h > 0, reduced_h, 1.0), end)
    total = m.like(h, 0.0)
    scaled_h = m.where(reduced_h == math.inf, 0.0, reduced_h) * end
    for node, weight in zip(*np.polynomial.legendre.leggauss(count), strict=True):
        part = 0.5 * (1 + float(node))
        abscissa = part * end
        total = total + 0.5 * float(weight) * m.exp(
            -0.5 * (part * scaled_h) * (part * scaled_h)
        ) / (1 + abscissa * abscissa)
    integral = end * total * (0.5 / math.pi)
    reduced_value = with_exp_of_square(m, integral, reduced_h, -0.5)
    upper, other = normal_tail(m, h), normal_tail(m, product)
    out = m.where(is_large, 0.5 * (upper + other) - upper * other - reduced_value, reduced_value)
    out = m.where(a < 0, -out, out)
    return m.where((h != h) | (a != a), math.nan, out)


_HALF_DENSITY = 0.5 / math.sqrt(2 * math.pi)


def _owens_t_in_h(dh: Value, out: Value, h: Value, a: Value) -> Value:
    density = exp(mul(like(h, -0.5), square(h)))
    erf_factor = erf(mul(mul(a, h), like(h, math.sqrt(0.5))))
    return neg(mul(dh, mul(like(h, _HALF_DENSITY), mul(density, erf_factor))))


def _owens_t_in_a(da: Value, out: Value, h: Value, a: Value) -> Value:
    one_plus_square = add(like(a, 1), square(a))
    power = exp(mul(like(h, -0.5), mul(square(h), one_plus_square)))
    return mul(da, div(mul(like(a, 0.5 / math.pi), power), one_plus_square))


owens_t: Primitive = by_formula(
    "owens_t", "Owen's function T(h, a).", _owens_t, (_owens_t_in_h, _owens_t_in_a)
)  # fmt: skip
