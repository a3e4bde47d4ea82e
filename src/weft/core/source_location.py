"""The user's line and the layers that an operation belongs to, recorded only under some switches,
and the lines that made arrays.

Equations normally carry no line, and the rules of differentiation run far from the line that they
differentiate. Under `debug_nans`, `debug_infs` and `check_tracer_leaks`, and within
`with_locations` (`trace.py: locations_wanted`), equations and the nodes of a tape carry a
`SourceLocation`, and their interpreters enter it with `at_location`. Layers enter `in_part`.

Under `debug_lines` the watching trace (`interpreters/debugging/watch.py`) records the line of each
array that it makes, for errors that report too little memory. An entry is removed with its array.
"""

import re
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..config import thread
from ..user_lines import Place, Span, user_frame, user_line, user_span
from .trace import locations_wanted


class Part(NamedTuple):
    """A named part of a program: a layer."""

    name: str
    file: str  # where it was made
    line: int
    identity: int  # the `id` of the layer


_PLACE = re.compile(r"([^:]*):(\d+), in ")


class SourceLocation(NamedTuple):
    """The origin of an operation."""

    line: str  # the user's line: `file.py:12, in function`
    operation: str  # the primitive that was applied there
    backward: bool = False  # True in the backward pass of that line
    parts: tuple[Part, ...] = ()  # the parts that it is in, the innermost last
    span: Span | None = None  # the expression of the line

    @property
    def place(self) -> tuple[str, int] | None:
        """The name of the file, and the number of the line; `None` if they are unknown."""
        match = _PLACE.match(self.line)
        return (match[1], int(match[2])) if match else None

    @property
    def name_stack(self) -> str:
        """Empty, because names of parts of programs are calls, `call[name=…]`."""
        return ""


class _Now(threading.local):
    # the location, and the user's innermost frame when it was entered
    entered: tuple[SourceLocation, Any] | None = None
    parts: tuple[Part, ...] = ()


_now = _Now()


def location_of(operation: str) -> SourceLocation:
    """The location of an operation that is being applied.

    Inside a rule it is the location that the rule runs for, except in a user's rule, which has
    its own lines.
    """
    if _now.entered is None:
        return SourceLocation(user_line(), operation, parts=_now.parts, span=user_span())
    location, frame = _now.entered
    if user_frame() is frame:
        return location._replace(parts=_now.parts)
    return SourceLocation(user_line(), operation, location.backward, _now.parts, user_span())


def in_backward_pass(operation: str) -> "at_location":
    """A block that stages a backward pass before it runs: a user's rule."""
    return at_location(location_of(operation) if locations_wanted() else None, backward=True)


class at_location:
    """A block whose operations belong to a location, or to its backward pass."""

    __slots__ = ("before", "location", "parts")

    def __init__(self, location: SourceLocation | None, backward: bool = False) -> None:
        if location is not None and backward:
            location = location._replace(backward=True)
        self.location = location

    def __enter__(self) -> None:
        self.before, self.parts = _now.entered, _now.parts
        if self.location is not None:
            _now.entered = (self.location, user_frame())
            # A program that several layers share has the location of the first one that used it.
            parts = self.location.parts
            if parts[: len(self.parts)] == self.parts:
                _now.parts = parts

    def __exit__(self, *error: object) -> None:
        _now.entered, _now.parts = self.before, self.parts


class in_part:
    """A block whose operations belong to a part of the program, inside the parts around it."""

    __slots__ = ("before", "part")

    def __init__(self, name: str, site: tuple[str, int], identity: int) -> None:
        self.part = Part(name, *site, identity)

    def __enter__(self) -> None:
        self.before = _now.parts
        _now.parts = (*self.before, self.part)

    def __exit__(self, *error: object) -> None:
        _now.parts = self.before


# --- the lines that made arrays ---

LISTED = 8
"""The number of lines that an error lists."""

_made: dict[int, tuple[Any, Place]] = {}


def note_arrays(arrays: Iterable[Any], place: Place) -> None:
    """Records the line that made some arrays."""
    for x in arrays:
        number = id(x)
        if number not in _made:  # an array that an operation passes on keeps its line
            forget = lambda _, number=number: _made.pop(number, None)  # noqa: E731
            _made[number] = weakref.ref(x, forget), place


def living_arrays() -> list[tuple[int, int, Place]]:
    """For each line, the bytes and the number of its living arrays, largest first."""
    sizes: defaultdict[Place, list[int]] = defaultdict(list)
    for reference, place in list(_made.values()):
        x = reference()
        # a donated or deleted array holds no memory
        if x is not None and (x._buffer is not None or x._host is not None):
            sizes[place].append(x.nbytes)
    totals = [(sum(bytes_), len(bytes_), place) for place, bytes_ in sizes.items()]
    return sorted(totals, reverse=True)


def living_arrays_text(size_text: Any) -> str:
    """The largest living arrays by line, for an error; empty if the switch is off.

    Args:
      size_text: writes a number of bytes.
    """
    if not thread.debug_lines:
        return ""
    lines = [
        f"    {size_text(total)} in {count} array{'s' * (count > 1)}, made at {place}"
        for total, count, place in living_arrays()[:LISTED]
    ]
    return "\n".join(["  the largest living arrays:", *lines]) if lines else ""
