"""rng_bit_generator, RandomAlgorithm and rng_uniform: random bits from an explicit state, and
uniform numbers without one.

Programs that use XLA's names call these; others use `weft.random`.
"""

import enum
import itertools
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import shape_of
from ..primitives import (
    arithmetic,
    bit_generators,
    bitwise,
    comparison,
    random_bits as streams,
    structural,
)
from ..primitives.selection import where
from ..typing import ArrayLike, DTypeLike, Shape
from .operands import same_type

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of `rng_bit_generator`.

    Attributes:
      RNG_DEFAULT: Philox, on every device.
      RNG_THREE_FRY: Threefry-2x32.
      RNG_PHILOX: Philox-4x32.

    Example:
      >>> lax.RandomAlgorithm.RNG_PHILOX.name
      'RNG_PHILOX'
    Source: StableHLO `rng_bit_generator`.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


@located
def rng_bit_generator(
    key: ArrayLike,
    shape: Shape,
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm | int | str = RandomAlgorithm.RNG_DEFAULT,
) -> list[Array]:
    """Random bits from a state, and the next state.

    Args:
      key: the state: uint32[4], or uint64[2].
      shape: the shape of the bits.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: a `RandomAlgorithm`, its number or its name. The default is Philox on every device.
    Returns: the new state and the bits, equal to XLA's on CPU and GPU. Under `vmap`, each state
      gives the same bits as without it.
    Raises: ShapeError: the state or the dtype is not supported. ValueError: the algorithm is
      unknown.
    Example:
      >>> state, bits = lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
      >>> state.tolist(), bits.tolist()
      ([1, 2, 4, 4], [512747620, 1298009047])
    Source: StableHLO `rng_bit_generator`.
    """
    name = _algorithm(algorithm)
    return list(
        bit_generators.rng_bit_generator(
            as_value(key),
            shape=shape_of("rng_bit_generator", shape),
            dtype=dtypes.canonicalize_dtype(dtype),
            algorithm=name,
        )
    )


def _algorithm(algorithm: Any) -> str:
    try:
        if isinstance(algorithm, str):
            upper = algorithm.upper()
            result = RandomAlgorithm["RNG_" + upper.removeprefix("RNG_")]
        else:
            result = RandomAlgorithm(algorithm)
    except (KeyError, ValueError):
        names = ", ".join(a.name for a in RandomAlgorithm)
        raise ValueError(
            f"rng_bit_generator: algorithm must be one of {names}; got {algorithm!r}"
        ) from None
    return "three_fry" if result is RandomAlgorithm.RNG_THREE_FRY else "philox"


_calls = itertools.count()


@located
def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Shape) -> Array:
    """Uniform numbers from a to b without a key, different at each call.

    They are determined by the number of calls that the process has made. A call in a traced
    function counts when it is traced, so a compiled program returns the same numbers each time it
    runs. Prefer `random.uniform` and `random.randint`, which take keys.

    Args:
      a, b: float or integer scalars of one dtype, a < b.
      shape: the shape of the result.
    Returns: array of `shape`, a <= x < b.
    Raises: ShapeError: a or b is not a scalar, or their dtypes differ.
    Example:
      >>> lax.rng_uniform(0.0, 1.0, (3,)).shape
      (3,)
    Source: JAX documentation, `jax.lax.rng_uniform`; the numbers are implementation-defined.
    """
    low, high = same_type("rng_uniform", ("a", "b"), a, b)
    dtype = low.dtype
    if low.ndim or high.ndim or dtypes.is_complex(dtype) or dtype == dtypes.bool_:
        raise ShapeError(
            f"rng_uniform: a and b must be float or integer scalars; got {low.aval} and {high.aval}"
        )
    key = Array(np.array([0x726E6755, next(_calls) & 0xFFFFFFFF], np.uint32), aval((2,), np.uint32))
    result_shape = shape_of("rng_uniform", shape)
    if dtypes.is_integer(dtype):
        return _integers(key, low, high, result_shape)
    return _floats(key, low, high, result_shape)


def _bits(key: Any, shape: tuple[int, ...], width: int) -> Any:
    return streams.random_bits(key, shape=shape, width=width, partitionable=True)


def _integers(key: Any, low: Any, high: Any, shape: tuple[int, ...]) -> Any:
    dtype = low.dtype
    bits = _bits(key, shape, dtypes.bit_width(dtype))
    low, high = (_as(x, bits.dtype) for x in (low, high))
    return _as(structural.add(low, arithmetic.rem(bits, arithmetic.sub(high, low))), dtype)


def _floats(key: Any, low: Any, high: Any, shape: tuple[int, ...]) -> Any:
    dtype = low.dtype
    wide_dtype, width, digits = (dtypes.float64, 64, 53) if dtype.itemsize == 8 else _SINGLE
    bits = _bits(key, shape, width)
    bits = bitwise.shift_right_logical(bits, literal(width - digits, bits.dtype))
    fractions = arithmetic.mul(_as(bits, wide_dtype), literal(2.0**-digits, wide_dtype))
    wide_low, wide_high = _as(low, wide_dtype), _as(high, wide_dtype)
    numbers = structural.add(
        wide_low, arithmetic.mul(fractions, arithmetic.sub(wide_high, wide_low))
    )
    numbers = _as(numbers, dtype)  # rounding may give the end, which is excluded
    return where(comparison.lt(numbers, high), numbers, structural.widen(low, shape))


_SINGLE = (dtypes.float32, 32, 24)


def _as(x: Any, dtype: Any) -> Any:
    return structural.convert_element_type(x, dtype=dtype, weak_type=False)
