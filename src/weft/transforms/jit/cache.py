"""What functions have been traced to, kept with them: `jit(f)` said twice finds the same programs.

Knows functions and caches; knows nothing of tracing.
"""

import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from . import retrace
from .dispatch import Cache
from .sharded_dispatch import ShardedCache


class Programs:
    """What a function has been traced to with one set of options: `jit(f)` said twice is one."""

    __slots__ = ("entries", "history", "hot", "pending", "spread")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.hot = Cache()
        self.spread = ShardedCache()  # the same for arrays on several devices
        self.history = retrace.History()
        self.pending: dict[Any, threading.RLock] = {}  # signatures that are being traced

    def entry(self, key: Any, make: Callable[[], Any]) -> Any:
        """What a signature was traced to; `make` traces it if it wasn't, or can't be used any more.

        Of threads that come at once, the first traces and the others wait for it. Too many
        signatures (static arguments that are always new) start afresh.
        """
        entry = self.entries.get(key)
        if entry is None or not entry.alive():
            try:
                with self.pending.setdefault(key, threading.RLock()):
                    entry = self.entries.get(key)
                    if entry is None or not entry.alive():
                        entry = make()
                        if len(self.entries) >= MOST_SIGNATURES:
                            self.clear()
                        self.entries[key] = entry
            finally:
                self.pending.pop(key, None)
        return entry

    def clear(self) -> None:
        """Forgets all signatures."""
        self.entries.clear()
        self.hot.clear()
        self.spread.clear()


MOST_SIGNATURES = 4096


class Owned:
    """The programs of a function, by options. It is an attribute of the function.

    A table by functions would keep them for ever where a derivative rule in a program refers to the
    function. An attribute is copied by `functools.wraps`, so it says whose it is.
    """

    __slots__ = ("by_options", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)
        self.by_options: dict[Any, Programs] = {}

    def __reduce__(self) -> Any:
        return Owned, (Owned,)  # nobody's: a function is pickled without what was compiled for it


_owning = threading.Lock()


def programs_of(fun: Any, options: Any) -> Programs:
    """The programs of a function; they die with it."""
    if type(fun) is not FunctionType:
        return Programs()
    with _owning:
        owned = fun.__dict__.get("__weft_jit__")
        if owned is None or owned.owner() is not fun:
            owned = fun.__dict__["__weft_jit__"] = Owned(fun)
        return owned.by_options.setdefault(options, Programs())
