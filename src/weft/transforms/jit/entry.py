"""Signatures of compiled functions: their jaxprs, the ways to run them, and the table of them.

Shared by `jit` and `pmap`. The table is kept with the function: a second `jit(f)` finds the same
programs. Knows programs and arrays; knows nothing of how they were traced.
"""

import threading
import warnings
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from ... import errors
from ...compiler.loaded import Loaded, Ready
from ...compiler.program import Program
from ...core.array import Array, Tracer, own
from ...core.caching import remember
from ...core.jaxpr import Jaxpr
from ...core.placement import ArrayType
from ...core.source import function_line
from ...core.trace import Trace
from ...core.value import Value
from ...dtypes import float0
from ...runtime import buffer as buffers
from ...tree_util import PyTreeDef
from ...user_lines import levels_to_user
from .dispatch import HotCache


class Entry(ABC):
    """A traced signature: its jaxpr, the structure of its result, and its program.

    Attributes:
      jaxpr: what the function was traced to.
      out_tree: the structure of the result.
      open: true if it closes over values that are being traced.
      donated: the numbers of the argument leaves whose memory may be used.
    """

    jaxpr: Jaxpr
    out_tree: PyTreeDef
    open: bool
    donated: tuple[int, ...]

    def __init__(self, jaxpr: Jaxpr, out_tree: PyTreeDef) -> None:
        self.jaxpr, self.out_tree = jaxpr, out_tree
        self.open = any(isinstance(c, Tracer) for c in jaxpr.consts)
        self.bitless = [i for i, a in enumerate(jaxpr.out_avals) if a.dtype == float0]
        self._ready: dict[tuple[ArrayType, ...], Ready | None] = {}

    def alive(self) -> bool:
        """True if the program can be used: not if it closes over a tracer whose trace has ended."""
        return not self.open or all(
            not c._trace.closed for c in self.jaxpr.consts if isinstance(c, Tracer)
        )

    @property
    @abstractmethod
    def program(self) -> Program:
        """The jaxpr made ready to be compiled; made when it is first needed."""

    @abstractmethod
    def load(self, types: Sequence[ArrayType], program: Program | None = None) -> Loaded:
        """The program for arguments of these types, on the devices that run it.

        Args:
          program: the same one, with options of XLA's.
        """

    @abstractmethod
    def apply(self, values: Sequence[Value], trace: Trace) -> Any:
        """The result for values inside another transformation."""

    def run(self, values: Sequence[Array], loaded: Loaded | None = None) -> Any:
        """The result for arrays.

        Args:
          loaded: the program, compiled ahead of time.
        """
        loaded = loaded or self.load([v.type for v in values])
        program = loaded.program
        if program.donated:
            values = owned(program, values)
            check_donated(program, values)
        outs = self.run_program(loaded, values)
        for i in program.donated:
            release(values[program.live[i]])
        return self.out_tree.unflatten(self.with_numpys_zeros(outs))

    def with_numpys_zeros(self, outs: Sequence[Any]) -> Sequence[Any]:
        """The outputs, zero tangents of integers (float0) as NumPy arrays, as transformations give
        them."""
        if self.bitless:
            outs = [*outs]
            for i in self.bitless:
                outs[i] = np.zeros(outs[i].shape, float0)
        return outs

    def run_program(self, loaded: Loaded, values: Sequence[Array]) -> list[Array]:
        """The outputs of the program for arrays."""
        return loaded.run(values)

    def remember(
        self, cache: HotCache, args: tuple[Any, ...], tree: PyTreeDef, values: Sequence[Array]
    ) -> None:
        """Puts arguments of these types on the hot path, if it can take them."""
        types = tuple([v.type for v in values])
        if types not in self._ready:
            remember(self._ready, types, self.load(types).ready(types))
        ready = self._ready.get(types)
        if ready is not None:
            cache.remember(args, tree, types, ready, self.out_tree)


# --- arguments whose memory may be used ---


def owned(program: Program, values: Sequence[Array]) -> list[Array]:
    """The arguments, where those to be donated are not what all programs have for a number."""
    values = [*values]
    for i in program.donated:
        number = program.live[i]
        values[number] = own(values[number])
    return values


