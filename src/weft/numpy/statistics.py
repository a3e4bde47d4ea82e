"""Weighted averages, covariances, histograms, counts, interpolation."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.quiet import run_quietly
from ..core.source import located
from ..errors import ShapeError
from ..primitives import (
    arithmetic,
    comparison,
    complex_numbers,
    selection,
    structural,
)
from ..typing import ArrayLike, Axes, DTypeLike
from .axes import all_axes, result_length, whole_number
from .creation import asarray, wanted_dtype, zeros
from .joining import concatenate
from .matrices import diagonal
from .means import mean, weights_along
from .plans import composite, native_elements
from .products import contracted
from .promotion import cast, inexact, promote_values, value
from .ranges import known, linspace
from .reductions import max, min, sum
from .rounding import clip
from .shapes import atleast_2d, ravel, reshape
from .sorting import in_order, searchsorted

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

# --- averages and covariances ---


@located
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean over axes.

    Args:
      a: array of any shape.
      axis: an axis or several; all of them by default.
      weights: array of the shape of `a`, or of the length of the axis.
      returned: return the sum of the weights too.
      keepdims: keep the reduced axes with length one.
    Returns: array without the reduced axes; with `returned` a pair.
    Example:
      >>> np.average(np.array([1.0, 4.0]), weights=np.array([2, 1]))
      Array(2., dtype=float32)
    """
    x = value("average", a, "a")
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        count = math.prod([x.shape[i] for i in all_axes("average", axis, x)])
        total: Any = structural.full(result.aval.strong(), count)
    else:
        x, w = promote_values("average", x, weights, to_inexact=True)
        w = weights_along("average", w, x, axis)
        products = arithmetic.mul(x, w)
        total = sum(w, axis, keepdims=keepdims)
        result = arithmetic.div(sum(products, axis, keepdims=keepdims), total)
    return (result, total) if returned else result


@located
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Covariances of variables.

    Args:
      m: array [variables, observations], or [observations] of a single variable.
      y: further variables of the same form.
      rowvar: False if rows are observations.
      bias: divide by the number of observations, not by one less.
      ddof: divide by the number of observations minus this.
      fweights: how often each observation counts.
      aweights: the importance of each observation.
      dtype: that of the result.
    Returns: array [variables, variables]; a scalar for one variable.
    Example:
      >>> np.cov(np.array([1.0, 3.0]))
      Array(2., dtype=float32)
    """
    wanted = wanted_dtype("cov", dtype)
    x = inexact("cov", m)
    if x.ndim > 2:
        raise ShapeError(f"cov: expected one or two axes; got {x.aval}")
    x = atleast_2d(x)
    if not rowvar and x.shape[0] != 1:
        x = structural.transpose(x, permutation=(1, 0))
    if y is not None:
        z = inexact("cov", y)
        if z.ndim > 2:
            raise ShapeError(f"cov: expected one or two axes; got y {z.aval}")
        z = atleast_2d(z)
        if not rowvar and z.shape[0] != 1:
            z = structural.transpose(z, permutation=(1, 0))
        x = concatenate([x, z])
    if wanted is not None:
        x = cast(x, wanted)
    n = x.shape[1]
    less = (0 if bias else 1) if ddof is None else ddof
    w: Any = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            v = cast(value("cov", given, name), dtypes.real_of(x.dtype))
            if v.shape != (n,):
                raise ShapeError(f"cov: {name} must be of shape ({n},); got {v.aval}")
            w = v if w is None else arithmetic.mul(w, v)
    if w is None:
        middle = mean(x, 1, keepdims=True)
        divisor: Any = literal(float(n - less), dtypes.real_of(x.dtype))
    else:
        total = sum(w)
        middle = sum(x * w, 1, keepdims=True) / total
        if not less:
            divisor = total
        elif aweights is None:
            divisor = total - less
        else:
            a = cast(value("cov", aweights, "aweights"), w.dtype)
            divisor = total - less * sum(w * a) / total
    divisor = arithmetic.max_(divisor, literal(0.0, divisor.aval.dtype))  # too few: a division by 0
    x = arithmetic.sub(x, middle)
    other = x if w is None else x * w
    if dtypes.is_complex(x.dtype):
        other = complex_numbers.conj(other)
    product = contracted("cov", x, other, (((1,), (1,)), ((), ())))
    result = product / divisor
    return reshape(result, ()) if result.shape == (1, 1) else result


@located
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Correlation coefficients of variables.

    Args: as in `cov`.
    Returns: array [variables, variables]; a scalar for one variable.
    Example:
      >>> np.corrcoef(np.array([[1.0, 2.0], [2.0, 1.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return arithmetic.div(c, c)
    variances = diagonal(c)
    if dtypes.is_complex(c.dtype):
        variances = complex_numbers.real(variances)
    deviations = arithmetic.sqrt(variances)
    n = deviations.size
    c = c / reshape(deviations, (n, 1)) / reshape(deviations, (1, n))
    if dtypes.is_complex(c.dtype):
        return complex_numbers.complex_(
            clip(complex_numbers.real(c), -1, 1), clip(complex_numbers.imag(c), -1, 1)
        )
    return clip(c, -1, 1)


# --- histograms ---


@located
def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """The edges of the bins that `histogram` counts in.

    Args: as in `histogram`.
    Returns: array [bins + 1].
    Example:
      >>> np.histogram_bin_edges(np.arange(5), 4)
      Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    x = value("histogram_bin_edges", a, "a")
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram_bin_edges: bins must be an int or an array of edges; got {bins!r}"
        )
    if isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0:
        return _checked_edges(inexact("histogram_bin_edges", asarray(bins)))
    count = whole_number("histogram_bin_edges", bins, "bins")
    if count < 1:
        raise ValueError(f"histogram_bin_edges: bins must be positive; got {count}")
    dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
    of: Any = (x,)
    if range is not None:
        of = [value("histogram_bin_edges", r, "range") for r in range]
        _check_range(*of)
    low, high = _bounds(*of, dtype=dtype)
    return linspace(low, high, count + 1, dtype=dtype)


