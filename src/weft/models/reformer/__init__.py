"""Reformers: models of reversible blocks."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "blocks": "DecoderBlock EncoderBlock EncoderDecoderBlock",
        "language_models": "ReformerLM ReformerShortenLM",
        "reformer": "Reformer",
    },
    modules="reformer",
)
