"""Elementwise arithmetic: add, sub, mul, div, rem, neg, abs, sign, reciprocal, max, min, square,
sqrt, rsqrt, cbrt, integer_pow; rounding: floor, ceil, round; is_finite and nextafter.

Nothing is promoted: operands have one dtype.
"""

from .. import dtypes
from ..core.array import Array, as_value
from ..primitives import arithmetic as p, structural
from ..primitives.arithmetic import RoundingMethod
from ..typing import ArrayLike, DTypeLike
from ..user_lines import noted
from .accuracy import AccuracyMode, check_accuracy
from .operands import constant_int, same_type

__all__ = [
    "RoundingMethod",
    "abs",
    "add",
    "cbrt",
    "ceil",
    "div",
    "floor",
    "integer_pow",
    "is_finite",
    "max",
    "min",
    "mul",
    "neg",
    "nextafter",
    "reciprocal",
    "rem",
    "round",
    "rsqrt",
    "sign",
    "sqrt",
    "square",
    "sub",
]


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Sums, elementwise.

    Args:
      x, y: arrays of one dtype, an integer, float or complex dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.add(2, 3).item()
      5
    Source: StableHLO `add`.
    """
    return structural.add(*same_type("add", ("x", "y"), x, y))


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Differences, elementwise.

    Args:
      x, y: arrays of one dtype, an integer, float or complex dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.sub(2, 3).item()
      -1
    Source: StableHLO `subtract`.
    """
    return p.sub(*same_type("sub", ("x", "y"), x, y))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Products, elementwise.

    Args:
      x, y: arrays of one dtype, an integer, float or complex dtype;
        of one shape, or one of them a scalar.
      out_dtype: the dtype to which operands are converted first; by default their own.
    Returns: array of the operands' shape, and of `out_dtype`.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.mul(2, 3).item()
      6
    Source: StableHLO `multiply`.
    """
    values = same_type("mul", ("x", "y"), x, y)
    if out_dtype is not None:
        result_dtype = dtypes.requested_dtype(out_dtype, "mul")
        values = [structural.convert_element_type(as_value(v), dtype=result_dtype) for v in values]
    return p.mul(*values)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Quotients, elementwise. Integer quotients round towards zero; division by zero gives -1 (all
    bits 1).

    Args:
      x, y: arrays of one dtype, an integer, float or complex dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.div(-7, 2).item(), lax.div(1.0, 4.0).item()
      (-3, 0.25)
    Source: StableHLO `divide`.
    """
    return p.div(*same_type("div", ("x", "y"), x, y))


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Remainders of division towards zero, with the sign of x. Integer division by zero gives x.

    Args:
      x, y: arrays of one dtype, an integer or float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.rem(-7, 2).item()
      -1
    Source: StableHLO `remainder`.
    """
    return p.rem(*same_type("rem", ("x", "y"), x, y))


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger elements; NaN if either is NaN. Complex numbers compare by real part first.

    Args:
      x, y: arrays of one dtype, any dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.max(2, 3).item()
      3
    Source: StableHLO `maximum`.
    """
    return p.max_(*same_type("max", ("x", "y"), x, y))


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller elements; NaN if either is NaN. Complex numbers compare by real part first.

    Args:
      x, y: arrays of one dtype, any dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.min(2, 3).item()
      2
    Source: StableHLO `minimum`.
    """
    return p.min_(*same_type("min", ("x", "y"), x, y))


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable numbers after x1 towards x2.

    Args:
      x1, x2: arrays of one dtype, a float dtype of 16 bits or more;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.nextafter(1.0, 2.0).item() > 1
      True
    Source: IEEE 754 `nextUp`.
    """
    return p.nextafter(*same_type("nextafter", ("x1", "x2"), x1, x2))


def neg(x: ArrayLike) -> Array:
    """Negates each element.

    Args:
      x: array of an integer, float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.neg(2).item()
      -2
    Source: StableHLO `negate`.
    """
    return p.neg(x)


def abs(x: ArrayLike) -> Array:
    """Absolute values. The derivative at 0 is 1.

    Args:
      x: array of an integer, float or complex dtype.
    Returns: array of x's shape and dtype; for complex x the dtype of its parts.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.abs(-2).item(), lax.abs(3 + 4j).item()
      (2, 5.0)
    Source: StableHLO `abs`.
    """
    return p.abs_(x)


def sign(x: ArrayLike) -> Array:
    """The sign: -1, 0 or 1; x / |x| for complex numbers. NaN and signed zeros are unchanged.

    Args:
      x: array of an integer, float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.sign(-2.5).item()
      -1.0
    Source: StableHLO `sign`.
    """
    return p.sign(x)


def floor(x: ArrayLike) -> Array:
    """The largest integers not above x.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.floor(-1.5).item()
      -2.0
    Source: StableHLO `floor`.
    """
    return p.floor(x)


def ceil(x: ArrayLike) -> Array:
    """The smallest integers not below x.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.ceil(-1.5).item()
      -1.0
    Source: StableHLO `ceil`.
    """
    return p.ceil(x)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integers.

    Args:
      x: array of a float dtype.
      rounding_method: how numbers half-way between two integers are rounded.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. ValueError: not a rounding method.
    Example:
      >>> from weft import lax
      >>> lax.round(2.5).item(), lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN).item()
      (3.0, 2.0)
    Source: StableHLO `round_nearest_afz`, `round_nearest_even`.
    """
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        raise noted(
            ValueError(
                f"round: rounding_method must be a lax.RoundingMethod; got {rounding_method!r:.80}"
            )
        ) from None
    return p.round_(x, rounding_method=method)


def is_finite(x: ArrayLike) -> Array:
    """True where elements are neither infinite nor NaN.

    Args:
      x: array of a float dtype.
    Returns: array of x's shape, boolean.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.is_finite(float('inf')).item()
      False
    Source: StableHLO `is_finite`.
    """
    return p.is_finite(x)


def square(x: ArrayLike) -> Array:
    """Squares, elementwise.

    Args:
      x: array of an integer, float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.square(3).item()
      9
    Source: StableHLO `multiply`.
    """
    return p.square(x)


def sqrt(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Square roots. The derivative at 0 is infinite.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.sqrt(9.0).item()
      3.0
    Source: StableHLO `sqrt`.
    """
    if accuracy is not None:
        check_accuracy("sqrt", accuracy)
    return p.sqrt(x)


def rsqrt(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """1 / sqrt(x).

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.rsqrt(4.0).item()
      0.5
    Source: StableHLO `rsqrt`.
    """
    if accuracy is not None:
        check_accuracy("rsqrt", accuracy)
    return p.rsqrt(x)


def cbrt(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Cube roots, also of negative numbers.

    Args:
      x: array of a float dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.cbrt(-8.0).item()
      -2.0
    Source: StableHLO `cbrt`.
    """
    if accuracy is not None:
        check_accuracy("cbrt", accuracy)
    return p.cbrt(x)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """x to a constant integer power, by repeated multiplication.

    Args:
      x: array of an integer, float or complex dtype.
      y: an int; negative only for float and complex x.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype, or a negative power of integers.
    Example:
      >>> from weft import lax
      >>> lax.integer_pow(3, 4).item(), lax.integer_pow(2.0, -2).item()
      (81, 0.25)
    Source: weft.
    """
    return p.integer_pow(x, y=constant_int("integer_pow", "y", y))


def reciprocal(x: ArrayLike) -> Array:
    """1 / x, elementwise.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.reciprocal(4.0).item()
      0.25
    Source: weft.
    """
    return p.integer_pow(x, y=-1)
