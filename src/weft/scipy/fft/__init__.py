"""Cosine and Fourier transforms, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "dct": "dct dctn idct idctn",
        "dst": "dst dstn idst idstn",
    },
)
