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
    near, far = m.minimum(x, 1), m.maximum(x, 1)
    count = 12 if m.eps > 1e-10 else 19
    terms = [(-1) ** k / ((k + 1) * math.factorial(k + 1)) for k in range(count)]
    small = near * polynomial(m, terms, near) - (m.log(m.maximum(near, 0)) + np.euler_gamma)
    large = clenshaw(m, s.E1_ABOVE_1, 1 - 8 / (far + 3)) * m.exp(-far) / far
    out = m.where(x <= 1, small, large)
    return m.where((x < 0) | (x != x), math.nan, out)


def _expi_positive(m: Algebra, x: Number) -> Number:
    zero, rest = _ZERO if m.eps > 1e-10 else _ZERO_FLOAT64
    near = m.minimum(x, 1)
    # XLA would add constants that are subtracted one after the other, and the second would be lost
    apart = near - zero
    slope = chebyshev(m, s.EI_BELOW_1, 2 * near - 1)
    close = near > 0.2
    change = m.where(close & (apart != 0), apart * (1 / zero), 0.5)
    both = slope + m.where(apart == 0, 1.0, m.log1p(change) / change) * (1 / zero)
    beside = m.log(m.where(close, 1.0, near * (1 / zero))) + apart * slope
    below_1 = m.where(close, apart * both - rest * both, beside)
    middle = m.minimum(m.maximum(x, 1), 6)
    count = 24 if m.eps > 1e-10 else 40
    terms = [1 / ((k + 1) * math.factorial(k + 1)) for k in range(count)]
    below_6 = m.log(middle) + (np.euler_gamma + middle * polynomial(m, terms, middle))
    far = m.maximum(x, 6)
    inverse = 1 / far
    series = m.where(
        x <= 12,
        chebyshev(m, s.EI_6_12, 24 * m.maximum(inverse, 1 / 12) - 3),
        m.where(
            x <= 24,
            chebyshev(m, s.EI_12_24, 48 * m.minimum(m.maximum(inverse, 1 / 24), 1 / 12) - 3),
            chebyshev(m, s.EI_ABOVE_24, 48 * m.minimum(inverse, 1 / 24) - 1),
        ),
    )
    half = m.exp(0.5 * far)
    beyond = m.where(far == math.inf, math.inf, series * half * inverse * half)
    return m.where(x <= 1, below_1, m.where(x <= 6, below_6, beyond))


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
        here = n == k + 1
        single = (harmonic - np.euler_gamma) - logarithm
        total = total + m.where(here, term * single, -term / m.where(here, 1.0, k + 1 - n))
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
    low = valid & (x <= 1)
    order = m.where(valid, n, 1.0)
    near = _expn_below_1(m, order, m.where(low, x, 0.5))
    far = _expn_above_1(m, order, m.where(valid & (x > 1), x, 2.0))
    out = m.where(low, near, far)
    out = m.where(x == 0, m.where(n > 1, 1 / (n - 1), math.inf), out)
    out = m.where(n == 0, m.exp(-x) / x, out)
    out = m.where(x == math.inf, 0.0, out)
    wrong = (n < 0) | (n != m.floor(n)) | (n != n) | (x < 0) | (x != x)
    return m.where(wrong, math.nan, out)


def _expn_slope(dx: Value, out: Value, n: Value, x: Value) -> Value:
    first = eq(n, like(n, 0))
    lower = expn(where(first, n, sub(n, like(n, 1))), x)
    # E(0) is exp(-x) / x
    return neg(mul(dx, where(first, mul(lower, add(like(x, 1), div(like(x, 1), x))), lower)))


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
    small, large = x < 0.5, x > 2
    inverse = 1 / m.maximum(x, 2)
    u = 0.0 - m.log1p(m.where(small, -x, m.where(large, -inverse, x - 1)))  # 0.0 at x = 1
    square = u * u
    series = u - 0.25 * square + u * square * polynomial(m, _DILOGARITHM, square)
    logarithm = m.log(m.where(small | large, x, 1.0))
    sixth = math.pi**2 / 6
    product = m.where((x == 0) | (x == math.inf), 0.0, logarithm * u)
    low = sixth + product - series
    high = product - 0.5 * logarithm * logarithm - sixth + series
    out = m.where(small, low, m.where(large, high, series))
    out = m.where(x == math.inf, -math.inf, out)
    return m.where((x < 0) | (x != x), math.nan, out)


