"""`jax.monitoring`: libraries record events, and listeners receive them.

weft records no events of its own.
"""

from collections.abc import Callable
from typing import Any

Listener = Callable[..., None]
_listeners: dict[str, list[Listener]] = {
    "event": [], "duration": [], "time_span": [], "scalar": [],
}  # fmt: skip


def _announce(kind: str, *args: Any, **details: Any) -> None:
    for listener in list(_listeners[kind]):
        listener(*args, **details)


def record_event(event: str, **details: Any) -> None:
    """Calls the event listeners."""
    _announce("event", event, **details)


def record_event_duration_secs(event: str, duration: float, **details: Any) -> None:
    """Calls the duration listeners."""
    _announce("duration", event, duration, **details)


def record_event_time_span(event: str, start_time: float, end_time: float, **details: Any) -> None:
    """Calls the time span listeners."""
    _announce("time_span", event, start_time, end_time, **details)


def record_scalar(event: str, value: float, **details: Any) -> None:
    """Calls the scalar listeners."""
    _announce("scalar", event, value, **details)


def register_event_listener(callback: Listener) -> None:
    """Registers a function to call for each event."""
    _listeners["event"].append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Registers a function to call for each duration."""
    _listeners["duration"].append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Registers a function to call for each time span."""
    _listeners["time_span"].append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Registers a function to call for each scalar."""
    _listeners["scalar"].append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Removes an event listener."""
    _listeners["event"].remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Removes a duration listener."""
    _listeners["duration"].remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Removes a time span listener."""
    _listeners["time_span"].remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Removes a scalar listener."""
    _listeners["scalar"].remove(callback)


def clear_event_listeners() -> None:
    """Removes all listeners."""
    for listeners in _listeners.values():
        listeners.clear()
