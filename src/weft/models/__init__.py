"""Models, assembled from the layers of `weft.layers`: uninitialised layers, as functions make them.

Source: Trax documentation, `trax.models`.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "mlp": "MLP",
        "reformer.language_models": "ReformerLM ReformerShortenLM",
        "reformer.reformer": "Reformer",
        "resnet": "Resnet50 WideResnet",
        "transformer": "Transformer TransformerDecoder TransformerEncoder TransformerLM",
    },
    modules="mlp reformer research resnet transformer",
)
