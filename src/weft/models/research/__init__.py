"""Parts of models with many options."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "configurable_transformer": """
            ApplyAttentionLayer EmbeddingAndPositionalEncodings FeedForwardWithOptions
            PositionalEncoder
        """,
    },
    modules="configurable_transformer",
)
