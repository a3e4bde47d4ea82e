# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .vq import vq as vq
