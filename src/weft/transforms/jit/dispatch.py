"""The programs of a compiled function, and the fast path of its calls: look up, execute, wrap.

Shared by `jit` and `pmap`.

Programs are looked up by the types of the arguments, which say what each is and where; so there is
one way for arrays that may be anywhere, on a device that was named, and on several.

Each line here is paid for at every call. Measured on two arrays (benchmarks/dispatch.py): XLA's
own call takes 3.5 µs, this 0.6; a second dict look-up, loop or Python frame costs 0.1 each. On 100
arrays on 8 devices (benchmarks/parallel_dispatch.py): XLA's call 150 µs, this 35.
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import FunctionType
from typing import Any, Protocol, TypeVar

import numpy as np

from ... import errors
from ...compiler.compiled import CompiledProgram
from ...config import thread
from ...core.array import Array, as_value
from ...core.aval import aval
from ...core.placement import ArrayType
from ...core.source import wrapping
from ...core.trace import current
from ...dtypes import canonicalize_dtype
from ...runtime.executable import RawBuffer
from ...tracebacks import fold
from ...tree_util import PyTreeDef, tree_flatten
from .donation import may_donate

_base = current.base

Explain = Callable[[RuntimeError, Sequence[RawBuffer], tuple[Any, ...], int], Exception]
"""Makes weft's error of one that XLA raised: (error, buffers, arguments, number of leaves)."""


# --- the table ---


class CanEnd(Protocol):
    """A traced function; it is open if it closes over values of a trace, which may have ended."""

    is_open: bool

    def alive(self) -> bool:
        """True if it can be used."""


T = TypeVar("T", bound=CanEnd)

MOST_SIGNATURES = 4096


class Programs:
    """The programs of a function, traced and compiled, for one set of options.

    Attributes:
      traced: by signature.
      flat: compiled programs as the fast path runs them (`fast_entry`), by the types of the
        arguments, for calls with arrays only; `by_tree`: by the structure of the arguments, and
        then by the types of their leaves.
      last: the matcher of the structure that came to the fast path last, and its table; or `None`.
      signatures: the last ones that were traced, for `retrace.py`; `count`: of all.
    """

    __slots__ = ("__weakref__", "by_tree", "count", "flat", "last", "signatures", "traced")

    def __init__(self) -> None:
        self.traced: dict[Any, Any] = {}
        self.flat: dict[tuple[ArrayType, ...], Any] = {}
        self.by_tree: dict[PyTreeDef, dict[tuple[ArrayType, ...], Any]] = {}
        self.last: tuple[Callable[[Any], list[Any] | None], Any] | None = None
        self.count = 0
        self.signatures: deque[Any] = deque(maxlen=8)
        _all.add(self)

    def find(self, key: Hashable, make: Callable[[], T]) -> T:
        """The function traced on a signature; `make` traces it if none is there that can be used.

        No lock is held meanwhile: tracing runs users' code, which may wait for another thread. Of
        threads that come at the same time each traces, and all use what the first one stored; so it
        is compiled once. Too many signatures (new static arguments at each call) empty the table.
        """
        found: T | None = self.traced.get(key)
        if found is not None and (not found.is_open or found.alive()):
            return found
        made = make()
        if len(self.traced) >= MOST_SIGNATURES:
            self.clear()
        if found is None:
            return self.traced.setdefault(key, made)
        with _owning:  # looking and storing are one step: another thread may have replaced it too
            stored: T | None = self.traced.get(key)
            if stored is None or stored is found:
                self.traced[key] = stored = made
            return stored

    def put_on_fast_path(
        self, args: tuple[Any, ...], tree: PyTreeDef, types: tuple[ArrayType, ...], entry: Any
    ) -> None:
        """Has calls with such positional arguments, of this structure and types, take the fast
        path."""
        if all([a.__class__ is Array for a in args]):
            self.flat[types] = entry
            return
        table = self.by_tree.get(tree)
        if table is None:
            table = self.by_tree[tree] = {}
        table[types] = entry
        self.last = tree.matcher, table

    def leave_fast_path(self) -> None:
        """Has all calls take the general way."""
        self.flat.clear()
        self.by_tree.clear()
        self.last = None

    def clear(self) -> None:
        """Forgets all signatures."""
        self.traced.clear()
        self.leave_fast_path()


