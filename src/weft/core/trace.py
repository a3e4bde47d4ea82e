"""Dispatch: the current trace decides what applying a primitive means. No stack, no search.

Knows nothing of any interpretation; `weft.interpreters` holds those.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from ..config import config, everywhere, thread
from ..lazy import Deferred


class Trace:
    """One interpretation of primitives. `bind` is all there is to implement."""

    __slots__ = ()

    def bind(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        """Applies `primitive` to values.

        Args:
          args: a sequence of values (`Array` or `Tracer`).
          params: a hashable tuple of (name, value) pairs.
          out: the output's aval (a tuple of them for several outputs) if the caller knows it.
        Returns: a value, or a list of them for a primitive of several outputs.
        """
        raise NotImplementedError(f"{type(self).__name__}.bind")

    def origin(self, tracer: Any) -> str:
        """How and where a tracer was made, if that is known: `by sin at model.py:3, in f`."""
        return ""


class _Unloaded(Trace):
    """The base trace before its first operation, which loads what it is from then on.

    This is the first of the two hooks: `weft.interpreters.evaluate`, at import, gives the base
    trace its own class. So there is one base from the beginning, and nobody can hold another.
    """

    __slots__ = ()
    _evaluate = Deferred("weft.interpreters.evaluate")

    def bind(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        trace = self._evaluate.base
        if is_bottom(current.trace):  # a switch in the environment may want another one
            trace = current.trace
        return trace.bind(primitive, args, params, out)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluate.base, name)


# The attributes of `current` in each thread, for a switch that is turned for all of them.
_threads: "weakref.WeakKeyDictionary[threading.Thread, dict[str, Any]]"
_threads = weakref.WeakKeyDictionary()


class _Current(threading.local):
    """The trace of this thread. `base` is the evaluating trace, where every thread begins."""

    base: Any = _Unloaded()
    trace: Any = base
    quiet: Any = None  # runs NumPy kernels without warnings (interpreters/evaluate.py: quietly)

    def __init__(self) -> None:
        _threads[threading.current_thread()] = self.__dict__


current = _Current()
_watching = Deferred("weft.interpreters.watch")


def looked_at() -> bool:
    """Whether a switch wants every result looked at in this thread."""
    return bool(thread.debug_nans or thread.debug_infs or thread.enable_checks)


def watched() -> bool:
    """Whether a switch wants more of every operation than that it is computed."""
    return looked_at() or thread.default_device is not None


_WATCHED = ("debug_nans", "debug_infs", "enable_checks", "default_device")


@config.on_change
def watch() -> None:
    """Puts the watching trace in the place of the base trace, or takes it away, as switches say.

    So nobody who computes has to ask: where results are to be looked at, `current.trace` is another
    trace. In the midst of a transformation it is the innermost `outside` that is exchanged.
    """
    base = current.base
    if watched():
        wanted = _watching.watching
        if everywhere(*_WATCHED):
            _Current.trace = wanted
            for own in list(_threads.values()):  # the watching trace itself asks each thread
                if own.get("trace") is base:
                    own["trace"] = wanted
    else:
        wanted = base
        if not everywhere(*_WATCHED):
            _Current.trace = base
    trace = current.trace
    if is_bottom(trace):
        current.trace = wanted
        return
    while not is_bottom(getattr(trace, "outside", base)):
        trace = trace.outside
    if getattr(trace, "outside", None) is not None:
        trace.outside = wanted


def is_bottom(trace: Any) -> bool:
    """Whether a trace computes: the base trace, or the one that is in its place."""
    return trace is current.base or getattr(trace, "watches", False)


@contextlib.contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Makes `trace` the current one within a block."""
    outside = current.trace
    current.trace = trace
    try:
        yield trace
    finally:
        current.trace = outside
