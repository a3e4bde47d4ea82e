"""The user's line: the innermost frame outside weft and NumPy, found only when something failed.

Knows frames and code objects; nothing of traces.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, MethodType
from typing import Any, TypeVar

import numpy as np

from .. import errors
from .tracebacks import files, fold

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=BaseException)

HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_INSIDE = (HERE, os.path.dirname(np.__file__) + os.sep)
files.inside, files.libraries = HERE, (_INSIDE[1], functools.__file__, contextlib.__file__)

NOTED = (TypeError, ValueError, IndexError, errors.WeftError)
"""The errors that name the user's line."""


def user_frame() -> FrameType | None:
    """The innermost frame of code that isn't weft's or NumPy's."""
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
    traceback loses weft's own frames: see `core/tracebacks.py`.
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


def located(function: F) -> F:
    """Decorates a public function: an error from inside names the user's line."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NOTED as error:
            note_user_line(error)
            raise
        except Exception as error:  # of the user's function: nothing is added to it
            fold(error)
            raise

    return wrapper  # type: ignore[return-value]


_MOST_WRAPPERS = 64


def unwrapped(function: Any) -> Any:
    """The function inside partials, bound methods, and wrappers that `functools.wraps` made.

    Only what is known to be a wrapper is looked into: an attribute `func` of any other object may
    be anything, the object itself too.
    """
    for _ in range(_MOST_WRAPPERS):
        function = inside_partials(function)
        inner = getattr(function, "__dict__", {}).get("__wrapped__")
        if inner is None:
            break
        function = inner
    return function


def inside_partials(function: Any) -> Any:
    """The function inside partials and bound methods."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        else:
            return function


def function_line(function: object) -> str:
    """`name (file.py:12)` for a function, as well as it can be told."""
    inner = unwrapped(function)
    stated = [getattr(function, "__name__", None)]
    stated += [getattr(inner, "__name__", None), getattr(inner, "name", None)]
    name = next((n for n in stated if n and isinstance(n, str)), type(inner).__name__)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType):
        return name
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
