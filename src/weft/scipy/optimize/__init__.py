"""Minimisation and its results, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .minimisation import OptimizeResults, minimize

__all__ = [
    "OptimizeResults",
    "minimize",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "minimisation": (
            "OptimizeResults",
            "minimize",
        ),
    },
)
