"""Error messages that name the functions a user called or wrote, and their lines."""

import functools
import importlib
import inspect
import os
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from .. import errors
from ..tracebacks import fold
from ..user_lines import HERE, note_user_line, noted

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
        except Exception as error:  # an error of the user's function stays as it is
            fold(error)
            raise

    return wrapper  # type: ignore[return-value]


ASSIGNABLE = {"__name__": str, "__qualname__": str, "__annotations__": dict}
"""The types that Python accepts for these attributes of a function."""


def wrapping(function: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates a function that replaces a user's function: copies its name, docstring and
    attributes.

    Attributes that weft set on `function` are not copied, such as `lower` of a jitted function:
    they describe `function` only. Its attribute `weft_made` lists them.
    """
    attributes: dict[str, Any] = getattr(function, "__dict__", {})
    # set on the object or its class, not made up by a `__getattr__`
    parts = attributes.get("weft_made", getattr(type(function), "weft_made", ()))
    private = (*parts, "weft_made")
    # an object that is called may have something else there, such as a property
    assigned = [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if isinstance(getattr(function, name, None), ASSIGNABLE.get(name, object))
    ]

    def decorate(wrapper: F) -> F:
        functools.update_wrapper(wrapper, function, assigned, updated=())
        wrapper.__dict__.update({k: v for k, v in attributes.items() if k not in private})
        wrapper.__wrapped__ = function  # type: ignore[attr-defined]
        return wrapper

    return decorate


_MAX_WRAPPERS = 64


def unwrapped(function: Any) -> Any:
    """The function inside partials, bound methods, and wrappers made by `functools.wraps`.

    Only known wrappers are opened: an attribute `func` of another object may be anything, even the
    object itself.
    """
    for _ in range(_MAX_WRAPPERS):
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
    """`name (file.py:12)` for a user's function, as far as that is known."""
    inner = unwrapped(function)
    stated = [getattr(function, "__name__", None)]
    stated += [getattr(inner, "__name__", None), getattr(inner, "name", None)]
    name = next((n for n in stated if n and isinstance(n, str)), type(inner).__name__)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType) or code.co_filename.startswith(HERE):
        return name
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def check_arity(what: str, function: object, names: Sequence[str]) -> None:
    """Refuses a function that cannot be called with this number of positional arguments.

    Python's own error names neither the operation nor its arguments. Only functions written in
    Python are checked, because others do not describe their parameters.

    Args:
      what: the operation and the role of the function: "scan: the body".
      names: the names of the arguments.
    Raises: TypeError: the function takes fewer arguments, or more.
    Example:
      >>> check_arity("scan: the body", lambda carry, x: (carry, x), ("carry", "x"))
    """
    if function.__class__ is not FunctionType:
        return
    code, optional = function.__code__, len(function.__defaults__ or ())
    count, n = code.co_argcount, len(names)
    if count - optional <= n and (n <= count or code.co_flags & inspect.CO_VARARGS):
        return
    takes = ", ".join(code.co_varnames[:count])
    raise noted(
        TypeError(
            f"{what} {function_line(function)} takes ({takes}); it is called with {n} "
            f"argument{'s' * (n != 1)}, ({', '.join(names)})\n"
            f"  fix: a function of ({', '.join(names)})"
        )
    )


def log_warning(text: str) -> None:
    """Logs a warning through the standard logger "weft", which users see by default.

    `logging` is loaded by the first message, because it would be a twentieth of weft's import time.
    """
    importlib.import_module("logging").getLogger("weft").warning("%s", text)
