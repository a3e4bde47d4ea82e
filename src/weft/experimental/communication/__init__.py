"""The communication between the devices of a program, read from compiled programs or predicted."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "costs": "Collective Link Network bytes_sent seconds table",
        "programs": "collectives",
        "transformers": "GPT2_SMALL Parameter Transformer predicted",
    },
)
