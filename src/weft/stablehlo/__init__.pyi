# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .attributes import element as element, tensor as tensor
from .block import Block as Block, Module as Module, Operand as Operand
