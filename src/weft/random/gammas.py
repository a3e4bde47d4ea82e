"""Samples made by rejection: gamma and what is made of it, Poisson.

Each element has a key of its own and a loop of its own, so that a sample depends on its key and
parameters alone. Gamma samples are differentiable in the shape parameter.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..lax.loops import while_loop
from ..numpy.axes import shape_tuple
from ..numpy.creation import wanted_dtype
from ..numpy.promotion import cast
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    incomplete,
    reduction,
    selection,
    special,
    structural,
    transcendental,
)
from ..transforms.custom_derivatives import custom_jvp
from ..transforms.jit.function import jit
from ..transforms.vmap import vmap
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .continuous import with_parameters
from .distributions import float_dtype, gauss, parameter, sample_shape, unit
from .prng import one_key, several, subkeys
from .rejection import accepted

__all__ = ["beta", "chisquare", "dirichlet", "f", "gamma", "loggamma", "poisson", "t"]

log, exp, where = transcendental.log, transcendental.exp, selection.where


# --- gamma ---


@located
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Gamma samples: density x**(a - 1) exp(-x) / Γ(a) for x > 0.

    Args:
      key: a key.
      a: the shape parameter, positive, which broadcasts to `shape`.
      shape: the shape of the result; that of the parameters by default.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`. Differentiable in `a`; for small `a` samples can be so small that
      they are rounded to 0: see `loggamma`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters don't fit the shape.
    Source: Marsaglia and Tsang (2000), “A simple method for generating gamma variables”.
    Example:
      >>> random.gamma(random.PRNGKey(0), 2.0, (3,)).shape
      (3,)
    """
    (data, a), options = with_parameters("gamma", key, shape, dtype, a=a)
    return gammas(data, a, options["shape"], logarithm=False)


