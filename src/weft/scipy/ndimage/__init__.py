"""Images of any number of dimensions, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "interpolation": "map_coordinates",
    },
)
