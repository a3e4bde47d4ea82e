"""Namespaces of NumPy's functions. Knows no function."""

from types import ModuleType
from typing import Any

from .backends import current


class NumpyBackend(ModuleType):
    """NumPy's functions, each looked up on the backend in use when it is asked for.

    Example:
      >>> from weft.fastmath import numpy as np, use_backend
      >>> np.exp(np.zeros(2))
      Array([1., 1.], dtype=float32)
      >>> with use_backend("numpy"):
      ...     np.exp(np.zeros(2))
      array([1., 1.])
    Source: Trax documentation, `fastmath.ops.NumpyBackend`.
    """

    def __getattribute__(self, name: str) -> Any:
        if name[:2] == "__":  # Python asks for these
            return ModuleType.__getattribute__(self, name)
        return getattr(current.operations.np, name)

    def __dir__(self) -> list[str]:
        return dir(current.operations.np)
