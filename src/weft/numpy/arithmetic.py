"""Arithmetic, element by element.

Sums, products and quotients (add, subtract, multiply, divide), division with remainder
(floor_divide, remainder, mod, fmod, divmod), powers and roots (power, float_power, square, sqrt,
cbrt, reciprocal), signs and sizes (negative, positive, absolute, fabs, sign, heaviside).
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..errors import ShapeError
from ..primitives import arithmetic, bitwise, comparison, exponential as t, selection, structural
from ..typing import ArrayLike
from .makers import binary, binary_docstring, composite_binary, unary, unary_docstring
from .plans import are_few, composite, planned
from .promotion import SCALARS, as_inexact, check_ranks, noted, promote_values, strong, value
from .ufunc_attributes import of_one, of_two
from .ufunc_options import takes_options

__all__ = [
    "abs",
    "absolute",
    "add",
    "cbrt",
    "divide",
    "divmod",
    "fabs",
    "float_power",
    "floor_divide",
    "fmod",
    "heaviside",
    "mod",
    "multiply",
    "negative",
    "positive",
    "pow",
    "power",
    "reciprocal",
    "remainder",
    "sign",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
]


_DTYPE_NOTE = "its dtype is kept."

# --- arithmetic ---

add = of_two(
    binary(
        structural.add,
        "add",
        binary_docstring(
            "Adds arguments element by element; for booleans, or.",
            "np.add(np.arange(2), np.ones(2))",
            "Array([1., 2.], dtype=float32)",
        ),
    ),
    identity=0,
)
subtract = of_two(
    binary(
        arithmetic.sub,
        "subtract",
        binary_docstring(
            "Subtracts arguments element by element.",
            "np.subtract(np.arange(2), 1)",
            "Array([-1,  0], dtype=int32)",
        ),
    )
)
multiply = of_two(
    binary(
        arithmetic.mul,
        "multiply",
        binary_docstring(
            "Multiplies arguments element by element; for booleans, and.",
            "np.multiply(np.arange(2), 3)",
            "Array([0, 3], dtype=int32)",
        ),
    ),
    identity=1,
)
divide = true_divide = binary(
    arithmetic.div,
    "divide",
    binary_docstring(
        "Divides arguments element by element; integers give floats.",
        "np.divide(np.arange(2), 2)",
        "Array([0. , 0.5], dtype=float32)",
    ),
    to_inexact=True,
)
negative = of_one(
    unary(
        arithmetic.neg,
        "negative",
        unary_docstring(
            "Negative, element by element.",
            "np.negative(np.arange(2))",
            "Array([ 0, -1], dtype=int32)",
            note=_DTYPE_NOTE,
        ),
    )
)


sign = unary(
    arithmetic.sign,
    "sign",
    unary_docstring(
        "Sign, element by element: -1, 0 or 1; x / |x| for complex numbers.",
        "np.sign(np.array([-2.0, 0.0]))",
        "Array([-1.,  0.], dtype=float32)",
        note=_DTYPE_NOTE,
    ),
)

_absolute = unary(
    arithmetic.abs_,
    "absolute",
    unary_docstring(
        "Absolute value, element by element; complex input gives a real result.",
        "np.absolute(np.array([-1, 2]))",
        "Array([1, 2], dtype=int32)",
        note=_DTYPE_NOTE,
    ),
)


@takes_options
def absolute(x: ArrayLike, /) -> Array:
    if getattr(x, "dtype", None) == dtypes.bool_ or x.__class__ is bool:
        return value("absolute", x)
    return _absolute(x)


absolute.__doc__ = _absolute.__doc__
abs = absolute


@takes_options
def positive(x: ArrayLike, /) -> Array:
    """The array unchanged.

    Example:
      >>> np.positive(np.arange(2))
      Array([0, 1], dtype=int32)
    """
    return value("positive", x)


@takes_options
def fabs(x: ArrayLike, /) -> Array:
    """Absolute value of real numbers, as floats.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.fabs(np.array([-1, 2]))
      Array([1., 2.], dtype=float32)
    """
    x = as_inexact("fabs", x)
    if dtypes.is_complex(x.dtype):  # type: ignore[union-attr]
        raise noted(ShapeError(f"fabs: expected a real operand; got {x.aval}\n  fix: np.abs(x)"))  # type: ignore[union-attr]
    return arithmetic.abs_(x)


@takes_options
def reciprocal(x: ArrayLike, /) -> Array:
    """Reciprocal, element by element: 1 / x.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.reciprocal(np.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    x = as_inexact("reciprocal", x)
    if dtypes.is_complex(x.dtype):  # type: ignore[union-attr]
        return arithmetic.integer_pow(x, y=-1)
    return divide(1, x)


@takes_options
def square(x: ArrayLike, /) -> Array:
    """Square, element by element.

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
    """Quotient and remainder of floats, with Python's signs."""
    remainder = arithmetic.rem(x, y)
    quotient = arithmetic.div(arithmetic.sub(x, remainder), y)
    adjust = comparison.ne(remainder, literal(0, x.aval.dtype)) & _signs_differ(y, remainder)
    remainder = selection.select_n(adjust, remainder, structural.add(remainder, y))
    quotient = selection.select_n(
        adjust, quotient, arithmetic.sub(quotient, literal(1, x.aval.dtype))
    )
    quotient = arithmetic.round_(quotient, rounding_method=EVEN)
    by_zero = comparison.eq(y, literal(0, x.aval.dtype))
    # rounding keeps infinities and NaN, but removes the derivative
    true_quotient = arithmetic.div(x, y)
    rounded_quotient = arithmetic.round_(true_quotient, rounding_method=EVEN)
    zero = arithmetic.mul(arithmetic.sign(true_quotient), literal(0, x.aval.dtype))
    quotient = selection.select_n(comparison.eq(quotient, zero), quotient, zero)
    return selection.select_n(by_zero, quotient, rounded_quotient), _signed_remainder(remainder, y)


def _signed_remainder(remainder: Any, y: Any) -> Any:
    """A remainder of floats in which zeros have the sign of the divisor, as in NumPy. The branches
    for zeros have the derivative 1, like the remainder."""
    zero = literal(0, remainder.aval.dtype)
    negative_zero = arithmetic.neg(arithmetic.abs_(arithmetic.neg(remainder)))
    signed_zero = selection.select_n(
        comparison.lt(y, zero), arithmetic.abs_(remainder), negative_zero
    )
    return selection.select_n(comparison.eq(remainder, zero), remainder, signed_zero)


EVEN = arithmetic.RoundingMethod.TO_NEAREST_EVEN


def _remainder(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    zero = literal(0, dtype)
    result = _fmod(x, y)
    if dtypes.is_unsigned(dtype):
        return result
    not_zero = comparison.ne(result, zero)
    differ = comparison.ne(comparison.lt(result, zero), comparison.lt(y, zero))
    result = selection.select_n(differ & not_zero, result, structural.add(result, y))
    return result if dtypes.is_integer(dtype) else _signed_remainder(result, y)


def _fmod(x: Any, y: Any) -> Any:
    result = arithmetic.rem(x, y)
    if dtypes.is_integer(x.aval.dtype):  # x % 0 is 0, as in NumPy
        zero = literal(0, x.aval.dtype)
        result = selection.select_n(comparison.eq(y, zero), result, zero)
    return result


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    if dtypes.is_integer(x.aval.dtype):
        return _floor_divide(x, y), _remainder(x, y)
    return _float_divmod(x, y)


# NumPy's functions where they are bitwise equal to XLA's: for integers, float32 and float64


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
        by_zero = np.invert(np.zeros((), x.dtype))  # bitwise equal to XLA's
        if x.dtype.kind == "i":
            by_zero = np.where(x == 0, by_zero, by_zero + by_zero)
        return np.where(y == 0, by_zero, quotient).astype(x.dtype)

    return divide


def host_divmod(x: Any, y: Any) -> Any:
    """NumPy's kernel for `_divmod`."""
    quotient, remainder = _host_floor_divide(x, y), _host_remainder(x, y)
    return (lambda x, y: (quotient(x, y), remainder(x, y))) if quotient and remainder else None


_DIVISION = "np.array([-7, 7]), 3"
floor_divide = composite_binary(
    _floor_divide,
    "floor_divide",
    binary_docstring(
        "Largest integer not above the quotient (floor division).",
        f"np.floor_divide({_DIVISION})",
        "Array([-3,  2], dtype=int32)",
    ),
    to_number=True,
    evaluate=_host_floor_divide,
)
remainder = mod = composite_binary(
    _remainder,
    "remainder",
    binary_docstring(
        "Remainder of floor division, with the sign of the divisor.",
        f"np.remainder({_DIVISION})",
        "Array([2, 1], dtype=int32)",
    ),
    to_number=True,
    evaluate=_host_remainder,
)
fmod = composite_binary(
    _fmod,
    "fmod",
    binary_docstring(
        "Remainder of division rounded towards zero, with the sign of the dividend.",
        f"np.fmod({_DIVISION})",
        "Array([-1,  1], dtype=int32)",
    ),
    to_number=True,
)
divmod = composite_binary(
    _divmod,
    "divmod",
    binary_docstring(
        "Quotient and remainder at once: (floor_divide(x1, x2), remainder(x1, x2)).",
        f"np.divmod({_DIVISION})",
        "(Array([-3,  2], dtype=int32), Array([2, 1], dtype=int32))",
    ),
    to_number=True,
    evaluate=host_divmod,
)

# --- powers ---


def _static_power(x: Array, y: int) -> Array:
    """x to the power of a Python int, by multiplications."""
    (x,) = promote_values("power", x, to_number=True)
    if y == 2:
        return arithmetic.square(x)
    return x if y == 1 else arithmetic.integer_pow(x, y=y)


_fixed_power = planned("power", _static_power, "x1")


@takes_options
def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Raises x1 to the power x2, element by element.

    A Python int as exponent is computed by multiplications.

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
        exponent_dtype = getattr(y, "dtype", None)
        if (
            exponent_dtype is not None
            and dtypes.is_integer(exponent_dtype)
            and vx.aval.dtype == getattr(x, "dtype", None)
        ):
            return t.pow_(vx, y)  # exact for integer exponents
        return _inexact_power(vx, vy)
    return _integer_power(vx, vy)


@composite
def _integer_power(x: Any, y: Any) -> Any:
    """Integers to integer powers, by repeated squaring. Six bits of the exponent are enough: larger
    powers overflow, except for the bases 0, 1 and -1."""
    dtype = x.aval.dtype
    zero, one = literal(0, dtype), literal(1, dtype)
    shift = (
        bitwise.shift_right_arithmetic if dtypes.is_signed(dtype) else bitwise.shift_right_logical
    )
    is_zero = comparison.eq(x, zero) & comparison.ne(y, zero)
    result = selection.select_n(is_zero, one, zero)
    for k in range(min(6, dtypes.bit_width(dtype))):
        if k:
            x, y = arithmetic.mul(x, x), shift(y, one)
        is_odd = comparison.ne(bitwise.bitwise_and(y, one), zero)
        result = selection.select_n(is_odd, result, arithmetic.mul(result, x))
    return result


@takes_options
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Raises x1 to the power x2, element by element, as floats.

    Args:
      x1, x2: arrays that broadcast together; integers become float32.
    Returns: array of the broadcast shape.
    Example:
      >>> np.float_power(np.arange(3), 2)
      Array([0., 1., 4.], dtype=float32)
    """
    check_ranks("float_power", x1, x2)
    return t.pow_(*promote_values("float_power", x1, x2, to_inexact=True))


sqrt = unary(
    arithmetic.sqrt,
    "sqrt",
    unary_docstring(
        "Square root, element by element.",
        "np.sqrt(np.array([4.0, 9.0]))",
        "Array([2., 3.], dtype=float32)",
    ),
    to_inexact=True,
)
cbrt = unary(
    arithmetic.cbrt,
    "cbrt",
    unary_docstring(
        "Cube root, element by element.",
        "np.cbrt(np.array([1.0, 8.0]))",
        "Array([1., 2.], dtype=float32)",
    ),
    to_inexact=True,
)


def _heaviside(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    zero = literal(0.0, dtype)
    positive_step = selection.select_n(comparison.gt(x, zero), zero, literal(1.0, dtype))
    at_zero = selection.select_n(comparison.eq(x, zero), positive_step, y)
    return selection.select_n(comparison.ne(x, x), at_zero, x)


heaviside = composite_binary(
    _heaviside,
    "heaviside",
    binary_docstring(
        "Heaviside step function: 0 where x1 < 0, x2 where x1 == 0, 1 where x1 > 0.",
        "np.heaviside(np.array([-1.0, 0.0, 2.0]), 0.5)",
        "Array([0. , 0.5, 1. ], dtype=float32)",
    ),
    to_inexact=True,
)
