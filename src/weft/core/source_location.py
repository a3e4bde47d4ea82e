"""The user's line that an operation belongs to, while a switch has that noted.

Normally no line is kept with an equation, and a rule of differentiation runs far from the line that
it differentiates. Under `debug_nans`, `debug_infs` and `check_tracer_leaks`, and within
`with_locations`, equations and nodes of a tape carry a `SourceLocation`, and their interpreters
enter it with `at_location`. Knows frames, and nothing of traces.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..config import thread
from .source import user_frame, user_line

T = TypeVar("T")


class SourceLocation(NamedTuple):
    """The origin of an operation."""

    line: str  # of the user: `file.py:12, in function`
    operation: str  # the primitive that was applied there
    backward: bool = False  # whether it is a part of the backward pass of that line

    @property
    def name_stack(self) -> str:
        """Nothing: names of parts of programs are calls, `call[name=…]`."""
        return ""


class _Now(threading.local):
    # the location, and the user's innermost frame when it was entered
    entered: tuple[SourceLocation, Any] | None = None
    wanted: bool = False  # by `with_locations`


_now = _Now()


def locations_wanted() -> bool:
    """True if a switch wants locations noted; asked once for each trace."""
    switches = (
        thread.debug_nans
        or thread.debug_infs
        or thread.check_tracer_leaks
        or thread.debug_key_reuse
    )
    return bool(switches or _now.wanted)


def with_locations(function: Callable[..., T], *args: object) -> T:
    """The result of `function(*args)` where the locations of operations are noted."""
    before = _now.wanted
    try:
        _now.wanted = True
        return function(*args)
    finally:
        _now.wanted = before


def location_of(operation: str) -> SourceLocation:
    """The location of an operation that is being applied.

    In a rule, it is the location that the rule runs for, unless it is a rule of the user's, which
    has lines of its own.
    """
    if _now.entered is None:
        return SourceLocation(user_line(), operation)
    location, frame = _now.entered
    if user_frame() is frame:
        return location
    return SourceLocation(user_line(), operation, location.backward)


def in_backward_pass(operation: str) -> "at_location":
    """A block for a backward pass that is written down before it is run: a rule of the user's."""
    return at_location(location_of(operation) if locations_wanted() else None, backward=True)


class at_location:
    """A block whose operations belong to a location, or to its backward pass."""

    __slots__ = ("before", "location")

    def __init__(self, location: SourceLocation | None, backward: bool = False) -> None:
        if location is not None and backward:
            location = location._replace(backward=True)
        self.location = location

    def __enter__(self) -> None:
        self.before = _now.entered
        if self.location is not None:
            _now.entered = (self.location, user_frame())

    def __exit__(self, *error: object) -> None:
        _now.entered = self.before
