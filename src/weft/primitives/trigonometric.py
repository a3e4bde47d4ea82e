"""Trigonometric and hyperbolic functions, and their inverses: sin, cos, tan, asin, acos, atan,
atan2, sinh, cosh, tanh, asinh, acosh, atanh."""

import functools

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..stablehlo import Block, Operand
from . import complex_lowering as cl
from .arithmetic import div, like, mul, neg, one_minus, one_plus, rsqrt, sqrt, square, sub
from .comparison import lt
from .elementwise import lowering_by, transcendental, transcendental_of_several, unary
from .formulas import lowered
from .rule_types import Kernel
from .selection import where
from .structural import add
from .trigonometric_formulas import acos_formula, asin_formula, atan2_formula, atan_formula

"""Makes an elementwise primitive of one operand that costs as much as an exponential."""


# --- hyperbolic functions ---


def _chlo(
    name: str,
    doc: str,
    evaluate: Kernel,
    in_parts: cl.InParts,
    symmetry: str,
    jvp: Rule,
    real: Rule | None = None,
) -> Primitive:
    """A function that XLA composes from others. Real numbers use the rule `real` if there is
    one."""
    lower = cl.complex_rule(real or lowering_by(f"chlo.{name}"), in_parts, symmetry)
    return transcendental(name, doc, evaluate=evaluate, stablehlo=lower, accepts="inexact", jvp=jvp)


tanh: Primitive = transcendental(
    "tanh", "Hyperbolic tangent.", evaluate=np.tanh, accepts="inexact",
    stablehlo=cl.complex_rule(lowering_by("tanh"), cl.tanh_in_parts, "kept"),
    jvp=lambda dx, out, x: mul(dx, mul(one_plus(out), one_minus(out))),
)  # fmt: skip


def _hyperbolic(name: str, block: Block, x: Operand, aval: Aval) -> Operand:
    """cosh or sinh of real numbers, from exp(|x|/2) squared. It does not overflow early; and unlike
    XLA's own exp(|x| - log 2), it does not lose digits for large |x|."""

    def op(operation: str, *operands: Operand) -> Operand:
        return block.elementwise(operation, operands, aval)

    zero, half, one = block.full(0, aval), block.full(0.5, aval), block.full(1, aval)
    magnitude = op("abs", x)
    root = op("exponential", op("multiply", half, magnitude))
    half_exponential = op("multiply", root, op("multiply", half, root))
    half_inverse = op("divide", block.full(0.25, aval), half_exponential)
    if name == "cosh":
        return op("add", half_exponential, half_inverse)
    u = op("exponential_minus_one", magnitude)
    near_zero = op("multiply", half, op("add", u, op("divide", u, op("add", u, one))))
    flags = aval.update(dtype=dtypes.bool_)
    is_small = block.compare("LT", magnitude, one, flags)
    positive = block.select(is_small, near_zero, op("subtract", half_exponential, half_inverse))
    signed_value = block.select(
        block.compare("LT", x, zero, flags), op("negate", positive), positive
    )
    return block.select(block.compare("EQ", magnitude, zero, flags), x, signed_value)


def _lower_hyperbolic(name: str) -> Rule:
    def rule(block: Block, x: Operand, out: Aval) -> Operand:
        wide_dtype = out.dtype if out.dtype.itemsize > 2 else dtypes.float32
        aval = out.update(dtype=wide_dtype, weak_type=False)
        return block.convert(
            _hyperbolic(name, block, block.convert(x, wide_dtype), aval), out.dtype
        )

    return rule


sinh: Primitive = transcendental(
    "sinh", "Hyperbolic sine.", evaluate=np.sinh, accepts="inexact",
    stablehlo=cl.complex_rule(
        _lower_hyperbolic("sinh"), cl.sinh_in_parts(_hyperbolic), "kept"
    ),
    jvp=lambda dx, out, x: mul(dx, cosh(x)),
)  # fmt: skip
cosh: Primitive = transcendental(
    "cosh", "Hyperbolic cosine.", evaluate=np.cosh, accepts="inexact",
    stablehlo=cl.complex_rule(
        _lower_hyperbolic("cosh"), cl.cosh_in_parts(_hyperbolic), "kept"
    ),
    jvp=lambda dx, out, x: mul(dx, sinh(x)),
)  # fmt: skip
asinh: Primitive = _chlo(
    "asinh", "Inverse of sinh.", np.arcsinh, cl.asinh_in_parts, "odd",
    lambda dx, out, x: mul(dx, rsqrt(one_plus(square(x)))),
)  # fmt: skip


