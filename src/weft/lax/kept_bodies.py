"""The programs of functions that control flow traced before, kept on the functions.

Control flow outside `jit` would trace its functions anew at every call. A function's program is
used again for arguments of the same types under the same switches, as long as the function closes
over the same things. What those are is looked up each time, some levels deep: variables of
enclosing functions and of modules, arrays and floats in containers and objects. What can change
without a trace of it (NumPy arrays, callables that aren't plain functions) is never kept. Counters
don't count: variables that the function itself assigns, integers and strings in containers.

Knows functions of Python; knows nothing of control flow.
"""

import dis
import threading
import weakref
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..core.array import Tracer
from ..core.source import HERE
from ..core.value import Value

_MOST_KEPT = 16  # programs of one function
_MOST_SEEN = 256  # things that a function closes over
_DEPTH = 4
_ATTRIBUTE = "__weft_bodies__"
_PLAIN = (
    Value, ModuleType, BuiltinFunctionType, type, str, bytes, int, float, complex, np.generic,
    np.dtype, type(None), np.ufunc,
)  # fmt: skip

_UNCOUNTED = (int, str, type(None), Tracer)  # in containers: counters and logs of traces


class Kept:
    """The programs of one function: an attribute of it, which `functools.wraps` may copy.

    Each has what the function closed over when it was traced.
    """

    __slots__ = ("owner", "programs")

    def __init__(self, owner: FunctionType) -> None:
        self.owner = weakref.ref(owner)
        self.programs: dict[Hashable, tuple[list[Any], Any]] = {}

    def __reduce__(self) -> Any:
        return Kept, (look,)  # nobody's: a function is pickled without its programs


_making = threading.RLock()


def kept_on(function: FunctionType) -> Kept:
    """The programs of a function."""
    with _making:
        found: Kept | None = function.__dict__.get(_ATTRIBUTE)
        if found is None or found.owner() is not function:
            found = function.__dict__[_ATTRIBUTE] = Kept(function)
        return found


def kept_bodies(function: Any, key: Hashable, make: Callable[[], Any], keeps: Any) -> Any:
    """What `make` traces of a function, or traced before under the key.

    Args:
      keeps: called with what was made; False if that can't be kept.
    """
    if function.__class__ is not FunctionType:
        return make()
    kept = function.__dict__.get(_ATTRIBUTE)
    if kept is not None and kept.owner() is function:
        found = kept.programs.get(key)
        if found is not None:
            now = closed_over_by(function)
            if now is not None and same_things(now, found[0]):
                return found[1]
    made = make()
    if keeps(made):
        then = closed_over_by(function)
        if then is not None:
            programs = kept_on(function).programs
            if len(programs) >= _MOST_KEPT:
                programs.clear()
            programs[key] = then, made
    return made


def same_things(now: list[Any], then: list[Any]) -> bool:
    """True if two lists hold the same objects."""
    return len(now) == len(then) and all(a is b for a, b in zip(now, then, strict=True))


def closed_over_by(function: FunctionType) -> list[Any] | None:
    """All that a function closes over, some levels deep; `None` if that can't be told."""
    found: list[Any] = []
    return found if look(function, found, _DEPTH) else None


def look(x: Any, found: list[Any], depth: int) -> bool:
    """Adds what is in a thing to a list; False if it may change without a trace of it."""
    if isinstance(x, np.ndarray) or len(found) > _MOST_SEEN:
        return False
    if isinstance(x, _PLAIN) or depth == 0:
        return True
    inside: list[Any]
    if x.__class__ is FunctionType:
        if x.__code__.co_filename.startswith(HERE):
            return True
        inside = of_function(x)
    elif isinstance(x, (tuple, list, set, frozenset)):
        inside = [y for y in x if not isinstance(y, _UNCOUNTED)]
    else:
        items = x if isinstance(x, dict) else getattr(x, "__dict__", {})
        inside = [y for y in items.values() if not isinstance(y, _UNCOUNTED)]
    if len(found) + len(inside) > _MOST_SEEN:
        return False
    found += inside
    return all(look(y, found, depth - 1) for y in inside)


def of_function(function: FunctionType) -> list[Any]:
    """The variables that a function refers to, of functions around it and of its module."""
    code = function.__code__
    names, assigned = names_in(code)
    inside: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if name not in assigned:
            try:
                inside.append(cell.cell_contents)
            except ValueError:  # not assigned yet
                inside.append(CellType)
    known = function.__globals__
    inside += [known[name] for name in names if name in known]
    return inside


Names = tuple[tuple[str, ...], frozenset[str]]
_names: "weakref.WeakKeyDictionary[CodeType, Names]" = weakref.WeakKeyDictionary()


def names_in(code: CodeType) -> Names:
    """The names that a function's code, and that of functions in it, may look up in the module; and
    those that it assigns, in the module or in functions around it."""
    known = _names.get(code)
    if known is None:
        names = dict.fromkeys(code.co_names)
        assigned = {i.argval for i in dis.get_instructions(code) if i.opname in _ASSIGNMENTS}
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                inner, inner_assigned = names_in(constant)
                names.update(dict.fromkeys(inner))
                assigned |= inner_assigned
        known = tuple([n for n in names if n not in assigned]), frozenset(assigned)
        _names[code] = known
    return known


_ASSIGNMENTS = ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")
