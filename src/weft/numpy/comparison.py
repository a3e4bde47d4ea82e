"""Comparisons: equal, not_equal, greater, greater_equal, less, less_equal, isclose, allclose,
array_equal, array_equiv.

A Python integer that the other operand's dtype cannot hold is compared exactly: `np.uint8(3) > -1`
is true, as in NumPy, and searches and set operations follow. Arithmetic with such an integer is an
error, as in NumPy.
"""

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..primitives import arithmetic, comparison, complex_numbers, creation, selection, structural
from ..typing import ArrayLike
from .creation import asarray
from .logic import _isfinite, _isnan
from .makers import binary, binary_docstring
from .plans import composite
from .promotion import SCALARS, check_ranks, promote_values, value
from .reductions import all

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "less",
    "less_equal",
    "not_equal",
]


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def compared(name: str, x: Any, y: Any) -> Any:
    """Compares exactly with a Python integer that is out of range for the other operand's dtype,
    with one result for all elements; `None` for other operands."""
    compare = _COMPARISONS[name]
    if x.__class__ is y.__class__ is int:
        return creation.full(aval((), dtypes.bool_), compare(x, y))
    if x.__class__ is not int and y.__class__ is not int:
        return None
    array = value(name, x if y.__class__ is int else y)
    if not (dtypes.is_integer(array.aval.dtype) or dtypes.is_bool(array.aval.dtype)):
        return None
    # 0 compares like all elements, because the integer is out of range
    result = compare(0, y) if y.__class__ is int else compare(x, 0)
    return creation.full(aval(array.aval.shape, dtypes.bool_), result)


def is_beyond(number: Any, other: Any) -> bool:
    """True for a Python integer that is out of range for the dtype of an integer or boolean array
    (for booleans: for the default integer). Such an integer equals no element."""
    if number.__class__ is not int or other.__class__ in SCALARS:
        return False
    dtype = value("is_beyond", other).aval.dtype
    if dtypes.is_bool(dtype):
        dtype = dtypes.default_int()
    if not dtypes.is_integer(dtype):
        return False
    limits = dtypes.iinfo(dtype)
    return not int(limits.min) <= number <= int(limits.max)


# --- comparisons ---


def lexicographic_comparison(
    name: str, primitive: Any, strict: Any, doc: str, *, operator: bool = False
) -> Any:
    """Makes a comparison; complex numbers are compared by real part, then by imaginary part."""

    @composite
    def by_parts(x: Any, y: Any) -> Any:
        real, imag = complex_numbers.real, complex_numbers.imag
        equal_real = comparison.eq(real(x), real(y))
        return strict(real(x), real(y)) | (equal_real & primitive(imag(x), imag(y)))

    return binary(primitive, name, doc, operator=operator, of_complex=by_parts, beyond=compared)


_NOTE = " Complex numbers are ordered by real part, then imaginary part."
_EXAMPLE = "np.arange(3), 1)"
EQUAL = binary_docstring(
    "True where x1 == x2.", f"np.equal({_EXAMPLE}", "Array([False,  True, False], dtype=bool)"
)
NOT_EQUAL = binary_docstring(
    "True where x1 != x2.", f"np.not_equal({_EXAMPLE}", "Array([ True, False,  True], dtype=bool)"
)
GREATER = binary_docstring(
    "True where x1 > x2.",
    f"np.greater({_EXAMPLE}",
    "Array([False, False,  True], dtype=bool)",
    note=_NOTE,
)
GREATER_EQUAL = binary_docstring(
    "True where x1 >= x2.",
    f"np.greater_equal({_EXAMPLE}",
    "Array([False,  True,  True], dtype=bool)",
    note=_NOTE,
)
LESS = binary_docstring(
    "True where x1 < x2.",
    f"np.less({_EXAMPLE}",
    "Array([ True, False, False], dtype=bool)",
    note=_NOTE,
)
LESS_EQUAL = binary_docstring(
    "True where x1 <= x2.",
    f"np.less_equal({_EXAMPLE}",
    "Array([ True,  True, False], dtype=bool)",
    note=_NOTE,
)

