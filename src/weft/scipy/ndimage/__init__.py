"""Images of any number of dimensions, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .coordinates import map_coordinates

__all__ = [
    "map_coordinates",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "coordinates": ("map_coordinates",),
    },
)
