"""Discrete distributions with a closed form: bernoulli, rademacher, geometric."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..numpy.creation import dtype_argument
from ..numpy.promotion import as_inexact, cast, value
from ..primitives import arithmetic, bitwise, comparison, creation, selection, structural
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import drawing_mode, sample_shape, sampler, with_parameters
from .keys import one_key
from .uniform import coarse_and_fine, unit_uniform

__all__ = ["bernoulli", "geometric", "rademacher"]


@located
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
) -> Array:
    """Booleans that are True with probability p.

    Args:
      key: a key.
      p: float, the probability, which broadcasts to `shape`.
      shape: the shape of the result; by default the shape of p.
      mode: "low", or "high", which draws two random numbers for each sample: in float32, "low"
        rounds p to a multiple of 2**-23 (1e-7), "high" to a multiple of 2**-46.
    Returns: bool array of `shape`.
    Raises: TypeError: not a key, or p is complex. ValueError: p does not broadcast to the shape, or
      `mode` is invalid.
    Example:
      >>> random.bernoulli(random.PRNGKey(0), 0.5, (4,)).tolist()
      [False, True, False, True]
    """
    data = one_key("bernoulli", key)
    chance = as_inexact("bernoulli", value("bernoulli", p, "p"))
    if dtypes.is_complex(chance.aval.dtype):
        raise ShapeError(f"bernoulli: p must be real; got {chance.aval}")
    shape = sample_shape("bernoulli", shape, p=chance)
    return bernoulli_samples(data, chance, shape=shape, mode=drawing_mode("bernoulli", mode))


@sampler
def bernoulli_samples(key: Any, p: Any, *, shape: tuple[int, ...], mode: str = "low") -> Any:
    """Booleans that are True with probability p."""
    if mode == "low":
        return comparison.lt(unit_uniform(key, shape=shape, dtype=p.aval.dtype), p)
    coarse, fine = coarse_and_fine(key, shape, p.aval.dtype)
    return comparison.lt(fine, p - coarse)  # their sum would be rounded


@located
def rademacher(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Rademacher samples: -1 or 1 with equal probability.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a numeric dtype; int32 by default (int64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or dtype bool.
    Example:
      >>> random.rademacher(random.PRNGKey(0), (4,)).tolist()
      [-1, 1, -1, 1]
    """
    data, result_dtype = one_key("rademacher", key), dtype_argument("rademacher", dtype)
    if result_dtype == np.bool_:
        raise TypeError("rademacher: dtype must have the number -1; got bool")
    result_dtype = dtypes.default_int() if result_dtype is None else result_dtype
    half = Array(np.asarray(0.5, dtypes.default_float())[()], aval((), dtypes.default_float()))
    heads = bernoulli_samples(data, half, shape=shape_tuple("rademacher", shape))
    return cast(heads, result_dtype) * 2 - 1


@located
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Geometric samples: the number of trials up to the first success, for probability p.

    Args:
      key: a key.
      p: the probability, 0 < p <= 1, which broadcasts to `shape`.
      shape: the shape of the result; by default the shape of p.
      dtype: an integer dtype; int32 by default (int64 with x64 on).
    Returns: array of `shape`, at least 1.
    Raises: TypeError: not a key, or not an integer dtype. ValueError: p does not broadcast to the
      shape.
    Example:
      >>> random.geometric(random.PRNGKey(0), 0.5, (3,)).dtype
      dtype('int32')
    """
    result_dtype = dtype_argument("geometric", dtype)
    result_dtype = dtypes.default_int() if result_dtype is None else result_dtype
    if not dtypes.is_integer(result_dtype):
        raise ShapeError(f"geometric: dtype must be an integer dtype; got {result_dtype}")
    args, options = with_parameters("geometric", key, shape, None, p=p)
    return _geometric(*args, **options, result_dtype=result_dtype)


@sampler
def _geometric(key: Any, p: Any, *, shape: tuple[int, ...], dtype: Any, result_dtype: Any) -> Any:
    """1 + k for the largest k with (1 - p)**k >= u; the bits of k are found from the highest on.

    Uses only products, in double precision: NumPy and XLA round them in the same way, so that the
    integers are the same everywhere. Quotients of logarithms would not be.
    """
    u = unit_uniform(key, shape=shape, dtype=dtype)
    smallest_u = 2.0 ** -int(
        dtypes.finfo(dtype).nmant + 1
    )  # the powers pass it before they underflow
    u = cast(arithmetic.max_(u, literal(smallest_u, dtype)), dtypes.float64)
    largest_integer = int(dtypes.iinfo(result_dtype).max)
    one = literal(1.0, dtypes.float64)
    powers = [arithmetic.sub(one, cast(p, dtypes.float64))]
    while len(powers) < largest_integer.bit_length():
        powers.append(arithmetic.mul(powers[-1], powers[-1]))
    power_of_count, count = creation.full(u.aval, 1.0), creation.zeros(aval(shape, result_dtype))
    for bit, power in reversed([*enumerate(powers)]):
        product = arithmetic.mul(power_of_count, power)
        is_reached = comparison.ge(product, u)
        power_of_count = selection.where(is_reached, product, power_of_count)
        count = selection.where(
            is_reached, bitwise.bitwise_or(count, literal(1 << bit, result_dtype)), count
        )
    return structural.add(
        arithmetic.min_(count, literal(largest_integer - 1, result_dtype)), literal(1, result_dtype)
    )
