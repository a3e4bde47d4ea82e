"""Taylor mode: derivatives of high order along a path, without nesting first derivatives."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "transformation": "jet zero_series",
    },
)