@composite
def _bounds(*of: Any, dtype: Any) -> tuple[Any, Any]:
    """The first and the last edge: two given ones, or those of an array; apart, if they are one."""
    if len(of) == 2:
        low, high = of
    else:
        x = ravel(of[0])
        low, high = (min(x), max(x)) if x.size else (literal(0.0, dtype), literal(1.0, dtype))
    low, high = cast(low, dtype), cast(high, dtype)
    same = comparison.eq(low, high)
    half = literal(0.5, dtype)
    return (
        selection.select_n(same, low, arithmetic.sub(low, half)),
        selection.select_n(same, high, structural.add(high, half)),
    )


def _checked_edges(edges: Any) -> Any:
    """Edges of bins, which increase as far as they are known."""
    if edges.ndim != 1:
        raise ValueError(f"histogram_bin_edges: edges must have one axis; got bins {edges.aval}")
    known = edges.concrete()
    host = np.zeros(0) if known is None else np.asarray(known.host())
    if (host[1:] < host[:-1]).any():
        raise ValueError(f"histogram_bin_edges: the edges must increase; got bins {edges}")
    return edges


def _check_range(low: Any, high: Any) -> None:
    """Refuses a range that is no interval, if it is known."""
    ends = [v.concrete() for v in (low, high)]
    if None in ends:
        return
    first, last = (np.asarray(v.host()) for v in ends)
    if not (np.isfinite(first) and np.isfinite(last) and first <= last):
        raise ValueError(
            f"histogram_bin_edges: range must be two finite numbers, the lower one first; got "
            f"({first}, {last})"
        )


