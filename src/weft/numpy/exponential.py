"""Exponentials and logarithms, element by element: exp, exp2, expm1, log, log1p, log2, log10,
logaddexp, logaddexp2."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..primitives import (
    arithmetic,
    comparison,
    complex_numbers,
    exponential as t,
    selection,
    structural,
)
from ..typing import ArrayLike
from .arithmetic import EVEN
from .makers import binary_docstring, composite_binary, unary, unary_docstring
from .plans import composite
from .promotion import value
from .ufunc_attributes import of_two
from .ufunc_options import takes_options

__all__ = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2"]


_ZERO = "np.zeros(2)"
_ZEROS, _ONES = "Array([0., 0.], dtype=float32)", "Array([1., 1.], dtype=float32)"

exp = unary(
    t.exp,
    "exp",
    unary_docstring("Exponential, e to the power x.", f"np.exp({_ZERO})", _ONES),
    to_inexact=True,
)
exp2 = unary(
    t.exp2,
    "exp2",
    unary_docstring("2 to the power x.", f"np.exp2({_ZERO})", _ONES),
    to_inexact=True,
)
expm1 = unary(
    t.expm1,
    "expm1",
    unary_docstring("exp(x) - 1, accurate for small x.", f"np.expm1({_ZERO})", _ZEROS),
    to_inexact=True,
)
log = unary(
    t.log,
    "log",
    unary_docstring("Natural logarithm.", "np.log(np.ones(2))", _ZEROS),
    to_inexact=True,
)
log1p = unary(
    t.log1p,
    "log1p",
    unary_docstring("log(1 + x), accurate for small x.", f"np.log1p({_ZERO})", _ZEROS),
    to_inexact=True,
)


_log2 = unary(t.log2, "log2", to_inexact=True)
_log10 = unary(t.log10, "log10", to_inexact=True)


def _is_complex(x: Any) -> bool:
    return x.__class__ is complex or getattr(getattr(x, "dtype", None), "kind", None) == "c"


@composite
def _complex_log(x: Any, *, base: float) -> Any:
    log = t.log(x)
    scale = literal(math.log(base), dtypes.real_of(x.aval.dtype))
    # divides each part, because complex division of an infinite logarithm would give NaN
    return complex_numbers.complex_(
        arithmetic.div(complex_numbers.real(log), scale),
        arithmetic.div(complex_numbers.imag(log), scale),
    )


@takes_options
def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, exact for powers of 2.

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
    """Logarithm to base 10, exact for powers of 10.

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
    is_greater = comparison.gt(complex_numbers.real(x), complex_numbers.real(y))
    greater_operand, lesser_operand = (
        selection.select_n(is_greater, y, x),
        selection.select_n(is_greater, x, y),
    )
    result = structural.add(
        greater_operand, t.log1p(t.exp(arithmetic.sub(lesser_operand, greater_operand)))
    )
    phase = complex_numbers.imag(result)
    phase = phase - (2 * math.pi) * arithmetic.round_(
        phase / literal(2 * math.pi, phase.aval.dtype), rounding_method=EVEN
    )
    return complex_numbers.complex_(complex_numbers.real(result), phase)


logaddexp = of_two(
    composite_binary(
        _logaddexp,
        "logaddexp",
        binary_docstring(
            "log(exp(x1) + exp(x2)), without overflow.",
            "np.logaddexp(np.array([1000.0]), 1000.0)",
            "Array([1000.6932], dtype=float32)",
        ),
        to_inexact=True,
    ),
    identity=-math.inf,
)


def _logaddexp2(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    scale = literal(math.log(2), dtype)
    return arithmetic.div(_logaddexp(arithmetic.mul(x, scale), arithmetic.mul(y, scale)), scale)


logaddexp2 = of_two(
    composite_binary(
        _logaddexp2,
        "logaddexp2",
        binary_docstring(
            "log2(2 ** x1 + 2 ** x2), without overflow.",
            "np.logaddexp2(np.array([3.0]), 3.0)",
            "Array([4.], dtype=float32)",
        ),
        to_inexact=True,
    ),
    identity=-math.inf,
)
