"""Cosine and Fourier transforms, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .cosines import dct, dctn, idct, idctn
    from .sines import dst, dstn, idst, idstn

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "idct",
    "idctn",
    "idst",
    "idstn",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "cosines": (
            "dct",
            "dctn",
            "idct",
            "idctn",
        ),
        "sines": (
            "dst",
            "dstn",
            "idst",
            "idstn",
        ),
    },
)
