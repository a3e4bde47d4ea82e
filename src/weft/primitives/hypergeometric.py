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


def _sum(
    m: Algebra, ratio: Callable[[Number], Number], first: Number, limit: int = _LIMIT
) -> Number:
    """The sum of a series in which term n is `ratio(n)` times the term before; the first term is
    1."""

    def step(n: Number, term: Number, total: Number) -> Sequence[Number]:
        term = term * ratio(n)
        return term, total + term

    def going(term: Number, total: Number) -> Number:
        return m.abs(term) > m.abs(total) * (m.eps / 8)

    return m.loop(limit, going, step, (first, first))[1]


def _pole(m: Algebra, x: Number) -> Number:
    """True at the poles of the gamma function."""
    return (x <= 0) & (x == m.floor(x))


def _gamma_quotient(m: Algebra, above: Sequence[Number], below: Sequence[Number]) -> Number:
    """A quotient of products of gamma functions; 0 where the denominator has a pole."""
    total, sign, is_zero = m.like(above[0], 0.0), m.like(above[0], 1.0), None
    for number in above:
        total, sign = total + lgamma_formula(m, number), sign * gamma_sign(m, number)
    for number in below:
        pole = _pole(m, number)
        safe = m.where(pole, 1.0, number)
        total, sign = total - lgamma_formula(m, safe), sign * gamma_sign(m, safe)
        is_zero = pole if is_zero is None else is_zero | pole
    out = sign * m.exp(total)
    return out if is_zero is None else m.where(is_zero, 0.0, out)


# --- Kummer's function ---


def _hyp1f1(m: Algebra, a: Number, b: Number, x: Number) -> Number:
    """DLMF 13.2.2 and 13.2.39; for large |x| DLMF 13.7.1 and 13.7.2."""
    negative, size = x < 0, m.abs(x)
    beyond = 60.0 if m.eps > 1e-10 else 300.0  # uses the asymptotic series there
    first = m.where(negative, b - a, a)
    finished = _pole(m, first)  # a polynomial
    far = (size > beyond) & ~finished & (size > 2 * m.abs(first) * m.abs(first))
    valid = ~_pole(m, b)
    near, lower = m.where(far, 1.0, size), m.where(valid, b, 1.0)
    series = _sum(m, lambda n: (first + (n - 1)) / (lower + (n - 1)) * (near / n), m.like(x, 1.0))
    # for exp(x) times a polynomial at x < 0, the exponential is split into two halves
    half = m.exp(m.where(negative, -0.5 * near, 0.0))
    small = half * series * half
    one, other = m.where(negative, a, b - a), m.where(negative, 1 + a - b, 1 - a)
    large = m.where(far, size, beyond)
    shrinking = m.like(x, 1.0)
    term = shrinking
    for n in range(1, 25):
        term = term * ((one + (n - 1)) * (other + (n - 1)) / (n * large))
        shrinking = shrinking + term
    quotient = _gamma_quotient(m, [lower], [m.where(negative, b - a, a)])
    power = m.exp(m.where(negative, -a * m.log(large), large + (a - b) * m.log(large)))
    out = m.where(far, quotient * power * shrinking, small)
    out = m.where((a == 0) | (x == 0), 1.0, out)
    wrong = (a != a) | (b != b) | (x != x)
    return m.where(wrong, math.nan, m.where(valid, out, math.inf))


def _hyp1f1_slope(dx: Value, out: Value, a: Value, b: Value, x: Value) -> Value:
    one = like(x, 1)
    return mul(dx, mul(div(a, b), hyp1f1(add(a, one), add(b, one), x)))


hyp1f1: Primitive = by_formula(
    "hyp1f1", "Kummer's confluent hypergeometric function 1F1(a; b; x).", _hyp1f1,
    (*_parameters("hyp1f1", "ab"), _hyp1f1_slope),
)  # fmt: skip

# --- Gauss's function ---


def _gauss_series(m: Algebra, a: Number, b: Number, c: Number, x: Number) -> Number:
    return _sum(
        m,
        lambda n: (a + (n - 1)) / (c + (n - 1)) * ((b + (n - 1)) * x / n),
        m.like(x, 1.0),
    )


