"""The steps of a compilation, which `jit(f)`, `.trace()`, `.lower()` and `.compile()` return:
Wrapped, Traced, Lowered, Compiled; OutInfo and ArgInfo describe their arguments and results."""

from typing import Any, Protocol, runtime_checkable

from .transforms.jit.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "OutInfo", "Traced", "Wrapped"]


@runtime_checkable
class Wrapped(Protocol):
    """A function that is ready to be traced, lowered and compiled, as `jit` returns it.

    Example:
      >>> import weft
      >>> isinstance(weft.jit(lambda x: x + 1), weft.stages.Wrapped)
      True
      >>> isinstance(lambda x: x + 1, weft.stages.Wrapped)
      False
    Source: JAX documentation, `jax.stages.Wrapped`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced for these arguments; arrays, or objects with a shape and a dtype."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function as StableHLO for these arguments."""


@runtime_checkable
class OutInfo(Protocol):
    """The shape and the dtype of a result: a leaf of the `out_info` of every step.

    Source: JAX documentation, `jax.stages.OutInfo`.
    """

    shape: tuple[int, ...]
    dtype: Any
