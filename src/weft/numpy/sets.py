"""Arrays as sets: unique, unique_all, unique_counts, unique_inverse, unique_values; isin (in1d),
union1d, intersect1d, setdiff1d, setxor1d.

The elements are sorted, and neighbours are compared. Results whose length depends on the elements
need `size=` if arrays are traced.
"""

from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.kernels import run_kernel
from ..core.source import located
from ..errors import ConcretizationTypeError, ShapeError
from ..lax.axes import slice_along
from ..primitives import (
    arithmetic,
    comparison,
    creation,
    cumulative,
    selection,
    slicing,
    sorting as primitive,
    structural,
)
from ..typing import ArrayLike, Axis
from . import host_sets
from .axes import one_axis, result_length
from .axis_gathers import gather_along
from .comparison import is_beyond
from .creation import from_numpy, zeros
from .joining import concatenate
from .plans import composite, is_native, native_elements
from .promotion import cast, noted, promote_values, strong, value
from .reductions import any, min
from .rounding import is_integral
from .shapes import ravel, reshape
from .sorting import MAX_HOST_QUERIES, searchsorted, sort

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
    """The results of a function of `host_sets` for flattened values, with indices of the default
    integer dtype; `None` if NumPy must not compute them."""
    hosts = native_elements(*xs)
    if hosts is None:
        return None
    result = run_kernel(kernel, *[np.ravel(h) for h in hosts], *options)
    if result.__class__ is not np.ndarray:
        return [None if array is None else from_numpy(array) for array in result]
    return from_numpy(result)


def _count_true(name: str, x: Any, mask: Any) -> int:
    """The number of elements where a mask of `x` is true: the length of the result."""
    concrete = mask.concrete()
    if concrete is None:
        raise noted(
            ConcretizationTypeError(
                f"{name}: the length of the result depends on the elements of a traced {x.aval}\n"
                f"  fix: {name}(…, size=n, fill_value=…) gives a result of length n"
            )
        )
    return int(np.count_nonzero(concrete.host()))


# --- unique ---