def _hyp2f1(m: Algebra, a: Number, b: Number, c: Number, x: Number) -> Number:
    """DLMF 15.2.1 up to 3/4; 15.8.1 from negative numbers there; 15.8.4 from 3/4 to 1; 15.4.20 at
    1."""
    negative = x < 0
    valid = ~_pole(m, c) & (x <= 1)
    lower = m.where(valid, c, 1.0)
    y = m.where(negative, x / (x - 1), x)
    second = m.where(negative, c - b, b)
    finished = _pole(m, a) | _pole(m, second)  # a polynomial
    excess = lower - a - second
    is_integer = m.abs(excess - m.floor(excess + 0.5)) < 64 * m.eps * (1 + m.abs(excess))
    high = (y > 0.75) & ~finished & ~is_integer & (y < 1)
    near = m.where(high | (y >= 1) | ~valid, 0.0, y)
    direct = _gauss_series(m, a, second, lower, near)
    rest, change = m.where(high, 1 - y, 0.0), m.where(high, excess, 0.5)
    one = _gauss_series(m, a, second, 1 - change, rest)
    other = _gauss_series(m, lower - a, lower - second, 1 + change, rest)
    power = m.exp(change * m.log(m.where(high, rest, 1.0)))
    joined = _gamma_quotient(m, [lower, change], [lower - a, lower - second]) * one
    joined = joined + power * other * _gamma_quotient(m, [lower, -change], [a, second])
    end = m.where(
        excess > 0,
        _gamma_quotient(m, [lower, m.where(excess > 0, excess, 1.0)], [lower - a, lower - second]),
        math.inf,
    )
    out = m.where(y == 1, end, m.where(high, joined, direct))
    out = m.where(negative, m.exp(-a * m.log1p(m.where(negative, -x, 0.0))) * out, out)
    out = m.where((x == 0) | (a == 0) | (b == 0), 1.0, out)
    wrong = (a != a) | (b != b) | (c != c) | ~(x <= 1)
    return m.where(wrong, math.nan, m.where(valid, out, math.inf))


def _hyp2f1_slope(dx: Value, out: Value, a: Value, b: Value, c: Value, x: Value) -> Value:
    one = like(x, 1)
    above = hyp2f1(add(a, one), add(b, one), add(c, one), x)
    return mul(dx, mul(div(mul(a, b), c), above))


hyp2f1: Primitive = by_formula(
    "hyp2f1", "Gauss's hypergeometric function 2F1(a, b; c; x) for x ≤ 1.", _hyp2f1,
    (*_parameters("hyp2f1", "abc"), _hyp2f1_slope),
)  # fmt: skip

# --- Owen's function ---


def _owens_t(m: Algebra, h: Number, a: Number) -> Number:
    """Gauss's quadrature of the definition for |a| ≤ 1; for |a| > 1, T(h, a) + T(ah, 1/a) (M.
    Patefield and D. Tandy 2000, “Fast and accurate calculation of Owen's T function”)."""
    count, width = (16, 5.5) if m.eps > 1e-10 else (36, 8.5)
    h, size = m.abs(h), m.abs(a)
    beyond = size > 1
    product = m.where(size == math.inf, m.where(h == 0, 0.0, math.inf), h * size)
    first = m.where(beyond, product, h)
    end = m.where(beyond, 1 / size, size)
    # the sum ends where the integrand vanishes
    end = m.where(first * end > width, width / m.where(first > 0, first, 1.0), end)
    total = m.like(h, 0.0)
    scaled = m.where(first == math.inf, 0.0, first) * end
    for node, weight in zip(*np.polynomial.legendre.leggauss(count), strict=True):
        part = 0.5 * (1 + float(node))
        at = part * end
        total = total + 0.5 * float(weight) * m.exp(-0.5 * (part * scaled) * (part * scaled)) / (
            1 + at * at
        )
    front = end * total * (0.5 / math.pi)
    inner = with_exp_of_square(m, front, first, -0.5)
    upper, other = normal_tail(m, h), normal_tail(m, product)
    out = m.where(beyond, 0.5 * (upper + other) - upper * other - inner, inner)
    out = m.where(a < 0, -out, out)
    return m.where((h != h) | (a != a), math.nan, out)


_HALF_DENSITY = 0.5 / math.sqrt(2 * math.pi)


def _owens_t_in_h(dh: Value, out: Value, h: Value, a: Value) -> Value:
    density = exp(mul(like(h, -0.5), square(h)))
    turned = erf(mul(mul(a, h), like(h, math.sqrt(0.5))))
    return neg(mul(dh, mul(like(h, _HALF_DENSITY), mul(density, turned))))


def _owens_t_in_a(da: Value, out: Value, h: Value, a: Value) -> Value:
    one_more = add(like(a, 1), square(a))
    power = exp(mul(like(h, -0.5), mul(square(h), one_more)))
    return mul(da, div(mul(like(a, 0.5 / math.pi), power), one_more))


owens_t: Primitive = by_formula(
    "owens_t", "Owen's function T(h, a).", _owens_t, (_owens_t_in_h, _owens_t_in_a)
)  # fmt: skip
