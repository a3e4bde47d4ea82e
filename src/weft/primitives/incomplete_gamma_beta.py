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
    total, moved = m.like(a, 0.0), a
    for _ in range(8):
        small = moved < 8
        total = m.where(small, total - 1 / moved, total)
        moved = m.where(small, moved + 1, moved)
    inverse = 1 / moved
    square = inverse * inverse
    return total + m.log(moved) - 0.5 * inverse - series(m, DIGAMMA_SERIES, square, square)


def _gamma_factor(m: Algebra, a: Number, x: Number) -> Number:
    """x**a exp(-x) / Γ(a + 1). For large a the factors are combined, since each alone would lose
    digits."""
    big = a > 30
    small = m.where(big, 1.0, a)
    # in two halves, so that neither factor overflows or vanishes before the whole
    half = m.power(x, 0.5 * small) * m.exp(-0.5 * x)
    plain = half / gamma_formula(m, small + 1) * half
    large = m.maximum(a, 8)
    distance = kl_div_formula(m, large, x)
    joined = m.exp(-distance - stirling_remainder(m, large)) / m.sqrt(large * (2 * math.pi))
    return m.where(big, joined, plain)


_LIMIT = 3000  # maximum steps of a series or fraction; near x = a it needs about 5·sqrt(a)


def _gamma_series(m: Algebra, a: Number, x: Number, derivative: bool) -> Sequence[Number]:
    """S = 1 + x/(a+1) + x²/((a+1)(a+2)) + …, and its derivative in a."""
    one, none = m.like(x, 1.0), m.like(x, 0.0)
    if not derivative:

        def step(n: Number, term: Number, total: Number) -> Sequence[Number]:
            term = term * (x / (a + n))
            return term, total + term

        def going(term: Number, total: Number) -> Number:
            return term > total * (m.eps / 4)

        return m.loop(_LIMIT, going, step, (one, one))[1:]

    def both(
        n: Number, term: Number, total: Number, d_term: Number, d_total: Number
    ) -> Sequence[Number]:
        ratio = x / (a + n)
        d_term = (d_term - term / (a + n)) * ratio
        term = term * ratio
        return term, total + term, d_term, d_total + d_term

    def going_both(term: Number, total: Number, d_term: Number, d_total: Number) -> Number:
        return (term > total * (m.eps / 4)) | (m.abs(d_term) > m.abs(d_total) * (m.eps / 4))

    return m.loop(_LIMIT, going_both, both, (one, one, none, none))[1::2]


def _gamma_fraction(m: Algebra, a: Number, x: Number) -> Number:
    """h with Γ(a, x) = x**a exp(-x) h, by Lentz's method for the continued fraction."""
    first = x + 1 - a
    d = 1 / first

    def step(n: Number, h: Number, d: Number, u: Number, change: Number) -> Sequence[Number]:
        numerator, b = n * (a - n), first + 2 * n
        d = 1 / (numerator * d + b)
        c = b + numerator * u
        factor = m.where(change > 2 * m.eps, d * c, 1.0)  # see `_gamma_fraction_and_slope`
        return h * factor, d, 1 / c, m.abs(factor - 1)

    def going(h: Number, d: Number, u: Number, change: Number) -> Number:
        return change > 2 * m.eps

    return m.loop(_LIMIT, going, step, (d, d, m.like(x, 0.0), m.like(x, 1.0)))[0]


