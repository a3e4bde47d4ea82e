"""Registers the native functions that a program calls by name, when a program first mentions them.

They must be known to XLA before the program is compiled or loaded.
"""

import functools

from . import versions


def register_mentioned(program: str | bytes) -> None:
    """Registers what `program` (a text, or a serialized executable) refers to."""
    if (b"lapack_" if isinstance(program, bytes) else "@lapack_") in program:  # type: ignore[operator]
        _register_lapack()


@functools.cache
def _register_lapack() -> None:
    """jaxlib's LAPACK kernels. Takes 0.4 s, because it imports scipy.linalg."""
    for target, handlers in versions.lapack_kernels().items():
        versions.load().register_handler(target, handlers)
