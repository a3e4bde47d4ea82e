"""Monoids: the associative operations of reductions, window reductions and cumulative operations,
with their identities and the dtypes in which NumPy computes them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..extended_dtypes import is_extended, no_numbers
from ..stablehlo import Block, Operand
from .arithmetic import max_, min_, mul
from .bitwise import bitwise_and, bitwise_or, bitwise_xor
from .elementwise import HALF, WIDER
from .exponential import logaddexp
from .rule_types import DType, Host, Identity, Integers, Ufunc
from .structural import add


def lowest(dtype: DType) -> np.generic:
    """The identity of the maximum, as a scalar of the dtype."""
    if dtypes.is_complex(dtype):
        return dtype.type(complex(-np.inf, -np.inf))
    if dtypes.is_bool(dtype):
        return dtype.type(False)
    if dtypes.is_integer(dtype):
        return dtype.type(dtypes.iinfo(dtype).min)
    if is_extended(dtype):
        raise no_numbers("max or min", dtype)
    low = dtype.type(-np.inf)
    return low if np.isinf(low) else dtype.type(dtypes.finfo(dtype).min)


def highest(dtype: DType) -> np.generic:
    """The identity of the minimum, as a scalar of the dtype."""
    if dtypes.is_bool(dtype):
        return dtype.type(True)
    if dtypes.is_integer(dtype):
        return dtype.type(dtypes.iinfo(dtype).max)
    high = np.negative(lowest(dtype))
    return dtype.type(dtypes.finfo(dtype).max) if np.isnan(high) else high  # unsigned float


def all_ones(dtype: DType) -> np.generic:
    """The identity of *and*, as a scalar of the dtype."""
    return (
        dtype.type(True)
        if dtypes.is_bool(dtype)
        else dtype.type(-1 if dtypes.is_signed(dtype) else dtypes.iinfo(dtype).max)
    )


# The wider dtypes in which NumPy reduces narrow ones. As in XLA, extremes are exact and products
# are rounded once.
REDUCTION_DTYPE: dict[DType, DType] = {**WIDER, **HALF}


def signed_zeros(
    ufunc: Ufunc, gather: Callable[..., object], x: Host, axis: int | Integers, result: Host
) -> Host:
    """Extremes in which zeros have the sign that XLA gives them: -0 is below +0. NumPy may return
    either.

    Args:
      ufunc: np.maximum or np.minimum.
      gather: np.logical_or.reduce or np.logical_or.accumulate, to match the operation that made
        `result`.
    """
    if x.dtype.kind != "f":
        return result
    is_maximum = ufunc is np.maximum
    has_winner = gather((x == 0) & (np.signbit(x) != is_maximum), axis=axis)
    zero = np.where(has_winner == is_maximum, x.dtype.type(0.0), x.dtype.type(-0.0))
    return np.where(result == 0, zero, result)


class Monoid(NamedTuple):
    """An associative operation with an identity.

    Attributes:
      by: its primitive, which has two operands.
      ufunc: NumPy's function of two arrays.
      identity: the element that changes nothing.
    """

    by: Primitive
    ufunc: Ufunc
    identity: Identity

    def write(self, block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        """Writes the operation on two operands."""
        return self.by.lower_rule(block, x, y, out=out)  # type: ignore[misc]

    def region(self, block: Block, aval: Aval) -> str:
        """The region of a reduction: the operation on scalars of an aval's dtype."""
        scalar = aval.update(shape=(), weak_type=False)
        return block.region(
            [scalar] * 2, lambda inner, xs: [self.write(inner, xs[0], xs[1], scalar)]
        )


SUM = Monoid(add, np.add, lambda dtype: dtype.type(0))
PRODUCT = Monoid(mul, np.multiply, lambda dtype: dtype.type(1))
MAXIMUM = Monoid(max_, np.maximum, lowest)
MINIMUM = Monoid(min_, np.minimum, highest)
AND = Monoid(bitwise_and, np.bitwise_and, all_ones)
OR = Monoid(bitwise_or, np.bitwise_or, lambda dtype: dtype.type(0))
XOR = Monoid(bitwise_xor, np.bitwise_xor, lambda dtype: dtype.type(0))
LOGSUMEXP = Monoid(logaddexp, np.logaddexp, lowest)
