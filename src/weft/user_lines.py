"""The user's line in errors: the innermost frame outside weft and NumPy. Also puts the name of the
function that the user called in front of messages."""

import contextlib
import functools
import inspect
import itertools
import os
import re
import sys
import threading
from types import CodeType, FrameType
from typing import NamedTuple, TypeVar

import numpy as np

from .errors import ShapeError, WeftError
from .tracebacks import files, fold

E = TypeVar("E", bound=BaseException)

HERE = os.path.dirname(__file__) + os.sep
_OWN_FILES = (HERE, "<weft ")  # generated code of weft has such names
_NUMPY = os.path.dirname(np.__file__) + os.sep
_LIBRARIES = (_NUMPY, functools.__file__, contextlib.__file__, threading.__file__)
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


class Span(NamedTuple):
    """The lines and columns of an expression, as in its syntax tree: columns in bytes."""

    line: int
    end_line: int
    column: int
    end_column: int


def user_span() -> Span | None:
    """The expression of the user's line that is being evaluated; `None` if it is unknown."""
    frame = user_frame()
    if frame is None:
        return None
    instructions = frame.f_code.co_positions()
    positions = next(itertools.islice(instructions, frame.f_lasti // 2, None), (None,))
    return None if None in positions else Span(*positions)  # type: ignore[arg-type]


class Place(NamedTuple):
    """A line of the user's: the file, the line and the function."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}, in {self.function}"


def user_place() -> Place:
    """The user's line with the path of its file; an empty path if it is unknown."""
    frame = user_frame()
    if frame is None:
        return Place("", 0, "")
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _line(frame: FrameType, number: int) -> str:
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{number}, in {code.co_name}"


def note_user_line(error: BaseException) -> None:
    """Adds the user's line to an error, once, as a note (PEP 678).

    It is the innermost line of the user's in the traceback, or else the line that called weft.
    Weft's own frames are removed from the traceback: see `tracebacks.py`.
    """
    if any(note.startswith("  at ") for note in getattr(error, "__notes__", ())):
        fold(error)
        return
    _name_the_call(error)
    fold(error)
    innermost = None
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_INSIDE):
            innermost = trace
        trace = trace.tb_next
    if innermost is None and user_frame() is None:
        return  # in a thread of weft's: the thread that waits for the result adds its line
    line = user_line() if innermost is None else _line(innermost.tb_frame, innermost.tb_lineno)
    error.add_note(f"  at {line}")


_NAMESPACES = tuple(
    f"{__package__}.{name}."
    for name in ("numpy", "lax", "nn", "random", "scipy", "image", "layers")
)
_OPERATION = re.compile(r"[A-Za-z_]\w*(?=: )")


def _name_the_call(error: BaseException) -> None:
    """Replaces the name of an inner function in a message by the function that the user called.

    `trace` calls `diagonal`, whose message begins with "diagonal: ". The user reads "trace: ".
    """
    is_about_tracing = isinstance(error, WeftError) and not isinstance(error, ShapeError)
    text = error.args[0] if len(error.args) == 1 else None
    if (
        is_about_tracing
        or not isinstance(error, TypeError | ValueError | IndexError)
        or not isinstance(text, str)
    ):
        return
    operation = _OPERATION.match(text)
    name = _called_function(error) if operation else None
    if operation is None or name is None or name == operation[0]:
        return
    text = name + text[operation.end() :]
    if operation[0][0].isupper():  # a layer: one that the user named keeps its name
        if operation[0] not in getattr(sys.modules.get(f"{__package__}.layers"), "__all__", ()):
            return
        text = re.sub(rf"\b{operation[0]}\(", f"{name}(", text)
    error.__init__(text)  # type: ignore[misc]  # NumPy's AxisError has its text twice
    error.args = (text,)


def _called_function(error: BaseException) -> str | None:
    """The public function of a namespace that the innermost line of the user's called, in which an
    error was raised. A function that takes functions, such as `scan`, is skipped: an error of
    the function that it calls is named by that one."""
    name, in_user_code = None, False
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_INSIDE):
            name, in_user_code = None, True
        elif name is None:
            name = _public_name(trace.tb_frame)
        trace = trace.tb_next
    frame: FrameType | None = None if in_user_code else sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        name = _public_name(frame) or name
        frame = frame.f_back
    return name


def _public_name(frame: FrameType) -> str | None:
    """The name of a public function of a namespace, for its frame."""
    if not frame.f_globals.get("__name__", "").startswith(_NAMESPACES):
        return None
    name = frame.f_code.co_qualname
    if name in frame.f_globals.get("__all__", ()):
        arguments = [frame.f_locals.get(parameter) for parameter in _parameter_names(frame.f_code)]
        return None if any(map(_is_function, arguments)) else name
    is_generated = name.endswith(".<locals>.function") and name.split(".")[0] in ("binary", "unary")
    return frame.f_locals.get("name") if is_generated else None


def _is_function(x: object) -> bool:
    """True for a function, or another object that is called, and for a sequence with one."""
    if isinstance(x, list | tuple):
        return any(map(_is_function, x))
    return callable(x) and not isinstance(x, type) and not hasattr(x, "dtype")


def _parameter_names(code: CodeType) -> tuple[str, ...]:
    """The names of a function's parameters, without `**options`."""
    n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    return code.co_varnames[:n]


def noted(error: E) -> E:
    """An error with the user's line on it: `raise noted(TypeError(…))`."""
    note_user_line(error)
    return error


def called_with(x: object) -> tuple[str | None, str | None]:
    """The public function of weft that the user called with `x`, and the parameter's name.

    (None, None) if there is none, as for an operator. It is the outermost function between the
    user's line and this one with a parameter that is `x`, or a sequence that contains `x`; the name
    is then "arrays[0]", for example. A parameter with another default precedes one whose default is
    `x`: if `x` is `None`, the user may have passed it for one of them only.
    """
    names: tuple[str | None, str | None] = (None, None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        code = frame.f_code
        if code.co_qualname in frame.f_globals.get("__all__", ()):
            defaults = _defaults(frame)
            parameters = _parameter_names(code)
            for name in sorted(parameters, key=lambda n: n in defaults and defaults[n] is x):
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


def _defaults(frame: FrameType) -> dict[str, object]:
    """The defaults of the parameters of a public function, for its frame."""
    function = inspect.unwrap(frame.f_globals[frame.f_code.co_name])
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    defaults = getattr(function, "__defaults__", None) or ()
    named = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False))
    return named | (getattr(function, "__kwdefaults__", None) or {})


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
