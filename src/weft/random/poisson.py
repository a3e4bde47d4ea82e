"""Poisson samples: poisson. For small means it multiplies uniform numbers (Knuth); for larger means
it uses transformed rejection (Hörmann's PTRS). Each element has its own key and loop.

`accepted` is the loop of transformed rejection, also for binomial samples. It repeats attempts
until every element has an accepted one.
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
from ..numpy.creation import wanted_dtype
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
from .keys import one_key, several
from .uniform import unit

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
    result_dtype = wanted_dtype("poisson", dtype)
    result_dtype = dtypes.default_int() if result_dtype is None else result_dtype
    if not dtypes.is_integer(result_dtype):
        raise ShapeError(f"poisson: dtype must be an integer dtype; got {result_dtype}")
    data, mean = one_key("poisson", key), parameter("poisson", lam, "lam", dtypes.default_float())
    shape = sample_shape("poisson", shape, lam=mean)
    return _poisson(data, structural.widen(mean, shape), dtype=result_dtype)


def _poisson_of(key: Any, lam: Any, dtype: Any) -> Any:
    shape = lam.shape
    nan = comparison.ne(lam, lam)
    few = bitwise.bitwise_or(nan, comparison.lt(lam, literal(10.0, lam.dtype)))
    small = _by_products(key, where(few, lam, literal(0.0, lam.dtype)), shape, dtype)
    large = _by_rejection(key, where(few, literal(1e5, lam.dtype), lam), shape)
    counts = where(few, small, cast(large, dtype))
    zero = comparison.eq(lam, literal(0.0, lam.dtype))
    return where(zero, literal(0, dtype), counts)


_poisson = jit(_poisson_of, static_argnames="dtype")


def _by_products(key: Any, lam: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Counts uniform numbers until their product is below exp(-lam), and subtracts one."""
    limit = int(dtypes.iinfo(dtype).max)
    axes = tuple(range(len(shape)))

    def more(state: Any) -> Any:
        i, _, _, logarithm = state
        going = reductions.reduce_or(comparison.gt(logarithm, -lam), axes=axes)
        return bitwise.bitwise_and(going, comparison.lt(i, literal(min(limit, 2**31 - 1), i.dtype)))

    def step(state: Any) -> Any:
        i, count, key, logarithm = state
        key, subkey = several(key)
        one = literal(1, dtype)
        count = where(comparison.gt(logarithm, -lam), structural.add(count, one), count)
        u = unit(subkey, shape=shape, dtype=dtypes.float32)
        return i + 1, count, key, logarithm + cast(log(u), lam.dtype)

    start = (
        Array(np.int32(0), aval((), dtypes.int32)),
        creation.zeros(aval(shape, dtype)),
        key,
        creation.zeros(aval(shape, lam.dtype)),
    )
    _, count, _, _ = while_loop(more, step, start)
    return arithmetic.sub(count, literal(1, dtype))


def _by_rejection(key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """Hörmann's PTRS; with the constants of the paper."""
    dtype = lam.dtype
    b = 0.931 + 2.53 * arithmetic.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    safe = 0.9277 - 3.6224 / (b - 2.0)
    both, either = bitwise.bitwise_and, bitwise.bitwise_or

    def number(x: float) -> Any:
        return literal(x, dtype)

    def attempt(u: Any, inside: Any, v: Any) -> tuple[Any, Any, Any]:
        k = arithmetic.floor((2.0 * a / inside + b) * u + lam + 0.43)
        s = log(v * inverse_alpha / (a / (inside * inside) + b))
        target = k * log(lam) - lam - gamma_functions.lgamma(k + 1.0)
        outside = both(comparison.lt(inside, number(0.013)), comparison.gt(v, inside))
        refused = either(comparison.lt(k, number(0.0)), outside)
        return k, safe, both(bitwise.bitwise_not(refused), comparison.le(s, target))

    return accepted(attempt, key, shape, dtype)


def accepted(
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

    def more(state: Any) -> Any:
        return bitwise.bitwise_not(reductions.reduce_and(state[1], axes=axes))

    def step(state: Any) -> Any:
        sample, done, key = state
        key, for_u, for_v = several(key, 3)
        u = unit(for_u, shape=shape, dtype=dtype) - 0.5
        v = unit(for_v, shape=shape, dtype=dtype)
        inside = 0.5 - arithmetic.abs_(u)
        new, safe, otherwise = attempt(u, inside, v)
        middle = comparison.ge(inside, literal(0.07, dtype))
        quickly = bitwise.bitwise_and(middle, comparison.le(v, safe))
        accept = bitwise.bitwise_or(quickly, otherwise)
        return selection.where(accept, new, sample), bitwise.bitwise_or(done, accept), key

    return while_loop(more, step, start)[0]
