"""Parts of models with many options, and BERT."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "bert": """
            BERT AddBias BERTClassifierHead BERTMLMHead BERTPretrainingHead BERTPretrainingLoss
            BERTRegressionHead PretrainedBERT load_bert_weights
        """,
        "configurable_transformer": """
            ConfigurableTransformer ConfigurableTransformerEncoder ConfigurableTransformerLM
        """,
        "hourglass": "HourglassLM",
        "terraformer": "ConfigurableTerraformer",
        "transformer_parts": """
            ApplyAttentionLayer EmbeddingAndPositionalEncodings FeedForwardWithOptions
            PositionalEncoder
        """,
    },
    modules="bert configurable_transformer hourglass terraformer",
)
