"""Reductions that leave NaNs out."""

import math
from typing import Any

from ..core.array import Array, literal
from ..core.source import located
from ..primitives import bitwise, comparison, cumulative, selection
from ..typing import ArrayLike, Axes, Axis, DTypeLike
from .means import mean, std, var
from .promotion import no_out, value
from .reductions import all, max, min, prod, sum
from .rounding import is_whole
from .running import argmax, argmin, running

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


def replaced(name: str, a: Any, number: Any) -> tuple[Any, Any]:
    """(the array with a number in the place of NaNs, where these are or `None` if it has none)."""
    x = value(name, a, "a")
    if is_whole(x):
        return x, None
    nans = comparison.ne(x, x)
    return selection.select_n(nans, x, literal(number, x.aval.dtype)), nans


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
    """Sum over axes, NaNs left out.

    Args: as in `sum`.
    Example:
      >>> np.nansum(np.array([1.0, np.nan]))
      Array(1., dtype=float32)
    """
    return sum(replaced("nansum", a, 0)[0], axis, dtype, out, keepdims, initial, where)


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
    """Product over axes, NaNs left out.

    Args: as in `prod`.
    Example:
      >>> np.nanprod(np.array([2.0, np.nan]))
      Array(2., dtype=float32)
    """
    return prod(replaced("nanprod", a, 1)[0], axis, dtype, out, keepdims, initial, where)


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
    x, nans = replaced(name, a, number)
    result = function(x, axis, out, keepdims, initial, where)
    if nans is None or initial is not None:
        return result
    empty = all(nans, axis, None, keepdims)
    return selection.select_n(empty, result, literal(math.nan, x.aval.dtype))


@located
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes, NaNs left out; NaN where there is nothing else.

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
    """Minimum over axes, NaNs left out; NaN where there is nothing else.

    Args: as in `max`.
    Example:
      >>> np.nanmin(np.array([1.0, np.nan]))
      Array(1., dtype=float32)
    """
    return _extreme("nanmin", min, math.inf, a, axis, out, keepdims, initial, where)


def _place(
    name: str, function: Any, number: float, a: Any, axis: Any, out: Any, keepdims: Any
) -> Any:
    no_out(name, out)
    x, nans = replaced(name, a, number)
    result = function(x, axis, None, keepdims)
    if nans is None:
        return result
    empty = all(nans, axis, None, bool(keepdims))
    return selection.select_n(empty, result, literal(-1, result.aval.dtype))


@located
def nanargmax(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum, NaNs left out; -1 where there is nothing else.

    Args: as in `argmax`.
    Example:
      >>> np.nanargmax(np.array([np.nan, 1.0]))
      Array(1, dtype=int32)
    """
    return _place("nanargmax", argmax, -math.inf, a, axis, out, keepdims)


@located
def nanargmin(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum, NaNs left out; -1 where there is nothing else.

    Args: as in `argmax`.
    Example:
      >>> np.nanargmin(np.array([np.nan, 1.0]))
      Array(1, dtype=int32)
    """
    return _place("nanargmin", argmin, math.inf, a, axis, out, keepdims)


def _mask(name: str, a: Any, where: Any) -> tuple[Any, Any]:
    """The array without NaNs, and which elements count."""
    x, nans = replaced(name, a, 0)
    if nans is None:
        return x, where
    numbers = bitwise.bitwise_not(nans)
    return x, numbers if where is None else bitwise.bitwise_and(
        numbers, value(name, where, "where")
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
    """Mean over axes, NaNs left out.

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
    """Variance over axes, NaNs left out.

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
    """Standard deviation over axes, NaNs left out.

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
    """Running sum, NaNs counted as 0.

    Args: as in `cumsum`.
    Example:
      >>> np.nancumsum(np.array([1.0, np.nan, 2.0]))
      Array([1., 1., 3.], dtype=float32)
    """
    no_out("nancumsum", out)
    return running("nancumsum", cumulative.cumsum, replaced("nancumsum", a, 0)[0], axis, dtype)


@located
def nancumprod(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Running product, NaNs counted as 1.

    Args: as in `cumsum`.
    Example:
      >>> np.nancumprod(np.array([2.0, np.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    no_out("nancumprod", out)
    return running("nancumprod", cumulative.cumprod, replaced("nancumprod", a, 1)[0], axis, dtype)
