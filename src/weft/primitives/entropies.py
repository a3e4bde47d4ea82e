"""Products with logarithms, where 0 · log 0 is 0: xlogy, xlog1py, entr, rel_entr, kl_div, logit,
boxcox, boxcox1p."""

import math

from ..core.primitive import Primitive
from ..core.value import Value
from .arithmetic import add, div, like, mul, neg, sub
from .comparison import eq
from .exponential import FALSE, exp, log, log1p
from .formulas import WITHIN_TWO, Algebra, Number, inverse_tanh, log_of_2
from .power_formulas import power_minus_one
from .selection import where
from .special import by_formula


def _xlogy(m: Algebra, x: Number, y: Number) -> Number:
    return m.where((x == 0) & (y == y), 0.0, x * m.log(y))


def _xlog1py(m: Algebra, x: Number, y: Number) -> Number:
    return m.where((x == 0) & (y == y), 0.0, x * m.log1p(y))


def _quotient(x: Value, y: Value) -> Value:
    """x / y; 0 for 0 / 0."""
    zero = like(x, 0)
    return div(x, where(where(eq(x, zero), eq(y, zero), FALSE), like(x, 1), y))


xlogy: Primitive = by_formula(
    "xlogy", "x log(y); 0 where x is 0.", _xlogy,
    (lambda dx, out, x, y: mul(dx, log(y)), lambda dy, out, x, y: mul(dy, _quotient(x, y))),
)  # fmt: skip
xlog1py: Primitive = by_formula(
    "xlog1py", "x log(1 + y); 0 where x is 0.", _xlog1py,
    (
        lambda dx, out, x, y: mul(dx, log1p(y)),
        lambda dy, out, x, y: mul(dy, _quotient(x, add(y, like(y, 1)))),
    ),
)  # fmt: skip


def _entr(m: Algebra, x: Number) -> Number:
    out = m.where(x == 0, 0.0, -(x * m.log(x)))
    return m.where(x < 0, -math.inf, out)


entr: Primitive = by_formula(
    "entr", "-x log(x); 0 at 0, and -inf below.", _entr,
    lambda dx, out, x: neg(mul(dx, add(log(x), like(x, 1)))),
)  # fmt: skip


def _reduced(m: Algebra, p: Number, q: Number) -> tuple[Number, Number, Number]:
    """(k, s, t) with log(p / q) = k log(2) + 2 (s + s³ t), for positive and finite p and q. Where k
    is 0, s is (p - q) / (p + q); elsewhere s has its own sign."""
    k, a, b = m.quotient(p, q)
    s = (a - b) / (a + b)
    return k, s, inverse_tanh(m, s, WITHIN_TWO)


def _sum_of_logs(m: Algebra, k: Number, s: Number, t: Number) -> Number:
    """k log(2) + 2 (s + s³ t)."""
    high, low = log_of_2(m)
    return k * high + (2 * s + (2 * (s * s * s) * t + k * low))


def log_of_quotient(m: Algebra, p: Number, q: Number) -> Number:
    """log(p / q) for p, q > 0, exact near p = q too."""
    return m.where(m.maximum(p, q) == math.inf, p - q, _sum_of_logs(m, *_reduced(m, p, q)))


def _extended_to_edges(
    m: Algebra, p: Number, q: Number, value: Number, at_zero: Number | float
) -> Number:
    """`value` for p, q > 0, `at_zero` for p = 0, inf outside."""
    out = m.where((p > 0) & (q > 0), value, m.where((p == 0) & (q >= 0), at_zero, math.inf))
    return m.where((p != p) | (q != q), math.nan, out)


def _rel_entr(m: Algebra, p: Number, q: Number) -> Number:
    return _extended_to_edges(m, p, q, p * log_of_quotient(m, p, q), 0.0)


