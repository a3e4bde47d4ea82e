# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import reformer as reformer
from .blocks import (
    DecoderBlock as DecoderBlock,
    EncoderBlock as EncoderBlock,
    EncoderDecoderBlock as EncoderDecoderBlock,
)
from .language_models import ReformerLM as ReformerLM, ReformerShortenLM as ReformerShortenLM
from .reformer import Reformer as Reformer