@located
def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """The number of elements in each of a row of bins.

    Args:
      a: array of any shape, which is flattened.
      bins: how many, or the array of their edges. A bin has its lower edge in it, the last one its
        upper edge too.
      range: (lowest, highest) edge; those of the elements by default.
      weights: what each element counts.
      density: return the density, whose integral is 1.
    Returns: (counts [bins], edges [bins + 1]).
    Example:
      >>> np.histogram(np.array([1, 2, 2]), bins=2)[0]
      Array([1., 2.], dtype=float32)
    """
    x = ravel(value("histogram", a, "a"))
    if weights is None:
        dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
        w: Any = structural.full(x.aval.update(dtype=dtype, weak_type=False), 1)
    else:
        w = ravel(value("histogram", weights, "weights"))
        if w.shape != x.shape:
            raise ShapeError(
                f"histogram: weights must be of the shape of `a`; got {w.aval} for {x.aval}"
            )
    edges = histogram_bin_edges(x, bins, range, weights)
    count = edges.size - 1
    places = bin_places(x, edges)
    counts = _added(places, w, count)
    if density:
        widths = arithmetic.sub(edges[1:], edges[:-1])
        counts = counts / widths / sum(counts)
    return counts, edges


def bin_places(x: Any, edges: Any) -> Any:
    """The index of the bin of each element; the number of bins for one that is in none."""
    x, edges = promote_values("histogram", x, edges)
    return _in_bins(x, edges, searchsorted(edges, x, side="right"))


@composite
def _in_bins(x: Any, edges: Any, places: Any) -> Any:
    n = edges.size - 1
    places = places - 1
    last = comparison.eq(x, edges[-1])
    places = selection.select_n(last, places, literal(n - 1, places.dtype))
    outside = comparison.lt(places, literal(0, places.dtype))
    return selection.select_n(outside, places, literal(n, places.dtype))


