# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import configurable_transformer as configurable_transformer
from .configurable_transformer import (
    ApplyAttentionLayer as ApplyAttentionLayer,
    EmbeddingAndPositionalEncodings as EmbeddingAndPositionalEncodings,
    FeedForwardWithOptions as FeedForwardWithOptions,
    PositionalEncoder as PositionalEncoder,
)
