"""Activations of neural networks with their own derivatives: relu, softplus, log1mexp,
gelu_by_tanh, squareplus.

The derivative of relu at 0 is 0; the derivative of `max(x, 0)` would be one half. The derivative of
softplus is the logistic function for every x, however large.
"""

import math

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..stablehlo import Block, Operand
from .arithmetic import div, like, mul, neg, square
from .comparison import gt
from .elementwise import HALF, evaluate_in_wider, transcendental, transcendental_of_several, unary
from .exponential import exp, expm1, logistic
from .formulas import Algebra, Number, evaluated, lowered, split_log1m
from .rule_types import Host
from .selection import clamp, where


def _relu(x: Host) -> Host:
    return np.maximum(x, x.dtype.type(0))


def _lower_relu(block: Block, x: Operand, out: Aval) -> Operand:
    if dtypes.is_unsigned(out.dtype):
        return x
    return block.elementwise("maximum", (x, block.full(0, out)), out)


def _relu_jvp(dx: Value, out: Value, x: Value) -> Value:
    return where(gt(x, like(x, 0)), dx, like(dx, 0))


relu: Primitive = unary(
    "relu", "The maximum of x and 0; the derivative at 0 is 0.", evaluate=_relu,
    stablehlo=_lower_relu, jvp=_relu_jvp, accepts="real",
)  # fmt: skip


def _softplus(x: Host) -> Host:
    """Uses four vectorised steps, because np.logaddexp takes ten times as long."""
    tail = np.log1p(np.exp(np.negative(np.absolute(x))))
    return np.add(np.maximum(x, x.dtype.type(0)), tail)


def _softplus_formula(m: Algebra, x: Number) -> Number:
    return m.maximum(x, 0) + m.log1p(m.exp(-m.abs(x)))


softplus: Primitive = transcendental(
    "softplus", "log(1 + exp(x)), without overflow.", evaluate=_softplus,
    stablehlo=lowered(_softplus_formula), jvp=lambda dx, out, x: mul(dx, logistic(x)),
    accepts="float",
)  # fmt: skip
evaluate_in_wider(softplus, "float", table=HALF)


def _log1mexp(m: Algebra, x: Number) -> Number:
    """Uses expm1 near 0, where it keeps the digits."""
    power, is_small = m.exp(-x), x < math.log(2)
    complement, rounding_error = split_log1m(m, power)
    logarithm = m.log(m.where(is_small, -m.expm1(-x), complement))
    return m.where(
        is_small, logarithm, m.where(complement == 1, -power, logarithm + rounding_error)
    )


def _slope_of_log1mexp(x: Value) -> Value:
    """exp(x) / (1 - exp(x)), in a form whose derivatives are finite for large -x too."""
    return div(exp(x), neg(expm1(x)))


log1mexp: Primitive = transcendental(
    "log1mexp", "log(1 - exp(-x)).", evaluate=evaluated(_log1mexp), accepts="float",
    stablehlo=lowered(_log1mexp), jvp=lambda dx, out, x: mul(dx, _slope_of_log1mexp(neg(x))),
)  # fmt: skip


# gelu is x times the logistic function of the cubic x (_LINEAR + _CUBIC x²). Beyond _CLIP_LIMIT the
# logistic function is 0 or 1 in every dtype. Without the bound, the cubic could be infinite there,
# and infinity times 0 is NaN.
_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC, _CLIP_LIMIT = 0.044715 * _LINEAR, 30.0


def _gelu_by_tanh(x: Host) -> Host:
    linear, cubic, bound, one = map(x.dtype.type, (_LINEAR, _CUBIC, _CLIP_LIMIT, 1))
    clipped = np.minimum(np.maximum(x, -bound), bound)
    power = np.exp(-(clipped * (linear + cubic * np.square(clipped))))
    return np.divide(x, one + power)


def _lower_gelu_by_tanh(m: Algebra, x: Number) -> Number:
    """Replaces (1 + tanh(u)) / 2 by the logistic function of 2u, which keeps its digits where it is
    small."""
    clipped = m.maximum(m.minimum(x, _CLIP_LIMIT), -_CLIP_LIMIT)
    return x / (1 + m.exp(-(clipped * (_LINEAR + _CUBIC * (clipped * clipped)))))


def _slope_of_gelu(x: Value) -> Value:
    clipped = clamp(like(x, -_CLIP_LIMIT), x, like(x, _CLIP_LIMIT))
    clipped_square = square(clipped)
    sigmoid = logistic(clipped * (_LINEAR + _CUBIC * clipped_square))
    return sigmoid * (1 + clipped * (1 - sigmoid) * (_LINEAR + 3 * _CUBIC * clipped_square))


gelu_by_tanh: Primitive = transcendental(
    "gelu_by_tanh", "x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2.",
    evaluate=_gelu_by_tanh, stablehlo=lowered(_lower_gelu_by_tanh),
    jvp=lambda dx, out, x: mul(dx, _slope_of_gelu(x)), accepts="float",
)  # fmt: skip
evaluate_in_wider(gelu_by_tanh, "float", table=HALF)


def _hyperbola(m: Algebra, x: Number, b: Number) -> Number:
    """sqrt(x² + b) for b ≥ 0. Large x are scaled down first, so that the square is finite."""
    exponent = 66 if m.eps > 1e-10 else 516  # of the largest exponent, and two more
    is_large = m.abs(x) > 2.0 ** (exponent - 6)
    scale, unscale = m.where(is_large, 2.0**-exponent, 1.0), m.where(is_large, 2.0**exponent, 1.0)
    return m.sqrt(x * scale * (x * scale) + b * scale * scale) * unscale


def _squareplus(m: Algebra, x: Number, b: Number) -> Number:
    """For x < 0, divides b / 4 by the other root, because that avoids cancellation."""
    positive_root = 0.5 * m.abs(x) + 0.5 * _hyperbola(m, x, b)
    return m.where(x < 0, 0.25 * b, positive_root) / m.where(x < 0, positive_root, 1.0)


hyperbola: Primitive = transcendental_of_several(
    "hyperbola", "sqrt(x² + b).", evaluate=evaluated(_hyperbola), stablehlo=lowered(_hyperbola),
    accepts="float",
    jvp=(
        lambda dx, out, x, b: mul(dx, div(x, out)),
        lambda db, out, x, b: mul(db, div(like(x, 0.5), out)),
    ),
)  # fmt: skip
squareplus: Primitive = transcendental_of_several(
    "squareplus", "(x + sqrt(x² + b)) / 2.", evaluate=evaluated(_squareplus),
    stablehlo=lowered(_squareplus), accepts="float",
    jvp=(
        lambda dx, out, x, b: mul(dx, div(out, hyperbola(x, b))),
        lambda db, out, x, b: mul(db, div(like(x, 0.25), hyperbola(x, b))),
    ),
)  # fmt: skip
