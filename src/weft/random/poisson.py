"""Poisson samples: poisson. For small means it multiplies uniform numbers (Knuth); for larger means
it uses transformed rejection (Hörmann's PTRS). Each element has its own key and loop.

`rejection_samples` is the loop of transformed rejection, also for binomial samples. It repeats
attempts until every element has an accepted one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..lax.loops import while_loop
from ..numpy.creation import dtype_argument
from ..numpy.promotion import cast
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    creation,
    gamma_functions,
    reductions,
    selection,
    structural,
)
from ..primitives.exponential import log
from ..primitives.selection import where
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import parameter, sample_shape
from .keys import one_key, subkey_list
from .uniform import unit_uniform

__all__ = ["poisson"]


# --- Poisson ---


@located
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Poisson samples: the number of events if lam are expected.

    Args:
      key: a key.
      lam: the mean, not negative, which broadcasts to `shape`.
      shape: the shape of the result; by default the shape of lam.
      dtype: an integer dtype; int32 by default (int64 with x64 on).
    Returns: array of `shape`; -1 where lam is NaN.
    Raises: TypeError: not a key, or not an integer dtype. ValueError: lam does not broadcast to the
      shape.
    Source: Knuth's product of uniform numbers for lam < 10; Hörmann (1993), “The transformed
      rejection method for generating Poisson random variables”, beyond.
    Example:
      >>> random.poisson(random.PRNGKey(0), 4.0, (3,)).dtype
      dtype('int32')
    """
    result_dtype = dtype_argument("poisson", dtype)
    result_dtype = dtypes.default_int() if result_dtype is None else result_dtype
    if not dtypes.is_integer(result_dtype):
        raise ShapeError(f"poisson: dtype must be an integer dtype; got {result_dtype}")
    data, mean = one_key("poisson", key), parameter("poisson", lam, "lam", dtypes.default_float())
    shape = sample_shape("poisson", shape, lam=mean)
    return _poisson(data, structural.widen(mean, shape), dtype=result_dtype)


def _poisson_of(key: Any, lam: Any, dtype: Any) -> Any:
    shape = lam.shape
    is_nan = comparison.ne(lam, lam)
    is_small = bitwise.bitwise_or(is_nan, comparison.lt(lam, literal(10.0, lam.dtype)))
    small_counts = _by_products(key, where(is_small, lam, literal(0.0, lam.dtype)), shape, dtype)
    large_counts = _by_rejection(key, where(is_small, literal(1e5, lam.dtype), lam), shape)
    counts = where(is_small, small_counts, cast(large_counts, dtype))
    is_zero = comparison.eq(lam, literal(0.0, lam.dtype))
    return where(is_zero, literal(0, dtype), counts)


_poisson = jit(_poisson_of, static_argnames="dtype")


def _by_products(key: Any, lam: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Counts uniform numbers until their product is below exp(-lam), and subtracts one."""
    limit = int(dtypes.iinfo(dtype).max)
    axes = tuple(range(len(shape)))

    def cond_fun(state: Any) -> Any:
        i, _, _, logarithm = state
        is_unfinished = reductions.reduce_or(comparison.gt(logarithm, -lam), axes=axes)
        return bitwise.bitwise_and(
            is_unfinished, comparison.lt(i, literal(min(limit, 2**31 - 1), i.dtype))
        )

    def step(state: Any) -> Any:
        i, count, key, logarithm = state
        key, subkey = subkey_list(key)
        one = literal(1, dtype)
        count = where(comparison.gt(logarithm, -lam), structural.add(count, one), count)
        u = unit_uniform(subkey, shape=shape, dtype=dtypes.float32)
        return i + 1, count, key, logarithm + cast(log(u), lam.dtype)

    start = (
        Array(np.int32(0), aval((), dtypes.int32)),
        creation.zeros(aval(shape, dtype)),
        key,
        creation.zeros(aval(shape, lam.dtype)),
    )
    _, count, _, _ = while_loop(cond_fun, step, start)
    return arithmetic.sub(count, literal(1, dtype))


def _by_rejection(key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """Hörmann's PTRS; with the constants of the paper."""
    dtype = lam.dtype
    b = 0.931 + 2.53 * arithmetic.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    acceptance_bound = 0.9277 - 3.6224 / (b - 2.0)
    logical_and, logical_or = bitwise.bitwise_and, bitwise.bitwise_or

    def number(x: float) -> Any:
        return literal(x, dtype)

    def attempt(u: Any, distance: Any, v: Any) -> tuple[Any, Any, Any]:
        k = arithmetic.floor((2.0 * a / distance + b) * u + lam + 0.43)
        height = log(v * inverse_alpha / (a / (distance * distance) + b))
        target = k * log(lam) - lam - gamma_functions.lgamma(k + 1.0)
        is_outside = logical_and(comparison.lt(distance, number(0.013)), comparison.gt(v, distance))
        is_rejected = logical_or(comparison.lt(k, number(0.0)), is_outside)
        return (
            k,
            acceptance_bound,
            logical_and(bitwise.bitwise_not(is_rejected), comparison.le(height, target)),
        )

    return rejection_samples(attempt, key, shape, dtype)


def rejection_samples(
    attempt: Callable[[Any, Any, Any], tuple[Any, Any, Any]],
    key: Any,
    shape: tuple[int, ...],
    dtype: Any,
) -> Any:
    """Samples of a shape, each from the first attempt that is accepted.

    Args:
      attempt: a function of a uniform number u in [-0.5, 0.5), its distance from the ends, and a
        uniform number v in [0, 1). It returns a sample, the bound for v below which the sample is
        accepted at once unless u is near an end, and whether it is accepted otherwise.
    Source: Hörmann (1993), “The transformed rejection method for generating Poisson random
      variables”.
    """
    axes = tuple(range(len(shape)))
    start = (
        creation.full(aval(shape, dtype), -1.0),
        creation.zeros(aval(shape, dtypes.bool_)),
        key,
    )

    def cond_fun(state: Any) -> Any:
        return bitwise.bitwise_not(reductions.reduce_and(state[1], axes=axes))

    def step(state: Any) -> Any:
        sample, is_done, key = state
        key, u_key, v_key = subkey_list(key, 3)
        u = unit_uniform(u_key, shape=shape, dtype=dtype) - 0.5
        v = unit_uniform(v_key, shape=shape, dtype=dtype)
        distance = 0.5 - arithmetic.abs_(u)
        candidate, acceptance_bound, passes_test = attempt(u, distance, v)
        is_central = comparison.ge(distance, literal(0.07, dtype))
        passes_squeeze = bitwise.bitwise_and(is_central, comparison.le(v, acceptance_bound))
        accept = bitwise.bitwise_or(passes_squeeze, passes_test)
        return selection.where(accept, candidate, sample), bitwise.bitwise_or(is_done, accept), key

    return while_loop(cond_fun, step, start)[0]
