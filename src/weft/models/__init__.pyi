# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    mlp as mlp,
    reformer as reformer,
    research as research,
    resnet as resnet,
    transformer as transformer,
)
from .mlp import MLP as MLP
from .reformer.language_models import (
    ReformerLM as ReformerLM,
    ReformerShortenLM as ReformerShortenLM,
)
from .reformer.reformer import Reformer as Reformer
from .resnet import Resnet50 as Resnet50, WideResnet as WideResnet
from .transformer import (
    Transformer as Transformer,
    TransformerDecoder as TransformerDecoder,
    TransformerEncoder as TransformerEncoder,
    TransformerLM as TransformerLM,
)
