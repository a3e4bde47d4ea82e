"""StableHLO as text."""

from .block import Block, Module, Operand
from .types import element, tensor

__all__ = ["Block", "Module", "Operand", "element", "tensor"]