def _log_over(x: Value) -> Value:
    """log(x) / (1 - x), and -1 at 1."""
    apart = sub(x, like(x, 1))
    near = lt(abs_(apart), like(x, 0.05))
    d = where(near, apart, like(x, 0))
    total = like(x, 1 / 12)
    for k in range(11, 0, -1):
        total = sub(like(x, 1 / k), mul(d, total))
    far = div(log(where(near, like(x, 2), x)), neg(where(near, like(x, 1), apart)))
    return where(near, neg(total), far)


spence: Primitive = by_formula(
    "spence", "The dilogarithm of 1 - x.", _spence, lambda dx, out, x: mul(dx, _log_over(x))
)

# --- sine and cosine integrals ---


def _auxiliary(m: Algebra, x: Number) -> tuple[Number, Number]:
    """f and g of DLMF 6.2.17 and 6.2.18 for x ≥ 4: x f and x² g in 32 / x² - 1."""
    inverse = 1 / x
    t = 32 * (inverse * inverse) - 1
    return clenshaw(m, s.SINE_F, t) * inverse, clenshaw(m, s.SINE_G, t) * inverse * inverse


def _alternating(m: Algebra, first: int, step: int, limit: float) -> list[float]:
    """The coefficients (-1)**k / (n n!), n = first + step · k, as long as limit**n needs."""
    orders = [first + step * k for k in range(30)]
    terms = [(-1) ** k / (n * math.factorial(n)) for k, n in enumerate(orders)]
    return [c for c, n in zip(terms, orders, strict=True) if abs(c) * limit**n > m.eps / 8]


def _sine_integral(m: Algebra, x: Number) -> Number:
    size = m.abs(x)
    near, far = m.minimum(size, 4), m.maximum(size, 4)
    small = near * polynomial(m, _alternating(m, 1, 2, 4.0), near * near)
    f, g = _auxiliary(m, far)
    angle = m.where(far == math.inf, 0.0, far)
    large = 0.5 * math.pi - f * m.cos(angle) - g * m.sin(angle)
    out = m.where(size <= 4, small, large)
    return m.where(x == x, m.where(x < 0, -out, m.where(x == 0, x, out)), x)


def _cosine_integral(m: Algebra, x: Number) -> Number:
    size = m.abs(x)
    near, far = m.minimum(size, 4), m.maximum(size, 4)
    square = near * near
    small = (m.log(near) + np.euler_gamma) - square * polynomial(
        m, _alternating(m, 2, 2, 4.0), square
    )
    f, g = _auxiliary(m, far)
    angle = m.where(far == math.inf, 0.0, far)
    large = f * m.sin(angle) - g * m.cos(angle)
    out = m.where(size <= 4, small, large)
    return m.where((x == -math.inf) | (x != x), math.nan, out)


def _sine_over(x: Value) -> Value:
    """sin(x) / x, and 1 at 0."""
    small = lt(abs_(x), like(x, 0.1))
    d = where(small, x, like(x, 0))
    square = mul(d, d)
    total = like(x, 1.0)
    for k in range(6, 0, -1):
        total = sub(like(x, 1), mul(mul(square, like(x, 1 / (2 * k * (2 * k + 1)))), total))
    return where(small, total, div(sin(x), where(small, like(x, 1), x)))


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
    beyond = x - 2 * m.floor(0.5 * x)  # x = 2n + beyond: x² = 4n² + 4n·beyond + beyond²
    whole = 4 * (0.5 * (x - beyond) * beyond)
    turns = beyond * beyond + (whole - 4 * m.floor(0.25 * whole))
    turns = 0.5 * turns  # of half turns
    number = m.floor(turns + 0.5)
    rest = turns - number
    odd = number - 2 * m.floor(0.5 * number)
    sign = 1 - 2 * odd
    return sign * sine_of_pi(m, rest), sign * sine_of_pi(m, 0.5 - m.abs(rest))


