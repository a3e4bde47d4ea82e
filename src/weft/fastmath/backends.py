"""The backends: their names, their tables of operations, and which one a thread uses.

Each backend has a module with a table, which is loaded when the backend is first used.
"""

import enum
import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import DerivativeError, WeftError
from ..user_lines import noted


class Backend(enum.Enum):
    """The libraries that `fastmath` computes with.

    Attributes:
      JAX: weft's own engine, `weft.numpy`: compiled by XLA.
      TFNP: TensorFlow, through `tensorflow.experimental.numpy`; needs `pip install 'weft[tf]'`.
      NUMPY: NumPy and SciPy: no compilation, no derivatives.
    Example:
      >>> from weft import fastmath
      >>> fastmath.Backend.NUMPY.value
      'numpy'
      >>> with fastmath.use_backend(fastmath.Backend.NUMPY):
      ...     fastmath.numpy.ones(2)
      array([1., 1.])
    """

    JAX = "jax"
    TFNP = "tensorflow-numpy"
    NUMPY = "numpy"


class UnavailableError(WeftError, AttributeError, KeyError):
    """The current backend does not have the operation. It is also an AttributeError and a KeyError.

    Example:
      >>> from weft import fastmath
      >>> with fastmath.use_backend("numpy"):
      ...     try:
      ...         fastmath.grad(lambda x: x)(1.0)
      ...     except fastmath.UnavailableError as error:
      ...         print(error)
      fastmath.grad: not available on the backend 'numpy': NumPy computes values, not derivatives
        fix: use_backend('jax') or use_backend('tensorflow-numpy')
    """

    __str__ = Exception.__str__  # KeyError.__str__ would put the message in quotation marks


NO_DERIVATIVES = "NumPy computes values, not derivatives"
GAPS: dict[Backend, dict[str, str]] = {
    Backend.JAX: {},
    Backend.TFNP: {},
    Backend.NUMPY: dict.fromkeys(("grad", "value_and_grad", "vjp"), NO_DERIVATIVES),
}
"""The operations that a backend does not have, with the reasons."""


class Operations(Mapping[str, Any]):
    """The operations of one backend, accessible as attributes and as items.

    Attributes:
      name: the value of the member of `Backend`.
      np: the namespace of NumPy's functions.
    """

    name: str
    np: Any

    def __init__(self, backend: Backend, np: Any, bindings: Mapping[str, Any]) -> None:
        self._bound = {"name": backend.value, "np": np, **bindings}
        vars(self).update(self._bound)

    def __getattr__(self, operation: str) -> Any:  # called only for names that are not in the table
        gaps = GAPS[Backend(vars(self)["name"])]
        if operation not in gaps:
            raise noted(UnavailableError(f"fastmath has no operation {operation!r}"))
        able = [repr(b.value) for b in Backend if operation not in GAPS[b]]
        raise noted(
            UnavailableError(
                f"fastmath.{operation}: not available on the backend {self.name!r}: "
                f"{gaps[operation]}"
                f"\n  fix: use_backend({') or use_backend('.join(able)})"
            )
        )

    def __getitem__(self, operation: str) -> Any:
        return self._bound[operation] if operation in self._bound else getattr(self, operation)

    def __contains__(self, operation: object) -> bool:
        return operation in self._bound

    def __iter__(self) -> Iterator[str]:
        return iter(self._bound)

    def __len__(self) -> int:
        return len(self._bound)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __repr__(self) -> str:
        return f"<operations of the backend {self.name!r}>"


TABLES = {
    Backend.JAX: ("jax", "JAX_BACKEND"),
    Backend.TFNP: ("tf", "TF_BACKEND"),
    Backend.NUMPY: ("host", "NUMPY_BACKEND"),
}
_loaded: dict[Backend, Operations] = {}


def operations(backend: Backend) -> Operations:
    """The table of a backend. The first call loads its module.

    Raises: ImportError: TensorFlow isn't installed.
    """
    operations = _loaded.get(backend)
    if operations is None:
        module, name = TABLES[backend]
        table = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        operations = _loaded.setdefault(backend, table)
    return operations


class Unused:
    """Stands for the table of the default backend, and loads it at the first use."""

    def __getattr__(self, operation: str) -> Any:
        return getattr(in_use(), operation)


class UnusedNames:
    """Stands for the default backend's namespace, and loads it at the first use."""

    def __getattr__(self, name: str) -> Any:
        return getattr(in_use().np, name)


class Current(threading.local):
    """The current thread's table and its namespace, which is stored for fast access. The attributes
    of the class are the process's; they apply to threads outside of `use_backend`."""

    operations: Any = Unused()
    np: Any = UnusedNames()
    recorder: str | None = (
        None  # the backend that is recording a derivative; it records only its own operations
    )


current = Current()
_lock = threading.RLock()


