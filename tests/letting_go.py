"""Waits until XLA has let go of the functions that a program called."""

import time
import weakref
from typing import Any

import numpy as np

from weft import runtime


def those_left(references: list[weakref.ref[Any]], seconds: float = 20.0) -> list[Any]:
    """What is still alive after this time, or nothing as soon as all are gone.

    XLA's thread lets go of a program's functions after it has handed over the results, perhaps
    later than the program dies; Python's part of them dies when data is put next.
    """
    deadline = time.monotonic() + seconds
    while True:
        runtime.put(np.float32(1), runtime.default_device())
        if all(r() is None for r in references) or time.monotonic() > deadline:
            return [r() for r in references if r() is not None]
        time.sleep(0.001)
