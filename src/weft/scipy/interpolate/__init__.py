"""Interpolation between samples, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .grids import RegularGridInterpolator

__all__ = [
    "RegularGridInterpolator",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "grids": ("RegularGridInterpolator",),
    },
)
