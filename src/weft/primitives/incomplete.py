"""Incomplete gamma and beta functions, and derivatives of samples of the gamma distribution.

Series and continued fractions with as many steps as they take, written once as formulas.
"""

import math
from collections.abc import Sequence

from ..core.primitive import Primitive, Rule
from ..core.value import Value
from .arithmetic import add, like, mul, neg, sub
from .comparison import eq
from .formulas import Algebra, Formula, Number, evaluated, lowered
from .gamma_formulas import DIGAMMA_SERIES, STIRLING, series
from .selection import where
from .special import digamma, left_to_xla, lgamma, specials, undefined
from .transcendental import exp, log, log1p

# --- incomplete gamma functions ---


def _lgamma_positive(m: Algebra, a: Number) -> Number:
    """log Γ(a) for a > 0: moved beyond 8, then Stirling's series."""
    product, moved = m.like(a, 1.0), a
    for _ in range(8):
        small = moved < 8
        product = m.where(small, product * moved, product)
        moved = m.where(small, moved + 1, moved)
    inverse = 1 / moved
    tail = series(m, STIRLING, inverse, inverse * inverse)
    main = (moved - 0.5) * m.log(moved) - moved + 0.5 * math.log(2 * math.pi)
    return main + tail - m.log(product)


def _digamma_positive(m: Algebra, a: Number) -> Number:
    """digamma(a) for a > 0, in the same way."""
    total, moved = m.like(a, 0.0), a
    for _ in range(8):
        small = moved < 8
        total = m.where(small, total - 1 / moved, total)
        moved = m.where(small, moved + 1, moved)
    inverse = 1 / moved
    square = inverse * inverse
    return total + m.log(moved) - 0.5 * inverse - series(m, DIGAMMA_SERIES, square, square)


def _log_of_ratio(m: Algebra, excess: Number, ratio: Number) -> Number:
    """log(ratio), where `excess` is ratio - 1, known better near 0."""
    near = m.abs(excess) < 0.5
    return m.where(near, m.log1p(m.where(near, excess, 0.0)), m.log(ratio))


def _gamma_factor(m: Algebra, a: Number, x: Number) -> Number:
    """x**a exp(-x) / Γ(a + 1). For large a these would lose digits: they are combined there."""
    plain = m.exp(a * m.log(x) - x - _lgamma_positive(m, a + 1))
    large = m.maximum(a, 8)
    inverse = 1 / large
    mu = (x - large) / large
    logarithm = _log_of_ratio(m, mu, x / large)
    near = m.exp(-large * (mu - logarithm) - series(m, STIRLING, inverse, inverse * inverse))
    joined = near / m.sqrt(large * (2 * math.pi))
    return m.where(a > 8, joined, plain)


_LIMIT = 3000  # steps of a series or continued fraction; some 5·sqrt(a) are needed near x = a


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


def _gamma_fraction(m: Algebra, a: Number, x: Number) -> tuple[Number, Number]:
    """h and its derivative in a, of Γ(a, x) = x**a exp(-x) h: Lentz's continued fraction."""
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
        factor = d_new * c
        d_factor = dd_new * c + d_new * dc
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
    """A mask of where the series is used, and operands for it and for the fraction, harmless where
    the other one is used."""
    valid = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    below = (x <= 1) | (x <= a)
    series = (m.where(valid & below, a, 1.0), m.where(valid & below, x, 0.5))
    fraction = (m.where(valid & ~below, a, 1.0), m.where(valid & ~below, x, 2.0))
    return below, series, fraction


def _igamma_formula(complement: bool) -> Formula:
    def formula(m: Algebra, a: Number, x: Number) -> Number:
        below, (sa, sx), (fa, fx) = _regions(m, a, x)
        (total,) = _gamma_series(m, sa, sx, False)
        p = _gamma_factor(m, sa, sx) * total
        q = _gamma_factor(m, fa, fx) * fa * _gamma_fraction(m, fa, fx)[0]
        out = m.where(below, m.maximum(1 - p, 0), q) if complement else m.where(below, p, 1 - q)
        at_zero, at_infinity = (1.0, 0.0) if complement else (0.0, 1.0)
        out = m.where((x == 0) | (a == math.inf), at_zero, out)
        # all of the mass is at zero if a is
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
    h, dh = _gamma_fraction(m, fa, fx)
    q = _gamma_factor(m, fa, fx) * fa * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(below, p, -q)
    out = m.where((x == 0) | (a == math.inf) | (x == math.inf), 0.0, out)
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | ((a == math.inf) & (x == math.inf))
    return m.where(wrong, math.nan, out)


