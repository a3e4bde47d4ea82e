"""Counts of successes and of outcomes: binomial and multinomial samples.

Counts are floats, so that a count without a meaning is NaN. Their derivatives are zero.
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
    cumulative,
    reduction,
    selection,
    structural,
    transcendental,
)
from ..transforms.jit.function import jit
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .distributions import float_dtype, parameter, sample_shape, unit
from .prng import one_key, several, subkeys
from .rejection import accepted

__all__ = ["binomial", "multinomial"]

log, where = transcendental.log, selection.where
both, either, neither = bitwise.bitwise_and, bitwise.bitwise_or, bitwise.bitwise_not
_FEW = 10.0  # expected successes up to which they are counted one by one
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
    """Binomial samples: how many of n trials succeed, each with probability p.

    Args:
      key: a key.
      n: the number of trials, which broadcasts to `shape`; a fraction is dropped.
      p: the probability of success, which broadcasts to `shape`.
      shape: the shape of the result; that of the parameters by default.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`; NaN where n is negative or p isn't in [0, 1] or either is NaN.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters don't fit the shape.
    Example:
      >>> random.binomial(random.PRNGKey(0), 10, 0.3, (3,)).shape
      (3,)
    Source: Devroye (1986), “Non-uniform random variate generation”, X.4, sums of geometric
      waiting times; Hörmann (1993), “The generation of binomial random variates”, from 10 expected
      successes on.
    """
    data, dtype = one_key("binomial", key), float_dtype("binomial", dtype)
    wide = _wide(dtype)
    n, p = parameter("binomial", n, "n", wide), parameter("binomial", p, "p", wide)
    whole = sample_shape("binomial", shape, n=n, p=p)
    return cast(_binomial(data, structural.widen(n, whole), structural.widen(p, whole)), dtype)


def _wide(dtype: Any) -> Any:
    """The dtype to compute in: halves have too few digits for the logarithms of counts."""
    return dtypes.float32 if dtype.itemsize < 4 else dtype


def _counts(key: Any, n: Any, p: Any) -> Any:
    """Binomial samples for parameters of one shape."""
    dtype = n.dtype

    def number(x: float) -> Any:
        return literal(x, dtype)

    rarely = comparison.lt(p, number(0.5))
    q = where(rarely, p, 1.0 - p)
    bad = either(neither(comparison.ge(n, number(0.0))), neither(comparison.ge(q, number(0.0))))
    endless = comparison.eq(n, number(math.inf))
    q = where(bad, number(0.01), q)
    few = either(either(bad, endless), comparison.le(n * q, number(_FEW)))
    whole = arithmetic.floor(n)
    one_by_one = _by_waiting(key, where(few, where(endless, number(-1.0), whole), number(0.0)), q)
    at_once = _by_rejection(key, where(few, number(1e4), whole), where(few, number(0.5), q))
    count = where(few, one_by_one, at_once)
    count = where(rarely, count, whole - count)
    count = where(endless, where(comparison.gt(p, number(0.0)), number(math.inf), p), count)
    return where(bad, number(math.nan), count)


_binomial = jit(_counts)


def _by_waiting(key: Any, n: Any, p: Any) -> Any:
    """The number of geometric waiting times that fit into n."""
    shape, dtype = n.shape, n.dtype
    axes = tuple(range(len(shape)))
    scale = transcendental.log1p(-p)

    def more(state: Any) -> Any:
        return reduction.reduce_or(comparison.le(state[1], n), axes=axes)

    def step(state: Any) -> Any:
        count, passed, key = state
        for_wait, key = several(key)
        count = where(comparison.le(passed, n), count + 1.0, count)
        wait = arithmetic.ceil(log(unit(for_wait, shape=shape, dtype=dtype)) / scale)
        return count, passed + wait, key

    zeros = structural.zeros(aval(shape, dtype))
    count, _, _ = while_loop(more, step, (zeros, zeros, key))
    return count - 1.0


def _tail(k: Any) -> Any:
    """The error of Stirling's formula for log(k!)."""
    dtype = k.dtype
    small = arithmetic.min_(arithmetic.max_(k, literal(0.0, dtype)), literal(9.0, dtype))
    table = Array(np.array(_TAILS, dtype), aval((10,), dtype))
    known = take(table, cast(small, dtypes.int32))
    next_ = k + 1.0
    square = next_ * next_
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / next_
    return where(comparison.le(k, literal(9.0, dtype)), known, series)


def _by_rejection(key: Any, n: Any, p: Any) -> Any:
    """Hörmann's BTRS; the constants are the paper's."""
    shape, dtype = n.shape, n.dtype
    spread = arithmetic.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    safe = 0.92 - 4.2 / b
    odds = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * spread
    mode = arithmetic.floor((n + 1.0) * p)

    def number(x: float) -> Any:
        return literal(x, dtype)

    def attempt(u: Any, inside: Any, v: Any) -> tuple[Any, Any, Any]:
        k = arithmetic.floor((2.0 * a / inside + b) * u + centre)
        outside = either(comparison.lt(k, number(0.0)), comparison.gt(k, n))
        height = log(v * alpha / (a / (inside * inside) + b))
        target = (
            (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + (n + 1.0) * log((n - mode + 1.0) / (n - k + 1.0))
            + (k + 0.5) * log(odds * (n - k + 1.0) / (k + 1.0))
            + (_tail(mode) + _tail(n - mode) - _tail(k) - _tail(n - k))
        )
        return k, safe, both(neither(outside), comparison.le(height, target))

    return accepted(attempt, key, shape, dtype)


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
    """Multinomial samples: how often each outcome comes in n trials.

    Args:
      key: a key.
      n: the number of trials, which broadcasts to `shape`.
      p: float[…,k], the probabilities (or weights) of the outcomes along the last axis; the others
        broadcast to `shape`.
      shape: the shape of the result without its last axis; that of p without it by default.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      unroll: how many outcomes are drawn in one step of the loop over them, as in `lax.scan`.
    Returns: array of `shape` and an axis of length k, along which the counts sum to n.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters don't fit the shape.
    Example:
      >>> counts = random.multinomial(random.PRNGKey(0), 10, np.array([0.2, 0.3, 0.5]))
      >>> counts.sum().item()
      10.0
    Source: each count is binomial, given those before it (Devroye 1986, XI.1).
    """
    data, dtype = one_key("multinomial", key), float_dtype("multinomial", dtype)
    wide = _wide(dtype)
    trials = parameter("multinomial", n, "n", wide)
    weights = parameter("multinomial", p, "p", wide)
    if not weights.ndim:
        raise ShapeError("multinomial: p must have at least one axis; got a scalar")
    wanted = weights.shape[:-1] if shape is None else shape_tuple("multinomial", shape)
    k = weights.shape[-1]
    for name, x, to in (("n", trials, wanted), ("p", weights, (*wanted, k))):
        if not _broadcasts(x.shape, to):
            raise ShapeError(
                f"multinomial: {name} must broadcast to shape {to}; got {x.aval}\n"
                "  fix: shape is that of the result without its last axis"
            )
    trials = structural.widen(trials, wanted)
    weights = structural.widen(weights, (*wanted, k))
    return cast(_multinomial(data, trials, weights, unroll=unroll), dtype)


def _broadcasts(x: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(x, to) == to
    except ValueError:
        return False


def _outcomes(key: Any, n: Any, p: Any, *, unroll: int | bool) -> Any:
    last = p.ndim - 1
    first = (last, *range(last))
    rest = cumulative.cumsum(p, axis=last, reverse=True)
    zero = comparison.eq(rest, literal(0.0, p.dtype))
    shares = structural.transpose(p / where(zero, literal(1.0, p.dtype), rest), permutation=first)

    def step(left: Any, given: Any) -> Any:
        share, key = given
        share = arithmetic.min_(
            arithmetic.max_(share, literal(0.0, p.dtype)), literal(1.0, p.dtype)
        )
        count = _counts(key, left, share)
        return left - count, count

    _, counts = scan(step, n, (shares, subkeys(key, (p.shape[-1],))), unroll=unroll)
    return structural.transpose(counts, permutation=(*range(1, p.ndim), 0))


_multinomial = jit(_outcomes, static_argnames="unroll")
