"""Dispatch: the current trace defines what applying a primitive does. No stack, no search.

The traces are in `weft.interpreters`.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..config import config, everywhere, thread
from ..lazy import Deferred

if TYPE_CHECKING:
    from .primitive import Primitive
    from .ref import Ref
    from .value import Value

T = TypeVar("T")
Params = tuple[tuple[str, Any], ...]
"""The parameters of an operation: a hashable tuple of (name, value) pairs."""


class Trace:
    """One interpretation of primitives. A subclass implements `bind`.

    Attributes:
      outside: the trace that this one calls, or was begun in; `None` for the trace that computes.
      closed: True once the function has been traced. The tracers cannot be used any more.
      computes: True for the traces at the bottom, which have no outside.
      transform: the transformation that traces, for messages: `grad`.
      function: the user's function that is traced, or its name, for messages.
    Example:
      >>> from weft.extend import current
      >>> def f(x):
      ...     print(type(current.trace).__name__, current.trace.transform)
      ...     return x
      >>> _ = grad(f)(1.0)
      LinearizeTrace grad
    """

    __slots__ = ("__weakref__",)

    outside: "Trace | None" = None
    closed: bool = False
    computes: bool = False
    transform: str = "trace"
    function: Callable[..., Any] | str | None = None

    @property
    def main(self) -> "Trace":
        """The trace itself. JAX's libraries compare it to identify the owner of a tracer."""
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
        """The output of a plan (`interpreters/plans.py`) for an operation or a program."""
        return plan.under(self, args)

    def bind_custom(
        self,
        primitive: "Primitive",
        function: Callable[..., "list[Value]"],
        rules: object,
        args: "Sequence[Value]",
    ) -> "list[Value]":
        """Applies a function that has its own derivative rule."""
        raise NotImplementedError(f"{type(self).__name__}.bind_custom")

    def run_traced(self, traced: Any, flat: Any, values: Sequence[Any]) -> Any:
        """The result of a traced function for arrays, under a switch that watches operations.

        Args:
          flat: the function and the arguments as the user passed them; `None` for a map, whose
            calls are not reported to the listener.
        """
        raise NotImplementedError(f"{type(self).__name__}.run_traced")

    def stand_in(self, ref: "Ref", operation: str) -> "Ref | None":
        """The stand-in for a ref from outside, in a program that is recorded (`core/ref.py`);
        `None` if the trace records none: then the ref itself is used.
        """
        return None

    def has_ended(self) -> bool:
        """True if the trace is closed, so that its tracers cannot be used."""
        return self.closed

    def origin(self, tracer: Any) -> str:
        """The operation and line that made a tracer, if recorded: `by sin at model.py:3, in f`."""
        return ""


_evaluate = Deferred("weft.interpreters.evaluate")


class _Unloaded(Trace):
    """The base trace before its first operation, which loads the real one.

    This is the first of the two hooks: `weft.interpreters.evaluate`, at import, gives the base
    trace its own class. So there is one base trace from the beginning, and references to it stay
    valid. Its methods may run after the class has changed, so they use nothing of this class.
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
    # a switch in the environment may put another trace in its place
    return current.trace if current.trace.computes else base


# The attributes of `current` in each thread, for a switch that is set for all threads.
_threads: "weakref.WeakKeyDictionary[threading.Thread, dict[str, Any]]"
_threads = weakref.WeakKeyDictionary()


class _Current(threading.local):
    """The state of dispatch in this thread.

    Attributes:
      trace: the current trace, which gives primitives their meaning.
      base: the evaluating trace, where every thread begins.
      bottom: the trace that computes in this thread: `base`, or the watching trace in its place.
      locating: True if operations record the user's lines, by `with_locations`.
      reopened: traces whose tracers a rule may use although they are closed (`batch.py`).
      run_kernel: runs NumPy kernels without warnings (`core/kernels.py`); `None` before the first.
    """

    base: Any = _Unloaded()
    trace: Any = base
    bottom: Any = base
    locating: bool = False
    reopened: tuple[Trace, ...] = ()
    run_kernel: Callable[..., Any] | None = None

    def __init__(self) -> None:
        _threads[threading.current_thread()] = self.__dict__


current = _Current()
_watching = Deferred("weft.interpreters.debugging.watch")


def under(trace: Trace, function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)` with `trace` as the current trace. Nothing else sets it.

    The outside trace is restored before other Python code runs, even after Ctrl-C or a signal
    handler that raises. CPython checks for signals when a Python function begins, when a call
    returns and when a loop jumps back, and nowhere else; none of these is between `try` and the
    first line in it, or between the end of the block and the store in `finally`. So this must stay
    a function with its own `try`: the `__exit__` of a context manager written in Python begins like
    every function, and an interrupt there would leave the thread in a dead trace
    (tests/threads/test_interrupts.py).

    Example:
      >>> from weft.extend import current, under
      >>> under(current.trace, lambda x: x + 1, 2)
      3
    """
    outside = current.trace
    try:
        current.trace = trace
        return function(*args)
    finally:
        # debug_nans, say, may have put another trace at the bottom meanwhile
        current.trace = current.bottom if outside.computes else outside


def looked_at() -> bool:
    """True if a switch checks every operation in this thread."""
    return bool(
        thread.debug_nans or thread.debug_infs or thread.enable_checks or thread.debug_key_reuse
    )


def watched() -> bool:
    """True if a switch needs the watching trace in this thread."""
    is_on = looked_at() or thread.default_device is not None or thread.debug_lines
    return is_on or bool(thread.replay_dir)


def locations_wanted() -> bool:
    """True if operations should record the user's lines (`core/source_location.py`); tested once a
    trace.
    """
    return bool(
        thread.debug_nans
        or thread.debug_infs
        or thread.check_tracer_leaks
        or thread.debug_key_reuse
        or thread.debug_lines
        or thread.replay_dir
        or current.locating
    )


def with_locations(function: Callable[..., T], *args: Any) -> T:
    """The result of `function(*args)` while operations record their locations."""
    before = current.locating
    try:
        current.locating = True
        return function(*args)
    finally:
        current.locating = before


_WATCHED = (
    "debug_nans",
    "debug_infs",
    "enable_checks",
    "debug_key_reuse",
    "default_device",
    "debug_lines",
    "replay_dir",
)


@config.on_change
def watch() -> None:
    """Replaces the base trace by the watching trace, or the reverse, as the switches require.

    So no operation has to test the switches: where results are checked, `current.trace` is the
    watching trace. Inside a transformation, the innermost `outside` is replaced, and `under`
    returns to the new one.
    """
    everybody = _watching.watching if everywhere(*_WATCHED) else current.base
    if everybody is not _Current.bottom:
        _Current.trace = _Current.bottom = everybody
        if everybody is not current.base:
            for attributes in list(_threads.values()):  # the trace reads each thread's switches
                if "bottom" in attributes:
                    attributes["bottom"] = everybody
                if "trace" in attributes and attributes["trace"].computes:
                    attributes["trace"] = everybody
    bottom = current.bottom = _watching.watching if watched() else current.base
    trace = current.trace
    if trace.computes:
        current.trace = bottom
        return
    while trace.outside is not None and not trace.outside.computes:
        trace = trace.outside
    if trace.outside is not None:
        trace.outside = bottom
