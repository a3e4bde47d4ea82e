"""Histograms and counts: histogram, histogram2d, histogramdd, histogram_bin_edges, bincount,
digitize."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.kernels import run_kernel
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import items_of
from ..primitives import arithmetic, comparison, creation, selection, structural
from ..transforms.arguments import described
from ..typing import ArrayLike
from .axes import as_int, result_length
from .creation import asarray, zeros
from .joining import concatenate
from .plans import composite, native_elements
from .promotion import as_inexact, cast, promote_values, value
from .ranges import concrete_argument, linspace
from .reductions import max, min, sum
from .shapes import ravel, reshape
from .sorting import in_order, searchsorted

__all__ = ["bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


@located
def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """The edges of the bins of a histogram.

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
        return _checked_edges(as_inexact("histogram_bin_edges", asarray(bins)))
    count = as_int("histogram_bin_edges", bins, "bins")
    if count < 1:
        raise ValueError(f"histogram_bin_edges: bins must be positive; got {count}")
    dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
    sources: Any = (x,)
    if range is not None:
        ends = items_of("histogram_bin_edges", "range", range, "two numbers")
        sources = [value("histogram_bin_edges", r, "range") for r in ends]
        if len(ends) != 2 or any([v.ndim for v in sources]):
            raise ShapeError(
                f"histogram_bin_edges: range must be two numbers; got {described(range)}"
            )
        _check_range(*sources)
    low, high = _bounds(*sources, dtype=dtype)
    return linspace(low, high, count + 1, dtype=dtype)


@composite
def _bounds(*sources: Any, dtype: Any) -> tuple[Any, Any]:
    """The first and last edge: two values, or the extremes of an array; moved apart if equal."""
    if len(sources) == 2:
        low, high = sources
    else:
        x = ravel(sources[0])
        low, high = (min(x), max(x)) if x.size else (literal(0.0, dtype), literal(1.0, dtype))
    low, high = cast(low, dtype), cast(high, dtype)
    is_single_point = comparison.eq(low, high)
    half = literal(0.5, dtype)
    return (
        selection.select_n(is_single_point, low, arithmetic.sub(low, half)),
        selection.select_n(is_single_point, high, structural.add(high, half)),
    )


def _checked_edges(edges: Any) -> Any:
    """Checked edges of bins. Raises an error if they are known not to increase."""
    if edges.ndim != 1:
        raise ValueError(f"histogram_bin_edges: edges must have one axis; got bins {edges.aval}")
    concrete = edges.concrete()
    host = np.zeros(0) if concrete is None else np.asarray(concrete.host())
    if (host[1:] < host[:-1]).any():
        raise ValueError(f"histogram_bin_edges: the edges must increase; got bins {edges}")
    return edges


def _check_range(low: Any, high: Any) -> None:
    """Raises an error for a known range that is not an interval."""
    ends = [v.concrete() for v in (low, high)]
    if None in ends:
        return
    low_end, high_end = (np.asarray(v.host()) for v in ends)
    if not (np.isfinite(low_end) and np.isfinite(high_end) and low_end <= high_end):
        raise ValueError(
            f"histogram_bin_edges: range must be two finite numbers, the lower one first; got "
            f"({low_end}, {high_end})"
        )


