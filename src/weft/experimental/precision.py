"""enable_x64 and disable_x64: 64-bit dtypes inside a block."""

from contextlib import ContextDecorator

from ..config import enable_x64 as switch

__all__ = ["disable_x64", "enable_x64"]


def enable_x64(new_val: bool = True) -> ContextDecorator:
    """A block (or decorated function) in which 64-bit types are on, in this thread.

    Args:
      new_val: False turns them off.
    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental import enable_x64
      >>> with enable_x64():
      ...     np.arange(2.0).dtype.name
      'float64'
    Source: JAX documentation, `jax.experimental.enable_x64`.
    """
    return switch(new_val)


def disable_x64() -> ContextDecorator:
    """A block (or decorated function) in which 64-bit types are off, in this thread.

    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental import disable_x64, enable_x64
      >>> with enable_x64(), disable_x64():
      ...     np.arange(2.0).dtype.name
      'float32'
    Source: JAX documentation, `jax.experimental.disable_x64`.
    """
    return switch(False)
