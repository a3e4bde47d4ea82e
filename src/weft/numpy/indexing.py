"""Indexing as NumPy's: what `x[index]` and iteration mean.

On the host an index goes to NumPy as it is; otherwise it becomes a slice and a reshape, or a
gather where arrays of indices are involved.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, as_value, from_host, literal
from ..core.aval import Aval, aval
from ..core.caching import remember
from ..core.source import note_user_line
from ..core.trace import current
from ..core.value import fill_operators
from ..extended_dtypes import is_extended, no_numbers
from ..interpreters.eager_tiers import accelerated
from ..lax.indexing import fill_number
from ..lax.operands import uncommitted
from ..lax.slicing import start_index
from ..primitives.arithmetic import div, rem, sub
from ..primitives.comparison import lt, ne
from ..primitives.creation import iota
from ..primitives.cumulative import cumsum
from ..primitives.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..primitives.dynamic_slicing import dynamic_slice
from ..primitives.indexing import gather, scatter
from ..primitives.selection import where
from ..primitives.slicing import concatenate, rev, slice_, split
from ..primitives.structural import convert_element_type, reshape, widen, zeros
from ..typing import ArrayLike
from .axes import one_axis, result_length
from .index_arrays import place_array, with_inserted
from .index_plans import Index, IntegerAt, New, Sliced, parse
from .plans import computing
from .promotion import cast, noted, value

__all__ = ["argwhere", "flatnonzero", "nonzero", "unstack"]

_base = current.base
FILL, PROMISE = GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS

# --- on the host ---

BASIC = frozenset((int, slice, type(None), type(Ellipsis)))
_rows: dict[Aval, Aval] = {}  # aval of an array -> that of its rows
_parts: dict[tuple[Aval, tuple[int, ...]], Aval] = {}  # … and the shape of a part


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`."""
    # NumPy's indexing takes 40-150 ns; aval's look-up as much again: 0.5 µs for x[0] (py3.11)
    if x.type is x.aval and current.trace is _base:
        host = x._host
        if host is None:
            host = host_of(x)
        kind = index.__class__
        try:
            if kind is int:
                result = host[index]
                try:
                    return Array(result, _rows[x.aval])
                except KeyError:
                    a = x.aval
                    row = remember(_rows, a, aval(a.shape[1:], a.dtype, a.weak_type))
                    return Array(result, row)
            if kind is slice:
                pass
            elif kind is tuple:
                for item in index:
                    if item.__class__ not in BASIC:
                        index = host_index(index)
                        break
            elif kind not in BASIC:
                index = host_index((index,))
            result = host[index]
            key = x.aval, result.shape
            try:
                return Array(result, _parts[key])
            except KeyError:
                a = x.aval
                part = remember(_parts, key, aval(result.shape, a.dtype, a.weak_type))
                return Array(result, part)
        except (IndexError, TypeError, ValueError):
            pass  # out of range, or not an index: the long way moves it inside, or explains
    try:
        return read("indexing", x, index)
    except (TypeError, ValueError, IndexError) as error:
        note_user_line(error)
        raise


fill_operators(getitem=getitem)


def host_of(x: Array) -> Any:
    """The elements if they are on the host, or cost nothing there (the CPU is the only device)."""
    if x._host is not None:
        return x._host
    return None if accelerated() else _base.fetch(x)


