"""Registers the native functions that programs call by name.

XLA must have them before a program is compiled or loaded: LAPACK's are registered when a program
first mentions one, the user's when `register_target` is called.
"""

import functools
import threading

from . import versions

LAPACK = "lapack_"
"""The prefix of the names of LAPACK's functions."""

_registered: dict[str, object] = {}  # the user's functions, to which XLA keeps references
_lock = threading.RLock()


def register_target(name: str, handlers: object) -> None:
    """Registers a user's function; the same one again is ignored.

    Args:
      handlers: a PyCapsule, or a dict of them by stage.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register_ffi_target: name must be a string; got {name!r}")
    with _lock:
        existing = _registered.get(name)
        if existing is not None:
            if existing is handlers or existing == handlers:
                return
            raise ValueError(
                f"register_ffi_target: the name {name!r} already belongs to another function"
            )
        try:
            versions.load().register_handler(name, handlers)
        except (RuntimeError, TypeError) as error:
            raise TypeError(
                f"register_ffi_target: {name!r}: expected a PyCapsule of an XLA FFI handler; got "
                f"{type(handlers).__name__} ({error})"
            ) from None
        _registered[name] = handlers


def is_registered(name: str) -> bool:
    """True if programs on the CPU can call a function of this name."""
    return name in _registered or (name.startswith("lapack_") and name in _lapack())


def register_mentioned(program: str | bytes) -> None:
    """Registers the functions of LAPACK that `program` (a text, or machine code) refers to."""
    if isinstance(program, bytes):
        mentioned = b"lapack_" in program
    else:
        mentioned = "@lapack_" in program or '"lapack_' in program
    if mentioned:
        _register_lapack()


@functools.cache
def _lapack() -> dict[str, object]:
    """jaxlib's LAPACK kernels. The first call is slow, because it imports scipy.linalg."""
    return versions.lapack_kernels()


@functools.cache
def _register_lapack() -> None:
    for target, handlers in _lapack().items():
        versions.load().register_handler(target, handlers)
