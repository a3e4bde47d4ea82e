"""Operations on bits. Nothing is promoted."""

from ..core.array import Array
from ..primitives import bitwise as p
from ..typing import ArrayLike
from .operands import same_type

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "population_count",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that both operands have.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_and(6, 3).item()
      2
    Source: StableHLO `and`.
    """
    return p.bitwise_and(*same_type("bitwise_and", ("x", "y"), x, y))  # type: ignore[no-any-return]


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that either operand has.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_or(6, 3).item()
      7
    Source: StableHLO `or`.
    """
    return p.bitwise_or(*same_type("bitwise_or", ("x", "y"), x, y))  # type: ignore[no-any-return]


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits that one operand has and the other hasn't.

    Args:
      x, y: arrays of one dtype, a boolean or integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_xor(6, 3).item()
      5
    Source: StableHLO `xor`.
    """
    return p.bitwise_xor(*same_type("bitwise_xor", ("x", "y"), x, y))  # type: ignore[no-any-return]


def bitwise_not(x: ArrayLike) -> Array:
    """Each bit turned; `not` of booleans.

    Args:
      x: array of a boolean or integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.bitwise_not(6).item()
      -7
    Source: StableHLO `not`.
    """
    return p.bitwise_not(x)  # type: ignore[no-any-return]


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits moved up by y places; 0 if y is negative or not less than the width.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.shift_left(3, 2).item()
      12
    Source: StableHLO `shift_left`.
    """
    return p.shift_left(*same_type("shift_left", ("x", "y"), x, y))  # type: ignore[no-any-return]


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits moved down by y places; the sign comes in. Amounts out of range leave the sign alone.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.shift_right_arithmetic(-8, 1).item()
      -4
    Source: StableHLO `shift_right_arithmetic`.
    """
    return p.shift_right_arithmetic(*same_type("shift_right_arithmetic", ("x", "y"), x, y))  # type: ignore[no-any-return]


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Bits moved down by y places; zeros come in. 0 if y is negative or not less than the width.

    Args:
      x, y: arrays of one dtype, an integer dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.shift_right_logical(8, 1).item()
      4
    Source: StableHLO `shift_right_logical`.
    """
    return p.shift_right_logical(*same_type("shift_right_logical", ("x", "y"), x, y))  # type: ignore[no-any-return]


def population_count(x: ArrayLike) -> Array:
    """The number of bits of each element that are one.

    Args:
      x: array of an integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.population_count(7).item()
      3
    Source: StableHLO `popcnt`.
    """
    return p.population_count(x)  # type: ignore[no-any-return]


def clz(x: ArrayLike) -> Array:
    """The number of leading zero bits of each element.

    Args:
      x: array of an integer dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.clz(1).item()
      31
    Source: StableHLO `count_leading_zeros`.
    """
    return p.clz(x)  # type: ignore[no-any-return]
