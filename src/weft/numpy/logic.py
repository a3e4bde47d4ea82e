"""Comparisons, logic, choices, and questions about numbers: isnan, isclose, where, ….

Knows which answers are booleans; knows nothing of reductions but `all`.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import arithmetic, bitwise, comparison, complex_numbers, selection, structural
from ..typing import ArrayLike
from .beyond import compared, is_beyond
from .creation import asarray
from .elementwise import one, two
from .makers import binary
from .plans import composite
from .promotion import SCALARS, check_ranks, known_aval, no_out, noted, promote_values, value
from .reductions import all, truth
from .rounding import is_whole
from .ufunc_attributes import of_two
from .ufunc_options import takes_options

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
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
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
]

# --- comparisons ---


def in_order(name: str, primitive: Any, strict: Any, doc: str, *, operator: bool = False) -> Any:
    """A comparison; complex numbers are compared by real part, then by imaginary part."""

    @composite
    def by_parts(x: Any, y: Any) -> Any:
        real, imag = complex_numbers.real, complex_numbers.imag
        level = comparison.eq(real(x), real(y))
        return strict(real(x), real(y)) | (level & primitive(imag(x), imag(y)))

    return binary(primitive, name, doc, operator=operator, of_complex=by_parts, beyond=compared)


_NOTE = " Complex numbers are ordered by real part, then imaginary part."
_PAIR = "np.arange(3), 1)"
EQUAL = two("True where x1 == x2.", f"np.equal({_PAIR}", "Array([False,  True, False], dtype=bool)")
NOT_EQUAL = two(
    "True where x1 != x2.", f"np.not_equal({_PAIR}", "Array([ True, False,  True], dtype=bool)"
)
GREATER = two(
    "True where x1 > x2.",
    f"np.greater({_PAIR}",
    "Array([False, False,  True], dtype=bool)",
    note=_NOTE,
)
GREATER_EQUAL = two(
    "True where x1 >= x2.",
    f"np.greater_equal({_PAIR}",
    "Array([False,  True,  True], dtype=bool)",
    note=_NOTE,
)
LESS = two(
    "True where x1 < x2.",
    f"np.less({_PAIR}",
    "Array([ True, False, False], dtype=bool)",
    note=_NOTE,
)
LESS_EQUAL = two(
    "True where x1 <= x2.",
    f"np.less_equal({_PAIR}",
    "Array([ True,  True, False], dtype=bool)",
    note=_NOTE,
)

equal = binary(comparison.eq, "equal", EQUAL, beyond=compared)
not_equal = binary(comparison.ne, "not_equal", NOT_EQUAL, beyond=compared)
greater = in_order("greater", comparison.gt, comparison.gt, GREATER)
greater_equal = in_order("greater_equal", comparison.ge, comparison.gt, GREATER_EQUAL)
less = in_order("less", comparison.lt, comparison.lt, LESS)
less_equal = in_order("less_equal", comparison.le, comparison.lt, LESS_EQUAL)

# --- logic ---


def _logical(name: str, primitive: Any, summary: str, result: str) -> Any:
    combine = binary(primitive, name)

    def function(x1: Any, x2: Any, /) -> Any:
        flags = truth(name, x1, "x1"), truth(name, x2, "x2")
        if thread.numpy_rank_promotion != "allow":
            check_ranks(name, *flags)
        return combine(*flags)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = two(summary, f"np.{name}(np.array([True, False]), True)", result)
    return takes_options(function)


logical_and = of_two(_logical("logical_and", bitwise.bitwise_and,
                              "True where both are true (not zero).",
                       "Array([ True, False], dtype=bool)"), identity=True)  # fmt: skip
logical_or = of_two(_logical("logical_or", bitwise.bitwise_or, "True where one is true (not zero).",
                      "Array([ True,  True], dtype=bool)"), identity=False)  # fmt: skip
logical_xor = of_two(_logical("logical_xor", bitwise.bitwise_xor,
                              "True where one of the two is true.",
                       "Array([False,  True], dtype=bool)"), identity=False)  # fmt: skip


@takes_options
def logical_not(x: ArrayLike, /) -> Array:
    """True where an element is false (zero).

    Args:
      x: array of any shape.
    Returns: boolean array of the shape of `x`.
    Example:
      >>> np.logical_not(np.array([0, 2]))
      Array([ True, False], dtype=bool)
    """
    return bitwise.bitwise_not(truth("logical_not", x, "x"))


# --- questions about numbers ---

_KIND = "it may be of any dtype."


def _never(x: Any, answer: bool = False) -> Any:
    return structural.full(x.aval.update(dtype=dtypes.bool_, weak_type=False), answer)


@composite
def _isnan(x: Any) -> Any:
    return _never(x) if is_whole(x) else comparison.ne(x, x)


@composite
def _isinf(x: Any) -> Any:
    if is_whole(x):
        return _never(x)
    if dtypes.is_complex(x.aval.dtype):
        return _isinf(complex_numbers.real(x)) | _isinf(complex_numbers.imag(x))
    return comparison.eq(arithmetic.abs_(x), literal(math.inf, x.aval.dtype))


@composite
def _isfinite(x: Any) -> Any:
    if is_whole(x):
        return _never(x, True)
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
isnan.__doc__ = one("True where it is NaN.", f"np.isnan({_SAMPLE})",
                    "Array([False,  True, False, False], dtype=bool)", note=_KIND)  # fmt: skip
isinf.__doc__ = one("True where it is infinite.", f"np.isinf({_SAMPLE})",
                    "Array([False, False,  True,  True], dtype=bool)", note=_KIND)  # fmt: skip
isfinite.__doc__ = one("True where it is neither infinite nor NaN.", f"np.isfinite({_SAMPLE})",
                       "Array([ True, False, False, False], dtype=bool)", note=_KIND)  # fmt: skip


def _is_infinity(name: str, x: Any, infinity: float) -> Any:
    x = value(name, x)
    if dtypes.is_complex(x.dtype):
        raise noted(ShapeError(f"{name}: expected a real operand; got {x.aval}"))
    return _never(x) if is_whole(x) else comparison.eq(x, literal(infinity, x.dtype))


def isposinf(x: ArrayLike, out: None = None) -> Array:
    no_out("isposinf", out)
    return _is_infinity("isposinf", x, math.inf)


def isneginf(x: ArrayLike, out: None = None) -> Array:
    no_out("isneginf", out)
    return _is_infinity("isneginf", x, -math.inf)


isposinf.__doc__ = one("True where it is inf.", f"np.isposinf({_SAMPLE})",
                       "Array([False, False, False,  True], dtype=bool)", note=_KIND)  # fmt: skip
isneginf.__doc__ = one("True where it is -inf.", f"np.isneginf({_SAMPLE})",
                       "Array([False, False,  True, False], dtype=bool)", note=_KIND)  # fmt: skip


def iscomplex(x: ArrayLike) -> Array:
    """True where the imaginary part isn't zero.

    Example:
      >>> np.iscomplex(np.array([1 + 1j, 1 + 0j]))
      Array([ True, False], dtype=bool)
    """
    v = value("iscomplex", x)
    if not dtypes.is_complex(v.dtype):
        return _never(v)
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
    if x is None or isinstance(x, type):  # a dtype is no complex number, not complex64 either
        return False
    return dtypes.is_complex(known_aval("iscomplexobj", x, "x").dtype)


def isrealobj(x: Any) -> bool:
    """True if the dtype isn't complex.

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


