"""Bounded caches: plain dicts, with one function that puts entries into them. Knows no keys."""

from collections.abc import Hashable
from typing import TypeVar

from ..config import caches
from ..switch_state import SwitchState

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_ENTRIES = 4096


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
    if caches.here() is not state:
        return value
    cache: dict[Hashable, V] = state.caches[number]
    return remember(cache, key, value)
