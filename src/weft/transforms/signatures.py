"""Types of transformed functions, for type checkers: parameters and result are the user's.

`Transformed` is the type of `checkpoint(f)` and the like. `Wrapped`, the type of `jit(f)`, has its
methods too.

A transformation with options is used in three ways: `@jit`, `@jit(static_argnums=0)` and
`@functools.partial(jit, static_argnums=0)`. One signature serves all three, and not one overload
for each: mypy gives up on `functools.partial` of overloads. Where no function is given, nothing
determines the result's type `R`, which is then `Undetermined`, its default: such an object is
called with a function with any parameters.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, overload

from .jit.stages import Lowered, Traced

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults, as `typing` has it since Python 3.13

    from ..compiler.memory import MemoryPlan
else:
    from typing import TypeVar


class Undetermined:
    """In the place of a result's type: no function was given yet, only options."""


P = ParamSpec("P")
Q = ParamSpec("Q")
S = TypeVar("S")
T = TypeVar("T", covariant=True)

if TYPE_CHECKING:
    R = TypeVar("R", default=Undetermined)
else:
    R = TypeVar("R")


class Transformed(Protocol[P, T]):
    """A function of parameters P and result T, and as a method one without `self`."""

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
    """A function that compiles itself: `jit(f)` for an `f` of parameters P and result T.

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
        """Forgets all traced and compiled programs of this function."""