equal = binary(comparison.eq, "equal", EQUAL, beyond=compared)
not_equal = binary(comparison.ne, "not_equal", NOT_EQUAL, beyond=compared)
greater = lexicographic_comparison("greater", comparison.gt, comparison.gt, GREATER)
greater_equal = lexicographic_comparison(
    "greater_equal", comparison.ge, comparison.gt, GREATER_EQUAL
)
less = lexicographic_comparison("less", comparison.lt, comparison.lt, LESS)
less_equal = lexicographic_comparison("less_equal", comparison.le, comparison.lt, LESS_EQUAL)


# --- equality of arrays ---


@composite
def _isclose(x: Any, y: Any, rtol: Any, atol: Any, *, equal_nan: bool) -> Any:
    dtype = x.aval.dtype
    if not dtypes.is_inexact(dtype):
        return comparison.eq(x, y)
    magnitude = arithmetic.abs_(y)
    is_near = comparison.le(
        arithmetic.abs_(arithmetic.sub(x, y)), structural.add(atol, arithmetic.mul(rtol, magnitude))
    )
    finite = _isfinite(x) & _isfinite(y)
    result = selection.select_n(finite, comparison.eq(x, y), is_near)
    if equal_nan:
        result = result | (_isnan(x) & _isnan(y))
    return result


def any_keys(*arrays: Any) -> bool:
    """True if one of them is an array of random keys."""
    return builtins.any(dtypes.is_extended(getattr(a, "dtype", None)) for a in arrays)


@located
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """True where elements are equal within a tolerance: |a - b| <= atol + rtol * |b|.

    Equal infinities are close.

    Args:
      a, b: arrays that broadcast together.
      rtol, atol: relative and absolute tolerance.
      equal_nan: whether NaN is close to NaN.
    Returns: boolean array of the broadcast shape. Keys are close if they are equal.
    Example:
      >>> np.isclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
      Array([ True, False], dtype=bool)
    """
    if any_keys(a, b):
        return equal(a, b)
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
    """Tests whether all elements are equal within a tolerance; see `isclose`.

    Returns: boolean scalar.
    Example:
      >>> np.allclose(np.ones(2), np.ones(2) + 1e-7)
      Array(True, dtype=bool)
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def _array_or_int(x: Any) -> Any:
    """An array, or a Python integer, which may be out of range for the other dtype."""
    return x if x.__class__ is int else asarray(x)


@located
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Tests whether two arrays have equal shapes and elements.

    Args:
      a1, a2: arrays, or lists and tuples of numbers.
      equal_nan: whether NaN equals NaN.
    Returns: boolean scalar.
    Example:
      >>> np.array_equal(np.arange(3), np.arange(3.0))
      Array(True, dtype=bool)
    """
    x, y = _array_or_int(a1), _array_or_int(a2)
    if np.shape(x) != np.shape(y):
        return literal_flag(False)
    is_equal = equal(x, y)
    if equal_nan and x.__class__ is not int and y.__class__ is not int:
        is_equal = is_equal | (_isnan(x) & _isnan(y))
    return all(is_equal)


def literal_flag(flag: bool) -> Any:
    """A boolean scalar."""
    return creation.full(comparison_flag, flag)


comparison_flag = literal(0, dtypes.int32).aval.update(dtype=dtypes.bool_, weak_type=False)


@located
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Tests whether two arrays broadcast together and then have equal elements.

    Args:
      a1, a2: arrays, or lists and tuples of numbers.
    Returns: boolean scalar.
    Example:
      >>> np.array_equiv(np.ones((2, 3)), np.ones(3))
      Array(True, dtype=bool)
    """
    x, y = _array_or_int(a1), _array_or_int(a2)
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        return literal_flag(False)
    return all(equal(x, y))
