"""The gamma function, its logarithm and its derivatives, as formulas for compiled programs.

XLA's own functions lose digits where their values are small: lgamma(1.6) is off by 4e-6 in float32,
and all digits are wrong near its zeros at 1 and 2. The formulas here are accurate to a few units in
the last place for x > 0. For x < 0, where the functions have zeros between the poles, they are
accurate to a few units in the last place of the larger terms.
"""

import math

from .formulas import Algebra, Number, chebyshev, sine_of_pi

# Chebyshev series, computed for weft from Taylor's with 80 digits: of log Γ(2 + t) / t in 2 t, and
# of digamma(3/2 + t) / (3/2 + t - its zero) in 2 t.
# fmt: off
LGAMMA_NEAR_2 = (
    0.41418612492156676, 0.16322170068760064, -0.0086589723941262846, 0.00067275157260014847,
    -6.1395569636282335e-05, 6.1100657970035758e-06, -6.4100030338262228e-07,
    6.9622426927689512e-08, -7.7472487337882167e-09, 8.7740751406872395e-10,
    -1.0070266869830198e-10, 1.1678602130652374e-11, -1.3656871334744932e-12,
    1.6079351149711552e-13, -1.9039501088488732e-14, 2.2653768767833064e-15,
    -2.7066568148318961e-16, 3.245660731626191e-17, -3.9044833784574469e-18,
)
DIGAMMA_NEAR_ZERO = (
    0.98357026044156703, -0.22706408633464439, 0.033368899023930108, -0.0053200772715965476,
    0.00087886569378205052, -0.00014773492650606044, 2.5060543468359146e-05,
    -4.2721034029993324e-06, 7.3027692724659233e-07, -1.2502886813559594e-07,
    2.1425009322359472e-08, -3.6732959185651789e-09, 6.2997172361089314e-10,
    -1.080593028883266e-10, 1.8537351920536379e-11, -3.1802353658255301e-12,
    5.4561475703227946e-13, -9.3609931310364384e-14, 1.606064636295075e-14,
    -2.7555431377438815e-15, 4.7277361786019116e-16, -8.1114842034650894e-17,
    1.3917077694741539e-17, -2.3877901082188625e-18,
)
# fmt: on
# The zero of digamma: a number of the dtype, and the remainder.
_ZERO = 1.4616321325302124, 1.2438149938918909e-08
_ZERO_FLOAT64 = 1.4616321449683622, 9.549995429965697e-17

