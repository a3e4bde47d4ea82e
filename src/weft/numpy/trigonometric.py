"""Trigonometric and hyperbolic functions, element by element.

sin, cos, tan, arcsin, arccos, arctan, arctan2, sinh, cosh, tanh, arcsinh, arccosh, arctanh; hypot;
deg2rad and rad2deg.
"""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..errors import ShapeError
from ..primitives import arithmetic, comparison, selection, trigonometric as t
from ..typing import ArrayLike
from .arithmetic import multiply
from .makers import binary, binary_docstring, unary, unary_docstring
from .plans import composite
from .promotion import as_inexact, check_ranks, noted, promote_values
from .ufunc_options import takes_options

__all__ = [
    "acos",
    "acosh",
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
    "hypot",
    "rad2deg",
    "radians",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


_ZERO = "np.zeros(2)"
_ZEROS, _ONES = "Array([0., 0.], dtype=float32)", "Array([1., 1.], dtype=float32)"

sin = unary(t.sin, "sin", unary_docstring("Sine.", f"np.sin({_ZERO})", _ZEROS), to_inexact=True)
cos = unary(t.cos, "cos", unary_docstring("Cosine.", f"np.cos({_ZERO})", _ONES), to_inexact=True)
tan = unary(t.tan, "tan", unary_docstring("Tangent.", f"np.tan({_ZERO})", _ZEROS), to_inexact=True)
arcsin = asin = unary(
    t.asin,
    "arcsin",
    unary_docstring("Inverse sine, from -π/2 to π/2.", f"np.arcsin({_ZERO})", _ZEROS),
    to_inexact=True,
)
arccos = acos = unary(
    t.acos,
    "arccos",
    unary_docstring("Inverse cosine, from 0 to π.", "np.arccos(np.ones(2))", _ZEROS),
    to_inexact=True,
)
arctan = atan = unary(
    t.atan,
    "arctan",
    unary_docstring("Inverse tangent, from -π/2 to π/2.", f"np.arctan({_ZERO})", _ZEROS),
    to_inexact=True,
)
sinh = unary(
    t.sinh,
    "sinh",
    unary_docstring("Hyperbolic sine.", f"np.sinh({_ZERO})", _ZEROS),
    to_inexact=True,
)
cosh = unary(
    t.cosh,
    "cosh",
    unary_docstring("Hyperbolic cosine.", f"np.cosh({_ZERO})", _ONES),
    to_inexact=True,
)
tanh = unary(
    t.tanh,
    "tanh",
    unary_docstring("Hyperbolic tangent.", f"np.tanh({_ZERO})", _ZEROS),
    to_inexact=True,
)
arcsinh = asinh = unary(
    t.asinh,
    "arcsinh",
    unary_docstring("Inverse hyperbolic sine.", f"np.arcsinh({_ZERO})", _ZEROS),
    to_inexact=True,
)
arccosh = acosh = unary(
    t.acosh,
    "arccosh",
    unary_docstring("Inverse hyperbolic cosine, at least 0.", "np.arccosh(np.ones(2))", _ZEROS),
    to_inexact=True,
)
arctanh = atanh = unary(
    t.atanh,
    "arctanh",
    unary_docstring("Inverse hyperbolic tangent.", f"np.arctanh({_ZERO})", _ZEROS),
    to_inexact=True,
)
arctan2 = atan2 = binary(
    t.atan2,
    "arctan2",
    binary_docstring(
        "Angle of the point (x2, x1) from the x-axis, from -π to π.",
        "np.arctan2(np.zeros(2), 1.0)",
        _ZEROS,
    ),
    to_inexact=True,
)


@takes_options
def deg2rad(x: ArrayLike, /) -> Array:
    """Converts degrees to radians.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.deg2rad(np.array([0.0, 180.0]))
      Array([0.       , 3.1415927], dtype=float32)
    """
    return multiply(as_inexact("deg2rad", x), math.pi / 180)


@takes_options
def rad2deg(x: ArrayLike, /) -> Array:
    """Converts radians to degrees.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.rad2deg(np.array([0.0, np.pi]))
      Array([  0., 180.], dtype=float32)
    """
    return multiply(as_inexact("rad2deg", x), 180 / math.pi)


radians, degrees = deg2rad, rad2deg


@composite
def _hypot(x: Any, y: Any) -> Any:
    x, y = arithmetic.abs_(x), arithmetic.abs_(y)
    larger_leg, smaller_leg = arithmetic.max_(x, y), arithmetic.min_(x, y)
    zero, infinity = literal(0.0, x.aval.dtype), literal(math.inf, x.aval.dtype)
    is_zero = comparison.eq(larger_leg, zero)
    ratio = arithmetic.div(
        smaller_leg, selection.select_n(is_zero, larger_leg, literal(1.0, x.aval.dtype))
    )
    length = larger_leg * arithmetic.sqrt(1 + ratio * ratio)
    length = selection.select_n(is_zero, length, larger_leg)
    for leg in (x, y):  # infinite even if the other one is NaN (IEEE 754-2019, 9.2.1)
        length = selection.select_n(comparison.eq(leg, infinity), length, leg)
    return length


@takes_options
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Length of the vector (x1, x2), without intermediate overflow.

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
