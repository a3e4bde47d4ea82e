"""Exponentials and logarithms: exp, exp2, expm1, log, log1p, logistic, and pow.

Nothing is promoted."""

from ..core.array import Array
from ..primitives import exponential
from ..typing import ArrayLike
from .accuracy import AccuracyMode, check_accuracy
from .arithmetic import integer_pow
from .operands import powers

__all__ = ["exp", "exp2", "expm1", "log", "log1p", "logistic", "pow"]


def exp(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """e to the power x.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.exp(0.0).item()
      1.0
    Source: StableHLO `exponential`.
    """
    if accuracy is not None:
        check_accuracy("exp", accuracy)
    return exponential.exp(x)


def exp2(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """2 to the power x.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.exp2(3.0).item()
      8.0
    Source: StableHLO `power`.
    """
    if accuracy is not None:
        check_accuracy("exp2", accuracy)
    return exponential.exp2(x)


def expm1(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """exp(x) - 1, accurate near 0.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.expm1(0.0).item()
      0.0
    Source: StableHLO `exponential_minus_one`.
    """
    if accuracy is not None:
        check_accuracy("expm1", accuracy)
    return exponential.expm1(x)


def log(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Natural logarithms.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.log(1.0).item()
      0.0
    Source: StableHLO `log`.
    """
    if accuracy is not None:
        check_accuracy("log", accuracy)
    return exponential.log(x)


def log1p(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """log(1 + x), accurate near 0.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.log1p(0.0).item()
      0.0
    Source: StableHLO `log_plus_one`.
    """
    if accuracy is not None:
        check_accuracy("log1p", accuracy)
    return exponential.log1p(x)


def logistic(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """1 / (1 + exp(-x)), also called sigmoid.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.logistic(0.0).item()
      0.5
    Source: StableHLO `logistic`.
    """
    if accuracy is not None:
        check_accuracy("logistic", accuracy)
    return exponential.logistic(x)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power y, elementwise.

    Args:
      x: array of a float or complex dtype.
      y: array of that dtype, or of an integer dtype; of x's shape, or one of them a scalar. A
        Python int is a constant power.
    Returns: array of the operands' shape and x's dtype.
    Raises: TypeError: shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.pow(2.0, 3.0).item(), lax.pow(2.0, 3).item()
      (8.0, 8.0)
    Source: StableHLO `power`.
    """
    if type(y) is int:
        return integer_pow(x, y)
    return exponential.pow_(*powers("pow", x, y))
