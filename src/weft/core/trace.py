"""Dispatch: the current trace decides what applying a primitive means. No stack, no search.

Knows nothing of any interpretation; `weft.interpreters` holds those.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..config import config, everywhere, thread
from ..lazy import Deferred

if TYPE_CHECKING:
    from .primitive import Primitive
    from .value import Value

T = TypeVar("T")
Params = tuple[tuple[str, Any], ...]
"""The parameters of an operation: a hashable tuple of (name, value) pairs."""


class Trace:
    """One interpretation of primitives. `bind` is all there is to implement.

    Attributes:
      outside: the trace that this one calls, or was begun in; None for the one that computes.
      closed: True once the function has been traced: the tracers can't be used any more.
      computes: True for the traces at the bottom, which have no other outside.
      transform: the transformation that traces, for messages: `grad`.
      function: the user's function that is traced, or its name, for messages.
    """

    __slots__ = ("__weakref__",)

    outside: "Trace | None" = None
    closed: bool = False
    computes: bool = False
    transform: str = "trace"
    function: Callable[..., Any] | str | None = None

    @property
    def main(self) -> "Trace":
        """The trace itself, under the name by which JAX's libraries tell whose a tracer is."""
        return self

    def bind(
        self, primitive: "Primitive", args: "Sequence[Value]", params: Params, out: object = None
    ) -> Any:
        """Applies `primitive` to values.

        Args:
          args: a sequence of values (`Array` or `Tracer`).
          params: a hashable tuple of (name, value) pairs.
          out: the output's aval (a tuple of them for several outputs) if the caller knows it.
        Returns: a value, or a list of them for a primitive of several outputs.
        """
        raise NotImplementedError(f"{type(self).__name__}.bind")

    def run(self, plan: Any, args: "Sequence[Value]") -> Any:
        """The output of a plan of an operation or a program (`interpreters/plans.py`)."""
        return plan.under(self, args)

    def bind_custom(
        self,
        primitive: "Primitive",
        function: Callable[..., "list[Value]"],
        rules: object,
        args: "Sequence[Value]",
    ) -> "list[Value]":
        """Applies a function with a derivative rule of its own to values."""
        raise NotImplementedError(f"{type(self).__name__}.bind_custom")

    def has_ended(self) -> bool:
        """True if the tracers can't be used now: the trace is closed."""
        return self.closed

    def origin(self, tracer: Any) -> str:
        """The operation and line that made a tracer, if known: `by sin at model.py:3, in f`."""
        return ""


_evaluate = Deferred("weft.interpreters.evaluate")


class _Unloaded(Trace):
    """The base trace before its first operation, which loads what it is from then on.

    This is the first of the two hooks: `weft.interpreters.evaluate`, at import, gives the base
    trace its own class. So there is one base from the beginning, and nobody can hold another. Its
    methods may run on the trace that it has become: they use nothing of this class.
    """

    __slots__ = ()
    computes = True

    def bind(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        return _loaded().bind(primitive, args, params, out)

    def run(self, plan: Any, args: Any) -> Any:
        return _loaded().run(plan, args)

    def bind_custom(self, primitive: Any, function: Any, rules: Any, args: Any) -> Any:
        return _loaded().bind_custom(primitive, function, rules, args)

    def __getattr__(self, name: str) -> Any:
        return getattr(_evaluate.base, name)


def _loaded() -> Trace:
    """The trace that computes, after loading it."""
    base: Trace = _evaluate.base
    # a switch in the environment may want another one
    return current.trace if current.trace.computes else base


# The attributes of `current` in each thread, for a switch that is turned for all of them.
_threads: "weakref.WeakKeyDictionary[threading.Thread, dict[str, Any]]"
_threads = weakref.WeakKeyDictionary()


class _Current(threading.local):
    """The trace of this thread.

    Attributes:
      trace: what applying a primitive means at present.
      base: the evaluating trace, where every thread begins.
      bottom: the trace that computes in this thread: `base`, or the watching trace in its place.
      locating: whether operations are to note the user's lines, by `with_locations`.
      reopened: the traces whose tracers a rule may use though they are closed (batch.py).
    """

    base: Any = _Unloaded()
    trace: Any = base
    bottom: Any = base
    locating: bool = False
    reopened: tuple[Trace, ...] = ()
    quiet: Callable[..., Any] | None = None  # runs NumPy kernels without warnings (evaluate.py)

    def __init__(self) -> None:
        _threads[threading.current_thread()] = self.__dict__


current = _Current()
_watching = Deferred("weft.interpreters.debugging.watch")


def under(trace: Trace, function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)` where `trace` is the current one. Nobody else sets it.

    This holds against Ctrl-C, signal handlers that raise, and anything else that interrupts at any
    moment: the trace outside comes back before other Python code runs. CPython looks for signals
    when a Python function begins, when a call returns and when a loop goes back, and nowhere else;
    between `try` and the first line in it, and between the end of the block and the store in
    `finally`, there is none of these. So it is a function with a `try` of its own, and must stay
    one: the `__exit__` of a context manager that is written in Python begins like every function,
    and an interrupt there would leave the thread in a dead trace. (Of 20,000 interrupts, a
    `contextmanager` lost some 400: tests/threads/test_interrupts.py.)
    """
    outside = current.trace
    try:
        current.trace = trace
        return function(*args)
    finally:
        # a switch may have put another trace at the bottom in the meantime: debug_nans
        current.trace = current.bottom if outside.computes else outside


def looked_at() -> bool:
    """True if a switch wants every operation looked at in this thread."""
    return bool(
        thread.debug_nans or thread.debug_infs or thread.enable_checks or thread.debug_key_reuse
    )


def watched() -> bool:
    """True if a switch wants more of every operation than that it is computed."""
    return looked_at() or thread.default_device is not None


def locations_wanted() -> bool:
    """True if the user's lines are to be noted (core/source_location.py); asked once a trace."""
    return bool(
        thread.debug_nans
        or thread.debug_infs
        or thread.check_tracer_leaks
        or thread.debug_key_reuse
        or current.locating
    )


def with_locations(function: Callable[..., T], *args: Any) -> T:
    """The result of `function(*args)` where the locations of operations are noted."""
    before = current.locating
    try:
        current.locating = True
        return function(*args)
    finally:
        current.locating = before


_WATCHED = ("debug_nans", "debug_infs", "enable_checks", "debug_key_reuse", "default_device")


@config.on_change
def watch() -> None:
    """Puts the watching trace in the place of the base trace, or takes it away, as switches say.

    So nobody who computes has to ask: where results are to be looked at, `current.trace` is another
    trace. In the midst of a transformation it is the innermost `outside` that is replaced, and
    `under` returns to the new one.
    """
    everybody = _watching.watching if everywhere(*_WATCHED) else current.base
    if everybody is not _Current.bottom:
        _Current.trace = _Current.bottom = everybody
        if everybody is not current.base:
            for own in list(_threads.values()):  # the watching trace itself asks each thread
                if "bottom" in own:
                    own["bottom"] = everybody
                if "trace" in own and own["trace"].computes:
                    own["trace"] = everybody
    bottom = current.bottom = _watching.watching if watched() else current.base
    trace = current.trace
    if trace.computes:
        current.trace = bottom
        return
    while trace.outside is not None and not trace.outside.computes:
        trace = trace.outside
    if trace.outside is not None:
        trace.outside = bottom
