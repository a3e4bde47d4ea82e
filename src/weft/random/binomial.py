"""Counts of successes and of outcomes: binomial, multinomial.

Samples with small expected counts sum geometric waiting times; larger ones use transformed
rejection (Hörmann's BTRS). Counts are floats, so that undefined counts can be NaN; their
derivatives are zero.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..lax.loops import scan, while_loop
from ..numpy.axes import shape_tuple
from ..numpy.promotion import cast
from ..numpy.taking import take
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    creation,
    cumulative,
    exponential,
    reductions,
    structural,
)
from ..primitives.exponential import log
from ..primitives.selection import where
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype, parameter, sample_shape
from .keys import one_key, subkey_list, subkeys
from .poisson import rejection_samples
from .uniform import unit_uniform

__all__ = ["binomial", "multinomial"]


both, either, neither = bitwise.bitwise_and, bitwise.bitwise_or, bitwise.bitwise_not
_MAX_WAITING_SUCCESSES = 10.0  # up to here, successes are counted one by one
# log(k!) without Stirling's first terms, for k < 10; the series is exact enough from there
_TAILS = [
    math.lgamma(k + 1) - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
    for k in range(10)
]


# --- binomial ---


@located
def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Binomial samples: the number of successes in n trials of probability p.

    Args:
      key: a key.
      n: the number of trials, which broadcasts to `shape`; fractions are truncated.
      p: the probability of success, which broadcasts to `shape`.
      shape: the shape of the result; by default the shape of the parameters.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`; NaN where n is negative, p is not in [0, 1], or either is NaN.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast to
      the shape.
    Example:
      >>> random.binomial(random.PRNGKey(0), 10, 0.3, (3,)).shape
      (3,)
    Source: Devroye (1986), “Non-uniform random variate generation”, X.4, sums of geometric
      waiting times; Hörmann (1993), “The generation of binomial random variates”, from 10 expected
      successes on.
    """
    data, dtype = one_key("binomial", key), float_dtype("binomial", dtype)
    compute_dtype = _wide(dtype)
    n, p = (
        parameter("binomial", n, "n", compute_dtype),
        parameter("binomial", p, "p", compute_dtype),
    )
    result_shape = sample_shape("binomial", shape, n=n, p=p)
    return cast(
        _binomial(data, structural.widen(n, result_shape), structural.widen(p, result_shape)), dtype
    )


def _wide(dtype: Any) -> Any:
    """The dtype to compute in: 16-bit floats are too coarse for the logarithms of counts."""
    return dtypes.float32 if dtype.itemsize < 4 else dtype


def _counts(key: Any, n: Any, p: Any) -> Any:
    """Binomial samples for parameters of one shape."""
    dtype = n.dtype

    def number(x: float) -> Any:
        return literal(x, dtype)

    is_below_half = comparison.lt(p, number(0.5))
    q = where(is_below_half, p, 1.0 - p)
    is_invalid = either(
        neither(comparison.ge(n, number(0.0))), neither(comparison.ge(q, number(0.0)))
    )
    is_infinite = comparison.eq(n, number(math.inf))
    q = where(is_invalid, number(0.01), q)
    is_small = either(
        either(is_invalid, is_infinite), comparison.le(n * q, number(_MAX_WAITING_SUCCESSES))
    )
    trials = arithmetic.floor(n)
    waiting_count = _by_waiting(
        key, where(is_small, where(is_infinite, number(-1.0), trials), number(0.0)), q
    )
    rejection_count = _by_rejection(
        key, where(is_small, number(1e4), trials), where(is_small, number(0.5), q)
    )
    count = where(is_small, waiting_count, rejection_count)
    count = where(is_below_half, count, trials - count)
    count = where(is_infinite, where(comparison.gt(p, number(0.0)), number(math.inf), p), count)
    return where(is_invalid, number(math.nan), count)


_binomial = jit(_counts)


def _by_waiting(key: Any, n: Any, p: Any) -> Any:
    """The number of geometric waiting times whose sum is at most n."""
    shape, dtype = n.shape, n.dtype
    axes = tuple(range(len(shape)))
    scale = exponential.log1p(-p)

    def is_unfinished(state: Any) -> Any:
        return reductions.reduce_or(comparison.le(state[1], n), axes=axes)

    def step(state: Any) -> Any:
        count, total_wait, key = state
        wait_key, key = subkey_list(key)
        count = where(comparison.le(total_wait, n), count + 1.0, count)
        wait = arithmetic.ceil(log(unit_uniform(wait_key, shape=shape, dtype=dtype)) / scale)
        return count, total_wait + wait, key

    zeros = creation.zeros(aval(shape, dtype))
    count, _, _ = while_loop(is_unfinished, step, (zeros, zeros, key))
    return count - 1.0


