"""Formulas for compiled programs: error functions, complementary error functions and their
inverses.

One Chebyshev series in (x - 3.75) / (x + 3.75) gives exp(x²) erfc(x) for all x ≥ 0. The method is
M. M. Shepherd and J. G. Laframboise's (1981) (“Chebyshev approximation of (1 + 2x) exp(x²) erfc x
in 0 ≤ x < ∞”, Math. Comp. 36, 249-253); the coefficients were computed for weft with 50 digits.
XLA's own erfc and inverse of erf are off by 50 units in the last place of float32, and more of
float64.
"""

import math

from .formulas import Algebra, Number, chebyshev, polynomial
from .normal_quantile import CENTRE, FAR_TAIL, TAIL, Ratio

# fmt: off
ERFCX = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189,
    -0.026658668435305753, 0.009074997670705265, -0.002413163540417608, 0.0004907758365258086,
    -6.916973302501207e-05, 4.13902798607301e-06, 7.74038306619849e-07, -2.1886401049234397e-07,
    1.076499946567091e-08, 4.521959811218287e-09, -7.754400208831351e-10, -6.318088340886684e-11,
    2.86879501093067e-11, 1.9455868545777354e-13, -9.654696748433437e-13, 3.2525481481487477e-14,
    3.347811948286813e-14, -1.864562880419236e-15, -1.2507950530687885e-15, 7.418235256631573e-17,
    5.0681489048035423e-17,
)
# fmt: on


def erfcx_positive(m: Algebra, x: Number) -> Number:
    """exp(x²) erfc(x) for x ≥ 0."""
    return chebyshev(m, ERFCX, 1 - 7.5 / (x + 3.75)) / (1 + 2 * x)


# exp(x²) erfc(x) for x from 0 to 64, lowest power first, computed for weft: to 1.1e-9
_ERFCX_7: Ratio = (
    (0.9999999989393856, 1.5528948092518475, 1.1564242271336733, 0.49904210866620324,
     0.12496094430924745, 0.015053300841557779),
    (1.0, 2.681273852106986, 3.1819201022477936, 2.1604165267196596, 0.8978709186293509,
     0.22148749241974883, 0.026681281073753733),
)  # fmt: skip
# from 0 to 28: to 1.1e-18
_ERFCX_16: Ratio = (
    (
        1.0, 2.3441454885507786, 2.723796847089221, 2.027316093815962, 1.0604509895276155,
        0.4055042987035628, 0.11464681097470392, 0.023694780130376895, 0.003439337214107769,
        0.0003188646791944106, 1.4517961819589583e-05,
    ),
    (
        1.0, 3.472524655646292, 5.642121325745999, 5.673496378430789, 3.9324011008955604,
        1.978187624078578, 0.7394540236953239, 0.20624134854612045, 0.04228049075577498,
        0.006108932698308939, 0.0005651729285567594, 2.5732417334425546e-05,
    ),
)  # fmt: skip


def _erfcx_near(m: Algebra, x: Number) -> Number:
    """exp(x²) erfc(x) for x from 0 to where erfc vanishes."""
    numerator, denominator = _ERFCX_7 if m.eps > 1e-10 else _ERFCX_16
    x = m.minimum(x, 64 if m.eps > 1e-10 else 28)
    return polynomial(m, numerator, x) / polynomial(m, denominator, x)


def with_exp_of_square(m: Algebra, factor_in_front: Number, x: Number, factor: float) -> Number:
    """factor_in_front · exp(factor · x²) for any x. Rounding the square would cost x² units in the
    last place. The rounding error is restored by means of the exact square of the first bits of x
    (as in W. J. Cody 1969)."""
    magnitude = m.minimum(m.abs(x), 64)
    rounded_x = m.floor(magnitude * 16) * 0.0625
    square_error = (rounded_x * rounded_x - magnitude * magnitude) + (magnitude - rounded_x) * (
        magnitude + rounded_x
    )
    square = x * x
    return (
        factor_in_front
        * (1 + factor * square_error)
        * m.exp(-square if factor == -1 else factor * square)
    )


def normal_tail(m: Algebra, x: Number) -> Number:
    """The probability that a normal variable is more than |x|."""
    scaled_tail = 0.5 * _erfcx_near(m, m.abs(x) * math.sqrt(0.5))
    return with_exp_of_square(m, scaled_tail, x, -0.5)


def erfc_formula(m: Algebra, x: Number) -> Number:
    """1 - erf(x)."""
    tail = with_exp_of_square(m, _erfcx_near(m, m.abs(x)), x, -1.0)
    return m.where(x < 0, 2 - tail, tail)


# As in `normal_quantile`, for 7 digits: lowest power first (Algorithm AS 241, PPND7).
_CENTRE_7 = (
    (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
    (1.0, 17.895169469, 78.757757664, 67.187563600),
)
_TAIL_7 = (
    (1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103),
    (1.0, 0.73700164250, 0.12021132975),
)
_FAR_7 = (
    (6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997),
    (1.0, 0.24197894225, 0.012258202635),
)


def _ratio_for_dtype(m: Algebra, float32_ratio: Ratio, float64_ratio: Ratio, r: Number) -> Number:
    """A ratio of polynomials, of the degree that the dtype needs."""
    if m.eps > 1e-10:
        numerator, denominator = float32_ratio
    else:
        numerator, denominator = float64_ratio[0][::-1], float64_ratio[1][::-1]
    return polynomial(m, numerator, r) / polynomial(m, denominator, r)


def normal_quantile_formula(m: Algebra, centred: Number, tail: Number) -> Number:
    """The quantile of the normal distribution of the probability 1/2 + centred, where `tail` is
    1/2 - |centred|."""
    is_central = m.abs(centred) <= 0.425
    central_x = m.where(is_central, centred, 0.0)
    central_value = central_x * _ratio_for_dtype(
        m, _CENTRE_7, CENTRE, 0.180625 - central_x * central_x
    )
    r = m.sqrt(-m.log(m.where(is_central, 0.25, tail)))
    is_far = r > 5
    far_value = _ratio_for_dtype(m, _FAR_7, FAR_TAIL, m.where(is_far, r, 5.0) - 5)
    tail_value = m.where(
        is_far, far_value, _ratio_for_dtype(m, _TAIL_7, TAIL, m.where(is_far, 5.0, r) - 1.6)
    )
    tail_value = m.where(tail == 0, math.inf, tail_value)
    return m.where(is_central, central_value, m.where(centred < 0, -tail_value, tail_value))


def erf_inv_formula(m: Algebra, y: Number) -> Number:
    """The inverse of erf."""
    out = normal_quantile_formula(m, 0.5 * y, 0.5 * (1 - m.abs(y)))
    return m.where(y == 0, y, math.sqrt(0.5) * out)