@located
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Logarithms of gamma samples, exact where the samples themselves are too small for the dtype.

    Args: as in `gamma`.
    Returns: array of `shape`.
    Example:
      >>> random.loggamma(random.PRNGKey(0), 2.0, (3,)).shape
      (3,)
    """
    (data, a), options = with_parameters("loggamma", key, shape, dtype, a=a)
    return gammas(data, a, options["shape"], logarithm=True)


def gammas(key: Any, a: Any, shape: tuple[int, ...], logarithm: bool) -> Any:
    """Gamma samples of a shape, or their logarithms."""
    a = structural.widen(a, shape)
    keys = subkeys(key, (a.size,))
    flat = structural.reshape(a, shape=(a.size,))
    samples = (_log_samples if logarithm else _samples)(keys, flat)
    return structural.reshape(samples, shape=shape)


@custom_jvp
def _samples(keys: Any, a: Any) -> Any:
    return _drawn(keys, a)


@custom_jvp
def _log_samples(keys: Any, a: Any) -> Any:
    return _log_drawn(keys, a)


@_samples.defjvp
def _(primals: Any, tangents: Any) -> Any:
    _, a = primals
    x = _samples(*primals)
    return x, tangents[1] * incomplete.random_gamma_grad(a, x)


@_log_samples.defjvp
def _(primals: Any, tangents: Any) -> Any:
    _, a = primals
    y = _log_samples(*primals)
    x = exp(y)
    tiny = literal(float(dtypes.finfo(y.dtype).tiny), y.dtype)
    # for small x the samples are (a Γ(a) u)**(1/a), so that log x changes by -log(x) / a
    small = -y / a
    return y, tangents[1] * where(
        comparison.lt(x, tiny), small, incomplete.random_gamma_grad(a, x) / arithmetic.max_(x, tiny)
    )


_drawn = jit(vmap(lambda key, a: _sample(key, a, logarithm=False)))
_log_drawn = jit(vmap(lambda key, a: _sample(key, a, logarithm=True)))


def _sample(key: Any, a: Any, logarithm: bool) -> Any:
    """One gamma sample. For a < 1 it is one of a + 1, times u**(1/a)."""
    dtype = a.dtype
    zero, one = literal(0.0, dtype), literal(1.0, dtype)
    large = comparison.ge(a, one)
    d = where(large, a, a + 1.0) - 1.0 / 3.0
    c = (1.0 / 3.0) / arithmetic.sqrt(d)

    def rejected(state: Any) -> Any:
        _, square, cube, u = state
        quickly = comparison.ge(u, 1.0 - 0.0331 * (square * square))
        surely = comparison.ge(log(u), square * 0.5 + d * ((1.0 - cube) + log(cube)))
        return bitwise.bitwise_and(quickly, surely)

    def attempt(state: Any) -> Any:
        key, for_normal, for_uniform = several(state[0], 3)

        def once(inner: Any) -> Any:
            key, subkey = several(inner[0])
            x = gauss(subkey, shape=(), dtype=dtype)
            return key, x, 1.0 + x * c

        start = (for_normal, zero * a, -one + zero * a)
        _, x, v = while_loop(lambda inner: comparison.le(inner[2], zero), once, start)
        return key, x * x, v * v * v, unit(for_uniform, shape=(), dtype=dtype)

    key, for_boost = several(key)
    start = (key, zero * a, one + zero * a, literal(2.0, dtype) + zero * a)
    _, _, cube, _ = while_loop(rejected, attempt, start)
    u = unit(for_boost, shape=(), dtype=dtype)
    if logarithm:
        boost = transcendental.log1p(-u) / a
        boost = where(bitwise.bitwise_or(large, comparison.eq(u, zero)), zero, boost)
        return log(d) + log(cube) + boost
    boost = transcendental.pow_(1.0 - u, 1.0 / a)
    return d * cube * where(large, one, boost)


# --- made of gamma samples ---


@located
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Beta samples: density proportional to x**(a - 1) (1 - x)**(b - 1) on [0, 1].

    Args: as in `gamma`; a and b are positive.
    Returns: array of `shape`.
    Example:
      >>> random.beta(random.PRNGKey(0), 2.0, 3.0, (3,)).shape
      (3,)
    """
    (data, a, b), options = with_parameters("beta", key, shape, dtype, a=a, b=b)
    for_a, for_b = several(data)
    x = gammas(for_a, a, options["shape"], logarithm=True)
    y = gammas(for_b, b, options["shape"], logarithm=True)
    most = arithmetic.max_(x, y)
    x, y = exp(x - most), exp(y - most)
    return x / (x + y)


@located
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Chi-square samples: sums of df squares of normal samples.

    Args: as in `gamma`; `df` is positive.
    Returns: array of `shape`.
    Example:
      >>> random.chisquare(random.PRNGKey(0), 3.0, (3,)).shape
      (3,)
    """
    (data, freedom), options = with_parameters("chisquare", key, shape, dtype, df=df)
    return gammas(data, freedom * 0.5, options["shape"], logarithm=False) * 2.0


@located
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """F samples: ratios of chi-square samples, each divided by its degrees of freedom.

    Args: as in `gamma`; dfnum and dfden are positive.
    Returns: array of `shape`.
    Example:
      >>> random.f(random.PRNGKey(0), 3.0, 4.0, (3,)).shape
      (3,)
    """
    (data, top, bottom), options = with_parameters("f", key, shape, dtype, dfnum=dfnum, dfden=dfden)
    for_bottom, for_top = several(data)
    x, y = (
        gammas(k, n * 0.5, options["shape"], logarithm=False) / n
        for k, n in ((for_top, top), (for_bottom, bottom))
    )
    return x / y


@located
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Student's t samples.

    Args: as in `gamma`; `df` is positive.
    Returns: array of `shape`.
    Example:
      >>> random.t(random.PRNGKey(0), 3.0, (3,)).shape
      (3,)
    """
    (data, freedom), options = with_parameters("t", key, shape, dtype, df=df)
    for_normal, for_gamma = several(data)
    half = freedom / 2.0
    scale = arithmetic.sqrt(half / gammas(for_gamma, half, options["shape"], logarithm=False))
    return gauss(for_normal, **options) * scale