# of log Γ(x) = (x - 1/2) (log x - 1) + (log(2π) - 1) / 2 + stirling(x)
STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
# B(2k) / (2k), of the asymptotic series of digamma, and B(2k), of the series of trigamma
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
TRIGAMMA_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def series(m: Algebra, coefficients: tuple[float, ...], leading: Number, square: Number) -> Number:
    """The sum of c[k] · leading · square**k."""
    total = m.like(leading, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * square + c
    return total * leading


def lgamma_formula(m: Algebra, x: Number) -> Number:
    """log |Γ(x)|."""
    magnitude = m.abs(x)
    argument = m.where(magnitude < 0.5, x, magnitude)  # may be negative
    # moves x to [3/2, 5/2] by Γ(x + 1) = x Γ(x); uses Stirling's series beyond 8
    below_half, is_below = argument < 0.5, argument < 1.5
    reduced_x = m.where(is_below, argument + m.where(below_half, 2.0, 1.0), argument)
    factor = m.where(is_below, argument * m.where(below_half, 1 + argument, 1.0), 1.0)
    t = m.where(below_half, argument, m.where(is_below, argument - 1, argument - 2))
    for _ in range(6):
        is_above = reduced_x >= 2.5
        reduced_x = m.where(is_above, reduced_x - 1, reduced_x)
        factor = m.where(is_above, factor * reduced_x, factor)
    t = m.where(is_below, t, reduced_x - 2)
    is_large = argument >= 8
    logarithm = m.log(m.where(is_large, argument, m.abs(factor)))
    near_value = t * chebyshev(m, LGAMMA_NEAR_2, 2 * t) + m.where(is_below, -logarithm, logarithm)
    inverse = 1 / m.maximum(argument, 8)
    tail = series(m, STIRLING, inverse, inverse * inverse)
    stirling_value = (argument - 0.5) * (logarithm - 1) + ((math.log(2 * math.pi) - 1) / 2 + tail)
    out = m.where(is_large, stirling_value, near_value)
    # log |Γ(-x)| = log(π / (x |sin(πx)|)) - log Γ(x)
    offset = magnitude - m.floor(magnitude + 0.5)
    reflected = m.log(math.pi / (magnitude * m.abs(sine_of_pi(m, offset)))) - out
    out = m.where(x <= -0.5, reflected, out)
    pole = (x < 0) & (offset == 0)
    return m.where(pole | (magnitude == math.inf), math.inf, out)


def digamma_formula(m: Algebra, x: Number) -> Number:
    """The derivative of log Γ(x)."""
    magnitude = m.abs(x)
    # moves x to [1, 2] by digamma(x + 1) = digamma(x) + 1 / x
    is_below = magnitude < 1
    reduced_x = m.where(is_below, magnitude + 1, magnitude)
    correction = m.where(is_below, -1 / magnitude, 0.0)
    for _ in range(6):
        is_above = reduced_x > 2
        reduced_x = m.where(is_above, reduced_x - 1, reduced_x)
        correction = m.where(is_above, correction + 1 / reduced_x, correction)
    slope = chebyshev(m, DIGAMMA_NEAR_ZERO, 2 * reduced_x - 3)
    # XLA would add constants that are subtracted one after the other, and the second would be lost
    zero_head, zero_tail = _ZERO if m.eps > 1e-10 else _ZERO_FLOAT64
    near_value = (reduced_x - zero_head) * slope - zero_tail * slope + correction
    inverse = 1 / m.maximum(magnitude, 8)
    square = inverse * inverse
    tail = 0.5 * inverse + series(m, DIGAMMA_SERIES, square, square)
    out = m.where(magnitude >= 8, m.log(m.maximum(magnitude, 8)) - tail, near_value)
    # digamma(-x) = digamma(x) + 1 / x + π / tan(πx)
    offset = magnitude - m.floor(magnitude + 0.5)
    cosine = sine_of_pi(m, 0.5 - m.abs(offset))
    reflected = out + 1 / magnitude + math.pi * cosine / sine_of_pi(m, offset)
    pole = (x < 0) & ((offset == 0) | (magnitude == math.inf))
    out = m.where(x < 0, m.where(pole, math.nan, reflected), out)
    return m.where(magnitude == 0, -1 / x, out)


def trigamma_formula(m: Algebra, x: Number) -> Number:
    """The derivative of digamma (DLMF 5.15.5, 5.15.6 and 5.15.8)."""
    magnitude = m.abs(x)
    base = m.where(x < 0, magnitude + 1, x)
    count, terms = (12, 8) if m.eps < 1e-10 else (6, 4)
    inverse = 1 / (base + count)
    square = inverse * inverse
    total = inverse + (0.5 * square + series(m, TRIGAMMA_SERIES[:terms], inverse * square, square))
    for n in reversed(range(count)):
        part = 1 / (base + n)
        total = total + part * part
    # trigamma(-x) = (π / sin(πx))² - trigamma(1 + x)
    part = math.pi / sine_of_pi(m, magnitude - m.floor(magnitude + 0.5))
    reflected = m.where(magnitude == math.inf, math.inf, part * part - total)
    return m.where(x < 0, reflected, total)


# Γ(3/2 + t/2), computed for weft with 50 digits.
# fmt: off
GAMMA_FROM_1_TO_2 = (
    0.9417855977954946, 0.004415381324841007, 0.05685043681599363, -0.00421983539641856,
    0.0013268081812124603, -0.00018930245297988805, 3.606925327441245e-05, -6.056761904460864e-06,
    1.0558295463022833e-06, -1.811967365542384e-07, 3.117724964715322e-08, -5.354219639019687e-09,
    9.193275519859589e-10, -1.5779412802883398e-10, 2.7079806229349544e-11, -4.64681865382573e-12,
    7.97335019200742e-13, -1.368078209830916e-13, 2.3473194865638007e-14, -4.027432614949067e-15,
    6.910051747372101e-16, -1.185584500221993e-16, 2.034148542496374e-17, -3.490054341717406e-18,
)
# fmt: on


def _gamma_above_1(m: Algebra, x: Number, steps: int) -> Number:
    """Γ(x) for x from 1 to 2 + steps."""
    factor = m.like(x, 1.0)
    for _ in range(steps):
        is_above = x > 2
        x = m.where(is_above, x - 1, x)
        factor = m.where(is_above, factor * x, factor)
    return chebyshev(m, GAMMA_FROM_1_TO_2, 2 * m.minimum(x, 2) - 3) * factor


def gamma_below(m: Algebra, x: Number, limit: int) -> Number:
    """Γ(x) for 0 < x < limit, where the limit is a small integer."""
    low = x < 1
    return _gamma_above_1(m, m.where(low, x + 1, x), limit - 2) / m.where(low, x, 1.0)


def lgamma_above_1(m: Algebra, a: Number) -> Number:
    """log Γ(1 + a) for 0 ≤ a ≤ 1, exact near a = 0 too."""
    low = a < 0.5
    t = m.where(low, a, a - 1)
    return t * chebyshev(m, LGAMMA_NEAR_2, 2 * t) - m.where(low, m.log1p(a), 0.0)


def stirling_remainder(m: Algebra, x: Number, lower_bound: float = 8) -> Number:
    """Stirling's series for x ≥ `lower_bound`, which is 8, or 4 in float32."""
    inverse = 1 / m.maximum(x, lower_bound)
    coefficients = STIRLING[:5] if m.eps > 1e-10 else STIRLING
    return series(m, coefficients, inverse, inverse * inverse)


def gamma_formula(m: Algebra, x: Number) -> Number:
    """Γ(x)."""
    magnitude = m.abs(x)
    argument = m.where(magnitude < 0.5, x, magnitude)
    # moves x to [1, 2] by Γ(x + 1) = x Γ(x); uses Stirling's series beyond 8
    is_below = argument < 1
    reduced_x = m.where(is_below, argument + m.where(argument < 0, 2.0, 1.0), argument)
    factor = m.where(is_below, m.where(argument < 0, argument + 1, 1.0) * argument, 1.0)
    near_value = _gamma_above_1(m, reduced_x, 6) / factor
    x_large = m.maximum(argument, 8)
    inverse = 1 / x_large
    # Γ = sqrt(2π) x^(x - 1/2) exp(-x + stirling), with the power in two halves to avoid overflow
    half = m.power(x_large, 0.5 * x_large - 0.25)
    tail = m.exp(series(m, STIRLING, inverse, inverse * inverse))
    stirling_value = half * m.exp(-x_large) * half * (math.sqrt(2 * math.pi) * tail)
    # for a large argument the powers are infinite and the exponential is zero
    out = m.where(argument >= 8, m.where(argument > 180, math.inf, stirling_value), near_value)
    # Γ(-x) = -π / (x sin(πx) Γ(x))
    nearest = m.floor(magnitude + 0.5)
    offset = magnitude - nearest
    is_odd = nearest - 2 * m.floor(0.5 * nearest)
    sine = sine_of_pi(m, offset) * (1 - 2 * is_odd)
    reflected = -math.pi / (magnitude * sine * out)
    out = m.where(x <= -0.5, m.where(offset == 0, math.nan, reflected), out)
    out = m.where(x == -math.inf, math.nan, out)
    return m.where(magnitude == 0, 1 / x, out)


def gamma_sign(m: Algebra, x: Number) -> Number:
    """The sign of Γ(x): 1 at 0, -1 at -0, NaN at the other poles."""
    floor = m.floor(x)
    is_odd = floor - 2 * m.floor(0.5 * floor)
    out = m.where(x < 0, m.where(floor == x, math.nan, 1 - 2 * is_odd), 1.0)
    out = m.where(x == 0, m.where(1 / x < 0, -1.0, 1.0), out)
    return m.where(x == x, out, x)


def _reflected_from_poles(m: Algebra, a: Number, b: Number) -> tuple[Number, Number]:
    """Replaces a by 1 - a - b where needed; returns the result and a mask of the changes. For
    integers a ≤ 0 and 0 < b ≤ -a, both Γ(a) and Γ(a + b) have poles, and B(a, b) = (-1)**b B(1 - a
    - b, b)."""
    mirrored = (a <= 0) & (a == m.floor(a)) & (b == m.floor(b)) & (b > 0) & (b <= -a)
    return m.where(mirrored, 1 - a - b, a), mirrored


def betaln_formula(m: Algebra, a: Number, b: Number) -> Number:
    """log |B(a, b)|. For large arguments it avoids differences of large logarithms (DLMF 5.11)."""
    a, _ = _reflected_from_poles(m, a, b)
    b, _ = _reflected_from_poles(m, b, a)
    low, high = m.minimum(a, b), m.maximum(a, b)
    total = low + high
    high_is_large, both_large = (high >= 8) & (low > 0), low >= 8
    p, q = m.where(both_large, low, 8.0), m.where(high_is_large, high, 8.0)
    lgamma_low = lgamma_formula(m, low)
    direct_value = lgamma_low + (lgamma_formula(m, high) - lgamma_formula(m, total))
    low_small = m.where(high_is_large & ~both_large, low, 1.0)
    remainder = stirling_remainder(m, q) - stirling_remainder(m, q + low_small)
    value_of_one_large = lgamma_low + (
        remainder + low_small * (1 - m.log(q + low_small)) - (q - 0.5) * m.log1p(low_small / q)
    )
    tails = stirling_remainder(m, p) + stirling_remainder(m, q) - stirling_remainder(m, p + q)
    logs = (p - 0.5) * m.log(p / (p + q)) - q * m.log1p(p / q) - 0.5 * m.log(q)
    value_of_two_large = logs + (0.5 * math.log(2 * math.pi) + tails)
    out = m.where(
        high_is_large, m.where(both_large, value_of_two_large, value_of_one_large), direct_value
    )
    return m.where((high == math.inf) & (low > 0), -math.inf, out)


def beta_anywhere(m: Algebra, a: Number, b: Number) -> Number:
    """B(a, b), at the poles and between them too."""
    a_mirrored, a_reflected = _reflected_from_poles(m, a, b)
    b_mirrored, b_reflected = _reflected_from_poles(m, b, a_mirrored)
    b_is_odd, a_is_odd = (z - 2 * m.floor(0.5 * z) for z in (b, a))
    reflection_sign = m.where(a_reflected, 1 - 2 * b_is_odd, 1.0) * m.where(
        b_reflected, 1 - 2 * a_is_odd, 1.0
    )
    total = a_mirrored + b_mirrored
    is_moderate = (m.abs(a_mirrored) < 20) & (m.abs(b_mirrored) < 20) & (m.abs(total) < 30)
    product = m.where(is_moderate, total, 1.0)
    factors = [gamma_formula(m, m.where(is_moderate, z, 1.0)) for z in (a_mirrored, b_mirrored)]
    # 1/Γ is 0 at the poles
    pole = (product <= 0) & (product == m.floor(product))
    gamma_product = m.where(pole, math.inf, gamma_formula(m, product))
    gamma_a, gamma_b = factors
    is_ascending = m.abs(gamma_a) < m.abs(gamma_b)  # divides the larger one first to avoid overflow
    direct_value = (
        m.where(is_ascending, gamma_b, gamma_a)
        / gamma_product
        * m.where(is_ascending, gamma_a, gamma_b)
    )
    sign = gamma_sign(m, a_mirrored) * gamma_sign(m, b_mirrored) * gamma_sign(m, total)
    log_value = sign * m.exp(betaln_formula(m, a_mirrored, b_mirrored))
    return reflection_sign * m.where(is_moderate, direct_value, log_value)


def poch_anywhere(m: Algebra, z: Number, n: Number) -> Number:
    """Γ(z + n) / Γ(z); for integers z ≤ 0 and n, the product z (z + 1) … (z + n - 1)."""
    are_integers = (z <= 0) & (z == m.floor(z)) & (n == m.floor(n))
    has_zero_factor = are_integers & (n > -z)  # 0 is among the factors
    is_reflected = are_integers & (n <= -z)
    start = m.where(
        is_reflected, 1 - z - n, m.where(has_zero_factor, 1.0, z)
    )  # (-1)**n times the mirrored product
    is_odd = n - 2 * m.floor(0.5 * n)
    sign = m.where(is_reflected, 1 - 2 * is_odd, 1.0)
    end = start + n
    is_moderate = (m.abs(start) < 30) & (m.abs(end) < 30)
    start_moderate, end_moderate = m.where(is_moderate, start, 1.0), m.where(is_moderate, end, 1.0)
    direct_value = gamma_formula(m, end_moderate) / gamma_formula(m, start_moderate)
    logarithm = lgamma_formula(m, end) - lgamma_formula(m, start)
    log_value = gamma_sign(m, end) * gamma_sign(m, start) * m.exp(logarithm)
    out = m.where(is_moderate, direct_value, log_value) * sign
    end_is_pole, start_is_pole = ((e <= 0) & (e == m.floor(e)) for e in (end, start))  # poles
    out = m.where(end_is_pole, math.inf, m.where(start_is_pole, 0.0, out))
    return m.where(has_zero_factor, 0.0, m.where(n == 0, 1.0, out))
