"""The programs of `jit` and `pmap` functions, and the fast path of calls: look up, execute, wrap.

Programs are looked up by the types of the arguments: avals and placements. So calls on the default
device, on a named device and on several devices take the same path.

Each line of `dispatcher` adds to the cost of every call (benchmarks/dispatch.py,
parallel_dispatch.py).
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
from ..arguments import TraceKey
from .donation import may_donate

_base = current.base

Explain = Callable[[RuntimeError, Sequence[RawBuffer], tuple[Any, ...], int], Exception]
"""Converts an error of XLA to weft's error: (error, buffers, arguments, number of leaves)."""


# --- the table ---


class MayBeOpen(Protocol):
    """A traced function. It is open if it closes over tracers, or refs, which may have ended."""

    is_open: bool

    def alive(self) -> bool:
        """True if it can be used."""


T = TypeVar("T", bound=MayBeOpen)

MAX_SIGNATURES = 4096  # per function; then the table is emptied


class Programs:
    """The traced and compiled programs of a function, for one set of options.

    Attributes:
      by_signature: the traced programs.
      flat: entries of the fast path (`fast_entry`) by the types of the arguments, for calls with
        arrays only; `by_tree`: entries by the structure of the arguments, then by the types of
        their leaves.
      last: the matcher and the table of the latest structure on the fast path; or `None`.
      signatures: the latest traced signatures, for `retrace.py`; `count`: how many were traced.
      jitted: for `shard_map`, the mapped function jitted.
    """

    __slots__ = (
        "__weakref__",
        "by_signature",
        "by_tree",
        "count",
        "flat",
        "jitted",
        "last",
        "signatures",
    )

    def __init__(self) -> None:
        self.by_signature: dict[TraceKey, Any] = {}
        self.flat: dict[tuple[ArrayType, ...], Any] = {}
        self.by_tree: dict[PyTreeDef, dict[tuple[ArrayType, ...], Any]] = {}
        self.last: tuple[Callable[[Any], list[Any] | None], Any] | None = None
        self.jitted: Callable[..., Any] | None = None
        self.count = 0
        self.signatures: deque[TraceKey] = deque(maxlen=8)
        _all.add(self)

    def find(self, key: TraceKey, make: Callable[[], T]) -> T:
        """The function traced on a signature; `make` traces it if there is no usable entry.

        No lock is held during tracing, because users' code may wait for another thread. If several
        threads trace at the same time, all use the result that was stored first, so it is compiled
        only once. Too many signatures (new static arguments at each call) empty the table.
        """
        traced: T | None = self.by_signature.get(key)
        if traced is not None and (not traced.is_open or traced.alive()):
            return traced
        entry = make()
        if len(self.by_signature) >= MAX_SIGNATURES:
            self.clear()
        if traced is None:
            return self.by_signature.setdefault(key, entry)
        with _lock:  # compares and stores in one step, because another thread may replace it too
            stored: T | None = self.by_signature.get(key)
            if stored is None or stored is traced:
                self.by_signature[key] = stored = entry
            return stored

    def put_on_fast_path(
        self, args: tuple[Any, ...], tree: PyTreeDef, types: tuple[ArrayType, ...], entry: Any
    ) -> None:
        """Makes calls with positional arguments of this structure and types take the fast path."""
        if all([a.__class__ is Array for a in args]):
            self.flat[types] = entry
            return
        table = self.by_tree.get(tree)
        if table is None:
            table = self.by_tree[tree] = {}
        table[types] = entry
        self.last = tree.matcher, table

    def leave_fast_path(self) -> None:
        """Makes all calls take the general path."""
        self.flat.clear()
        self.by_tree.clear()
        self.last = None

    def clear(self) -> None:
        """Forgets all signatures."""
        self.by_signature.clear()
        self.leave_fast_path()


_all: "weakref.WeakSet[Programs]" = weakref.WeakSet()


def leave_all_fast_paths() -> None:
    """Makes all calls of all functions take the general path."""
    for programs in list(_all):
        programs.leave_fast_path()


