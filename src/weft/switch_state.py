"""The values of the switches in each thread, and the states that these can be in. A state owns the
caches of what depends on switches.

Knows no switch, and nothing of what is cached: `config.py` declares the switches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

MOST_STATES = 64


class SwitchState(tuple[Any, ...]):
    """The values of all switches that change programs. Equal ones are one object, so that a state
    is compared and hashed as an object: it is a part of many keys.

    Attributes:
      caches: what was found under these values: by the number of a cache, then by its keys.
    """

    caches: list[dict[Any, Any]]

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class OfThread(dict[Any, Any]):
    """Stands for a cache while threads are in several states: it looks in that of the thread."""

    def __init__(self, number: int, here: Callable[[], SwitchState]) -> None:
        super().__init__()
        self.number, self.here = number, here

    def __missing__(self, key: object) -> Any:
        return self.here().caches[self.number][key]


class Caches:
    """The caches of what depends on switches; each has a number: `caches.now[number][key]`.

    A thread in a `with` block that sets a switch is in another state than the others, and neither
    sees their entries nor empties their caches. But a look-up must not ask for the thread's state,
    which would cost more than the look-up. So `now` is the list of the global state while no thread
    is in another, nearly always; else it is a list of stand-ins that do ask, which takes 0.2 µs.

    Entries are put into `here().caches[number]`, the state's own.
    """

    __slots__ = ("_lock", "_of_thread", "_states", "here", "now")

    def __init__(self, here: Callable[[], SwitchState]) -> None:
        self.here = here  # the state of this thread
        self._lock = threading.RLock()
        self._states: dict[tuple[Any, ...], SwitchState] = {}
        self._of_thread: list[dict[Any, Any]] = []
        self.now: list[dict[Any, Any]] = self._of_thread

    def add(self) -> int:
        """The number of a new cache."""
        with self._lock:
            number = len(self._of_thread)
            for state in self._states.values():
                state.caches.append({})
            self._of_thread.append(OfThread(number, self.here))
            return number

    def state(self, values: tuple[object, ...], used: Iterable[SwitchState]) -> SwitchState:
        """The one state of these values. Of very many, only those that are `used` are kept."""
        with self._lock:
            found = self._states.get(values)
            if found is None:
                if len(self._states) >= MOST_STATES:
                    self._states = {tuple(s): s for s in used}
                found = SwitchState(values)
                found.caches = [{} for _ in self._of_thread]
                self._states[values] = found
            return found

    def divide(self) -> None:
        """From now on, threads may be in several states."""
        self.now = self._of_thread

    def unite(self, states: Iterable[SwitchState]) -> None:
        """Threads are in these states."""
        first, *rest = states
        self.now = self._of_thread if any(s is not first for s in rest) else first.caches


class _Thread(threading.local):
    """The values in effect in the current thread.

    Class attributes are the global values; a thread inside a `with` block has instance attributes
    over them, which is all that there is to inheritance. So a global update is seen by all threads
    at once, except where they override that switch. `key` depends on all of them: see `_rekey`.
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
    """After a change of a thread's attributes: notes in `_overriding` if it overrides any."""
    overrides = any(name not in _KEYS for name in own)
    known = any(each is own for each in _overriding)
    if overrides and not known:
        _overriding.append(own)
    elif known and not overrides:
        _overriding[:] = [each for each in _overriding if each is not own]
    if not overrides:
        for name in _KEYS:
            own.pop(name, None)


def _unite() -> None:
    """Tells the caches which states of the switches threads are in now.

    The global state is always among them: a thread that begins later is in it.
    """
    states = [own.get("switches", _Thread.switches) for own in _overriding]
    caches.unite([_Thread.switches, *states])


_KEYS = ("key", "switches")


def _rekey(own: dict[str, Any] | None) -> bool:
    """Renews the key of one thread, or the global one; tells whether a switch in it changed."""
    values = (own or {}).get
    # 1 == True, but every parser returns values of one type: equal keys are the same keys.
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
    """The one object for equal keys; after very many of them (axes with ever new names) another,
    which costs those who compare by identity a look-up."""
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
