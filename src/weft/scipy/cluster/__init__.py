"""Clusters, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from . import vq

__all__ = [
    "vq",
]

__getattr__, __dir__ = exports(
    __name__,
    {},
    modules=("vq",),
)
