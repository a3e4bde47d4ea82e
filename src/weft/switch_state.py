"""The values of the switches in each thread, and the caches that depend on them.

The values of all switches that change programs are a `SwitchState`, which owns its caches.
`config.py` declares the switches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

MAX_STATES = 64


class SwitchState(tuple[Any, ...]):
    """The values of all switches that change programs; equal states are one object.

    States are parts of many keys, and are compared and hashed by identity.

    Attributes:
      caches: the caches for these values, by number.
    """

    caches: list[dict[Any, Any]]

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class ThreadCache(dict[Any, Any]):
    """A cache that looks up the thread's own cache while threads have different states."""

    def __init__(self, number: int, here: Callable[[], SwitchState]) -> None:
        super().__init__()
        self.number, self.here = number, here

    def __missing__(self, key: object) -> Any:
        return self.here().caches[self.number][key]


class Caches:
    """The caches that depend on switches, by number: `caches.now[number][key]`.

    A thread in a `with` block that sets a switch has its own state, and neither sees nor
    clears the entries of other threads. Finding the state of a thread would cost more than the
    look-up (benchmarks/dispatch.py). So `now` is the list of caches of the global state while all
    threads have it, which is nearly always; otherwise it is a list of `ThreadCache`.

    New entries go into `here().caches[number]`.
    """

    __slots__ = ("_lock", "_states", "_thread_caches", "here", "now")

    def __init__(self, here: Callable[[], SwitchState]) -> None:
        self.here = here  # the state of this thread
        self._lock = threading.RLock()
        self._states: dict[tuple[Any, ...], SwitchState] = {}
        self._thread_caches: list[dict[Any, Any]] = []
        self.now: list[dict[Any, Any]] = self._thread_caches

    def add(self) -> int:
        """The number of a new cache."""
        with self._lock:
            number = len(self._thread_caches)
            for state in self._states.values():
                state.caches.append({})
            self._thread_caches.append(ThreadCache(number, self.here))
            return number

    def state(self, values: tuple[object, ...], used: Iterable[SwitchState]) -> SwitchState:
        """The state with these values; if there are too many, all but `used` are dropped."""
        with self._lock:
            state = self._states.get(values)
            if state is None:
                if len(self._states) >= MAX_STATES:
                    self._states = {tuple(s): s for s in used}
                state = SwitchState(values)
                state.caches = [{} for _ in self._thread_caches]
                self._states[values] = state
            return state

    def split(self) -> None:
        """Called before a change: from now on, threads may have different states."""
        self.now = self._thread_caches

    def merge(self, states: Iterable[SwitchState]) -> None:
        """Called after a change, with the states of all threads."""
        first, *others = states
        self.now = self._thread_caches if any(s is not first for s in others) else first.caches


class _Thread(threading.local):
    """The values in effect in the current thread.

    Class attributes are the global values; a thread inside a `with` block has instance attributes
    that override them. So all threads see a global update at once, unless they override the switch.
    `key` depends on all values: see `_update_key`.
    """

    key: tuple[Any, ...] = ()
    switches: SwitchState = SwitchState()
    axes: tuple[tuple[Any, int], ...] = ()  # (name, size), the outermost first
    x64: bool = False

    if TYPE_CHECKING:  # one attribute a switch, made by `Switch.__init__`

        def __getattr__(self, name: str) -> Any: ...


_lock = threading.RLock()
_keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}
# The attribute dicts of threads inside a `with` block: a global update renews their keys too.
_overriding: list[dict[str, Any]] = []

thread = _Thread()
caches = Caches(lambda: thread.switches)
traced_attributes: list[str] = []  # of `thread`: the switches that change programs


def _register(own: dict[str, Any]) -> None:
    """Updates `_overriding` after a change of a thread's attributes."""
    overrides = any(name not in _KEYS for name in own)
    registered = any(each is own for each in _overriding)
    if overrides and not registered:
        _overriding.append(own)
    elif registered and not overrides:
        _overriding[:] = [each for each in _overriding if each is not own]
    if not overrides:
        for name in _KEYS:
            own.pop(name, None)


def _merge_caches() -> None:
    """Passes the states of all threads to `caches`.

    The global state is always among them, since a new thread starts with it.
    """
    states = [own.get("switches", _Thread.switches) for own in _overriding]
    caches.merge([_Thread.switches, *states])


_KEYS = ("key", "switches")


def _update_key(own: dict[str, Any] | None) -> bool:
    """Updates the key of one thread, or the global one; returns whether a switch changed."""
    values = (own or {}).get
    # 1 == True, but each parser returns values of one type, so equal keys mean the same.
    switches = caches.state(
        tuple(values(name, getattr(_Thread, name)) for name in traced_attributes),
        [_Thread.switches, *[o["switches"] for o in _overriding if "switches" in o]],
    )
    key = _interned((*switches, values("axes", ())))
    if own is None:
        changed = _Thread.switches is not switches
        _Thread.key, _Thread.switches = key, switches
    else:
        changed = own.get("switches", _Thread.switches) is not switches
        own["key"], own["switches"] = key, switches
    return changed


def _interned(key: tuple[object, ...]) -> tuple[Any, ...]:
    """One object for equal keys. After very many keys (axes with new names) it may be another
    object, and comparisons by identity miss once."""
    if len(_keys) > 4096:
        _keys.clear()
    return _keys.setdefault(key, key)


def set_axes(axes: tuple[tuple[Any, Any], ...] | None) -> None:
    """Puts these axes in scope in this thread (`None`: the global ones); see `scope.py`."""
    own = thread.__dict__
    with _lock:
        if axes is None:
            own.pop("axes", None)
        else:
            own["axes"] = axes
        switches = own["switches"] = own.get("switches", _Thread.switches)
        key = (*switches, axes or ())
        own["key"] = _interned(key)
        _register(own)
