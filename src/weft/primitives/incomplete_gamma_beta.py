"""Incomplete gamma and beta functions: igamma, igammac, igamma_grad_a, regularized_incomplete_beta;
and random_gamma_grad, the derivative of a gamma sample.

They use series and continued fractions that run to convergence; each is written once, as a
formula."""

import math
from collections.abc import Sequence

from ..core.primitive import Primitive, Rule
from ..core.value import Value
from .arithmetic import add, like, mul, neg, sub
from .comparison import eq
from .entropies import kl_div_formula
from .exponential import exp, log, log1p
from .formulas import Algebra, Formula, Number, evaluated, lowered
from .gamma_formulas import (
    DIGAMMA_SERIES,
    gamma_below,
    gamma_formula,
    lgamma_above_1,
    series,
    stirling_remainder,
)
from .gamma_functions import digamma, lgamma
from .selection import where
from .special import specials, undefined

# --- incomplete gamma functions ---


def _digamma_positive(m: Algebra, a: Number) -> Number:
    """digamma(a) for a > 0, as a formula."""
    total, shifted_a = m.like(a, 0.0), a
    for _ in range(8):
        is_small = shifted_a < 8
        total = m.where(is_small, total - 1 / shifted_a, total)
        shifted_a = m.where(is_small, shifted_a + 1, shifted_a)
    inverse = 1 / shifted_a
    square = inverse * inverse
    return total + m.log(shifted_a) - 0.5 * inverse - series(m, DIGAMMA_SERIES, square, square)


def _gamma_factor(m: Algebra, a: Number, x: Number) -> Number:
    """x**a exp(-x) / Γ(a + 1). For large a the factors are combined, since each alone would lose
    digits."""
    is_large = a > 30
    a_small = m.where(is_large, 1.0, a)
    # in two halves, so that neither factor overflows or vanishes before the whole
    half = m.power(x, 0.5 * a_small) * m.exp(-0.5 * x)
    small_value = half / gamma_formula(m, a_small + 1) * half
    a_large = m.maximum(a, 8)
    distance = kl_div_formula(m, a_large, x)
    large_value = m.exp(-distance - stirling_remainder(m, a_large)) / m.sqrt(
        a_large * (2 * math.pi)
    )
    return m.where(is_large, large_value, small_value)


_LIMIT = 3000  # maximum steps of a series or fraction; near x = a it needs about 5·sqrt(a)


def _gamma_series(m: Algebra, a: Number, x: Number, derivative: bool) -> Sequence[Number]:
    """S = 1 + x/(a+1) + x²/((a+1)(a+2)) + …, and its derivative in a."""
    one, zero = m.like(x, 1.0), m.like(x, 0.0)
    if not derivative:

        def step(n: Number, term: Number, total: Number) -> Sequence[Number]:
            term = term * (x / (a + n))
            return term, total + term

        def is_unconverged(term: Number, total: Number) -> Number:
            return term > total * (m.eps / 4)

        return m.loop(_LIMIT, is_unconverged, step, (one, one))[1:]

    def step_with_derivative(
        n: Number, term: Number, total: Number, d_term: Number, d_total: Number
    ) -> Sequence[Number]:
        ratio = x / (a + n)
        d_term = (d_term - term / (a + n)) * ratio
        term = term * ratio
        return term, total + term, d_term, d_total + d_term

    def is_unconverged_with_derivative(
        term: Number, total: Number, d_term: Number, d_total: Number
    ) -> Number:
        return (term > total * (m.eps / 4)) | (m.abs(d_term) > m.abs(d_total) * (m.eps / 4))

    return m.loop(
        _LIMIT, is_unconverged_with_derivative, step_with_derivative, (one, one, zero, zero)
    )[1::2]


def _gamma_fraction(m: Algebra, a: Number, x: Number) -> Number:
    """h with Γ(a, x) = x**a exp(-x) h, by Lentz's method for the continued fraction."""
    first_denominator = x + 1 - a
    d = 1 / first_denominator

    def step(n: Number, h: Number, d: Number, u: Number, change: Number) -> Sequence[Number]:
        numerator, b = n * (a - n), first_denominator + 2 * n
        d = 1 / (numerator * d + b)
        c = b + numerator * u
        factor = m.where(change > 2 * m.eps, d * c, 1.0)  # see `_gamma_fraction_and_slope`
        return h * factor, d, 1 / c, m.abs(factor - 1)

    def is_unconverged(h: Number, d: Number, u: Number, change: Number) -> Number:
        return change > 2 * m.eps

    return m.loop(_LIMIT, is_unconverged, step, (d, d, m.like(x, 0.0), m.like(x, 1.0)))[0]


