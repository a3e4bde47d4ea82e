# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import building as building, config as config, main as main
