"""Logical operations (logical_and, logical_or, logical_xor, logical_not) and tests of elements and
types: isnan, isinf, isfinite, isposinf, isneginf, iscomplex, isreal, iscomplexobj, isrealobj,
isscalar."""

import math
from typing import Any

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.value import Value
from ..errors import ShapeError
from ..extended_dtypes import is_extended
from ..primitives import arithmetic, bitwise, comparison, complex_numbers, creation
from ..typing import ArrayLike
from .makers import binary, binary_docstring, unary_docstring
from .plans import composite
from .promotion import SCALARS, check_ranks, known_aval, no_out, noted, value
from .reductions import truth
from .rounding import is_integral
from .ufunc_attributes import of_two
from .ufunc_options import takes_options

__all__ = [
    "iscomplex",
    "iscomplexobj",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]


# --- logic ---


def _logical(name: str, primitive: Any, summary: str, result: str) -> Any:
    combine = binary(primitive, name)

    def function(x1: Any, x2: Any, /) -> Any:
        flags = truth(name, x1, "x1"), truth(name, x2, "x2")
        if thread.numpy_rank_promotion != "allow":
            check_ranks(name, *flags)
        return combine(*flags)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = binary_docstring(
        summary, f"np.{name}(np.array([True, False]), True)", result
    )
    return takes_options(function)


logical_and = of_two(
    _logical(
        "logical_and",
        bitwise.bitwise_and,
        "Logical and: True where both elements are true (not zero).",
        "Array([ True, False], dtype=bool)",
    ),
    identity=True,
)
logical_or = of_two(
    _logical(
        "logical_or",
        bitwise.bitwise_or,
        "Logical or: True where an element is true (not zero).",
        "Array([ True,  True], dtype=bool)",
    ),
    identity=False,
)
logical_xor = of_two(
    _logical(
        "logical_xor",
        bitwise.bitwise_xor,
        "Logical exclusive or: True where exactly one element is true.",
        "Array([False,  True], dtype=bool)",
    ),
    identity=False,
)


@takes_options
def logical_not(x: ArrayLike, /) -> Array:
    """Logical not: True where an element is false (zero).

    Args:
      x: array of any shape.
    Returns: boolean array of the shape of `x`.
    Example:
      >>> np.logical_not(np.array([0, 2]))
      Array([ True, False], dtype=bool)
    """
    return bitwise.bitwise_not(truth("logical_not", x, "x"))


# --- tests of elements ---

_DTYPE_NOTE = "it may be of any dtype."


def _constant_flags(x: Any, flag: bool = False) -> Any:
    return creation.full(x.aval.update(dtype=dtypes.bool_, weak_type=False), flag)


@composite
def _isnan(x: Any) -> Any:
    return _constant_flags(x) if is_extended(x.dtype) or is_integral(x) else comparison.ne(x, x)


@composite
def _isinf(x: Any) -> Any:
    if is_integral(x):
        return _constant_flags(x)
    if dtypes.is_complex(x.aval.dtype):
        return _isinf(complex_numbers.real(x)) | _isinf(complex_numbers.imag(x))
    return comparison.eq(arithmetic.abs_(x), literal(math.inf, x.aval.dtype))


@composite
def _isfinite(x: Any) -> Any:
    if is_integral(x):
        return _constant_flags(x, True)
    if dtypes.is_complex(x.aval.dtype):
        return _isfinite(complex_numbers.real(x)) & _isfinite(complex_numbers.imag(x))
    return arithmetic.is_finite(x)


@takes_options
def isnan(x: ArrayLike, /) -> Array:
    return _isnan(value("isnan", x))


@takes_options
def isinf(x: ArrayLike, /) -> Array:
    return _isinf(value("isinf", x))


@takes_options
def isfinite(x: ArrayLike, /) -> Array:
    return _isfinite(value("isfinite", x))


_SAMPLE = "np.array([1.0, np.nan, -np.inf, np.inf])"
isnan.__doc__ = unary_docstring(
    "True where elements are NaN.",
    f"np.isnan({_SAMPLE})",
    "Array([False,  True, False, False], dtype=bool)",
    note=_DTYPE_NOTE,
)
isinf.__doc__ = unary_docstring(
    "True where elements are infinite.",
    f"np.isinf({_SAMPLE})",
    "Array([False, False,  True,  True], dtype=bool)",
    note=_DTYPE_NOTE,
)
isfinite.__doc__ = unary_docstring(
    "True where elements are finite: neither infinite nor NaN.",
    f"np.isfinite({_SAMPLE})",
    "Array([ True, False, False, False], dtype=bool)",
    note=_DTYPE_NOTE,
)


def _is_infinity(name: str, x: Any, infinity: float) -> Any:
    x = value(name, x)
    if dtypes.is_complex(x.dtype):
        raise noted(ShapeError(f"{name}: expected a real operand; got {x.aval}"))
    return _constant_flags(x) if is_integral(x) else comparison.eq(x, literal(infinity, x.dtype))


def isposinf(x: ArrayLike, out: None = None) -> Array:
    no_out("isposinf", out)
    return _is_infinity("isposinf", x, math.inf)


def isneginf(x: ArrayLike, out: None = None) -> Array:
    no_out("isneginf", out)
    return _is_infinity("isneginf", x, -math.inf)


isposinf.__doc__ = unary_docstring(
    "True where elements are positive infinity.",
    f"np.isposinf({_SAMPLE})",
    "Array([False, False, False,  True], dtype=bool)",
    note=_DTYPE_NOTE,
)
isneginf.__doc__ = unary_docstring(
    "True where elements are negative infinity.",
    f"np.isneginf({_SAMPLE})",
    "Array([False, False,  True, False], dtype=bool)",
    note=_DTYPE_NOTE,
)


def iscomplex(x: ArrayLike) -> Array:
    """True where the imaginary part is not zero.

    Example:
      >>> np.iscomplex(np.array([1 + 1j, 1 + 0j]))
      Array([ True, False], dtype=bool)
    """
    v = value("iscomplex", x)
    if not dtypes.is_complex(v.dtype):
        return _constant_flags(v)
    imag = complex_numbers.imag(v)
    return comparison.ne(imag, literal(0.0, imag.dtype))


def isreal(x: ArrayLike) -> Array:
    """True where the imaginary part is zero.

    Example:
      >>> np.isreal(np.array([1 + 1j, 1 + 0j]))
      Array([False,  True], dtype=bool)
    """
    return bitwise.bitwise_not(iscomplex(x))


def iscomplexobj(x: Any) -> bool:
    """True if the dtype is complex.

    Example:
      >>> np.iscomplexobj(np.array([1j])), np.iscomplexobj(1.0)
      (True, False)
    """
    if x is None or isinstance(x, type):  # a dtype, such as complex64, is not a number
        return False
    return dtypes.is_complex(known_aval("iscomplexobj", x, "x").dtype)


def isrealobj(x: Any) -> bool:
    """True if the dtype is not complex.

    Example:
      >>> np.isrealobj(np.array([1j])), np.isrealobj(1.0)
      (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """True for a number, and for an array without axes.

    Example:
      >>> np.isscalar(1.0), np.isscalar(np.array([1.0]))
      (True, False)
    """
    if isinstance(element, Value):
        return element.ndim == 0
    if isinstance(element, (str, bytes)):
        return True
    return element.__class__ in SCALARS or (
        hasattr(element, "dtype") and getattr(element, "ndim", 1) == 0
    )
