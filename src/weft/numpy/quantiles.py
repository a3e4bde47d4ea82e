"""Order statistics: quantiles, percentiles, medians. Knows methods and sorting."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import (
    arithmetic,
    comparison,
    creation as made,
    selection,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axes
from .axes import all_axes
from .axis_choices import gather_along
from .plans import composite
from .promotion import cast, inexact, no_out
from .reductions import sum, wide_of
from .rounding import EVEN

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite
def _quantile(x: Any, q: Any, *, axes: Any, method: str, keepdims: bool, ignore_nan: bool) -> Any:
    """Rows are sorted; each quantile is between two of their elements."""
    dtype = x.aval.dtype
    wide = wide_of(dtype)
    x = cast(x, wide)
    q = cast(q, wide)
    shape = x.aval.shape
    front = tuple([i for i in range(len(shape)) if i not in axes])
    kept = tuple([shape[i] for i in front])
    n = 1
    for i in axes:
        n *= shape[i]
    if front + tuple(axes) != tuple(range(len(shape))):
        x = structural.transpose(x, permutation=front + tuple(axes))
    rows = x.size // n if n else 0
    x = structural.reshape(x, shape=(rows, n))
    (x,) = primitive.sort(x, dimension=1, is_stable=False, num_keys=1)
    flat = structural.reshape(x, shape=(rows * n,))
    index = dtypes.int32
    first = arithmetic.mul(made.iota(dtype=index, shape=(rows, 1), dimension=0), literal(n, index))
    qs = structural.reshape(q, shape=(1, q.size))
    if ignore_nan:
        numbers = sum(comparison.eq(x, x), 1, dtype=index, keepdims=True)
        last = arithmetic.max_(arithmetic.sub(numbers, literal(1, index)), literal(0, index))
        empty = comparison.eq(numbers, literal(0, index))
    else:
        last = literal(n - 1, index)
        end = gather_along(flat, structural.add(first, last))
        empty = comparison.ne(end, end)  # NaNs are sorted to the end
    place = arithmetic.mul(qs, cast(last, wide))
    low, high = arithmetic.floor(place), arithmetic.ceil(place)
    if method == "nearest":
        low = high = arithmetic.round_(place, rounding_method=EVEN)
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    a = gather_along(flat, structural.add(first, _inside(low, last)))
    if method in ("linear", "midpoint"):
        b = gather_along(flat, structural.add(first, _inside(high, last)))
        if method == "linear":
            share = arithmetic.sub(place, low)
            result = structural.add(
                arithmetic.mul(a, arithmetic.sub(literal(1.0, wide), share)),
                arithmetic.mul(b, share),
            )
        else:
            result = arithmetic.mul(structural.add(a, b), literal(0.5, wide))
    else:
        result = structural.widen(a, (rows, q.size))
    result = selection.select_n(empty, result, literal(float("nan"), wide))
    # [rows, quantiles] -> [*shape of q, *kept axes]
    result = structural.transpose(result, permutation=(1, 0))
    if keepdims:
        kept = tuple([1 if i in axes else m for i, m in enumerate(shape)])
    return cast(structural.reshape(result, shape=(*q.aval.shape, *kept)), dtype)


def _inside(place: Any, last: Any) -> Any:
    index = cast(place, dtypes.int32)
    return arithmetic.min_(arithmetic.max_(index, literal(0, dtypes.int32)), last)


def _quantiles(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    ignore_nan: bool,
    percent: bool,
) -> Any:
    no_out(name, out)
    if method not in _METHODS:
        raise ValueError(
            f"{name}: method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}"
        )
    x, qs = inexact(name, a), inexact(name, q)
    if dtypes.is_complex(x.dtype) or dtypes.is_complex(qs.dtype):
        raise ShapeError(f"{name}: complex numbers have no order; got {x.aval}")
    if qs.ndim > 1:
        raise ShapeError(f"{name}: q must be a scalar or have one axis; got {qs.aval}")
    if percent:
        qs = arithmetic.div(qs, literal(100.0, qs.aval.dtype))
    axes = all_axes(name, axis, x)
    if not x.size:
        rest = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
        empty = x.aval.update(shape=(*qs.shape, *rest), weak_type=False)
        return structural.full(empty, math.nan)
    return _quantile(
        x, qs, axes=axes, method=method, keepdims=bool(keepdims), ignore_nan=ignore_nan
    )


@located
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Quantiles over axes: numbers that a share `q` of the elements is below.

    Args:
      a: real array of any shape; integers become float32.
      q: shares from 0 to 1: a scalar, or an array of one axis.
      axis: an axis or several; all of them by default.
      out: not supported.
      overwrite_input: for NumPy's sake.
      method: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
      keepdims: keep the reduced axes with length one.
    Returns: array with the axis of `q` in front; NaN where there is one among the elements, or no
      element.
    Example:
      >>> np.quantile(np.arange(5), 0.25)
      Array(1., dtype=float32)
    """
    return _quantiles("quantile", a, q, axis, out, method, keepdims, False, False)  # type: ignore[no-any-return]


@located
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Quantiles over axes, NaNs left out.

    Args: as in `quantile`.
    Example:
      >>> np.nanquantile(np.array([0.0, np.nan, 2.0]), 0.5)
      Array(1., dtype=float32)
    """
    return _quantiles("nanquantile", a, q, axis, out, method, keepdims, True, False)  # type: ignore[no-any-return]


@located
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Percentiles over axes: quantiles with `q` from 0 to 100.

    Args: as in `quantile`.
    Example:
      >>> np.percentile(np.arange(5), 25)
      Array(1., dtype=float32)
    """
    return _quantiles("percentile", a, q, axis, out, method, keepdims, False, True)  # type: ignore[no-any-return]


@located
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Percentiles over axes, NaNs left out.

    Args: as in `quantile`.
    Example:
      >>> np.nanpercentile(np.array([0.0, np.nan, 2.0]), 50)
      Array(1., dtype=float32)
    """
    return _quantiles("nanpercentile", a, q, axis, out, method, keepdims, True, True)  # type: ignore[no-any-return]


@located
def median(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The middle element over axes, or the mean of the two in the middle.

    Args: as in `quantile`.
    Example:
      >>> np.median(np.array([3, 1, 2, 9]))
      Array(2.5, dtype=float32)
    """
    return _quantiles("median", a, 0.5, axis, out, "midpoint", keepdims, False, False)  # type: ignore[no-any-return]


@located
def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The median over axes, NaNs left out.

    Args: as in `quantile`.
    Example:
      >>> np.nanmedian(np.array([3.0, np.nan, 1.0]))
      Array(2., dtype=float32)
    """
    return _quantiles("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, True, False)  # type: ignore[no-any-return]