def in_use() -> Operations:
    """The table of the current backend; loads it if necessary."""
    if isinstance(current.operations, Unused):
        table = operations(Backend.JAX)
        with _lock:
            if isinstance(Current.operations, Unused):
                Current.operations, Current.np = table, table.np
    return current.operations


def is_chosen() -> bool:
    """True if `use_backend` or `set_backend` chose the backend of this thread."""
    return "operations" in vars(current) or _process.is_set


def named(name: str | Backend) -> Backend:
    """The backend with a name. Raises: ValueError: an unknown name."""
    try:
        return Backend(name)
    except ValueError:
        names = ", ".join(repr(b.value) for b in Backend)
        near = "\n  fix: did you mean 'tensorflow-numpy'?" if name in ("tf", "tensorflow") else ""
        raise noted(ValueError(f"No backend with name {name}: there are {names}{near}")) from None


class _Process:
    """Holds the process's backend, once `set_backend` chose one."""

    is_set = False


_process = _Process()


def set_backend(name: str | Backend | None) -> None:
    """Sets the backend of the process, for all threads outside of `use_backend`.

    Args:
      name: "jax", "tensorflow-numpy", "numpy" or a member of `Backend`; None or an empty string
        restores the default, "jax".
    Raises: ValueError: an unknown name. ImportError: TensorFlow isn't installed.
    Example:
      >>> from weft import fastmath
      >>> fastmath.set_backend("numpy")
      >>> fastmath.backend_name()
      'numpy'
      >>> fastmath.set_backend(None)
    Source: Trax documentation, `fastmath.ops.set_backend`.
    """
    table = operations(named(name) if name else Backend.JAX)
    with _lock:
        Current.operations, Current.np, _process.is_set = table, table.np, bool(name)


@contextmanager
def use_backend(name: str | Backend) -> Iterator[None]:
    """A context in which this thread uses another backend. Contexts can be nested.

    Args:
      name: "jax", "tensorflow-numpy", "numpy" or a member of `Backend`.
    Raises:
      ValueError: an unknown name.
      ImportError: TensorFlow isn't installed.
      DerivativeError: TensorFlow is differentiating the function that selects another backend.
    Example:
      >>> from weft import fastmath
      >>> from weft.fastmath import numpy as np
      >>> with fastmath.use_backend(fastmath.Backend.NUMPY):
      ...     type(np.ones(3))
      <class 'numpy.ndarray'>
    Source: Trax documentation, `fastmath.ops.use_backend`.
    """
    table = operations(named(name))
    if current.recorder is not None and table.name != current.recorder:
        raise noted(
            DerivativeError(
                f"use_backend({table.name!r}): inside a function that {current.recorder!r} is "
                "differentiating, where derivatives through another backend would be lost"
                "\n  fix: compute with the other backend before, and close over the result"
            )
        )
    before = vars(current).get("operations")
    current.operations, current.np = table, table.np
    try:
        yield
    finally:
        if before is None:
            del current.operations, current.np
        else:
            current.operations, current.np = before, before.np


def backend(name: str | Backend = "jax") -> Operations:
    """The operations of the current backend, by name: `backend()["logsumexp"]`,
    `backend()["name"]`.

    Args:
      name: the backend to use if neither `use_backend` nor `set_backend` chose one.
    Raises: ValueError: an unknown name.
    Example:
      >>> from weft import fastmath
      >>> fastmath.backend()["name"]
      'jax'
    Source: Trax documentation, `fastmath.ops.backend`.
    """
    return in_use() if is_chosen() else operations(named(name))


def backend_name() -> str:
    """The name of the current backend: "jax", "tensorflow-numpy" or "numpy".

    Example:
      >>> from weft import fastmath
      >>> with fastmath.use_backend("numpy"):
      ...     fastmath.backend_name()
      'numpy'
    Source: Trax documentation, `fastmath.ops.backend_name`.
    """
    return in_use().name


def is_backend(backend_: Backend) -> bool:
    """True if it is the current backend.

    Example:
      >>> from weft import fastmath
      >>> fastmath.is_backend(fastmath.Backend.JAX)
      True
    Source: Trax documentation, `fastmath.ops.is_backend`.
    """
    return in_use().name == named(backend_).value


def of_each_backend(function: Any, make: Callable[[Operations], Any]) -> Any:
    """A function that calls `make(operations)` of the backend that is current at each call.

    So a transformed function uses the backend of its caller; it is made once for each backend. For
    the current backend it is made at once, so that invalid options raise an error where they are
    passed.
    """
    now = in_use()
    functions = {now: make(now)}

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        table = current.operations
        transformed = functions.get(table)
        if transformed is None:
            table = in_use()
            transformed = functions.setdefault(table, make(table))
        return transformed(*args, **kwargs)

    return call