@located
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Dirichlet samples: vectors of positive numbers whose sum is 1.

    Args:
      key: a key.
      alpha: positive floats […,n], the concentrations.
      shape: the shape of the result without the last axis; by default that of `alpha` without it.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape` and an axis of length n.
    Raises: TypeError: not a key, or not a float dtype. ValueError: alpha doesn't fit the shape.
    Example:
      >>> random.dirichlet(random.PRNGKey(0), np.array([1.0, 2.0, 3.0]), (2,)).shape
      (2, 3)
    """
    data, dtype = one_key("dirichlet", key), float_dtype("dirichlet", dtype)
    weights = parameter("dirichlet", alpha, "alpha", dtype)
    if not weights.ndim:
        raise ShapeError("dirichlet: alpha must have at least one axis; got a scalar")
    rest, n = weights.shape[:-1], weights.shape[-1:]
    wanted = rest if shape is None else shape_tuple("dirichlet", shape)
    whole = sample_shape("dirichlet", (*wanted, *n), alpha=weights)
    x = gammas(data, weights, whole, logarithm=True)
    last = (len(wanted),)
    most = selection.stop_gradient(reduction.reduce_max(x, axes=last))
    x = exp(x - structural.reshape(most, shape=(*wanted, 1)))
    total = structural.reshape(structural.reduce_sum(x, axes=last), shape=(*wanted, 1))
    return x / total


# --- Poisson ---


@located
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Poisson samples: how many events there are where lam are expected.

    Args:
      key: a key.
      lam: the mean, not negative, which broadcasts to `shape`.
      shape: the shape of the result; that of lam by default.
      dtype: an integer dtype; int32 by default (int64 with x64 on).
    Returns: array of `shape`; -1 where lam is NaN.
    Raises: TypeError: not a key, or not an integer dtype. ValueError: lam doesn't fit the shape.
    Source: Knuth's product of uniform numbers for lam < 10; Hörmann (1993), “The transformed
      rejection method for generating Poisson random variables”, beyond.
    Example:
      >>> random.poisson(random.PRNGKey(0), 4.0, (3,)).dtype
      dtype('int32')
    """
    wanted = wanted_dtype("poisson", dtype)
    wanted = dtypes.default_int() if wanted is None else wanted
    if not dtypes.is_integer(wanted):
        raise ShapeError(f"poisson: dtype must be an integer dtype; got {wanted}")
    data, mean = one_key("poisson", key), parameter("poisson", lam, "lam", dtypes.default_float())
    shape = sample_shape("poisson", shape, lam=mean)
    return _poisson(data, structural.widen(mean, shape), dtype=wanted)


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
    """The number of uniform numbers that can be multiplied until the product is below exp(-lam)."""
    limit = int(dtypes.iinfo(dtype).max)
    axes = tuple(range(len(shape)))

    def more(state: Any) -> Any:
        i, _, _, logarithm = state
        going = reduction.reduce_or(comparison.gt(logarithm, -lam), axes=axes)
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
        structural.zeros(aval(shape, dtype)),
        key,
        structural.zeros(aval(shape, lam.dtype)),
    )
    _, count, _, _ = while_loop(more, step, start)
    return arithmetic.sub(count, literal(1, dtype))


def _by_rejection(key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """Hörmann's PTRS; the constants are the paper's."""
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
        target = k * log(lam) - lam - special.lgamma(k + 1.0)
        outside = both(comparison.lt(inside, number(0.013)), comparison.gt(v, inside))
        refused = either(comparison.lt(k, number(0.0)), outside)
        return k, safe, both(bitwise.bitwise_not(refused), comparison.le(s, target))

    return accepted(attempt, key, shape, dtype)
