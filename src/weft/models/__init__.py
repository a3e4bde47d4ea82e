"""Models, assembled from the layers of `weft.layers`: uninitialised layers, as functions make them.

Source: Trax documentation, `trax.models`.
"""

from . import mlp, reformer, research, resnet, transformer
from .mlp import MLP
from .reformer.reformer import ReformerLM
from .resnet import Resnet50, WideResnet
from .transformer import Transformer, TransformerDecoder, TransformerEncoder, TransformerLM

__all__ = [
    "MLP",
    "ReformerLM",
    "Resnet50",
    "Transformer",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerLM",
    "WideResnet",
    "mlp",
    "reformer",
    "research",
    "resnet",
    "transformer",
]
