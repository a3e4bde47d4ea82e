"""Types of transformed functions for type checkers, with the parameters and result of the user's
function.

`Transformed` is the type of `checkpoint(f)` and the like. `Wrapped`, the type of `jit(f)`, has its
methods too.

A transformation with options is used in three ways: `@jit`, `@jit(static_argnums=0)` and
`@functools.partial(jit, static_argnums=0)`. One signature serves all three instead of an overload
for each, because mypy does not support `functools.partial` of overloads. Without a function, the
type `R` of the result is its default, `Undetermined`: such an object is called with a function that
has any parameters.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, overload

from .jit.stages import Lowered, Traced

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults, as in `typing` since Python 3.13

    from ..compiler.memory import MemoryPlan
else:
    from typing import TypeVar


class Undetermined:
    """The result type when options but no function have been passed."""


P = ParamSpec("P")
Q = ParamSpec("Q")
S = TypeVar("S")
T = TypeVar("T", covariant=True)

if TYPE_CHECKING:
    R = TypeVar("R", default=Undetermined)
else:
    R = TypeVar("R")


class Transformed(Protocol[P, T]):
    """A function with parameters P and result T; as a method, it has no `self`."""

    @overload
    def __call__(
        self: "Transformed[..., Undetermined]", fun: Callable[Q, S], /
    ) -> "Transformed[Q, S]": ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    def __get__(self, instance: None, owner: type) -> "Transformed[P, T]": ...
    @overload
    def __get__(
        self: "Transformed[Concatenate[Any, Q], T]", instance: object, owner: type | None = None
    ) -> "Callable[Q, T]": ...


class Wrapped(Protocol[P, T]):
    """The type of `jit(f)`, for an `f` with parameters P and result T.

    At run time it is a function (`jit/dispatch.py`), so methods of classes can be jitted.
    """

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function that was passed."""

    @property
    def __name__(self) -> str:
        """Its name."""

    @overload
    def __call__(self: "Wrapped[..., Undetermined]", fun: Callable[Q, S], /) -> "Wrapped[Q, S]": ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    def __get__(self, instance: None, owner: type) -> "Wrapped[P, T]": ...
    @overload
    def __get__(
        self: "Wrapped[Concatenate[Any, Q], T]", instance: object, owner: type | None = None
    ) -> "Callable[Q, T]": ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced program for arguments, or for stand-ins with a shape and a dtype."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program as StableHLO."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results, in their tree."""

    def memory(self, *args: Any, **kwargs: Any) -> "MemoryPlan":
        """The memory that a call needs, without running it: the peak, and the largest buffers by
        line."""

    def clear_cache(self) -> None:
        """Drops all traced and compiled programs of this function."""
