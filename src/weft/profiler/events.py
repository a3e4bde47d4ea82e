"""TraceAnnotation, StepTraceAnnotation and annotate_function: named events of a trace."""

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from ..core.source import located
from ..runtime import profiling

__all__ = [
    "StepTraceAnnotation",
    "StepTraceContext",
    "TraceAnnotation",
    "TraceContext",
    "annotate_function",
    "trace_function",
]

P = ParamSpec("P")
R = TypeVar("R")


class TraceAnnotation:
    """A context manager that records its block as an event in the trace.

    Args:
      name: the name in the trace.
      **kwargs: further values (numbers, strings) in the trace.
    Raises: TypeError: the name is not a string.
    Example:
      >>> from weft import profiler
      >>> with profiler.TraceAnnotation("inference"):
      ...     y = np.sin(1.0)
    Source: JAX documentation, `jax.profiler.TraceAnnotation`.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"TraceAnnotation: name must be a string; got {name!r}")
        self._name, self._values = name, kwargs
        self._event: Any = None

    def __enter__(self) -> Self:
        self._event = profiling.event(self._name, self._values)
        self._event.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        event, self._event = self._event, None
        event.__exit__(kind, error, traceback)

    @located
    def set_metadata(self, **kwargs: Any) -> None:
        """Adds values to the event, within the block.

        Raises: RuntimeError: the block is not running.
        """
        if self._event is None:
            raise RuntimeError("set_metadata: expected to be called within the block")
        self._event.set_metadata(**kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """True if a trace is being recorded."""
        return profiling.is_recording()


class StepTraceAnnotation(TraceAnnotation):
    """A context manager that records a step of training in the trace. Viewers show times per step.

    Args:
      name: the name in the trace.
      **kwargs: further values: `step_num=i` is the step's number.
    Example:
      >>> from weft import profiler
      >>> for i in range(2):
      ...     with profiler.StepTraceAnnotation("train", step_num=i):
      ...         y = np.sin(float(i))
    Source: JAX documentation, `jax.profiler.StepTraceAnnotation`.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


TraceContext = TraceAnnotation
StepTraceContext = StepTraceAnnotation


@located
def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any
) -> Callable[P, R]:
    """A function whose calls are events in the trace.

    A decorator; with options through `functools.partial(annotate_function, name="…")`.

    Args:
      func: the function.
      name: the name in the trace; by default the function's name.
      **decorator_kwargs: further values in the trace.
    Returns: a function with the same results.
    Raises: TypeError: `func` is not callable.
    Example:
      >>> from weft import profiler
      >>> @profiler.annotate_function
      ... def double(x):
      ...     return 2 * x
      >>> double(2)
      4
    Source: JAX documentation, `jax.profiler.annotate_function`.
    """
    if not callable(func):
        raise TypeError(f"annotate_function: expected a function; got {func!r}")
    shown = name or getattr(func, "__qualname__", None) or type(func).__name__

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapper


trace_function = annotate_function
