"""Exponentials, logarithms, powers, trigonometry. Nothing is promoted."""

from .. import dtypes
from ..core.array import Array, literal
from ..primitives import structural, transcendental as p
from ..primitives.arithmetic import div, mul, sqrt
from ..typing import ArrayLike
from .accuracy import AccuracyMode, check_accuracy
from .arithmetic import integer_pow
from .operands import powers, same_type

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "logistic",
    "pow",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def exp(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """e to the power x.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.exp(0.0).item()
      1.0
    Source: StableHLO `exponential`.
    """
    if accuracy is not None:
        check_accuracy("exp", accuracy)
    return p.exp(x)


def exp2(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """2 to the power x.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.exp2(3.0).item()
      8.0
    Source: StableHLO `power`.
    """
    if accuracy is not None:
        check_accuracy("exp2", accuracy)
    return p.exp2(x)


def expm1(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """exp(x) - 1, exact near 0.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.expm1(0.0).item()
      0.0
    Source: StableHLO `exponential_minus_one`.
    """
    if accuracy is not None:
        check_accuracy("expm1", accuracy)
    return p.expm1(x)


def log(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Natural logarithms.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.log(1.0).item()
      0.0
    Source: StableHLO `log`.
    """
    if accuracy is not None:
        check_accuracy("log", accuracy)
    return p.log(x)


def log1p(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """log(1 + x), exact near 0.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.log1p(0.0).item()
      0.0
    Source: StableHLO `log_plus_one`.
    """
    if accuracy is not None:
        check_accuracy("log1p", accuracy)
    return p.log1p(x)


def logistic(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """1 / (1 + exp(-x)), also called sigmoid.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.logistic(0.0).item()
      0.5
    Source: StableHLO `logistic`.
    """
    if accuracy is not None:
        check_accuracy("logistic", accuracy)
    return p.logistic(x)


def tanh(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Hyperbolic tangents.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.tanh(0.0).item()
      0.0
    Source: StableHLO `tanh`.
    """
    if accuracy is not None:
        check_accuracy("tanh", accuracy)
    return p.tanh(x)


def sinh(x: ArrayLike) -> Array:
    """Hyperbolic sines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.sinh(0.0).item()
      0.0
    Source: CHLO `sinh`.
    """
    return p.sinh(x)


def cosh(x: ArrayLike) -> Array:
    """Hyperbolic cosines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.cosh(0.0).item()
      1.0
    Source: CHLO `cosh`.
    """
    return p.cosh(x)


def asinh(x: ArrayLike) -> Array:
    """Inverse hyperbolic sines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.asinh(0.0).item()
      0.0
    Source: CHLO `asinh`.
    """
    return p.asinh(x)


def acosh(x: ArrayLike) -> Array:
    """Inverse hyperbolic cosines, at least 0.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.acosh(1.0).item()
      0.0
    Source: CHLO `acosh`.
    """
    return p.acosh(x)


def atanh(x: ArrayLike) -> Array:
    """Inverse hyperbolic tangents.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.atanh(0.0).item()
      0.0
    Source: CHLO `atanh`.
    """
    return p.atanh(x)


def sin(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Sines.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.sin(0.0).item()
      0.0
    Source: StableHLO `sine`.
    """
    if accuracy is not None:
        check_accuracy("sin", accuracy)
    return p.sin(x)


def cos(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Cosines.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.cos(0.0).item()
      1.0
    Source: StableHLO `cosine`.
    """
    if accuracy is not None:
        check_accuracy("cos", accuracy)
    return p.cos(x)


def tan(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Tangents.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype. NotImplementedError: `accuracy`.
    Example:
      >>> from weft import lax
      >>> lax.tan(0.0).item()
      0.0
    Source: StableHLO `tan`.
    """
    if accuracy is not None:
        check_accuracy("tan", accuracy)
    return p.tan(x)


def asin(x: ArrayLike) -> Array:
    """Inverse sines, in [-π/2, π/2].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.asin(0.0).item()
      0.0
    Source: CHLO `asin`.
    """
    return p.asin(x)


def acos(x: ArrayLike) -> Array:
    """Inverse cosines, in [0, π].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.acos(1.0).item()
      0.0
    Source: CHLO `acos`.
    """
    return p.acos(x)


def atan(x: ArrayLike) -> Array:
    """Inverse tangents, in [-π/2, π/2].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: another dtype.
    Example:
      >>> from weft import lax
      >>> lax.atan(0.0).item()
      0.0
    Source: CHLO `atan`.
    """
    return p.atan(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angles of the points (y, x), in [-π, π]: inverse tangents of x / y, in all quadrants.

    Args:
      x, y: arrays of one dtype, a float or complex one, and of one shape; or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: other dtypes, or dtypes or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.atan2(0.0, 1.0).item()
      0.0
    Source: StableHLO `atan2`.
    """
    y_axis, x_axis = same_type("atan2", ("x", "y"), x, y)
    if not dtypes.is_complex(y_axis.dtype):
        return p.atan2(y_axis, x_axis)
    # the angle of x + iy for complex x and y: -i log((x + iy) / sqrt(x² + y²))
    turned = structural.add(x_axis, mul(y_axis, literal(1j, y_axis.dtype)))
    size = sqrt(structural.add(mul(x_axis, x_axis), mul(y_axis, y_axis)))
    return mul(p.log(div(turned, size)), literal(-1j, y_axis.dtype))


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """x to the power y, elementwise.

    Args:
      x: array of a float or complex dtype.
      y: array of that dtype, or of an integer dtype; of x's shape, or one of them a scalar. A
        Python int is a constant power.
    Returns: array of the operands' shape and x's dtype.
    Raises: TypeError: other dtypes, or shapes that differ.
    Example:
      >>> from weft import lax
      >>> lax.pow(2.0, 3.0).item(), lax.pow(2.0, 3).item()
      (8.0, 8.0)
    Source: StableHLO `power`.
    """
    if type(y) is int:
        return integer_pow(x, y)
    return p.pow_(*powers("pow", x, y))
