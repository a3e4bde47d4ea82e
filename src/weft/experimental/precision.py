"""enable_x64 and disable_x64: 64-bit dtypes inside a block."""

from contextlib import ContextDecorator

from ..config import enable_x64 as switch

__all__ = ["disable_x64", "enable_x64"]


def enable_x64(new_val: bool = True) -> ContextDecorator:
    """A context manager or decorator that enables 64-bit dtypes in this thread.

    Args:
      new_val: False disables them.
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
    """A context manager or decorator that disables 64-bit dtypes in this thread.

    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental import disable_x64, enable_x64
      >>> with enable_x64(), disable_x64():
      ...     np.arange(2.0).dtype.name
      'float32'
    Source: JAX documentation, `jax.experimental.disable_x64`.
    """
    return switch(False)
