"""Changed copies of arrays, for `x.at[index]`.

On the host a copy is changed in place; otherwise a window known beforehand becomes
dynamic_update_slice, anything else one scatter. Places out of range are left alone.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.array import as_value
from ..core.primitive import Axis
from ..core.value import Value
from ..errors import IndexingError, ShapeError
from ..interpreters.batch import batch
from ..lax.indexing import scatter_apply
from ..lax.operands import uncommitted
from ..lax.slicing import start_index
from ..primitives import arithmetic, indexing, structural
from ..primitives.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ..primitives.dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..primitives.selection import where
from ..primitives.slicing import rev, slice_
from ..primitives.structural import reshape, widen
from ..user_lines import levels_to_user
from .creation import asarray
from .index_arrays import place_array, with_inserted
from .index_plans import Index, IntegerAt, LookedUp, New, Sliced, parse, unknown_mask
from .indexing import BASIC, host_index, host_of
from .promotion import SCALARS, cast, noted

CLIP, DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
Mode = str | GatherScatterMode | None


class Operation(NamedTuple):
    """A way to change elements: as a scatter, elementwise on a window, and by NumPy."""

    name: str
    scatter: Any
    elementwise: Any
    ufunc: Any


SET = Operation("set", indexing.scatter, None, None)
ADD = Operation("add", indexing.scatter_add, structural.add, np.add)
SUBTRACT = Operation("subtract", None, arithmetic.sub, np.subtract)
MULTIPLY = Operation("multiply", indexing.scatter_mul, arithmetic.mul, np.multiply)
MIN = Operation("min", indexing.scatter_min, arithmetic.min_, np.minimum)
MAX = Operation("max", indexing.scatter_max, arithmetic.max_, np.maximum)


# --- on the host ---

# Python's scalars that lose nothing in arrays of a NumPy kind.
_FITTING = {
    "b": frozenset((bool,)),
    "i": frozenset((bool, int)),
    "u": frozenset((bool, int)),
    "f": frozenset((bool, int, float)),
    "c": SCALARS,
}


def changed_copy(host: Any, index: Any, values: Any, ufunc: Any) -> Any:
    """A changed copy of a NumPy array; `None` if that needs more thought (places out of range,
    values of another dtype)."""
    dtype = host.dtype
    kind = values.__class__
    try:
        if kind in SCALARS:
            if kind not in _FITTING.get(dtype.kind, ()):
                return None
            values = dtype.type(values)
        elif uncommitted(values):
            if values.aval.dtype is not dtype:
                return None
            values = host_of(values)
            if values is None:
                return None
        elif not isinstance(values, (np.ndarray, np.generic)) or values.dtype != dtype:
            return None
        advanced = False
        if index.__class__ is tuple:
            for item in index:
                if item.__class__ not in BASIC:
                    index, advanced = host_index(index), True
                    break
        elif index.__class__ not in BASIC:
            index, advanced = host_index((index,)), True
        new = host.copy()
        if values.ndim and values.ndim > new[index].ndim:
            return None
        if ufunc is None:
            new[index] = values
        elif advanced:
            ufunc.at(new, index, values)
        else:
            new[index] = ufunc(new[index], values)
        return new
    except (IndexError, TypeError, ValueError, OverflowError):
        return None


# --- anywhere ---


def changed(
    x: Any,
    index: Any,
    values: Any,
    operation: Operation,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
    wrap: bool,
) -> Any:
    """A copy of `x` with elements changed, by primitives."""
    name = f"at[…].{operation.name}"
    how = None if mode is None else GatherScatterMode.from_any(mode)
    y = asarray(values) if isinstance(values, (list, tuple)) else as_value(values)
    kept = x.aval
    try:
        common, _ = dtypes.promote(x.dtype, x.weak_type, y.dtype, y.weak_type)
    except TypeError as error:
        raise noted(TypeError(f"{name}: {error}")) from None
    if common != x.dtype:
        warn_of_loss(name, x, y)
        if operation is not SET:
            x = cast(x, common)
    y = cast(y, x.dtype)
    mask = traced_mask(index)
    if mask is not None:
        out = chosen(name, x, mask, y, operation)
    else:
        out = changed_at(
            name, x, index, y, operation, indices_are_sorted, unique_indices, how, wrap
        )
    return cast(out, kept.dtype, kept.weak_type)


def warn_of_loss(name: str, x: Any, y: Any) -> None:
    """Says that values may not survive in the array's dtype."""
    warnings.warn(
        f"{name}: {y.aval} may lose something in {x.aval}; in the future this will be an error\n"
        f"  fix: y.astype(x.dtype) if that is meant, or x.astype(y.dtype) first",
        FutureWarning,
        stacklevel=levels_to_user(),
    )


