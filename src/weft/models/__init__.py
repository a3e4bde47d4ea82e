"""Models built from the layers of `weft.layers`. Each function returns an uninitialised layer.

Source: Trax documentation, `trax.models`.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "mlp": "MLP",
        "reformer.language_models": "ReformerLM ReformerShortenLM",
        "reformer.reformer": "Reformer",
        "research.bert": "BERT BERTClassifierHead BERTRegressionHead",
        "research.configurable_transformer": """
            ConfigurableTransformer ConfigurableTransformerEncoder ConfigurableTransformerLM
        """,
        "research.hourglass": "HourglassLM",
        "research.terraformer": "ConfigurableTerraformer",
        "resnet": "Resnet50 WideResnet",
        "rnn": "GRULM RNNLM LSTMSeq2SeqAttn",
        "transformer": "Transformer TransformerDecoder TransformerEncoder TransformerLM",
    },
    modules="mlp reformer research resnet rnn transformer",
)
