# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .interpolation import map_coordinates as map_coordinates
