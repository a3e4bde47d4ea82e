"""Errors as values: Error, an array that says which check failed, with the values for its message.

FailedCheckError, NaNError, DivisionByZeroError, OOBError and JaxRuntimeError are raised from it.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.aval import Aval
from ...tree_util import PyTreeDef, register_pytree_node

__all__ = [
    "DivisionByZeroError",
    "Error",
    "ErrorCategory",
    "FailedCheckError",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "all_checks",
    "automatic_checks",
    "div_checks",
    "float_checks",
    "index_checks",
    "nan_checks",
    "user_checks",
]


class JaxRuntimeError(ValueError):
    """A check failed: what `Error.throw` raises. Each kind of check has a subclass."""


class FailedCheckError(JaxRuntimeError):
    """The condition of a `check` was false."""


class NaNError(JaxRuntimeError):
    """An operation gave NaN."""


class OOBError(JaxRuntimeError):
    """An index was out of bounds: indexing would move it inside, fill in NaN, or drop it."""


class DivisionByZeroError(JaxRuntimeError):
    """Something was divided by zero."""


ErrorCategory = type[JaxRuntimeError]
"""A kind of check: the class of its errors."""

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


class Site(NamedTuple):
    """A place in a program that can fail.

    Attributes:
      kind: the exception.
      message: with fields in braces for the values.
      place: behind the message: the user's line.
      tree: of the values, a pair (positional ones, a dict of the others); None if there are none.
      slots: where in the payload each of them is.
    """

    kind: ErrorCategory
    message: str
    place: str
    tree: PyTreeDef | None = None
    slots: tuple[int, ...] = ()

    def exception(self, payload: Sequence[Any]) -> JaxRuntimeError:
        """The exception, with the values of the failed check."""
        text = self.message
        if self.tree is not None:
            args, kwargs = self.tree.unflatten([payload[i] for i in self.slots])
            text = text.format(*args, **kwargs)
        return self.kind(text + self.place)


class Layout:
    """The places of a program that can fail, and the payload that they share.

    One error at a time is kept, so that places use the same slots for values of the same type.
    """

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.slots: list[Aval] = []

    def place(self, avals: Iterable[Aval]) -> list[int]:
        """A slot for each value of a place; new ones where none is free."""
        used: list[int] = []
        for a in avals:
            a = a.strong()
            free = (i for i, s in enumerate(self.slots) if s is a and i not in used)
            number = next(free, len(self.slots))
            if number == len(self.slots):
                self.slots.append(a)
            used.append(number)
        return used

    def add(self, sites: Iterable[Site], slots: Iterable[Aval]) -> tuple[int, list[int]]:
        """Takes in the places of another program.

        Returns: what is to be added to its numbers of places, and the slot of each of its slots.
        """
        offset, mapping = len(self.sites), self.place(slots)
        for site in sites:
            self.sites.append(site._replace(slots=tuple([mapping[i] for i in site.slots])))
        return offset, mapping


class Error:
    """The first check of a function that failed, or none: a value, and a pytree.

    Under `vmap` it holds an error for each element.

    Example:
      >>> from weft.experimental import checkify
      >>> def f(x):
      ...     checkify.check(x > 0, "{x} must be positive", x=x)
      ...     return x
      >>> err, _ = checkify.checkify(f)(-1.0)
      >>> err.get().split(" (")[0], checkify.checkify(f)(1.0)[0].get()
      ('-1.0 must be positive', None)
    Source: JAX documentation, `jax.experimental.checkify.Error`.
    """

    __slots__ = ("code", "payload", "sites")

    def __init__(self, code: Any, payload: Sequence[Any], sites: tuple[Site, ...]) -> None:
        """
        Args:
          code: the number of the place that failed; -1 for none.
          payload: the values of its message, among others.
          sites: the places.
        """
        self.code, self.payload, self.sites = code, tuple(payload), sites

    def get(self) -> str | None:
        """The message; None if no check failed. Of several elements, a line for each."""
        failures = self.found()
        if np.ndim(self.code) == 0:
            return str(failures[0][1]) if failures else None
        return "\n".join([f"at mapped index {i}: {e}" for i, e in failures]) or None

    def get_exception(self) -> JaxRuntimeError | None:
        """The exception; None if no check failed."""
        failures = self.found()
        return type(failures[0][1])(self.get()) if failures else None

    def throw(self) -> None:
        """Raises the exception if a check failed.

        Raises: JaxRuntimeError: a ValueError; its subclass says which kind of check failed.
        """
        error = self.get_exception()
        if error is not None:
            raise error

    def found(self) -> list[tuple[str, JaxRuntimeError]]:
        """For each element that failed, its index and its exception."""
        code = np.asarray(self.code)
        payload = [np.asarray(x) for x in self.payload]
        return [
            (
                ", ".join(map(str, at)),
                self.sites[code[at]].exception([shown(x[at]) for x in payload]),
            )
            for at in itertools.product(*map(range, code.shape))
            if code[at] >= 0
        ]

    def __repr__(self) -> str:
        return f"Error({self.get() if isinstance(self.code, np.ndarray) else self.code})"


def shown(x: Any) -> Any:
    """A value for a message: a number as Python has it."""
    return x.item() if np.ndim(x) == 0 and x.dtype.kind in "biu" else x


register_pytree_node(
    Error,
    lambda error: ((error.code, error.payload), error.sites),
    lambda sites, children: Error(children[0], children[1], sites),
)
