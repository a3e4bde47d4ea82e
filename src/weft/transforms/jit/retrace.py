"""Explanations of retracing: the difference of a signature from the nearest earlier one.

Knows signatures and functions' code; knows nothing of tracing.
"""

from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from ...config import AXES, key_differences, thread
from ...core.source import function_line, inside_partials, user_line
from ..arguments import leaf_paths

MOST_FUNCTIONS = 1024  # of which it is known that they were made before


def explanation(
    function: Any,
    positions: list[int],
    signature: Any,
    before: Sequence[Any],
    number: int,
    paths: Callable[[], list[str]],
) -> str:
    """The differences of a signature, which is about to be traced, from the nearest earlier one.

    Args:
      positions: of the arguments that aren't static.
      signature: (tree of the arguments, avals, static arguments).
      before: the last ones, each with the `thread.key` that it was traced under.
      number: how many were traced, this one included.
      paths: returns the names of the leaves.
    """
    head = f"jit: tracing {function_line(function)}, called at {user_line()}"
    again = list(made_again(function))
    if not before:
        text = f"{head}: for the first time, on ({', '.join(map(str, signature[1]))})"
        return "\n  ".join([text, *again])
    nearest = max(reversed(before), key=lambda s: _likeness(s, *signature))
    lines = list(_differences(function, positions, nearest, signature, paths))
    head = f"{head} for the {number}. time; against the nearest earlier call:"
    return "\n  ".join([head, *(lines or [_SAME])])


_SAME = (
    "nothing changed: the program was forgotten (clear_cache, too many signatures), or closed over "
    "a traced value of a trace that has ended"
)


def _likeness(signature: Any, tree: Any, avals: Any, statics: Any) -> int:
    old_tree, old_avals, old_statics, _ = signature
    same: int = sum(a is b for a, b in zip(old_avals, avals, strict=False))
    same += 200 * bool(old_statics == statics)
    same += 100 * bool([s[0] for s in old_statics] == [s[0] for s in statics])
    return 1000 * bool(old_tree == tree) + same


def _differences(
    function: Any, positions: list[int], old: Any, new: Any, paths: Callable[[], list[str]]
) -> Iterator[str]:
    old_tree, old_avals, old_statics, old_key = old
    tree, avals, statics = new
    if old_tree != tree:
        yield from _tree_differences(function, positions, old_tree, tree)
    elif old_avals != avals:
        for path, a, b in zip(paths(), old_avals, avals, strict=True):
            if a is not b:
                yield f"argument {path} was {a}, is {b} ({_change(a, b)})"
    if old_statics != statics:
        yield from _static_differences(old_statics, statics)
    for name, was, now in key_differences(old_key, thread.key):
        if name == AXES:
            was, now = dict(was), dict(now)
            yield f"{AXES} were {was}, are {now}"
        else:
            yield f"the switch {name} was {was!r}, is {now!r}"


def _change(a: Any, b: Any) -> str:
    """The difference of two avals, in words."""
    parts = [word for word in ("shape", "dtype") if getattr(a, word) != getattr(b, word)]
    if a.weak_type != b.weak_type:
        parts.append(f"weak type: it is {'a Python scalar' if b.weak_type else 'an array'} now")
    return " and ".join(parts)


def _tree_differences(function: Any, positions: list[int], old: Any, new: Any) -> Iterator[str]:
    """The leaves that were added and removed, or else the containers of another kind."""

    def leaves(tree: Any) -> list[str]:
        args, kwargs = tree.unflatten(range(tree.num_leaves))
        places = positions if len(positions) == len(args) else None
        return leaf_paths(function, args, kwargs, places)

    before, after = leaves(old), leaves(new)
    gone = [p for p in before if p not in after]
    come = [p for p in after if p not in before]
    for word, found in (("gone", gone), ("new", come)):
        if found:
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            yield f"argument structure: {', '.join(found[:5])}{more} {_is(found)} {word}"
    if not gone and not come:
        yield f"argument structure was {old}, is {new}"


def _is(items: list[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _static_differences(old: Any, new: Any) -> Iterator[str]:
    if old[0] != new[0]:
        yield f"there were {old[0][-1]} positional arguments, there are {new[0][-1]}"
    before = {which: (key, value) for which, key, value in old[1:]}
    for which, key, value in new[1:]:
        if which not in before:
            yield f"static argument {which} is new: {value!r:.80}"
            continue
        was_key, was = before[which]
        if was_key != key:
            yield f"static argument {which} was {was!r:.80}, is {value!r:.80}"
            if function_code(value) is not None and function_code(was) is function_code(value):
                yield f"  a new function object: {remade(value)}"
            elif repr(was) == repr(value):
                yield "  they look alike and aren't equal: the class needs __eq__ and __hash__"
    for which in before.keys() - {s[0] for s in new[1:]}:
        yield f"static argument {which} is gone"


# --- functions that are made again and again ---

_made: dict[CodeType, tuple[int, dict[str, str]]] = {}
# how often a function of this code was traced for the first time, and what the last closed over


def made_again(function: Any) -> Iterator[str]:
    """The message about a new function, if one of the same code was traced before."""
    code = function_code(function)
    if code is None:
        return
    count, before = _made.get(code, (0, {}))
    if count == 0 and len(_made) >= MOST_FUNCTIONS:
        _made.clear()
    now = closed_over(function)
    _made[code] = (count + 1, now)
    if count == 0:
        return
    yield f"a new function object, the {count + 1}.: {remade(function)}"
    for name in now:
        if name in before and before[name] != now[name]:
            yield f"  it closes over {name}, which was {before[name]}, is {now[name]}"
    if any(before.get(name) != now[name] for name in now):
        yield "  fix: pass what changes as an argument"


def remade(function: Any) -> str:
    """The message that a function is defined again where one would do."""
    inner = inside_partials(function)
    wrapper = "" if inner is function else f" (in a {type(function).__name__})"
    return (
        f"{function_line(inner)}{wrapper} was made again; define it, and jit it, once "
        "outside the loop"
    )


def function_code(function: Any) -> CodeType | None:
    """The code of a function, which all that are made at one place share."""
    return getattr(inside_partials(function), "__code__", None)


def closed_over(function: Any) -> dict[str, str]:
    """The variables that a function closes over, shown in short."""
    inner = inside_partials(function)
    shown = {}
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            shown[name] = f"{cell.cell_contents!r:.60}"
        except ValueError:  # not assigned yet
            shown[name] = "nothing yet"
    for name, value in getattr(function, "keywords", {}).items():
        shown[name] = f"{value!r:.60}"
    return shown
