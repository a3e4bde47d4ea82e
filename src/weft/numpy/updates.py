"""Updates of arrays, for `x.at[index]`.

On the host a copy is changed in place. Otherwise an update of a window at a known position becomes
one dynamic_update_slice, and any other update one scatter. Positions out of range are ignored.
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
from ..primitives.dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..primitives.gather_dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ..primitives.selection import where
from ..primitives.slicing import rev, slice_
from ..primitives.structural import reshape, widen
from ..user_lines import levels_to_user
from .creation import asarray
from .gather_indices import index_columns, mode_argument, with_inserted
from .index_parsing import Index, IntegerAt, LookedUp, New, Sliced, parse, unknown_mask
from .indexing import BASIC, host_index, host_of
from .promotion import SCALARS, cast, noted

CLIP, DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
Mode = str | GatherScatterMode | None


class Operation(NamedTuple):
    """An update of elements: as a scatter, elementwise on a window, and as a NumPy ufunc."""

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

# for each kind of dtype, the Python scalars that it represents without loss
_LOSSLESS_SCALARS = {
    "b": frozenset((bool,)),
    "i": frozenset((bool, int)),
    "u": frozenset((bool, int)),
    "f": frozenset((bool, int, float)),
    "c": SCALARS,
}


def changed_copy(host: Any, index: Any, values: Any, ufunc: Any) -> Any:
    """An updated copy of a NumPy array; `None` for indices out of range or values of another dtype,
    which the general function handles."""
    dtype = host.dtype
    kind = values.__class__
    try:
        if kind in SCALARS:
            if kind not in _LOSSLESS_SCALARS.get(dtype.kind, ()):
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
        is_advanced = False
        if index.__class__ is tuple:
            for item in index:
                if item.__class__ not in BASIC:
                    index, is_advanced = host_index(index), True
                    break
        elif index.__class__ not in BASIC:
            index, is_advanced = host_index((index,)), True
        copy = host.copy()
        if values.ndim and values.ndim > copy[index].ndim:
            return None
        if ufunc is None:
            copy[index] = values
        elif is_advanced:
            ufunc.at(copy, index, values)
        else:
            copy[index] = ufunc(copy[index], values)
        return copy
    except (IndexError, TypeError, ValueError, OverflowError):
        return None


# --- on any device ---


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
    """A copy of `x` with elements updated by primitives."""
    name = f"at[…].{operation.name}"
    scatter_mode = None if mode is None else mode_argument(name, mode)
    y = asarray(values) if isinstance(values, (list, tuple)) else as_value(values)
    aval = x.aval
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
        out = masked_update(name, x, mask, y, operation)
    else:
        out = changed_at(
            name, x, index, y, operation, indices_are_sorted, unique_indices, scatter_mode, wrap
        )
    return cast(out, aval.dtype, aval.weak_type)


def warn_of_loss(name: str, x: Any, y: Any) -> None:
    """Warns that converting values to the dtype of the array may lose information."""
    warnings.warn(
        f"{name}: converting {y.aval} to {x.aval} may lose information; in the future this will be "
        "an error\n  fix: y.astype(x.dtype) to allow it, or x.astype(y.dtype) first",
        FutureWarning,
        stacklevel=levels_to_user(),
    )


def traced_mask(index: Any) -> Any:
    """A traced mask that is the whole index, or `None`."""
    if index.__class__ is tuple and len(index) == 1:
        index = index[0]
    if isinstance(index, Value) and index.dtype == np.bool_ and index.concrete() is None:
        return index
    return None


def masked_update(name: str, x: Any, mask: Any, y: Any, operation: Operation) -> Any:
    """A copy updated where a traced mask is true, for values that do not vary along its axes."""
    if y.ndim > x.ndim - mask.ndim or not mask.ndim:
        raise noted(unknown_mask(name, x, mask))
    if mask.shape != x.shape[: mask.ndim]:
        raise noted(
            IndexingError(
                f"{name}: a mask must have the lengths of the axes that it is for; got {mask.aval} "
                f"for {x.aval}"
            )
        )
    full_mask = reshape(mask, shape=(*mask.shape, *(1,) * (x.ndim - mask.ndim)))
    updated = fitted(name, y, x.shape) if operation is SET else operation.elementwise(x, y)
    return where(full_mask, updated, x)


def fitted(name: str, y: Any, shape: tuple[int, ...]) -> Any:
    """Values broadcast to the shape of `x[index]`."""
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
    """A contiguous window at a known position, and the axes that the index reverses."""

    start: tuple[int, ...]
    sizes: tuple[int, ...]
    reversed_axes: tuple[int, ...]


def window_of(
    name: str, x: Value, ix: Index, mode: GatherScatterMode | None, wrap: bool
) -> Window | None:
    """The window that an index selects, empty if it is out of range; `None` if the index is not a
    window."""
    if ix.lookups:
        return None
    start, sizes, reversed_axes = [], [], []
    out_of_range = False
    for p in ix.parts:
        if p.__class__ is New:
            continue
        n = x.shape[p.axis]
        if p.__class__ is IntegerAt:
            check_not_empty(name, x, p.axis)
            if p.place.__class__ is not int:
                return None
            index = p.place + n if wrap and p.place < 0 else p.place
            if mode is CLIP:
                index = min(max(index, 0), n - 1)
            out_of_range = out_of_range or not 0 <= index < n
            start.append(index)
            sizes.append(1)
        else:
            low, _, stride = p.bounds()
            if stride != 1:
                return None
            start.append(low)
            sizes.append(p.count)
            if p.step < 0 and p.count > 1:
                reversed_axes.append(p.axis)
    if out_of_range:
        sizes = [0] * len(sizes)
    return Window(tuple(start), tuple(sizes), tuple(reversed_axes))


def check_not_empty(name: str, x: Any, axis: int) -> None:
    """Raises an error for an index along an axis of length zero."""
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
    """A copy of `x` with elements updated; the operands have one dtype."""
    shape = x.shape
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    y = fitted(name, y, ix.shape)
    window = window_of(name, x, ix, mode, wrap)
    if 0 in ix.shape or (window is not None and 0 in window.sizes):
        out = x
    elif window is not None:
        y = reshape(y, shape=window.sizes) if y.shape != window.sizes else y
        y = rev(y, dimensions=window.reversed_axes) if window.reversed_axes else y
        out = put_window(
            x, window, y if operation is SET else operation.elementwise(get_window(x, window), y)
        )
    else:
        indices, dimension_numbers, update_shape, reversed_axes = layout(name, x, ix, wrap)
        y = reshape(y, shape=update_shape) if y.shape != update_shape else y
        y = rev(y, dimensions=reversed_axes) if reversed_axes else y
        if operation is SUBTRACT:
            y, operation = arithmetic.neg(y), ADD
        out = operation.scatter(
            x,
            indices,
            y,
            dimension_numbers=dimension_numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices) or not ix.lookups,
            mode=DROP if mode is None else mode,
        )
    return reshape(out, shape=shape) if out.shape != shape else out


def get_window(x: Any, window: Window) -> Any:
    """Reads a window. Its position is a run-time argument if that saves compiled programs."""
    if window.sizes == x.shape:
        return x
    if x.concrete() is not None:
        return dynamic_slice(x, *map(as_value, window.start), sizes=window.sizes)
    limit = tuple(a + n for a, n in zip(window.start, window.sizes, strict=True))
    return slice_(x, start=window.start, limit=limit, strides=(1,) * x.ndim)


def put_window(x: Any, window: Window, y: Any) -> Any:
    """Writes a window."""
    return (
        y if window.sizes == x.shape else dynamic_update_slice(x, y, *map(as_value, window.start))
    )


def layout(
    name: str, x: Any, ix: Index, wrap: bool
) -> tuple[Any, ScatterDimensionNumbers, tuple[int, ...], tuple[int, ...]]:
    """A scatter's indices, dimension numbers, shape of updates and reversed axes of updates."""
    rank = len(ix.lookup_shape)
    window_parts = [p for p in ix.parts if p.__class__ in (Sliced, New)]
    lookup_at = sum(p.__class__ is Sliced for p in window_parts[: ix.at])
    slices = [p for p in window_parts if p.__class__ is Sliced]
    positions = [i + rank * (ix.lookups and i >= lookup_at) for i in range(len(slices))]
    is_strided = [p.bounds()[2] != 1 for p in slices]
    # axes of the updates outside the window: for lookups and strided slices
    batch = sorted(
        [*range(lookup_at, lookup_at + rank)]
        + [position for position, s in zip(positions, is_strided, strict=True) if s]
    )
    update_shape = [p.count for p in slices]
    update_shape[lookup_at:lookup_at] = ix.lookup_shape
    columns: list[Any] = []
    index_map, inserted_dims, window_dims, reversed_axes = [], [], [], []
    slice_layouts = iter(zip(slices, positions, is_strided, strict=True))
    for p in ix.parts:
        if p.__class__ is New:
            continue
        n = x.shape[p.axis]
        if p.__class__ is Sliced:
            _, position, is_strided_slice = next(slice_layouts)
            if is_strided_slice:
                inserted_dims.append(p.axis)
                axis_indices = p.start + p.step * np.arange(p.count)
                columns.append((n, axis_indices, (batch.index(position),), False))
            else:
                window_dims.append(position)
                if p.step < 0 and p.count > 1:
                    reversed_axes.append(position)
                if p.count == n:
                    continue
                columns.append((n, p.bounds()[0], (), False))
        else:
            inserted_dims.append(p.axis)
            if p.__class__ is LookedUp:
                first_dim = batch.index(lookup_at) + rank - np.ndim(p.indices) if rank else 0
                dims = tuple(range(first_dim, first_dim + np.ndim(p.indices)))
                columns.append((n, p.indices, dims, wrap))
            elif p.place.__class__ is int:
                columns.append((n, p.place, (), wrap))
            else:
                columns.append((n, start_index(name, p.place, n, wrap), (), False))
        index_map.append(p.axis)
    dimension_numbers = ScatterDimensionNumbers(
        tuple(window_dims), tuple(inserted_dims), tuple(index_map)
    )
    indices = index_columns(columns, tuple(update_shape[b] for b in batch))
    return indices, dimension_numbers, tuple(update_shape), tuple(reversed_axes)


