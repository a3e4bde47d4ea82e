"""The refs that a staged function uses: additional inputs and results of its program."""

import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..core.masks import active
from ..core.ref import Ref
from ..errors import ShapeError


class RefUse(NamedTuple):
    """The refs of a staged function, which is a program without refs.

    Attributes:
      outside: the refs that it closes over. The program has an input for each, its value, after
        those for the arguments.
      written: for each ref among the arguments, then for those in `outside`, whether the program
        replaces its value. The new values are results of the program after the other results.
    """

    outside: tuple[Ref, ...]
    written: tuple[bool, ...]

    def values(self, operation: str) -> list[Any]:
        """The inputs for the refs from outside, under the current trace."""
        return [ref.read(operation) for ref in self.outside]

    def assign(self, operation: str, arguments: Iterable[Ref], values: Sequence[Any]) -> None:
        """Assigns the new values of the refs that are written.

        Args:
          arguments: the refs among the arguments.
        """
        refs = active([*arguments, *self.outside], self.written)
        for ref, value in zip(refs, values, strict=True):
            ref.replace(operation, value)


NO_REFS = RefUse((), ())


class WeakRefUse:
    """A `RefUse` for a cache of programs; it does not keep the refs alive.

    Attributes:
      written: as in `RefUse`.
    """

    __slots__ = ("_outside", "written")

    def __init__(self, use: RefUse) -> None:
        self._outside = [weakref.ref(ref) for ref in use.outside]
        self.written = use.written

    @property
    def closes_over_refs(self) -> bool:
        """True if there are refs from outside."""
        return bool(self._outside)

    def alive(self) -> bool:
        """True if all refs from outside can be used."""
        refs = [r() for r in self._outside]
        return all([ref is not None and not ref.ended() for ref in refs])

    def strong(self, function: str, arguments: Iterable[Ref]) -> RefUse:
        """The refs of a call. Raises an error if an argument is also a ref from outside."""
        outside = tuple([ref for r in self._outside if (ref := r()) is not None])
        for ref in arguments:
            if any(ref is other for other in outside):
                raise ShapeError(
                    f"jit: {function} gets a Ref of {ref.aval} as an argument and uses it from "
                    "outside too\n  fix: use the argument, or leave it out of the arguments"
                )
        return RefUse(outside, self.written)
