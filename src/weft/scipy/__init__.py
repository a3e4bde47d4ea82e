"""SciPy's names, for weft's arrays."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {},
    modules="""
        cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial special
        stats
    """,
)
