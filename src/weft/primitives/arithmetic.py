"""Elementwise arithmetic: sub, mul, div, rem, neg, sign, abs_, max_, min_, square, sqrt, rsqrt,
cbrt, integer_pow; rounding: floor, ceil, round_; is_finite and nextafter. (`add` is in
`structural.py`.)"""

import enum
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from .. import dtypes
from ..core.array import literal
from ..core.aval import Aval
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from .comparison import eq, ge
from .complex_lowering import (
    complex_rule,
    reciprocal_in_parts,
    rsqrt_in_parts,
    sign_in_parts,
    sqrt_in_parts,
)
from .complex_numbers import imag, real
from .elementwise import (
    HALF,
    check_kind,
    evaluate_in_wider,
    lowering_by,
    nary,
    transcendental,
    unary,
    zero,
)
from .rule_types import Host, Tangent
from .selection import where
from .structural import add

evaluate_in_wider(add, "number")


def like(x: Value, number: float) -> Value:
    """A number as a scalar of x's dtype."""
    return literal(number, x.aval.dtype)


def one_plus(x: Value) -> Value:
    """1 + x."""
    return add(like(x, 1), x)


def one_minus(x: Value) -> Value:
    """1 - x."""
    return sub(like(x, 1), x)


# --- sums and products ---

neg: Primitive = unary(
    "neg", "Negates each element.", evaluate=np.negative, stablehlo="negate",
    jvp=lambda dx, out, x: neg(dx),
    linear=True, accepts="number",
)  # fmt: skip

sub: Primitive = nary(
    "sub", "Difference of two arrays.", evaluate=np.subtract, stablehlo="subtract",
    jvp=(lambda dx, out, x, y: dx, lambda dy, out, x, y: neg(dy)),
    transpose=(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)), accepts="number",
)  # fmt: skip

mul: Primitive = nary(
    "mul", "Product of two arrays.", evaluate=np.multiply, stablehlo="multiply",
    jvp=(lambda dx, out, x, y: mul(dx, y), lambda dy, out, x, y: mul(dy, x)),
    transpose=(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(ct, x)),
)  # fmt: skip


