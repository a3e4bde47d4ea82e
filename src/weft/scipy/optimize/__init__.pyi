# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .minimize import OptimizeResults as OptimizeResults, minimize as minimize
