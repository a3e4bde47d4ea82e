"""Special functions: error functions, gamma functions, zeta, Bessel functions.

On the host they are references: exact to a few units in the last place of float64, not fast. XLA
takes over beyond a few dozen elements.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from . import normal_quantile
from .arithmetic import add, div, like, mul, neg, sign, square, sub
from .comparison import eq
from .error_formulas import erf_inv_formula, erfc_formula
from .families import nary, unary
from .formulas import (
    Algebra,
    Formula,
    Number,
    chebyshev,
    evaluated,
    lowered,
    lowered_in_wider,
    polynomial,
)
from .gamma_formulas import digamma_formula, gamma_formula, lgamma_formula, trigamma_formula
from .rule_types import Host, Kernel
from .selection import where
from .structural import full
from .transcendental import exp


def elementwise(function: Callable[[float], float]) -> Kernel:
    """An evaluate rule that calls a Python function for each element."""
    each = np.frompyfunc(function, 1, 1)

    def rule(x: Host) -> Host:
        out = each(np.asarray(x).astype(np.float64))
        return np.asarray(out, np.float64).astype(x.dtype)

    return rule


def undefined(name: str, argument: str) -> Rule:
    """The derivative in an argument for which none is implemented."""

    def rule(*_: Value) -> Value:
        raise NotImplementedError(
            f"{name}: the derivative with respect to {argument} is not implemented\n"
            f"  fix: lax.stop_gradient around {argument}"
        )

    return rule


def special(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of one real number; lowered to CHLO's operation of that name by default. XLA
    computes it, unless a class of cost is given."""
    return _special(unary, name, doc, **rules)


