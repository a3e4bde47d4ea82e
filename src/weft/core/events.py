"""Events: what `log_compiles` logs, and what `weft.explain` collects instead.

An event is made under a switch only, `log_compiles` or `debug_lines`. `tell` passes it to the
listener, if there is one, and logs it otherwise.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..user_lines import Place
from .aval import Aval
from .source import log_warning


class Reason(NamedTuple):
    """A difference between a signature and an earlier one.

    Attributes:
      kind: "shape", "dtype", "weak type", "structure", "static", "switch", or "new function".
      text: a line of the message.
    """

    kind: str
    text: str


class Tracing(NamedTuple):
    """A jitted function is about to be traced: the `number`th signature, at a call."""

    function: Any
    number: int
    reasons: list[Reason]
    place: Place
    text: str


class Compilation(NamedTuple):
    """A program was compiled, or loaded from the disk cache."""

    program: Any
    executable: Any
    seconds: float
    text: str


class CallBegins(NamedTuple):
    """A jitted function is about to run."""

    traced: Any


class FunctionCall(NamedTuple):
    """A jitted function was called, and its results are ready."""

    function: Any
    traced: Any
    leaves: Sequence[Any]
    results: Sequence[Any]
    place: Place
    seconds: float


class EagerOperation(NamedTuple):
    """An operation ran outside of jitted functions."""

    name: str
    inputs: Sequence[Any]
    results: Sequence[Any]
    place: Place


class Transfer(NamedTuple):
    """An array is about to move: "host_to_device", "device_to_host" or "device_to_device"."""

    direction: str
    aval: Aval
    place: Place


Event = Tracing | Compilation | CallBegins | FunctionCall | EagerOperation | Transfer


class _Audience:
    """The listener of this process, which gets the events of all threads."""

    listener: Callable[[Event], None] | None = None


audience = _Audience()


def tell(event: Event) -> None:
    """Passes an event to the listener; without one, logs its text."""
    if audience.listener is not None:
        audience.listener(event)
    elif isinstance(event, Tracing | Compilation):
        log_warning(event.text)
