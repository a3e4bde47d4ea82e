"""Elementwise mathematics: arithmetic, powers, exponentials, trigonometry, rounding.

Knows promotion and formulas; knows nothing of reductions.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    complex_numbers,
    selection,
    structural,
    transcendental as t,
)
from ..typing import ArrayLike
from .makers import binary, derived, unary
from .plans import are_few, composite, planned
from .promotion import SCALARS, check_ranks, inexact, noted, promote_values, strong, value
from .ufunc_attributes import of_one, of_two
from .ufunc_options import takes_options

__all__ = [
    "abs",
    "absolute",
    "add",
    "cbrt",
    "conj",
    "conjugate",
    "divide",
    "divmod",
    "fabs",
    "float_power",
    "floor_divide",
    "fmod",
    "hypot",
    "imag",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "positive",
    "pow",
    "power",
    "real",
    "reciprocal",
    "remainder",
    "sign",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
]


def one(summary: str, example: str, result: str, *, note: str = "") -> str:
    """The docstring of a function of one operand."""
    about = note or "integers and booleans become float32."
    return f"""{summary}

    Args:
      x: array of any shape; {about}
    Returns: array of the shape of `x`.
    Example:
      >>> {example}
      {result}
    """


def two(summary: str, example: str, result: str, *, note: str = "") -> str:
    """The docstring of a function of two operands."""
    return f"""{summary}

    Args:
      x1, x2: arrays that broadcast together; they are promoted to one dtype.{note}
    Returns: array of the broadcast shape.
    Example:
      >>> {example}
      {result}
    """


_KEPT = "its dtype is kept."

# --- arithmetic ---

add = of_two(binary(structural.add, "add", two(
    "Sum; for booleans, or.", "np.add(np.arange(2), np.ones(2))",
    "Array([1., 2.], dtype=float32)")), identity=0)  # fmt: skip
subtract = of_two(binary(arithmetic.sub, "subtract", two(
    "Difference.", "np.subtract(np.arange(2), 1)", "Array([-1,  0], dtype=int32)")))  # fmt: skip
multiply = of_two(binary(arithmetic.mul, "multiply", two(
    "Product; for booleans, and.", "np.multiply(np.arange(2), 3)",
    "Array([0, 3], dtype=int32)")), identity=1)  # fmt: skip
divide = true_divide = binary(arithmetic.div, "divide", two(
    "Quotient; of integers too it is a float.", "np.divide(np.arange(2), 2)",
    "Array([0. , 0.5], dtype=float32)"), to_inexact=True)  # fmt: skip
negative = of_one(unary(arithmetic.neg, "negative", one(
    "Minus x.", "np.negative(np.arange(2))", "Array([ 0, -1], dtype=int32)",
    note=_KEPT)))  # fmt: skip
maximum = of_two(binary(arithmetic.max_, "maximum", two(
    "The larger one; NaN if either is.", "np.maximum(np.arange(3), 1)",
    "Array([1, 1, 2], dtype=int32)")))  # fmt: skip
minimum = of_two(binary(arithmetic.min_, "minimum", two(
    "The smaller one; NaN if either is.", "np.minimum(np.arange(3), 1)",
    "Array([0, 1, 1], dtype=int32)")))  # fmt: skip
sign = unary(arithmetic.sign, "sign", one(
    "-1, 0 or 1; of complex numbers x / |x|.", "np.sign(np.array([-2.0, 0.0]))",
    "Array([-1.,  0.], dtype=float32)", note=_KEPT))  # fmt: skip

_absolute = unary(arithmetic.abs_, "absolute", one(
    "Absolute value; of complex numbers a real one.", "np.absolute(np.array([-1, 2]))",
    "Array([1, 2], dtype=int32)", note=_KEPT))  # fmt: skip


@takes_options
def absolute(x: ArrayLike, /) -> Array:
    if getattr(x, "dtype", None) == dtypes.bool_ or x.__class__ is bool:
        return value("absolute", x)
    return _absolute(x)


absolute.__doc__ = _absolute.__doc__
abs = absolute


@takes_options
def positive(x: ArrayLike, /) -> Array:
    """The array itself.

    Example:
      >>> np.positive(np.arange(2))
      Array([0, 1], dtype=int32)
    """
    return value("positive", x)


@takes_options
def fabs(x: ArrayLike, /) -> Array:
    """Absolute value as a float.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.fabs(np.array([-1, 2]))
      Array([1., 2.], dtype=float32)
    """
    x = inexact("fabs", x)
    if dtypes.is_complex(x.dtype):  # type: ignore[union-attr]
        raise noted(ShapeError(f"fabs: expected a real operand; got {x.aval}\n  fix: np.abs(x)"))  # type: ignore[union-attr]
    return arithmetic.abs_(x)


@takes_options
def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.reciprocal(np.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    x = inexact("reciprocal", x)
    if dtypes.is_complex(x.dtype):  # type: ignore[union-attr]
        return arithmetic.integer_pow(x, y=-1)
    return divide(1, x)


@takes_options
def square(x: ArrayLike, /) -> Array:
    """x * x.

    Args:
      x: array of any shape; booleans become int32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.square(np.arange(3))
      Array([0, 1, 4], dtype=int32)
    """
    if getattr(x, "dtype", None) == dtypes.bool_ or x.__class__ is bool:
        (x,) = promote_values("square", x, to_number=True)
    return _square(x)


_square = unary(arithmetic.square, "square")

# --- division with remainder ---


def _floor_divide(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    if dtypes.is_complex(dtype):
        raise ShapeError(f"floor_divide: expected real operands; got {x.aval} and {y.aval}")
    if dtypes.is_unsigned(dtype):
        return arithmetic.div(x, y)
    if dtypes.is_integer(dtype):
        quotient = arithmetic.div(x, y)
        inexactly = _signs_differ(x, y) & comparison.ne(arithmetic.rem(x, y), literal(0, dtype))
        return selection.select_n(inexactly, quotient, arithmetic.sub(quotient, literal(1, dtype)))
    return _float_divmod(x, y)[0]


def _signs_differ(x: Any, y: Any) -> Any:
    return comparison.ne(arithmetic.sign(x), arithmetic.sign(y))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder of floats, as Python's."""
    remainder = arithmetic.rem(x, y)
    quotient = arithmetic.div(arithmetic.sub(x, remainder), y)
    adjust = comparison.ne(remainder, literal(0, x.aval.dtype)) & _signs_differ(y, remainder)
    remainder = selection.select_n(adjust, remainder, structural.add(remainder, y))
    quotient = selection.select_n(
        adjust, quotient, arithmetic.sub(quotient, literal(1, x.aval.dtype))
    )
    quotient = arithmetic.round_(quotient, rounding_method=EVEN)
    by_zero = comparison.eq(y, literal(0, x.aval.dtype))
    # rounding infinities and NaN changes nothing but the derivative
    exact = arithmetic.div(x, y)
    beyond = arithmetic.round_(exact, rounding_method=EVEN)
    zero = arithmetic.mul(arithmetic.sign(exact), literal(0, x.aval.dtype))
    quotient = selection.select_n(comparison.eq(quotient, zero), quotient, zero)
    return selection.select_n(by_zero, quotient, beyond), _signed_remainder(remainder, y)


