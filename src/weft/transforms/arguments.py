"""The arguments of a transformed function: positions, names, static ones, paths for messages.

Knows Python signatures and pytrees; knows nothing of what a transformation does.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, as_value
from ..core.aval import Aval, aval
from ..core.source import function_line, located, noted
from ..core.value import Value
from ..tree_util import keystr, tree_flatten_with_path


def name_of(function: Any) -> str:
    """The function's name, as well as it can be told."""
    while hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__


def kind_of(x: Any) -> str:
    """What something is, for messages: an aval, or a type and how many items it has."""
    if isinstance(x, Value):
        return str(x.aval)
    if isinstance(x, (tuple, list, dict)):
        return f"a {type(x).__name__} of {len(x)}"
    return f"{type(x).__name__} {x!r:.60}"


_REFUSED = (
    (
        inspect.isgeneratorfunction,
        "generator function",
        "return a list or a tuple instead of yielding",
    ),
    (
        inspect.iscoroutinefunction,
        "coroutine function",
        "take off the async; weft doesn't wait for results",
    ),
    (
        inspect.isasyncgenfunction,
        "asynchronous generator",
        "return a list or a tuple instead of yielding",
    ),
)


@located
def check_callable(function: Any, transform: str) -> None:
    """Refuses what can't be called."""
    if not callable(function):
        raise TypeError(f"{transform}: expected a function; got {kind_of(function)}")
    for is_kind, kind, cure in _REFUSED:
        if is_kind(function):
            raise TypeError(
                f"{transform}: expected a function; got the {kind} {function_line(function)}\n"
                f"  fix: {cure}"
            )


def as_tuple(x: Any, kind: type, what: str) -> tuple[Any, ...]:
    """One item, or an iterable of them, as a tuple."""
    if isinstance(x, kind):
        return (x,)
    items = tuple(x)
    for item in items:
        if not isinstance(item, kind) and not hasattr(item, "__index__"):
            raise TypeError(f"{what}: expected {kind.__name__}s; got {item!r}")
    return tuple(int(i) for i in items) if kind is int else items


def parameters(function: Any) -> list[inspect.Parameter]:
    """The function's parameters; none if it doesn't tell."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@located
def static_arguments(
    function: Any, argnums: Any, argnames: Any, transform: str = "jit", word: str = "static"
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the static arguments; the one is inferred from the other.

    If both are given, neither is inferred (seed 002, `jit`).
    """
    nums = None if argnums is None else as_tuple(argnums, int, f"{transform}: {word}_argnums")
    names = None if argnames is None else as_tuple(argnames, str, f"{transform}: {word}_argnames")
    known = parameters(function)
    positional = [p.name for p in known if p.kind in _POSITIONAL]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in known) or not known
    if nums is not None:
        limit = len(positional)
        for n in nums:
            if not variadic and not -limit <= n < limit:
                raise ValueError(
                    f"{transform}: {word}_argnums={n} is out of range for "
                    f"{function_line(function)}, which has {limit} positional parameters"
                )
        if not variadic:
            nums = tuple(n % limit for n in nums)
    if names is not None and known:
        keywords = any(p.kind is p.VAR_KEYWORD for p in known)
        every = {p.name for p in known}
        for n in names:
            if n not in every and not keywords:
                raise ValueError(
                    f"{transform}: {word}_argnames={n!r} is no parameter of "
                    f"{function_line(function)}; its parameters: {', '.join(sorted(every))}"
                )
    if nums is None and names is not None:
        nums = tuple(positional.index(n) for n in names if n in positional)
    elif names is None and nums is not None:
        by_name = [p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD]
        names = tuple(
            positional[n] for n in nums if 0 <= n < len(positional) and positional[n] in by_name
        )
    return nums or (), names or ()


def argument_name(function: Any, which: int | str) -> str:
    """What an argument, named by position or keyword, is called in messages."""
    if isinstance(which, str):
        return repr(which)
    names = [p.name for p in parameters(function) if p.kind in _POSITIONAL]
    return repr(names[which]) if which < len(names) else f"#{which}"


