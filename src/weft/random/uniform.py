"""Uniform floats: uniform. The random bits become the mantissa of a float from 1 to 2, minus 1."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..numpy.axes import shape_tuple
from ..numpy.promotion import SCALARS, cast
from ..primitives import arithmetic, bitwise, conversion, slicing, structural
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype, parameter, sample_shape, sampler
from .keys import one_key, raw_bits

__all__ = ["uniform"]


# --- uniform ---


@located
def uniform(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    """Uniform floats, minval <= x < maxval.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      minval, maxval: the bounds, which broadcast to `shape`.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: bounds do not broadcast to the
      shape.
    Example:
      >>> random.uniform(random.PRNGKey(0), (2,)).tolist()
      [0.216295, 0.804124]
    """
    data, dtype = one_key("uniform", key), float_dtype("uniform", dtype)
    shape = shape_tuple("uniform", shape)
    if minval.__class__ in SCALARS and maxval.__class__ in SCALARS and minval == 0 and maxval == 1:
        return unit_uniform(data, shape=shape, dtype=dtype)
    low, high = (
        parameter("uniform", m, n, dtype) for m, n in ((minval, "minval"), (maxval, "maxval"))
    )
    sample_shape("uniform", shape, minval=low, maxval=high)
    return uniform_between(data, low, high, shape=shape, dtype=dtype)


@sampler
def unit_uniform(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from 0 to 1: random bits as the mantissa of a number from 1 to 2, minus 1."""
    info = dtypes.finfo(dtype)
    mantissa, width = int(info.nmant), dtypes.bit_width(dtype)
    drawn_bits = 8 if mantissa < 8 else width  # as many bits as the mantissa needs
    number = np.dtype(f"u{width // 8}")
    bits = cast(raw_bits(key, shape, drawn_bits), number)
    one = int(np.ones((), dtype).view(number))
    bits = bitwise.shift_right_logical(bits, literal(drawn_bits - mantissa, number))
    bits = bitwise.bitwise_or(bits, literal(one, number))
    return conversion.bitcast_convert_type(bits, dtype=dtype) - 1.0


@sampler
def uniform_between(key: Any, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from `low` to `high`."""
    floats = unit_uniform(key, shape=shape, dtype=dtype)
    return arithmetic.max_(low, floats * (high - low) + low)


def coarse_and_fine(key: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Two arrays whose sum is uniform from 0 to 1 with twice the digits: one like `unit_uniform`,
    the other below its resolution."""
    samples = unit_uniform(key, shape=(2, *shape), dtype=dtype)
    coarse, fine = (
        structural.reshape(
            slicing.slice_(
                samples,
                start=(i, *[0] * len(shape)),
                limit=(i + 1, *shape),
                strides=(1,) * samples.ndim,
            ),
            shape=shape,
        )
        for i in (0, 1)
    )
    return coarse, fine * literal(2.0 ** -int(dtypes.finfo(dtype).nmant), dtype)
