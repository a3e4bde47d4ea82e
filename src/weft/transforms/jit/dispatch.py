"""The hot path of a call of a compiled function: look up, execute, wrap.

Programs are looked up by the types of the arguments, which say what each is and where; so there is
one way for arrays that may be anywhere, on a device that was named, and on several.

Each line here is paid for at every call. Measured on two arrays (benchmarks/dispatch.py): XLA's
own call takes 3.5 µs, this 0.6; a second dict look-up, loop or Python frame costs 0.1 each. On 100
arrays on 8 devices (benchmarks/parallel_dispatch.py): XLA's call 150 µs, this 35.
"""

import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ... import errors
from ...compiler.loaded import Ready
from ...config import thread
from ...core.array import Array, as_value, is_kept
from ...core.aval import aval
from ...core.placement import ArrayType
from ...core.source import wrapping
from ...core.trace import current
from ...dtypes import canonicalize_dtype
from ...runtime.executable import RawBuffer
from ...tracebacks import fold
from ...tree_util import PyTreeDef, tree_flatten

_base = current.base

Explain = Callable[[RuntimeError, Sequence[RawBuffer], tuple[Any, ...], int], Exception]
"""Makes weft's error of one that XLA raised: (error, buffers, arguments, number of leaves)."""


class HotCache:
    """The signatures of one compiled function that its hot path knows."""

    __slots__ = ("__weakref__", "by_tree", "flat")

    def __init__(self) -> None:
        self.flat: dict[tuple[ArrayType, ...], Any] = {}  # for calls with arrays only
        self.by_tree: dict[PyTreeDef, dict[tuple[ArrayType, ...], Any]] = {}
        _caches.add(self)

    def remember(
        self,
        args: tuple[Any, ...],
        tree: PyTreeDef,
        types: tuple[ArrayType, ...],
        ready: Ready,
        out_tree: PyTreeDef,
    ) -> None:
        """Puts a signature on the hot path.

        Args:
          args, tree, types: the positional arguments, their structure, and the types of its leaves.
          out_tree: the structure of the result.
        """
        build: Callable[[Iterable[Array]], Any] = out_tree.builder
        order = ready.order
        if order is not None:
            build = lambda results: out_tree.builder([*map([*results].__getitem__, order)])  # noqa: E731
        single = out_tree.is_leaf
        outs: Any = ready.types
        entry = (
            thread.key,
            ready.run,
            ready.handlers,
            ready.prepare,
            ready.fill,
            ready.donated,
            outs[0] if single else outs,
            None if single else [None] * len(outs),
            build,
        )
        if all(a.__class__ is Array for a in args):
            self.flat[types] = entry
            return
        table = self.by_tree.get(tree)
        if table is None:
            table = self.by_tree[tree] = {}
        table[types] = entry

    def clear(self) -> None:
        """Forgets all signatures."""
        self.flat.clear()
        self.by_tree.clear()


_caches: "weakref.WeakSet[HotCache]" = weakref.WeakSet()


def clear_all() -> None:
    """Clears the hot paths of all functions."""
    for cache in list(_caches):
        cache.clear()


if hasattr(os, "register_at_fork"):  # a forked child takes the way that explains itself
    os.register_at_fork(after_in_child=clear_all)


def dispatcher(
    function: Callable[..., Any],
    cache: HotCache,
    general: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    explain: Explain,
) -> Callable[..., Any]:
    """The compiled function, to be called by users.

    Args:
      general: the slow way, for any call.
    """
    flat, by_tree = cache.flat, cache.by_tree

    @wrapping(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or current.trace is not _base:
                return general(args, kwargs)
            leaves: Any = args
            table: Any = flat
            types: list[Any] = []
            buffers: list[Any] = []
            on_host = False
            for a in args:
                if a.__class__ is not Array:
                    leaves, tree = tree_flatten(args)
                    table = by_tree.get(tree)
                    if table is None:
                        return general(args, kwargs)
                    types = []
                    buffers = []
                    for leaf in leaves:
                        if leaf.__class__ is Array:
                            types.append(leaf.type)
                            buffers.append(leaf._buffer)
                        elif leaf.__class__ is np.ndarray:
                            on_host = True
                            types.append(aval(leaf.shape, canonicalize_dtype(leaf.dtype)))
                        else:
                            try:
                                leaf = as_value(leaf)
                                types.append(leaf.type)
                                buffers.append(leaf._buffer)
                            except (TypeError, ValueError, AttributeError):  # no array: a tracer
                                return general(args, kwargs)  # which says which argument it is
                    break
                types.append(a.type)
                buffers.append(a._buffer)
            hot = table.get(tuple(types))
            if hot is None:
                return general(args, kwargs)
            key, run, handlers, prepare, fill, donated, outs, nones, build = hot
            if key is not thread.key:
                return general(args, kwargs)
            if donated:
                return run_donating(hot, buffers, args, leaves, on_host)
            if on_host:
                buffers = fill(leaves)
            elif prepare is not None:
                buffers = prepare(leaves, buffers)
            try:
                results = run(buffers)
                if handlers is not None:
                    results = results.consume_with_handlers(handlers)
            except TypeError:  # a buffer is None: an array that is only on the host yet
                return run_filled(hot, args, leaves)
            except RuntimeError as error:
                raise explain(error, buffers, args, len(leaves)) from None
            if nones is None:
                return Array(None, outs, results[0])
            return build(map(Array, nones, outs, results))
        except Exception as error:  # a try costs nothing where nothing is raised
            fold(error)
            raise

    def run_filled(hot: Any, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """The result for arguments some of which have to be put on the devices first."""
        fill = hot[4]
        try:
            buffers = fill(leaves)
            if any(b is None for b in buffers):
                return general(args, {})
        except errors.DeletedArrayError:
            return general(args, {})  # which says which argument it is
        return run_on(hot, buffers, args, leaves)

    def run_on(hot: Any, buffers: Any, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """The result for buffers, all of which are there."""
        _, run, handlers, _, _, _, outs, nones, build = hot
        try:
            results = run(buffers)
            if handlers is not None:
                results = results.consume_with_handlers(handlers)
        except RuntimeError as error:
            raise explain(error, buffers, args, len(leaves)) from None
        if nones is None:
            return Array(None, outs, results[0])
        return build(map(Array, nones, outs, results))

    def run_donating(
        hot: Any, buffers: Any, args: tuple[Any, ...], leaves: Sequence[Any], on_host: bool
    ) -> Any:
        """The result of a program that takes the memory of some arguments."""
        prepare, donated = hot[3], hot[5]
        if len({*map(id, leaves)}) < len(leaves):
            return general(args, {})  # which looks whether one of them is donated
        for i in donated:
            x = leaves[i]
            if x.__class__ is not Array or x._buffer is None or (not x.aval.ndim and is_kept(x)):
                return general(args, {})
        if on_host or any(b is None for b in buffers):
            result = run_filled(hot, args, leaves)
        else:
            buffers = buffers if prepare is None else prepare(leaves, buffers)
            result = run_on(hot, buffers, args, leaves)
        for i in donated:
            leaves[i]._host = leaves[i]._buffer = None
        return result

    return compiled