def _gamma_fraction_and_slope(m: Algebra, a: Number, x: Number) -> tuple[Number, Number]:
    """The same h, and its derivative in a.

    An element that has converged is multiplied by 1 while the loop continues for slower ones.
    Thousands of rounded factors would make it drift.
    """
    first = x + 1 - a
    d = 1 / first
    dd = d * d
    none = m.like(x, 0.0)

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
        numerator, b = n * (a - n), first + 2 * n
        d_new = 1 / (numerator * d + b)
        dd_new = -(d_new * d_new) * (n * d + numerator * dd - 1)
        c = b + numerator * u
        dc = n * u + numerator * du - 1
        alive = change > 2 * m.eps
        factor = m.where(alive, d_new * c, 1.0)
        d_factor = m.where(alive, dd_new * c + d_new * dc, 0.0)
        u = 1 / c
        return (
            h * factor, dh * factor + h * d_factor, d_new, dd_new, u, -(u * u) * dc,
            m.abs(factor - 1) + m.abs(d_factor) * m.abs(h / m.maximum(m.abs(dh), m.tiny)),
        )  # fmt: skip

    def going(
        h: Number, dh: Number, d: Number, dd: Number, u: Number, du: Number, change: Number
    ) -> Number:
        return change > 2 * m.eps

    start = (d, dd, d, dd, none, none, m.like(x, 1.0))
    h, dh, *_ = m.loop(_LIMIT, going, step, start)
    return h, dh


def _regions(
    m: Algebra, a: Number, x: Number
) -> tuple[Number, tuple[Number, Number], tuple[Number, Number]]:
    """A mask of where the series is used, and the operands of the series and of the fraction. Each
    gets a harmless value where the other is used."""
    valid = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    below = (x <= 1) | (x <= a)
    series = (m.where(valid & below, a, 1.0), m.where(valid & below, x, 0.5))
    fraction = (m.where(valid & ~below, a, 1.0), m.where(valid & ~below, x, 2.0))
    return below, series, fraction


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
        below, (sa, sx), (fa, fx) = _regions(m, a, x)
        (total,) = _gamma_series(m, sa, sx, False)
        p = _gamma_factor(m, sa, sx) * total
        q = _gamma_factor(m, fa, fx) * fa * _gamma_fraction(m, fa, fx)
        if complement:
            few = (a < 1) & (x <= 1)
            near = _upper_for_small(m, m.where(few, sa, 0.5), m.where(few, sx, 0.5))
            out = m.where(below, m.where(few, near, m.maximum(1 - p, 0)), q)
        else:
            out = m.where(below, p, 1 - q)
        at_zero, at_infinity = (1.0, 0.0) if complement else (0.0, 1.0)
        out = m.where((x == 0) | (a == math.inf), at_zero, out)
        # if a is 0, all mass is at 0
        out = m.where(
            (x == math.inf) | (a == 0), m.where(a == math.inf, math.nan, at_infinity), out
        )
        wrong = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (a != a) | (x != x)
        return m.where(wrong, math.nan, out)

    return formula


def _igamma_grad_a_formula(m: Algebra, a: Number, x: Number) -> Number:
    below, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = _gamma_factor(m, sa, sx) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction_and_slope(m, fa, fx)
    q = _gamma_factor(m, fa, fx) * fa * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(below, p, -q)
    out = m.where((x == 0) | (a == math.inf) | (x == math.inf), 0.0, out)
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | ((a == math.inf) & (x == math.inf))
    return m.where(wrong, math.nan, out)