def kl_div_formula(m: Algebra, p: Number, q: Number) -> Number:
    """p log(p / q) - p + q for p, q > 0."""
    k, s, t = _reduced(m, p, q)
    general_value = p * _sum_of_logs(m, k, s, t) - p + q
    near_value = 2 * q * (s * s) * (1 + (1 + s) * s * t) / (1 - s)  # where these terms cancel
    out = m.where(k == 0, near_value, general_value)
    return m.where(m.maximum(p, q) == math.inf, p * (p - q) - p + q, out)


def _kl_div(m: Algebra, p: Number, q: Number) -> Number:
    return _extended_to_edges(m, p, q, kl_div_formula(m, p, q), q)


def _log_ratio(p: Value, q: Value) -> Value:
    """log(p / q); 0 for 0 / 0."""
    zero = like(p, 0)
    both_zero = where(eq(p, zero), eq(q, zero), FALSE)
    return log(div(where(both_zero, like(p, 1), p), where(both_zero, like(p, 1), q)))


rel_entr: Primitive = by_formula(
    "rel_entr", "p log(p / q), a term of the relative entropy.", _rel_entr,
    (
        lambda dp, out, p, q: mul(dp, add(_log_ratio(p, q), like(p, 1))),
        lambda dq, out, p, q: neg(mul(dq, _quotient(p, q))),
    ),
)  # fmt: skip
kl_div: Primitive = by_formula(
    "kl_div", "p log(p / q) - p + q, a term of the divergence of Kullback and Leibler.", _kl_div,
    (
        lambda dp, out, p, q: mul(dp, _log_ratio(p, q)),
        lambda dq, out, p, q: mul(dq, sub(like(q, 1), _quotient(p, q))),
    ),
)  # fmt: skip


def _logit(m: Algebra, p: Number) -> Number:
    """log(p / q) with q = 1 - p. If no power of 2 is factored out of p / q, (p - q) / (p + q) is 2p
    - 1, which is exact."""
    q = 1 - p
    k, a, b = m.quotient(p, q)
    s = m.where(k == 0, 2 * p - 1, (a - b) / (a + b))
    product = p * q
    edge = m.where(product == 0, (p - 0.5) * math.inf, math.nan)
    return m.where(product > 0, _sum_of_logs(m, k, s, inverse_tanh(m, s, WITHIN_TWO)), edge)


logit: Primitive = by_formula(
    "logit", "log(p / (1 - p)), the inverse of the logistic function.", _logit,
    lambda dx, out, p: div(dx, mul(p, sub(like(p, 1), p))),
)  # fmt: skip


def _boxcox(m: Algebra, x: Number, power: Number) -> Number:
    return power_minus_one(m, x, 0, power)


def _boxcox1p(m: Algebra, x: Number, power: Number) -> Number:
    return power_minus_one(m, x, 1, power)


def _slope_in_power(out: Value, logarithm: Value, power: Value) -> Value:
    """The derivative of (exp(power · logarithm) - 1) / power in `power`."""
    one, is_zero = like(out, 1), eq(power, like(power, 0))
    nonzero_power = where(is_zero, one, power)
    exponential = add(mul(out, power), one)
    # below this |power · logarithm| the difference is mostly rounding error: log²/2 is more
    # accurate
    slope = div(sub(mul(logarithm, exponential), out), nonzero_power)
    return where(is_zero, mul(like(out, 0.5), mul(logarithm, logarithm)), slope)


boxcox: Primitive = by_formula(
    "boxcox", "(x**power - 1) / power; log(x) for power 0.", _boxcox,
    (
        lambda dx, out, x, power: mul(dx, exp(mul(sub(power, like(x, 1)), log(x)))),
        lambda dp, out, x, power: mul(dp, _slope_in_power(out, log(x), power)),
    ),
)  # fmt: skip
boxcox1p: Primitive = by_formula(
    "boxcox1p", "((1 + x)**power - 1) / power; log(1 + x) for power 0.", _boxcox1p,
    (
        lambda dx, out, x, power: mul(dx, exp(mul(sub(power, like(x, 1)), log1p(x)))),
        lambda dp, out, x, power: mul(dp, _slope_in_power(out, log1p(x), power)),
    ),
)  # fmt: skip