def host_index(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with arrays, as NumPy takes it.

    Raises: TypeError: there is something in it that NumPy understands differently, or not at all.
    """
    found: list[Any] = []
    for item in items:
        if uncommitted(item):
            item = host_of(item)
            if item is None:
                raise TypeError
        elif item.__class__ in BASIC:
            found.append(item)
            continue
        if not isinstance(item, (np.ndarray, np.generic)) or item.dtype.kind not in "iub":
            raise TypeError
        found.append(item)
    return tuple(found)


# --- anywhere ---


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
      mode: what becomes of places out of range; `None` moves them inside, and gives looked-up
        ones no share in derivatives.
      wrap: whether negative places count from the end.
    """
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    placed, outside = [], False
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
                at = p.place + n if wrap and p.place < 0 else p.place
                outside = outside or not 0 <= at < n
                placed.append(at)
            else:
                outside = True
                placed.append(start_index(name, p.place, n, wrap))
    if ix.lookups or (outside and mode is FILL):
        return look_up(x, ix, placed, mode, fill_value, indices_are_sorted, unique_indices, wrap)
    return cut_out(x, ix, placed)


def cut_out(x: Any, ix: Index, placed: Sequence[Any]) -> Any:
    """An index of slices and places."""
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts: list[Any] = []
    flipped = []
    places = iter(placed)
    known = True
    for p in ix.parts:
        if p.__class__ is Sliced:
            a = p.axis
            start[a], limit[a], strides[a] = p.bounds()
            if p.step < 0 and p.count > 1:
                flipped.append(a)
            starts.append(start[a])
        elif p.__class__ is IntegerAt:
            place = next(places)
            if place.__class__ is int:
                place = min(max(place, 0), x.shape[p.axis] - 1)
                start[p.axis], limit[p.axis] = place, place + 1
            else:
                known = False
            starts.append(place)
    # A differentiated loop over x[i] shares one signature: places are arguments of dynamic_slice.
    if known and placed and x.concrete() is not None and all(s == 1 for s in strides):
        known = False
    if known:
        if tuple(limit) != x.shape or any(start) or any(s != 1 for s in strides):
            x = slice_(x, start=tuple(start), limit=tuple(limit), strides=tuple(strides))
    else:
        dropped = [p.axis for p in ix.parts if p.__class__ is IntegerAt]
        x = cut_at_run_time(x, starts, start, limit, strides, dropped)
    if flipped:
        x = rev(x, dimensions=tuple(flipped))
    return x if x.shape == ix.shape else reshape(x, shape=ix.shape)


def cut_at_run_time(
    x: Any,
    starts: list[Any],
    start: list[int],
    limit: list[int],
    strides: list[int],
    placed: list[int],
) -> Any:
    """A window at places some of which are known at run time; strided axes are cut before."""
    if any(s != 1 for s in strides):
        low = [a if s != 1 else 0 for a, s in zip(start, strides, strict=True)]
        high = [b if s != 1 else n for b, s, n in zip(limit, strides, x.shape, strict=True)]
        x = slice_(x, start=tuple(low), limit=tuple(high), strides=tuple(strides))
        starts = [0 if s != 1 else a for a, s in zip(starts, strides, strict=True)]
    sizes = [
        1 if d in placed else n if s != 1 else b - a
        for d, (a, b, s, n) in enumerate(zip(start, limit, strides, x.shape, strict=True))
    ]
    return dynamic_slice(x, *map(as_value, starts), sizes=tuple(sizes))


def look_up(
    x: Any,
    ix: Index,
    placed: Sequence[Any],
    mode: GatherScatterMode | None,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap: bool,
) -> Any:
    """An index with arrays of indices: one gather, after what is sliced off beforehand."""
    start, limit, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    columns: list[tuple[int, Any, bool]] = []  # length of the axis, indices, whether to wrap
    index_map, collapsed, kept = [], [], []
    places = iter(placed)
    for p in ix.parts:
        if p.__class__ is Sliced:
            start[p.axis], limit[p.axis], strides[p.axis] = p.bounds()
            kept.append(p)
        elif p.__class__ is not New:
            collapsed.append(p.axis)
            n = x.shape[p.axis]
            if p.__class__ is IntegerAt:
                place = next(places)
                if place.__class__ is int and mode is not FILL:
                    place = min(max(place, 0), n - 1)
                if place.__class__ is int and 0 <= place < n:
                    start[p.axis], limit[p.axis] = place, place + 1
                    continue
                columns.append((n, place, False))
            else:
                columns.append((n, p.indices, wrap))
            index_map.append(p.axis)
    if tuple(limit) != x.shape or any(start) or any(s != 1 for s in strides):
        x = slice_(x, start=tuple(start), limit=tuple(limit), strides=tuple(strides))
    shape = ix.lookup_shape
    if 0 in ix.shape and any(not x.shape[a] for a in index_map):
        return zeros(x.aval.update(shape=ix.shape))  # there is nothing to gather from
    rank = len(shape)
    aligned = [(n, c, tuple(range(rank - np.ndim(c), rank)), w) for n, c, w in columns]
    before = sum(p.__class__ is Sliced for p in ix.parts[: ix.at])
    offset = (*range(before), *range(before + rank, len(kept) + rank))
    out = gather(
        x,
        place_array(aligned, shape),
        dimension_numbers=GatherDimensionNumbers(
            offset, tuple(sorted(collapsed)), tuple(index_map)
        ),
        slice_sizes=tuple(1 if a in collapsed else n for a, n in enumerate(x.shape)),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=PROMISE if mode is None else mode,
        fill_value=fill_number("at[…].get", x.dtype, fill_value) if mode is FILL else None,
    )
    flipped = [d for d, p in zip(offset, kept, strict=True) if p.step < 0 and p.count > 1]
    if flipped:
        out = rev(out, dimensions=tuple(flipped))
    return out if out.shape == ix.shape else reshape(out, shape=ix.shape)


# --- iteration ---


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis.

    Args:
      x: array with at least one axis.
      axis: negative ones count from the end.
    Returns: a tuple of arrays without that axis.
    Raises: ValueError: no axes, or out of range.
    Example:
      >>> a, b = np.unstack(np.array([[1, 2], [3, 4]]), axis=1)
      >>> a.tolist(), b.tolist()
      ([1, 3], [2, 4])
    """
    v = value("unstack", x)
    if not v.ndim:
        raise noted(
            errors.ShapeError(f"unstack: expected an array with at least one axis; got {v.aval}")
        )
    a = one_axis("unstack", axis, v.ndim)
    n, shape = v.shape[a], (*v.shape[:a], *v.shape[a + 1 :])
    if uncommitted(v) and computing():
        host = host_of(v)
        if host is not None:
            row = aval(shape, v.dtype, v.weak_type)
            return tuple([Array(h, row) for h in (np.moveaxis(host, a, 0) if a else host)])
    if n <= 1:
        return tuple([reshape(v, shape=shape)] * n)
    return tuple([reshape(p, shape=shape) for p in split(v, sizes=(1,) * n, axis=a)])


# --- where something holds ---


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The places of the elements that aren't zero.

    Args:
      a: array with at least one axis.
      size: how many places to return: the first ones; if there are fewer, `fill_value` follows.
        It is needed while `a` is traced, as it decides the result's shape.
      fill_value: a number, or one for each axis; 0 if left out.
    Returns: an integer array for each axis.
    Raises: ValueError: a scalar. ConcretizationTypeError: `a` is traced, and there is no size.
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
        known = known_elements("nonzero", x)
        return tuple(
            [from_host(i.astype(dtypes.default_int()), copy=False) for i in np.nonzero(known)]
        )
    places = result_length("nonzero", size, "size")
    fills = fill_value if isinstance(fill_value, (tuple, list)) else (fill_value,) * x.ndim
    if len(fills) != x.ndim:
        raise noted(
            errors.ShapeError(f"nonzero: {x.aval} needs {x.ndim} fill values; got {len(fills)}")
        )
    return _first_places(x, places, [0 if f is None else f for f in fills])


def known_elements(name: str, x: Any) -> Any:
    """The elements of an array that decide the result's shape."""
    known = x.concrete()
    if known is None:
        raise noted(
            errors.ConcretizationTypeError(
                f"{name}: how many elements of a traced {x.aval} aren't zero decides the result's "
                f"shape, and is not known while it is traced\n  fix: {name}(x, size=n)\n"
                f"{errors.see(errors.ConcretizationTypeError)}"
            )
        )
    if is_extended(x.dtype):
        raise noted(no_numbers(name, x.aval))
    return known.host()


def _first_places(x: Any, size: int, fills: Sequence[Any]) -> tuple[Any, ...]:
    """The first places of elements that aren't zero, by primitives."""
    kind = dtypes.default_int()
    fill = [cast(as_value(f), kind) for f in fills]
    if not size or not x.size:
        return tuple([widen(f, (size,)) for f in fill])
    mask = x if x.dtype == np.bool_ else ne(x, literal(0, x.dtype))
    mask = reshape(mask, shape=(x.size,))
    # The k-th element that isn't zero goes to place k; the others, and what is too much, nowhere.
    count = cumsum(convert_element_type(mask, dtype=kind), axis=0, reverse=False)
    places = where(mask, sub(count, literal(1, kind)), literal(size, kind))
    flat = scatter(
        zeros(aval((size,), kind)),
        reshape(places, shape=(x.size, 1)),
        iota(dtype=kind, shape=(x.size,), dimension=0),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=False,
        mode=FILL,
    )
    total = slice_(count, start=(x.size - 1,), limit=(x.size,), strides=(1,))
    there = lt(iota(dtype=kind, shape=(size,), dimension=0), total)
    return tuple(
        [where(there, i, f) for i, f in zip(coordinates(flat, x.shape), fill, strict=True)]
    )


def coordinates(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """For each axis, the index of elements given by their place in row-major order."""
    found: list[Any] = []
    for n in reversed(shape):
        length = literal(max(n, 1), flat.dtype) if n.__class__ is int else n
        found.append(rem(flat, length))
        flat = div(flat, length)
    return found[::-1]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The places of the elements that aren't zero, one in each row.

    Args:
      a: array.
      size, fill_value: as in `nonzero`.
    Returns: integer array [places, axes].
    Example:
      >>> np.argwhere(np.array([[0, 5], [7, 0]])).tolist()
      [[0, 1], [1, 0]]
    """
    x = value("argwhere", a)
    if not x.ndim:
        rows = reshape(x, shape=(1,))
        (found,) = nonzero(rows, size=size, fill_value=fill_value)
        return reshape(found, shape=(found.size, 1))[:, :0]
    columns = nonzero(x, size=size, fill_value=fill_value)
    made = [reshape(c, shape=(c.size, 1)) for c in columns]
    return concatenate(*made, dimension=1) if len(made) > 1 else made[0]


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The places, in row-major order, of the elements that aren't zero.

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
