"""Abstract values: the shape, dtype and weak type of an array. Equal avals are one object."""

import contextlib
import math
import threading
import weakref
from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import numpy as np

from .. import dtypes
from ..extended_dtypes import is_extended, stored
from ..sharding import NO_MESH, NamedSharding, PartitionSpec, is_unstated
from .placement import ANYWHERE, Placement


class Aval:
    """Shape, dtype and weak type of an array. Equal avals are one object: `is` compares them.

    `Aval(shape, dtype)` accepts shapes and dtypes in any form, such as `"float32"`; the function
    `aval` takes them as weft stores them.

    Attributes:
      weak_type: True for a Python scalar, which takes the dtype of the other operand.
      inexact: True for floating-point and complex dtypes, which can be differentiated.
      stored: the dtype of the elements on devices; it differs from `dtype` for extended dtypes
        only.
      text: the StableHLO type, once `weft.stablehlo.attributes` has written it.
      aval: the aval itself, since an aval is also the type of arrays that may be anywhere
        (`core/placement.py`). It is a slot, because every new array reads it.
    Example:
      >>> from weft.core import ShapedArray
      >>> ShapedArray((2, 3), "float32")
      float32[2,3]
      >>> ShapedArray((2, 3), "float32") is ShapedArray((2, 3), "float32")
      True
    """

    __slots__ = (
        "__weakref__", "aval", "dtype", "inexact", "ndim", "shape", "size", "stored", "text",
        "weak_type",
    )  # fmt: skip

    placement: Placement = ANYWHERE
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool
    ndim: int
    size: int
    inexact: bool
    stored: np.dtype[Any]
    text: str | None
    aval: "Aval"

    def __new__(
        cls, shape: Iterable[int], dtype: Any, weak_type: bool = False, *, sharding: object = None
    ) -> "Aval":
        if sharding is not None and not is_unstated(sharding):
            raise TypeError(
                f"ShapedArray: weft's types have no shardings; got sharding={sharding!r}\n"
                "  fix: leave it out; jit and shard_map take shardings as arguments"
            )
        return aval(tuple(shape), dtype if is_extended(dtype) else np.dtype(dtype), weak_type)

    @property
    def sharding(self) -> NamedSharding:
        """A sharding that divides nothing: types carry no shardings. See `Array.sharding`."""
        return NamedSharding(NO_MESH, PartitionSpec(*[None] * self.ndim))

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """The aval as text, such as "float32[2,3]", or "f32[2,3]" with `short_dtypes`.

        Args:
          mesh_axis_types: has no effect: types carry no shardings.
        """
        if not short_dtypes:
            return repr(self)
        name = self.dtype.name
        for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("complex", "c")):
            if name.startswith(long):
                name = short + name.removeprefix(long)
        name = "i" + name.removeprefix("int") if name.startswith("int") else name
        return f"{name}[{','.join(map(str, self.shape))}]"

    def update(
        self,
        shape: Iterable[int] | None = None,
        dtype: object = None,
        weak_type: bool | None = None,
    ) -> "Aval":
        """The aval with some of its parts replaced."""
        return aval(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def strong(self) -> "Aval":
        """The aval without its weak type."""
        return aval(self.shape, self.dtype) if self.weak_type else self

    def tangent(self) -> "Aval":
        """The aval of a tangent: the same for inexact dtypes, float0 otherwise."""
        dtype = dtypes.tangent_dtype(self.dtype)
        return self if dtype is self.dtype else aval(self.shape, dtype)

    to_tangent_aval = at_least_vspace = tangent

    def __reduce__(self) -> tuple[Any, ...]:
        return aval, (self.shape, self.dtype, self.weak_type)


# Attribute getters written in C, for loops over values, variables and operands.
aval_of = attrgetter("aval")
type_of = attrgetter("type")

Parts = tuple[tuple[int, ...], np.dtype[Any], bool]


class _Reference(weakref.ref[Aval]):
    """A weak reference in the table, with its key."""

    __slots__ = ("parts",)
    parts: Parts


# The table holds weak references, so that programs of ever new shapes do not fill it. Entries of
# dead avals wait in `_dead`: Python may end an object at any moment, also inside `_intern`, so the
# callback must neither take the lock nor touch the table. The lock is reentrant, because signal
# handlers and finalizers may make avals inside `_intern` too; so each change is one operation.
_interned: dict[Parts, _Reference] = {}
_dead: deque[_Reference] = deque()
_lock = threading.RLock()


def aval(shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> Aval:
    """The one aval of this shape (a tuple of ints), dtype (NumPy's or an extended one) and weak
    type.

    Example:
      >>> import numpy
      >>> from weft.extend import aval
      >>> aval((2, 3), numpy.dtype("float32"))
      float32[2,3]
    """
    try:
        existing = _interned[shape, dtype, weak_type]()
    except KeyError:
        existing = None
    return _intern(shape, dtype, weak_type) if existing is None else existing


def _discard(entry: _Reference) -> None:
    """Removes an entry, unless another one has its place."""
    if _interned.get(entry.parts) is entry:
        removed = _interned.pop(entry.parts, entry)
        if removed is not entry:  # a signal handler has put it there just now
            _interned.setdefault(entry.parts, removed)


def _forget_dead() -> None:
    with contextlib.suppress(IndexError):  # there are no more
        while True:
            _discard(_dead.popleft())


def _found_or_added(parts: Parts, reference: _Reference) -> Aval:
    """The living aval of these parts; that of the reference if there is none."""
    while True:
        entry = _interned.setdefault(parts, reference)
        existing = entry()
        if existing is not None:
            return existing
        _discard(entry)


def _intern(shape: tuple[int, ...], dtype: Any, weak_type: bool) -> Aval:
    shape = tuple(int(n) for n in shape)
    parts = shape, dtype if is_extended(dtype) else np.dtype(dtype), bool(weak_type)
    aval = object.__new__(Aval)
    aval.aval = aval
    aval.shape, aval.dtype, aval.weak_type = parts
    aval.ndim, aval.size, aval.text = len(shape), math.prod(shape), None
    aval.inexact, aval.stored = dtypes.is_inexact(dtype), stored(aval.dtype)
    reference = _Reference(aval, _dead.append)
    reference.parts = parts
    with _lock:
        _forget_dead()
        return _found_or_added(parts, reference)
