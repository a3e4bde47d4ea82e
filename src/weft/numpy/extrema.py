"""The larger and smaller of two elements: maximum, minimum, fmax, fmin, clip."""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..primitives import arithmetic, comparison, complex_numbers, selection
from ..typing import ArrayLike
from .makers import binary, binary_docstring, composite_binary
from .plans import composite
from .promotion import SCALARS, check_ranks, fits, value
from .ufunc_attributes import of_two

__all__ = ["clip", "fmax", "fmin", "maximum", "minimum"]


maximum = of_two(
    binary(
        arithmetic.max_,
        "maximum",
        binary_docstring(
            "Larger of two elements; NaN if either is NaN.",
            "np.maximum(np.arange(3), 1)",
            "Array([1, 1, 2], dtype=int32)",
        ),
    )
)
minimum = of_two(
    binary(
        arithmetic.min_,
        "minimum",
        binary_docstring(
            "Smaller of two elements; NaN if either is NaN.",
            "np.minimum(np.arange(3), 1)",
            "Array([0, 1, 1], dtype=int32)",
        ),
    )
)


@composite
def _between(x: Any, low: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


@located
def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    a: ArrayLike | None = None,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> Array:
    """Limits the elements to the interval from `min` to `max`.

    Args:
      arr: real array of any shape.
      min, max: bounds that broadcast with `arr`, or None for no bound. Where `min` is above `max`,
        the result is `max`.
      a, a_min, a_max: older names for `arr`, `min` and `max`.
    Returns: array of the broadcast shape.
    Example:
      >>> np.clip(np.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    operand: Any = a if arr is None else arr
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = value("clip", operand, "arr")
    bounds: Any = (x, low, high)
    for bound in bounds:
        if bound.__class__ is complex or (hasattr(bound, "dtype") and bound.dtype.kind == "c"):
            raise ValueError("clip: complex numbers have no order; clip their parts")
    check_ranks("clip", *[v for v in bounds if v is not None])
    if x.aval.inexact and all([b.__class__ in (int, float) and fits(b) for b in (low, high)]):
        return _between(x, literal(low, x.dtype), literal(high, x.dtype))
    # weak bounds stay weak, so that the result has the dtype of `arr`
    if low is not None:
        x = maximum(x, low if low.__class__ in SCALARS else value("clip", low, "min"))
    if high is not None:
        x = minimum(x, high if high.__class__ in SCALARS else value("clip", high, "max"))
    return x


def _fmax(x: Any, y: Any) -> Any:
    takes_y = _greater(x, y) | comparison.ne(y, y)
    return selection.select_n(takes_y, y, x)


def _fmin(x: Any, y: Any) -> Any:
    takes_y = _greater(y, x) | comparison.ne(y, y)
    return selection.select_n(takes_y, y, x)


def _greater(x: Any, y: Any) -> Any:
    if not dtypes.is_complex(x.aval.dtype):
        return comparison.gt(x, y)
    real, imag = complex_numbers.real, complex_numbers.imag
    real_equal = comparison.eq(real(x), real(y)) & comparison.gt(imag(x), imag(y))
    return comparison.gt(real(x), real(y)) | real_equal


fmax = composite_binary(
    _fmax,
    "fmax",
    binary_docstring(
        "Larger of two elements; ignores a NaN.",
        "np.fmax(np.array([np.nan, 2.0]), 1.0)",
        "Array([1., 2.], dtype=float32)",
    ),
)
fmin = composite_binary(
    _fmin,
    "fmin",
    binary_docstring(
        "Smaller of two elements; ignores a NaN.",
        "np.fmin(np.array([np.nan, 2.0]), 1.0)",
        "Array([1., 1.], dtype=float32)",
    ),
)
