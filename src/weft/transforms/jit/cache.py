"""The traced programs of functions, kept with them: a second `jit(f)` finds the same programs.

Knows functions and caches; knows nothing of tracing.
"""

import threading
import weakref
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, TypeVar

from . import retrace
from .dispatch import HotCache
from .entry import Entry

E = TypeVar("E", bound=Entry)

MOST_SIGNATURES = 4096


class Programs:
    """The signatures that a function has been traced for with one set of options."""

    __slots__ = ("entries", "history", "hot")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.hot = HotCache()
        self.history = retrace.History()

    def entry(self, key: Hashable, make: Callable[[], E]) -> E:
        """The entry of a signature; `make` traces it if there is none that can be used.

        No lock is held meanwhile: tracing runs users' code, which may wait for another thread. Of
        threads that come at the same time each traces, and all use what the first one stored; so it
        is compiled once. Too many signatures (new static arguments at each call) empty the table.
        """
        entry: E | None = self.entries.get(key)
        if entry is not None and entry.alive():
            return entry
        made = make()
        if len(self.entries) >= MOST_SIGNATURES:
            self.clear()
        if entry is None:
            return self.entries.setdefault(key, made)  # type: ignore[no-any-return]
        with _owning:  # looking and storing are one step: another thread may have replaced it too
            stored: E | None = self.entries.get(key)
            if stored is None or stored is entry:
                self.entries[key] = stored = made
            return stored

    def clear(self) -> None:
        """Forgets all signatures."""
        self.entries.clear()
        self.hot.clear()


class Owned:
    """The programs of a function, by options. It is an attribute of the function.

    A table by functions would keep them for ever where a derivative rule in a program refers to the
    function. An attribute is copied by `functools.wraps`, so it says whose it is.
    """

    __slots__ = ("by_options", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)
        self.by_options: dict[Hashable, Programs] = {}

    def __reduce__(self) -> Any:
        return Owned, (Owned,)  # nobody's: a function is pickled without what was compiled for it


_owning = threading.RLock()  # reentrant: comparing static arguments may run users' code


def programs_of(function: Any, options: Hashable) -> Programs:
    """The programs of a function; they die with it."""
    if type(function) is not FunctionType:
        return Programs()
    with _owning:
        owned = function.__dict__.get("__weft_jit__")
        if owned is None or owned.owner() is not function:
            owned = function.__dict__["__weft_jit__"] = Owned(function)
        return owned.by_options.setdefault(options, Programs())