def traced_mask(index: Any) -> Any:
    """A mask that is the whole index and isn't known now, or `None`."""
    if index.__class__ is tuple and len(index) == 1:
        index = index[0]
    if isinstance(index, Value) and index.dtype == np.bool_ and index.concrete() is None:
        return index
    return None


def chosen(name: str, x: Any, mask: Any, y: Any, operation: Operation) -> Any:
    """Changes where a traced mask holds: possible for values that don't run along with it."""
    if y.ndim > x.ndim - mask.ndim or not mask.ndim:
        raise noted(unknown_mask(name, x, mask))
    if mask.shape != x.shape[: mask.ndim]:
        raise noted(
            IndexingError(
                f"{name}: a mask must have the lengths of the axes that it is for; got {mask.aval} "
                f"for {x.aval}"
            )
        )
    wide = reshape(mask, shape=(*mask.shape, *(1,) * (x.ndim - mask.ndim)))
    new = fitted(name, y, x.shape) if operation is SET else operation.elementwise(x, y)
    return where(wide, new, x)


def fitted(name: str, y: Any, shape: tuple[int, ...]) -> Any:
    """Values broadcast to the shape of what they are for."""
    offset = len(shape) - y.ndim
    if offset < 0 or any(n not in (1, shape[offset + i]) for i, n in enumerate(y.shape)):
        raise noted(
            ShapeError(
                f"{name}: values of shape {y.shape} don't broadcast to the shape of x[index], "
                f"{shape}"
            )
        )
    return widen(y, shape)


class Window(NamedTuple):
    """A box of an array, known beforehand: where it begins, how large it is, and which of its axes
    run backwards in the index."""

    start: tuple[int, ...]
    sizes: tuple[int, ...]
    flipped: tuple[int, ...]


def window_of(
    name: str, x: Value, ix: Index, mode: GatherScatterMode | None, wrap: bool
) -> Window | None:
    """The box that an index is for, without elements if it is out of range; `None` for no box."""
    if ix.lookups:
        return None
    start, sizes, flipped = [], [], []
    outside = False
    for p in ix.parts:
        if p.__class__ is New:
            continue
        n = x.shape[p.axis]
        if p.__class__ is IntegerAt:
            check_not_empty(name, x, p.axis)
            if p.place.__class__ is not int:
                return None
            place = p.place + n if wrap and p.place < 0 else p.place
            if mode is CLIP:
                place = min(max(place, 0), n - 1)
            outside = outside or not 0 <= place < n
            start.append(place)
            sizes.append(1)
        else:
            low, _, stride = p.bounds()
            if stride != 1:
                return None
            start.append(low)
            sizes.append(p.count)
            if p.step < 0 and p.count > 1:
                flipped.append(p.axis)
    if outside:
        sizes = [0] * len(sizes)
    return Window(tuple(start), tuple(sizes), tuple(flipped))


def check_not_empty(name: str, x: Any, axis: int) -> None:
    """Refuses a place along an axis that has none."""
    if not x.shape[axis]:
        raise noted(IndexingError(f"{name}: axis {axis} of {x.aval} has no elements to index"))


def changed_at(
    name: str,
    x: Any,
    index: Any,
    y: Any,
    operation: Operation,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    wrap: bool,
) -> Any:
    """A copy of `x` with elements changed; operands have one dtype."""
    shape = x.shape
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    y = fitted(name, y, ix.shape)
    window = window_of(name, x, ix, mode, wrap)
    if 0 in ix.shape or (window is not None and 0 in window.sizes):
        out = x
    elif window is not None:
        y = reshape(y, shape=window.sizes) if y.shape != window.sizes else y
        y = rev(y, dimensions=window.flipped) if window.flipped else y
        out = put_window(
            x, window, y if operation is SET else operation.elementwise(get_window(x, window), y)
        )
    else:
        places, numbers, update_shape, flipped = layout(name, x, ix, wrap)
        y = reshape(y, shape=update_shape) if y.shape != update_shape else y
        y = rev(y, dimensions=flipped) if flipped else y
        if operation is SUBTRACT:
            y, operation = arithmetic.neg(y), ADD
        out = operation.scatter(
            x,
            places,
            y,
            dimension_numbers=numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices) or not ix.lookups,
            mode=DROP if mode is None else mode,
        )
    return reshape(out, shape=shape) if out.shape != shape else out