def check_donated(program: Program, values: Sequence[Array]) -> None:
    """Refuses an array that is donated and is an argument in another place too."""
    places: dict[int, int] = {}
    donated = {program.live[i] for i in program.donated}
    for i, v in enumerate(values):
        first = places.setdefault(id(v), i)
        if first != i and (first in donated or i in donated):
            raise errors.ShapeError(
                f"jit: {program.name} is to donate an array that it gets twice, {v.aval} as "
                f"argument leaves {first} and {i}\n  fix: pass a copy, or don't donate it"
            )


def warn_of_unusable(program: Program, transform: str) -> None:
    """Warns of donated arguments whose memory no result can use."""
    free = list(program.result_types)
    unusable = []
    for i in program.donated:
        a = program.in_avals[program.live[i]]
        if (a.shape, a.stored) in free:
            free.remove((a.shape, a.stored))
        else:
            unusable.append(str(a))
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}\n"
            f"  {transform}: no result that {program.name} computes has their shape and dtype\n"
            "  fix: donate only what a result can take the place of",
            stacklevel=levels_to_user(),
        )


def release(array: Array) -> None:
    """Marks a donated array as deleted, whether XLA could use its memory or not."""
    if array._buffer is not None and not buffers.is_deleted(array._buffer):
        buffers.delete(array._buffer)
    array._host = array._buffer = None


def deleted(function: Any, path: str, array: Any) -> errors.DeletedArrayError:
    """The error for an argument whose memory was freed or donated."""
    return errors.DeletedArrayError(
        f"jit: argument {path} of {function_line(function)}, {array.aval}, has been deleted or "
        "donated: its memory is gone\n  fix: don't use an array after passing it in "
        "donate_argnums or calling delete()"
    )


# --- the table ---

E = TypeVar("E", bound=Entry)

MOST_SIGNATURES = 4096


class Programs:
    """The signatures that a function has been traced for with one set of options."""

    __slots__ = ("count", "entries", "hot", "signatures")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.hot = HotCache()
        self.count = 0  # of all that were traced
        self.signatures: deque[Any] = deque(maxlen=8)  # the last ones: see `retrace.py`

    def entry(self, key: Hashable, make: Callable[[], E]) -> E:
        """The entry of a signature; `make` traces it if there is none that can be used.

        No lock is held meanwhile: tracing runs users' code, which may wait for another thread. Of
        threads that come at the same time each traces, and all use what the first one stored; so it
        is compiled once. Too many signatures (new static arguments at each call) empty the table.
        """
        entry: E | None = self.entries.get(key)
        if entry is not None and entry.alive():
            return entry
        made = make()
        if len(self.entries) >= MOST_SIGNATURES:
            self.clear()
        if entry is None:
            return self.entries.setdefault(key, made)
        with _owning:  # looking and storing are one step: another thread may have replaced it too
            stored: E | None = self.entries.get(key)
            if stored is None or stored is entry:
                self.entries[key] = stored = made
            return stored

    def clear(self) -> None:
        """Forgets all signatures."""
        self.entries.clear()
        self.hot.clear()


class Owned:
    """The programs of a function, by options. It is an attribute of the function.

    A table by functions would keep them for ever where a derivative rule in a program refers to the
    function. An attribute is copied by `functools.wraps`, so it says whose it is.
    """

    __slots__ = ("by_options", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)
        self.by_options: dict[Hashable, Programs] = {}

    def __reduce__(self) -> Any:
        return Owned, (Owned,)  # nobody's: a function is pickled without what was compiled for it


_owning = threading.RLock()  # reentrant: comparing static arguments may run users' code


def programs_of(function: Any, options: Hashable) -> Programs:
    """The programs of a function; they die with it."""
    if type(function) is not FunctionType:
        return Programs()
    with _owning:
        owned = function.__dict__.get("__weft_jit__")
        if owned is None or owned.owner() is not function:
            owned = function.__dict__["__weft_jit__"] = Owned(function)
        return owned.by_options.setdefault(options, Programs())
