"""Abstract values: what is known of an array before it is computed. Equal avals are one object.

Knows shapes and dtypes; knows nothing of values or traces.
"""

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

    `Aval(shape, dtype)` is `aval` for other people's shapes and dtypes, such as `"float32"`. A weak
    aval is that of a Python scalar: it takes the dtype of what it meets. `inexact` is True for
    floating-point and complex dtypes, which can be differentiated. `stored` is the dtype in which
    devices have the elements; only an extended dtype is another. `text` is the StableHLO type, kept
    here by `weft.stablehlo.attributes` once written. An aval is also the type (`core/placement.py`)
    of arrays that are nowhere in particular: its `aval` is itself, an attribute since every array
    that is made reads it.
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
        """Says nothing: types don't tell how arrays are divided. `x.sharding` does."""
        return NamedSharding(NO_MESH, PartitionSpec(*[None] * self.ndim))

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def update(
        self,
        shape: Iterable[int] | None = None,
        dtype: object = None,
        weak_type: bool | None = None,
    ) -> "Aval":
        """The same aval with some of its parts replaced."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        return aval, (self.shape, self.dtype, self.weak_type)


# Attributes as functions, which are written in C: for loops over values, variables and operands.
aval_of = attrgetter("aval")
type_of = attrgetter("type")

Parts = tuple[tuple[int, ...], np.dtype[Any], bool]


class _Reference(weakref.ref[Aval]):
    """An entry of the table, which knows its key."""

    __slots__ = ("parts",)
    parts: Parts


# An aval is here while something else has it, so that programs of ever new shapes don't fill the
# table. Entries of avals that died wait in `_dead`: what ends an object may do so at any moment, in
# the midst of `_intern` too, and so takes no lock and doesn't touch the table.
_interned: dict[Parts, _Reference] = {}
_dead: deque[_Reference] = deque()
_lock = threading.Lock()


def aval(shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> Aval:
    """The one aval with this shape (a tuple of ints), dtype (NumPy's or an extended one) and weak
    type."""
    try:
        found = _interned[shape, dtype, weak_type]()
    except KeyError:
        found = None
    return _intern(shape, dtype, weak_type) if found is None else found


def _forget_dead() -> None:
    while _dead:
        entry = _dead.popleft()
        if _interned.get(entry.parts) is entry:
            del _interned[entry.parts]


def _intern(shape: tuple[int, ...], dtype: Any, weak_type: bool) -> Aval:
    shape = tuple(int(n) for n in shape)
    parts = shape, dtype if is_extended(dtype) else np.dtype(dtype), bool(weak_type)
    made = object.__new__(Aval)
    made.aval = made
    made.shape, made.dtype, made.weak_type = parts
    made.ndim, made.size, made.text = len(shape), math.prod(shape), None
    made.inexact, made.stored = dtypes.is_inexact(dtype), stored(made.dtype)
    reference = _Reference(made, _dead.append)
    reference.parts = parts
    with _lock:
        _forget_dead()
        there = _interned.get(parts)
        found = None if there is None else there()
        if found is None:
            _interned[parts] = reference
            found = made
    return found
