"""Indexing, `x[index]`, and the indices of nonzero elements: nonzero, argwhere, flatnonzero.

An array on the host is indexed by NumPy itself. Otherwise an index becomes a slice and a reshape,
or one gather if it contains arrays of indices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, as_value, from_host, literal
from ..core.aval import Aval, aval
from ..core.caching import remember
from ..core.trace import current
from ..core.value import fill_operators
from ..extended_dtypes import is_extended, no_numbers
from ..interpreters.eager_tiers import accelerated
from ..lax.indexing import fill_number
from ..lax.operands import uncommitted
from ..lax.slicing import start_index
from ..primitives.arithmetic import div, rem, sub
from ..primitives.comparison import lt, ne
from ..primitives.creation import iota, zeros
from ..primitives.cumulative import cumsum
from ..primitives.dynamic_slicing import dynamic_slice
from ..primitives.gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..primitives.indexing import gather, scatter
from ..primitives.selection import where
from ..primitives.slicing import concatenate, rev, slice_
from ..primitives.structural import convert_element_type, reshape, widen
from ..typing import ArrayLike
from ..user_lines import note_user_line
from .axes import result_length
from .gather_indices import index_columns, with_inserted
from .index_parsing import Index, IntegerAt, New, Sliced, parse
from .promotion import cast, noted, value

__all__ = ["argwhere", "flatnonzero", "nonzero"]


_base = current.base
FILL, PROMISE = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS

# --- on the host ---

BASIC = frozenset((int, slice, type(None), type(Ellipsis)))
_rows: dict[Aval, Aval] = {}  # aval of an array -> aval of one row
_parts: dict[tuple[Aval, tuple[int, ...]], Aval] = {}  # (aval, shape of a part) -> its aval


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`."""
    if x.type is x.aval and current.trace is _base:
        host = x._host
        if host is None:
            host = host_of(x)
        index_type = index.__class__
        try:
            if index_type is int:
                result = host[index]
                try:
                    return Array(result, _rows[x.aval])
                except KeyError:
                    a = x.aval
                    row_aval = remember(_rows, a, aval(a.shape[1:], a.dtype, a.weak_type))
                    return Array(result, row_aval)
            if index_type is slice:
                pass
            elif index_type is tuple:
                for item in index:
                    if item.__class__ not in BASIC:
                        index = host_index(index)
                        break
            elif index_type not in BASIC:
                index = host_index((index,))
            result = host[index]
            key = x.aval, result.shape
            try:
                return Array(result, _parts[key])
            except KeyError:
                a = x.aval
                part_aval = remember(_parts, key, aval(result.shape, a.dtype, a.weak_type))
                return Array(result, part_aval)
        except (IndexError, TypeError, ValueError):
            pass  # out of range or not an index; `read` clamps it or raises the error
    try:
        return read("indexing", x, index)
    except (TypeError, ValueError, IndexError) as error:
        note_user_line(error)
        raise


fill_operators(getitem=getitem)


def host_of(x: Array) -> Any:
    """The elements if they are on the host, or if no accelerator is in use; `None` otherwise."""
    if x._host is not None:
        return x._host
    return None if accelerated() else _base.fetch(x)


