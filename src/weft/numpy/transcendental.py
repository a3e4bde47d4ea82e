"""Exponentials, logarithms, trigonometry and hyperbolic functions, elementwise."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import (
    arithmetic,
    comparison,
    complex_numbers,
    selection,
    special,
    structural,
    transcendental as t,
)
from ..typing import ArrayLike
from .elementwise import EVEN, imag, multiply, one, real, two
from .makers import binary, derived, unary
from .plans import composite
from .promotion import inexact, noted, value
from .ufunc_attributes import of_two
from .ufunc_options import takes_options

__all__ = [
    "acos",
    "acosh",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "i0",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "rad2deg",
    "radians",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]

# --- exponentials and logarithms ---

_ZERO = "np.zeros(2)"
_ZEROS, _ONES = "Array([0., 0.], dtype=float32)", "Array([1., 1.], dtype=float32)"

exp = unary(t.exp, "exp", one("e to the power x.", f"np.exp({_ZERO})", _ONES), to_inexact=True)
exp2 = unary(t.exp2, "exp2", one("2 to the power x.", f"np.exp2({_ZERO})", _ONES), to_inexact=True)
expm1 = unary(t.expm1, "expm1", one(
    "exp(x) - 1, exact for small x.", f"np.expm1({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
log = unary(t.log, "log", one(
    "Natural logarithm.", "np.log(np.ones(2))", _ZEROS), to_inexact=True)  # fmt: skip
log1p = unary(t.log1p, "log1p", one(
    "log(1 + x), exact for small x.", f"np.log1p({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip


_log2 = unary(t.log2, "log2", to_inexact=True)
_log10 = unary(t.log10, "log10", to_inexact=True)


def _is_complex(x: Any) -> bool:
    return x.__class__ is complex or getattr(getattr(x, "dtype", None), "kind", None) == "c"


@composite
def _complex_log(x: Any, *, base: float) -> Any:
    log = t.log(x)
    scale = literal(math.log(base), dtypes.real_of(x.aval.dtype))
    # part by part: a complex division of an infinite logarithm would give NaN
    return complex_numbers.complex_(
        arithmetic.div(complex_numbers.real(log), scale),
        arithmetic.div(complex_numbers.imag(log), scale),
    )


@takes_options
def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2; that of a power of 2 is exact.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.log2(np.array([1.0, 8.0]))
      Array([0., 3.], dtype=float32)
    """
    return _complex_log(value("log2", x), base=2.0) if _is_complex(x) else _log2(x)


