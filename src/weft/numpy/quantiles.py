"""Order statistics: median, quantile, percentile, and nanmedian, nanquantile, nanpercentile.

The elements are sorted along the axes, and the result is interpolated between neighbours by one of
NumPy's methods; with weights, it is the element at a step of the cumulative weight.
"""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import (
    arithmetic,
    comparison,
    creation,
    cumulative,
    selection,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axes
from ..user_lines import noted
from .arithmetic import EVEN
from .axes import all_axes
from .axis_gathers import gather_along
from .plans import composite
from .promotion import as_inexact, cast, no_out, value
from .reductions import any, sum, wide_of
from .statistics import weights_along

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _as_rows(x: Any, axes: tuple[int, ...]) -> Any:
    """A matrix whose rows are the elements along `axes`."""
    order = (*[i for i in range(x.ndim) if i not in axes], *axes)
    n = math.prod([x.shape[i] for i in axes])
    if order != tuple(range(x.ndim)):
        x = structural.transpose(x, permutation=order)
    return structural.reshape(x, shape=(x.size // n if n else 0, n))


def _restore_axes(result: Any, q: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Reshapes [rows, quantiles] to [*shape of q, *remaining axes of x]."""
    lengths = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return structural.reshape(
        structural.transpose(result, permutation=(1, 0)), shape=(*q.shape, *lengths)
    )


@composite
def _quantile(x: Any, q: Any, *, axes: Any, method: str, keepdims: bool, ignore_nan: bool) -> Any:
    """Sorts the elements, and interpolates each quantile between two of them."""
    dtype = x.aval.dtype
    sum_dtype = wide_of(dtype)
    array, q = x, cast(q, sum_dtype)
    (x,) = primitive.sort(
        _as_rows(cast(x, sum_dtype), axes), dimension=1, is_stable=False, num_keys=1
    )
    rows, n = x.shape
    elements = structural.reshape(x, shape=(rows * n,))
    index = dtypes.int32
    row_start = arithmetic.mul(
        creation.iota(dtype=index, shape=(rows, 1), dimension=0), literal(n, index)
    )
    q_row = structural.reshape(q, shape=(1, q.size))
    if ignore_nan:
        not_nan_counts = sum(comparison.eq(x, x), 1, dtype=index, keepdims=True)
        last_position = arithmetic.max_(
            arithmetic.sub(not_nan_counts, literal(1, index)), literal(0, index)
        )
        is_undefined = comparison.eq(not_nan_counts, literal(0, index))
    else:
        last_position = literal(n - 1, index)
        end = gather_along(elements, structural.add(row_start, last_position))
        is_undefined = comparison.ne(end, end)  # NaNs are sorted to the end
    if method == "inverted_cdf":
        count = cast(structural.add(last_position, literal(1, index)), sum_dtype)
        position = arithmetic.sub(
            arithmetic.ceil(arithmetic.mul(q_row, count)), literal(1.0, sum_dtype)
        )
    else:
        position = arithmetic.mul(q_row, cast(last_position, sum_dtype))
    low, high = arithmetic.floor(position), arithmetic.ceil(position)
    if method == "nearest":
        low = high = arithmetic.round_(position, rounding_method=EVEN)
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    a = gather_along(elements, structural.add(row_start, _clamped(low, last_position)))
    if method in ("linear", "midpoint"):
        b = gather_along(elements, structural.add(row_start, _clamped(high, last_position)))
        if method == "linear":
            fraction = arithmetic.sub(position, low)
            result = structural.add(
                arithmetic.mul(a, arithmetic.sub(literal(1.0, sum_dtype), fraction)),
                arithmetic.mul(b, fraction),
            )
        else:
            result = arithmetic.mul(structural.add(a, b), literal(0.5, sum_dtype))
    else:
        result = structural.widen(a, (rows, q.size))
    result = selection.select_n(is_undefined, result, literal(float("nan"), sum_dtype))
    return cast(_restore_axes(result, q, array, axes, keepdims), dtype)


def _clamped(position: Any, last_position: Any) -> Any:
    index = cast(position, dtypes.int32)
    return arithmetic.min_(arithmetic.max_(index, literal(0, dtypes.int32)), last_position)


@composite
def _weighted(x: Any, q: Any, weights: Any, *, axes: Any, keepdims: bool, ignore_nan: bool) -> Any:
    """Weighted quantiles over axes, and a mask of the rows whose weights are invalid.

    The quantile is the first of the sorted elements at which the cumulative weight reaches the
    fraction `q` of the total.
    """
    array, weight_dtype = x, weights.dtype
    zero = literal(0.0, weight_dtype)
    x, weights = _as_rows(x, axes), _as_rows(weights, axes)
    nans = comparison.ne(x, x)
    if ignore_nan:
        weights = selection.select_n(nans, weights, zero)
    x, weights = primitive.sort(x, weights, dimension=1, is_stable=True, num_keys=1)
    rows, n = x.shape
    cumulative_weights = cumulative.cumsum(weights, axis=1, reverse=False)
    total = slice_along(cumulative_weights, 1, n - 1, n)
    cumulative_fractions = arithmetic.div(cumulative_weights, total)
    is_zero = comparison.eq(cumulative_fractions, zero)  # q = 0 is the first element with a weight
    cumulative_fractions = cast(cumulative_fractions, q.dtype)
    is_before = comparison.lt(
        structural.reshape(cumulative_fractions, shape=(rows, 1, n)),
        structural.reshape(q, shape=(1, q.size, 1)),
    ) | structural.reshape(is_zero, shape=(rows, 1, n))
    index_dtype = dtypes.int32
    positions = arithmetic.min_(
        sum(cast(is_before, index_dtype), 2, promote_integers=False), literal(n - 1, index_dtype)
    )
    row_start = arithmetic.mul(
        creation.iota(dtype=index_dtype, shape=(rows, 1), dimension=0), literal(n, index_dtype)
    )
    quantiles = gather_along(
        structural.reshape(x, shape=(rows * n,)), structural.add(row_start, positions)
    )
    has_negative = any(comparison.lt(weights, zero), 1, keepdims=True)
    is_invalid = has_negative | ~(
        comparison.gt(total, zero) & comparison.lt(total, literal(math.inf, weight_dtype))
    )
    if ignore_nan:
        is_undefined = ~any(~nans, 1, keepdims=True)
        is_invalid = has_negative | (is_invalid & ~is_undefined)
    else:
        is_undefined = any(nans, 1, keepdims=True)
    nan = literal(math.nan, x.dtype)
    result = selection.select_n(is_undefined | is_invalid, quantiles, nan)
    return _restore_axes(result, q, array, axes, keepdims), is_invalid


def _with_weights(
    name: str, x: Any, qs: Any, weights: Any, axis: Any, axes: Any, keepdims: Any, ignore_nan: bool
) -> Any:
    w = as_inexact(name, value(name, weights, "weights"))
    if dtypes.is_complex(w.dtype):
        raise noted(ShapeError(f"{name}: weights must be real numbers; got {w.aval}"))
    weight_dtype = dtypes.promote_types(dtypes.promote_types(w.dtype, qs.dtype), dtypes.float32)
    w = weights_along(name, cast(w, weight_dtype), x, axis)
    result, is_invalid = _weighted(
        x, qs, w, axes=axes, keepdims=bool(keepdims), ignore_nan=ignore_nan
    )
    concrete = is_invalid.concrete()
    if concrete is not None and concrete.host().any():
        raise noted(
            ValueError(
                f"{name}: weights must be finite and not negative, and not all 0; got {w.aval}"
            )
        )
    return result


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
    weights: Any = None,
) -> Any:
    no_out(name, out)
    if method not in _METHODS:
        raise ValueError(
            f"{name}: method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}"
        )
    if weights is not None and method != "inverted_cdf":
        raise noted(
            ValueError(
                f"{name}: weights need the method 'inverted_cdf'; got {method!r}\n"
                f"  fix: {name}(…, weights=…, method='inverted_cdf')"
            )
        )
    x, qs = as_inexact(name, a), as_inexact(name, q)
    if dtypes.is_complex(x.dtype) or dtypes.is_complex(qs.dtype):
        raise ShapeError(f"{name}: complex numbers have no order; got {x.aval}")
    if qs.ndim > 1:
        raise ShapeError(f"{name}: q must be a scalar or have one axis; got {qs.aval}")
    if percent:
        qs = arithmetic.div(qs, literal(100.0, qs.aval.dtype))
    axes = all_axes(name, axis, x)
    if not x.size:
        lengths = [
            1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes
        ]
        empty_aval = x.aval.update(shape=(*qs.shape, *lengths), weak_type=False)
        return creation.full(empty_aval, math.nan)
    if weights is not None:
        return _with_weights(name, x, qs, weights, axis, axes, keepdims, ignore_nan)
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
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Quantiles over axes: values below which the fraction `q` of the elements lies.

    Args:
      a: real array of any shape; integers become float32.
      q: fractions from 0 to 1: a scalar, or an array of one axis.
      axis: one axis or several; by default all of them.
      out: not supported.
      overwrite_input: ignored.
      method: the interpolation between two elements: 'linear', 'lower', 'higher', 'midpoint' or
        'nearest'; or 'inverted_cdf', the first element at which the cumulative fraction reaches
        `q`.
      keepdims: keep the reduced axes, with length one.
      weights: weights of the elements, for the method 'inverted_cdf' only: array of the shape of
        `a`, or with the lengths of its reduced axes.
    Returns: array with the axis of `q` in front; NaN where an element is NaN, where there are no
      elements, or where traced weights are negative, not finite or all 0.
    Raises: ValueError: the method is unknown or does not support weights; known weights are
      negative, not finite or all 0. TypeError: weights of another shape.
    Example:
      >>> np.quantile(np.arange(5), 0.25)
      Array(1., dtype=float32)
      >>> x, weights = np.array([1.0, 2.0, 3.0]), np.array([1, 1, 3])
      >>> np.quantile(x, 0.5, weights=weights, method="inverted_cdf")
      Array(3., dtype=float32)
    """
    return _quantiles("quantile", a, q, axis, out, method, keepdims, False, False, weights)


@located
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Quantiles over axes that ignore NaNs.

    Args: as in `quantile`.
    Example:
      >>> np.nanquantile(np.array([0.0, np.nan, 2.0]), 0.5)
      Array(1., dtype=float32)
    """
    return _quantiles("nanquantile", a, q, axis, out, method, keepdims, True, False, weights)


@located
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Percentiles over axes: quantiles with `q` from 0 to 100.

    Args: as in `quantile`.
    Example:
      >>> np.percentile(np.arange(5), 25)
      Array(1., dtype=float32)
    """
    return _quantiles("percentile", a, q, axis, out, method, keepdims, False, True, weights)


@located
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Percentiles over axes that ignore NaNs.

    Args: as in `quantile`.
    Example:
      >>> np.nanpercentile(np.array([0.0, np.nan, 2.0]), 50)
      Array(1., dtype=float32)
    """
    return _quantiles("nanpercentile", a, q, axis, out, method, keepdims, True, True, weights)


@located
def median(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Median over axes: the middle element, or the mean of the two middle elements.

    Args: as in `quantile`.
    Example:
      >>> np.median(np.array([3, 1, 2, 9]))
      Array(2.5, dtype=float32)
    """
    return _quantiles("median", a, 0.5, axis, out, "midpoint", keepdims, False, False)


@located
def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Median over axes that ignores NaNs.

    Args: as in `quantile`.
    Example:
      >>> np.nanmedian(np.array([3.0, np.nan, 1.0]))
      Array(2., dtype=float32)
    """
    return _quantiles("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, True, False)
