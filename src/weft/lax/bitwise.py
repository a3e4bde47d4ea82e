"""Bitwise operations: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left,
shift_right_arithmetic, shift_right_logical, population_count, clz, mulhi.

Nothing is promoted: operands have one dtype.
"""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import bitwise as p
from ..primitives.comparison import lt
from ..primitives.conversion import bitcast_convert_type
from ..primitives.selection import where
from ..primitives.structural import convert_element_type
from ..typing import ArrayLike
from .operands import same_type

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "mulhi",
    "population_count",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Bitwise *and* of two operands.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_and(6, 3).item()
      2
    Source: StableHLO `and`.
    """
    return p.bitwise_and(*same_type("bitwise_and", ("x", "y"), x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Bitwise *or* of two operands.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_or(6, 3).item()
      7
    Source: StableHLO `or`.
    """
    return p.bitwise_or(*same_type("bitwise_or", ("x", "y"), x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Bitwise exclusive *or* of two operands.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_xor(6, 3).item()
      5
    Source: StableHLO `xor`.
    """
    return p.bitwise_xor(*same_type("bitwise_xor", ("x", "y"), x, y))


def bitwise_not(x: ArrayLike) -> Array:
    """Inverts each bit; `not` for booleans.

    Args:
      x: array of a boolean or integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_not(6).item()
      -7
    Source: StableHLO `not`.
    """
    return p.bitwise_not(x)


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits shifted to the left by y places; 0 if y is negative or not less than the width.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.shift_left(3, 2).item()
      12
    Source: StableHLO `shift_left`.
    """
    return p.shift_left(*same_type("shift_left", ("x", "y"), x, y))


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits shifted to the right by y places, filled with the sign, also for y out of range.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.shift_right_arithmetic(-8, 1).item()
      -4
    Source: StableHLO `shift_right_arithmetic`.
    """
    return p.shift_right_arithmetic(*same_type("shift_right_arithmetic", ("x", "y"), x, y))


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits shifted to the right by y places, filled with zeros; 0 for y out of range.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.shift_right_logical(8, 1).item()
      4
    Source: StableHLO `shift_right_logical`.
    """
    return p.shift_right_logical(*same_type("shift_right_logical", ("x", "y"), x, y))


def population_count(x: ArrayLike) -> Array:
    """The number of bits of each element that are one.

    Args:
      x: array of an integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.population_count(7).item()
      3
    Source: StableHLO `popcnt`.
    """
    return p.population_count(x)


def clz(x: ArrayLike) -> Array:
    """The number of leading zero bits of each element.

    Args:
      x: array of an integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.clz(1).item()
      31
    Source: StableHLO `count_leading_zeros`.
    """
    return p.clz(x)


@located
def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The upper half of the bits of a product.

    Args:
      x, y: arrays of one integer dtype of 8 to 64 bits; of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype: for numbers of n bits, the upper n bits of the
      product.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.mulhi(np.uint8(200), np.uint8(100)).item(), 200 * 100 // 256
      (78, 78)
    Source: JAX documentation, `jax.lax.mulhi`.
    """
    a, b = same_type("mulhi", ("x", "y"), x, y)
    dtype = a.dtype
    if not dtypes.is_integer(dtype) or dtypes.bit_width(dtype) < 8:
        raise ShapeError(f"mulhi: expected integers of 8 bits or more; got {a.aval}")
    width = dtypes.bit_width(dtype)
    if width < 32:
        is_unsigned = dtypes.is_unsigned(dtype)
        wide_dtype = dtypes.uint32 if is_unsigned else dtypes.int32
        product = convert_element_type(a, dtype=wide_dtype) * convert_element_type(
            b, dtype=wide_dtype
        )
        shift = p.shift_right_logical if is_unsigned else p.shift_right_arithmetic
        high = shift(product, literal(width, wide_dtype))
        return convert_element_type(high, dtype=dtype)
    if dtypes.is_unsigned(dtype):
        return _upper_half(a, b, width)
    unsigned_dtype = dtypes.uint32 if width == 32 else dtypes.uint64
    high = _upper_half(
        bitcast_convert_type(a, dtype=unsigned_dtype),
        bitcast_convert_type(b, dtype=unsigned_dtype),
        width,
    )
    zero = literal(0, dtype)
    # a negative number is 2 ** n less than its bits, so the product counts the other operand once
    # too often
    correction = where(lt(a, zero), b, zero) + where(lt(b, zero), a, zero)
    return bitcast_convert_type(high, dtype=dtype) - correction


def _upper_half(x: Any, y: Any, width: int) -> Any:
    """The upper half of a product of unsigned numbers, from products of halves of their bits."""
    half_width = literal(width // 2, x.dtype)
    low_mask = literal((1 << width // 2) - 1, x.dtype)

    def parts(v: Any) -> tuple[Any, Any]:
        return p.shift_right_logical(v, half_width), p.bitwise_and(v, low_mask)

    (a, b), (c, d) = parts(x), parts(y)
    carry_low, _ = parts(b * d)
    cross = a * d + carry_low
    cross_high, cross_low = parts(cross)
    carry_high, _ = parts(b * c + cross_low)
    return a * c + cross_high + carry_high
