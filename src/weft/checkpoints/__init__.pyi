# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .restoring import read_metadata as read_metadata, restore as restore
from .saving import save as save
from .series import Checkpoints as Checkpoints
