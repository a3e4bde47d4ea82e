"""Dispatch: the current trace decides what applying a primitive means. No stack, no search.

Knows nothing of any interpretation; `weft.interpreters` holds those.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


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


class _Current(threading.local):
    """The trace of this thread. `base` is the evaluating trace, where every thread begins.

    `_Current.base = _Current.trace = …` is the first of the two hooks: assigned once, by
    `weft.interpreters.evaluate` at import.
    """

    base: Any = None
    trace: Any = None
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