_all: "weakref.WeakSet[Programs]" = weakref.WeakSet()


def leave_all_fast_paths() -> None:
    """Has all calls of all functions take the general way."""
    for programs in list(_all):
        programs.leave_fast_path()


if hasattr(os, "register_at_fork"):  # a forked child takes the way that explains itself
    os.register_at_fork(after_in_child=leave_all_fast_paths)


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


# --- the fast path ---


def fast_entry(compiled: CompiledProgram, types: Sequence[ArrayType], out_tree: PyTreeDef) -> Any:
    """A compiled program for arguments of these types as the fast path runs it; `None` if it can't.

    Args:
      out_tree: the structure of the result.
    """
    filled = compiled.fill(types) if compiled.only_results else None
    if filled is None:
        return None
    fill, is_direct = filled
    order = compiled.order
    build: Callable[[Iterable[Array]], Any] = out_tree.builder
    if order is not None:
        build = lambda results: out_tree.builder([*map([*results].__getitem__, order)])  # noqa: E731
    assert compiled.executable is not None  # it has results
    single = out_tree.is_leaf
    outs: Any = compiled.types
    return (
        thread.key,
        compiled.executable.run,
        compiled.executable.handlers,
        fill,
        is_direct,
        compiled.donated,
        outs[0] if single else outs,
        None if single else [None] * len(outs),
        build,
    )


def taken_apart(programs: Programs, args: Any) -> tuple[list[Any], Any]:
    """The leaves of arguments, and the table of their structure, or `None`."""
    last = programs.last  # read once: another thread may set it
    if last is not None:
        match, table = last
        leaves = match(args)
        if leaves is not None:
            return leaves, table
    leaves, tree = tree_flatten(args)
    return leaves, programs.by_tree.get(tree)


def dispatcher(
    function: Callable[..., Any],
    programs: Programs,
    general: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    explain: Explain,
) -> Callable[..., Any]:
    """The compiled function, to be called by users.

    Args:
      general: the slow way, for any call.
    """
    flat = programs.flat

    @wrapping(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or current.trace is not _base:
                return general(args, kwargs)
            leaves: Any = args
            table: Any = flat
            types: list[Any] = []
            given: list[Any] = []
            on_host = False
            for a in args:
                if a.__class__ is not Array:
                    leaves, table = taken_apart(programs, args)
                    if table is None:
                        return general(args, kwargs)
                    types, given = [], []
                    for leaf in leaves:
                        if leaf.__class__ is Array:
                            types.append(leaf.type)
                            given.append(leaf._buffer)
                        elif leaf.__class__ is np.ndarray:
                            on_host = True
                            types.append(aval(leaf.shape, canonicalize_dtype(leaf.dtype)))
                            given.append(None)
                        else:
                            try:
                                leaf = as_value(leaf)
                                types.append(leaf.type)
                                given.append(leaf._buffer)
                            except (TypeError, ValueError, AttributeError):  # no array: a tracer
                                return general(args, kwargs)  # which says which argument it is
                    break
                types.append(a.type)
                given.append(a._buffer)
            entry = table.get(tuple(types))
            if entry is None:
                return general(args, kwargs)
            key, run, handlers, fill, is_direct, donated, outs, nones, build = entry
            if key is not thread.key or (donated and not may_donate(donated, leaves)):
                return general(args, kwargs)
            buffers = fill(leaves, given) if on_host or not is_direct else given
            try:
                try:
                    results = run(buffers)
                except TypeError:  # a buffer is None: an array that is only on the host yet
                    results = run(buffers := fill(leaves, given))
                if handlers is not None:
                    results = results.consume_with_handlers(handlers)
            except errors.DeletedArrayError:
                return general(args, kwargs)  # which says which argument it is
            except RuntimeError as error:
                raise explain(error, buffers, args, len(leaves)) from None
            for i in donated:
                leaves[i]._host = leaves[i]._buffer = None
            if nones is None:
                return Array(None, outs, results[0])
            return build(map(Array, nones, outs, results))
        except Exception as error:  # a try costs nothing where nothing is raised
            fold(error)
            raise

    return compiled
