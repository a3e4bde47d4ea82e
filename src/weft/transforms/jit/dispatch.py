"""The hot path of a jitted call: look up, execute, wrap. Everything else is `jit.py`'s.

Each line here is paid for at every call. Measured on two arrays (benchmarks/dispatch.py): XLA's
own call takes 3.5 µs, this 0.6; a second dict look-up, loop or Python frame costs 0.1 each.
"""

import functools
import os
import weakref
from collections.abc import Callable
from typing import Any

from ...config import thread
from ...core.array import Array, PlacedArray
from ...core.sharded_array import ShardedArray
from ...core.trace import current
from ...core.tracebacks import fold
from .sharded_dispatch import NOT_READY, ShardedCache

_base = current.base


class Cache:
    """What the hot path of one jitted function looks up."""

    __slots__ = ("__weakref__", "bare", "by_tree", "last")

    def __init__(self) -> None:
        self.bare: dict[Any, Any] = {}  # for calls with arrays only
        self.by_tree: dict[Any, dict[Any, Any]] = {}
        # for the last tree: what takes it apart, its table; one pair, since threads may change it
        self.last: Any = None
        _caches.add(self)

    def remember(self, tree: Any, args: Any, avals: tuple[Any, ...], ready: Any) -> None:
        """Puts a signature on the hot path."""
        if all(a.__class__ is Array for a in args):
            self.bare[avals] = ready
            return
        table = self.by_tree.get(tree)
        if table is None:
            table = self.by_tree[tree] = {}
        table[avals] = ready
        self.last = (tree.matcher, table)

    def clear(self) -> None:
        """Forgets all signatures."""
        self.bare.clear()
        self.by_tree.clear()
        self.last = None


_caches: "weakref.WeakSet[Cache]" = weakref.WeakSet()


def clear_all() -> None:
    """Takes all signatures of all functions off the hot path."""
    for cache in list(_caches):
        cache.clear()


if hasattr(os, "register_at_fork"):  # a forked child takes the way that explains itself
    os.register_at_fork(after_in_child=clear_all)


def dispatcher(
    fun: Callable[..., Any],
    cache: Cache,
    spread: ShardedCache,
    general: Callable[[Any, Any], Any],
    convert: Callable[[Any], Any],
    fill: Callable[[Any, list[Any]], list[Any]],
    explain: Callable[[Any, Any, Any, Any], Exception],
) -> Callable[..., Any]:
    """The jitted function.

    Args:
      spread: the hot path for arrays on several devices.
      general: the slow way, for any call.
      convert: makes an array of a NumPy array or a scalar.
      fill: puts arrays that aren't on the device there; gives all buffers.
      explain: makes a runtime error into weft's: (error, buffers, arguments, which were passed).
    """
    bare = cache.bare

    @functools.wraps(fun)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or current.trace is not _base:
                return general(args, kwargs)
            leaves: Any = args
            table: Any = bare
            avals: list[Any] = []
            buffers: list[Any] = []
            for a in args:
                if a.__class__ is not Array:
                    if spread.last is not None:
                        result = spread.call(args)
                        if result is not NOT_READY:
                            return result
                    last = cache.last
                    if last is None or (leaves := last[0](args)) is None:
                        return general(args, kwargs)
                    table = last[1]
                    avals = []
                    buffers = []
                    for leaf in leaves:
                        if leaf.__class__ is not Array:
                            if leaf.__class__ is PlacedArray or leaf.__class__ is ShardedArray:
                                return general(args, kwargs)
                            leaf = convert(leaf)
                        avals.append(leaf.aval)
                        buffers.append(leaf._buffer)
                    break
                avals.append(a.aval)
                buffers.append(a._buffer)
            ready = table.get(tuple(avals))
            if ready is None:
                return general(args, kwargs)
            key, run, handlers, kept, consts, outs, nones, build = ready
            if key is not thread.key:
                return general(args, kwargs)
            if kept is not None:
                buffers = [buffers[i] for i in kept]
            if consts:
                buffers += consts
            try:
                results = run(buffers).consume_with_handlers(handlers)
            except TypeError:  # a buffer is None: an array that is only on the host yet
                return general_with(ready, leaves, args)
            except RuntimeError as error:
                raise explain(error, buffers, args, kept) from None
            if nones is None:
                return Array(None, outs, results[0])
            return build(map(Array, nones, outs, results))
        except Exception as error:  # a try costs nothing where nothing is raised
            fold(error)
            raise

    def general_with(ready: Any, leaves: Any, args: Any) -> Any:
        _, run, handlers, kept, consts, outs, nones, build = ready
        buffers = fill(leaves, [*range(len(leaves))] if kept is None else kept) + consts
        try:
            results = run(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            raise explain(error, buffers, args, kept) from None
        if nones is None:
            return Array(None, outs, results[0])
        return build(map(Array, nones, outs, results))

    return jitted