@takes_options
def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10; that of a power of 10 is exact.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.log10(np.array([1.0, 100.0]))
      Array([0., 2.], dtype=float32)
    """
    return _complex_log(value("log10", x), base=10.0) if _is_complex(x) else _log10(x)


def _logaddexp(x: Any, y: Any) -> Any:
    if dtypes.is_complex(x.aval.dtype):
        return _complex_logaddexp(x, y)
    return t.logaddexp(x, y)


def _complex_logaddexp(x: Any, y: Any) -> Any:
    larger = comparison.gt(complex_numbers.real(x), complex_numbers.real(y))
    large, small = selection.select_n(larger, y, x), selection.select_n(larger, x, y)
    result = structural.add(large, t.log1p(t.exp(arithmetic.sub(small, large))))
    turns = complex_numbers.imag(result)
    turns = turns - (2 * math.pi) * arithmetic.round_(
        turns / literal(2 * math.pi, turns.aval.dtype), rounding_method=EVEN
    )
    return complex_numbers.complex_(complex_numbers.real(result), turns)


logaddexp = of_two(derived(_logaddexp, "logaddexp", two(
    "log(exp(x1) + exp(x2)), without overflow.", "np.logaddexp(np.array([1000.0]), 1000.0)",
    "Array([1000.6932], dtype=float32)"), to_inexact=True), identity=-math.inf)  # fmt: skip


def _logaddexp2(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    scale = literal(math.log(2), dtype)
    return arithmetic.div(_logaddexp(arithmetic.mul(x, scale), arithmetic.mul(y, scale)), scale)


logaddexp2 = of_two(derived(_logaddexp2, "logaddexp2", two(
    "log2(2 ** x1 + 2 ** x2), without overflow.", "np.logaddexp2(np.array([3.0]), 3.0)",
    "Array([4.], dtype=float32)"), to_inexact=True), identity=-math.inf)  # fmt: skip

# --- trigonometry ---

sin = unary(t.sin, "sin", one("Sine.", f"np.sin({_ZERO})", _ZEROS), to_inexact=True)
cos = unary(t.cos, "cos", one("Cosine.", f"np.cos({_ZERO})", _ONES), to_inexact=True)
tan = unary(t.tan, "tan", one("Tangent.", f"np.tan({_ZERO})", _ZEROS), to_inexact=True)
arcsin = asin = unary(t.asin, "arcsin", one(
    "Inverse of sin, -π/2 to π/2.", f"np.arcsin({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
arccos = acos = unary(t.acos, "arccos", one(
    "Inverse of cos, from 0 to π.", "np.arccos(np.ones(2))", _ZEROS), to_inexact=True)  # fmt: skip
arctan = atan = unary(t.atan, "arctan", one(
    "Inverse of tan, -π/2 to π/2.", f"np.arctan({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
sinh = unary(t.sinh, "sinh", one(
    "Hyperbolic sine.", f"np.sinh({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
cosh = unary(t.cosh, "cosh", one(
    "Hyperbolic cosine.", f"np.cosh({_ZERO})", _ONES), to_inexact=True)  # fmt: skip
tanh = unary(t.tanh, "tanh", one(
    "Hyperbolic tangent.", f"np.tanh({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
arcsinh = asinh = unary(t.asinh, "arcsinh", one(
    "Inverse of sinh.", f"np.arcsinh({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
arccosh = acosh = unary(t.acosh, "arccosh", one(
    "Inverse of cosh, at least 0.", "np.arccosh(np.ones(2))", _ZEROS), to_inexact=True)  # fmt: skip
arctanh = atanh = unary(t.atanh, "arctanh", one(
    "Inverse of tanh.", f"np.arctanh({_ZERO})", _ZEROS), to_inexact=True)  # fmt: skip
arctan2 = atan2 = binary(t.atan2, "arctan2", two(
    "The angle of the point (x2, x1), from -π to π.", "np.arctan2(np.zeros(2), 1.0)", _ZEROS),
    to_inexact=True)  # fmt: skip


@takes_options
def deg2rad(x: ArrayLike, /) -> Array:
    """Degrees to radians.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.deg2rad(np.array([0.0, 180.0]))
      Array([0.       , 3.1415927], dtype=float32)
    """
    return multiply(inexact("deg2rad", x), math.pi / 180)


@takes_options
def rad2deg(x: ArrayLike, /) -> Array:
    """Radians to degrees.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.rad2deg(np.array([0.0, np.pi]))
      Array([  0., 180.], dtype=float32)
    """
    return multiply(inexact("rad2deg", x), 180 / math.pi)


radians, degrees = deg2rad, rad2deg


@composite
def _sinc(x: Any) -> Any:
    dtype = x.aval.dtype
    angle = arithmetic.mul(x, literal(math.pi, dtype))
    size = arithmetic.abs_(angle)
    limit = 0.1 if dtypes.real_of(dtype) != dtypes.float64 else 1e-2
    small = comparison.lt(size, literal(limit, size.aval.dtype))
    safe = selection.select_n(small, angle, literal(1.0, dtype))
    if dtypes.is_complex(dtype):
        sine = t.sin(safe)
    else:  # of what x has beyond a whole number: π times that is exact near the zeros
        whole = arithmetic.round_(x, rounding_method=EVEN)
        odd = whole - 2 * arithmetic.floor(whole * 0.5)
        sine = t.sin((x - whole) * math.pi) * (1 - 2 * odd)
    # near 0 a polynomial, whose derivatives are right too
    near = selection.select_n(small, literal(0.0, dtype), angle)
    z = arithmetic.mul(near, near)
    series = 1 - z / 6 * (1 - z / 20 * (1 - z / 42))
    return selection.select_n(small, arithmetic.div(sine, safe), series)


def sinc(x: ArrayLike) -> Array:
    """sin(πx) / (πx), and 1 at 0.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.sinc(np.array([0.0, 0.5]))
      Array([1.        , 0.63661975], dtype=float32)
    """
    return _sinc(inexact("sinc", x))


@composite
def _i0(x: Any) -> Any:
    dtype = x.aval.dtype
    size = arithmetic.abs_(x)
    small = comparison.lt(size, literal(0.5, dtype))
    far = arithmetic.mul(t.exp(size), special.bessel_i0e(size))
    # near 0 a polynomial: the derivative of the size has a step there
    near = selection.select_n(small, literal(0.0, dtype), x)
    z = arithmetic.mul(near, near)
    series = 1.0
    for k in range(8, 0, -1):
        series = 1 + z / (4 * k * k) * series
    return selection.select_n(small, far, series)


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind and order 0.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.i0(np.zeros(2))
      Array([1., 1.], dtype=float32)
    """
    v = inexact("i0", x)
    if dtypes.is_complex(v.aval.dtype):
        raise noted(ShapeError(f"i0: expected a real operand; got {v.aval}"))
    return _i0(v)


@located
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of complex numbers, from -π to π.

    Args:
      z: array of any shape; real numbers have the angle 0 or π.
      deg: in degrees.
    Returns: real array of the shape of `z`.
    Example:
      >>> np.angle(np.array([1j, -1.0]), deg=True)
      Array([ 90., 180.], dtype=float32)
    """
    z = inexact("angle", z)
    result = t.atan2(imag(z), real(z))
    return rad2deg(result) if deg else result