@located
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """The number of points of the plane in each cell of a grid.

    Args:
      x, y: arrays [n] of coordinates.
      bins: how many along both axes; a pair of numbers or of arrays of edges; an array of edges
        for both.
      range, weights, density: as in `histogramdd`.
    Returns: (counts, edges along x, edges along y).
    Example:
      >>> np.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    points = promote_values("histogram2d", x, y, to_inexact=True)
    if isinstance(bins, (tuple, list)) and len(bins) == 2:
        sides: Any = bins
    else:
        sides = (bins, bins)
    columns = [reshape(p, (p.size, 1)) for p in points]
    counts, edges = histogramdd(concatenate(columns, 1), sides, range, weights, density)
    return counts, edges[0], edges[1]


@located
def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """The number of points in each cell of a grid of any dimension.

    Args:
      sample: array [n, d], or a sequence of d arrays [n].
      bins: how many along all axes, or a sequence with a number or an array of edges for each.
      range: a pair (lowest, highest) or None for each axis.
      weights: what each point counts.
      density: return the density, whose integral is 1.
    Returns: (counts [bins0, bins1, …], list of edges).
    Example:
      >>> np.histogramdd(np.zeros((3, 1)), bins=1)[0]
      Array([3], dtype=int32)
    """
    if isinstance(sample, (tuple, list)):
        columns = [inexact("histogramdd", s) for s in sample]
        x: Any = concatenate([reshape(c, (c.size, 1)) for c in columns], 1)
    else:
        x = inexact("histogramdd", sample)
    if x.ndim != 2:
        raise ShapeError(f"histogramdd: expected an array [n, d]; got {x.aval}")
    n, d = x.shape
    sides = list(bins) if isinstance(bins, (tuple, list)) else [bins] * d
    ranges = [None] * d if range is None else list(range)
    if len(sides) != d or len(ranges) != d:
        raise ShapeError(
            f"histogramdd: needs bins and range for each of {d} axes; got {len(sides)} and "
            f"{len(ranges)}"
        )
    edges, place, lengths = [], None, []
    outside: Any = None
    for k, (side, limits) in enumerate(zip(sides, ranges, strict=True)):
        line = x[:, k]
        edge = histogram_bin_edges(line, side, limits)
        count = edge.size - 1
        here = bin_places(line, edge)
        beyond = comparison.eq(here, literal(count, here.dtype))
        outside = beyond if outside is None else outside | beyond
        place = here if place is None else place * count + here
        edges.append(edge)
        lengths.append(count)
    if weights is None:
        dtype = dtypes.default_float() if density else dtypes.default_int()
        w: Any = structural.full(x.aval.update(shape=(n,), dtype=dtype, weak_type=False), 1)
    else:
        w = value("histogramdd", weights, "weights")
    total = math.prod(lengths)
    place = selection.select_n(outside, place, literal(total, place.dtype))  # type: ignore[union-attr]
    counts = reshape(_added(place, w, total), tuple(lengths))
    if density:
        counts = counts / sum(counts)
        for k, edge in enumerate(edges):
            widths = arithmetic.sub(edge[1:], edge[:-1])
            counts = counts / reshape(widths, (1,) * k + (-1,) + (1,) * (d - k - 1))
    return counts, edges


@located
def bincount(
    x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """The number of times that each whole number occurs.

    Args:
      x: array [n] of integers; negative ones count as 0.
      weights: what each element counts.
      minlength: the least length of the result.
      length: the length of the result, needed where `x` is traced; larger numbers are left out.
    Returns: array [length], of int32 or of the dtype of the weights.
    Example:
      >>> np.bincount(np.array([1, 1, 3]))
      Array([0, 2, 0, 1], dtype=int32)
    """
    v = value("bincount", x)
    if not dtypes.is_integer(v.dtype) and not dtypes.is_bool(v.dtype):
        raise ShapeError(f"bincount: expected integers; got {v.aval}")
    if v.ndim != 1:
        raise ShapeError(f"bincount: expected one axis; got {v.aval}")
    least = result_length("bincount", minlength, "minlength")
    if length is None:
        host = np.asarray(known("bincount", v, "x (without length=)"))
        size = builtin_max(int(host.max()) + 1 if host.size else 0, least)
    else:
        size = builtin_max(result_length("bincount", length, "length"), least)
    v = cast(v, dtypes.default_int())
    if weights is None:
        w: Any = literal(1, dtypes.default_int())
        hosts = native_elements(v)
        if hosts is not None:
            counts = _count_by_numpy(hosts[0], size)
            return Array(counts, aval(counts.shape, counts.dtype))
    else:
        w = value("bincount", weights, "weights")
        if w.shape != v.shape:
            raise ShapeError(
                f"bincount: weights must be of the shape of x; got {w.aval} for {v.aval}"
            )
    return _added(arithmetic.max_(v, literal(0, v.dtype)), w, size)


def _count_by_numpy(places: Any, size: int) -> Any:
    """The number of times that each number below `size` occurs; negative ones count as 0."""
    places = np.minimum(np.maximum(places, 0), size)
    return np.bincount(places, minlength=size)[:size].astype(dtypes.default_int())


def _added(places: Any, w: Any, size: int) -> Any:
    """The sums of the weights at each place below `size`; none is negative."""
    hosts = native_elements(places, w) if w.ndim else None
    if hosts is None or w.dtype == dtypes.bool_:
        return zeros(size, w.dtype).at[places].add(w, mode="drop")
    sums = np.zeros(size + 1, w.dtype)  # the last one is of what is left out
    run_quietly(np.add.at, sums, np.minimum(hosts[0], size), hosts[1])
    return Array(sums[:size], aval((size,), w.dtype))


def builtin_max(a: int, b: int) -> int:
    """The larger int."""
    return a if a > b else b


@located
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The index of the bin that each element is in.

    Args:
      x: array of any shape.
      bins: array [n] of edges that rise or fall.
      right: whether a bin has its upper edge in it, not its lower one.
      method: as in `searchsorted`.
    Returns: int32 array of the shape of `x`, from 0 to n.
    Example:
      >>> np.digitize(np.array([0.5, 1.0]), np.array([0.0, 1.0]))
      Array([1, 2], dtype=int32)
    """
    v = x if x.__class__ is int else value("digitize", x)
    edges = value("digitize", bins, "bins")
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins must have one axis; got {edges.aval}")
    side = "left" if right else "right"
    n = edges.size
    if not n:
        return zeros(np.shape(v), int)
    method = method or "scan"
    rising = searchsorted(edges, v, side, method=method)
    falling = n - searchsorted(edges[::-1], v, side, method=method)
    rises = in_order(edges[0], edges[n - 1], True)
    return selection.select_n(rises, falling, rising)
