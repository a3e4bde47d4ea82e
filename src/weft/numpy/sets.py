"""Arrays as sets: unique elements, membership, unions and differences.

Results whose length depends on the elements need `size=` where arrays are traced.
"""

from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.quiet import run_quietly
from ..core.source import located
from ..errors import ConcretizationTypeError, ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import (
    arithmetic,
    comparison,
    creation as made,
    cumulative,
    selection,
    slicing,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axis
from . import host_sets
from .axes import one_axis, result_length
from .axis_choices import gather_along
from .beyond import is_beyond
from .creation import from_numpy, zeros
from .joining import concatenate
from .plans import composite, is_native, native_elements
from .promotion import cast, noted, promote_values, strong, value
from .reductions import any, min
from .rounding import is_whole
from .shapes import ravel, reshape
from .sorting import FEW_QUERIES, searchsorted, sort

__all__ = [
    "in1d",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def _run(kernel: Any, *xs: Any, options: tuple[Any, ...] = ()) -> Any:
    """The results of a kernel of `host_sets` for flattened values; `None` where NumPy may not
    compute now. Indices are of the default integer dtype."""
    hosts = native_elements(*xs)
    if hosts is None:
        return None
    found = run_quietly(kernel, *[np.ravel(h) for h in hosts], *options)
    if found.__class__ is not np.ndarray:
        return [None if row is None else from_numpy(row) for row in found]
    return from_numpy(found)


def _number(name: str, x: Any, mask: Any) -> int:
    """The number of elements where a mask of `x` holds, which is the length of a result."""
    known = mask.concrete()
    if known is None:
        raise noted(
            ConcretizationTypeError(
                f"{name}: the length of the result depends on the elements of a traced {x.aval}\n"
                f"  fix: {name}(…, size=n, fill_value=…) gives a result of length n"
            )
        )
    return int(np.count_nonzero(known.host()))


# --- unique ---


def _unique_sorted(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """For the rows of [n, m]: (the order that sorts them, those in that order, which of these are
    the first of their kind)."""
    n, m = rows.shape
    index = dtypes.int32
    places = made.iota(dtype=index, shape=(n,), dimension=0)
    if n < 1:
        return places, rows, zeros((0,), bool)
    keys = rows
    if dtypes.is_complex(rows.dtype):  # NaN in either part comes last, as in NumPy
        undefined = comparison.ne(rows, rows)
        keys = selection.select_n(undefined, rows, literal(complex(np.nan, np.nan), rows.dtype))
    columns = [reshape(slice_along(keys, 1, k, k + 1), (n,)) for k in range(m)]
    *_, order = (
        primitive.sort(*columns, places, dimension=0, is_stable=True, num_keys=max(m, 1))
        if m
        else (places,)
    )
    ordered = gather_along(rows, order)
    before, after = slice_along(ordered, 0, 0, n - 1), slice_along(ordered, 0, 1, n)
    differs = comparison.ne(before, after)
    if equal_nan and not is_whole(rows):
        both_nan = comparison.ne(before, before) & comparison.ne(after, after)
        differs = differs & ~both_nan
    first = from_numpy(np.ones(1, bool))
    return order, ordered, slicing.concatenate(first, any(differs, 1), dimension=0)


class _Found(NamedTuple):
    values: Any
    index: Any
    inverse: Any
    counts: Any


def _unique_traced(rows: Any, size: int, fill_value: Any, equal_nan: bool) -> _Found:
    """Unique rows, as many as told."""
    n = rows.shape[0]
    index = dtypes.default_int()
    order, ordered, first = _unique_sorted(rows, equal_nan)
    order = cast(order, index)
    number = cumulative.cumsum(cast(first, index), axis=0, reverse=False)
    total = gather_along(number, literal(n - 1, index)) if n else literal(0, index)
    slot = number - literal(1, index)  # the place of each in the result
    inverse = zeros(n, index).at[order].set(slot)
    counts = zeros(size, index).at[slot].add(1, mode="drop")
    starts = (
        structural.full(counts.aval, max(n - 1, 0))
        .at[slot]
        .min(made.iota(dtype=index, shape=(n,), dimension=0), mode="drop")
    )
    found = gather_along(ordered, starts) if n else zeros((size, rows.shape[1]), rows.dtype)
    where_from = gather_along(order, starts) if n else zeros(size, index)
    line = made.iota(dtype=index, shape=(size,), dimension=0)
    beyond = comparison.ge(line, total)
    if fill_value is None:
        fill: Any = slice_along(found, 0, 0, 1) if size and n else literal(0, rows.dtype)
    else:
        fill = cast(value("unique", fill_value, "fill_value"), rows.dtype)
        if fill.ndim == 1 and fill.size not in (1, rows.shape[1]):
            raise noted(
                ShapeError(f"unique: fill_value {fill.aval} does not fit rows of {rows.aval}")
            )
    found = selection.select_n(
        reshape(beyond, (size, 1)), found, structural.widen(fill, found.shape)
    )
    if size and n:
        where_from = selection.select_n(
            beyond, where_from, structural.widen(slice_along(where_from, 0, 0, 1), (size,))
        )
    return _Found(found, where_from, inverse, counts)


@located
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Axis = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements, sorted.

    Args:
      ar: array of any shape.
      return_index: return the index of the first of each too.
      return_inverse: return for each element its place in the result too.
      return_counts: return how often each occurs too.
      axis: compare the slices along this axis; None flattens the array.
      equal_nan: whether NaN equals NaN.
      size: the length of the result, needed where `ar` is traced; what is too much is cut off.
      fill_value: what fills up the rest; the least element by default.
      sorted: for the array API's sake: they always are.
    Returns: array, or a tuple with the further arrays that were asked for.
    Raises: ConcretizationTypeError: `ar` is traced, and there is no size.
    Example:
      >>> np.unique(np.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
      >>> np.unique(np.array([3, 1, 3]), size=3, fill_value=0)
      Array([1, 3, 0], dtype=int32)
    """
    further = bool(return_index), bool(return_inverse), bool(return_counts)
    x = value("unique", ar, "ar")
    found = _unique("unique", x, axis, bool(equal_nan), size, fill_value, further)
    results = [r for r, want in zip(found, (True, *further), strict=True) if want]
    return results[0] if len(results) == 1 else tuple(results)


def _unique(
    name: str,
    x: Any,
    axis: Any,
    equal_nan: bool,
    size: Any,
    fill_value: Any,
    further: tuple[bool, bool, bool] = (False, False, False),
) -> _Found:
    """The unique elements; `further`: whether index, inverse and counts are asked for."""
    if size is not None:
        size = result_length(name, size, "size")
    elif axis is None and fill_value is None:
        found = _run(host_sets.unique, x, options=(equal_nan, *further))
        if found is not None:
            values, index, inverse, counts = found
            if inverse is not None and x.ndim != 1:
                inverse = reshape(inverse, x.shape)
            return _Found(values, index, inverse, counts)
    shape = x.shape
    if axis is None:
        rows, i = reshape(x, (x.size, 1)), None
    else:
        i = one_axis(name, axis, x)
        moved = structural.move_axis(x, i, 0)
        rows = reshape(moved, (shape[i], x.size // shape[i] if shape[i] else 0))
    if size is None:
        size = _number(name, x, _unique_sorted(rows, equal_nan)[2])
    found = _unique_traced(rows, size, fill_value, equal_nan)
    if i is None:
        return found._replace(values=ravel(found.values), inverse=reshape(found.inverse, shape))
    back = reshape(found.values, (size, *moved.shape[1:]))
    return found._replace(values=structural.move_axis(back, 0, i))


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@located
def unique_all(x: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """(values, indices, inverse_indices, counts) of `unique`, NaNs being different.

    Example:
      >>> np.unique_all(np.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    v, all_of_them = value("unique_all", x), (True, True, True)
    return UniqueAll(*_unique("unique_all", v, None, False, size, fill_value, all_of_them))


@located
def unique_counts(x: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """(values, counts) of `unique`, NaNs being different.

    Example:
      >>> np.unique_counts(np.array([3, 1, 3])).values
      Array([1, 3], dtype=int32)
    """
    v, further = value("unique_counts", x), (False, False, True)
    found = _unique("unique_counts", v, None, False, size, fill_value, further)
    return UniqueCounts(found.values, found.counts)


@located
def unique_inverse(
    x: ArrayLike, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverse:
    """(values, inverse_indices) of `unique`, NaNs being different.

    Example:
      >>> np.unique_inverse(np.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    v, further = value("unique_inverse", x), (False, True, False)
    found = _unique("unique_inverse", v, None, False, size, fill_value, further)
    return UniqueInverse(found.values, found.inverse)


@located
def unique_values(x: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The values of `unique`, NaNs being different.

    Example:
      >>> np.unique_values(np.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return _unique("unique_values", value("unique_values", x), None, False, size, fill_value).values


# --- membership ---

_FEW = 32  # test elements that each element is compared with at once


@located
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """True for each element that is among others.

    Args:
      element: array of any shape.
      test_elements: the others: array of any shape. A Python integer, here or above, may be beyond
        the other's dtype.
      assume_unique: for NumPy's sake.
      invert: whether it is not among them.
      method: 'auto', 'compare_all', 'binary_search' or 'sort'.
    Returns: boolean array of the shape of `element`.
    Example:
      >>> np.isin(np.arange(3), np.array([0, 2]))
      Array([ True, False,  True], dtype=bool)
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort'; got {method!r}"
        )
    if is_beyond(element, test_elements) or is_beyond(test_elements, element):
        return structural.full(aval(np.shape(element), dtypes.bool_), invert)  # type: ignore[arg-type]
    x, others = promote_values("isin", element, test_elements)
    n = others.size
    at_once = method == "compare_all" or (method == "auto" and n <= _FEW)
    if at_once or not n or dtypes.is_complex(x.dtype):
        return _compared(x, others, invert=bool(invert))
    run = _searched if x.size <= FEW_QUERIES else _search
    return run(x, others, invert=bool(invert))


@composite
def _compared(x: Any, others: Any, *, invert: bool) -> Any:
    """Membership, by comparing with all."""
    found = any(comparison.eq(reshape(x, (*x.shape, 1)), ravel(others)), -1)
    return ~found if invert else found


def _search(x: Any, others: Any, *, invert: bool) -> Any:
    """Membership, by search."""
    line = sort(ravel(others))
    place = searchsorted(line, x)
    last = literal(line.size - 1, place.dtype)
    found = comparison.eq(gather_along(line, arithmetic.min_(place, last)), x)
    return ~found if invert else found


def _search_by_numpy(x: Any, others: Any, *, invert: bool) -> Any:
    """NumPy's kernel for `_search`."""
    if not is_native(x, others):
        return None

    def kernel(x: Any, others: Any) -> Any:
        found = host_sets.members(x, np.sort(others, axis=None))
        return ~found if invert else found

    return kernel


_searched = composite(_search, evaluate=_search_by_numpy)


def in1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, invert: bool = False
) -> Array:
    """True for each element of the flattened `ar1` that is in `ar2`.

    Example:
      >>> np.in1d(np.arange(3), np.array([0, 2]))
      Array([ True, False,  True], dtype=bool)
    """
    return ravel(isin(ar1, ar2, assume_unique, invert))


# --- sets ---


def _flat_pair(name: str, ar1: Any, ar2: Any) -> Any:
    x, y = value(name, ar1, "ar1"), value(name, ar2, "ar2")
    if is_beyond(ar1, y):
        x = _joining(x, y)
    elif is_beyond(ar2, x):
        y = _joining(y, x)
    x, y = promote_values(name, x, y)
    return ravel(x), ravel(y)


def _joining(number: Any, other: Any) -> Any:
    """An integer beyond an array's dtype as one of the default dtype, if that holds both."""
    whole, dtype = dtypes.default_int(), other.aval.dtype
    wide = dtypes.is_integer(dtype) and dtypes.iinfo(whole).max >= dtypes.iinfo(dtype).max
    return strong(number) if wide else number


def _chosen(name: str, x: Any, mask: Any, size: Any, fill_value: Any, default: Any) -> Any:
    """The elements where a mask holds, in order; as many as told."""
    if size is None:
        size = _number(name, x, mask)
    size = result_length(name, size, "size")
    index = dtypes.default_int()
    slot = cumulative.cumsum(cast(mask, index), axis=0, reverse=False) - literal(1, index)
    slot = selection.select_n(mask, literal(size, index), slot)
    fill = default if fill_value is None else cast(value(name, fill_value, "fill_value"), x.dtype)
    start = structural.widen(fill, (size,)) if fill.ndim == 0 else fill
    return start.at[slot].set(x, mode="drop")


@located
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: Any = None
) -> Array:
    """The different elements of two arrays together, sorted.

    Args:
      size, fill_value: as in `unique`.
    Example:
      >>> np.union1d(np.array([1, 2]), np.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    both = concatenate(_flat_pair("union1d", ar1, ar2))
    return _unique("union1d", both, None, True, size, fill_value).values


@located
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The different elements of `ar1` that aren't in `ar2`, sorted.

    Args:
      assume_unique: the elements of `ar1` are known to be different, and are left in their order.
      size, fill_value: as in `unique`; the rest is filled with zeros by default.
    Example:
      >>> np.setdiff1d(np.array([1, 2, 3]), np.array([2]))
      Array([1, 3], dtype=int32)
    """
    x = ravel(value("setdiff1d", ar1, "ar1"))
    apart = is_beyond(ar1, ar2) or is_beyond(ar2, ar1)
    y = zeros((0,), x.dtype) if apart else ravel(value("setdiff1d", ar2, "ar2"))
    if size is None and fill_value is None and x.dtype == y.dtype:
        found = _run(host_sets.without if assume_unique else host_sets.difference, x, y)
        if found is not None:
            return found
    zero = structural.full(x.aval.update(shape=(), weak_type=False), 0)
    if assume_unique:
        return _chosen("setdiff1d", x, isin(x, y, invert=True), size, fill_value, zero)
    rows = reshape(x, (x.size, 1))
    _, ordered, first = _unique_sorted(rows, True)
    line = ravel(ordered)
    return _chosen("setdiff1d", line, first & isin(line, y, invert=True), size, fill_value, zero)


@located
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The different elements that are in just one of two arrays, sorted.

    NaN differs from NaN: if both arrays have it, it is there twice.

    Args:
      assume_unique: the elements of each array are known to be different.
      size, fill_value: as in `unique`.
    Example:
      >>> np.setxor1d(np.array([1, 2]), np.array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    x, y = _flat_pair("setxor1d", ar1, ar2)
    if size is None and fill_value is None:
        found = _run(host_sets.exclusive, x, y)
        if found is not None:
            return found
    both = concatenate([x, y])
    _, ordered, first = _unique_sorted(reshape(both, (both.size, 1)), True)
    line = ravel(ordered)
    mask = first & comparison.ne(isin(line, x), isin(line, y))
    if line.aval.inexact:  # NaN is different from NaN, and each array has it at most once
        nan, index = comparison.ne(line, line), dtypes.default_int()
        of_x, of_y = (cast(any(comparison.ne(z, z)), index) for z in (x, y))
        place = cumulative.cumsum(cast(nan, index), axis=0, reverse=False)
        mask = mask | (nan & comparison.le(place, of_x + of_y))
    default = _first_of(line, mask)
    return _chosen("setxor1d", line, mask, size, fill_value, default)


def _first_of(line: Any, mask: Any) -> Any:
    """The first element that a mask leaves (or the last one of all)."""
    if not line.size:
        return structural.full(line.aval.update(shape=(), weak_type=False), 0)
    index = dtypes.default_int()
    place = made.iota(dtype=index, shape=line.shape, dimension=0)
    last = literal(line.size - 1, index)
    return gather_along(line, min(selection.select_n(mask, last, place)))


@located
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements that are in both arrays, sorted.

    Args:
      assume_unique: the elements of each array are known to be different.
      return_indices: return the indices of their first occurrences in both arrays too.
      size, fill_value: as in `unique`.
    Returns: array, or a tuple of three.
    Example:
      >>> np.intersect1d(np.array([1, 2]), np.array([2, 3]))
      Array([2], dtype=int32)
    """
    if is_beyond(ar1, ar2):
        ar1 = zeros((0,), value("intersect1d", ar2).dtype)
    elif is_beyond(ar2, ar1):
        ar2 = zeros((0,), value("intersect1d", ar1).dtype)
    x, y = _flat_pair("intersect1d", ar1, ar2)
    if size is None and fill_value is None:
        found = _run(host_sets.common_with_indices if return_indices else host_sets.common, x, y)
        if found is not None:
            return tuple(found) if return_indices else found
    order, ordered, first = _unique_sorted(reshape(x, (x.size, 1)), True)
    line = ravel(ordered)
    mask = first & isin(line, y)
    if size is None:
        size = _number("intersect1d", x, mask)
    result = _chosen("intersect1d", line, mask, size, fill_value, _first_of(line, mask))
    if not return_indices:
        return result
    index = dtypes.default_int()
    here = _chosen("intersect1d", cast(order, index), mask, size, x.size, literal(0, index))
    order_y, ordered_y, first_y = _unique_sorted(reshape(y, (y.size, 1)), True)
    mask_y = first_y & isin(ravel(ordered_y), x)
    there = _chosen("intersect1d", cast(order_y, index), mask_y, size, y.size, literal(0, index))
    return result, here, there
