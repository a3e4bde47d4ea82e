"""Samples of distributions that are a function of a few uniform numbers or bits.

Each is differentiable in its parameters, whatever floats those are. Knows keys only as what
`prng` makes bits of.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, literal
from ..core.aval import aval
from ..core.source import located
from ..numpy.axes import shape_tuple
from ..numpy.creation import wanted_dtype
from ..numpy.promotion import SCALARS, cast, inexact, value
from ..primitives import (
    arithmetic,
    comparison,
    complex_numbers,
    conversion,
    selection,
    special,
    structural,
    transcendental,
)
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .prng import Key, one_key, raw_bits, sampler, subkeys

__all__ = [
    "bernoulli",
    "normal",
    "rademacher",
    "randint",
    "truncated_normal",
    "uniform",
]

# --- arguments ---


def float_dtype(name: str, dtype: Any, accepts_complex: bool = False) -> Any:
    """The dtype of samples: the one asked for, or the default float."""
    wanted = wanted_dtype(name, dtype)
    if wanted is None:
        return dtypes.default_float()
    if not (dtypes.is_float(wanted) or (accepts_complex and dtypes.is_complex(wanted))):
        kinds = "a float or complex dtype" if accepts_complex else "a float dtype"
        raise TypeError(f"{name}: dtype must be {kinds}; got {wanted}")
    return wanted


def parameter(name: str, x: Any, argument: str, dtype: Any) -> Any:
    """A parameter as a value of the samples' dtype."""
    if x.__class__ in SCALARS and x.__class__ is not complex:
        return Array(np.array(x, dtype)[()], aval((), dtype))
    v = value(name, x, argument)
    if dtypes.is_complex(v.aval.dtype):
        raise TypeError(f"{name}: {argument} must be real; got {v.aval}")
    return cast(v, dtype)


def sample_shape(name: str, shape: Any, **parameters: Any) -> tuple[int, ...]:
    """The shape of the samples: the one asked for, which parameters must broadcast to, or theirs."""
    shapes = [p.aval.shape for p in parameters.values()]
    try:
        if shape is None:
            return np.broadcast_shapes(*shapes)
        wanted = shape_tuple(name, shape)
        if np.broadcast_shapes(wanted, *shapes) == wanted:
            return wanted
        problem = f"don't broadcast to shape {wanted}"
    except ValueError:
        problem = "don't broadcast together" if shape is None else f"don't broadcast to shape {shape}"
    listed = ", ".join(f"{n} {p.aval}" for n, p in parameters.items())
    raise ValueError(
        f"{name}: parameters {problem}: {listed}\n"
        "  fix: shape is that of the result; by default it is what the parameters broadcast to"
    )


# --- uniform ---


@located
def uniform(
    key: ArrayLike | Key,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    """Uniform floats, minval <= x < maxval.

    Args:
      key: a key, uint32[2].
      shape: the shape of the result.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      minval, maxval: the bounds, which broadcast to `shape`.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: bounds don't fit the shape.
    Example:
      >>> uniform(PRNGKey(0), (2,)).tolist()
      [0.947666883468628, 0.9785799980163574]
    """
    data, dtype = one_key("uniform", key), float_dtype("uniform", dtype)
    shape = shape_tuple("uniform", shape)
    if minval.__class__ in SCALARS and maxval.__class__ in SCALARS and minval == 0 and maxval == 1:
        return unit(data, shape=shape, dtype=dtype)  # type: ignore[no-any-return]
    low, high = (
        parameter("uniform", m, n, dtype) for m, n in ((minval, "minval"), (maxval, "maxval"))
    )
    sample_shape("uniform", shape, minval=low, maxval=high)
    return between(data, low, high, shape=shape, dtype=dtype)  # type: ignore[no-any-return]


@sampler
def unit(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from 0 to 1: random bits as the mantissa of a number from 1 to 2, less 1."""
    info = dtypes.finfo(dtype)
    mantissa, width = int(info.nmant), dtypes.bit_width(dtype)
    drawn = 8 if mantissa < 8 else width  # as many bits as the mantissa needs
    number = np.dtype(f"u{width // 8}")
    bits = cast(raw_bits(key, shape, drawn), number)
    one = int(np.ones((), dtype).view(number))
    bits = bitwise_or(
        bitwise_shift(bits, literal(drawn - mantissa, number)), literal(one, number)
    )
    return conversion.bitcast_convert_type(bits, dtype=dtype) - 1.0


@sampler
def between(key: Any, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from `low` to `high`."""
    floats = unit(key, shape=shape, dtype=dtype)
    return arithmetic.max_(low, floats * (high - low) + low)


# --- normal ---


@located
def normal(
    key: ArrayLike | Key, shape: ShapeLike = (), dtype: DTypeLike | None = None
) -> Array:
    """Normal samples: mean 0, variance 1.

    Args:
      key: a key, uint32[2].
      shape: the shape of the result.
      dtype: a float or complex dtype; float32 by default (float64 with x64 on). Complex samples
        have real and imaginary parts of variance 1/2.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not an inexact dtype.
    Example:
      >>> normal(PRNGKey(0), (3,)).round(4).tolist()
      [1.8161, -0.4826, 0.3399]
    """
    data = one_key("normal", key)
    dtype = float_dtype("normal", dtype, accepts_complex=True)
    shape = shape_tuple("normal", shape)
    if dtypes.is_complex(dtype):
        return complex_gauss(data, shape=shape, dtype=dtype)  # type: ignore[no-any-return]
    return gauss(data, shape=shape, dtype=dtype)  # type: ignore[no-any-return]


@sampler
def gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal samples, by the inverse of the distribution function."""
    one = np.ones((), dtype)
    low = literal(np.nextafter(-one, 0 * one).item(), dtype)
    u = between(key, low, literal(1.0, dtype), shape=shape, dtype=dtype)
    return special.erf_inv(u) * math.sqrt(2)


@sampler
def complex_gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex normal samples."""
    part = dtypes.real_of(dtype)
    parts = [gauss(k, shape=shape, dtype=part) for k in two_keys(key)]
    return complex_numbers.complex_(*parts) / math.sqrt(2)
