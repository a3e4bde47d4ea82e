"""The gamma function and its relatives: lgamma, digamma, trigamma, polygamma, zeta, gamma,
gammasgn, betaln, beta, poch."""

import math
from collections.abc import Sequence

from ..core.primitive import Primitive
from ..core.value import Value
from .arithmetic import add, like, mul, neg, sub
from .creation import full
from .elementwise import zero
from .formulas import Algebra, Number, evaluated, lowered
from .gamma_formulas import (
    betaln_formula,
    digamma_formula,
    gamma_formula,
    gamma_sign,
    lgamma_formula,
    trigamma_formula,
)
from .gamma_quotients import beta_formula, poch_formula
from .special import by_formula, special, specials, undefined

# --- gamma functions ---


lgamma: Primitive = special(
    "lgamma", "log |Γ(x)|.", evaluate=evaluated(lgamma_formula), stablehlo=lowered(lgamma_formula),
    jvp=lambda dx, out, x: mul(dx, digamma(x)),
)  # fmt: skip


digamma: Primitive = special(
    "digamma", "The derivative of lgamma.", evaluate=evaluated(digamma_formula),
    stablehlo=lowered(digamma_formula),
    jvp=lambda dx, out, x: mul(dx, trigamma(x)),
)  # fmt: skip


trigamma: Primitive = by_formula(
    "trigamma", "The derivative of digamma.", trigamma_formula,
    lambda dx, out, x: mul(dx, polygamma(full(x.aval, 2), x)),
)  # fmt: skip

# B(2k) / (2k)!, of the Euler-Maclaurin sum
_ZETA_SERIES = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
    -174611 / 802857662698291200000, 77683 / 14101100039391805440000,
    -236364091 / 1693824136731743669452800000,
)  # fmt: skip


_MAX_SHIFTS = 1000  # terms of negative q


def _zeta(m: Algebra, x: Number, q: Number) -> Number:
    """Uses the Euler-Maclaurin formula (DLMF 25.11.5 and 25.11.43)."""

    def needs_shift(total: Number, q: Number) -> Number:
        return (q < 0) & (q >= -_MAX_SHIFTS) & (q != m.floor(q))

    def step(n: Number, total: Number, q: Number) -> Sequence[Number]:
        active = needs_shift(total, q)
        return m.where(active, total + m.power(q, -x), total), m.where(active, q + 1, q)

    count, terms = (8, 12) if m.eps < 1e-10 else (4, 6)  # a power takes as long as many terms
    total, q = m.loop(_MAX_SHIFTS + 1, needs_shift, step, (m.like(x, 0.0), q))
    q = m.where(q < 0, math.nan, q)
    for n in range(count):
        total = total + m.power(q + n, -x)
    end = q + count
    inverse = 1 / end
    tail = end / (x - 1) + 0.5
    factor, power = x, inverse
    for k, c in enumerate(_ZETA_SERIES[:terms]):
        tail = tail + m.where(power == 0, 0.0, c * factor * power)
        factor = factor * (x + (2 * k + 1)) * (x + (2 * k + 2))
        power = power * (inverse * inverse)
    end_power = m.power(end, -x)
    return total + m.where(end_power == 0, 0.0, end_power * tail)


def _zeta_everywhere(m: Algebra, x: Number, q: Number) -> Number:
    out = m.where((q <= 0) & (x != m.floor(x)), math.nan, _zeta(m, x, q))
    out = m.where(x < 1, math.nan, out)
    is_even = (m.floor(x / 2) * 2 == x) & (x < math.inf)
    pole = (q <= 0) & (q == m.floor(q))
    out = m.where(pole, m.where(is_even, math.inf, math.nan), out)
    return m.where(x == 1, math.inf, out)


zeta: Primitive = specials(
    "zeta", "Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …",
    evaluate=evaluated(_zeta_everywhere), stablehlo=lowered(_zeta_everywhere),
    jvp=(
        undefined("zeta", "x"),
        lambda dq, out, x, q: neg(mul(dq, mul(x, zeta(add(x, like(x, 1)), q)))),
    ),
)  # fmt: skip


def _polygamma(m: Algebra, n: Number, x: Number) -> Number:
    is_integer = (n >= 0) & (n < math.inf) & (n == m.floor(n))
    order = m.where(is_integer, n, 1.0)
    is_digamma = order == 0
    zeta_order = m.where(is_digamma, 2.0, order + 1)
    is_odd = order - 2 * m.floor(0.5 * order)
    general_value = (
        (2 * is_odd - 1) * gamma_formula(m, zeta_order) * _zeta_everywhere(m, zeta_order, x)
    )
    out = m.where(is_digamma, digamma_formula(m, x), general_value)
    return m.where(is_integer, out, math.nan)


polygamma: Primitive = specials(
    "polygamma", "The n-th derivative of digamma; n is an integer in a float dtype.",
    evaluate=evaluated(_polygamma), stablehlo=lowered(_polygamma),
    jvp=(
        undefined("polygamma", "n"),
        lambda dx, out, n, x: mul(dx, polygamma(add(n, like(n, 1)), x)),
    ),
)  # fmt: skip


gamma: Primitive = by_formula(
    "gamma", "Γ(x).", gamma_formula, lambda dx, out, x: mul(dx, mul(out, digamma(x)))
)
gammasgn: Primitive = by_formula("gammasgn", "The sign of Γ(x).", gamma_sign, zero)


def _slope(x: Value, y: Value) -> Value:
    """The derivative of log B(x, y) in x."""
    return sub(digamma(x), digamma(add(x, y)))


betaln: Primitive = by_formula(
    "betaln", "log |B(a, b)|.", betaln_formula,
    (
        lambda da, out, a, b: mul(da, _slope(a, b)),
        lambda db, out, a, b: mul(db, _slope(b, a)),
    ),
)  # fmt: skip
beta: Primitive = by_formula(
    "beta", "B(a, b) = Γ(a) Γ(b) / Γ(a + b).", beta_formula,
    (
        lambda da, out, a, b: mul(da, mul(out, _slope(a, b))),
        lambda db, out, a, b: mul(db, mul(out, _slope(b, a))),
    ),
)  # fmt: skip
poch: Primitive = by_formula(
    "poch", "Pochhammer's symbol Γ(z + n) / Γ(z).", poch_formula,
    (
        lambda dz, out, z, n: mul(dz, mul(out, sub(digamma(add(z, n)), digamma(z)))),
        lambda dn, out, z, n: mul(dn, mul(out, digamma(add(z, n)))),
    ),
)  # fmt: skip
