"""Dispatch: the current trace decides what applying a primitive means. No stack, no search.

Knows nothing of any interpretation; `weft.interpreters` holds those.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from ..lazy import Deferred


class Trace:
    """One interpretation of primitives. `process` is all there is to implement."""

    __slots__ = ()

    def process(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        """Applies `primitive` to values.

        Args:
          args: a sequence of values (`Array` or `Tracer`).
          params: a hashable tuple of (name, value) pairs.
          out: the output's aval (a tuple of them for several outputs) if the caller knows it.
        Returns: a value, or a list of them for a primitive of several outputs.
        """
        raise NotImplementedError(f"{type(self).__name__}.process")


class _Unloaded(Trace):
    """The base trace before its first operation, which loads what it is from then on.

    This is the first of the two hooks: `weft.interpreters.evaluate`, at import, gives the base
    trace its own class. So there is one base from the beginning, and nobody can hold another.
    """

    __slots__ = ()
    _evaluate = Deferred("weft.interpreters.evaluate")

    def process(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        return self._evaluate.base.process(primitive, args, params, out)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluate.base, name)


class _Current(threading.local):
    """The trace of this thread. `base` is the evaluating trace, where every thread begins."""

    base: Any = _Unloaded()
    trace: Any = base
    quiet: Any = None  # runs NumPy kernels without warnings (interpreters/evaluate.py: quietly)


current = _Current()


@contextlib.contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Makes `trace` the current one within a block."""
    outside = current.trace
    current.trace = trace
    try:
        yield trace
    finally:
        current.trace = outside
