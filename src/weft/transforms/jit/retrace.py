"""Explanations of retracing: the difference between a signature and the closest earlier one."""

from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from ...config import AXES, key_differences, thread
from ...core.events import Reason, Tracing
from ...core.source import function_line, inside_partials
from ...user_lines import user_line, user_place
from ..arguments import TraceKey, argument_name, leaf_paths

MAX_FUNCTIONS = 1024  # remembered to recognise redefined functions


def explanation(
    function: Any,
    positions: list[int],
    signature: TraceKey,
    before: Sequence[TraceKey],
    number: int,
    paths: Callable[[], list[str]],
) -> Tracing:
    """The differences between a signature that is about to be traced and the closest earlier one.

    Args:
      positions: the positions of the traced arguments.
      before: the latest signatures.
      number: the number of traced signatures, including this one.
      paths: returns the names of the leaves.
    """
    name, line = function_line(function), user_line()
    reasons = [Reason("new function", text) for text in made_again(function)]
    before = [s for s in before if DEBUGGED not in changed_switches(s.switches)]
    if not before:
        types = ", ".join(map(str, signature.avals))
        head = f"jit: tracing {name}, called at {line}: for the first time, on ({types})"
    else:
        reasons = differences(function, positions, signature, before, paths)
        reasons = reasons or [Reason("", _NO_DIFFERENCE)]
        head = f"jit: tracing {name} again ({nth(number)} time), called at {line}"
        head += ". Compared with the closest earlier call:"
    text = "\n  ".join([head, *[reason.text for reason in reasons]])
    return Tracing(function, number, reasons, user_place(), text)


def differences(
    function: Any,
    positions: list[int],
    signature: TraceKey,
    before: Sequence[TraceKey],
    paths: Callable[[], list[str]],
) -> list[Reason]:
    """The differences between a signature and the closest earlier one. Arguments as in
    `explanation`."""
    closest = max(reversed(before), key=lambda s: _similarity(s, signature))
    return list(_differences(function, positions, closest, signature, paths))


DEBUGGED = "debug_lines"
"""Traces with and without lines are separate: a program is traced again to get its lines."""


def changed_switches(key: Any) -> list[str]:
    """The switches that differ between a key and the key of this thread."""
    return [name for name, _, _ in key_differences(key, thread.key)]


def nth(number: int) -> str:
    """`2nd`, `11th`, `23rd`."""
    suffix = "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


_NO_DIFFERENCE = (
    "nothing changed: the program was dropped (clear_cache, too many signatures), or closed over "
    "a traced value of a trace that has ended"
)


def _similarity(old: TraceKey, new: TraceKey) -> int:
    same: int = sum(a is b for a, b in zip(old.avals, new.avals, strict=False))
    same += 200 * bool(old.statics == new.statics)
    same += 100 * bool([s[0] for s in old.statics] == [s[0] for s in new.statics])
    return 1000 * bool(old.in_tree == new.in_tree) + same


def _differences(
    function: Any,
    positions: list[int],
    old: TraceKey,
    new: TraceKey,
    paths: Callable[[], list[str]],
) -> Iterator[Reason]:
    if old.in_tree != new.in_tree:
        for text in _tree_differences(function, positions, old.in_tree, new.in_tree):
            yield Reason("structure", text)
    elif old.avals != new.avals:
        for path, a, b in zip(paths(), old.avals, new.avals, strict=True):
            if a is not b:
                kind = "weak type"
                if (a.shape, a.dtype) != (b.shape, b.dtype):
                    kind = "dtype" if a.shape == b.shape else "shape"
                yield Reason(kind, f"argument {path} was {a}, is {b} ({_change(a, b)})")
    if old.statics != new.statics:
        for text in _static_differences(function, old.statics, new.statics):
            yield Reason("static", text)
    for name, was, now in key_differences(old.switches, new.switches):
        if name == AXES:
            was, now = dict(was), dict(now)
            yield Reason("switch", f"{AXES} were {was}, are {now}")
        else:
            yield Reason("switch", f"the switch {name} was {was!r}, is {now!r}")


