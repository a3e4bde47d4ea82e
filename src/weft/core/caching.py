"""Caches: bounded dicts, and results that are kept on the program from which they were derived."""

import functools
from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

import numpy as np

from ..config import thread
from ..switch_state import SwitchState

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
P = TypeVar("P", bound="Owner")

MAX_ENTRIES = 4096


# --- bounded dicts: plain dicts, with one function that puts entries into them ---


def remember(cache: dict[K, V], key: K, value: V, limit: int = MAX_ENTRIES) -> V:
    """Puts an entry into a bounded cache and returns it; a full cache is emptied first.

    If several threads add an entry for one key, all of them get the first one, so it is compiled
    once.
    """
    if len(cache) >= limit:
        cache.clear()
    return cache.setdefault(key, value)


def remember_under(state: SwitchState, number: int, key: Hashable, value: V) -> V:
    """Puts an entry into a cache of `state`, the switches under which it was made.

    The entry is not stored if another thread has changed a switch for all threads meanwhile.
    """
    if thread.switches is not state:
        return value
    cache: dict[Hashable, V] = state.caches[number]
    return remember(cache, key, value)


def exact(value: Any) -> Any:
    """A user's value as part of a key; keys are equal only if their values mean the same.

    1, 1.0 and True are equal in Python, and so are 0.0 and -0.0; their keys differ, inside tuples
    and frozen sets too. Other objects are equal if they have the same class and compare equal.
    """
    kind = value.__class__
    if kind is int or kind is str or value is None:
        return value
    if kind is tuple:
        return tuple([exact(x) for x in value])
    if kind is frozenset:
        return kind, frozenset([exact(x) for x in value])
    if kind is float or kind is complex or isinstance(value, np.inexact):
        return kind, repr(value)  # distinguishes 0.0 from -0.0, and is equal for equal NaNs
    if isinstance(value, tuple):
        return kind, *[exact(x) for x in value]
    return kind, value


class ExactParams(tuple[tuple[str, Any], ...]):
    """Parameters of an operation that are compared by `exact`: 2 and 2.0 differ."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactParams) and exact(tuple(self)) == exact(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(exact(tuple(self)))


# --- results derived from a program ---

MAX_CACHED_RESULTS = 1024  # results of one function kept on one program


class Owner(Protocol):
    """An object that keeps results derived from it: by function, then by arguments."""

    cached_results: dict[Any, dict[Any, Any]]


def latest(programs: Iterable[Any]) -> Any:
    """The most recent of several programs. It keeps results of all of them, since it rarely
    outlives the others."""
    return max(programs, key=_number_of)


_number_of = attrgetter("number")


class CachedOnProgram(Generic[P, *Ts, T]):
    """A function of a program and of hashable arguments, computed once for each of them.

    If several threads compute the same result, all of them return the first one, so it is compiled
    once. No lock is held meanwhile, because users' rules are traced here and may wait for other
    threads. The oldest results are dropped if there are too many.
    """

    __wrapped__: Callable[[P, *Ts], T]

    def __init__(self, function: Callable[[P, *Ts], T], limit: int) -> None:
        functools.update_wrapper(self, function)
        self.limit = limit

    def __call__(self, owner: P, *args: *Ts) -> T:
        """The result for a program and arguments."""
        try:
            return owner.cached_results[self][args]
        except KeyError:
            pass
        result = self.__wrapped__(owner, *args)
        results = owner.cached_results.get(self)
        if results is None:
            results = owner.cached_results.setdefault(self, {})
        if len(results) >= self.limit:
            for oldest in list(results)[: self.limit // 2]:
                results.pop(oldest, None)
        return results.setdefault(args, result)

    def known(self, owner: P, *args: *Ts) -> T | None:
        """The cached result, or `None`."""
        return owner.cached_results.get(self, _NOTHING).get(args)


_NOTHING: dict[Any, Any] = {}


def cached_on_program(function: Callable[[P, *Ts], T]) -> CachedOnProgram[P, *Ts, T]:
    """Decorates a function of a program: its results are kept on the program."""
    return CachedOnProgram(function, MAX_CACHED_RESULTS)