@located
def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Histogram of an array: the number of elements in each bin.

    Args:
      a: array of any shape, which is flattened.
      bins: the number of bins, or an array of their edges. A bin includes its lower edge, and the
        last bin also its upper edge.
      range: (lowest, highest) edge; by default the extremes of the elements.
      weights: the weights of the elements.
      density: return the density, whose integral is 1.
    Returns: (counts [bins], edges [bins + 1]).
    Example:
      >>> np.histogram(np.array([1, 2, 2]), bins=2)[0]
      Array([1., 2.], dtype=float32)
    """
    x = ravel(value("histogram", a, "a"))
    if weights is None:
        dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float()
        w: Any = creation.full(x.aval.update(dtype=dtype, weak_type=False), 1)
    else:
        w = ravel(value("histogram", weights, "weights"))
        if w.shape != x.shape:
            raise ShapeError(
                f"histogram: weights must be of the shape of `a`; got {w.aval} for {x.aval}"
            )
    edges = histogram_bin_edges(x, bins, range, weights)
    count = edges.size - 1
    indices = bin_indices(x, edges)
    counts = _sum_weights(indices, w, count)
    if density:
        widths = arithmetic.sub(edges[1:], edges[:-1])
        counts = counts / widths / sum(counts)
    return counts, edges


def bin_indices(x: Any, edges: Any) -> Any:
    """The index of the bin of each element; the number of bins for elements outside."""
    x = x if dtypes.is_inexact(x.dtype) else cast(x, edges.dtype)
    x, edges = promote_values("histogram", x, edges)
    return _in_bins(x, edges, searchsorted(edges, x, side="right"))


@composite
def _in_bins(x: Any, edges: Any, bins: Any) -> Any:
    n = edges.size - 1
    bins = bins - 1
    is_last_edge = comparison.eq(x, edges[-1])
    bins = selection.select_n(is_last_edge, bins, literal(n - 1, bins.dtype))
    is_outside = comparison.lt(bins, literal(0, bins.dtype))
    return selection.select_n(is_outside, bins, literal(n, bins.dtype))


@located
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Histogram of two variables: the number of points in each cell of a grid.

    Args:
      x, y: arrays [n] of coordinates.
      bins: the number of bins along both axes; a pair of numbers or of arrays of edges; or an array
        of edges for both axes.
      range, weights, density: as in `histogramdd`.
    Returns: (counts, edges along x, edges along y).
    Example:
      >>> np.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    points = promote_values("histogram2d", x, y, to_inexact=True)
    if isinstance(bins, (tuple, list)) and len(bins) == 2:
        bin_pair: Any = bins
    else:
        bin_pair = (bins, bins)
    columns = [reshape(p, (p.size, 1)) for p in points]
    counts, edges = histogramdd(concatenate(columns, 1), bin_pair, range, weights, density)
    return counts, edges[0], edges[1]


@located
def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Histogram of several variables: the number of points in each cell of a grid.

    Args:
      sample: array [n, d], or a sequence of d arrays [n].
      bins: the number of bins along all axes, or a sequence with a number or an array of edges for
        each axis.
      range: a pair (lowest, highest) or None for each axis.
      weights: the weights of the points.
      density: return the density, whose integral is 1.
    Returns: (counts [bins0, bins1, …], list of edges). Without weights the counts are int32.
    Example:
      >>> np.histogramdd(np.zeros((3, 1)), bins=1)[0]
      Array([3], dtype=int32)
    """
    if isinstance(sample, (tuple, list)):
        columns = [as_inexact("histogramdd", s) for s in sample]
        x: Any = concatenate([reshape(c, (c.size, 1)) for c in columns], 1)
    else:
        x = as_inexact("histogramdd", sample)
    if x.ndim != 2:
        raise ShapeError(f"histogramdd: expected an array [n, d]; got {x.aval}")
    n, d = x.shape
    bins_by_axis = list(bins) if isinstance(bins, (tuple, list)) else [bins] * d
    ranges = (
        [None] * d
        if range is None
        else items_of("histogramdd", "range", range, "pairs, one for each axis")
    )
    if len(bins_by_axis) != d or len(ranges) != d:
        raise ShapeError(
            f"histogramdd: needs bins and range for each of {d} axes; got {len(bins_by_axis)} and "
            f"{len(ranges)}"
        )
    edges, cells, lengths = [], None, []
    any_outside: Any = None
    for k, (axis_bins, limits) in enumerate(zip(bins_by_axis, ranges, strict=True)):
        column = x[:, k]
        edge = histogram_bin_edges(column, axis_bins, limits)
        count = edge.size - 1
        indices = bin_indices(column, edge)
        is_outside = comparison.eq(indices, literal(count, indices.dtype))
        any_outside = is_outside if any_outside is None else any_outside | is_outside
        cells = indices if cells is None else cells * count + indices
        edges.append(edge)
        lengths.append(count)
    if weights is None:
        dtype = dtypes.default_float() if density else dtypes.default_int()
        w: Any = creation.full(x.aval.update(shape=(n,), dtype=dtype, weak_type=False), 1)
    else:
        w = as_inexact("histogramdd", value("histogramdd", weights, "weights"))
        if w.shape != (n,):
            raise ShapeError(f"histogramdd: weights must be of shape ({n},); got {w.aval}")
    total = math.prod(lengths)
    cells = selection.select_n(any_outside, cells, literal(total, cells.dtype))  # type: ignore[union-attr]
    counts = reshape(_sum_weights(cells, w, total), tuple(lengths))
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
    """Counts the occurrences of each nonnegative integer.

    Args:
      x: array [n] of integers; negative integers count as 0.
      weights: the weights of the elements.
      minlength: the minimal length of the result.
      length: the length of the result, required when `x` is traced; larger integers are ignored.
    Returns: array [length], int32 or of the dtype of the weights.
    Example:
      >>> np.bincount(np.array([1, 1, 3]))
      Array([0, 2, 0, 1], dtype=int32)
    """
    v = value("bincount", x)
    if not dtypes.is_integer(v.dtype) and not dtypes.is_bool(v.dtype):
        raise ShapeError(f"bincount: expected integers; got {v.aval}")
    if v.ndim != 1:
        raise ShapeError(f"bincount: expected one axis; got {v.aval}")
    min_size = result_length("bincount", minlength, "minlength")
    if length is None:
        host = np.asarray(concrete_argument("bincount", v, "x (without length=)"))
        size = builtin_max(int(host.max()) + 1 if host.size else 0, min_size)
    else:
        size = builtin_max(result_length("bincount", length, "length"), min_size)
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
    return _sum_weights(arithmetic.max_(v, literal(0, v.dtype)), w, size)


def _count_by_numpy(indices: Any, size: int) -> Any:
    """Counts the occurrences of each integer below `size`; negative integers count as 0."""
    indices = np.minimum(np.maximum(indices, 0), size)
    return np.bincount(indices, minlength=size)[:size].astype(dtypes.default_int())


def _sum_weights(positions: Any, w: Any, size: int) -> Any:
    """The sums of the weights at each position below `size`. Positions are not negative."""
    hosts = native_elements(positions, w) if w.ndim else None
    if hosts is None or w.dtype == dtypes.bool_:
        return zeros(size, w.dtype).at[positions].add(w, mode="drop")
    sums = np.zeros(size + 1, w.dtype)  # the last one collects elements outside the bins
    run_kernel(np.add.at, sums, np.minimum(hosts[0], size), hosts[1])
    return Array(sums[:size], aval((size,), w.dtype))


def builtin_max(a: int, b: int) -> int:
    """The larger int."""
    return a if a > b else b


@located
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The index of the bin of each element.

    Args:
      x: array of any shape.
      bins: array [n] of increasing or decreasing edges.
      right: whether bins include the upper edge instead of the lower edge.
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
    rising_index = searchsorted(edges, v, side, method=method)
    falling_index = n - searchsorted(edges[::-1], v, side, method=method)
    is_increasing = in_order(edges[0], edges[n - 1], True)
    return selection.select_n(is_increasing, falling_index, rising_index)