def forget_traces(key: object) -> None:
    """Drops the programs that were traced under a state of the switches (`thread.key`)."""
    for programs in list(_all):
        for signature in [s for s in list(programs.by_signature) if s.switches is key]:
            programs.by_signature.pop(signature, None)
        kept = [s for s in programs.signatures if s.switches is not key]
        programs.signatures.clear()
        programs.signatures.extend(kept)


if hasattr(os, "register_at_fork"):  # the general path raises the error for a forked child
    os.register_at_fork(after_in_child=leave_all_fast_paths)


class ProgramsByOptions:
    """The programs of a function by options. It is stored as an attribute of the function. A table
    of functions would keep a function alive if a derivative rule in a program refers to it. It has
    an `owner`, because `functools.wraps` copies attributes.
    """

    __slots__ = ("by_options", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)
        self.by_options: dict[Hashable, Programs] = {}

    def __reduce__(self) -> Any:
        # pickled without programs, and with an owner that is not a function
        return ProgramsByOptions, (ProgramsByOptions,)


_lock = threading.RLock()  # reentrant, because comparing static arguments may run users' code


def programs_of(function: Any, options: Hashable) -> Programs:
    """The programs of a function; they are freed with it."""
    if type(function) is not FunctionType:
        return Programs()
    with _lock:
        # Stored on the function: in a WeakKeyDictionary, the programs would keep the function
        # alive, because they refer to it.
        table = function.__dict__.get("__weft_jit__")
        if table is None or table.owner() is not function:
            table = function.__dict__["__weft_jit__"] = ProgramsByOptions(function)
        return table.by_options.setdefault(options, Programs())


# --- the fast path ---


def fast_entry(compiled: CompiledProgram, types: Sequence[ArrayType], out_tree: PyTreeDef) -> Any:
    """The entry of the fast path for a compiled program; `None` if it needs the general path.

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


def leaves_and_table(programs: Programs, args: Any) -> tuple[list[Any], Any]:
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
    """The function that users call: the fast path.

    Args:
      general: the general path, for any call.
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
            input_buffers: list[Any] = []
            on_host = False
            for a in args:
                if a.__class__ is not Array:
                    leaves, table = leaves_and_table(programs, args)
                    if table is None:
                        return general(args, kwargs)
                    types, input_buffers = [], []
                    for leaf in leaves:
                        if leaf.__class__ is Array:
                            types.append(leaf.type)
                            input_buffers.append(leaf._buffer)
                        elif leaf.__class__ is np.ndarray:
                            on_host = True
                            types.append(aval(leaf.shape, canonicalize_dtype(leaf.dtype)))
                            input_buffers.append(None)
                        else:
                            try:
                                leaf = as_value(leaf)
                                types.append(leaf.type)
                                input_buffers.append(leaf._buffer)
                            except (TypeError, ValueError, AttributeError):  # not an array
                                return general(args, kwargs)  # its error names the argument
                    break
                types.append(a.type)
                input_buffers.append(a._buffer)
            entry = table.get(tuple(types))
            if entry is None:
                return general(args, kwargs)
            key, run, handlers, fill, is_direct, donated, outs, nones, build = entry
            if key is not thread.key or (donated and not may_donate(donated, leaves)):
                return general(args, kwargs)
            buffers = fill(leaves, input_buffers) if on_host or not is_direct else input_buffers
            try:
                try:
                    results = run(buffers)
                except TypeError:  # a buffer is None if the array is only on the host
                    results = run(buffers := fill(leaves, input_buffers))
                if handlers is not None:
                    results = results.consume_with_handlers(handlers)
            except errors.DeletedArrayError:
                return general(args, kwargs)  # its error names the argument
            except RuntimeError as error:
                raise explain(error, buffers, args, len(leaves)) from None
            for i in donated:
                leaves[i]._host = leaves[i]._buffer = None
            if nones is None:
                return Array(None, outs, results[0])
            return build(map(Array, nones, outs, results))
        except Exception as error:  # raised again
            fold(error)
            raise

    return compiled
