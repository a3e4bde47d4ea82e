"""Exponentials, logarithms and powers: exp, exp2, expm1, log, log2, log10, log1p, logistic,
logaddexp, pow."""

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..stablehlo import Block, Operand
from . import complex_lowering as cl
from .arithmetic import div, is_finite, like, mul, one_minus, one_plus, sub
from .comparison import eq
from .elementwise import (
    HALF,
    check_kind,
    evaluate_in_wider,
    in_wider,
    lowering_by,
    same_dtype,
    transcendental,
    transcendental_of_several,
    unary,
)
from .formulas import Algebra, Number, lowered, polynomial
from .rule_types import Batched, DType, Host, Tangent, Tangents, Values
from .selection import where
from .structural import add, align, broadcast_shape, convert_element_type, widen

FALSE = Array(np.bool_(False), aval((), dtypes.bool_))


# --- exponentials and logarithms ---


exp: Primitive = unary(  # costs no more than arithmetic: see benchmarks/README.md
    "exp", "e to the power x.", evaluate=np.exp, accepts="inexact",
    stablehlo=cl.complex_rule(lowering_by("exponential"), cl.exp_in_parts, "kept"),
    jvp=lambda dx, out, x: mul(dx, out),
)  # fmt: skip


# (2**t - 1) / t for t from 0 to 1, lowest power first, computed for weft: to 1.1e-8, and to 2.4e-19
_EXP2 = (
    0.6931471708649766, 0.24022720418109816, 0.05549602356402293, 0.009652195056014735,
    0.0012692166069140853, 0.00020817915043540742,
)  # fmt: skip
_EXP2_FLOAT64 = (
    0.6931471805599453, 0.24022650695910078, 0.05550410866481856, 0.009618129107684748,
    0.001333355814101557, 0.0001540353070023987, 1.5252722792813224e-05, 1.3215746344148444e-06,
    1.017401785226927e-07, 7.09679519777704e-09, 4.175052805899359e-10, 3.5440421858907e-11,
)  # fmt: skip


def _exp2_formula(m: Algebra, x: Number) -> Number:
    """2 to the power x, from the bits of the integer part and a polynomial of the rest. exp(x log
    2) would lose 33 units in the last place near the ends. An exponent out of range gives infinity
    or 0."""
    low, high, coefficients = (-127, 128, _EXP2) if m.eps > 1e-10 else (-1023, 1024, _EXP2_FLOAT64)
    x = m.maximum(m.minimum(x, high), low)
    integer_part = m.floor(x)
    fraction = x - integer_part
    return (1 + fraction * polynomial(m, coefficients, fraction)) * m.power_of_two(integer_part)


_lower_real_exp2 = lowered(_exp2_formula)


def _lower_exp2(block: Block, x: Operand, out: Aval) -> Operand:
    if dtypes.is_complex(out.dtype):
        exponent = block.elementwise("multiply", (x, block.full(np.log(2), out)), out)
        return block.elementwise("exponential", (exponent,), out)
    return _lower_real_exp2(block, x, out=out)


exp2: Primitive = transcendental(
    "exp2", "2 to the power x.", evaluate=np.exp2, stablehlo=_lower_exp2, accepts="inexact",
    jvp=lambda dx, out, x: mul(dx, mul(like(x, float(np.log(2))), out)),
)  # fmt: skip


def _complex_of_parts(real: Host, imag: Host, dtype: DType) -> Host:
    """A complex number from its parts. Adding 1j times a part would lose signs of zeros;
    multiplying would lose infinities."""
    out = np.empty(np.shape(real), dtype)
    out.real, out.imag = real, imag
    return out


def _complex_expm1(z: Host) -> Host:
    """Avoids NumPy's function, which returns NaN for infinite numbers such as inf + 0j."""
    x, y = z.real, z.imag
    power = np.exp(z)
    finite_real = np.expm1(x) * np.cos(y) - 2 * np.square(np.sin(y / 2))
    infinite_real = np.where(x == -np.inf, -1, power.real - 1)
    return _complex_of_parts(
        np.where(np.isfinite(x) & np.isfinite(y), finite_real, infinite_real), power.imag, z.dtype
    )


expm1: Primitive = transcendental(
    "expm1", "exp(x) - 1, accurate near 0.", evaluate=np.expm1,
    evaluate_in=dict.fromkeys(dtypes.COMPLEX, _complex_expm1),
    stablehlo=cl.complex_rule(
        lowering_by("exponential_minus_one"), cl.expm1_in_parts, "kept"
    ),
    accepts="inexact",
    jvp=lambda dx, out, x: mul(dx, one_plus(out)),
)  # fmt: skip
log: Primitive = transcendental(
    "log", "Natural logarithm.", evaluate=np.log, accepts="inexact",
    stablehlo=cl.complex_rule(lowering_by("log"), cl.log_in_parts, "conjugate"),
    jvp=lambda dx, out, x: div(dx, x),
)  # fmt: skip


def _logarithm_to(base: int) -> Rule:
    """The lowering of a logarithm to a base. It is exact for powers of the base."""
    return lowered(lambda m, x: m.logarithm_to(base, x))


def _log_jvp(base: int) -> Rule:
    return lambda dx, out, x: div(dx, mul(x, like(x, float(np.log(base)))))


log2: Primitive = transcendental(
    "log2", "Logarithm to base 2, exact for powers of 2.", evaluate=np.log2,
    stablehlo=_logarithm_to(2), accepts="float", jvp=_log_jvp(2),
)  # fmt: skip
log10: Primitive = transcendental(
    "log10", "Logarithm to base 10, exact for powers of 10.", evaluate=np.log10,
    # NumPy's float32 result is off by one unit for most powers of 10
    evaluate_in={dtypes.float32: in_wider(np.log10, dtypes.float64)},
    stablehlo=_logarithm_to(10), accepts="float", jvp=_log_jvp(10),
)  # fmt: skip


