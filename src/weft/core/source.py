"""Functions that users call, and functions of users, in errors. Knows nothing of traces."""

import functools
import os
from collections.abc import Callable
from types import CodeType, MethodType
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


def wrapping(function: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates what stands for a user's function: it gets its name, docstring and attributes.

    The attributes that weft gave to `function` stay behind: they say what `function` does, such as
    `lower` of a jitted function, and nothing of what is made of it. They are those that its
    attribute `weft_made` names.
    """
    attributes: dict[str, Any] = getattr(function, "__dict__", {})
    # of the object or its class, not what a `__getattr__` makes up
    made = attributes.get("weft_made", getattr(type(function), "weft_made", ()))
    own = (*made, "weft_made")

    def decorate(wrapper: F) -> F:
        functools.update_wrapper(wrapper, function, updated=())
        wrapper.__dict__.update({k: v for k, v in attributes.items() if k not in own})
        wrapper.__wrapped__ = function  # type: ignore[attr-defined]
        return wrapper

    return decorate


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
