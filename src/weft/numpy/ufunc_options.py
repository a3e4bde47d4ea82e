"""The options of a call of a ufunc: NumPy's defaults change nothing, and others are refused.

Knows the options by name; knows no ufunc.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.source import noted, unwrapped

F = TypeVar("F", bound=Callable[..., Any])

_PASSED: dict[str, tuple[Any, ...]] = {
    "where": (True, None),
    "casting": ("same_kind", "unsafe"),
    "order": ("K", "A", "C"),
    "dtype": (None,),
    "subok": (True, False),
    "signature": (None,),
}
_INSTEAD = {
    "where": (
        "without `out`, elements where it is False would have no value",
        "np.where(mask, {name}(…), other)",
    ),
    "casting": ("it is about `out` and `dtype`, which there aren't", "leave it out"),
    "order": ("arrays have no strides", "leave it out"),
    "dtype": ("the dtype follows from the operands", "{name}(…).astype(dtype), or convert them"),
    "subok": ("it must be a boolean", "leave it out"),
    "signature": ("the dtype follows from the operands", "convert the operands"),
}


def check_options(name: str, out: Any, options: dict[str, Any]) -> None:
    """Refuses what isn't NumPy's default, with the reason and what to do instead."""
    if out is not None and not (out.__class__ is tuple and out in ((None,), (None, None))):
        raise noted(
            NotImplementedError(
                f"{name}: out must be None: arrays are immutable; got a {type(out).__name__}\n"
                f"  fix: use the result: y = {name}(…)"
            )
        )
    for option, given in options.items():
        if option not in _PASSED:
            raise noted(
                TypeError(
                    f"{name}: there is no parameter {option!r}\n  fix: one of out, "
                    f"{', '.join(_PASSED)}, at its default"
                )
            )
        if not any(given is good or (given.__class__ is str and given == good)
                   for good in _PASSED[option]):  # fmt: skip
            reason, instead = _INSTEAD[option]
            raise noted(
                NotImplementedError(
                    f"{name}: {option} is not supported: {reason}; got {given!r:.60}\n"
                    f"  fix: {instead.format(name=name)}"
                )
            )


def takes_options(function: F) -> F:
    """Decorates a function of arrays that NumPy has as a ufunc, to take a ufunc's options."""
    name = function.__name__
    inner = unwrapped(function)
    code = inner.__code__
    count, unnamed = code.co_argcount, code.co_posonlyargcount
    own = code.co_varnames[unnamed : count + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is None and not options and len(args) <= count:
            return function(*args)
        if out is None and len(args) == count + 1:
            *args, out = args  # type: ignore[assignment]
        named = {n: options.pop(n) for n in own if n in options}
        check_options(name, out, options)
        return function(*args, **named)

    return call  # type: ignore[return-value]