def get_window(x: Any, window: Window) -> Any:
    """Reads a box; its place is an argument where that spares signatures: see `indexing`."""
    if window.sizes == x.shape:
        return x
    if x.concrete() is not None:
        return dynamic_slice(x, *map(as_value, window.start), sizes=window.sizes)
    limit = tuple(a + n for a, n in zip(window.start, window.sizes, strict=True))
    return slice_(x, start=window.start, limit=limit, strides=(1,) * x.ndim)


def put_window(x: Any, window: Window, y: Any) -> Any:
    """Writes a box."""
    return (
        y if window.sizes == x.shape else dynamic_update_slice(x, y, *map(as_value, window.start))
    )


def layout(
    name: str, x: Any, ix: Index, wrap: bool
) -> tuple[Any, ScatterDimensionNumbers, tuple[int, ...], tuple[int, ...]]:
    """A scatter's indices, numbers, shape of updates, and which axes of those run backwards."""
    rank = len(ix.lookup_shape)
    stay = [p for p in ix.parts if p.__class__ in (Sliced, New)]
    lookup_at = sum(p.__class__ is Sliced for p in stay[: ix.at])
    slices = [p for p in stay if p.__class__ is Sliced]
    place_of = [i + rank * (ix.lookups and i >= lookup_at) for i in range(len(slices))]
    strided = [p.bounds()[2] != 1 for p in slices]
    # the updates' axes that aren't a window's: those of lookups, and of slices with a stride
    batch = sorted(
        [*range(lookup_at, lookup_at + rank)]
        + [at for at, s in zip(place_of, strided, strict=True) if s]
    )
    update_shape = [p.count for p in slices]
    update_shape[lookup_at:lookup_at] = ix.lookup_shape
    columns: list[Any] = []
    index_map, inserted, window_dims, flipped = [], [], [], []
    places = iter(zip(slices, place_of, strided, strict=True))
    for p in ix.parts:
        if p.__class__ is New:
            continue
        n = x.shape[p.axis]
        if p.__class__ is Sliced:
            _, at, stride = next(places)
            if stride:
                inserted.append(p.axis)
                line = p.start + p.step * np.arange(p.count)
                columns.append((n, line, (batch.index(at),), False))
            else:
                window_dims.append(at)
                if p.step < 0 and p.count > 1:
                    flipped.append(at)
                if p.count == n:
                    continue
                columns.append((n, p.bounds()[0], (), False))
        else:
            inserted.append(p.axis)
            if p.__class__ is LookedUp:
                first = batch.index(lookup_at) + rank - np.ndim(p.indices) if rank else 0
                dims = tuple(range(first, first + np.ndim(p.indices)))
                columns.append((n, p.indices, dims, wrap))
            elif p.place.__class__ is int:
                columns.append((n, p.place, (), wrap))
            else:
                columns.append((n, start_index(name, p.place, n, wrap), (), False))
        index_map.append(p.axis)
    numbers = ScatterDimensionNumbers(tuple(window_dims), tuple(inserted), tuple(index_map))
    indices = place_array(columns, tuple(update_shape[b] for b in batch))
    return indices, numbers, tuple(update_shape), tuple(flipped)


def apply(
    x: Any,
    index: Any,
    func: Callable[[Any], Any],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
    wrap: bool,
) -> Any:
    """A copy of `x` with a function applied to elements."""
    name = "at[…].apply"
    how = DROP if mode is None else GatherScatterMode.from_any(mode)
    shape = x.shape
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    window = window_of(name, x, ix, how, wrap)
    if 0 in ix.shape or (window is not None and 0 in window.sizes):
        out = x
    elif window is not None:
        old = get_window(x, window)
        flat = reshape(old, shape=(old.size,))
        (new,) = batch(lambda e: [one_element(name, func(e))], [flat], [True], Axis(old.size))
        out = put_window(x, window, reshape(cast(new, x.dtype), shape=old.shape))
    else:
        places, numbers, update_shape, _ = layout(name, x, ix, wrap)
        out = scatter_apply(
            x,
            places,
            func,
            numbers,
            update_shape=update_shape,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices or not ix.lookups,
            mode=how,
        )
    return reshape(out, shape=shape) if out.shape != shape else out


def one_element(name: str, result: Any) -> Any:
    """The result of a function for an element: a scalar, or an error says so."""
    new = as_value(result)
    if new.ndim:
        raise noted(ShapeError(f"{name}: func must give a scalar for a scalar; got {new.aval}"))
    return new
