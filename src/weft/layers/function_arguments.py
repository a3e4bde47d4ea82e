"""Counts a function's tensors, and checks that a layer is given as many. Knows no layers."""

import inspect
from collections.abc import Callable
from typing import Any

from ..user_lines import noted

# What functools.partial binds by keyword is keyword-only with a default: no call can take it for a
# tensor.
_REFUSED = (
    ("default arguments", lambda p: p.default is not p.empty),
    ("keyword arguments", lambda p: p.kind is p.VAR_KEYWORD),
    ("variable args", lambda p: p.kind is p.VAR_POSITIONAL),
    ("keyword-only arguments", lambda p: p.kind is p.KEYWORD_ONLY),
)


def number_of_arguments(name: str, f: Callable[..., Any]) -> int:
    """Number of arguments that a function has, keyword-only ones with a default aside; an error if
    they aren't all plain and positional."""
    try:
        parameters = [
            p
            for p in inspect.signature(f).parameters.values()
            if p.kind is not p.KEYWORD_ONLY or p.default is p.empty
        ]
    except (TypeError, ValueError):
        raise noted(
            ValueError(f"{name}: f doesn't tell its arguments\n  fix: wrap it: lambda x: f(x)")
        ) from None
    for what, is_refused in _REFUSED:
        found = [p.name for p in parameters if is_refused(p)]
        if found:
            raise noted(
                ValueError(
                    f"{name}: f has {what} ({', '.join(found)}); each argument of f is to be one "
                    "tensor of the data stack\n  fix: wrap it: lambda x: f(x, …)"
                )
            )
    return len(parameters)


def check_inputs(name: str, n_in: int, inputs: Any) -> None:
    """Raises an error unless a layer is given as many inputs as it takes."""
    if not isinstance(inputs, list | tuple):
        raise TypeError(
            f"{name}: expected a tuple or list of {n_in} tensors; got a single "
            f"{type(inputs).__name__}"
        )
    if len(inputs) != n_in:
        raise ValueError(f"{name}: expected {n_in} inputs; got {len(inputs)}")
