"""Formulas of atan, atan2, asin and acos for compiled programs.

All use one ratio of polynomials for the difference between t and its arctangent, t from 0 to 1. It
was computed for weft with 50 digits, and its relative error is 2e-10 (short) or 2e-18 (long). XLA's
own functions call the C library for each element."""

import math

from .formulas import Algebra, BlockAlgebra, Number, Term, polynomial

# (1 - atan(t) / t) / t² in t², lowest power first
_COEFFICIENTS = (
    (0.333333333067005, 0.3527985860900706, 0.07667058543249694, 0.0005021276247660673),
    (1.0, 1.6583956488534668, 0.7964801800793219, 0.10196526666517942),
)
_COEFFICIENTS_FLOAT64 = (
    (0.3333333333333333, 0.8196542618042018, 0.728069203195526, 0.2827699168929326,
     0.045710117335409826, 0.0022767259824664756, 2.518809860105679e-06),
    (1.0, 3.058962785412603, 3.5910138522628894, 2.025267344473237, 0.5602118111724608,
     0.06849681505736407, 0.0026510645903418894),
)  # fmt: skip
# π/2 as a sum of two numbers
_RIGHT_ANGLE = 1.5707963705062866, -4.371139000186241e-08
_RIGHT_ANGLE_FLOAT64 = math.pi / 2, 6.123233995736766e-17


def _of_ratio(m: Algebra, t: Number) -> Number:
    """The arctangent of t from 0 to 1."""
    numerator, denominator = _COEFFICIENTS if m.eps > 1e-10 else _COEFFICIENTS_FLOAT64
    square = t * t
    return t - t * square * polynomial(m, numerator, square) / polynomial(m, denominator, square)


def _right_angles_minus(m: Algebra, quarters: int, angle: Number) -> Number:
    """A number of right angles minus an angle."""
    right_angle, right_angle_tail = _RIGHT_ANGLE if m.eps > 1e-10 else _RIGHT_ANGLE_FLOAT64
    return quarters * right_angle - (angle - quarters * right_angle_tail)


def _in_first_quadrant(m: Algebra, y: Number, x: Number) -> Number:
    """The angle of the point (y, x), for y and x that are not negative; 0 for the origin."""
    larger_leg, smaller_leg = m.maximum(y, x), m.minimum(y, x)
    is_equal = larger_leg == smaller_leg  # also for two infinities
    ratio = m.where(
        is_equal,
        m.where(larger_leg == 0, 0.0, 1.0),
        smaller_leg / m.where(is_equal, 1.0, larger_leg),
    )
    angle = _of_ratio(m, ratio)
    return m.where(y > x, _right_angles_minus(m, 1, angle), angle)


def atan_formula(m: Algebra, x: Number) -> Number:
    """The inverse of the tangent."""
    angle = _in_first_quadrant(m, m.abs(x), m.like(x, 1.0))
    return m.where(x < 0, -angle, m.where(x == 0, x, angle))


def atan2_formula(m: BlockAlgebra, y: Term, x: Term) -> Term:
    """The angle of the point (y, x)."""
    angle = _in_first_quadrant(m, m.abs(y), m.abs(x))
    angle = m.where(m.has_sign(x), _right_angles_minus(m, 2, angle), angle)
    return m.where(m.has_sign(y), -angle, angle)


def asin_formula(m: Algebra, x: Number) -> Number:
    """The inverse of the sine."""
    magnitude = m.abs(x)
    angle = 2 * _of_ratio(m, magnitude / (1 + m.sqrt((1 - magnitude) * (1 + magnitude))))
    return m.where(x < 0, -angle, m.where(x == 0, x, angle))


def acos_formula(m: Algebra, x: Number) -> Number:
    """The inverse of the cosine."""
    angle = 2 * _in_first_quadrant(m, m.sqrt((1 - x) * (1 + x)), 1 + x)
    return m.where(x == -1, math.pi, angle)
