"""Reductions that ignore NaNs: nansum, nanprod, nanmax, nanmin, nanargmax, nanargmin, nanmean,
nanvar, nanstd, nancumsum, nancumprod.

NaNs are replaced by the identity of the reduction, or excluded from the count.
"""

import math
from typing import Any

from ..core.array import Array, literal
from ..core.source import located
from ..primitives import bitwise, comparison, cumulative, selection
from ..typing import ArrayLike, Axes, Axis, DTypeLike
from .cumulative import accumulate
from .promotion import no_out, value
from .reductions import all, argmax, argmin, max, min, prod, sum
from .rounding import is_integral
from .statistics import mean, std, var

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def replace_nans(name: str, a: Any, replacement: Any) -> tuple[Any, Any]:
    """The array with NaNs replaced by a number, and the mask of NaNs (`None` for integers)."""
    x = value(name, a, "a")
    if is_integral(x):
        return x, None
    nans = comparison.ne(x, x)
    return selection.select_n(nans, x, literal(replacement, x.aval.dtype)), nans


@located
def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum over axes that ignores NaNs.

    Args: as in `sum`.
    Example:
      >>> np.nansum(np.array([1.0, np.nan]))
      Array(1., dtype=float32)
    """
    return sum(replace_nans("nansum", a, 0)[0], axis, dtype, out, keepdims, initial, where)


@located
def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Product over axes that ignores NaNs.

    Args: as in `prod`.
    Example:
      >>> np.nanprod(np.array([2.0, np.nan]))
      Array(2., dtype=float32)
    """
    return prod(replace_nans("nanprod", a, 1)[0], axis, dtype, out, keepdims, initial, where)


def _extreme(
    name: str,
    function: Any,
    number: float,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    x, nans = replace_nans(name, a, number)
    result = function(x, axis, out, keepdims, initial, where)
    if nans is None or initial is not None:
        return result
    all_nan = all(nans, axis, None, keepdims)
    return selection.select_n(all_nan, result, literal(math.nan, x.aval.dtype))


@located
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes that ignores NaNs; NaN where all elements are NaN.

    Args: as in `max`.
    Example:
      >>> np.nanmax(np.array([1.0, np.nan]))
      Array(1., dtype=float32)
    """
    return _extreme("nanmax", max, -math.inf, a, axis, out, keepdims, initial, where)


@located
def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes that ignores NaNs; NaN where all elements are NaN.

    Args: as in `max`.
    Example:
      >>> np.nanmin(np.array([1.0, np.nan]))
      Array(1., dtype=float32)
    """
    return _extreme("nanmin", min, math.inf, a, axis, out, keepdims, initial, where)


def _index_of_extreme(
    name: str, function: Any, number: float, a: Any, axis: Any, out: Any, keepdims: Any
) -> Any:
    no_out(name, out)
    x, nans = replace_nans(name, a, number)
    result = function(x, axis, None, keepdims)
    if nans is None:
        return result
    all_nan = all(nans, axis, None, bool(keepdims))
    return selection.select_n(all_nan, result, literal(-1, result.aval.dtype))


@located
def nanargmax(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum, ignoring NaNs; -1 where all elements are NaN.

    Args: as in `argmax`.
    Example:
      >>> np.nanargmax(np.array([np.nan, 1.0]))
      Array(1, dtype=int32)
    """
    return _index_of_extreme("nanargmax", argmax, -math.inf, a, axis, out, keepdims)


@located
def nanargmin(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum, ignoring NaNs; -1 where all elements are NaN.

    Args: as in `argmax`.
    Example:
      >>> np.nanargmin(np.array([np.nan, 1.0]))
      Array(1, dtype=int32)
    """
    return _index_of_extreme("nanargmin", argmin, math.inf, a, axis, out, keepdims)


def _mask(name: str, a: Any, where: Any) -> tuple[Any, Any]:
    """The array with NaNs replaced by 0, and the mask of the elements to include."""
    x, nans = replace_nans(name, a, 0)
    if nans is None:
        return x, where
    not_nan = bitwise.bitwise_not(nans)
    return x, not_nan if where is None else bitwise.bitwise_and(
        not_nan, value(name, where, "where")
    )


@located
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Arithmetic mean over axes that ignores NaNs.

    Args: as in `mean`.
    Example:
      >>> np.nanmean(np.array([1.0, np.nan, 3.0]))
      Array(2., dtype=float32)
    """
    x, mask = _mask("nanmean", a, where)
    return mean(x, axis, dtype, out, keepdims, where=mask)


@located
def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    *,
    correction: float | None = None,
) -> Array:
    """Variance over axes that ignores NaNs.

    Args: as in `var`.
    Example:
      >>> np.nanvar(np.array([1.0, np.nan, 3.0]))
      Array(1., dtype=float32)
    """
    x, mask = _mask("nanvar", a, where)
    return var(x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)


@located
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    *,
    correction: float | None = None,
) -> Array:
    """Standard deviation over axes that ignores NaNs.

    Args: as in `var`.
    Example:
      >>> np.nanstd(np.array([1.0, np.nan, 3.0]))
      Array(1., dtype=float32)
    """
    x, mask = _mask("nanstd", a, where)
    return std(x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean, correction=correction)


@located
def nancumsum(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative sum that treats NaNs as 0.

    Args: as in `cumsum`.
    Example:
      >>> np.nancumsum(np.array([1.0, np.nan, 2.0]))
      Array([1., 1., 3.], dtype=float32)
    """
    no_out("nancumsum", out)
    return accumulate(
        "nancumsum", cumulative.cumsum, replace_nans("nancumsum", a, 0)[0], axis, dtype
    )


@located
def nancumprod(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative product that treats NaNs as 1.

    Args: as in `cumsum`.
    Example:
      >>> np.nancumprod(np.array([2.0, np.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    no_out("nancumprod", out)
    return accumulate(
        "nancumprod", cumulative.cumprod, replace_nans("nancumprod", a, 1)[0], axis, dtype
    )
