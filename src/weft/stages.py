"""The stages of a compilation, which `jit(f)`, `.trace()`, `.lower()` and `.compile()` return:
Wrapped, Traced, Lowered, Compiled; OutInfo and ArgInfo describe their arguments and results.

Example:
  >>> import weft, weft.numpy as np
  >>> traced = weft.jit(lambda x: np.sum(x * x)).trace(np.ones(3))
  >>> traced.jaxpr
  { lambda ; a:f32[3]. let
      b:f32[3] = mul a a
      c:f32[] = reduce_sum[axes=(0,)] b
    in (c,) }
  >>> compiled = traced.lower().compile()
  >>> compiled(np.arange(3.0))
  Array(5., dtype=float32)
"""

from typing import Any, Protocol, runtime_checkable

from .transforms.jit.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "OutInfo", "Traced", "Wrapped"]


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced, lowered and compiled, as `jit` returns it.

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
    """The shape and the dtype of a result: a leaf of the `out_info` of every stage.

    Example:
      >>> import weft
      >>> traced = weft.jit(lambda x: x > 0).trace(weft.numpy.ones(3))
      >>> traced.out_info.shape, traced.out_info.dtype
      ((3,), dtype('bool'))
    Source: JAX documentation, `jax.stages.OutInfo`.
    """

    shape: tuple[int, ...]
    dtype: Any
