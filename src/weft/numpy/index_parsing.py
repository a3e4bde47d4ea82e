"""The meaning of an index: each axis of the array is sliced, dropped at a position, or looked up.

The rules are NumPy's, for basic and advanced indexing.
"""

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.value import Value
from ..lax.operands import uncommitted
from .creation import array
from .promotion import noted


class Sliced:
    """An axis that is sliced: `count` elements from `start` in steps of `step`."""

    __slots__ = ("axis", "count", "start", "step")

    def __init__(self, axis: int, start: int, count: int, step: int) -> None:
        self.axis, self.start, self.count, self.step = axis, start, count, step

    def bounds(self) -> tuple[int, int, int]:
        """Start, limit and positive stride."""
        if not self.count:
            return 0, 0, 1
        last = self.start + (self.count - 1) * self.step
        low, high = min(self.start, last), max(self.start, last)
        return low, high + 1, abs(self.step) if self.count > 1 else 1


class IntegerAt:
    """An axis that is dropped at one position: an int, or a run-time integer scalar."""

    __slots__ = ("axis", "place")

    def __init__(self, axis: int, place: Any) -> None:
        self.axis, self.place = axis, place


class LookedUp:
    """An axis that is looked up by an array of integers: a NumPy array if known, otherwise a
    value."""

    __slots__ = ("axis", "indices")

    def __init__(self, axis: int, indices: Any) -> None:
        self.axis, self.indices = axis, indices


class New:
    """A new axis of length one."""

    __slots__ = ()


class Index:
    """A parsed index.

    Attributes:
      parts: `Sliced`, `IntegerAt`, `LookedUp` and `New` in the order of the index. (The argument
        contains `None` for an ellipsis that stands for zero axes.)
      inserted: axes of length one to insert into the array first, for indices True and False.
      lookups: whether there is a `LookedUp`.
      shape: the shape of the result.
      at, lookup_shape: the position and lengths of the looked-up axes in the result.
    """

    __slots__ = ("at", "inserted", "lookup_shape", "lookups", "parts", "shape")

    def __init__(self, parts: list[Any], inserted_axes: list[int]) -> None:
        self.parts, self.inserted = [p for p in parts if p is not None], inserted_axes
        arrays = [p.indices for p in parts if p.__class__ is LookedUp]
        self.lookups = bool(arrays)
        self.lookup_shape = common_shape([a.shape for a in arrays])
        # as in NumPy, looked-up axes replace the first one if all are adjacent; otherwise they come
        # first
        advanced = [i for i, p in enumerate(parts) if p.__class__ in (LookedUp, IntegerAt)]
        is_adjacent = self.lookups and advanced[-1] - advanced[0] + 1 == len(advanced)
        leading_parts = [p for p in parts[: advanced[0]] if p is not None] if is_adjacent else []
        self.at = len(leading_parts)
        remaining_lengths = [
            p.count if p.__class__ is Sliced else 1 for p in parts if p.__class__ in (Sliced, New)
        ]
        self.shape = (
            *remaining_lengths[: self.at],
            *self.lookup_shape,
            *remaining_lengths[self.at :],
        )


def common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that index arrays broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise noted(
            errors.IndexingError(
                f"index: arrays of indices must broadcast together; got shapes "
                f"{', '.join(map(str, shapes))}\n"
                "  fix: add axes, i[:, None], to index all combinations of rows and columns"
            )
        ) from None


def _too_many_dots(name: str, count: int) -> str:
    return (
        f"{name}: an index can have one ellipsis (...); got {count}\n  fix: `:` for each other axis"
    )


def _too_many(name: str, x: Any, index_count: int) -> str:
    return (
        f"{name}: too many indices: {x.aval} has {x.ndim} ax{'i' if x.ndim == 1 else 'e'}s, and "
        f"{index_count} were indexed\n  fix: at most {x.ndim} of them; None adds an axis"
    )


def parse(name: str, x: Any, index: Any) -> Index:
    """The meaning of `x[index]`.

    Raises: TypeError: an unsupported index. IndexError: too many indices, or a wrong mask.
    """
    if isinstance(index, list):
        raise noted(
            TypeError(
                f"{name}: a list is not an index, as converting it would be slow; got "
                f"{shortened(index)}\n"
                "  fix: x[np.array(i)], or x[tuple(i)] for an index along each axis"
            )
        )
    items = index if isinstance(index, tuple) else (index,)
    kinds = [classify(name, x, i) for i in items]
    consumed_count = sum(consumed(k) for k in kinds)
    ellipses = [i for i, k in enumerate(kinds) if k is Ellipsis]
    if len(ellipses) > 1:
        raise noted(errors.IndexingError(_too_many_dots(name, len(ellipses))))
    if consumed_count > x.ndim:
        raise noted(errors.IndexingError(_too_many(name, x, consumed_count)))
    position = ellipses[0] if ellipses else len(kinds)
    # an ellipsis for zero axes still separates its neighbours
    implied_slices: list[Any] = [slice(None)] * (x.ndim - consumed_count) or [Ellipsis] * len(
        ellipses
    )
    kinds = [*kinds[:position], *implied_slices, *kinds[position + 1 :]]
    parts: list[Any] = []
    inserted_axes: list[int] = []
    shape = list(x.shape)
    axis = 0
    for k in kinds:
        if k is None or k is Ellipsis:
            parts.append(New() if k is None else None)
            continue
        if k.__class__ is slice:
            parts.append(sliced(name, x, axis, k, shape[axis]))
        elif k.__class__ is np.bool_:
            inserted_axes.append(axis)
            shape.insert(axis, 1)
            parts.append(LookedUp(axis, np.zeros(int(k), np.int64)))
        elif getattr(k, "dtype", None) == np.bool_:
            length = tuple(shape[axis : axis + k.ndim])
            if k.shape != length:
                raise noted(
                    errors.IndexingError(
                        f"{name}: a mask must have the lengths of the axes that it indexes; got "
                        f"bool{list(k.shape)} for axes of lengths {length} of {x.aval}\n"
                        "  fix: a mask computed from the array, such as x > 0"
                    )
                )
            parts.extend(LookedUp(axis + i, positions) for i, positions in enumerate(np.nonzero(k)))
            axis += k.ndim - 1
        elif k.__class__ is int or not k.ndim:
            parts.append(IntegerAt(axis, k))
        else:
            parts.append(LookedUp(axis, k))
        axis += 1
    return Index(parts, inserted_axes)


