"""Rotations of space, with SciPy's names."""

from typing import TYPE_CHECKING

from ....lazy import exports

if TYPE_CHECKING:
    from .rotations import Rotation
    from .slerp import Slerp

__all__ = [
    "Rotation",
    "Slerp",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "rotations": ("Rotation",),
        "slerp": ("Slerp",),
    },
)