def _fresnel(m: Algebra, x: Number, of_sine: bool) -> Number:
    """Uses series (DLMF 7.6.4, 7.6.6) below 1.6; above, the auxiliary functions (DLMF 7.4.5, 7.4.6)
    as series in (1.6 / x)⁴."""
    size = m.abs(x)
    near, far = m.minimum(size, 1.6), m.maximum(size, 1.6)
    first = 3 if of_sine else 1
    terms = []
    for k in range(26):
        order = 2 * k + (1 if of_sine else 0)
        power = 4 * k + first
        c = (-1) ** k * (math.pi / 2) ** order / (math.factorial(order) * power)
        if abs(c) * 1.6**power > m.eps / 8:
            terms.append(c)
    fourth = (near * near) * (near * near)
    small = (near * near * near if of_sine else near) * polynomial(m, terms, fourth)
    inverse = 1 / far
    ratio = 1.6 * inverse
    t = 2 * (ratio * ratio) * (ratio * ratio) - 1
    f = clenshaw(m, s.FRESNEL_F, t) * (inverse * (1 / math.pi))
    g = clenshaw(m, s.FRESNEL_G, t) * (inverse * inverse * inverse * (1 / math.pi**2))
    sine, cosine = _quarter_turns(m, m.where(far == math.inf, 0.0, far))
    wave = f * cosine + g * sine if of_sine else g * cosine - f * sine
    out = m.where(size <= 1.6, small, 0.5 - wave)
    return m.where(x == x, m.where(x < 0, -out, m.where(x == 0, x, out)), x)


def _half_pi_square(x: Value) -> Value:
    return mul(like(x, math.pi / 2), mul(x, x))


fresnel_sine: Primitive = by_formula(
    "fresnel_sine", "Fresnel's integral S(x).", lambda m, x: _fresnel(m, x, True),
    lambda dx, out, x: mul(dx, sin(_half_pi_square(x))),
)  # fmt: skip
fresnel_cosine: Primitive = by_formula(
    "fresnel_cosine", "Fresnel's integral C(x).", lambda m, x: _fresnel(m, x, False),
    lambda dx, out, x: mul(dx, cos(_half_pi_square(x))),
)  # fmt: skip

# --- Dawson's integral ---


def _dawsn(m: Algebra, x: Number) -> Number:
    """Uses a ratio of polynomials for x² up to 25 or 49, and beyond that fitted terms of the
    asymptotic series (DLMF 7.6.4 with 7.12.1). Both share one division."""
    short = m.eps > 1e-10
    limit = 25.0 if short else 49.0
    top, bottom = s.DAWSON_NEAR_FLOAT32 if short else s.DAWSON_NEAR
    square = x * x
    near = m.minimum(square, limit)
    inverse = 1 / m.maximum(square, limit)
    series = polynomial(m, s.DAWSON_FAR_FLOAT32 if short else s.DAWSON_FAR, inverse)
    close = square < limit
    above = m.where(close, x * polynomial(m, top, near), 0.5 * series)
    return above / m.where(close, polynomial(m, bottom, near), x)


dawsn: Primitive = by_formula(
    "dawsn", "Dawson's integral exp(-x²) ∫ exp(t²) dt, from 0 to x.", _dawsn,
    lambda dx, out, x: mul(dx, sub(like(x, 1), mul(like(x, 2), mul(x, out)))),
)  # fmt: skip
