"""Integrals of samples, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .sampled import cumulative_trapezoid, simpson, trapezoid

__all__ = [
    "cumulative_trapezoid",
    "simpson",
    "trapezoid",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "sampled": (
            "cumulative_trapezoid",
            "simpson",
            "trapezoid",
        ),
    },
)
