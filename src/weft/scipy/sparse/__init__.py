"""Solvers of large linear systems, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from . import linalg

__all__ = [
    "linalg",
]

__getattr__, __dir__ = exports(
    __name__,
    {},
    modules=("linalg",),
)
