"""Reformers: models of reversible blocks."""

from . import reformer
from .reformer import DecoderBlock, ReformerLM

__all__ = ["DecoderBlock", "ReformerLM", "reformer"]