def _gamma_fraction_and_slope(m: Algebra, a: Number, x: Number) -> tuple[Number, Number]:
    """The same h, and its derivative in a.

    An element that has converged is multiplied by 1 while the loop continues for slower ones.
    Thousands of rounded factors would make it drift.
    """
    first_denominator = x + 1 - a
    d = 1 / first_denominator
    dd = d * d
    zero = m.like(x, 0.0)

    def step(
        n: Number,
        h: Number,
        dh: Number,
        d: Number,
        dd: Number,
        u: Number,
        du: Number,
        change: Number,
    ) -> Sequence[Number]:
        numerator, b = n * (a - n), first_denominator + 2 * n
        d_new = 1 / (numerator * d + b)
        dd_new = -(d_new * d_new) * (n * d + numerator * dd - 1)
        c = b + numerator * u
        dc = n * u + numerator * du - 1
        is_active = change > 2 * m.eps
        factor = m.where(is_active, d_new * c, 1.0)
        d_factor = m.where(is_active, dd_new * c + d_new * dc, 0.0)
        u = 1 / c
        return (
            h * factor, dh * factor + h * d_factor, d_new, dd_new, u, -(u * u) * dc,
            m.abs(factor - 1) + m.abs(d_factor) * m.abs(h / m.maximum(m.abs(dh), m.tiny)),
        )  # fmt: skip

    def is_unconverged(
        h: Number, dh: Number, d: Number, dd: Number, u: Number, du: Number, change: Number
    ) -> Number:
        return change > 2 * m.eps

    start = (d, dd, d, dd, zero, zero, m.like(x, 1.0))
    h, dh, *_ = m.loop(_LIMIT, is_unconverged, step, start)
    return h, dh


def _regions(
    m: Algebra, a: Number, x: Number
) -> tuple[Number, tuple[Number, Number], tuple[Number, Number]]:
    """A mask of where the series is used, and the operands of the series and of the fraction. Each
    gets a harmless value where the other is used."""
    valid = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    uses_series = (x <= 1) | (x <= a)
    series = (m.where(valid & uses_series, a, 1.0), m.where(valid & uses_series, x, 0.5))
    fraction = (m.where(valid & ~uses_series, a, 1.0), m.where(valid & ~uses_series, x, 2.0))
    return uses_series, series, fraction


def _upper_for_small(m: Algebra, a: Number, x: Number) -> Number:
    """Q(a, x) for a < 1 and x ≤ 1, where Q may be small, so that 1 - P would lose digits (DLMF
    8.7.1)."""
    logarithm = a * m.log(x) - lgamma_above_1(m, a)
    count = 12 if m.eps > 1e-10 else 20
    total, term = m.like(a, 0.0), m.like(a, 1.0)
    for n in range(1, count):
        term = term * (x * (-1 / n))
        total = total + term / (a + n)
    return -m.expm1(logarithm) - m.exp(logarithm) * a * total


def _igamma_formula(complement: bool) -> Formula:
    def formula(m: Algebra, a: Number, x: Number) -> Number:
        uses_series, (sa, sx), (fa, fx) = _regions(m, a, x)
        (total,) = _gamma_series(m, sa, sx, False)
        p = _gamma_factor(m, sa, sx) * total
        q = _gamma_factor(m, fa, fx) * fa * _gamma_fraction(m, fa, fx)
        if complement:
            is_small = (a < 1) & (x <= 1)
            small_value = _upper_for_small(
                m, m.where(is_small, sa, 0.5), m.where(is_small, sx, 0.5)
            )
            out = m.where(uses_series, m.where(is_small, small_value, m.maximum(1 - p, 0)), q)
        else:
            out = m.where(uses_series, p, 1 - q)
        at_zero, at_infinity = (1.0, 0.0) if complement else (0.0, 1.0)
        out = m.where((x == 0) | (a == math.inf), at_zero, out)
        # if a is 0, all mass is at 0
        out = m.where(
            (x == math.inf) | (a == 0), m.where(a == math.inf, math.nan, at_infinity), out
        )
        is_invalid = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (a != a) | (x != x)
        return m.where(is_invalid, math.nan, out)

    return formula


