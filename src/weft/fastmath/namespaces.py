"""Namespaces of NumPy's functions on the current backend."""

import difflib
from collections.abc import Mapping
from typing import Any

from ..user_lines import noted
from .backends import Backend, UnavailableError, current, operations


class NumpyBackend:
    """NumPy's functions, looked up on the current backend.

    Example:
      >>> from weft.fastmath import numpy as np, use_backend
      >>> np.exp(np.zeros(2))
      Array([1., 1.], dtype=float32)
      >>> with use_backend("numpy"):
      ...     np.exp(np.zeros(2))
      array([1., 1.])
    Source: Trax documentation, `fastmath.ops.NumpyBackend`.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(current.np, name)

    def __dir__(self) -> list[str]:
        return dir(current.np)


numpy = NumpyBackend()


class Names:
    """The functions of a backend by NumPy's names.

    Args:
      backend: the backend.
      library: the module that has most of the functions.
      others: functions that the module lacks, or that differ.
    """

    def __init__(self, backend: Backend, library: Any, others: Mapping[str, Any]) -> None:
        self._backend, self._library = backend, library
        vars(self).update(others)

    def __getattr__(self, name: str) -> Any:  # of each name once
        if name.startswith("__") or not hasattr(self._library, name):
            raise noted(self._absent(name))
        value = getattr(self._library, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        own = [name for name in vars(self) if not name.startswith("_")]
        return sorted({*dir(self._library), *own})

    def _absent(self, name: str) -> AttributeError:
        message = f"fastmath.numpy.{name}: not available on the backend {self._backend.value!r}"
        others = [b.value for b in Backend if b is not self._backend and has_name(b, name)]
        if others:
            return UnavailableError(f"{message}\n  fix: use_backend({others[0]!r})")
        if near := difflib.get_close_matches(name, [n for n in dir(self) if n[0] != "_"], 1):
            return UnavailableError(f"{message}\n  fix: did you mean {near[0]}?")
        return UnavailableError(message)


def has_name(backend: Backend, name: str) -> bool:
    """True if a backend has one of NumPy's names; this does not load TensorFlow."""
    return backend is not Backend.TFNP and hasattr(operations(backend).np, name)