def _slope_of_acosh(dx: Value, out: Value, x: Value) -> Value:
    """dx / sqrt(x² - 1), computed as dx / x where the square might be infinite."""
    x_minus_1, x_plus_1 = sub(x, like(x, 1)), one_plus(x)
    if dtypes.is_complex(x.dtype):
        return mul(dx, mul(rsqrt(x_minus_1), rsqrt(x_plus_1)))
    limit = like(x, 2 * float(dtypes.finfo(x.dtype).eps) ** -0.5)
    return div(dx, where(lt(x, limit), sqrt(mul(x_minus_1, x_plus_1)), x))


acosh: Primitive = _chlo(
    "acosh", "Inverse of cosh, at least 0.", np.arccosh, cl.acosh_in_parts, "conjugate",
    _slope_of_acosh,
)  # fmt: skip

_atanh_by_logarithms = lowered(lambda m, x: 0.5 * (m.log1p(x) - m.log1p(-x)))


def _lower_atanh(block: Block, x: Operand, out: Aval) -> Operand:
    if out.dtype == dtypes.float64:  # XLA's own function loses digits
        return _atanh_by_logarithms(block, x, out=out)
    return block.op("chlo.atanh", x, out=out)


atanh: Primitive = transcendental(
    "atanh", "Inverse of tanh.", evaluate=np.arctanh, accepts="inexact",
    stablehlo=cl.complex_rule(_lower_atanh, cl.atanh_in_parts, "odd"),
    jvp=lambda dx, out, x: div(dx, mul(one_plus(x), one_minus(x))),
)  # fmt: skip

# --- trigonometry ---

_trigonometric = functools.partial(unary, host="always", accepts="inexact")

sin: Primitive = _trigonometric(
    "sin", "Sine.", evaluate=np.sin,
    stablehlo=cl.complex_rule(
        lowering_by("sine"), cl.with_parts_swapped(cl.sinh_in_parts(_hyperbolic)), "kept"
    ),
    jvp=lambda dx, out, x: mul(dx, cos(x)),
)  # fmt: skip
cos: Primitive = _trigonometric(
    "cos", "Cosine.", evaluate=np.cos,
    stablehlo=cl.complex_rule(lowering_by("cosine"), cl.cos_in_parts(_hyperbolic), "kept"),
    jvp=lambda dx, out, x: neg(mul(dx, sin(x))),
)  # fmt: skip
tan: Primitive = _trigonometric(
    "tan", "Tangent.", evaluate=np.tan,
    stablehlo=cl.complex_rule(lowering_by("tan"), cl.with_parts_swapped(cl.tanh_in_parts), "kept"),
    jvp=lambda dx, out, x: mul(dx, one_plus(square(out))),
)  # fmt: skip


def _slope_of_asin(dx: Value, out: Value, x: Value) -> Value:
    """dx / sqrt(1 - x²). For complex numbers, the product might be infinite or lie on the wrong
    branch."""
    if dtypes.is_complex(x.dtype):
        return mul(dx, mul(rsqrt(one_minus(x)), rsqrt(one_plus(x))))
    return mul(dx, rsqrt(mul(one_minus(x), one_plus(x))))


asin: Primitive = _chlo(
    "asin", "Inverse of sin, in [-π/2, π/2].", np.arcsin, cl.asin_in_parts, "odd", _slope_of_asin,
    lowered(asin_formula),
)  # fmt: skip
acos: Primitive = _chlo(
    "acos", "Inverse of cos, in [0, π].", np.arccos, cl.acos_in_parts, "conjugate",
    lambda dx, out, x: neg(_slope_of_asin(dx, out, x)), lowered(acos_formula),
)  # fmt: skip
atan: Primitive = _chlo(
    "atan", "Inverse of tan, in [-π/2, π/2].", np.arctan, cl.atan_in_parts, "odd",
    lambda dx, out, x: div(dx, one_plus(square(x))), lowered(atan_formula),
)  # fmt: skip
atan2: Primitive = transcendental_of_several(
    "atan2", "The angle of the point (y, x), in [-π, π].", evaluate=np.arctan2,
    stablehlo=lowered(atan2_formula), accepts="float",
    jvp=(
        lambda dy, out, y, x: mul(dy, div(x, add(square(x), square(y)))),
        lambda dx, out, y, x: mul(dx, div(neg(y), add(square(x), square(y)))),
    ),
)  # fmt: skip
