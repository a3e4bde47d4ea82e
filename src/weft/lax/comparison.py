"""Elementwise comparisons: eq, ne, lt, le, gt, ge. Nothing is promoted."""

from ..core.array import Array
from ..primitives import comparison as p
from ..typing import ArrayLike
from .operands import same_type

__all__ = [
    "eq",
    "ge",
    "gt",
    "le",
    "lt",
    "ne",
]


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x == y, elementwise.

    Args:
      x, y: arrays of one dtype, any dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.eq(2, 3).item()
      False
    Source: StableHLO `compare`, EQ.
    """
    return p.eq(*same_type("eq", ("x", "y"), x, y))


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x != y, elementwise.

    Args:
      x, y: arrays of one dtype, any dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.ne(2, 3).item()
      True
    Source: StableHLO `compare`, NE.
    """
    return p.ne(*same_type("ne", ("x", "y"), x, y))


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x < y, elementwise.

    Args:
      x, y: arrays of one dtype, a boolean, integer or float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.lt(2, 3).item()
      True
    Source: StableHLO `compare`, LT.
    """
    return p.lt(*same_type("lt", ("x", "y"), x, y))


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x <= y, elementwise.

    Args:
      x, y: arrays of one dtype, a boolean, integer or float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.le(2, 3).item()
      True
    Source: StableHLO `compare`, LE.
    """
    return p.le(*same_type("le", ("x", "y"), x, y))


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x > y, elementwise.

    Args:
      x, y: arrays of one dtype, a boolean, integer or float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.gt(2, 3).item()
      False
    Source: StableHLO `compare`, GT.
    """
    return p.gt(*same_type("gt", ("x", "y"), x, y))


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """True where x >= y, elementwise.

    Args:
      x, y: arrays of one dtype, a boolean, integer or float dtype;
        of one shape, or one of them a scalar.
    Returns: array of the operands' shape, boolean.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.ge(2, 3).item()
      False
    Source: StableHLO `compare`, GE.
    """
    return p.ge(*same_type("ge", ("x", "y"), x, y))
