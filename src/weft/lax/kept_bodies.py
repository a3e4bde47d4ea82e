"""The programs of functions that control flow traced before, kept on the functions.

Control flow outside `jit` would trace its functions anew at every call. A function's program is
used again for arguments of the same types under the same switches, as long as the function closes
over the same things: numbers, strings, arrays of weft, functions that close over such things, and
what is weft's or NumPy's own. All variables of enclosing functions and of the module are looked up
each time. A function that closes over anything else (a list, a dictionary, an object, a NumPy
array) is traced each time, since that may have changed.

Knows functions of Python; knows nothing of control flow.
"""

import threading
import weakref
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..core.value import Value

_MOST_KEPT = 16  # programs of one function
_MOST_SEEN = 256  # things that a function closes over
_ATTRIBUTE = "__weft_bodies__"
_FIXED = (Value, str, bytes, int, float, complex, np.generic, np.dtype, np.ufunc, type(None))
_LIBRARIES = ("weft", "numpy", "math", "operator", "builtins")  # what they define stays as it is


class Kept:
    """The programs of one function: an attribute of it, which `functools.wraps` may copy.

    Each has what the function closed over when it was traced.
    """

    __slots__ = ("owner", "programs")

    def __init__(self, owner: FunctionType) -> None:
        self.owner = weakref.ref(owner)
        self.programs: dict[Hashable, tuple[list[Any], Any]] = {}

    def __reduce__(self) -> Any:
        return Kept, (names_in,)  # nobody's: a function is pickled without its programs


_making = threading.RLock()


def kept_on(function: FunctionType) -> Kept:
    """The programs of a function."""
    with _making:
        found: Kept | None = function.__dict__.get(_ATTRIBUTE)
        if found is None or found.owner() is not function:
            found = function.__dict__[_ATTRIBUTE] = Kept(function)
        return found


def kept_bodies(function: Any, key: Hashable, make: Callable[[], Any], keeps: Any) -> Any:
    """The program that `make` traces of a function, or one that it traced before under the key.

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
    """All that a function closes over, at any depth; `None` if that may change unnoticed."""
    found: list[Any] = variables_of(function)
    for x in found:  # which grows
        if isinstance(x, _FIXED) or is_of_library(x):
            continue
        if x.__class__ is FunctionType:
            inside = variables_of(x)
        elif x.__class__ is tuple:
            inside = [*x]
        else:
            return None
        seen = {*map(id, found)}
        found += [y for y in inside if id(y) not in seen]
        if len(found) > _MOST_SEEN:
            return None
    return found


def is_of_library(x: Any) -> bool:
    """True for modules, classes and functions of weft, of NumPy, and of the language."""
    if isinstance(x, ModuleType):
        name = x.__name__
    elif isinstance(x, (type, FunctionType)):
        name = x.__module__ or ""
    elif isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, ModuleType):  # no method
        name = x.__self__.__name__
    else:
        return False
    return name.partition(".")[0] in _LIBRARIES


def variables_of(function: FunctionType) -> list[Any]:
    """The values of the variables of enclosing functions and of its module that a function uses."""
    inside: list[Any] = [function.__defaults__, *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            inside.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            inside.append(None)
    known = function.__globals__
    return inside + [known[name] for name in names_in(function.__code__) if name in known]


_names: "weakref.WeakKeyDictionary[CodeType, tuple[str, ...]]" = weakref.WeakKeyDictionary()


def names_in(code: CodeType) -> tuple[str, ...]:
    """The names that a function's code, and that of functions in it, may look up in the module."""
    known = _names.get(code)
    if known is None:
        names = dict.fromkeys(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names.update(dict.fromkeys(names_in(constant)))
        known = _names[code] = tuple(names)
    return known
