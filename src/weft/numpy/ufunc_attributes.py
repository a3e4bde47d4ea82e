"""The attributes that turn a plain function into a ufunc: reduce, accumulate, outer, at, identity.

It remains a function, so that calls are fast; the methods come from the class `ufunc`.
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
        """Reduces axes by applying the function between elements."""

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The cumulative results along an axis."""

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Reduces each of several segments."""

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Applies the function to all pairs of elements."""

    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """Applies the function to the elements at indices, one after the other."""


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
    """Makes a ufunc from a function of one operand."""
    return cast(UnaryUfunc, _with_attributes(function, 1, None))


def of_two(function: Callable[..., Any], identity: Any = None) -> BinaryUfunc:
    """Makes a ufunc from a function of two operands.

    Args:
      identity: the result for zero elements; `None` if there is none.
    """
    return cast(BinaryUfunc, _with_attributes(function, 2, identity))


def _with_attributes(function: Any, nin: int, identity: Any) -> Any:
    function.nin, function.nout, function.nargs, function.identity = nin, 1, nin + 1, identity
    for name in METHODS:
        setattr(function, name, functools.partial(_method, name, function))
    return function


def _method(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a method of a ufunc; the first call loads the module `ufuncs`."""
    return getattr(_ufuncs.of_function(function), name)(*args, **kwargs)
