"""Order statistics: quantiles, percentiles, medians. Knows methods and sorting."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located, noted
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import (
    arithmetic,
    comparison,
    creation as made,
    cumulative,
    selection,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axes
from .axes import all_axes
from .axis_choices import gather_along
from .means import weights_along
from .plans import composite
from .promotion import cast, inexact, no_out, value
from .reductions import any, sum, wide_of
from .rounding import EVEN

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """The matrix whose rows lie along axes."""
    order = (*[i for i in range(x.ndim) if i not in axes], *axes)
    n = math.prod([x.shape[i] for i in axes])
    if order != tuple(range(x.ndim)):
        x = structural.transpose(x, permutation=order)
    return structural.reshape(x, shape=(x.size // n if n else 0, n))


def _unfolded(result: Any, q: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """[rows, quantiles] as [*shape of q, *axes of x that are kept]."""
    kept = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    return structural.reshape(
        structural.transpose(result, permutation=(1, 0)), shape=(*q.shape, *kept)
    )


@composite
def _quantile(x: Any, q: Any, *, axes: Any, method: str, keepdims: bool, ignore_nan: bool) -> Any:
    """Rows are sorted; each quantile is between two of their elements."""
    dtype = x.aval.dtype
    wide = wide_of(dtype)
    whole, q = x, cast(q, wide)
    (x,) = primitive.sort(_rows(cast(x, wide), axes), dimension=1, is_stable=False, num_keys=1)
    rows, n = x.shape
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
    if method == "inverted_cdf":
        count = cast(structural.add(last, literal(1, index)), wide)
        place = arithmetic.sub(arithmetic.ceil(arithmetic.mul(qs, count)), literal(1.0, wide))
    else:
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
    return cast(_unfolded(result, q, whole, axes, keepdims), dtype)


def _inside(place: Any, last: Any) -> Any:
    index = cast(place, dtypes.int32)
    return arithmetic.min_(arithmetic.max_(index, literal(0, dtypes.int32)), last)


@composite
def _weighted(x: Any, q: Any, weights: Any, *, axes: Any, keepdims: bool, ignore_nan: bool) -> Any:
    """(quantiles over axes of elements that have weights, for which rows the weights allow none).

    A row is sorted; the quantile is its first element up to which the weights are a share `q` of
    their sum.
    """
    whole, kind = x, weights.dtype
    zero = literal(0.0, kind)
    x, weights = _rows(x, axes), _rows(weights, axes)
    nans = comparison.ne(x, x)
    if ignore_nan:
        weights = selection.select_n(nans, weights, zero)
    x, weights = primitive.sort(x, weights, dimension=1, is_stable=True, num_keys=1)
    rows, n = x.shape
    running = cumulative.cumsum(weights, axis=1, reverse=False)
    total = slice_along(running, 1, n - 1, n)
    shares = arithmetic.div(running, total)
    before = comparison.eq(shares, zero)  # q = 0 is the first element that has a weight
    shares = cast(shares, q.dtype)
    behind = comparison.lt(
        structural.reshape(shares, shape=(rows, 1, n)),
        structural.reshape(q, shape=(1, q.size, 1)),
    ) | structural.reshape(before, shape=(rows, 1, n))
    index = dtypes.int32
    place = arithmetic.min_(
        sum(cast(behind, index), 2, promote_integers=False), literal(n - 1, index)
    )
    first = arithmetic.mul(made.iota(dtype=index, shape=(rows, 1), dimension=0), literal(n, index))
    found = gather_along(structural.reshape(x, shape=(rows * n,)), structural.add(first, place))
    negative = any(comparison.lt(weights, zero), 1, keepdims=True)
    unfit = negative | ~(comparison.gt(total, zero) & comparison.lt(total, literal(math.inf, kind)))
    if ignore_nan:
        empty = ~any(~nans, 1, keepdims=True)
        unfit = negative | (unfit & ~empty)
    else:
        empty = any(nans, 1, keepdims=True)
    nan = literal(math.nan, x.dtype)
    result = selection.select_n(empty | unfit, found, nan)
    return _unfolded(result, q, whole, axes, keepdims), unfit


def _with_weights(
    name: str, x: Any, qs: Any, weights: Any, axis: Any, axes: Any, keepdims: Any, ignore_nan: bool
) -> Any:
    w = inexact(name, value(name, weights, "weights"))
    if dtypes.is_complex(w.dtype):
        raise noted(ShapeError(f"{name}: weights must be real numbers; got {w.aval}"))
    kind = dtypes.promote_types(dtypes.promote_types(w.dtype, qs.dtype), dtypes.float32)
    w = weights_along(name, cast(w, kind), x, axis)
    result, unfit = _weighted(x, qs, w, axes=axes, keepdims=bool(keepdims), ignore_nan=ignore_nan)
    known = unfit.concrete()
    if known is not None and known.host().any():
        raise noted(
            ValueError(
                f"{name}: weights must be finite and not negative, and not all of them 0; got "
                f"others in {w.aval}"
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
    """Quantiles over axes: numbers that a share `q` of the elements is below.

    Args:
      a: real array of any shape; integers become float32.
      q: shares from 0 to 1: a scalar, or an array of one axis.
      axis: an axis or several; all of them by default.
      out: not supported.
      overwrite_input: for NumPy's sake.
      method: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'; or
        'inverted_cdf', the first element up to which there is a share `q` of them.
      keepdims: keep the reduced axes with length one.
      weights: how much each element counts, with the method 'inverted_cdf' only: array of the shape
        of `a`, or of its reduced axes.
    Returns: array with the axis of `q` in front; NaN where there is one among the elements, or no
      element, or where traced weights are negative, not finite or all 0.
    Raises: ValueError: the method is unknown, or another one with weights; weights that are known
      are negative, not finite or all 0. TypeError: weights of another shape.
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
    """Quantiles over axes, NaNs left out.

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
    """Percentiles over axes, NaNs left out.

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
    """The middle element over axes, or the mean of the two in the middle.

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
    """The median over axes, NaNs left out.

    Args: as in `quantile`.
    Example:
      >>> np.nanmedian(np.array([3.0, np.nan, 1.0]))
      Array(2., dtype=float32)
    """
    return _quantiles("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, True, False)