def _random_gamma_grad_formula(m: Algebra, a: Number, x: Number) -> Number:
    below, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = -(sx / sa) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction(m, fa, fx)
    q = fx * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(x == 0, 0.0, m.where(below, p, q))
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | (a == math.inf) | (x == math.inf)
    return m.where(wrong, math.nan, out)


def _formula(name: str, doc: str, formula: Formula, jvp: Sequence[Rule] | None) -> Primitive:
    return left_to_xla(
        specials(name, doc, evaluate=evaluated(formula), stablehlo=lowered(formula), jvp=jvp)
    )


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
    "igamma_grad_a", "The derivative of igamma in a.", _igamma_grad_a_formula,
    (
        undefined("igamma_grad_a", "a"),
        lambda dx, out, a, x: mul(
            dx, mul(_gamma_density(a, x), sub(log(x), digamma(a)))
        ),
    ),
)  # fmt: skip
random_gamma_grad: Primitive = _formula(
    "random_gamma_grad", "The derivative in a of a sample x of the gamma distribution of shape a.",
    _random_gamma_grad_formula, None,
)  # fmt: skip

# --- incomplete beta function ---


def _beta_factor(m: Algebra, p: Number, q: Number, x: Number) -> Number:
    """x**p (1-x)**q / B(p, q). p and q are moved beyond 8; then powers and Stirling's series are
    joined, since apart they would lose digits."""
    product, moved_x, moved_rest = m.like(p, 1.0), m.like(p, 0.0), m.like(p, 0.0)
    for _ in range(8):
        small = p < 8
        product = m.where(small, product * (p / (p + q)), product)
        p = m.where(small, p + 1, p)
        moved_x = m.where(small, moved_x + 1, moved_x)
    for _ in range(8):
        small = q < 8
        product = m.where(small, product * (q / (p + q)), product)
        q = m.where(small, q + 1, q)
        moved_rest = m.where(small, moved_rest + 1, moved_rest)
    total = p + q
    delta = x * q - (1 - x) * p
    power = p * _log_of_ratio(m, delta / p, x * total / p)
    power = power + q * _log_of_ratio(m, -delta / q, (1 - x) * total / q)
    power = power - moved_x * m.log(x) - moved_rest * m.log1p(-x)
    for number, sign_of in ((p, 1), (q, 1), (total, -1)):
        inverse = 1 / number
        power = power - sign_of * series(m, STIRLING, inverse, inverse * inverse)
    return product * m.exp(power) * m.sqrt(p / total * q / (2 * math.pi))


def _beta_formula(m: Algebra, a: Number, b: Number, x: Number) -> Number:
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    p, q, t = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
    swap = t * (p + q + 2) > p + 1  # I(a, b, x) = 1 - I(b, a, 1 - x), where the fraction is fast
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
        h = h * d * c
        odd = -(low + n) * (low + high + n) * y / ((low + 2 * n) * (low + 2 * n + 1))
        d = 1 / nonzero(1 + odd * d)
        c = nonzero(1 + odd / c)
        return h * d * c, c, d, m.abs(d * c - 1)

    def going(h: Number, c: Number, d: Number, change: Number) -> Number:
        return change > 2 * m.eps

    h = m.loop(_LIMIT, going, step, (d, m.like(d, 1.0), d, m.like(d, 1.0)))[0]
    value = m.where(swap, 1 - front * h, front * h)
    value = m.where(x == 0, 0.0, m.where(x == 1, 1.0, value))
    # degenerate distributions: all weight at 0 or at 1
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
