"""`weft.explain`: where a program spends time and memory, and what to change. `replay` runs a call
that failed again."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "difference": "ProgramDifference diff",
        "explain": "explain explain_program",
        "findings": "Finding",
        "nan_trace": "NanTrace nan_trace",
        "precision_trace": "Loss PrecisionTrace precision_trace",
        "replay": "Replay replay",
        "report": "Explanation",
    },
)
