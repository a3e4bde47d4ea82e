"""The number of arguments that a user's function takes, and the one with which it is called.

Knows code objects; nothing of what is called.
"""

import inspect
from collections.abc import Sequence
from types import FunctionType

from .source import function_line, noted


def check_arity(what: str, function: object, given: Sequence[str]) -> None:
    """Refuses a function that can't be called with so many arguments by position.

    Python's own error names neither the operation nor what it passes. Only functions written in
    Python are looked at: of others it isn't known what they take.

    Args:
      what: the operation, and what the function is to it: "scan: the body".
      given: what the arguments are called.
    Raises: TypeError: it takes fewer, or more.
    Example:
      >>> check_arity("scan: the body", lambda carry, x: (carry, x), ("carry", "x"))
    """
    if function.__class__ is not FunctionType:
        return
    code, optional = function.__code__, len(function.__defaults__ or ())
    count, n = code.co_argcount, len(given)
    if count - optional <= n and (n <= count or code.co_flags & inspect.CO_VARARGS):
        return
    takes = ", ".join(code.co_varnames[:count])
    raise noted(
        TypeError(
            f"{what} {function_line(function)} takes ({takes}); it is called with {n} "
            f"argument{'s' * (n != 1)}, ({', '.join(given)})\n"
            f"  fix: a function of ({', '.join(given)})"
        )
    )
