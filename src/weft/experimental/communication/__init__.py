"""The communication between the devices of a program, read from compiled programs or predicted."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .costs import Collective, Link, Network, bytes_sent, seconds, table
    from .programs import collectives
    from .transformers import GPT2_SMALL, Parameter, Transformer, predicted

__all__ = [
    "GPT2_SMALL",
    "Collective",
    "Link",
    "Network",
    "Parameter",
    "Transformer",
    "bytes_sent",
    "collectives",
    "predicted",
    "seconds",
    "table",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "costs": ("Collective", "Link", "Network", "bytes_sent", "seconds", "table"),
        "programs": ("collectives",),
        "transformers": ("GPT2_SMALL", "Parameter", "Transformer", "predicted"),
    },
)
