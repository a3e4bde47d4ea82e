"""The lines at which arrays were made, under the switch `debug_lines`, for out-of-memory errors.

The watching trace (`interpreters/debugging/watch.py`) records each array that it makes. An entry is
removed with its array.
"""

import weakref
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..config import thread
from ..user_lines import Place

SHOWN = 8
"""The number of lines that an error lists."""

_births: dict[int, tuple[Any, Place]] = {}


def note(arrays: Iterable[Any], place: Place) -> None:
    """Records the line that made some arrays."""
    for x in arrays:
        number = id(x)
        if number not in _births:  # an array that an operation passes on keeps its line
            forget = lambda _, number=number: _births.pop(number, None)  # noqa: E731
            _births[number] = weakref.ref(x, forget), place


def living() -> list[tuple[int, int, Place]]:
    """For each line, the bytes and the number of its living arrays, largest first."""
    sizes: defaultdict[Place, list[int]] = defaultdict(list)
    for reference, place in list(_births.values()):
        x = reference()
        # a donated or deleted array holds no memory
        if x is not None and (x._buffer is not None or x._host is not None):
            sizes[place].append(x.nbytes)
    totals = [(sum(bytes_), len(bytes_), place) for place, bytes_ in sizes.items()]
    return sorted(totals, reverse=True)


def living_text(size_text: Any) -> str:
    """The largest living arrays by line, for an error; empty if the switch is off.

    Args:
      size_text: writes a number of bytes.
    """
    if not thread.debug_lines:
        return ""
    lines = [
        f"    {size_text(total)} in {count} array{'s' * (count > 1)}, made at {place}"
        for total, count, place in living()[:SHOWN]
    ]
    return "\n".join(["  the largest living arrays:", *lines]) if lines else ""
