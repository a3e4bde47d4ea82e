"""Rotations of space, with SciPy's names."""

from ....lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "rotation": "Rotation",
        "slerp": "Slerp",
    },
)
