"""Interpolation between samples, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "regular_grid": "RegularGridInterpolator",
    },
)
