"""Backend: einops on weft's arrays, including traced ones.

    import weft.interop.einops

einops finds its backends among the subclasses of its `AbstractBackend`, so defining one registers
it. If einops was imported before weft's first operation, weft loads this module.
"""

from collections.abc import Sequence
from typing import Any

import numpy
from einops._backends import AbstractBackend

from .. import dtypes, numpy as np
from ..typing import Array

__all__ = ["Backend"]


class Backend(AbstractBackend):
    """The operations that einops needs from an array library.

    Example:
      >>> import einops, weft.interop.einops
      >>> einops.rearrange(np.arange(4), "(a b) -> b a", a=2).tolist()
      [[0, 2], [1, 3]]
    """

    framework_name = "weft"

    def is_appropriate_type(self, tensor: object) -> bool:
        """True for arrays and tracers."""
        return isinstance(tensor, Array)

    def from_numpy(self, x: Any) -> Array:
        """Converts a NumPy array."""
        return np.asarray(x)

    def to_numpy(self, x: Array) -> numpy.ndarray[Any, Any]:
        """Converts to a NumPy array."""
        return numpy.asarray(x)

    def arange(self, start: int, stop: int) -> Array:
        """Integers from `start` up to `stop`."""
        return np.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: list[Array]) -> Array:
        """Stacks arrays along a new first axis."""
        return np.stack(tensors)

    def add_axis(self, x: Array, new_position: int) -> Array:
        """Adds an axis of length one."""
        return np.expand_dims(x, new_position)

    def tile(self, x: Array, repeats: Sequence[int]) -> Array:
        """Repeats the whole array along its axes."""
        return np.tile(x, tuple(repeats))

    def concat(self, tensors: list[Array], axis: int) -> Array:
        """Concatenates arrays along an axis."""
        return np.concatenate(tensors, axis=axis)

    def is_float_type(self, x: Array) -> bool:
        """True for floating-point dtypes, for which einops allows means."""
        return dtypes.is_inexact(x.dtype)

    def einsum(self, pattern: str, *x: Array) -> Array:
        """Sums of products over named axes."""
        return np.einsum(pattern, *x)