# --- equality of arrays ---


@composite
def _isclose(x: Any, y: Any, rtol: Any, atol: Any, *, equal_nan: bool) -> Any:
    dtype = x.aval.dtype
    if not dtypes.is_inexact(dtype):
        return comparison.eq(x, y)
    size = arithmetic.abs_(y)
    near = comparison.le(
        arithmetic.abs_(arithmetic.sub(x, y)), structural.add(atol, arithmetic.mul(rtol, size))
    )
    finite = _isfinite(x) & _isfinite(y)
    result = selection.select_n(finite, comparison.eq(x, y), near)
    if equal_nan:
        result = result | (_isnan(x) & _isnan(y))
    return result


@located
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """True where |a - b| <= atol + rtol * |b|; equal infinities are close.

    Args:
      a, b: arrays that broadcast together.
      rtol, atol: relative and absolute tolerance.
      equal_nan: whether NaN is close to NaN.
    Returns: boolean array of the broadcast shape.
    Example:
      >>> np.isclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
      Array([ True, False], dtype=bool)
    """
    if is_beyond(a, b):
        a = float(a)  # type: ignore[arg-type]
    elif is_beyond(b, a):
        b = float(b)  # type: ignore[arg-type]
    x, y = promote_values("isclose", a, b, to_number=True)
    check_ranks("isclose", x, y)
    if not dtypes.is_inexact(x.dtype):
        x, y = promote_values("isclose", x, y, to_inexact=True)
    real = dtypes.real_of(x.dtype)
    limits = [
        literal(float(v), real)  # type: ignore[arg-type]
        if v.__class__ in SCALARS
        else promote_values("isclose", v, to_inexact=True)[0].astype(real)
        for v in (rtol, atol)
    ]
    return _isclose(x, y, *limits, equal_nan=bool(equal_nan))


@located
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """True if all elements are close; see `isclose`.

    Returns: boolean scalar.
    Example:
      >>> np.allclose(np.ones(2), np.ones(2) + 1e-7)
      Array(True, dtype=bool)
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def _compared(x: Any) -> Any:
    """An array, or a Python integer, which may be beyond the dtype that it is compared with."""
    return x if x.__class__ is int else asarray(x)


@located
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """True if the shapes and all elements are equal.

    Args:
      a1, a2: arrays, or lists and tuples that arrays can be made of.
      equal_nan: whether NaN equals NaN.
    Returns: boolean scalar.
    Example:
      >>> np.array_equal(np.arange(3), np.arange(3.0))
      Array(True, dtype=bool)
    """
    x, y = _compared(a1), _compared(a2)
    if np.shape(x) != np.shape(y):
        return literal_flag(False)
    same = equal(x, y)
    if equal_nan and x.__class__ is not int and y.__class__ is not int:
        same = same | (_isnan(x) & _isnan(y))
    return all(same)


def literal_flag(flag: bool) -> Any:
    """A boolean scalar."""
    return structural.full(comparison_flag, flag)


comparison_flag = literal(0, dtypes.int32).aval.update(dtype=dtypes.bool_, weak_type=False)


@located
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """True if the arrays broadcast together and all elements are equal then.

    Args:
      a1, a2: arrays, or lists and tuples that arrays can be made of.
    Returns: boolean scalar.
    Example:
      >>> np.array_equiv(np.ones((2, 3)), np.ones(3))
      Array(True, dtype=bool)
    """
    x, y = _compared(a1), _compared(a2)
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        return literal_flag(False)
    return all(equal(x, y))
