"""`pjit`: an older name for `jit` with shardings."""

from collections.abc import Callable
from typing import Any

from ..transforms.jit.function import jit

__all__ = ["pjit"]


def pjit(
    fun: Callable[..., Any],
    in_shardings: Any = None,
    out_shardings: Any = None,
    **options: Any,
) -> Any:
    """`jit` with the shardings as the second and third argument.

    Args:
      fun, in_shardings, out_shardings: as in `jit`.
      options: the other options of `jit`.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, PartitionSpec as P
      >>> with Mesh(weft.devices()[:1], "x"):
      ...     pjit(lambda x: x + 1, in_shardings=P("x"), out_shardings=P("x"))(weft.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    Source: the public documentation of `jax.experimental.pjit`.
    """
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, **options)