def check_hashable(transform: str, function: Any, which: int | str, value: Any) -> None:
    """Refuses a static argument that can't be part of a key."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{transform}: the static argument {argument_name(function, which)} of "
            f"{function_line(function)} must be "
            f"hashable; got {type(value).__name__} {value!r:.80}\n"
            "  fix: pass a tuple instead of a list, a frozen dataclass instead of a dict, or make "
            "the argument traced"
        ) from None


def leaf_paths(
    function: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    positions: Iterable[int] | None = None,
) -> list[str]:
    """What each leaf of the arguments is called: `x`, `params['w'][0]`."""
    known = [p for p in parameters(function)]
    names = [p.name for p in known if p.kind in _POSITIONAL]
    rest = next((p.name for p in known if p.kind is p.VAR_POSITIONAL), "args")
    paths = []
    places = list(positions) if positions is not None else range(len(args))
    for i, arg in zip(places, args, strict=True):
        stem = names[i] if i < len(names) else f"{rest}[{i - len(names)}]"
        paths += [stem + keystr(path) for path, _ in tree_flatten_with_path(arg)[0]]
    for key in sorted(kwargs):
        paths += [key + keystr(path) for path, _ in tree_flatten_with_path(kwargs[key])[0]]
    return paths


def argument_values(
    transform: str, function: Any, leaves: Sequence[Any], paths: Callable[[], list[str]]
) -> list[Any]:
    """The leaves as values; what can't be one is an error that names the argument."""
    values = []
    for i, leaf in enumerate(leaves):
        if leaf.__class__ is Array or isinstance(leaf, Value):
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError) as error:
            raise noted(
                TypeError(
                    f"{transform}: argument {paths()[i]} of {function_line(function)} must be an "
                    f"array or a scalar; got {type(leaf).__name__} {leaf!r:.60} ({error})\n"
                    "  fix: convert it, or mark it static with static_argnums or static_argnames"
                )
            ) from None
    return values


def argument_avals(
    transform: str, function: Any, leaves: Sequence[Any], paths: Callable[[], list[str]]
) -> list[Aval]:
    """The avals of leaves that are arrays, scalars, or have a shape and a dtype."""
    avals = []
    for i, leaf in enumerate(leaves):
        try:
            avals.append(shaped_aval(leaf))
        except (TypeError, ValueError) as error:
            raise noted(
                TypeError(
                    f"{transform}: argument {paths()[i]} of {function_line(function)} must be an "
                    "array, a scalar, or have a shape and a dtype; got "
                    f"{type(leaf).__name__} {leaf!r:.60}\n"
                    f"  fix: convert it, or mark it static ({error})"
                )
            ) from None
    return avals


def shaped_aval(x: Any) -> Aval:
    """The aval of an array, of a scalar, or of anything with a shape and a dtype."""
    if isinstance(x, Value):
        return x.aval
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return aval(
            tuple(x.shape),
            dtypes.canonicalize_dtype(x.dtype),
            bool(getattr(x, "weak_type", False)),
        )
    return as_value(x).aval  # type: ignore[no-any-return]


def output_values(transform: str, function: Any, leaves_with: Any) -> list[Any]:
    """The leaves of a function's result as values; anything else is an error."""
    values = []
    for i, leaf in enumerate(leaves_with):
        if isinstance(leaf, Value):
            values.append(leaf)
            continue
        try:
            values.append(as_value(leaf))
        except (TypeError, ValueError):
            raise noted(
                TypeError(
                    f"{transform}: {function_line(function)} must return arrays, scalars or "
                    f"containers of them; leaf {i} of its result is a {type(leaf).__name__}: "
                    f"{leaf!r:.60}\n"
                    "  fix: return arrays only; what isn't an array can leave through has_aux or "
                    "a separate function"
                )
            ) from None
    return values
