"""Identities, signs of zero and wider dtypes, for reductions by maximum, minimum and logic.

Knows dtypes; knows nothing of the primitives that use it.
"""

from collections.abc import Callable

import numpy as np

from .. import dtypes
from ..extended_dtypes import is_extended, no_numbers
from .families import HALF, WIDER
from .rule_types import DType, Host, Integers, Ufunc


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
    return dtype.type(dtypes.finfo(dtype).max) if np.isnan(high) else high  # it has no sign


def all_ones(dtype: DType) -> np.generic:
    """The identity of *and*, as a scalar of the dtype."""
    return (
        dtype.type(True)
        if dtypes.is_bool(dtype)
        else dtype.type(-1 if dtypes.is_signed(dtype) else dtypes.iinfo(dtype).max)
    )


# The dtypes in which NumPy reduces narrow ones: exact for extremes, rounded once for products, as
# by XLA.
WIDE: dict[DType, DType] = {**WIDER, **HALF}


def signed_zeros(
    ufunc: Ufunc, gather: Callable[..., object], x: Host, axis: int | Integers, result: Host
) -> Host:
    """Extremes that are zero, with XLA's sign: -0 is below +0 (NumPy takes either).

    Args:
      ufunc: np.maximum or np.minimum.
      gather: np.logical_or.reduce or np.logical_or.accumulate, whichever made `result` of `x`.
    """
    if x.dtype.kind != "f":
        return result
    positive = ufunc is np.maximum
    winning = gather((x == 0) & (np.signbit(x) != positive), axis=axis)
    zero = np.where(winning == positive, x.dtype.type(0.0), x.dtype.type(-0.0))
    return np.where(result == 0, zero, result)
