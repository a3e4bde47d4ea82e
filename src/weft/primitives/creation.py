"""New arrays: iota, the numbers 0, 1, … along an axis; `full` and `zeros`, which are
broadcasts of a constant.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import Aval, aval
from ..core.primitive import Primitive
from ..errors import AxisError, ShapeError
from ..stablehlo import Block, Operand
from .rule_types import DType, Host, Integers, Tangent
from .structural import broadcast_in_dim

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
    indices = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(indices.reshape((-1, *(1,) * (len(shape) - dimension - 1))), shape)


@iota.lower
def _(block: Block, out: Aval, dtype: DType, shape: Integers, dimension: int) -> Operand:
    return block.iota(out, dimension)


def full(aval: Aval, value: complex | np.generic) -> Any:
    """An array filled with one number."""
    one = literal(value, aval.dtype)
    if not aval.ndim:
        return one if aval.weak_type else Array(one._host, aval)
    return (
        broadcast_in_dim(one, shape=aval.shape, dims=())
        if aval.weak_type
        else strong_full(aval, one)
    )


def strong_full(aval: Aval, one: Array) -> Any:
    """An array filled with one number, of a dtype that is not weak."""
    return broadcast_in_dim(Array(one._host, aval.update(shape=())), shape=aval.shape, dims=())


def zeros(aval: Aval) -> Any:
    """An array of zeros."""
    return full(aval, 0)


def instantiate(ct: Tangent, aval: Aval) -> Any:
    """A cotangent or tangent; zeros for `None`."""
    return zeros(aval.strong()) if ct is None else ct
