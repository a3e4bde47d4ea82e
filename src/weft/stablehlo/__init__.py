"""StableHLO as text."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "attributes": "element tensor",
        "block": "Block Module Operand",
    },
)
