"""NumPy's functions on the backend in use: `from weft.fastmath import numpy as np`.

The module is an object of a class of its own, which finds a name in 0.1 µs, where a `__getattr__`
of the module takes 0.85 (CPython 3.11, benchmarks/fastmath.py).
"""

import sys
from typing import TYPE_CHECKING, Any

from .namespaces import NumpyBackend

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


sys.modules[__name__].__class__ = NumpyBackend
