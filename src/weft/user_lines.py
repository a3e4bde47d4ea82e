"""The user's line: the innermost frame outside weft and NumPy, found only when something failed."""

import contextlib
import functools
import inspect
import os
import sys
from types import FrameType
from typing import TypeVar

import numpy as np

from .tracebacks import files, fold

E = TypeVar("E", bound=BaseException)

HERE = os.path.dirname(__file__) + os.sep
_OWN_FILES = (HERE, "<weft ")  # what weft generates is compiled under such names
_NUMPY = os.path.dirname(np.__file__) + os.sep
_LIBRARIES = (_NUMPY, functools.__file__, contextlib.__file__)
_INSIDE = (*_OWN_FILES, *_LIBRARIES)
files.inside, files.libraries = _OWN_FILES, _LIBRARIES


def user_frame() -> FrameType | None:
    """The innermost frame outside weft and the libraries that it calls."""
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

    It is the innermost user's line that the error passed, or else the line that called weft. Weft's
    own frames are removed from the traceback: see `tracebacks.py`.
    """
    fold(error)
    if any(note.startswith("  at ") for note in getattr(error, "__notes__", ())):
        return
    innermost = None
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_INSIDE):
            innermost = trace
        trace = trace.tb_next
    line = user_line() if innermost is None else _line(innermost.tb_frame, innermost.tb_lineno)
    error.add_note(f"  at {line}")


def noted(error: E) -> E:
    """An error with the user's line on it: `raise noted(TypeError(…))`."""
    note_user_line(error)
    return error


def called_with(x: object) -> tuple[str | None, str | None]:
    """The public function of weft that the user called with `x`, and the parameter's name.

    (None, None) if there is none, as for an operator. Of the functions between the user's line and
    this one it is the outermost that has a parameter which is `x`, or a sequence with `x` in it:
    its name is then "arrays[0]".
    """
    names: tuple[str | None, str | None] = (None, None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        code = frame.f_code
        if code.co_qualname in frame.f_globals.get("__all__", ()):
            varargs = bool(code.co_flags & inspect.CO_VARARGS)
            n = code.co_argcount + code.co_kwonlyargcount + varargs
            for name in code.co_varnames[:n]:
                value = frame.f_locals.get(name)
                if value is x:
                    names = code.co_name, name
                    break
                items = value if isinstance(value, (list, tuple, str)) else ()
                at = next((i for i, item in enumerate(items) if item is x), None)
                if at is not None:
                    names = code.co_name, f"{name}[{at}]"
                    break
        frame = frame.f_back
    return names


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
