"""Python functions with effects that give something back: io_callback."""

from collections.abc import Callable
from typing import Any

from ..core.source import located
from ..primitives.callbacks import io_callback as primitive
from ..transforms.callbacks import call

__all__ = ["io_callback"]


@located
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function that has effects: reads, writes, counts.

    It is called once each time that the program comes to it, whether its result is needed or not,
    in the order of the program. Under `vmap` it is called for each element, in order; under
    derivatives in the forward pass.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; gives arrays (NumPy's
        will do) as announced. Its derivative isn't known: state it by custom_jvp or custom_vjp.
      result_shape_dtypes: what it gives: a tree of objects with a shape and a dtype, such as
        `ShapeDtypeStruct`; None if it gives None.
      args, kwargs: arrays, scalars and containers of them.
      sharding: must be None: the call is made where the program runs.
      ordered: has no effect: all calls come in the order of the program.
    Returns: what the callback gives, as weft's arrays.
    Raises: TypeError: the callback gives something else than announced. Exceptions in the callback
      come out as they are.
    Example:
      >>> import numpy, weft
      >>> rng = numpy.random.default_rng(0)
      >>> def draw(scale):
      ...     return scale * rng.integers(10, size=2, dtype=numpy.int32)
      >>> two = weft.ShapeDtypeStruct((2,), "int32")
      >>> f = weft.jit(lambda s: weft.experimental.io_callback(draw, two, s))
      >>> f(1), f(10)
      (Array([8, 6], dtype=int32), Array([50, 20], dtype=int32))
    Source: JAX's documentation, `jax.experimental.io_callback`.
    """
    return call("io_callback", primitive, callback, result_shape_dtypes, args, kwargs, sharding)
