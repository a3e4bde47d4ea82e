"""Trigonometric and hyperbolic functions, and their inverses: sin, cos, tan, asin, acos, atan,
atan2, sinh, cosh, tanh, asinh, acosh, atanh.

Nothing is promoted."""

from .. import dtypes
from ..core.array import Array, literal
from ..primitives import exponential, structural, trigonometric
from ..primitives.arithmetic import div, mul, sqrt
from ..typing import ArrayLike
from .accuracy import AccuracyMode, check_accuracy
from .operands import same_type

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
    "sin",
    "sinh",
    "tan",
    "tanh",
]


def tanh(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Hyperbolic tangents.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.tanh(0.0).item()
      0.0
    Source: StableHLO `tanh`.
    """
    if accuracy is not None:
        check_accuracy("tanh", accuracy)
    return trigonometric.tanh(x)


def sinh(x: ArrayLike) -> Array:
    """Hyperbolic sines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.sinh(0.0).item()
      0.0
    Source: CHLO `sinh`.
    """
    return trigonometric.sinh(x)


def cosh(x: ArrayLike) -> Array:
    """Hyperbolic cosines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.cosh(0.0).item()
      1.0
    Source: CHLO `cosh`.
    """
    return trigonometric.cosh(x)


def asinh(x: ArrayLike) -> Array:
    """Inverse hyperbolic sines.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.asinh(0.0).item()
      0.0
    Source: CHLO `asinh`.
    """
    return trigonometric.asinh(x)


def acosh(x: ArrayLike) -> Array:
    """Inverse hyperbolic cosines, at least 0.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.acosh(1.0).item()
      0.0
    Source: CHLO `acosh`.
    """
    return trigonometric.acosh(x)


def atanh(x: ArrayLike) -> Array:
    """Inverse hyperbolic tangents.

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.atanh(0.0).item()
      0.0
    Source: CHLO `atanh`.
    """
    return trigonometric.atanh(x)


def sin(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Sines.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.sin(0.0).item()
      0.0
    Source: StableHLO `sine`.
    """
    if accuracy is not None:
        check_accuracy("sin", accuracy)
    return trigonometric.sin(x)


def cos(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Cosines.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.cos(0.0).item()
      1.0
    Source: StableHLO `cosine`.
    """
    if accuracy is not None:
        check_accuracy("cos", accuracy)
    return trigonometric.cos(x)


def tan(x: ArrayLike, *, accuracy: AccuracyMode | None = None) -> Array:
    """Tangents.

    Args:
      x: array of a float or complex dtype.
      accuracy: `None` or an `AccuracyMode`; others are refused.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype. NotImplementedError: `accuracy` is set.
    Example:
      >>> from weft import lax
      >>> lax.tan(0.0).item()
      0.0
    Source: StableHLO `tan`.
    """
    if accuracy is not None:
        check_accuracy("tan", accuracy)
    return trigonometric.tan(x)


def asin(x: ArrayLike) -> Array:
    """Inverse sines, in [-π/2, π/2].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.asin(0.0).item()
      0.0
    Source: CHLO `asin`.
    """
    return trigonometric.asin(x)


def acos(x: ArrayLike) -> Array:
    """Inverse cosines, in [0, π].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.acos(1.0).item()
      0.0
    Source: CHLO `acos`.
    """
    return trigonometric.acos(x)


def atan(x: ArrayLike) -> Array:
    """Inverse tangents, in [-π/2, π/2].

    Args:
      x: array of a float or complex dtype.
    Returns: array of x's shape and dtype.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.atan(0.0).item()
      0.0
    Source: CHLO `atan`.
    """
    return trigonometric.atan(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angles of the points (y, x), in [-π, π]: inverse tangents of x / y, in all quadrants.

    Args:
      x, y: arrays of one dtype, a float or complex one, and of one shape; or one of them a scalar.
    Returns: array of the operands' shape and dtype.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.atan2(0.0, 1.0).item()
      0.0
    Source: StableHLO `atan2`.
    """
    y_axis, x_axis = same_type("atan2", ("x", "y"), x, y)
    if not dtypes.is_complex(y_axis.dtype):
        return trigonometric.atan2(y_axis, x_axis)
    # the angle of x + iy for complex x and y: -i log((x + iy) / sqrt(x² + y²))
    point = structural.add(x_axis, mul(y_axis, literal(1j, y_axis.dtype)))
    radius = sqrt(structural.add(mul(x_axis, x_axis), mul(y_axis, y_axis)))
    return mul(exponential.log(div(point, radius)), literal(-1j, y_axis.dtype))
