"""Modified Bessel functions: bessel_i0 and bessel_i1; scaled by exp(-|x|), bessel_i0e and
bessel_i1e.

They use a power series near zero and Chebyshev series elsewhere."""

import math

from ..core.primitive import Primitive
from ..core.value import Value
from .arithmetic import add, div, like, mul, sign, sub
from .comparison import eq
from .formulas import Algebra, Formula, Number, chebyshev, evaluated, lowered, polynomial
from .selection import where
from .special import by_formula, special

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
    """I0 or I1, or its product with exp(-|x|)."""

    def formula(m: Algebra, x: Number) -> Number:
        magnitude = m.abs(x)
        x_small, x_large = m.minimum(magnitude, 8), m.maximum(magnitude, 8)
        small_value = _power_series(m, order, x_small)
        large_value = chebyshev(m, above_8, 16 / x_large - 1) / m.sqrt(x_large)
        if scaled:
            small_value = small_value * m.exp(-x_small)
        else:  # in two halves, so that it overflows no earlier than the function
            half = m.exp(0.5 * magnitude)
            large_value = m.where(magnitude == math.inf, math.inf, large_value * half * half)
        if order:
            small_value = small_value * x
            large_value = m.where(x < 0, -large_value, large_value)
        return m.where(magnitude <= 8, small_value, m.where(x == x, large_value, x))

    return formula


_I0E, _I1E = _bessel_formula(0, I0_ABOVE_8, True), _bessel_formula(1, I1_ABOVE_8, True)
_I0, _I1 = _bessel_formula(0, I0_ABOVE_8, False), _bessel_formula(1, I1_ABOVE_8, False)

bessel_i0e: Primitive = special(
    "bessel_i0e", "exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    evaluate=evaluated(_I0E), stablehlo=lowered(_I0E),
    jvp=lambda dx, out, x: mul(dx, sub(bessel_i1e(x), mul(sign(x), out))),
)  # fmt: skip


def _i1e_jvp(dx: Value, out: Value, x: Value) -> Value:
    is_zero = eq(x, like(x, 0))
    nonzero_x = where(is_zero, like(x, 1), x)
    slope = sub(bessel_i0e(nonzero_x), mul(out, add(sign(nonzero_x), div(like(x, 1), nonzero_x))))
    return mul(dx, where(is_zero, like(x, 0.5), slope))


bessel_i1e: Primitive = special(
    "bessel_i1e", "exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    evaluate=evaluated(_I1E), stablehlo=lowered(_I1E), jvp=_i1e_jvp,
)  # fmt: skip


def _i1_jvp(dx: Value, out: Value, x: Value) -> Value:
    is_zero = eq(x, like(x, 0))
    nonzero_x = where(is_zero, like(x, 1), x)
    slope = sub(bessel_i0(nonzero_x), div(out, nonzero_x))
    return mul(dx, where(is_zero, like(x, 0.5), slope))


bessel_i0: Primitive = by_formula(
    "bessel_i0", "The modified Bessel function of the first kind, of order 0.",
    _I0, lambda dx, out, x: mul(dx, bessel_i1(x)),
)  # fmt: skip
bessel_i1: Primitive = by_formula(
    "bessel_i1", "The modified Bessel function of the first kind, of order 1.",
    _I1, _i1_jvp,
)  # fmt: skip
