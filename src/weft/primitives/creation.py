"""Arrays made from nothing. Constants are broadcasts: see `structural.full`."""

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.primitive import Primitive
from ..errors import AxisError, ShapeError
from ..stablehlo import Block, Operand
from .rule_types import DType, Host, Integers

iota = Primitive("iota", "0, 1, 2, … along one axis.", host="always")


@iota.type
def _(*, dtype: DType, shape: tuple[int, ...], dimension: int) -> Aval:
    if not dtypes.is_integer(dtype) and not dtypes.is_inexact(dtype):
        raise ShapeError(
            f"iota: expected an integer, float or complex dtype; got {np.dtype(dtype)}"
        )
    if any(n < 0 for n in shape):
        raise ShapeError(f"iota: lengths must not be negative; got shape {tuple(shape)}")
    if not 0 <= dimension < len(shape):
        raise AxisError(f"iota: dimension {dimension} is out of range for shape {tuple(shape)}")
    return aval(shape, dtype)


@iota.evaluate
def _(*, dtype: DType, shape: tuple[int, ...], dimension: int) -> Host:
    line = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(line.reshape((-1, *(1,) * (len(shape) - dimension - 1))), shape)


@iota.lower
def _(block: Block, out: Aval, dtype: DType, shape: Integers, dimension: int) -> Operand:
    return block.iota(out, dimension)
