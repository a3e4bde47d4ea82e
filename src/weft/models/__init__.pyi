# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    mlp as mlp,
    reformer as reformer,
    research as research,
    resnet as resnet,
    rnn as rnn,
    transformer as transformer,
)
from .mlp import MLP as MLP
from .reformer.language_models import (
    ReformerLM as ReformerLM,
    ReformerShortenLM as ReformerShortenLM,
)
from .reformer.reformer import Reformer as Reformer
from .research.bert import (
    BERT as BERT,
    BERTClassifierHead as BERTClassifierHead,
    BERTRegressionHead as BERTRegressionHead,
)
from .research.configurable_transformer import (
    ConfigurableTransformer as ConfigurableTransformer,
    ConfigurableTransformerEncoder as ConfigurableTransformerEncoder,
    ConfigurableTransformerLM as ConfigurableTransformerLM,
)
from .research.hourglass import HourglassLM as HourglassLM
from .research.terraformer import ConfigurableTerraformer as ConfigurableTerraformer
from .resnet import Resnet50 as Resnet50, WideResnet as WideResnet
from .rnn import GRULM as GRULM, RNNLM as RNNLM, LSTMSeq2SeqAttn as LSTMSeq2SeqAttn
from .transformer import (
    Transformer as Transformer,
    TransformerDecoder as TransformerDecoder,
    TransformerEncoder as TransformerEncoder,
    TransformerLM as TransformerLM,
)
