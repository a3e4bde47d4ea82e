"""The user's line: the innermost frame outside weft and NumPy, found only when something failed.

Knows frames and code objects; nothing of traces, nor of functions that weft calls.
"""

import contextlib
import functools
import os
import sys
from types import FrameType
from typing import TypeVar

import numpy as np

from .tracebacks import files, fold

E = TypeVar("E", bound=BaseException)

HERE = os.path.dirname(__file__) + os.sep
_OWN = (HERE, "<weft ")  # what weft generates is compiled under such names
_NUMPY = os.path.dirname(np.__file__) + os.sep
_LIBRARIES = (_NUMPY, functools.__file__, contextlib.__file__)
_INSIDE = (*_OWN, *_LIBRARIES)
files.inside, files.libraries = _OWN, _LIBRARIES


def user_frame() -> FrameType | None:
    """The innermost frame of code that isn't weft's, NumPy's, or between the two in Python."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """`file.py:12, in function`, for messages."""
    frame = user_frame()
    return "an unknown line" if frame is None else _line(frame, frame.f_lineno)


def _line(frame: FrameType, number: int) -> str:
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{number}, in {code.co_name}"


def note_user_line(error: BaseException) -> None:
    """Adds the user's line to an error, once, as a note (PEP 678).

    It is the innermost one that the error came through, or else the one that called weft. The
    traceback loses weft's own frames: see `tracebacks.py`.
    """
    fold(error)
    if any(note.startswith("  at ") for note in getattr(error, "__notes__", ())):
        return
    found = None
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_INSIDE):
            found = trace
        trace = trace.tb_next
    line = user_line() if found is None else _line(found.tb_frame, found.tb_lineno)
    error.add_note(f"  at {line}")


def noted(error: E) -> E:
    """An error with the user's line on it: `raise noted(TypeError(…))`."""
    note_user_line(error)
    return error


def levels_to_user() -> int:
    """The distance of the first frame outside this package, for `stacklevel`."""
    package = __name__.partition(".")[0]
    level = 1
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != package and not module.startswith(package + "."):
            return level
        if frame.f_back is None:
            break
        frame = frame.f_back
        level += 1
    return level