def consumed(kind: Any) -> int:
    """The number of axes of the array that an item of an index consumes."""
    if kind is None or kind is Ellipsis or kind.__class__ is np.bool_:
        return 0
    return kind.ndim if getattr(kind, "dtype", None) == np.bool_ else 1


def classify(name: str, x: Any, item: Any) -> Any:
    """An item of an index in a canonical form: None, Ellipsis, a slice, an int, a NumPy boolean, a
    NumPy array of integers, a traced integer value, or a NumPy mask."""
    kind = item.__class__
    if item is None or item is Ellipsis or kind is slice or kind is int:
        return item
    if kind is bool:
        return np.bool_(item)
    if isinstance(item, (list, tuple)):
        item = array_of(name, item)
    if isinstance(item, Value):
        dtype = item.dtype
        concrete = item.concrete()
        if dtype == np.bool_:
            if concrete is None:
                raise noted(unknown_mask(name, x, item))
            item = concrete.host()
        elif not dtypes.is_integer(dtype):
            raise noted(not_an_index(name, item.aval))
        elif concrete is None or (item.ndim and not uncommitted(concrete)):
            return item
        else:
            item = concrete.host()
    if isinstance(item, (np.ndarray, np.generic)):
        if item.dtype == np.bool_:
            return item if item.ndim else np.bool_(item)
        if not (item.dtype.kind in "iu" or item.dtype in dtypes.SMALL_INTS):
            raise noted(not_an_index(name, f"{item.dtype}{list(item.shape)}"))
        return int(item) if not item.ndim else item
    try:
        return operator.index(item)
    except TypeError:
        error = TypeError if isinstance(item, (str, float, complex)) else IndexError
        description = f"{type(item).__name__} {shortened(item)}"
        raise noted(not_an_index(name, description, error)) from None


def array_of(name: str, items: Any) -> Any:
    """A list in an index as an array: a value if it contains one, otherwise a NumPy array."""
    try:
        if any([isinstance(leaf, Value) for leaf in leaves_of(items)]):
            return array(items)
        return np.asarray(items, None if len(items) else np.int64)
    except (TypeError, ValueError):
        raise noted(TypeError(f"{name}: an index must not be ragged; got {items!r:.60}")) from None


def leaves_of(items: Any) -> Iterator[Any]:
    """The leaves of nested lists."""
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from leaves_of(item)
        else:
            yield item


def not_an_index(name: str, description: Any, error: type[Exception] = TypeError) -> Exception:
    """The error for an item that is not an index."""
    message = (
        f"{name}: an index must be an integer, a slice, ..., None, or an array of integers or "
        f"booleans; got {description}"
    )
    kind = str(description).partition("[")[0].partition(" ")[0]
    if kind.startswith(("float", "bfloat")):
        message += "\n  fix: convert it, int(i) or i.astype(int); a // b divides integers"
    elif kind == "str":
        message += "\n  fix: use a dict of arrays for named parts"
    return error(message)


def shortened(x: Any) -> str:
    """The representation of an argument, truncated to 60 characters."""
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "…"


def unknown_mask(name: str, x: Any, mask: Any) -> Exception:
    """The error for a traced mask, whose elements would decide a shape."""
    return errors.NonConcreteBooleanIndexError(
        f"{name}: the number of elements of {x.aval} that a traced mask {mask.aval} selects is not "
        "known while it is traced, and decides the shape of the result\n"
        "  fix: np.where(mask, x, 0) keeps the shape; np.nonzero(mask, size=n) fixes the number\n"
        f"{errors.see(errors.NonConcreteBooleanIndexError)}"
    )


def sliced(name: str, x: Any, axis: int, s: slice, n: int) -> Sliced:
    """A slice of an axis of length `n`."""
    try:
        start, stop, step = s.indices(n)
    except errors.TracerIntegerConversionError:
        raise noted(
            errors.IndexingError(
                f"{name}: the bounds of a slice decide the shape of the result and must be known "
                f"at tracing time; got {s} for axis {axis} of {x.aval}\n"
                "  fix: lax.dynamic_slice_in_dim(x, start, length) for a start known at run time"
            )
        ) from None
    except (TypeError, ValueError) as error:
        raise noted(type(error)(f"{name}: {s} for axis {axis} of {x.aval}: {error}")) from None
    return Sliced(axis, start, max(0, -((start - stop) // step)), step)