def _unique_sorted(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """For the rows of an [n, m] array: the indices that sort them, the sorted rows, and a mask of
    the first of each group of equal rows."""
    n, m = rows.shape
    index_dtype = dtypes.int32
    indices = creation.iota(dtype=index_dtype, shape=(n,), dimension=0)
    if n < 1:
        return indices, rows, zeros((0,), bool)
    keys = rows
    if dtypes.is_complex(rows.dtype):  # NaN in either part comes last, as in NumPy
        undefined = comparison.ne(rows, rows)
        keys = selection.select_n(undefined, rows, literal(complex(np.nan, np.nan), rows.dtype))
    columns = [reshape(slice_along(keys, 1, k, k + 1), (n,)) for k in range(m)]
    *_, order = (
        primitive.sort(*columns, indices, dimension=0, is_stable=True, num_keys=max(m, 1))
        if m
        else (indices,)
    )
    sorted_rows = gather_along(rows, order)
    predecessors, successors = (
        slice_along(sorted_rows, 0, 0, n - 1),
        slice_along(sorted_rows, 0, 1, n),
    )
    differs = comparison.ne(predecessors, successors)
    if equal_nan and not is_integral(rows):
        both_nan = comparison.ne(predecessors, predecessors) & comparison.ne(successors, successors)
        differs = differs & ~both_nan
    first_flag = from_numpy(np.ones(1, bool))
    return order, sorted_rows, slicing.concatenate(first_flag, any(differs, 1), dimension=0)


class _Unique(NamedTuple):
    values: Any
    index: Any
    inverse: Any
    counts: Any


def _unique_traced(rows: Any, size: int, fill_value: Any, equal_nan: bool) -> _Unique:
    """The unique rows of an array, padded or truncated to `size`."""
    n = rows.shape[0]
    index = dtypes.default_int()
    order, sorted_rows, is_first = _unique_sorted(rows, equal_nan)
    order = cast(order, index)
    group = cumulative.cumsum(cast(is_first, index), axis=0, reverse=False)
    count = gather_along(group, literal(n - 1, index)) if n else literal(0, index)
    slot = group - literal(1, index)  # the index in the result
    inverse = zeros(n, index).at[order].set(slot)
    counts = zeros(size, index).at[slot].add(1, mode="drop")
    starts = (
        creation.full(counts.aval, max(n - 1, 0))
        .at[slot]
        .min(creation.iota(dtype=index, shape=(n,), dimension=0), mode="drop")
    )
    values = gather_along(sorted_rows, starts) if n else zeros((size, rows.shape[1]), rows.dtype)
    sources = gather_along(order, starts) if n else zeros(size, index)
    positions = creation.iota(dtype=index, shape=(size,), dimension=0)
    is_padding = comparison.ge(positions, count)
    if fill_value is None:
        padding: Any = slice_along(values, 0, 0, 1) if size and n else literal(0, rows.dtype)
    else:
        padding = cast(value("unique", fill_value, "fill_value"), rows.dtype)
        if padding.ndim == 1 and padding.size not in (1, rows.shape[1]):
            raise noted(
                ShapeError(f"unique: fill_value {padding.aval} does not fit rows of {rows.aval}")
            )
    values = selection.select_n(
        reshape(is_padding, (size, 1)), values, structural.widen(padding, values.shape)
    )
    if size and n:
        sources = selection.select_n(
            is_padding, sources, structural.widen(slice_along(sources, 0, 0, 1), (size,))
        )
    return _Unique(values, sources, inverse, counts)


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
    """The sorted unique elements of an array.

    Args:
      ar: array of any shape.
      return_index: also return the index of the first occurrence of each element.
      return_inverse: also return the indices in the result that reconstruct `ar`.
      return_counts: also return the number of occurrences of each element.
      axis: compare slices along this axis; None flattens the array.
      equal_nan: whether NaN equals NaN.
      size: the length of the result, required when `ar` is traced; the result is padded with
        `fill_value`, or truncated.
      fill_value: the padding; by default the smallest element.
      sorted: ignored: the elements are always sorted.
    Returns: array, or a tuple with the other requested arrays.
    Raises: ConcretizationTypeError: `ar` is traced, and `size` is missing.
    Example:
      >>> np.unique(np.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
      >>> np.unique(np.array([3, 1, 3]), size=3, fill_value=0)
      Array([1, 3, 0], dtype=int32)
    """
    requests = bool(return_index), bool(return_inverse), bool(return_counts)
    x = value("unique", ar, "ar")
    unique_arrays = _unique("unique", x, axis, bool(equal_nan), size, fill_value, requests)
    results = [
        r for r, is_requested in zip(unique_arrays, (True, *requests), strict=True) if is_requested
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _unique(
    name: str,
    x: Any,
    axis: Any,
    equal_nan: bool,
    size: Any,
    fill_value: Any,
    requests: tuple[bool, bool, bool] = (False, False, False),
) -> _Unique:
    """The unique elements; `requests` has a flag for each of index, inverse and counts."""
    if size is not None:
        size = result_length(name, size, "size")
    elif axis is None and fill_value is None:
        result = _run(host_sets.unique, x, options=(equal_nan, *requests))
        if result is not None:
            values, index, inverse, counts = result
            if inverse is not None and x.ndim != 1:
                inverse = reshape(inverse, x.shape)
            return _Unique(values, index, inverse, counts)
    shape = x.shape
    if axis is None:
        rows, i = reshape(x, (x.size, 1)), None
    else:
        i = one_axis(name, axis, x)
        slices_first = structural.move_axis(x, i, 0)
        rows = reshape(slices_first, (shape[i], x.size // shape[i] if shape[i] else 0))
    if size is None:
        size = _count_true(name, x, _unique_sorted(rows, equal_nan)[2])
    result = _unique_traced(rows, size, fill_value, equal_nan)
    if i is None:
        return result._replace(values=ravel(result.values), inverse=reshape(result.inverse, shape))
    slices = reshape(result.values, (size, *slices_first.shape[1:]))
    return result._replace(values=structural.move_axis(slices, 0, i))


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
    """(values, indices, inverse_indices, counts) of `unique`, where NaN does not equal NaN.

    Example:
      >>> np.unique_all(np.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    v, requests = value("unique_all", x), (True, True, True)
    return UniqueAll(*_unique("unique_all", v, None, False, size, fill_value, requests))


@located
def unique_counts(x: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """(values, counts) of `unique`, where NaN does not equal NaN.

    Example:
      >>> np.unique_counts(np.array([3, 1, 3])).values
      Array([1, 3], dtype=int32)
    """
    v, requests = value("unique_counts", x), (False, False, True)
    result = _unique("unique_counts", v, None, False, size, fill_value, requests)
    return UniqueCounts(result.values, result.counts)


@located
def unique_inverse(
    x: ArrayLike, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverse:
    """(values, inverse_indices) of `unique`, where NaN does not equal NaN.

    Example:
      >>> np.unique_inverse(np.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    v, requests = value("unique_inverse", x), (False, True, False)
    result = _unique("unique_inverse", v, None, False, size, fill_value, requests)
    return UniqueInverse(result.values, result.inverse)


@located
def unique_values(x: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The values of `unique`, where NaN does not equal NaN.

    Example:
      >>> np.unique_values(np.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return _unique("unique_values", value("unique_values", x), None, False, size, fill_value).values


# --- membership ---

_MAX_COMPARED = 32  # for more test elements, a search is faster than comparing with each one


@located
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Tests whether each element of an array is in a second array.

    Args:
      element: array of any shape.
      test_elements: the second array, of any shape. Either may be a Python integer that the dtype
        of the other cannot represent.
      assume_unique: ignored.
      invert: test whether it is not in the second array.
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
        return creation.full(aval(np.shape(element), dtypes.bool_), invert)  # type: ignore[arg-type]
    x, test_values = promote_values("isin", element, test_elements)
    n = test_values.size
    at_once = method == "compare_all" or (method == "auto" and n <= _MAX_COMPARED)
    if at_once or not n or dtypes.is_complex(x.dtype):
        return _compared(x, test_values, invert=bool(invert))
    run = _searched if x.size <= MAX_HOST_QUERIES else _search
    return run(x, test_values, invert=bool(invert))


@composite
def _compared(x: Any, test_elements: Any, *, invert: bool) -> Any:
    """Membership by comparison with all elements."""
    is_member = any(comparison.eq(reshape(x, (*x.shape, 1)), ravel(test_elements)), -1)
    return ~is_member if invert else is_member


def _search(x: Any, others: Any, *, invert: bool) -> Any:
    """Membership by binary search."""
    sorted_elements = sort(ravel(others))
    position = searchsorted(sorted_elements, x)
    last_position = literal(sorted_elements.size - 1, position.dtype)
    is_member = comparison.eq(
        gather_along(sorted_elements, arithmetic.min_(position, last_position)), x
    )
    return ~is_member if invert else is_member


def _search_by_numpy(x: Any, others: Any, *, invert: bool) -> Any:
    """NumPy's kernel for `_search`."""
    if not is_native(x, others):
        return None

    def kernel(x: Any, others: Any) -> Any:
        is_member = host_sets.members(x, np.sort(others, axis=None))
        return ~is_member if invert else is_member

    return kernel


_searched = composite(_search, evaluate=_search_by_numpy)


def in1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, invert: bool = False
) -> Array:
    """Tests whether each element of the flattened `ar1` is in `ar2`.

    Example:
      >>> np.in1d(np.arange(3), np.array([0, 2]))
      Array([ True, False,  True], dtype=bool)
    """
    return ravel(isin(ar1, ar2, assume_unique, invert))


# --- sets ---


def _flat_pair(name: str, ar1: Any, ar2: Any) -> Any:
    x, y = value(name, ar1, "ar1"), value(name, ar2, "ar2")
    if is_beyond(ar1, y):
        x = _in_common_dtype(x, y)
    elif is_beyond(ar2, x):
        y = _in_common_dtype(y, x)
    x, y = promote_values(name, x, y)
    return ravel(x), ravel(y)


def _in_common_dtype(number: Any, other: Any) -> Any:
    """Converts an integer out of range for an array to the default dtype, if that represents
    both."""
    int_dtype, dtype = dtypes.default_int(), other.aval.dtype
    represents_both = (
        dtypes.is_integer(dtype) and dtypes.iinfo(int_dtype).max >= dtypes.iinfo(dtype).max
    )
    return strong(number) if represents_both else number


def _masked(name: str, x: Any, mask: Any, size: Any, fill_value: Any, default: Any) -> Any:
    """The elements where a mask is true, in order, padded or truncated to `size`."""
    if size is None:
        size = _count_true(name, x, mask)
    size = result_length(name, size, "size")
    index = dtypes.default_int()
    target = cumulative.cumsum(cast(mask, index), axis=0, reverse=False) - literal(1, index)
    target = selection.select_n(mask, literal(size, index), target)
    padding = (
        default if fill_value is None else cast(value(name, fill_value, "fill_value"), x.dtype)
    )
    if padding.shape not in ((), (size,)):
        raise ShapeError(f"{name}: fill_value must be a scalar; got {padding.aval}")
    initial = structural.widen(padding, (size,)) if padding.ndim == 0 else padding
    return initial.at[target].set(x, mode="drop")


@located
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: Any = None
) -> Array:
    """The sorted unique elements that are in either of two arrays.

    Args:
      size, fill_value: as in `unique`.
    Example:
      >>> np.union1d(np.array([1, 2]), np.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    elements = concatenate(_flat_pair("union1d", ar1, ar2))
    return _unique("union1d", elements, None, True, size, fill_value).values


@located
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted unique elements of `ar1` that are not in `ar2`.

    Args:
      assume_unique: the elements of `ar1` are unique; the result keeps their order.
      size, fill_value: as in `unique`; by default the padding is 0.
    Example:
      >>> np.setdiff1d(np.array([1, 2, 3]), np.array([2]))
      Array([1, 3], dtype=int32)
    """
    x = ravel(value("setdiff1d", ar1, "ar1"))
    is_disjoint = is_beyond(ar1, ar2) or is_beyond(ar2, ar1)
    y = zeros((0,), x.dtype) if is_disjoint else ravel(value("setdiff1d", ar2, "ar2"))
    if size is None and fill_value is None and x.dtype == y.dtype:
        result = _run(host_sets.without if assume_unique else host_sets.difference, x, y)
        if result is not None:
            return result
    zero = creation.full(x.aval.update(shape=(), weak_type=False), 0)
    if assume_unique:
        return _masked("setdiff1d", x, isin(x, y, invert=True), size, fill_value, zero)
    rows = reshape(x, (x.size, 1))
    _, sorted_rows, is_first = _unique_sorted(rows, True)
    sorted_x = ravel(sorted_rows)
    return _masked(
        "setdiff1d", sorted_x, is_first & isin(sorted_x, y, invert=True), size, fill_value, zero
    )


@located
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array:
    """The sorted unique elements that are in exactly one of two arrays. NaN differs from NaN, so if
    both arrays have it, it occurs twice.

    Args:
      assume_unique: ignored.
      size, fill_value: as in `unique`.
    Example:
      >>> np.setxor1d(np.array([1, 2]), np.array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    x, y = _flat_pair("setxor1d", ar1, ar2)
    if size is None and fill_value is None:
        result = _run(host_sets.exclusive, x, y)
        if result is not None:
            return result
    all_elements = concatenate([x, y])
    _, sorted_rows, is_first = _unique_sorted(reshape(all_elements, (all_elements.size, 1)), True)
    elements = ravel(sorted_rows)
    mask = is_first & comparison.ne(isin(elements, x), isin(elements, y))
    if elements.aval.inexact:  # NaN does not equal NaN; each array contributes at most one
        nan, index = comparison.ne(elements, elements), dtypes.default_int()
        nan_in_x, nan_in_y = (cast(any(comparison.ne(z, z)), index) for z in (x, y))
        nan_number = cumulative.cumsum(cast(nan, index), axis=0, reverse=False)
        mask = mask | (nan & comparison.le(nan_number, nan_in_x + nan_in_y))
    default = _first_of(elements, mask)
    return _masked("setxor1d", elements, mask, size, fill_value, default)


def _first_of(elements: Any, mask: Any) -> Any:
    """The first element where a mask is true, or the last element."""
    if not elements.size:
        return creation.full(elements.aval.update(shape=(), weak_type=False), 0)
    index = dtypes.default_int()
    positions = creation.iota(dtype=index, shape=elements.shape, dimension=0)
    last_position = literal(elements.size - 1, index)
    return gather_along(elements, min(selection.select_n(mask, last_position, positions)))


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
    """The sorted unique elements that are in both of two arrays.

    Args:
      assume_unique: ignored.
      return_indices: also return the indices of their first occurrences in both arrays.
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
        common = _run(host_sets.common_with_indices if return_indices else host_sets.common, x, y)
        if common is not None:
            return tuple(common) if return_indices else common
    order, sorted_rows, is_first = _unique_sorted(reshape(x, (x.size, 1)), True)
    elements = ravel(sorted_rows)
    mask = is_first & isin(elements, y)
    if size is None:
        size = _count_true("intersect1d", x, mask)
    result = _masked("intersect1d", elements, mask, size, fill_value, _first_of(elements, mask))
    if not return_indices:
        return result
    index = dtypes.default_int()
    index_x = _masked("intersect1d", cast(order, index), mask, size, x.size, literal(0, index))
    order_y, sorted_y, is_first_y = _unique_sorted(reshape(y, (y.size, 1)), True)
    mask_y = is_first_y & isin(ravel(sorted_y), x)
    index_y = _masked("intersect1d", cast(order_y, index), mask_y, size, y.size, literal(0, index))
    return result, index_x, index_y
