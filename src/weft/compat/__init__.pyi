# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .installation import VERSIONS as VERSIONS, install as install, uninstall as uninstall
