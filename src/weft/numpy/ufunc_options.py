"""The options of a ufunc call, `where`, `casting`, …: only NumPy's defaults are accepted."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.source import unwrapped
from ..user_lines import noted

F = TypeVar("F", bound=Callable[..., Any])

_ACCEPTED: dict[str, tuple[Any, ...]] = {
    "where": (True, None),
    "casting": ("same_kind", "unsafe"),
    "order": ("K", "A", "C"),
    "dtype": (None,),
    "subok": (True, False),
    "signature": (None,),
}
_REASON_AND_FIX = {
    "where": (
        "without `out`, elements where it is False would have no value",
        "np.where(mask, {name}(…), other)",
    ),
    "casting": ("it concerns `out` and `dtype`, which are not supported", "leave it out"),
    "order": ("arrays have no strides", "leave it out"),
    "dtype": ("the dtype follows from the operands", "{name}(…).astype(dtype), or convert them"),
    "subok": ("it must be a boolean", "leave it out"),
    "signature": ("the dtype follows from the operands", "convert the operands"),
}


def check_options(name: str, out: Any, options: dict[str, Any]) -> None:
    """Raises an error for an option that is not NumPy's default, with the reason and a fix."""
    if out is not None and not (out.__class__ is tuple and out in ((None,), (None, None))):
        raise noted(
            NotImplementedError(
                f"{name}: out must be None: arrays are immutable; got a {type(out).__name__}\n"
                f"  fix: use the result: y = {name}(…)"
            )
        )
    for option, argument in options.items():
        if option not in _ACCEPTED:
            raise noted(
                TypeError(
                    f"{name}: there is no parameter {option!r}\n  fix: one of out, "
                    f"{', '.join(_ACCEPTED)}, at its default"
                )
            )
        if not any(argument is accepted or (argument.__class__ is str and argument == accepted)
                   for accepted in _ACCEPTED[option]):  # fmt: skip
            reason, fix = _REASON_AND_FIX[option]
            raise noted(
                NotImplementedError(
                    f"{name}: {option} is not supported: {reason}; got {argument!r:.60}\n"
                    f"  fix: {fix.format(name=name)}"
                )
            )


def takes_options(function: F) -> F:
    """Decorates a function that is a ufunc in NumPy, so that it accepts a ufunc's options."""
    name = function.__name__
    undecorated = unwrapped(function)
    code = undecorated.__code__
    count, unnamed = code.co_argcount, code.co_posonlyargcount
    parameters = code.co_varnames[unnamed : count + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is None and not options and len(args) <= count:
            return function(*args)
        if out is None and len(args) == count + 1:
            *args, out = args  # type: ignore[assignment]
        keywords = {n: options.pop(n) for n in parameters if n in options}
        check_options(name, out, options)
        return function(*args, **keywords)

    return call  # type: ignore[return-value]
