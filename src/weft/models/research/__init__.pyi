# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    bert as bert,
    configurable_transformer as configurable_transformer,
    hourglass as hourglass,
    terraformer as terraformer,
)
from .bert import (
    BERT as BERT,
    AddBias as AddBias,
    BERTClassifierHead as BERTClassifierHead,
    BERTMLMHead as BERTMLMHead,
    BERTPretrainingHead as BERTPretrainingHead,
    BERTPretrainingLoss as BERTPretrainingLoss,
    BERTRegressionHead as BERTRegressionHead,
    PretrainedBERT as PretrainedBERT,
    load_bert_weights as load_bert_weights,
)
from .configurable_transformer import (
    ConfigurableTransformer as ConfigurableTransformer,
    ConfigurableTransformerEncoder as ConfigurableTransformerEncoder,
    ConfigurableTransformerLM as ConfigurableTransformerLM,
)
from .hourglass import HourglassLM as HourglassLM
from .terraformer import ConfigurableTerraformer as ConfigurableTerraformer
from .transformer_parts import (
    ApplyAttentionLayer as ApplyAttentionLayer,
    EmbeddingAndPositionalEncodings as EmbeddingAndPositionalEncodings,
    FeedForwardWithOptions as FeedForwardWithOptions,
    PositionalEncoder as PositionalEncoder,
)