def apply(
    x: Any,
    index: Any,
    func: Callable[[Any], Any],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
    wrap: bool,
) -> Any:
    """A copy of `x` with a function applied to the selected elements."""
    name = "at[…].apply"
    scatter_mode = DROP if mode is None else mode_argument(name, mode)
    shape = x.shape
    ix = parse(name, x, index)
    x = with_inserted(x, ix.inserted)
    window = window_of(name, x, ix, scatter_mode, wrap)
    if 0 in ix.shape or (window is not None and 0 in window.sizes):
        out = x
    elif window is not None:
        elements = get_window(x, window)
        flat_elements = reshape(elements, shape=(elements.size,))
        (results,) = batch(
            lambda e: [one_element(name, func(e))], [flat_elements], [True], Axis(elements.size)
        )
        out = put_window(x, window, reshape(cast(results, x.dtype), shape=elements.shape))
    else:
        indices, dimension_numbers, update_shape, _ = layout(name, x, ix, wrap)
        out = scatter_apply(
            x,
            indices,
            func,
            dimension_numbers,
            update_shape=update_shape,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices or not ix.lookups,
            mode=scatter_mode,
        )
    return reshape(out, shape=shape) if out.shape != shape else out


def one_element(name: str, result: Any) -> Any:
    """The result of a function for one element; it must be a scalar."""
    value = as_value(result)
    if value.ndim:
        raise noted(ShapeError(f"{name}: func must give a scalar for a scalar; got {value.aval}"))
    return value
