"""Integrals of elementary functions: exp1, expi, expn, sine_integral, cosine_integral,
fresnel_sine, fresnel_cosine, dawsn, spence (the dilogarithm).

They use power series near zero and Chebyshev series elsewhere.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..core.primitive import Primitive
from ..core.value import Value
from . import integral_series as s
from .arithmetic import abs_, add, div, like, mul, neg, sub
from .comparison import eq, lt
from .exponential import exp, log
from .formulas import Algebra, Number, chebyshev, clenshaw, polynomial, sine_of_pi
from .selection import where
from .special import by_formula, undefined
from .trigonometric import cos, sin

# --- exponential integrals ---

# The zero of Ei: a number of the dtype, and the remainder.
_ZERO = 0.3725074231624603, -1.2381093692686445e-08
_ZERO_FLOAT64 = 0.3725074107813666, 1.3140183414386028e-17


def _exp1(m: Algebra, x: Number) -> Number:
    """Uses DLMF 6.6.2 below 1, and a series for x exp(x) E1(x) in (x - 5) / (x + 3) above 1."""
    x_small, x_large = m.minimum(x, 1), m.maximum(x, 1)
    count = 12 if m.eps > 1e-10 else 19
    terms = [(-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(count)]
    small_value = x_small * polynomial(m, terms, x_small) - (
        m.log(m.maximum(x_small, 0)) + np.euler_gamma
    )
    large_value = clenshaw(m, s.E1_ABOVE_1, 1 - 8 / (x_large + 3)) * m.exp(-x_large) / x_large
    out = m.where(x <= 1, small_value, large_value)
    return m.where((x < 0) | (x != x), math.nan, out)


def _expi_positive(m: Algebra, x: Number) -> Number:
    zero_head, zero_tail = _ZERO if m.eps > 1e-10 else _ZERO_FLOAT64
    x_small = m.minimum(x, 1)
    # XLA would add constants that are subtracted one after the other, and the second would be lost
    distance_from_zero = x_small - zero_head
    slope = chebyshev(m, s.EI_BELOW_1, 2 * x_small - 1)
    is_near_zero = x_small > 0.2
    change = m.where(
        is_near_zero & (distance_from_zero != 0), distance_from_zero * (1 / zero_head), 0.5
    )
    slope_with_log = slope + m.where(distance_from_zero == 0, 1.0, m.log1p(change) / change) * (
        1 / zero_head
    )
    left_value = (
        m.log(m.where(is_near_zero, 1.0, x_small * (1 / zero_head))) + distance_from_zero * slope
    )
    below_1 = m.where(
        is_near_zero, distance_from_zero * slope_with_log - zero_tail * slope_with_log, left_value
    )
    x_medium = m.minimum(m.maximum(x, 1), 6)
    count = 24 if m.eps > 1e-10 else 40
    terms = [1 / ((k + 1) * math.factorial(k + 1)) for k in range(count)]
    below_6 = m.log(x_medium) + (np.euler_gamma + x_medium * polynomial(m, terms, x_medium))
    x_large = m.maximum(x, 6)
    inverse = 1 / x_large
    series = m.where(
        x <= 12,
        chebyshev(m, s.EI_6_12, 24 * m.maximum(inverse, 1 / 12) - 3),
        m.where(
            x <= 24,
            chebyshev(m, s.EI_12_24, 48 * m.minimum(m.maximum(inverse, 1 / 24), 1 / 12) - 3),
            chebyshev(m, s.EI_ABOVE_24, 48 * m.minimum(inverse, 1 / 24) - 1),
        ),
    )
    half = m.exp(0.5 * x_large)
    above_6 = m.where(x_large == math.inf, math.inf, series * half * inverse * half)
    return m.where(x <= 1, below_1, m.where(x <= 6, below_6, above_6))


def _expi(m: Algebra, x: Number) -> Number:
    out = m.where(x < 0, -_exp1(m, m.abs(x)), _expi_positive(m, m.abs(x)))
    return m.where(x == x, m.where(x == 0, -math.inf, out), x)


exp1: Primitive = by_formula(
    "exp1", "The exponential integral E1(x) for x > 0.", _exp1,
    lambda dx, out, x: neg(mul(dx, div(exp(neg(x)), x))),
)  # fmt: skip
expi: Primitive = by_formula(
    "expi", "The exponential integral Ei(x).", _expi,
    lambda dx, out, x: mul(dx, div(exp(x), x)),
)  # fmt: skip


def _expn_below_1(m: Algebra, n: Number, x: Number) -> Number:
    """The power series (DLMF 8.19.8)."""
    count = 12 if m.eps > 1e-10 else 20
    total, term, harmonic = m.like(x, 0.0), m.like(x, 1.0), 0.0
    logarithm = m.log(x)
    for k in range(count):
        if k:
            term, harmonic = term * (x * (-1 / k)), harmonic + 1 / k
        is_order = n == k + 1
        log_factor = (harmonic - np.euler_gamma) - logarithm
        total = total + m.where(
            is_order, term * log_factor, -term / m.where(is_order, 1.0, k + 1 - n)
        )
    return total


def _expn_above_1(m: Algebra, n: Number, x: Number) -> Number:
    """The continued fraction (DLMF 8.19.17), evaluated from the inside, where errors shrink. The
    depth is enough for x = 1."""
    depth = 30 if m.eps > 1e-10 else 110

    def step(count: Number, h: Number) -> Sequence[Number]:
        k = (depth + 1) - count
        return (k * (n + (k - 1)) / (x + n + 2 * k - h),)

    (h,) = m.loop(depth, lambda h: h == h, step, (m.like(x, 0.0),))
    return m.exp(-x) / (x + n - h)


def _expn(m: Algebra, n: Number, x: Number) -> Number:
    valid = (n >= 1) & (n < math.inf) & (n == m.floor(n)) & (x > 0) & (x < math.inf)
    is_low = valid & (x <= 1)
    order = m.where(valid, n, 1.0)
    value_below_1 = _expn_below_1(m, order, m.where(is_low, x, 0.5))
    value_above_1 = _expn_above_1(m, order, m.where(valid & (x > 1), x, 2.0))
    out = m.where(is_low, value_below_1, value_above_1)
    out = m.where(x == 0, m.where(n > 1, 1 / (n - 1), math.inf), out)
    out = m.where(n == 0, m.exp(-x) / x, out)
    out = m.where(x == math.inf, 0.0, out)
    is_invalid = (n < 0) | (n != m.floor(n)) | (n != n) | (x < 0) | (x != x)
    return m.where(is_invalid, math.nan, out)


def _expn_slope(dx: Value, out: Value, n: Value, x: Value) -> Value:
    is_order_0 = eq(n, like(n, 0))
    lower = expn(where(is_order_0, n, sub(n, like(n, 1))), x)
    # E(0) is exp(-x) / x
    return neg(mul(dx, where(is_order_0, mul(lower, add(like(x, 1), div(like(x, 1), x))), lower)))


expn: Primitive = by_formula(
    "expn", "The exponential integral of order n, an integer of at least 0.", _expn,
    (undefined("expn", "n"), _expn_slope),
)  # fmt: skip

# --- dilogarithm ---

# B(2k) / (2k + 1)!: of Li2(1 - exp(-u)) = u - u²/4 + their products with u**(2k + 1)
_DILOGARITHM = (
    1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000,
    1 / 1120863744000, -3617 / 181400588328960000, 43867 / 97072790126247936000,
    -174611 / 16860010916664115200000,
)  # fmt: skip


def _spence(m: Algebra, x: Number) -> Number:
    """Maps x to 1/2 ≤ x ≤ 2 by reflection and inversion (DLMF 25.12.4 and 25.12.6); uses a series
    in log(x) there."""
    is_small, is_large = x < 0.5, x > 2
    inverse = 1 / m.maximum(x, 2)
    u = 0.0 - m.log1p(m.where(is_small, -x, m.where(is_large, -inverse, x - 1)))  # 0.0 at x = 1
    square = u * u
    series = u - 0.25 * square + u * square * polynomial(m, _DILOGARITHM, square)
    logarithm = m.log(m.where(is_small | is_large, x, 1.0))
    pi_squared_over_6 = math.pi**2 / 6
    product = m.where((x == 0) | (x == math.inf), 0.0, logarithm * u)
    low = pi_squared_over_6 + product - series
    high = product - 0.5 * logarithm * logarithm - pi_squared_over_6 + series
    out = m.where(is_small, low, m.where(is_large, high, series))
    out = m.where(x == math.inf, -math.inf, out)
    return m.where((x < 0) | (x != x), math.nan, out)


def _log_over(x: Value) -> Value:
    """log(x) / (1 - x), and -1 at 1."""
    distance = sub(x, like(x, 1))
    is_near = lt(abs_(distance), like(x, 0.05))
    d = where(is_near, distance, like(x, 0))
    total = like(x, 1 / 12)
    for k in range(11, 0, -1):
        total = sub(like(x, 1 / k), mul(d, total))
    quotient = div(log(where(is_near, like(x, 2), x)), neg(where(is_near, like(x, 1), distance)))
    return where(is_near, neg(total), quotient)


spence: Primitive = by_formula(
    "spence", "The dilogarithm of 1 - x.", _spence, lambda dx, out, x: mul(dx, _log_over(x))
)

# --- sine and cosine integrals ---


def _auxiliary(m: Algebra, x: Number) -> tuple[Number, Number]:
    """f and g of DLMF 6.2.17 and 6.2.18 for x ≥ 4: x f and x² g in 32 / x² - 1."""
    inverse = 1 / x
    t = 32 * (inverse * inverse) - 1
    return clenshaw(m, s.SINE_F, t) * inverse, clenshaw(m, s.SINE_G, t) * inverse * inverse


def _alternating_coefficients(m: Algebra, first_order: int, step: int, limit: float) -> list[float]:
    """The coefficients (-1)**k / (n n!), n = first_order + step · k, as long as limit**n needs."""
    orders = [first_order + step * k for k in range(30)]
    terms = [(-1) ** k / (n * math.factorial(n)) for k, n in enumerate(orders)]
    return [c for c, n in zip(terms, orders, strict=True) if abs(c) * limit**n > m.eps / 8]


def _sine_integral(m: Algebra, x: Number) -> Number:
    magnitude = m.abs(x)
    x_small, x_large = m.minimum(magnitude, 4), m.maximum(magnitude, 4)
    small_value = x_small * polynomial(
        m, _alternating_coefficients(m, 1, 2, 4.0), x_small * x_small
    )
    f, g = _auxiliary(m, x_large)
    angle = m.where(x_large == math.inf, 0.0, x_large)
    large_value = 0.5 * math.pi - f * m.cos(angle) - g * m.sin(angle)
    out = m.where(magnitude <= 4, small_value, large_value)
    return m.where(x == x, m.where(x < 0, -out, m.where(x == 0, x, out)), x)


def _cosine_integral(m: Algebra, x: Number) -> Number:
    magnitude = m.abs(x)
    x_small, x_large = m.minimum(magnitude, 4), m.maximum(magnitude, 4)
    square = x_small * x_small
    small_value = (m.log(x_small) + np.euler_gamma) - square * polynomial(
        m, _alternating_coefficients(m, 2, 2, 4.0), square
    )
    f, g = _auxiliary(m, x_large)
    angle = m.where(x_large == math.inf, 0.0, x_large)
    large_value = f * m.sin(angle) - g * m.cos(angle)
    out = m.where(magnitude <= 4, small_value, large_value)
    return m.where((x == -math.inf) | (x != x), math.nan, out)


def _sine_over(x: Value) -> Value:
    """sin(x) / x, and 1 at 0."""
    is_small = lt(abs_(x), like(x, 0.1))
    x_small = where(is_small, x, like(x, 0))
    square = mul(x_small, x_small)
    total = like(x, 1.0)
    for k in range(6, 0, -1):
        total = sub(like(x, 1), mul(mul(square, like(x, 1 / (2 * k * (2 * k + 1)))), total))
    return where(is_small, total, div(sin(x), where(is_small, like(x, 1), x)))


sine_integral: Primitive = by_formula(
    "sine_integral", "The sine integral.", _sine_integral,
    lambda dx, out, x: mul(dx, _sine_over(x)),
)  # fmt: skip
cosine_integral: Primitive = by_formula(
    "cosine_integral", "The cosine integral of |x|.", _cosine_integral,
    lambda dx, out, x: mul(dx, div(cos(x), x)),
)  # fmt: skip

# --- Fresnel's integrals ---


def _quarter_turns(m: Algebra, x: Number) -> tuple[Number, Number]:
    """sin(πx²/2) and cos(πx²/2). It computes x² modulo 4 from the remainder of x modulo 2."""
    remainder = x - 2 * m.floor(0.5 * x)  # r, with x = 2n + r and x² = 4n² + 4nr + r²
    multiple = 4 * (0.5 * (x - remainder) * remainder)
    quarter_turns = remainder * remainder + (multiple - 4 * m.floor(0.25 * multiple))
    half_turns = 0.5 * quarter_turns
    number = m.floor(half_turns + 0.5)
    fraction = half_turns - number
    is_odd = number - 2 * m.floor(0.5 * number)
    sign = 1 - 2 * is_odd
    return sign * sine_of_pi(m, fraction), sign * sine_of_pi(m, 0.5 - m.abs(fraction))


def _fresnel(m: Algebra, x: Number, of_sine: bool) -> Number:
    """Uses series (DLMF 7.6.4, 7.6.6) below 1.6; above, the auxiliary functions (DLMF 7.4.5, 7.4.6)
    as series in (1.6 / x)⁴."""
    magnitude = m.abs(x)
    x_small, x_large = m.minimum(magnitude, 1.6), m.maximum(magnitude, 1.6)
    first_power = 3 if of_sine else 1
    terms = []
    for k in range(26):
        order = 2 * k + (1 if of_sine else 0)
        power = 4 * k + first_power
        c = (-1) ** k * (math.pi / 2) ** order / (math.factorial(order) * power)
        if abs(c) * 1.6**power > m.eps / 8:
            terms.append(c)
    fourth_power = (x_small * x_small) * (x_small * x_small)
    small_value = (x_small * x_small * x_small if of_sine else x_small) * polynomial(
        m, terms, fourth_power
    )
    inverse = 1 / x_large
    ratio = 1.6 * inverse
    t = 2 * (ratio * ratio) * (ratio * ratio) - 1
    f = clenshaw(m, s.FRESNEL_F, t) * (inverse * (1 / math.pi))
    g = clenshaw(m, s.FRESNEL_G, t) * (inverse * inverse * inverse * (1 / math.pi**2))
    sine, cosine = _quarter_turns(m, m.where(x_large == math.inf, 0.0, x_large))
    wave = f * cosine + g * sine if of_sine else g * cosine - f * sine
    out = m.where(magnitude <= 1.6, small_value, 0.5 - wave)
    return m.where(x == x, m.where(x < 0, -out, m.where(x == 0, x, out)), x)


def _half_pi_times_square(x: Value) -> Value:
    return mul(like(x, math.pi / 2), mul(x, x))


fresnel_sine: Primitive = by_formula(
    "fresnel_sine", "Fresnel's integral S(x).", lambda m, x: _fresnel(m, x, True),
    lambda dx, out, x: mul(dx, sin(_half_pi_times_square(x))),
)  # fmt: skip
fresnel_cosine: Primitive = by_formula(
    "fresnel_cosine", "Fresnel's integral C(x).", lambda m, x: _fresnel(m, x, False),
    lambda dx, out, x: mul(dx, cos(_half_pi_times_square(x))),
)  # fmt: skip

# --- Dawson's integral ---


def _dawsn(m: Algebra, x: Number) -> Number:
    """Uses a ratio of polynomials for x² up to 25 or 49, and beyond that fitted terms of the
    asymptotic series (DLMF 7.6.4 with 7.12.1). Both share one division."""
    is_float32 = m.eps > 1e-10
    limit = 25.0 if is_float32 else 49.0
    numerator_coefficients, denominator_coefficients = (
        s.DAWSON_NEAR_FLOAT32 if is_float32 else s.DAWSON_NEAR
    )
    square = x * x
    square_small = m.minimum(square, limit)
    inverse = 1 / m.maximum(square, limit)
    series = polynomial(m, s.DAWSON_FAR_FLOAT32 if is_float32 else s.DAWSON_FAR, inverse)
    is_small = square < limit
    numerator = m.where(
        is_small, x * polynomial(m, numerator_coefficients, square_small), 0.5 * series
    )
    return numerator / m.where(is_small, polynomial(m, denominator_coefficients, square_small), x)


dawsn: Primitive = by_formula(
    "dawsn", "Dawson's integral exp(-x²) ∫ exp(t²) dt, from 0 to x.", _dawsn,
    lambda dx, out, x: mul(dx, sub(like(x, 1), mul(like(x, 2), mul(x, out)))),
)  # fmt: skip
