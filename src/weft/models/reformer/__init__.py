"""Reformers: models of reversible blocks."""

from . import reformer
from .blocks import DecoderBlock, EncoderBlock, EncoderDecoderBlock
from .language_models import ReformerLM, ReformerShortenLM
from .reformer import Reformer

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "EncoderDecoderBlock",
    "Reformer",
    "ReformerLM",
    "ReformerShortenLM",
    "reformer",
]
