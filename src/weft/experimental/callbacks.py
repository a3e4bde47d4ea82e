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

    It is called each time the program reaches it, in program order, even if its result is unused.
    Under `vmap` it is called for each element, in order; under derivatives in the forward pass.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; returns arrays
        (NumPy's will do) of the declared types. It has no derivative; define one with custom_jvp or
        custom_vjp.
      result_shape_dtypes: the type of its result: a tree of objects with a shape and a dtype, such
        as `ShapeDtypeStruct`; None if it returns None.
      args, kwargs: arrays, scalars and containers of them.
      sharding: must be None: the call is made where the program runs.
      ordered: has no effect: all calls are made in program order.
    Returns: the callback's result, as weft's arrays.
    Raises: TypeError: the result isn't of the declared type. Exceptions of the callback are raised
      to the caller.
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