def _signed_remainder(rest: Any, y: Any) -> Any:
    """A remainder of floats whose zeros have the sign of the divisor, as NumPy's. The branches for
    zeros have the derivative 1, as the remainder has."""
    none = literal(0, rest.aval.dtype)
    minus = arithmetic.neg(arithmetic.abs_(arithmetic.neg(rest)))
    zero = selection.select_n(comparison.lt(y, none), arithmetic.abs_(rest), minus)
    return selection.select_n(comparison.eq(rest, none), rest, zero)


EVEN = arithmetic.RoundingMethod.TO_NEAREST_EVEN


def _remainder(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    zero = literal(0, dtype)
    rest = _fmod(x, y)
    if dtypes.is_unsigned(dtype):
        return rest
    not_zero = comparison.ne(rest, zero)
    differ = comparison.ne(comparison.lt(rest, zero), comparison.lt(y, zero))
    rest = selection.select_n(differ & not_zero, rest, structural.add(rest, y))
    return rest if dtypes.is_integer(dtype) else _signed_remainder(rest, y)


def _fmod(x: Any, y: Any) -> Any:
    rest = arithmetic.rem(x, y)
    if dtypes.is_integer(x.aval.dtype):  # x % 0 is 0, as in NumPy
        zero = literal(0, x.aval.dtype)
        rest = selection.select_n(comparison.eq(y, zero), rest, zero)
    return rest


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    if dtypes.is_integer(x.aval.dtype):
        return _floor_divide(x, y), _remainder(x, y)
    return _float_divmod(x, y)


# NumPy's own, where they agree with XLA in each bit: for integers, float32 and float64


def _host_remainder(x: Any, y: Any) -> Any:
    if not are_few(x, y):
        return None
    return np.remainder if x.dtype.kind in "iu" or x.dtype in _HOST_FLOATS else None


_HOST_FLOATS = (dtypes.float32, dtypes.float64)


def _host_floor_divide(x: Any, y: Any) -> Any:
    if not are_few(x, y):
        return None
    if x.dtype.kind not in "iu":
        return np.floor_divide if x.dtype in _HOST_FLOATS else None

    def divide(x: Any, y: Any) -> Any:
        quotient = np.floor_divide(x, y)
        if np.count_nonzero(y) == y.size:
            return quotient
        by_zero = np.invert(np.zeros((), x.dtype))  # all bits, as XLA's
        if x.dtype.kind == "i":
            by_zero = np.where(x == 0, by_zero, by_zero + by_zero)
        return np.where(y == 0, by_zero, quotient).astype(x.dtype)

    return divide


def host_divmod(x: Any, y: Any) -> Any:
    """NumPy's kernel for `_divmod`."""
    quotient, rest = _host_floor_divide(x, y), _host_remainder(x, y)
    return (lambda x, y: (quotient(x, y), rest(x, y))) if quotient and rest else None


_DIVISION = "np.array([-7, 7]), 3"
floor_divide = derived(_floor_divide, "floor_divide", two(
    "Quotient rounded down.", f"np.floor_divide({_DIVISION})", "Array([-3,  2], dtype=int32)"),
    to_number=True, evaluate=_host_floor_divide)  # fmt: skip
remainder = mod = derived(_remainder, "remainder", two(
    "Remainder of `floor_divide`: it has the sign of the divisor.",
    f"np.remainder({_DIVISION})", "Array([2, 1], dtype=int32)"), to_number=True,
    evaluate=_host_remainder)  # fmt: skip
fmod = derived(_fmod, "fmod", two(
    "Remainder of a quotient rounded towards zero: it has the sign of the dividend.",
    f"np.fmod({_DIVISION})", "Array([-1,  1], dtype=int32)"), to_number=True)  # fmt: skip
divmod = derived(_divmod, "divmod", two(
    "(floor_divide(x1, x2), remainder(x1, x2)).", f"np.divmod({_DIVISION})",
    "(Array([-3,  2], dtype=int32), Array([2, 1], dtype=int32))"), to_number=True,
    evaluate=host_divmod)  # fmt: skip

# --- powers ---


def _whole_power_of(x: Array, y: int) -> Array:
    """x to the power of a Python int."""
    (x,) = promote_values("power", x, to_number=True)
    if y == 2:
        return arithmetic.square(x)
    return x if y == 1 else arithmetic.integer_pow(x, y=y)


_fixed_power = planned("power", _whole_power_of, "x1")


@takes_options
def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 to the power x2.

    A Python int as exponent becomes multiplications.

    Args:
      x1, x2: arrays that broadcast together; they are promoted to one dtype.
    Returns: array of the broadcast shape.
    Raises: TypeError: an integer is raised to a negative int.
    Example:
      >>> np.power(np.arange(4), 2)
      Array([0, 1, 4, 9], dtype=int32)
    """
    return _power("power", x1, x2)


pow = power


_inexact_power = binary(t.pow_, "power", to_number=True)


def _power(name: str, x: Any, y: Any) -> Any:
    if y.__class__ is int:
        return _fixed_power(x, y)
    if y.__class__ is float:
        return _inexact_power(x, y)
    x = x if x.__class__ in SCALARS else value(name, x, "x1")
    y = y if y.__class__ in SCALARS else value(name, y, "x2")
    if thread.numpy_rank_promotion != "allow":
        check_ranks(name, x, y)
    vx, vy = promote_values(name, x, y, to_number=True)
    if vx.aval.weak_type is not vy.aval.weak_type:
        vx, vy = strong(vx), strong(vy)
    if dtypes.is_inexact(vx.aval.dtype):
        given = getattr(y, "dtype", None)
        if (
            given is not None
            and dtypes.is_integer(given)
            and vx.aval.dtype == getattr(x, "dtype", None)
        ):
            return t.pow_(vx, y)  # exact for whole exponents
        return _inexact_power(vx, vy)
    return _whole_power(vx, vy)


@composite
def _whole_power(x: Any, y: Any) -> Any:
    """Integers to integer powers, by squaring. Six bits of the exponent: more would overflow,
    except for 0, 1 and -1."""
    dtype = x.aval.dtype
    zero, unit = literal(0, dtype), literal(1, dtype)
    shift = (
        bitwise.shift_right_arithmetic if dtypes.is_signed(dtype) else bitwise.shift_right_logical
    )
    vanishes = comparison.eq(x, zero) & comparison.ne(y, zero)
    result = selection.select_n(vanishes, unit, zero)
    for k in range(min(6, dtypes.bit_width(dtype))):
        if k:
            x, y = arithmetic.mul(x, x), shift(y, unit)
        odd = comparison.ne(bitwise.bitwise_and(y, unit), zero)
        result = selection.select_n(odd, result, arithmetic.mul(result, x))
    return result


@takes_options
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 to the power x2, as floats.

    Args:
      x1, x2: arrays that broadcast together; integers become float32.
    Returns: array of the broadcast shape.
    Example:
      >>> np.float_power(np.arange(3), 2)
      Array([0., 1., 4.], dtype=float32)
    """
    check_ranks("float_power", x1, x2)
    return t.pow_(*promote_values("float_power", x1, x2, to_inexact=True))


sqrt = unary(arithmetic.sqrt, "sqrt", one(
    "The square root.", "np.sqrt(np.array([4.0, 9.0]))", "Array([2., 3.], dtype=float32)"),
    to_inexact=True)  # fmt: skip
cbrt = unary(arithmetic.cbrt, "cbrt", one(
    "The cube root.", "np.cbrt(np.array([1.0, 8.0]))", "Array([1., 2.], dtype=float32)"),
    to_inexact=True)  # fmt: skip


@composite
def _hypot(x: Any, y: Any) -> Any:
    x, y = arithmetic.abs_(x), arithmetic.abs_(y)
    large, small = arithmetic.max_(x, y), arithmetic.min_(x, y)
    zero, infinity = literal(0.0, x.aval.dtype), literal(math.inf, x.aval.dtype)
    none = comparison.eq(large, zero)
    ratio = arithmetic.div(small, selection.select_n(none, large, literal(1.0, x.aval.dtype)))
    length = large * arithmetic.sqrt(1 + ratio * ratio)
    length = selection.select_n(none, length, large)
    for side in (x, y):  # infinite beside a NaN too (IEEE 754-2019, 9.2.1)
        length = selection.select_n(comparison.eq(side, infinity), length, side)
    return length


@takes_options
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The length of the vector (x1, x2), without overflow on the way.

    Args:
      x1, x2: real arrays that broadcast together; integers become float32.
    Returns: array of the broadcast shape.
    Example:
      >>> np.hypot(np.array([3.0]), 4)
      Array([5.], dtype=float32)
    """
    check_ranks("hypot", x1, x2)
    x, y = promote_values("hypot", x1, x2, to_inexact=True)
    if dtypes.is_complex(x.aval.dtype):
        raise noted(ShapeError("hypot: expected real operands; got complex ones"))
    return _hypot(x, y)


# --- complex numbers ---


def real(val: ArrayLike) -> Array:
    """The real part.

    Args:
      val: array of any shape.
    Returns: real array of the same shape.
    Example:
      >>> np.real(np.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    x = value("real", val, "val")
    return complex_numbers.real(x) if dtypes.is_complex(x.aval.dtype) else x


def imag(val: ArrayLike) -> Array:
    """The imaginary part; zeros for real arrays.

    Args:
      val: array of any shape.
    Returns: real array of the same shape.
    Example:
      >>> np.imag(np.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    x = value("imag", val, "val")
    if dtypes.is_complex(x.aval.dtype):
        return complex_numbers.imag(x)
    if is_extended(x.aval.dtype):
        raise noted(no_numbers("imag", x.aval))
    return structural.zeros(x.aval)


@takes_options
def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate; a real array is its own.

    Args:
      x: array of any shape.
    Returns: array of the same shape and dtype.
    Example:
      >>> np.conjugate(np.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    x = value("conjugate", x)
    return complex_numbers.conj(x) if dtypes.is_complex(x.aval.dtype) else x  # type: ignore


conj = conjugate
