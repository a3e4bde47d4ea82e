"""Arrays made from nothing."""

from typing import Any

import numpy as np

from ..core.aval import Aval, aval
from ..core.primitive import Primitive

iota = Primitive("iota", "0, 1, 2, … along one axis.", host_limit=None)


@iota.type
def _(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> Aval:
    return aval(shape, dtype)


@iota.evaluate
def _(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> Any:
    line = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(line.reshape([-1 if i == dimension else 1 for i in range(len(shape))]), shape)


@iota.lower
def _(block: Any, out: Aval, dtype: Any, shape: Any, dimension: int) -> Any:
    return block.iota(out, dimension)
