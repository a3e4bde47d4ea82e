"""Powers, as formulas for compiled programs: exp(y log x), with the logarithm in two numbers.

XLA's own power calls a function of the C library for each element, so the code around it is not
vectorised. Here the logarithm is off by 1 % of a unit in the last place of 1, so only exponents of
several hundred lose digits. Products and differences are exact where it matters because their
factors have half of the digits. The formulas never find a rounding error by undoing an operation,
because a compiler may simplify that away."""

import math

from .formulas import (
    WITHIN_ROOT,
    Algebra,
    BlockAlgebra,
    Number,
    Term,
    inverse_tanh,
    log_of_2,
    polynomial,
)

# (exp(r) - 1 - r) / r² for r from -0.35 to 0.7, lowest power first, computed for weft with 60
# digits: r² times it to 3e-9 exp(r), and to 4e-19 exp(r)
_EXP = (
    0.49999987513100635, 0.16666693414817613, 0.041669430565152495, 0.008326545114935397,
    0.0013775798624501697, 0.0002387865517653309,
)  # fmt: skip
_EXP_FLOAT64 = (
    0.5, 0.16666666666666705, 0.0416666666666664, 0.00833333333331344, 0.0013888888889201972,
    0.00019841269876035806, 2.4801586473943372e-05, 2.755729785628256e-06, 2.7558112427898866e-07,
    2.5051673645411947e-08, 2.0636536071426755e-09, 1.9171391110780913e-10,
)  # fmt: skip
# log(1.25) and log(0.75), each as a sum of two numbers, like log(2) in `log_of_2`
_LOGARITHMS = ((0.22314453125, -9.799357902442336e-07), (-0.287689208984375, 7.136532594072561e-06))
_LOGARITHMS_FLOAT64 = (
    (0.22314355131425145, -4.169796584527195e-14), (-0.28768207245184385, 6.292357389008195e-14),
)  # fmt: skip

_MAX_EXPONENT = 1000
"""e to this power is too large for every dtype, and its reciprocal is too small."""


def power_minus_one(m: Algebra, x: Number, addend: int, y: Number) -> Number:
    """((x + addend)**y - 1) / y for `addend` 0 or 1; the logarithm where y is 0. The sum x + addend
    is not rounded. The result is NaN where it is negative."""
    if not isinstance(m, BlockAlgebra):
        logarithm = m.log1p(x) if addend else m.log(x)
        total, is_logarithm = x + addend, y == 0
        difference = m.power(m.where(total < 0, math.nan, total), y) - 1
        difference = m.where(m.abs(y * logarithm) < 0.7, m.expm1(y * logarithm), difference)
        return m.where(is_logarithm, logarithm, difference / m.where(is_logarithm, 1.0, y))
    product, product_tail, logarithm = _product(m, x, addend, y)
    largest_exponent = (128.5 if m.eps > 1e-10 else 1024.5) * math.log(2)
    overflows = product >= largest_exponent
    product = m.maximum(m.minimum(product, largest_exponent - 0.1), -64)
    n = m.round(product * (1 / math.log(2)))
    half = m.power_of_two(n - 1)  # 2**n may be infinite where the result is finite
    difference = half * _expm1(m, product, product_tail, n) + (half - 0.5)
    is_logarithm = (m.abs(y) < 1e-30) | (logarithm == 0)  # the zero at 1 has its sign, for any y
    out = m.where(overflows, math.inf, difference) / (0.5 * m.where(is_logarithm, 1.0, y))
    return m.where(is_logarithm, logarithm, out)


def _product(m: BlockAlgebra, x: Term, addend: int, y: Term) -> tuple[Term, Term, Term]:
    """(p, q, l): y log(x + addend) is p + q, where q is small, and the logarithm is l."""
    log_head, log_tail = log_in_two(m, x, addend)
    logarithm = m.log_outside(x + addend if addend else x, log_head + log_tail)
    y_head, direct_product = m.head(y), y * logarithm
    is_finite_exponent = m.abs(direct_product) < _MAX_EXPONENT
    product = m.where(is_finite_exponent, y_head * log_head, direct_product)
    return (
        product,
        m.where(is_finite_exponent, y * log_tail + (y - y_head) * log_head, 0.0),
        logarithm,
    )


def log_in_two(m: BlockAlgebra, x: Term, addend: int) -> tuple[Term, Term]:
    """log(x + addend), for a positive finite sum, as a sum of two numbers; the first has half of
    the digits."""
    minus_k, f = m.reduced(x, addend, 1.5)
    low, high = f < -0.15, f >= 0.25  # then 1 + f is multiplied by 1.25 or 0.75
    factor_change = m.where(low, 0.25, m.where(high, -0.25, 0.0))
    f = (f + factor_change) + factor_change * f
    log_2_head, log_2_tail = log_of_2(m)
    upper_logarithm, lower_logarithm = _LOGARITHMS if m.eps > 1e-10 else _LOGARITHMS_FLOAT64
    base = (
        m.where(low, -upper_logarithm[0], m.where(high, -lower_logarithm[0], 0.0))
        - minus_k * log_2_head
    )
    base_tail = (
        m.where(low, -upper_logarithm[1], m.where(high, -lower_logarithm[1], 0.0))
        - minus_k * log_2_tail
    )
    s, square = f / (2 + f), 0.5 * (f * f)
    correction = s * (square + 2 * (s * s) * inverse_tanh(m, s, WITHIN_ROOT))
    head = m.head(base + (f - (square - correction)))
    start = m.head(f)
    tail = ((base - head) + f) - 0.5 * (start * start)
    return head, tail - (0.5 * ((f - start) * (f + start)) - correction - base_tail)


def _expm1(m: BlockAlgebra, product: Term, product_tail: Term, n: Term) -> Term:
    """exp(product + product_tail - n log(2)) - 1, for exponents from -0.35 to 0.7."""
    log_2_head, log_2_tail = log_of_2(m)
    r = (product - n * log_2_head) + (product_tail - n * log_2_tail)
    return r + r * r * polynomial(m, _EXP if m.eps > 1e-10 else _EXP_FLOAT64, r)