def host_index(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with arrays as an index for NumPy.

    Raises: TypeError: NumPy treats an item differently, or rejects it.
    """
    host_items: list[Any] = []
    for item in items:
        if uncommitted(item):
            item = host_of(item)
            if item is None:
                raise TypeError
        elif item.__class__ in BASIC:
            host_items.append(item)
            continue
        if not isinstance(item, (np.ndarray, np.generic)) or item.dtype.kind not in "iub":
            raise TypeError
        host_items.append(item)
    return tuple(host_items)


# --- by primitives ---


def read(
    name: str,
    x: Any,
    index: Any,
    *,
    mode: GatherScatterMode | None = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap: bool = True,
) -> Any:
    """`x[index]` by primitives.

    Args:
      mode: how to treat indices out of range; `None` clamps them, but for looked-up elements their
        derivatives are zero.
      wrap: whether negative indices count from the end.
    """
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    integers, out_of_range = [], False
    for p in ix.parts:
        if p.__class__ is IntegerAt:
            n = x.shape[p.axis]
            if not n:
                raise noted(
                    errors.IndexingError(
                        f"{name}: axis {p.axis} of {x.aval} has no elements to index"
                    )
                )
            if p.place.__class__ is int:
                position = p.place + n if wrap and p.place < 0 else p.place
                out_of_range = out_of_range or not 0 <= position < n
                integers.append(position)
            else:
                out_of_range = True
                integers.append(start_index(name, p.place, n, wrap))
    if ix.lookups or (out_of_range and mode is FILL):
        return look_up(x, ix, integers, mode, fill_value, indices_are_sorted, unique_indices, wrap)
    return apply_slices(x, ix, integers)


def apply_slices(x: Any, ix: Index, integers: Sequence[Any]) -> Any:
    """Applies an index of slices and integers: a slice, and a reshape."""
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts: list[Any] = []
    reversed_axes = []
    indices = iter(integers)
    is_static = True
    for p in ix.parts:
        if p.__class__ is Sliced:
            a = p.axis
            start[a], limit[a], strides[a] = p.bounds()
            if p.step < 0 and p.count > 1:
                reversed_axes.append(a)
            starts.append(start[a])
        elif p.__class__ is IntegerAt:
            index = next(indices)
            if index.__class__ is int:
                index = min(max(index, 0), x.shape[p.axis] - 1)
                start[p.axis], limit[p.axis] = index, index + 1
            else:
                is_static = False
            starts.append(index)
    # For x[i] in a differentiated loop, the index is an argument, so one program works for all i.
    if is_static and integers and x.concrete() is not None and all(s == 1 for s in strides):
        is_static = False
    if is_static:
        if tuple(limit) != x.shape or any(start) or any(s != 1 for s in strides):
            x = slice_(x, start=tuple(start), limit=tuple(limit), strides=tuple(strides))
    else:
        integer_axes = [p.axis for p in ix.parts if p.__class__ is IntegerAt]
        x = dynamic_window(x, starts, start, limit, strides, integer_axes)
    if reversed_axes:
        x = rev(x, dimensions=tuple(reversed_axes))
    return x if x.shape == ix.shape else reshape(x, shape=ix.shape)


def dynamic_window(
    x: Any,
    starts: list[Any],
    start: list[int],
    limit: list[int],
    strides: list[int],
    integer_axes: list[int],
) -> Any:
    """A window at run-time positions; strided axes are sliced first."""
    if any(s != 1 for s in strides):
        first_start = [a if s != 1 else 0 for a, s in zip(start, strides, strict=True)]
        first_limit = [b if s != 1 else n for b, s, n in zip(limit, strides, x.shape, strict=True)]
        x = slice_(x, start=tuple(first_start), limit=tuple(first_limit), strides=tuple(strides))
        starts = [0 if s != 1 else a for a, s in zip(starts, strides, strict=True)]
    sizes = [
        1 if d in integer_axes else n if s != 1 else b - a
        for d, (a, b, s, n) in enumerate(zip(start, limit, strides, x.shape, strict=True))
    ]
    return dynamic_slice(x, *map(as_value, starts), sizes=tuple(sizes))


def look_up(
    x: Any,
    ix: Index,
    integers: Sequence[Any],
    mode: GatherScatterMode | None,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap: bool,
) -> Any:
    """Applies an index with arrays: a slice for its static part, then one gather."""
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    columns: list[tuple[int, Any, bool]] = []  # length of the axis, indices, whether to wrap
    index_map, collapsed_axes, slices = [], [], []
    indices = iter(integers)
    for p in ix.parts:
        if p.__class__ is Sliced:
            start[p.axis], limit[p.axis], strides[p.axis] = p.bounds()
            slices.append(p)
        elif p.__class__ is not New:
            collapsed_axes.append(p.axis)
            n = x.shape[p.axis]
            if p.__class__ is IntegerAt:
                index = next(indices)
                if index.__class__ is int and mode is not FILL:
                    index = min(max(index, 0), n - 1)
                if index.__class__ is int and 0 <= index < n:
                    start[p.axis], limit[p.axis] = index, index + 1
                    continue
                columns.append((n, index, False))
            else:
                columns.append((n, p.indices, wrap))
            index_map.append(p.axis)
    if tuple(limit) != x.shape or any(start) or any(s != 1 for s in strides):
        x = slice_(x, start=tuple(start), limit=tuple(limit), strides=tuple(strides))
    shape = ix.lookup_shape
    if 0 in ix.shape and any(not x.shape[a] for a in index_map):
        return zeros(x.aval.update(shape=ix.shape))  # there are no elements to gather
    rank = len(shape)
    aligned = [(n, c, tuple(range(rank - np.ndim(c), rank)), w) for n, c, w in columns]
    slices_before = sum(p.__class__ is Sliced for p in ix.parts[: ix.at])
    offset = (*range(slices_before), *range(slices_before + rank, len(slices) + rank))
    out = gather(
        x,
        index_columns(aligned, shape),
        dimension_numbers=GatherDimensionNumbers(
            offset, tuple(sorted(collapsed_axes)), tuple(index_map)
        ),
        slice_sizes=tuple(1 if a in collapsed_axes else n for a, n in enumerate(x.shape)),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=PROMISE if mode is None else mode,
        fill_value=fill_number("at[…].get", x.dtype, fill_value) if mode is FILL else None,
    )
    reversed_axes = [d for d, p in zip(offset, slices, strict=True) if p.step < 0 and p.count > 1]
    if reversed_axes:
        out = rev(out, dimensions=tuple(reversed_axes))
    return out if out.shape == ix.shape else reshape(out, shape=ix.shape)


# --- nonzero elements ---


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The indices of the nonzero elements.

    Args:
      a: array with at least one axis.
      size: the number of indices to return: the first ones, padded with `fill_value`. It is
        required when `a` is traced, because it decides the shape of the result.
      fill_value: a number, or one for each axis; 0 by default.
    Returns: an integer array for each axis.
    Raises: ValueError: `a` is a scalar. ConcretizationTypeError: `a` is traced, without `size`.
    Example:
      >>> [i.tolist() for i in np.nonzero(np.array([0, 5, 0, 7]), size=3, fill_value=-1)]
      [[1, 3, -1]]
    """
    x = value("nonzero", a)
    if not x.ndim:
        raise noted(
            errors.ShapeError(
                f"nonzero: expected an array with at least one axis; got {x.aval}\n"
                "  fix: np.atleast_1d(x)"
            )
        )
    if size is None:
        elements = known_elements("nonzero", x)
        return tuple(
            [from_host(i.astype(dtypes.default_int()), copy=False) for i in np.nonzero(elements)]
        )
    length = result_length("nonzero", size, "size")
    fill_values = fill_value if isinstance(fill_value, (tuple, list)) else (fill_value,) * x.ndim
    if len(fill_values) != x.ndim:
        raise noted(
            errors.ShapeError(
                f"nonzero: {x.aval} needs {x.ndim} fill values; got {len(fill_values)}"
            )
        )
    return _first_places(x, length, [0 if f is None else f for f in fill_values])


def known_elements(name: str, x: Any) -> Any:
    """The elements of a concrete array. Raises an error for a traced array, with the reason."""
    concrete = x.concrete()
    if concrete is None:
        raise noted(
            errors.ConcretizationTypeError(
                f"{name}: the number of nonzero elements decides the shape of the result, and is "
                f"not known while {x.aval} is traced\n  fix: {name}(x, size=n)\n"
                f"{errors.see(errors.ConcretizationTypeError)}"
            )
        )
    if is_extended(x.dtype):
        raise noted(no_numbers(name, x.aval))
    return concrete.host()


def _first_places(x: Any, size: int, fill_options: Sequence[Any]) -> tuple[Any, ...]:
    """The indices of the first nonzero elements, by primitives: a cumulative sum and a scatter."""
    index_dtype = dtypes.default_int()
    fill_values = [cast(as_value(f), index_dtype) for f in fill_options]
    if not size or not x.size:
        return tuple([widen(f, (size,)) for f in fill_values])
    mask = x if x.dtype == np.bool_ else ne(x, literal(0, x.dtype))
    mask = reshape(mask, shape=(x.size,))
    # The k-th nonzero element goes to position k; all others are dropped.
    count = cumsum(convert_element_type(mask, dtype=index_dtype), axis=0, reverse=False)
    targets = where(mask, sub(count, literal(1, index_dtype)), literal(size, index_dtype))
    flat_indices = scatter(
        zeros(aval((size,), index_dtype)),
        reshape(targets, shape=(x.size, 1)),
        iota(dtype=index_dtype, shape=(x.size,), dimension=0),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=FILL,
    )
    total = slice_(count, start=(x.size - 1,), limit=(x.size,), strides=(1,))
    exists = lt(iota(dtype=index_dtype, shape=(size,), dimension=0), total)
    return tuple(
        [
            where(exists, i, f)
            for i, f in zip(coordinates(flat_indices, x.shape), fill_values, strict=True)
        ]
    )


def coordinates(flat_indices: Any, shape: Sequence[Any]) -> list[Any]:
    """The index along each axis of elements, from their row-major index."""
    indices: list[Any] = []
    for n in reversed(shape):
        length = literal(max(n, 1), flat_indices.dtype) if n.__class__ is int else n
        indices.append(rem(flat_indices, length))
        flat_indices = div(flat_indices, length)
    return indices[::-1]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the nonzero elements, one row for each element.

    Args:
      a: array.
      size, fill_value: as in `nonzero`.
    Returns: integer array [number of nonzero elements, number of axes].
    Example:
      >>> np.argwhere(np.array([[0, 5], [7, 0]])).tolist()
      [[0, 1], [1, 0]]
    """
    x = value("argwhere", a)
    if not x.ndim:
        rows = reshape(x, shape=(1,))
        (indices,) = nonzero(rows, size=size, fill_value=fill_value)
        return reshape(indices, shape=(indices.size, 1))[:, :0]
    columns = nonzero(x, size=size, fill_value=fill_value)
    parts = [reshape(c, shape=(c.size, 1)) for c in columns]
    return concatenate(*parts, dimension=1) if len(parts) > 1 else parts[0]


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the nonzero elements in the flattened array.

    Args:
      a: array.
      size, fill_value: as in `nonzero`.
    Returns: integer array of one axis.
    Example:
      >>> np.flatnonzero(np.array([[0, 5], [7, 0]])).tolist()
      [1, 2]
    """
    x = value("flatnonzero", a)
    return nonzero(reshape(x, shape=(x.size,)), size=size, fill_value=fill_value)[0]