def _igamma_grad_a_formula(m: Algebra, a: Number, x: Number) -> Number:
    uses_series, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = _gamma_factor(m, sa, sx) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction_and_slope(m, fa, fx)
    q = _gamma_factor(m, fa, fx) * fa * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(uses_series, p, -q)
    out = m.where((x == 0) | (a == math.inf) | (x == math.inf), 0.0, out)
    is_invalid = (a <= 0) | (x < 0) | (a != a) | (x != x) | ((a == math.inf) & (x == math.inf))
    return m.where(is_invalid, math.nan, out)


def _random_gamma_grad_formula(m: Algebra, a: Number, x: Number) -> Number:
    uses_series, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = -(sx / sa) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction_and_slope(m, fa, fx)
    q = fx * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(x == 0, 0.0, m.where(uses_series, p, q))
    is_invalid = (a <= 0) | (x < 0) | (a != a) | (x != x) | (a == math.inf) | (x == math.inf)
    return m.where(is_invalid, math.nan, out)


def _formula(name: str, doc: str, formula: Formula, jvp: Sequence[Rule] | None) -> Primitive:
    return specials(name, doc, evaluate=evaluated(formula), stablehlo=lowered(formula), jvp=jvp)


def _gamma_density(a: Value, x: Value) -> Value:
    """x**(a - 1) exp(-x) / Γ(a): the derivative of igamma in x."""
    power = mul(sub(a, like(a, 1)), log(x))
    power = where(eq(a, like(a, 1)), like(a, 0), power)  # 0 · log 0
    return exp(sub(sub(power, x), lgamma(a)))


igamma: Primitive = _formula(
    "igamma", "The regularised lower incomplete gamma function P(a, x).",
    _igamma_formula(False),
    (
        lambda da, out, a, x: mul(da, igamma_grad_a(a, x)),
        lambda dx, out, a, x: mul(dx, _gamma_density(a, x)),
    ),
)  # fmt: skip
igammac: Primitive = _formula(
    "igammac", "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).",
    _igamma_formula(True),
    (
        lambda da, out, a, x: neg(mul(da, igamma_grad_a(a, x))),
        lambda dx, out, a, x: neg(mul(dx, _gamma_density(a, x))),
    ),
)  # fmt: skip
igamma_grad_a: Primitive = _formula(
    "igamma_grad_a", "The derivative of igamma with respect to a.", _igamma_grad_a_formula,
    (
        undefined("igamma_grad_a", "a"),
        lambda dx, out, a, x: mul(
            dx, mul(_gamma_density(a, x), sub(log(x), digamma(a)))
        ),
    ),
)  # fmt: skip
random_gamma_grad: Primitive = _formula(
    "random_gamma_grad", "The derivative, with respect to a, of a gamma sample x of shape a.",
    _random_gamma_grad_formula, None,
)  # fmt: skip

# --- incomplete beta function ---


def _beta_factor(m: Algebra, p: Number, q: Number, x: Number) -> Number:
    """x**p (1-x)**q / B(p, q). Where p or q is small, it is a product of powers and gamma
    functions. Elsewhere Stirling's series joins the factors, which would lose digits separately."""
    p_is_lower = p < q
    low, high = m.minimum(p, q), m.maximum(p, q)
    z_low, z_high = m.where(p_is_lower, x, 1 - x), m.where(p_is_lower, 1 - x, x)
    large_value = _joined_beta_factor(m, m.maximum(p, 8), m.maximum(q, 8), x)
    low_small = m.where(low >= 8, 1.0, low)
    both_small = high < 8
    by_logarithm = p_is_lower & (x < 0.5)  # where 1 - x is rounded
    half = 0.5 * high  # powers in two halves, since they may underflow before the product does
    power = m.where(by_logarithm, m.exp(half * m.log1p(-x)), m.power(z_high, half))
    high_small, inverse = m.where(both_small, high, 1.0), 1 / gamma_below(m, low_small, 8)
    ratio = gamma_below(m, low_small + high_small, 16) / gamma_below(m, high_small, 8)
    small_value = m.power(z_low, low_small) * power * (ratio * inverse) * power
    # Γ(l + g) / Γ(g) is about g**l
    high_large = m.maximum(high, 8)
    total = high_large + low_small
    remainder = stirling_remainder(m, total) - stirling_remainder(m, high_large)
    remainder = remainder + ((total - 0.5) * m.log1p(low_small / high_large) - low_small)
    moderate_value = power * m.power(z_low * high_large, low_small) * power * m.exp(remainder)
    logarithm = (
        m.log(z_low * high_large) * low_small
        + m.where(p_is_lower, m.log1p(-x), m.log(x)) * high_large
    )
    mixed_value = m.where(high_large < 1000, moderate_value, m.exp(logarithm + remainder)) * inverse
    return m.where(low >= 8, large_value, m.where(both_small, small_value, mixed_value))


