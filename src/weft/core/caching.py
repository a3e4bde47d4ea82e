"""Caches: bounded dicts, and what is derived of a program, which is kept on it and dies with it.

Knows no keys, and nothing of programs but that they have a place for it.
"""

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

MOST_ENTRIES = 4096


# --- bounded dicts: plain dicts, with one function that puts entries into them ---


def remember(cache: dict[K, V], key: K, value: V, limit: int = MOST_ENTRIES) -> V:
    """Puts an entry into a bounded cache and returns it; a full cache starts afresh.

    Of threads that come with one for the same key, all get the first one's: what is compiled for it
    is compiled once.
    """
    if len(cache) >= limit:
        cache.clear()
    return cache.setdefault(key, value)


def remember_under(state: SwitchState, number: int, key: Hashable, value: V) -> V:
    """Puts an entry into a cache of `state`, the switches under which its making began.

    Not if another thread has turned a switch for all of them since: then it is of no one state.
    """
    if thread.switches is not state:
        return value
    cache: dict[Hashable, V] = state.caches[number]
    return remember(cache, key, value)


def exact(value: Any) -> Any:
    """A user's value as a part of a key: equal to another only if both mean the same.

    1, 1.0 and True are equal in Python, and so are 0.0 and -0.0: here they differ, inside tuples
    and frozen sets too. Other objects are equal if they are of one class and say so.
    """
    kind = value.__class__
    if kind is int or kind is str or value is None:
        return value
    if kind is tuple:
        return tuple([exact(x) for x in value])
    if kind is frozenset:
        return kind, frozenset([exact(x) for x in value])
    if kind is float or kind is complex or isinstance(value, np.inexact):
        return kind, repr(value)  # tells the signs of zeros, and finds a NaN again
    if isinstance(value, tuple):
        return kind, *[exact(x) for x in value]
    return kind, value


# --- what is derived of a program ---

MOST_DERIVED = 1024  # results of one function that are kept on one program


class Owner(Protocol):
    """An object that keeps what is derived from it: by function, then by arguments."""

    derivations: dict[Any, dict[Any, Any]]


def latest(programs: Iterable[Any]) -> Any:
    """The program that was made last: it will hardly live longer than the others. So what is
    derived of several programs is kept on it."""
    return max(programs, key=_number_of)


_number_of = attrgetter("number")


class Derivation(Generic[P, *Ts, T]):
    """A function of a program (and of hashable arguments) that is computed once for each of them.

    Threads may compute the same at one time: all of them return the result that was there first, so
    that it is compiled once. No lock is held meanwhile: users' rules are traced here, and may wait
    for other threads. Of too many results the oldest are forgotten.
    """

    __wrapped__: Callable[[P, *Ts], T]

    def __init__(self, function: Callable[[P, *Ts], T], limit: int) -> None:
        functools.update_wrapper(self, function)
        self.limit = limit

    def __call__(self, owner: P, *args: *Ts) -> T:
        """The result for a program and arguments."""
        try:
            return owner.derivations[self][args]
        except KeyError:
            pass
        result = self.__wrapped__(owner, *args)
        results = owner.derivations.get(self)
        if results is None:
            results = owner.derivations.setdefault(self, {})
        if len(results) >= self.limit:
            for oldest in list(results)[: self.limit // 2]:
                results.pop(oldest, None)
        return results.setdefault(args, result)

    def known(self, owner: P, *args: *Ts) -> T | None:
        """The result, if it has been computed already."""
        return owner.derivations.get(self, _NOTHING).get(args)


_NOTHING: dict[Any, Any] = {}


def derived(function: Callable[[P, *Ts], T]) -> Derivation[P, *Ts, T]:
    """Decorates a function of a program: its results are kept on the program."""
    return Derivation(function, MOST_DERIVED)
