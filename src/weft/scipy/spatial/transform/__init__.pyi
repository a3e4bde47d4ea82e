# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .rotation import Rotation as Rotation
from .slerp import Slerp as Slerp