def _change(a: Any, b: Any) -> str:
    """A description of the difference between two avals."""
    parts = [word for word in ("shape", "dtype") if getattr(a, word) != getattr(b, word)]
    if a.weak_type != b.weak_type:
        parts.append(f"weak type: it is {'a Python scalar' if b.weak_type else 'an array'} now")
    return " and ".join(parts)


def _tree_differences(function: Any, positions: list[int], old: Any, new: Any) -> Iterator[str]:
    """The leaves that were added and removed; if there are none, the structures."""

    def leaves(tree: Any) -> list[str]:
        args, kwargs = tree.unflatten(range(tree.num_leaves))
        return leaf_paths(
            function, args, kwargs, positions if len(positions) == len(args) else None
        )

    before, after = leaves(old), leaves(new)
    removed = [p for p in before if p not in after]
    added = [p for p in after if p not in before]
    for word, paths in (("gone", removed), ("new", added)):
        if paths:
            more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
            verb = "is" if len(paths) == 1 else "are"
            yield f"argument structure: {', '.join(paths[:5])}{more} {verb} {word}"
    if not removed and not added:
        yield f"argument structure was {old}, is {new}"


def shown_name(function: Any, position: int | str) -> str:
    """The name of a static argument without quotes, like the names of traced arguments."""
    return argument_name(function, position).strip("'")


def _static_differences(function: Any, old: Any, new: Any) -> Iterator[str]:
    before = {position: (key, value) for position, key, value in old}
    for position, key, value in new:
        name = shown_name(function, position)
        if position not in before:
            yield f"static argument {name} is new: {value!r:.80}"
            continue
        old_key, old_value = before[position]
        if old_key != key:
            yield f"static argument {name} was {old_value!r:.80}, is {value!r:.80}"
            code = function_code(value)
            if code is not None and function_code(old_value) is code:
                yield f"  a new function object: {remade(value)}"
            elif repr(old_value) == repr(value):
                yield "  they look alike but are not equal: the class needs __eq__ and __hash__"
    for position in before.keys() - {s[0] for s in new}:
        yield f"static argument {shown_name(function, position)} is gone"


# --- functions that are defined repeatedly ---

_made: dict[CodeType, tuple[int, dict[str, str]]] = {}
# the number of function objects with this code, and the closure variables of the latest one


def made_again(function: Any) -> Iterator[str]:
    """The message about a new function object, if one with the same code was traced before."""
    code = function_code(function)
    if code is None:
        return
    count, before = _made.get(code, (0, {}))
    if count == 0 and len(_made) >= MAX_FUNCTIONS:
        _made.clear()
    variables = closed_over(function)
    _made[code] = (count + 1, variables)
    if count == 0:
        return
    yield f"a new function object (the {nth(count + 1)}): {remade(function)}"
    for name, value in variables.items():
        if name in before and before[name] != value:
            yield f"  it closes over {name}, which was {before[name]}, is {value}"
    if any(before.get(name) != value for name, value in variables.items()):
        yield "  fix: pass the changing value as an argument"


def remade(function: Any) -> str:
    """The message for a function that is defined repeatedly, although once would be enough."""
    inner = inside_partials(function)
    wrapper = "" if inner is function else f" (in a {type(function).__name__})"
    return (
        f"{function_line(inner)}{wrapper} was defined again; define it, and jit it, once "
        "outside the loop"
    )


def function_code(function: Any) -> CodeType | None:
    """The code of a function, which is shared by all function objects of one definition."""
    return getattr(inside_partials(function), "__code__", None)


def closed_over(function: Any) -> dict[str, str]:
    """The variables that a function closes over, as short representations by name."""
    inner = inside_partials(function)
    variables = {}
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            variables[name] = f"{cell.cell_contents!r:.60}"
        except ValueError:  # the variable is not assigned yet
            variables[name] = "nothing yet"
    for name, value in getattr(function, "keywords", {}).items():
        variables[name] = f"{value!r:.60}"
    return variables
