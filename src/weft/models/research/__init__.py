"""Parts of models with many options."""

from . import configurable_transformer
from .configurable_transformer import (
    ApplyAttentionLayer,
    EmbeddingAndPositionalEncodings,
    FeedForwardWithOptions,
    PositionalEncoder,
)

__all__ = [
    "ApplyAttentionLayer",
    "EmbeddingAndPositionalEncodings",
    "FeedForwardWithOptions",
    "PositionalEncoder",
    "configurable_transformer",
]