def _complex_log1p(z: Host) -> Host:
    """Avoids NumPy's function, which loses digits near 0: its real part is the logarithm of a
    number close to one."""
    x, y = z.real, z.imag
    is_small = np.maximum(np.abs(x), np.abs(y)) < 0.5
    small_real = 0.5 * np.log1p(np.where(is_small, x * (2 + x) + y * y, 0))
    out = np.log(_complex_of_parts(1 + x, y, z.dtype))
    return _complex_of_parts(
        np.where(is_small, small_real, out.real), np.arctan2(y, 1 + x), z.dtype
    )


_lower_log1p = lowered(lambda m, x: m.log1p(x))
log1p: Primitive = transcendental(
    "log1p", "log(1 + x), accurate near 0.", evaluate=np.log1p,
    evaluate_in=dict.fromkeys(dtypes.COMPLEX, _complex_log1p),
    stablehlo=cl.complex_rule(_lower_log1p, cl.log1p_in_parts, "conjugate"),
    accepts="inexact", jvp=lambda dx, out, x: div(dx, one_plus(x)),
)  # fmt: skip


def _logistic(x: Host) -> Host:
    one = x.dtype.type(1)
    return np.divide(one, np.add(one, np.exp(np.negative(x))))


def _complex_logistic(z: Host) -> Host:
    """Uses exp(z) left of the imaginary axis, where exp(-z) may be infinite and its reciprocal
    NaN."""
    left = z.real < 0
    power = np.exp(np.where(left, z, np.negative(z)))
    one = z.dtype.type(1)
    return np.divide(np.where(left, power, one), np.add(one, power))


logistic: Primitive = transcendental(
    "logistic", "1 / (1 + exp(-x)).", evaluate=_logistic, stablehlo="logistic",
    accepts="inexact", jvp=lambda dx, out, x: mul(dx, mul(out, one_minus(out))),
    evaluate_in=dict.fromkeys(dtypes.COMPLEX, _complex_logistic),
)  # fmt: skip
evaluate_in_wider(logistic, "inexact", table=HALF)


def _logaddexp(m: Algebra, x: Number, y: Number) -> Number:
    distance = x - y
    finite_value = m.maximum(x, y) + m.log1p(m.exp(-m.abs(distance)))
    return m.where(distance != distance, x + y, finite_value)  # both infinite, or NaN


def _weight(x: Value, y: Value) -> Value:
    """exp(x) / (exp(x) + exp(y)); one half for equal infinities."""
    is_equal_infinity = where(is_finite(x), FALSE, eq(x, y))
    return logistic(where(is_equal_infinity, like(x, 0), sub(x, y)))


logaddexp: Primitive = transcendental_of_several(
    "logaddexp", "log(exp(x) + exp(y)), without overflow.", evaluate=np.logaddexp,
    stablehlo=lowered(_logaddexp), accepts="float",
    jvp=(
        lambda dx, out, x, y: mul(dx, _weight(x, y)),
        lambda dy, out, x, y: mul(dy, _weight(y, x)),
    ),
)  # fmt: skip

# --- powers ---

pow_ = Primitive("pow", "x to the power y; y may be of an integer dtype.", host="transcendental")


@pow_.type
def _(x: Aval, y: Aval) -> Aval:
    if not dtypes.is_integer(y.dtype):
        same_dtype("pow", x, y)
    check_kind("pow", "inexact", x)
    weak_type = x.weak_type and (y.weak_type or y.dtype != x.dtype)
    return x.update(shape=broadcast_shape("pow", (x, y)), weak_type=weak_type)


@pow_.evaluate
def _(x: Host, y: Host) -> Host:
    if x.dtype == y.dtype and x.dtype.itemsize > 2:
        return np.power(x, y)
    wide_dtype = x.dtype if x.dtype.itemsize > 2 else np.float32
    return np.power(x.astype(wide_dtype), y.astype(wide_dtype)).astype(x.dtype)


@pow_.lower
def _(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
    y = block.convert(y, out.dtype)
    power = block.elementwise("power", (x, y), out)
    if not dtypes.is_complex(out.dtype):
        return power
    # XLA gives NaN for 0 ** y; the result is 0 if the real part of y is positive
    x, y = block.widen(x, out.shape), block.widen(y, out.shape)
    part = out.update(dtype=dtypes.real_of(out.dtype), weak_type=False)
    flags = out.update(dtype=dtypes.bool_, weak_type=False)
    zero = block.full(0, out)
    is_zero = block.compare("EQ", x, zero, flags)
    positive = block.compare("GT", block.op("real", y, out=part), block.full(0, part), flags)
    return block.select(block.elementwise("and", (is_zero, positive), flags), zero, power)


@pow_.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> Tangent:
    (x, y), (dx, dy) = primals, tangents
    zero, one = like(x, 0), like(x, 1)
    total = None
    if dx is not None:
        if y.dtype != x.dtype:
            y = convert_element_type(y, dtype=x.dtype)
        # x ** 0 is 1 for every x: its derivative at 0 is 0, not 0 · 0 ** -1
        both_zero = where(eq(x, zero), eq(y, zero), FALSE)
        lower = pow_(x, where(both_zero, one, sub(y, one)))
        total = mul(dx, mul(y, lower))
    if dy is not None:
        contribution = mul(dy, mul(out, log(where(eq(x, zero), one, x))))
        total = contribution if total is None else add(total, contribution)
    return None if total is None else widen(total, out.shape)


@pow_.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return pow_(*align(args, batched))
