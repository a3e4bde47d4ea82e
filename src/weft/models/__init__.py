"""Models, assembled from the layers of `weft.layers`: uninitialised layers, as functions make them.

Source: Trax documentation, `trax.models`.
"""

from . import mlp, reformer, research, resnet, transformer
from .mlp import MLP
from .reformer.language_models import ReformerLM, ReformerShortenLM
from .reformer.reformer import Reformer
from .resnet import Resnet50, WideResnet
from .transformer import Transformer, TransformerDecoder, TransformerEncoder, TransformerLM

__all__ = [
    "MLP",
    "Reformer",
    "ReformerLM",
    "ReformerShortenLM",
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
