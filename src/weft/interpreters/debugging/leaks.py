"""Finds tracers that outlive their trace, with their origin and the objects that refer to them.

The switch `check_tracer_leaks` runs this at the end of each trace of a user's function. It is slow.
"""

import gc
import sys
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

from ... import errors
from ...core.array import Tracer
from ...core.jaxpr import Jaxpr
from ...core.source import function_line
from ...core.trace import Trace
from ...user_lines import HERE, noted

MAX_LISTED_TRACERS = 5  # the number of tracers in a message
_DEPTH = 4  # the depth of nested containers


def refuse_leaks(trace: Any) -> None:
    """Raises UnexpectedTracerError if tracers of an ended trace are still referenced."""
    gc.collect()
    objects = gc.get_objects()
    leaked = [x for x in objects if isinstance(x, Tracer) and x._trace is trace]
    if leaked:
        allowed = closed_over_by_rules(objects)
        leaked = [x for x in leaked if id(x) not in allowed]
    del objects
    if not leaked:
        return
    search = Search()
    search.notes += [leaked, shown := leaked[:MAX_LISTED_TRACERS]]
    lines = []
    for x in shown:
        lines.append(f"  a traced {x.aval}, made {trace.origin(x) or 'in the function'}")
        lines += [f"    kept by {holder}" for holder in search.holders(x, _DEPTH)]
    if len(leaked) > MAX_LISTED_TRACERS:
        lines.append(f"  and {len(leaked) - MAX_LISTED_TRACERS} more")
    count = "a traced value is" if len(leaked) == 1 else f"{len(leaked)} traced values are"
    text = "\n".join(lines)
    del leaked, shown, search, x  # the error keeps this frame
    raise noted(
        errors.UnexpectedTracerError(
            f"{trace.transform}: {count} kept when the trace of {function_line(trace.function)} "
            f"ends (check_tracer_leaks is on)\n{text}\n"
            "  fix: return the value from the function instead of keeping it in a variable outside"
        )
    )


def closed_over_by_rules(objects: list[Any]) -> set[int]:
    """The ids of tracers that derivative rules in programs close over, which the programs keep
    alive.

    Misuse of such a tracer is reported when the rule runs.
    """
    waiting: list[Any] = [o for o in objects if getattr(type(o), "keeps_closures", False)]
    seen: set[int] = set()
    ids: set[int] = set()
    while waiting:
        o = waiting.pop()
        if id(o) in seen:
            continue
        seen.add(id(o))
        if isinstance(o, Tracer):
            ids.add(id(o))
        if isinstance(o, FunctionType):
            waiting += [o.__closure__, o.__defaults__, o.__kwdefaults__]
        elif not isinstance(o, (Trace, Jaxpr, ModuleType, FrameType, type)):
            waiting += gc.get_referents(o)
    return ids


class Search:
    """Describes the references to an object, except those of the search itself."""

    def __init__(self) -> None:
        self.notes: list[Any] = []  # the search's own lists, which also refer to the objects

    def holders(self, x: object, depth: int) -> list[str]:
        """The owners that keep an object alive, a phrase for each."""
        owners = gc.get_referrers(x)
        self.notes.append(owners)
        texts = set()
        for owner in owners:
            texts.add(self.described(owner, x, depth))
        return sorted(texts - {""}) or ["an object that Python doesn't name"]

    def described(self, owner: object, x: object, depth: int) -> str:
        """The place in which an owner keeps an object; empty if the owner belongs to weft or the
        search."""
        if owner is self.notes:
            return ""
        for note in self.notes:
            if owner is note:
                return ""
        owner = getattr(owner, "gi_frame", None) or getattr(owner, "cr_frame", None) or owner
        if isinstance(owner, FrameType):
            if owner.f_code.co_filename.startswith(HERE):
                return ""
            where = f"{owner.f_code.co_name}, which is still running"
            return f"{variable_named(owner.f_locals, x, 'local variable')} of {where}"
        if isinstance(owner, CellType):
            return self.closed_over(owner)
        if isinstance(owner, dict):
            return self.in_dict(owner, x, depth)
        if isinstance(owner, (list, tuple)):
            index = next((i for i in range(len(owner)) if owner[i] is x), None)
            return self.inside(owner, f"[{index}]", depth)
        if isinstance(owner, Tracer):
            return self.inside(owner, "a part", depth)
        if isinstance(owner, (set, frozenset)):
            return self.inside(owner, "an element", depth)
        for name in [*getattr(owner, "__dict__", ()), *getattr(type(owner), "__slots__", ())]:
            if getattr(owner, name, None) is x:
                return f"the attribute {name!r} of a {type(owner).__name__}"
        return f"a {type(owner).__name__}"

    def closed_over(self, cell: object) -> str:
        """The variable of a closure's cell, and the function that closes over it."""
        for function in gc.get_referrers(*gc.get_referrers(cell)):
            if not isinstance(function, FunctionType):
                continue
            code = function.__code__
            for name, other in zip(code.co_freevars, function.__closure__ or (), strict=True):
                if other is cell and not code.co_filename.startswith(HERE):
                    return f"the variable {name!r} that {function_line(function)} closes over"
        return ""

    def in_dict(self, owner: Any, x: Any, depth: int) -> str:
        """A global, an attribute, or an item of the user's dict."""
        module = owner.get("__name__")
        if isinstance(module, str) and vars(sys.modules.get(module, ModuleType(""))) is owner:
            return f"{variable_named(owner, x, 'global')} of module {module}"
        for instance in gc.get_referrers(owner):
            if getattr(instance, "__dict__", None) is owner:
                return f"{variable_named(owner, x, 'attribute')} of a {type(instance).__name__}"
        keys = [key for key in owner if owner[key] is x]
        return self.inside(owner, f"[{keys[0]!r}]" if keys else "a key", depth)

    def inside(self, container: object, place: str, depth: int) -> str:
        """An element of a container, and the owner of the container."""
        text = f"{place} of a {type(container).__name__}"
        return f"{text}: {self.holders(container, depth - 1)[0]}" if depth else text


def variable_named(names: Any, x: Any, kind: str) -> str:
    """The name of the variable that holds an object."""
    for name in names:
        if names[name] is x:
            return f"the {kind} {name!r}"
    return f"a {kind}"
