"""ensure_compile_time_eval: values that are known while a function is traced, computed then.

Knows traces; knows nothing of what they mean.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ..core.trace import current, is_bottom
from ..interpreters.known_first import KnownFirstTrace

__all__ = ["ensure_compile_time_eval"]


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Has operations on known values done at once, even while a function is traced.

    Under `jit` every operation is written down, on known values too, so that their results have no
    elements while tracing. Within this block, what is computed from arrays, scalars and shapes
    alone is computed at once, and Python can look at it. Operations on traced values are written
    down as ever. Outside of transformations the block changes nothing. It can be a decorator too.

    Raises (within the block): ConcretizationTypeError: Python looks at a value that is traced.
    Example:
      >>> import weft
      >>> import weft.numpy as np
      >>> @weft.jit
      ... def spread(x):
      ...     with weft.ensure_compile_time_eval():
      ...         table = np.cumsum(np.arange(4))
      ...         steps = int(table[-1])      # a number: it decides how the program looks
      ...     return x * np.ones(steps)
      >>> spread(2.0).shape
      (6,)
    Source: the interface document of JAX, `jax.ensure_compile_time_eval`.
    """
    outside = current.trace
    if not is_bottom(outside):
        current.trace = KnownFirstTrace(outside)
    try:
        yield
    finally:
        current.trace = outside