def _tail(k: Any) -> Any:
    """The error of Stirling's formula for log(k!)."""
    dtype = k.dtype
    index = arithmetic.min_(arithmetic.max_(k, literal(0.0, dtype)), literal(9.0, dtype))
    table = Array(np.array(_TAILS, dtype), aval((10,), dtype))
    tabulated = take(table, cast(index, dtypes.int32))
    k_plus_1 = k + 1.0
    square = k_plus_1 * k_plus_1
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / k_plus_1
    return where(comparison.le(k, literal(9.0, dtype)), tabulated, series)


def _by_rejection(key: Any, n: Any, p: Any) -> Any:
    """Hörmann's BTRS; with the constants of the paper."""
    shape, dtype = n.shape, n.dtype
    deviation = arithmetic.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    acceptance_bound = 0.92 - 4.2 / b
    odds = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = arithmetic.floor((n + 1.0) * p)

    def number(x: float) -> Any:
        return literal(x, dtype)

    def attempt(u: Any, distance: Any, v: Any) -> tuple[Any, Any, Any]:
        k = arithmetic.floor((2.0 * a / distance + b) * u + centre)
        is_outside = either(comparison.lt(k, number(0.0)), comparison.gt(k, n))
        height = log(v * alpha / (a / (distance * distance) + b))
        target = (
            (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + (n + 1.0) * log((n - mode + 1.0) / (n - k + 1.0))
            + (k + 0.5) * log(odds * (n - k + 1.0) / (k + 1.0))
            + (_tail(mode) + _tail(n - mode) - _tail(k) - _tail(n - k))
        )
        return k, acceptance_bound, both(neither(is_outside), comparison.le(height, target))

    return rejection_samples(attempt, key, shape, dtype)


# --- multinomial ---


@located
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Multinomial samples: the number of times that each outcome occurs in n trials.

    Args:
      key: a key.
      n: the number of trials, which broadcasts to `shape`.
      p: float[…,k], the probabilities (or weights) of the outcomes along the last axis; the others
        broadcast to `shape`.
      shape: the shape of the result without its last axis; by default the shape of p without it.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      unroll: the number of outcomes drawn in one step of the loop, as in `lax.scan`.
    Returns: array of `shape` and an axis of length k, along which the counts sum to n.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast to
      the shape.
    Example:
      >>> counts = random.multinomial(random.PRNGKey(0), 10, np.array([0.2, 0.3, 0.5]))
      >>> counts.sum().item()
      10.0
    Source: each count is binomial, given the counts before it (Devroye 1986, XI.1).
    """
    data, dtype = one_key("multinomial", key), float_dtype("multinomial", dtype)
    compute_dtype = _wide(dtype)
    trials = parameter("multinomial", n, "n", compute_dtype)
    weights = parameter("multinomial", p, "p", compute_dtype)
    if not weights.ndim:
        raise ShapeError("multinomial: p must have at least one axis; got a scalar")
    batch_shape = weights.shape[:-1] if shape is None else shape_tuple("multinomial", shape)
    k = weights.shape[-1]
    for name, x, target_shape in (("n", trials, batch_shape), ("p", weights, (*batch_shape, k))):
        if not _broadcasts(x.shape, target_shape):
            raise ShapeError(
                f"multinomial: {name} must broadcast to shape {target_shape}; got {x.aval}\n"
                "  fix: pass the shape of the result without its last axis"
            )
    trials = structural.widen(trials, batch_shape)
    weights = structural.widen(weights, (*batch_shape, k))
    return cast(_multinomial(data, trials, weights, unroll=unroll), dtype)


def _broadcasts(shape: tuple[int, ...], target_shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target_shape) == target_shape
    except ValueError:
        return False


def _outcomes(key: Any, n: Any, p: Any, *, unroll: int | bool) -> Any:
    last_axis = p.ndim - 1
    order = (last_axis, *range(last_axis))
    remaining_weight = cumulative.cumsum(p, axis=last_axis, reverse=True)
    is_zero = comparison.eq(remaining_weight, literal(0.0, p.dtype))
    fractions = structural.transpose(
        p / where(is_zero, literal(1.0, p.dtype), remaining_weight), permutation=order
    )

    def step(remaining_trials: Any, weights: Any) -> Any:
        fraction, key = weights
        fraction = arithmetic.min_(
            arithmetic.max_(fraction, literal(0.0, p.dtype)), literal(1.0, p.dtype)
        )
        count = _counts(key, remaining_trials, fraction)
        return remaining_trials - count, count

    _, counts = scan(step, n, (fractions, subkeys(key, (p.shape[-1],))), unroll=unroll)
    return structural.transpose(counts, permutation=(*range(1, p.ndim), 0))


_multinomial = jit(_outcomes, static_argnames="unroll")