def _random_gamma_grad_formula(m: Algebra, a: Number, x: Number) -> Number:
    below, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = -(sx / sa) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction_and_slope(m, fa, fx)
    q = fx * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(x == 0, 0.0, m.where(below, p, q))
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | (a == math.inf) | (x == math.inf)
    return m.where(wrong, math.nan, out)


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
    first = p < q
    low, high = m.minimum(p, q), m.maximum(p, q)
    z_low, z_high = m.where(first, x, 1 - x), m.where(first, 1 - x, x)
    joined = _joined_beta_factor(m, m.maximum(p, 8), m.maximum(q, 8), x)
    few = m.where(low >= 8, 1.0, low)
    below = high < 8
    by_logarithm = first & (x < 0.5)  # where 1 - x is rounded
    half = 0.5 * high  # powers in two halves, since they may underflow before the product does
    power = m.where(by_logarithm, m.exp(half * m.log1p(-x)), m.power(z_high, half))
    one, inverse = m.where(below, high, 1.0), 1 / gamma_below(m, few, 8)
    ratio = gamma_below(m, few + one, 16) / gamma_below(m, one, 8)
    direct = m.power(z_low, few) * power * (ratio * inverse) * power
    # Γ(l + g) / Γ(g) is about g**l
    large = m.maximum(high, 8)
    total = large + few
    rest = stirling_remainder(m, total) - stirling_remainder(m, large)
    rest = rest + ((total - 0.5) * m.log1p(few / large) - few)
    moderate = power * m.power(z_low * large, few) * power * m.exp(rest)
    logarithm = m.log(z_low * large) * few + m.where(first, m.log1p(-x), m.log(x)) * large
    mixed = m.where(large < 1000, moderate, m.exp(logarithm + rest)) * inverse
    return m.where(low >= 8, joined, m.where(below, direct, mixed))


def _joined_beta_factor(m: Algebra, p: Number, q: Number, x: Number) -> Number:
    """The same for p, q ≥ 8. The exponents of the powers are divergences, so they do not cancel."""
    total = p + q
    distance = kl_div_formula(m, p, total * x) + kl_div_formula(m, q, total * (1 - x))
    rest = stirling_remainder(m, total) - stirling_remainder(m, p) - stirling_remainder(m, q)
    return m.exp(rest - distance) * m.sqrt(p / total * q / (2 * math.pi))


def _beta_formula(m: Algebra, a: Number, b: Number, x: Number) -> Number:
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    p, q, t = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
    # I(a, b, x) = 1 - I(b, a, 1 - x) where the fraction converges fast; for small b only beyond the
    # mean, since 1 - I would lose digits before it
    swap = m.where(q < 1, t * (p + q) > p, t * (p + q + 2) > p + 1)
    low, high = m.where(swap, q, p), m.where(swap, p, q)
    y = m.where(swap, 1 - t, t)
    front = _beta_factor(m, p, q, t) / low

    def nonzero(z: Number) -> Number:
        return m.where(m.abs(z) < 1e-30, 1e-30, z)

    d = 1 / nonzero(1 - (low + high) * y / (low + 1))

    def step(n: Number, h: Number, c: Number, d: Number, change: Number) -> Sequence[Number]:
        even = n * (high - n) * y / ((low + 2 * n - 1) * (low + 2 * n))
        d = 1 / nonzero(1 + even * d)
        c = nonzero(1 + even / c)
        alive = change > 2 * m.eps  # see `_gamma_fraction_and_slope`
        h = h * m.where(alive, d * c, 1.0)
        odd = -(low + n) * (low + high + n) * y / ((low + 2 * n) * (low + 2 * n + 1))
        d = 1 / nonzero(1 + odd * d)
        c = nonzero(1 + odd / c)
        factor = m.where(alive, d * c, 1.0)
        return h * factor, c, d, m.abs(factor - 1)

    def going(h: Number, c: Number, d: Number, change: Number) -> Number:
        return change > 2 * m.eps

    h = m.loop(_LIMIT, going, step, (d, m.like(d, 1.0), d, m.like(d, 1.0)))[0]
    value = m.where(swap, 1 - front * h, front * h)
    value = m.where(x == 0, 0.0, m.where(x == 1, 1.0, value))
    # degenerate distributions, with all weight at 0 or 1
    value = m.where((b == 0) | (a == math.inf), 0.0, value)
    value = m.where((a == 0) | (b == math.inf), 1.0, value)
    value = m.where((a == 0) & (x == 0), 0.0, m.where((b == 0) & (x == 1), 1.0, value))
    both = ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    wrong = both | (a < 0) | (b < 0) | (x < 0) | (x > 1) | (a != a) | (b != b) | (x != x)
    return m.where(wrong, math.nan, value)


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
