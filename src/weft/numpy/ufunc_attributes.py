"""The attributes that make a ufunc of a function: it stays a function, as fast to call as before.

Knows no ufunc by name; the methods themselves are those of the class `ufunc`.
"""

import functools
from collections.abc import Callable
from typing import Any, Protocol, cast

from ..core.array import Array
from ..core.value import Value
from ..lazy import Deferred
from ..typing import ArrayLike, DTypeLike

_ufuncs = Deferred("weft.numpy.ufuncs")


class UfuncMethods(Protocol):
    """The methods and attributes of a ufunc."""

    nin: int
    nout: int
    nargs: int
    identity: Any
    __name__: str
    __doc__: str | None

    def reduce(
        self,
        a: ArrayLike,
        axis: int | tuple[int, ...] | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Applied between the elements along axes."""

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The running results along an axis."""

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Applied between the elements of each of several pieces."""

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Applied to all pairs."""

    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """Applied to the elements at indices, one after the other."""


class BinaryUfunc(UfuncMethods, Protocol):
    """A ufunc of two operands."""

    def __call__(
        self, x1: ArrayLike | Value, x2: ArrayLike | Value, /, out: None = None, **options: Any
    ) -> Array: ...


class UnaryUfunc(UfuncMethods, Protocol):
    """A ufunc of one operand."""

    def __call__(self, x: ArrayLike | Value, /, out: None = None, **options: Any) -> Array: ...


METHODS = ("at", "reduce", "accumulate", "outer", "reduceat")


def of_one(function: Callable[..., Any]) -> UnaryUfunc:
    """A function of one operand, made a ufunc."""
    return cast(UnaryUfunc, _with_attributes(function, 1, None))


def of_two(function: Callable[..., Any], identity: Any = None) -> BinaryUfunc:
    """A function of two operands, made a ufunc.

    Args:
      identity: what changes nothing: the result for no elements; `None` if there isn't one.
    """
    return cast(BinaryUfunc, _with_attributes(function, 2, identity))


def _with_attributes(function: Any, nin: int, identity: Any) -> Any:
    function.nin, function.nout, function.nargs, function.identity = nin, 1, nin + 1, identity
    for name in METHODS:
        setattr(function, name, functools.partial(_method, name, function))
    return function


def _method(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of a ufunc, from the module that is loaded when one is called."""
    return getattr(_ufuncs.of_function(function), name)(*args, **kwargs)
