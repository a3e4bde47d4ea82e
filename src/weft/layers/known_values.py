"""Values that a layer can look at: those of arrays that are computed, and not traced."""

from typing import Any

import numpy as np

from ..core.value import Value


def known_values(x: Any) -> Any:
    """The NumPy array that a backend's array holds; `None` while a program is traced."""
    if isinstance(x, Value):
        x = x.concrete()
    elif callable(getattr(x, "numpy", None)):  # TensorFlow's, of which symbolic ones have no such
        x = x.numpy()
    return None if x is None else np.asarray(x)
