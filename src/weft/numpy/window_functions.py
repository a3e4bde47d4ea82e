"""Window functions for signals: bartlett, blackman, hamming, hanning, kaiser."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..core.value import Value
from ..primitives import arithmetic
from ..transforms.arguments import described
from .axes import as_int, host_array
from .creation import from_numpy
from .promotion import noted
from .special import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _window(name: str, M: Any, function: Any) -> Array:
    return from_numpy(function(as_int(name, M, "M")).astype(dtypes.default_float()))


@located
def bartlett(M: int) -> Array:
    """The Bartlett window: a triangle, zero at both ends.

    Example:
      >>> np.bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("bartlett", M, np.bartlett)


@located
def blackman(M: int) -> Array:
    """The Blackman window: a sum of three cosines.

    Example:
      >>> np.blackman(3).round(2)
      Array([-0.,  1., -0.], dtype=float32)
    """
    return _window("blackman", M, np.blackman)


@located
def hamming(M: int) -> Array:
    """The Hamming window, 0.54 - 0.46 cos(2πn / (M - 1)).

    Example:
      >>> np.hamming(3)
      Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window("hamming", M, np.hamming)


@located
def hanning(M: int) -> Array:
    """The Hann window, 0.5 - 0.5 cos(2πn / (M - 1)).

    Example:
      >>> np.hanning(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _window("hanning", M, np.hanning)


@located
def kaiser(M: int, beta: Any) -> Array:
    """The Kaiser window: a Bessel function of the distance from the centre.

    Args:
      M: the length.
      beta: the shape parameter, which may be traced.
    Example:
      >>> np.kaiser(3, 0.0)
      Array([1., 1., 1.], dtype=float32)
    """
    n = as_int("kaiser", M, "M")
    shape: Any = beta
    if not isinstance(beta, Value):
        number = host_array("kaiser", beta, "beta", "a number")
        if number.ndim or number.dtype.kind not in "biuf":
            raise noted(TypeError(f"kaiser: beta must be a real number; got {described(beta)}"))
        return _window("kaiser", M, lambda m: np.kaiser(m, beta))
    if n == 1:
        return from_numpy(np.ones(1, dtypes.default_float()))
    squares = (2 * np.arange(n) / (n - 1) - 1) ** 2
    argument = from_numpy(np.sqrt(np.maximum(1 - squares, 0)).astype(dtypes.default_float()))
    return arithmetic.div(i0(shape * argument), i0(shape))
