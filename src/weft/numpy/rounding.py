"""Rounding to whole numbers and to decimals: floor, ceil, trunc, fix, rint, round, around."""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import arithmetic, comparison, complex_numbers, selection
from ..typing import ArrayLike
from .arithmetic import EVEN
from .axes import as_int
from .makers import unary
from .plans import composite
from .promotion import as_inexact, cast, no_out, noted, value
from .ufunc_options import takes_options

__all__ = ["around", "ceil", "fix", "floor", "rint", "round", "round_", "trunc"]


_floor = unary(arithmetic.floor, "floor")
_ceil = unary(arithmetic.ceil, "ceil")


def is_integral(x: Any) -> bool:
    """True for integer and boolean dtypes. Raises an error for keys."""
    if dtypes.is_inexact(x.aval.dtype):
        return False
    if is_extended(x.aval.dtype):
        raise noted(no_numbers("numpy", x.aval))
    return True


@takes_options
def floor(x: ArrayLike, /) -> Array:
    """Floor: the largest integer not above each element.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.floor(np.array([-1.5, 1.5]))
      Array([-2.,  1.], dtype=float32)
    """
    x = value("floor", x)
    return x if is_integral(x) else _floor(x)  # type: ignore


@takes_options
def ceil(x: ArrayLike, /) -> Array:
    """Ceiling: the smallest integer not below each element.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.ceil(np.array([-1.5, 1.5]))
      Array([-1.,  2.], dtype=float32)
    """
    x = value("ceil", x)
    return x if is_integral(x) else _ceil(x)  # type: ignore


@composite
def _trunc(x: Any) -> Any:
    is_negative = comparison.lt(x, literal(0.0, x.aval.dtype))
    return selection.select_n(is_negative, arithmetic.floor(x), arithmetic.ceil(x))


@takes_options
def trunc(x: ArrayLike) -> Array:
    """Rounds towards zero to integers.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.trunc(np.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    x = value("trunc", x)
    return x if is_integral(x) else _trunc(x)  # type: ignore


def fix(x: ArrayLike, out: None = None) -> Array:
    """Rounds towards zero to integers.

    Args:
      x: real array of any shape; its dtype is kept.
      out: not supported.
    Returns: array of the shape of `x`.
    Example:
      >>> np.fix(np.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    no_out("fix", out)
    return trunc(x)


_nearest = unary(arithmetic.round_, "rint", params=(("rounding_method", EVEN),))


@takes_options
def rint(x: ArrayLike, /) -> Array:
    """Rounds to the nearest integer; halves are rounded to even.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.rint(np.array([0.5, 1.5, 2.6]))
      Array([0., 2., 3.], dtype=float32)
    """
    x = as_inexact("rint", x)
    return _by_parts(_nearest, x)


def _by_parts(function: Any, x: Any) -> Any:
    """Applies a function of real numbers to both parts of complex numbers."""
    if not dtypes.is_complex(x.aval.dtype):
        return function(x)
    return complex_numbers.complex_(
        function(complex_numbers.real(x)), function(complex_numbers.imag(x))
    )


@composite
def _round(x: Any, *, decimals: int) -> Any:
    dtype = x.aval.dtype
    if dtypes.real_of(dtype).itemsize < 4:
        return cast(_scaled_round(cast(x, dtypes.float32), decimals), dtype, x.aval.weak_type)
    return _scaled_round(x, decimals)


def _scaled_round(x: Any, decimals: int) -> Any:
    factor = literal(10.0 ** builtin_abs(decimals), x.aval.dtype)
    if decimals > 0:
        rounded = arithmetic.round_(arithmetic.mul(x, factor), rounding_method=EVEN)
        return arithmetic.div(rounded, factor)
    rounded = arithmetic.round_(arithmetic.div(x, factor), rounding_method=EVEN)
    return arithmetic.mul(rounded, factor)


def builtin_abs(n: int) -> int:
    """|n|."""
    return -n if n < 0 else n


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimals; halves are rounded to even.

    Args:
      a: array of any shape; its dtype is kept.
      decimals: the number of decimals; negative numbers round to tens, hundreds, ….
      out: not supported.
    Returns: array of the shape of `a`.
    Example:
      >>> np.round(np.array([0.125, 2.5]), 2)
      Array([0.12, 2.5 ], dtype=float32)
    """
    no_out("round", out)
    x = value("round", a, "a")
    decimals = as_int("round", decimals, "decimals")
    if is_integral(x):
        if decimals < 0:
            raise noted(
                NotImplementedError(
                    "round: integers are rounded to zero or more decimals only; got "
                    f"decimals={decimals}\n  fix: np.round(x.astype(float), decimals)"
                )
            )
        return x
    if not decimals:
        return _by_parts(_nearest, x)
    return _by_parts(lambda part: _round(part, decimals=decimals), x)


around = round_ = round
