"""Functions that users call, and functions of users, in errors. Knows nothing of traces."""

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from .. import errors
from ..tracebacks import fold
from ..user_lines import (
    HERE as HERE,
    note_user_line as note_user_line,
    noted as noted,
    user_frame as user_frame,
    user_line as user_line,
)

F = TypeVar("F", bound=Callable[..., Any])

NOTED = (TypeError, ValueError, IndexError, OverflowError, MemoryError, errors.WeftError)
"""The errors that name the user's line."""


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


def function_line(function: object) -> str:
    """`name (file.py:12)` for a function, as well as it can be told."""
    inner = function
    while hasattr(inner, "__wrapped__") or hasattr(inner, "func"):
        inner = getattr(inner, "__wrapped__", None) or getattr(inner, "func", None)
    name = getattr(function, "__name__", None) or getattr(inner, "__name__", None)
    name = name or getattr(inner, "name", None) or type(inner).__name__
    code = getattr(inner, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
