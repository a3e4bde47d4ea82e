"""`weft.explain`: where a program spends time and memory, and what to change."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "explain": "explain explain_program",
        "findings": "Finding",
        "report": "Explanation",
    },
)
