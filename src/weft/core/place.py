"""Which line of the user's an operation belongs to, while a switch has that noted.

Normally no line is kept with an equation, and a rule of differentiation runs far from the line that
it differentiates. Under `debug_nans`, `debug_infs` and `check_tracer_leaks`, equations and nodes of
a tape carry a `Place`, and what interprets them says so here. Knows frames, and nothing of traces.
"""

import threading
from typing import Any, NamedTuple

from ..config import thread
from .source import user_frame, user_line


class Place(NamedTuple):
    """Where an operation comes from."""

    line: str  # of the user: `file.py:12, in function`
    operation: str  # the primitive that was applied there
    backward: bool = False  # whether it is a part of the backward pass of that line


class _Now(threading.local):
    place: Any = None  # (Place, the user's innermost frame when it was said), or None


_now = _Now()


def places_wanted() -> bool:
    """Whether a switch wants places noted; asked once for each trace."""
    return bool(thread.debug_nans or thread.debug_infs or thread.check_tracer_leaks)


def here(operation: str) -> Place:
    """The place of an operation that is being applied.

    In a rule, it is the place that the rule is run for, unless it is a rule of the user's, which
    has lines of its own.
    """
    if _now.place is None:
        return Place(user_line(), operation)
    place, frame = _now.place
    if user_frame() is frame:
        return place  # type: ignore[no-any-return]
    return Place(user_line(), operation, place.backward)


def passing_back(operation: str) -> "placed":
    """A block for a backward pass that is written down before it is run: a rule of the user's."""
    return placed(here(operation) if places_wanted() else None, backward=True)


class placed:
    """What is done within the block belongs to a place, or to that place's backward pass."""

    __slots__ = ("before", "place")

    def __init__(self, place: Place | None, backward: bool = False) -> None:
        self.place = place._replace(backward=True) if place is not None and backward else place

    def __enter__(self) -> None:
        self.before = _now.place
        if self.place is not None:
            _now.place = (self.place, user_frame())

    def __exit__(self, *error: object) -> None:
        _now.place = self.before
