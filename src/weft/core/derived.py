"""Results derived from a program are kept on it, and die with it.

Knows nothing of programs but that they have a place for it.
"""

import functools
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
P = TypeVar("P", bound="Owner")

MOST_DERIVED = 1024  # results of one function that are kept on one program


class Owner(Protocol):
    """An object that keeps what is derived from it: by function, then by arguments."""

    derivations: dict[Any, dict[Any, Any]]


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
            return owner.derivations[self][args]  # type: ignore[no-any-return]
        except KeyError:
            pass
        result = self.__wrapped__(owner, *args)
        results = owner.derivations.get(self)
        if results is None:
            results = owner.derivations.setdefault(self, {})
        if len(results) >= self.limit:
            for oldest in list(results)[: self.limit // 2]:
                results.pop(oldest, None)
        return results.setdefault(args, result)  # type: ignore[no-any-return]

    def known(self, owner: P, *args: *Ts) -> T | None:
        """The result, if it has been computed already."""
        return owner.derivations.get(self, _NOTHING).get(args)


_NOTHING: dict[Any, Any] = {}


def derived(function: Callable[[P, *Ts], T]) -> Derivation[P, *Ts, T]:
    """Decorates a function of a program: its results are kept on the program."""
    return Derivation(function, MOST_DERIVED)
