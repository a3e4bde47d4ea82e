"""Parts of models with many options."""

from . import configurable_transformer
from .configurable_transformer import (
    ApplyAttentionLayer,
    FeedForwardWithOptions,
    PositionalEncoder,
)

__all__ = [
    "ApplyAttentionLayer",
    "FeedForwardWithOptions",
    "PositionalEncoder",
    "configurable_transformer",
]