def _joined_beta_factor(m: Algebra, p: Number, q: Number, x: Number) -> Number:
    """The same for p, q ≥ 8. The exponents of the powers are divergences, so they do not cancel."""
    total = p + q
    distance = kl_div_formula(m, p, total * x) + kl_div_formula(m, q, total * (1 - x))
    remainder = stirling_remainder(m, total) - stirling_remainder(m, p) - stirling_remainder(m, q)
    return m.exp(remainder - distance) * m.sqrt(p / total * q / (2 * math.pi))


def _beta_formula(m: Algebra, a: Number, b: Number, x: Number) -> Number:
    is_inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    p, q, t = m.where(is_inside, a, 1.0), m.where(is_inside, b, 1.0), m.where(is_inside, x, 0.5)
    # I(a, b, x) = 1 - I(b, a, 1 - x) where the fraction converges fast; for small b only beyond the
    # mean, since 1 - I would lose digits before it
    swap = m.where(q < 1, t * (p + q) > p, t * (p + q + 2) > p + 1)
    low, high = m.where(swap, q, p), m.where(swap, p, q)
    y = m.where(swap, 1 - t, t)
    factor = _beta_factor(m, p, q, t) / low

    def nonzero(z: Number) -> Number:
        return m.where(m.abs(z) < 1e-30, 1e-30, z)

    d = 1 / nonzero(1 - (low + high) * y / (low + 1))

    def step(n: Number, h: Number, c: Number, d: Number, change: Number) -> Sequence[Number]:
        even_term = n * (high - n) * y / ((low + 2 * n - 1) * (low + 2 * n))
        d = 1 / nonzero(1 + even_term * d)
        c = nonzero(1 + even_term / c)
        is_active = change > 2 * m.eps  # see `_gamma_fraction_and_slope`
        h = h * m.where(is_active, d * c, 1.0)
        odd_term = -(low + n) * (low + high + n) * y / ((low + 2 * n) * (low + 2 * n + 1))
        d = 1 / nonzero(1 + odd_term * d)
        c = nonzero(1 + odd_term / c)
        step_factor = m.where(is_active, d * c, 1.0)
        return h * step_factor, c, d, m.abs(step_factor - 1)

    def is_unconverged(h: Number, c: Number, d: Number, change: Number) -> Number:
        return change > 2 * m.eps

    h = m.loop(_LIMIT, is_unconverged, step, (d, m.like(d, 1.0), d, m.like(d, 1.0)))[0]
    value = m.where(swap, 1 - factor * h, factor * h)
    value = m.where(x == 0, 0.0, m.where(x == 1, 1.0, value))
    # degenerate distributions, with all weight at 0 or 1
    value = m.where((b == 0) | (a == math.inf), 0.0, value)
    value = m.where((a == 0) | (b == math.inf), 1.0, value)
    value = m.where((a == 0) & (x == 0), 0.0, m.where((b == 0) & (x == 1), 1.0, value))
    both_degenerate = ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    is_invalid = (
        both_degenerate | (a < 0) | (b < 0) | (x < 0) | (x > 1) | (a != a) | (b != b) | (x != x)
    )
    return m.where(is_invalid, math.nan, value)


def _beta_density(a: Value, b: Value, x: Value) -> Value:
    one = like(x, 1)
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    power = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
    return exp(sub(power, log_beta))


regularized_incomplete_beta: Primitive = _formula(
    "regularized_incomplete_beta", "The regularised incomplete beta function I(a, b, x).",
    _beta_formula,
    (
        undefined("betainc", "a"),
        undefined("betainc", "b"),
        lambda dx, out, a, b, x: mul(dx, _beta_density(a, b, x)),
    ),
)  # fmt: skip
