"""StableHLO as text."""

from .attributes import element, tensor
from .block import Block, Module, Operand

__all__ = ["Block", "Module", "Operand", "element", "tensor"]
