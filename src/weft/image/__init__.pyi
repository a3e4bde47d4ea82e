# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .resize import (
    ResizeMethod as ResizeMethod,
    resize as resize,
    scale_and_translate as scale_and_translate,
)