def specials(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of several real numbers: see `special`."""
    return _special(nary, name, doc, **rules)


def _special(make: Callable[..., Primitive], name: str, doc: str, **rules: Any) -> Primitive:
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    # Even for one element a compiled program is faster than a Python function: NumPy computes where
    # the switch `eager_tier` pins it, as a reference.
    rules.setdefault("host", "never")
    return make(
        name, doc, stablehlo=lower, accepts="float",
        evaluate_in=dict.fromkeys(dtypes.SMALL_FLOATS, rules["evaluate"]), **rules,
    )  # fmt: skip


def by_formula(name: str, doc: str, formula: Formula, jvp: Rule | Sequence[Rule]) -> Primitive:
    """A function given by one formula, for both tiers.

    Args:
      jvp: as in `unary`; for a function of several numbers as in `nary`.
    """
    rules = {"evaluate": evaluated(formula), "stablehlo": lowered(formula), "jvp": jvp}
    return special(name, doc, **rules) if callable(jvp) else specials(name, doc, **rules)


# --- error functions ---

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gaussian(x: Value) -> Value:
    """The derivative of erf."""
    return mul(like(x, _TWO_OVER_SQRT_PI), exp(neg(square(x))))


def _by_calls(name: str, doc: str, evaluate: Callable[[float], float], **rules: Any) -> Primitive:
    """A function that Python computes, one call for each element."""
    primitive = special(name, doc, evaluate=elementwise(evaluate), host="other", **rules)
    primitive.host.work(lambda avals, outs: 256 * outs[0].size)
    return primitive


erf = _by_calls(
    "erf", "The error function.", math.erf, jvp=lambda dx, out, x: mul(dx, _gaussian(x))
)
erfc = _by_calls(
    "erfc", "1 - erf(x), exact for large x.", math.erfc, stablehlo=lowered(erfc_formula),
    jvp=lambda dx, out, x: neg(mul(dx, _gaussian(x))),
)  # fmt: skip

erf_inv: Primitive = special(
    "erf_inv", "The inverse of erf, on (-1, 1).", evaluate=normal_quantile.erf_inv,
    stablehlo=lowered(erf_inv_formula),
    jvp=lambda dx, out, x: mul(dx, mul(like(x, 1 / _TWO_OVER_SQRT_PI), exp(square(out)))),
    host="transcendental",
)  # fmt: skip

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


_MOST = 1000  # terms of negative q


def _zeta(m: Algebra, x: Number, q: Number) -> Number:
    """By the formula of Euler and Maclaurin (DLMF 25.11.5 and 25.11.43)."""

    def going(total: Number, q: Number) -> Number:
        return (q < 0) & (q >= -_MOST) & (q != m.floor(q))

    def step(n: Number, total: Number, q: Number) -> Sequence[Number]:
        more = going(total, q)
        return m.where(more, total + m.power(q, -x), total), m.where(more, q + 1, q)

    count, terms = (8, 12) if m.eps < 1e-10 else (4, 6)  # a power takes as long as many terms
    total, q = m.loop(_MOST + 1, going, step, (m.like(x, 0.0), q))
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
    last = m.power(end, -x)
    return total + m.where(last == 0, 0.0, last * tail)


def _zeta_everywhere(m: Algebra, x: Number, q: Number) -> Number:
    out = m.where((q <= 0) & (x != m.floor(x)), math.nan, _zeta(m, x, q))
    out = m.where(x < 1, math.nan, out)
    even = (m.floor(x / 2) * 2 == x) & (x < math.inf)
    pole = (q <= 0) & (q == m.floor(q))
    out = m.where(pole, m.where(even, math.inf, math.nan), out)
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
    whole = (n >= 0) & (n < math.inf) & (n == m.floor(n))
    order = m.where(whole, n, 1.0)
    first = order == 0
    raised = m.where(first, 2.0, order + 1)
    odd = order - 2 * m.floor(0.5 * order)
    general = (2 * odd - 1) * gamma_formula(m, raised) * _zeta_everywhere(m, raised, x)
    out = m.where(first, digamma_formula(m, x), general)
    return m.where(whole, out, math.nan)


polygamma: Primitive = specials(
    "polygamma", "The n-th derivative of digamma; n is a whole number of float dtype.",
    evaluate=evaluated(_polygamma), stablehlo=lowered(_polygamma),
    jvp=(
        undefined("polygamma", "n"),
        lambda dx, out, n, x: mul(dx, polygamma(add(n, like(n, 1)), x)),
    ),
)  # fmt: skip

# --- Bessel functions ---

# Chebyshev series, computed for weft from the power series with 60 digits: of sqrt(x) exp(-x) I(x)
# in 16/x - 1 above 8. Below, the power series has positive terms only, and loses nothing.
# fmt: off
I0_ABOVE_8 = (
    0.40224520550705445, 0.0033691164782557472, 6.8897583469139853e-05, 2.8913705208322655e-06,
    2.0489185894314519e-07, 2.266668987550783e-08, 3.3962320008063995e-09, 4.9406022691549978e-10,
    1.1889043095973536e-11, -3.1499183233343128e-11, -1.3215848239000007e-11,
    -1.7941481633698686e-12, 7.1801637308312427e-13, 3.8527254303533098e-13,
    1.5371542422764669e-14, -4.152991082342148e-14, -9.5804046514173669e-15,
    3.7754679433293411e-15, 1.7438701997592302e-15, -3.7012690891977877e-16,
    -2.8712253982710585e-16, 1.4824000612892714e-17, 6.5604087818759253e-17,
    -4.4866257174127419e-17, -1.0502962136368669e-16,
)
I1_ABOVE_8 = (
    0.38928811750914011, -0.0097610974913614271, -0.00011058893876265033, -3.8825648088839603e-06,
    -2.5122362378499028e-07, -2.6314688493180534e-08, -3.8353804132009528e-09,
    -5.5897436466432906e-10, -1.8975050066558843e-11, 3.2526007376732959e-11,
    1.4125779775684613e-11, 2.0356544732697497e-12, -7.1985487987653859e-13,
    -4.0836289526658864e-13, -2.1042984274269569e-14, 4.2692885211929751e-14,
    1.0389732004027636e-14, -3.8514015209368709e-15, -1.9042532702199951e-15,
    3.0862307658969195e-16, 3.0178431705184384e-16, -4.9833874400788275e-17,
    -2.523234146875356e-17, -1.7426085826857925e-17, -8.831319514063746e-17,
)
# fmt: on


def _power_series(m: Algebra, order: int, x: Number) -> Number:
    """I(x) for 0 ≤ x ≤ 8 (DLMF 10.25.2), without the factor x of order 1."""
    count = 30 if m.eps < 1e-10 else 19
    terms = [0.5**order / (math.factorial(k) * math.factorial(k + order)) for k in range(count)]
    return polynomial(m, terms, 0.25 * x * x)


def _bessel_formula(order: int, above_8: tuple[float, ...], scaled: bool) -> Formula:
    """I0 or I1, or that times exp(-|x|)."""

    def formula(m: Algebra, x: Number) -> Number:
        size = m.abs(x)
        near, far = m.minimum(size, 8), m.maximum(size, 8)
        small = _power_series(m, order, near)
        large = chebyshev(m, above_8, 16 / far - 1) / m.sqrt(far)
        if scaled:
            small = small * m.exp(-near)
        else:  # in two halves, so that it overflows no earlier than the function
            half = m.exp(0.5 * size)
            large = m.where(size == math.inf, math.inf, large * half * half)
        if order:
            small = small * x
            large = m.where(x < 0, -large, large)
        return m.where(size <= 8, small, m.where(x == x, large, x))

    return formula


_I0E, _I1E = _bessel_formula(0, I0_ABOVE_8, True), _bessel_formula(1, I1_ABOVE_8, True)
_I0, _I1 = _bessel_formula(0, I0_ABOVE_8, False), _bessel_formula(1, I1_ABOVE_8, False)

bessel_i0e: Primitive = special(
    "bessel_i0e", "exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    evaluate=evaluated(_I0E), stablehlo=lowered(_I0E),
    jvp=lambda dx, out, x: mul(dx, sub(bessel_i1e(x), mul(sign(x), out))),
)  # fmt: skip


def _i1e_jvp(dx: Value, out: Value, x: Value) -> Value:
    zero_here = eq(x, like(x, 0))
    safe = where(zero_here, like(x, 1), x)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), div(like(x, 1), safe))))
    return mul(dx, where(zero_here, like(x, 0.5), slope))


bessel_i1e: Primitive = special(
    "bessel_i1e", "exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    evaluate=evaluated(_I1E), stablehlo=lowered(_I1E), jvp=_i1e_jvp,
)  # fmt: skip


def _i1_jvp(dx: Value, out: Value, x: Value) -> Value:
    zero_here = eq(x, like(x, 0))
    safe = where(zero_here, like(x, 1), x)
    slope = sub(bessel_i0(safe), div(out, safe))
    return mul(dx, where(zero_here, like(x, 0.5), slope))


bessel_i0: Primitive = by_formula(
    "bessel_i0", "The modified Bessel function of the first kind, of order 0.",
    _I0, lambda dx, out, x: mul(dx, bessel_i1(x)),
)  # fmt: skip
bessel_i1: Primitive = by_formula(
    "bessel_i1", "The modified Bessel function of the first kind, of order 1.",
    _I1, _i1_jvp,
)  # fmt: skip
