"""ensure_compile_time_eval: values that are known while a function is traced, computed then.

Knows traces; knows nothing of what they mean.
"""

from contextlib import ContextDecorator

from ..core.trace import Trace, current
from ..interpreters.known_first import KnownFirstTrace

__all__ = ["ensure_compile_time_eval"]


def ensure_compile_time_eval() -> ContextDecorator:
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
    return _KnownFirst()


class _KnownFirst(ContextDecorator):
    """The block: `core.trace.under` for a `with` statement of the user's, which can't be a call.

    Between its methods' beginning and what they do an interrupt may come, as for any context
    manager in Python; the transformation around it restores its own trace all the same.
    """

    def __init__(self) -> None:
        self._outside: list[Trace] = []

    def _recreate_cm(self) -> "_KnownFirst":  # ContextDecorator's hook: each call has its own
        return _KnownFirst()

    def __enter__(self) -> None:
        outside = current.trace
        self._outside.append(outside)
        if not outside.computes:
            current.trace = KnownFirstTrace(outside)

    def __exit__(self, *error: object) -> None:
        outside = self._outside.pop()
        current.trace = current.bottom if outside.computes else outside
