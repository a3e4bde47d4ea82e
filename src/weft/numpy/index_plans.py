"""The meaning of an index: each axis of the array is sliced, dropped at a place, or looked up.

Knows NumPy's rules of indexing; knows nothing of how elements are moved.
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
    """An axis of the array that stays, `count` long: start, start + step, …"""

    __slots__ = ("axis", "count", "start", "step")

    def __init__(self, axis: int, start: int, count: int, step: int) -> None:
        self.axis, self.start, self.count, self.step = axis, start, count, step

    def bounds(self) -> tuple[int, int, int]:
        """Start, limit and stride, forwards."""
        if not self.count:
            return 0, 0, 1
        last = self.start + (self.count - 1) * self.step
        low, high = min(self.start, last), max(self.start, last)
        return low, high + 1, abs(self.step) if self.count > 1 else 1


class IntegerAt:
    """An axis that is dropped, at one place: an int, or an integer scalar known at run time."""

    __slots__ = ("axis", "place")

    def __init__(self, axis: int, place: Any) -> None:
        self.axis, self.place = axis, place


class LookedUp:
    """An axis that is looked up in an array of integers (NumPy's if known, else a value)."""

    __slots__ = ("axis", "indices")

    def __init__(self, axis: int, indices: Any) -> None:
        self.axis, self.indices = axis, indices


class New:
    """A new axis of length one."""

    __slots__ = ()


class Index:
    """A parsed index.

    Attributes:
      parts: in the order of the index: `Sliced`, `IntegerAt`, `LookedUp` and `New`. (Passed with a
        `None` for an ellipsis that stands for no axes.)
      inserted: axes of length one to insert into the array first, for indices True and False.
      lookups: whether there is any `LookedUp`.
      shape: of the result; with lookups, `at` is where their axes begin in it, and `lookup_shape`
        what they are.
    """

    __slots__ = ("at", "inserted", "lookup_shape", "lookups", "parts", "shape")

    def __init__(self, parts: list[Any], inserted: list[int]) -> None:
        self.parts, self.inserted = [p for p in parts if p is not None], inserted
        arrays = [p.indices for p in parts if p.__class__ is LookedUp]
        self.lookups = bool(arrays)
        self.lookup_shape = common_shape([a.shape for a in arrays])
        # NumPy: looked-up axes come where the first one was if all are neighbours, else in front
        advanced = [i for i, p in enumerate(parts) if p.__class__ in (LookedUp, IntegerAt)]
        together = self.lookups and advanced[-1] - advanced[0] + 1 == len(advanced)
        before = [p for p in parts[: advanced[0]] if p is not None] if together else []
        self.at = len(before)
        rest = [
            p.count if p.__class__ is Sliced else 1 for p in parts if p.__class__ in (Sliced, New)
        ]
        self.shape = (*rest[: self.at], *self.lookup_shape, *rest[self.at :])


def common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that index arrays broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise noted(
            errors.IndexingError(
                f"index: arrays of indices must broadcast together; got shapes "
                f"{', '.join(map(str, shapes))}\n"
                "  fix: add axes with i[:, None] for the elements where rows and columns cross"
            )
        ) from None


def _too_many_dots(name: str, count: int) -> str:
    return (
        f"{name}: an index can have one ellipsis (...); got {count}\n  fix: `:` for each other axis"
    )


def _too_many(name: str, x: Any, used: int) -> str:
    return (
        f"{name}: too many indices: {x.aval} has {x.ndim} ax{'i' if x.ndim == 1 else 'e'}s, and "
        f"{used} were indexed\n  fix: at most {x.ndim} of them; None adds an axis"
    )


def parse(name: str, x: Any, index: Any) -> Index:
    """The meaning of `x[index]`.

    Raises: TypeError: an index of another kind. IndexError: too many, or a mask that doesn't fit.
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
    used = sum(consumed(k) for k in kinds)
    dots = [i for i, k in enumerate(kinds) if k is Ellipsis]
    if len(dots) > 1:
        raise noted(errors.IndexingError(_too_many_dots(name, len(dots))))
    if used > x.ndim:
        raise noted(errors.IndexingError(_too_many(name, x, used)))
    at = dots[0] if dots else len(kinds)
    # an ellipsis for no axes still stands between its neighbours
    missing: list[Any] = [slice(None)] * (x.ndim - used) or [Ellipsis] * len(dots)
    kinds = [*kinds[:at], *missing, *kinds[at + 1 :]]
    parts: list[Any] = []
    inserted: list[int] = []
    shape = list(x.shape)
    axis = 0
    for k in kinds:
        if k is None or k is Ellipsis:
            parts.append(New() if k is None else None)
            continue
        if k.__class__ is slice:
            parts.append(sliced(name, x, axis, k, shape[axis]))
        elif k.__class__ is np.bool_:
            inserted.append(axis)
            shape.insert(axis, 1)
            parts.append(LookedUp(axis, np.zeros(int(k), np.int64)))
        elif getattr(k, "dtype", None) == np.bool_:
            length = tuple(shape[axis : axis + k.ndim])
            if k.shape != length:
                raise noted(
                    errors.IndexingError(
                        f"{name}: a mask must have the lengths of the axes that it is for; got "
                        f"bool{list(k.shape)} for axes of lengths {length} of {x.aval}\n"
                        "  fix: a mask made of the array itself, as x > 0"
                    )
                )
            parts.extend(LookedUp(axis + i, places) for i, places in enumerate(np.nonzero(k)))
            axis += k.ndim - 1
        elif k.__class__ is int or not k.ndim:
            parts.append(IntegerAt(axis, k))
        else:
            parts.append(LookedUp(axis, k))
        axis += 1
    return Index(parts, inserted)


def consumed(kind: Any) -> int:
    """The number of axes of the array that an item of an index is for."""
    if kind is None or kind is Ellipsis or kind.__class__ is np.bool_:
        return 0
    return kind.ndim if getattr(kind, "dtype", None) == np.bool_ else 1


def classify(name: str, x: Any, item: Any) -> Any:
    """An item of an index in one of few forms: None, Ellipsis, a slice, an int, a NumPy boolean, an
    integer array of NumPy's, a traced integer value, a mask of NumPy's."""
    kind = item.__class__
    if item is None or item is Ellipsis or kind is slice or kind is int:
        return item
    if kind is bool:
        return np.bool_(item)
    if isinstance(item, (list, tuple)):
        item = array_of(name, item)
    if isinstance(item, Value):
        dtype = item.dtype
        known = item.concrete()
        if dtype == np.bool_:
            if known is None:
                raise noted(unknown_mask(name, x, item))
            item = known.host()
        elif not dtypes.is_integer(dtype):
            raise noted(not_an_index(name, item.aval))
        elif known is None or (item.ndim and not uncommitted(known)):
            return item
        else:
            item = known.host()
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
        what = f"{type(item).__name__} {shortened(item)}"
        raise noted(not_an_index(name, what, error)) from None


def array_of(name: str, items: Any) -> Any:
    """The array that a list in an index stands for; one of weft's if there is a value in it."""
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


def not_an_index(name: str, what: Any, error: type[Exception] = TypeError) -> Exception:
    """The error for an item that can't be an index."""
    message = (
        f"{name}: an index must be an integer, a slice, ..., None, or an array of integers or "
        f"booleans; got {what}"
    )
    kind = str(what).partition("[")[0].partition(" ")[0]
    if kind.startswith(("float", "bfloat")):
        message += "\n  fix: convert it, int(i) or i.astype(int); a // b divides integers"
    elif kind == "str":
        message += "\n  fix: arrays have no named parts: a dict of arrays has"
    return error(message)


def shortened(x: Any) -> str:
    """An argument's text for a message, cut after 60 characters."""
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "…"


def unknown_mask(name: str, x: Any, mask: Any) -> Exception:
    """The error for a mask whose elements decide a shape, and aren't known."""
    return errors.NonConcreteBooleanIndexError(
        f"{name}: how many elements of {x.aval} a traced mask {mask.aval} chooses is not known "
        "while it is traced, and so the result's shape isn't\n"
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
                f"{name}: the bounds of a slice decide the result's shape and must be known when "
                f"it is traced; got {s} for axis {axis} of {x.aval}\n"
                "  fix: lax.dynamic_slice_in_dim(x, start, length) for a start known at run time"
            )
        ) from None
    except (TypeError, ValueError) as error:
        raise noted(type(error)(f"{name}: {s} for axis {axis} of {x.aval}: {error}")) from None
    return Sliced(axis, start, max(0, -((start - stop) // step)), step)
