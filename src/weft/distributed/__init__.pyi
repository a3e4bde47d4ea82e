# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .membership import (
    initialize as initialize,
    is_initialized as is_initialized,
    shutdown as shutdown,
)