def _integer_division(x: Host, y: Host) -> tuple[Host, Host]:
    """Divides as XLA does: towards zero. Division by zero gives a quotient of all ones and the
    remainder x."""
    by_zero = y == 0
    nonzero_y = np.where(by_zero, np.ones((), y.dtype), y)
    remainder = np.where(by_zero, x, np.fmod(x, nonzero_y))
    all_ones = np.invert(np.zeros((), x.dtype))
    return np.where(by_zero, all_ones, (x - remainder) // nonzero_y), remainder


_INTEGERS = [d for d in (*dtypes.SIGNED, *dtypes.UNSIGNED) if d not in dtypes.SMALL_INTS]


def _lower_division(name: str) -> Rule:
    """Lowers integer division without a trap. Where the quotient is undefined, it divides by 1 and
    then selects the defined answer.

    XLA's compiled code does this itself, but its constant folding does not: there, x / 0 or the
    smallest integer / -1 raises the processor's trap and ends the process.
    """

    def lower(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        if not dtypes.is_integer(out.dtype):
            return block.elementwise(name, (x, y), out)
        x, y = block.widen(x, out.shape), block.widen(y, out.shape)
        flags = out.update(dtype=dtypes.bool_, weak_type=False)
        is_zero = block.compare("EQ", y, block.full(0, out), flags)
        is_undefined = is_zero
        if dtypes.is_signed(out.dtype):
            smallest = block.full(dtypes.iinfo(out.dtype).min, out)
            is_smallest = block.compare("EQ", x, smallest, flags)
            is_minus_one = block.compare("EQ", y, block.full(-1, out), flags)
            is_undefined = block.elementwise(
                "or", (is_zero, block.elementwise("and", (is_smallest, is_minus_one), flags)), flags
            )
        quotient = block.elementwise(
            name, (x, block.select(is_undefined, block.full(1, out), y)), out
        )
        if name == "remainder":
            return block.select(is_zero, x, quotient)
        largest = -1 if dtypes.is_signed(out.dtype) else dtypes.iinfo(out.dtype).max
        return block.select(is_zero, block.full(largest, out), quotient)

    return lower


div: Primitive = nary(
    "div", "Quotient of two arrays; integer quotients round towards zero.", evaluate=np.divide,
    evaluate_in=dict.fromkeys(_INTEGERS, lambda x, y: _integer_division(x, y)[0]),
    stablehlo=_lower_division("divide"),
    jvp=(lambda dx, out, x, y: div(dx, y), lambda dy, out, x, y: div(mul(neg(dy), out), y)),
    transpose=(lambda ct, x, y: div(ct, y), None), accepts="number",
)  # fmt: skip

rem: Primitive = nary(
    "rem",
    "Remainder of division towards zero, with the sign of x.",
    evaluate=np.fmod,
    evaluate_in=dict.fromkeys(_INTEGERS, lambda x, y: _integer_division(x, y)[1]),
    stablehlo=_lower_division("remainder"),
    jvp=(
        lambda dx, out, x, y: dx,
        lambda dy, out, x, y: mul(neg(dy), _towards_zero(div(x, y))),
    ),
    accepts="real",
    host="other",
)


def _towards_zero(x: Value) -> Value:
    return mul(sign(x), floor(abs_(x)))


# --- parts of a number ---


def _sign(x: Host) -> Host:
    if x.dtype.kind != "c":
        return np.sign(x) if x.dtype.kind in "iu" else np.copysign(np.sign(x), x)
    magnitude = np.abs(x)
    out = x / np.where(magnitude == 0, 1, magnitude)
    out = np.where(magnitude == 0, x, out)  # zeros keep their signs, as for real numbers
    is_infinite = np.isinf(magnitude)
    if is_infinite.any():
        out = np.where(is_infinite, _direction(x), out)
    return out.astype(x.dtype)


def _direction(x: Host) -> Host:
    """The sign of an infinite number, which is the sign of its infinite part; NaN if both parts are
    infinite or one is NaN."""
    out = np.empty(x.shape, x.dtype)
    for part, other_part, source in ((out.real, x.imag, x.real), (out.imag, x.real, x.imag)):
        part[...] = np.where(np.isinf(source), np.sign(source), 0)
        part[np.isinf(source) & np.isinf(other_part) | np.isnan(source) | np.isnan(other_part)] = (
            np.nan
        )
    out[np.isnan(out.real) | np.isnan(out.imag)] = complex(np.nan, np.nan)
    return out


def _lower_real_sign(block: Block, x: Operand, out: Aval) -> Operand:
    if not dtypes.is_unsigned(out.dtype):
        return block.elementwise("sign", (x,), out)
    flags = out.update(dtype=dtypes.bool_, weak_type=False)
    return block.convert(block.compare("NE", x, block.full(0, out), flags), out.dtype)


sign: Primitive = transcendental(
    "sign", "The sign: -1, 0 or 1; x / |x| for complex numbers.",
    evaluate=_sign, stablehlo=complex_rule(_lower_real_sign, sign_in_parts, "kept"),
    jvp=zero, accepts="number",
)  # fmt: skip


def _lower_abs(block: Block, x: Operand, out: Aval) -> Operand:
    if dtypes.is_unsigned(out.dtype):
        return x
    magnitude = block.op("abs", x, out=out)
    if not dtypes.is_complex(x.aval.dtype):
        return magnitude
    # XLA's result is NaN where one part is infinite and the other is NaN
    flags, infinity = out.update(dtype=dtypes.bool_, weak_type=False), block.full(np.inf, out)
    part_magnitudes = [
        block.op("abs", block.op(part, x, out=out), out=out) for part in ("real", "imag")
    ]
    is_infinite = [block.compare("EQ", part, infinity, flags) for part in part_magnitudes]
    return block.select(block.elementwise("or", is_infinite, flags), infinity, magnitude)


def _abs_jvp(dx: Value, out: Value, x: Value) -> Value:
    if not dtypes.is_complex(x.dtype):
        return where(ge(x, like(x, 0)), dx, neg(dx))
    nonzero_out = where(eq(out, like(out, 0)), like(out, 1), out)
    parts = [mul(part(dx), div(part(x), nonzero_out)) for part in (real, imag)]
    return add(*parts)


abs_: Primitive = unary(
    "abs", "The absolute value.", evaluate=np.absolute, stablehlo=_lower_abs, jvp=_abs_jvp,
    accepts="number", out_dtype=dtypes.real_of,
)  # fmt: skip
floor: Primitive = unary(
    "floor", "The largest integer not above x.", evaluate=np.floor, stablehlo="floor",
    jvp=zero, accepts="float",
)  # fmt: skip
ceil: Primitive = unary(
    "ceil", "The smallest integer not below x.", evaluate=np.ceil, stablehlo="ceil",
    jvp=zero, accepts="float",
)  # fmt: skip


class RoundingMethod(enum.IntEnum):
    """The way `round` rounds a number half-way between two integers.

    Example:
      >>> lax.round(np.array([0.5, 1.5, 2.5]), lax.RoundingMethod.AWAY_FROM_ZERO)
      Array([1., 2., 3.], dtype=float32)
      >>> lax.round(np.array([0.5, 1.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
      Array([0., 2., 2.], dtype=float32)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round(x: Host, *, rounding_method: RoundingMethod) -> Host:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    integer_part = np.trunc(x)
    rounds_away = np.abs(x - integer_part) >= x.dtype.type(0.5)
    return np.copysign(integer_part + np.copysign(rounds_away.astype(x.dtype), x), x)


def _lower_round(block: Block, x: Operand, out: Aval, rounding_method: RoundingMethod) -> Operand:
    to_even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
    return block.elementwise("round_nearest_even" if to_even else "round_nearest_afz", (x,), out)


round_: Primitive = unary(
    "round", "The nearest integer.", evaluate=_round, stablehlo=_lower_round, jvp=zero,
    accepts="float",
)  # fmt: skip
is_finite: Primitive = unary(
    "is_finite", "True where x is neither infinite nor NaN.",
    evaluate=np.isfinite, stablehlo="is_finite",
    jvp=zero, accepts="float", out_dtype=lambda _: dtypes.bool_,
)  # fmt: skip
nextafter: Primitive = nary(
    "nextafter", "The next representable number after x towards y.",
    evaluate=lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
    stablehlo="chlo.next_after", accepts="float of 16 bits or more",
)  # fmt: skip

# --- extrema ---


def _extremum_jvp(position: int) -> Rule:
    def rule(t: Value, out: Value, x: Value, y: Value) -> Value:  # a tie is shared in halves
        operand, other = (x, y) if position == 0 else (y, x)
        one, half, zero = like(x, 1), like(x, 0.5), like(x, 0)
        weight = where(eq(out, operand), where(eq(out, other), half, one), zero)
        return mul(t, weight)

    return rule


def _lexicographic(direction: str) -> Rule:
    """Lowers maximum or minimum; complex numbers are ordered by real part, then imaginary part."""
    name = {"GT": "maximum", "LT": "minimum"}[direction]

    def rule(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        if not dtypes.is_complex(out.dtype):
            return block.elementwise(name, (x, y), out)
        x, y = block.widen(x, out.shape), block.widen(y, out.shape)
        part = out.update(dtype=dtypes.real_of(out.dtype), weak_type=False)
        flags = out.update(dtype=dtypes.bool_, weak_type=False)
        rx, ry = block.op("real", x, out=part), block.op("real", y, out=part)
        ix, iy = block.op("imag", x, out=part), block.op("imag", y, out=part)
        by_real = block.compare(direction, rx, ry, flags)
        by_imag = block.compare(direction, ix, iy, flags)
        equal = block.compare("EQ", rx, ry, flags)
        extremum = block.select(block.select(equal, by_imag, by_real), x, y)
        x_nan = block.compare("NE", x, x, flags)  # a NaN wins
        y_nan = block.compare("NE", y, y, flags)
        return block.select(x_nan, x, block.select(y_nan, y, extremum))

    return rule


max_: Primitive = nary(
    "max", "The larger of two elements; NaN if either is NaN.", evaluate=np.maximum,
    stablehlo=_lexicographic("GT"), jvp=(_extremum_jvp(0), _extremum_jvp(1)),
)  # fmt: skip
min_: Primitive = nary(
    "min", "The smaller of two elements; NaN if either is NaN.", evaluate=np.minimum,
    stablehlo=_lexicographic("LT"), jvp=(_extremum_jvp(0), _extremum_jvp(1)),
)  # fmt: skip


def _work_of_extremum(avals: Sequence[Aval], outs: Sequence[Aval]) -> int:
    """The cost of an extremum of an array and a number is six times higher, because NumPy does not
    vectorise it."""
    has_scalar_operand = any([a.size == 1 < outs[0].size for a in avals])
    return outs[0].size * (6 if has_scalar_operand else 1)


max_.host.work(_work_of_extremum)
min_.host.work(_work_of_extremum)

# --- powers and roots ---

square: Primitive = unary(
    "square", "Squares each element.", evaluate=np.square,
    stablehlo=lambda block, x, out: block.elementwise("multiply", (x, x), out),
    jvp=lambda dx, out, x: mul(dx, mul(like(x, 2), x)), accepts="number",
)  # fmt: skip
sqrt: Primitive = unary(
    "sqrt", "The square root.", evaluate=np.sqrt, accepts="inexact",
    stablehlo=complex_rule(lowering_by("sqrt"), sqrt_in_parts, "conjugate"),
    jvp=lambda dx, out, x: mul(dx, div(like(x, 0.5), out)),
)  # fmt: skip


def _rsqrt(x: Host) -> Host:
    return np.divide(x.dtype.type(1), np.sqrt(x))


rsqrt: Primitive = unary(
    "rsqrt", "1 / sqrt(x).", evaluate=_rsqrt, accepts="inexact",
    stablehlo=complex_rule(lowering_by("rsqrt"), rsqrt_in_parts, "conjugate"),
    jvp=lambda dx, out, x: mul(dx, mul(like(x, -0.5), div(out, x))),
)  # fmt: skip
evaluate_in_wider(rsqrt, "inexact", table=HALF)
cbrt: Primitive = transcendental(
    "cbrt", "The cube root.", evaluate=np.cbrt, stablehlo="cbrt", accepts="float",
    jvp=lambda dx, out, x: mul(dx, div(like(x, 1 / 3), square(out))),
)  # fmt: skip
evaluate_in_wider(cbrt, "float", table=HALF)


T = TypeVar("T")


def _power_by_squaring(x: T, n: int, times: Callable[[T, T], T]) -> T:
    """x to the power n, for n > 0."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else times(result, x)
        n >>= 1
        if n:
            x = times(x, x)
    assert result is not None
    return result


def _integer_pow(x: Host, *, y: int) -> Host:
    one = x.dtype.type(1)
    if y == 0:
        return np.full(x.shape, one)
    if y == -1 and x.dtype.kind == "c":
        return np.reciprocal(x)
    power = _power_by_squaring(x, abs(y), np.multiply)
    return power if y > 0 else np.divide(one, power)


_lower_reciprocal = complex_rule(lowering_by("divide"), reciprocal_in_parts, "kept")


def _lower_integer_pow(block: Block, x: Operand, out: Aval, y: int) -> Operand:
    if y == 0:
        return block.full(1, out)
    if y == -1 and dtypes.is_complex(out.dtype):
        return _lower_reciprocal(block, x, out=out)
    is_narrow = dtypes.is_float(out.dtype) and out.dtype.itemsize < 4  # round once, at the end
    wide_aval = out.update(dtype=dtypes.float32, weak_type=False) if is_narrow else out
    x = block.convert(x, wide_aval.dtype)
    power = _power_by_squaring(
        x, abs(y), lambda a, b: block.elementwise("multiply", (a, b), wide_aval)
    )
    if y < 0:
        power = block.elementwise("divide", (block.full(1, wide_aval), power), wide_aval)
    return block.convert(power, out.dtype)


def _integer_pow_jvp(dx: Value, out: Value, x: Value, *, y: int) -> Tangent:
    if y == 0:
        return None
    if y == -1 and dtypes.is_complex(x.dtype):
        return neg(mul(dx, mul(out, out)))
    return dx if y == 1 else mul(dx, mul(like(x, y), integer_pow(x, y=y - 1)))


integer_pow: Primitive = unary(
    "integer_pow", "x to a constant integer power.", evaluate=_integer_pow,
    stablehlo=_lower_integer_pow, jvp=_integer_pow_jvp, accepts="number",
)  # fmt: skip
evaluate_in_wider(integer_pow, "float", table=HALF)


@integer_pow.type
def _(x: Aval, *, y: int) -> Aval:
    check_kind("integer_pow", "number", x)
    if y < 0 and not dtypes.is_inexact(x.dtype):
        raise ShapeError(
            f"integer_pow: integers have no negative powers; got {x} to the power {y}\n"
            "  fix: convert to a float first, x.astype(float)"
        )
    return x
