"""The type of a jitted function, for type checkers: the user's signature, and the methods of `jit`.

At run time it is a function (`dispatch.py`), so methods of classes can be jitted.
"""

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from ..signatures import Undetermined
from .stages import Lowered, Traced

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
S = TypeVar("S")


class Wrapped(Protocol[P, R]):
    """A function that compiles itself: `jit(f)` for an `f` of parameters P and result R."""

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function that was passed."""

    @property
    def __name__(self) -> str:
        """Its name."""

    @overload
    def __call__(self: "Wrapped[..., Undetermined]", fun: Callable[Q, S], /) -> "Wrapped[Q, S]": ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def __get__(self, instance: None, owner: type) -> "Wrapped[P, R]": ...
    @overload
    def __get__(
        self: "Wrapped[Concatenate[Any, Q], R]", instance: object, owner: type | None = None
    ) -> "Callable[Q, R]": ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced program for arguments, or for stand-ins with a shape and a dtype."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program as StableHLO."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results, in their tree."""

    def clear_cache(self) -> None:
        """Forgets all traced and compiled programs of this function."""
