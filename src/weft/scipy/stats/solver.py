"""Quantiles without a closed form: a bisection over the floats themselves.

The floats of a dtype, in their order, are as many as its bit patterns, so that 32 steps (64 for
float64) find the first one at which a condition holds, wherever it lies: near zero, far out, or at
the end of the support. Knows no distribution.
"""

from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.conversion import bitcast_convert_type
from ...lax.loops import fori_loop

__all__: list[str] = []


def places(x: Array) -> Array:
    """Integers that are ordered as floats are."""
    kind = onp.dtype(f"int{dtypes.bit_width(x.dtype)}")
    bits = bitcast_convert_type(x, kind)
    return np.where(bits < 0, bits ^ int(onp.iinfo(kind).max), bits)


def at_places(places: Array, dtype: Any) -> Array:
    """The floats at places of their order: the inverse of `places`."""
    bits = np.where(places < 0, places ^ int(onp.iinfo(places.dtype).max), places)
    return bitcast_convert_type(bits, dtype)


def first_float(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The first float in (low, high] at which an increasing condition holds; `high` if none does.

    Args:
      holds: from floats to booleans, of the shape of `low` and `high`.
      low, high: arrays of one float dtype, 32 bits or more, and one shape.
    """
    dtype = low.dtype

    def step(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        below, above = ends
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        found = holds(at_places(middle, dtype))
        return np.where(found, below, middle), np.where(found, middle, above)

    ends = places(low), places(high)
    _, above = fori_loop(0, dtypes.bit_width(dtype), step, ends)
    return at_places(above, dtype)
