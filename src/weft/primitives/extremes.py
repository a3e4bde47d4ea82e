"""What reductions by maximum, minimum and logic share: identities, signs of zero, complex order.

Knows dtypes; knows nothing of the primitives that use it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval


def lowest(dtype: Any) -> Any:
    """The identity of the maximum, as a scalar of the dtype."""
    if dtypes.is_complex(dtype):
        return dtype.type(complex(-np.inf, -np.inf))
    if dtypes.is_bool(dtype):
        return dtype.type(False)
    if dtypes.is_integer(dtype):
        return dtype.type(dtypes.iinfo(dtype).min)
    low = dtype.type(-np.inf)
    return low if np.isinf(low) else dtype.type(dtypes.finfo(dtype).min)


def highest(dtype: Any) -> Any:
    """The identity of the minimum, as a scalar of the dtype."""
    if dtypes.is_bool(dtype):
        return dtype.type(True)
    if dtypes.is_integer(dtype):
        return dtype.type(dtypes.iinfo(dtype).max)
    return -lowest(dtype)


def all_ones(dtype: Any) -> Any:
    """The identity of *and*, as a scalar of the dtype."""
    return (
        dtype.type(True)
        if dtypes.is_bool(dtype)
        else dtype.type(-1 if dtypes.is_signed(dtype) else dtypes.iinfo(dtype).max)
    )


# What NumPy reduces narrow dtypes in: exact for extremes, rounded once for products, as by XLA.
WIDE: dict[Any, Any] = {
    dtypes.int4: np.dtype(np.int8),
    dtypes.uint4: np.dtype(np.uint8),
    dtypes.bfloat16: np.dtype(np.float32),
    dtypes.float16: np.dtype(np.float32),
    **dict.fromkeys(dtypes.FLOAT8, np.dtype(np.float32)),
}


def signed_zeros(ufunc: Any, gather: Callable[..., Any], x: Any, axis: Any, result: Any) -> Any:
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


def complex_extreme(direction: str) -> Callable[..., Any]:
    """Writes the extreme of two complex numbers: by real part, then imaginary part; NaN wins."""

    def write(block: Any, x: Any, y: Any, out: Aval) -> Any:
        mask = out.update(dtype=dtypes.bool_)
        part = out.update(dtype=dtypes.real_of(out.dtype))
        xr, yr = (block.op("real", v, out=part) for v in (x, y))
        xi, yi = (block.op("imag", v, out=part) for v in (x, y))
        beyond = block.compare(direction, xr, yr, mask)
        level = block.elementwise(
            "and",
            (block.compare("EQ", xr, yr, mask), block.compare(direction[:1] + "E", xi, yi, mask)),
            mask,
        )
        for v in (xi, yi):
            beyond = block.elementwise("and", (beyond, block.compare("EQ", v, v, mask)), mask)
        first = block.elementwise("or", (beyond, level), mask)
        first = block.elementwise("or", (first, block.compare("NE", x, x, mask)), mask)
        return block.select(first, x, y)

    return write
