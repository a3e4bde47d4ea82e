"""The gamma distribution and others based on it: gamma, loggamma, chisquare, f, t.

Each element has its own key and rejection loop (Marsaglia and Tsang), so a sample depends on its
key and parameters only. Samples are differentiable with respect to the shape parameter.
"""

from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..lax.loops import while_loop
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    exponential,
    incomplete_gamma_beta,
    structural,
)
from ..primitives.exponential import exp, log
from ..primitives.selection import where
from ..transforms.custom_derivatives import custom_jvp
from ..transforms.jit.function import jit
from ..transforms.vmap import vmap
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import with_parameters
from .keys import subkey_list, subkeys
from .normal import gauss
from .uniform import unit_uniform

__all__ = ["chisquare", "f", "gamma", "loggamma", "t"]


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
      shape: the shape of the result; by default the shape of the parameters.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`. Differentiable in `a`; samples for small `a` may round to 0: see
      `loggamma`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast to
      the shape.
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
    """Logarithms of gamma samples, accurate even where the samples underflow.

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
    flat_a = structural.reshape(a, shape=(a.size,))
    samples = (_log_samples if logarithm else _samples)(keys, flat_a)
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
    return x, tangents[1] * incomplete_gamma_beta.random_gamma_grad(a, x)


@_log_samples.defjvp
def _(primals: Any, tangents: Any) -> Any:
    _, a = primals
    y = _log_samples(*primals)
    x = exp(y)
    smallest_normal = literal(float(dtypes.finfo(y.dtype).tiny), y.dtype)
    # for small x the samples are (a Γ(a) u)**(1/a), so that log x changes by -log(x) / a
    small_slope = -y / a
    return y, tangents[1] * where(
        comparison.lt(x, smallest_normal),
        small_slope,
        incomplete_gamma_beta.random_gamma_grad(a, x) / arithmetic.max_(x, smallest_normal),
    )


# The rules are derivatives of the distribution. The sampler's steps, for a fixed key, have others.
_samples.check_derivatives = _log_samples.check_derivatives = False

_drawn = jit(vmap(lambda key, a: _sample(key, a, logarithm=False)))
_log_drawn = jit(vmap(lambda key, a: _sample(key, a, logarithm=True)))


def _sample(key: Any, a: Any, logarithm: bool) -> Any:
    """One gamma sample. For a < 1 it is one of a + 1, times u**(1/a)."""
    dtype = a.dtype
    zero, one = literal(0.0, dtype), literal(1.0, dtype)
    is_large = comparison.ge(a, one)
    d = where(is_large, a, a + 1.0) - 1.0 / 3.0
    c = (1.0 / 3.0) / arithmetic.sqrt(d)

    def rejected(state: Any) -> Any:
        _, square, cube, u = state
        fails_squeeze = comparison.ge(u, 1.0 - 0.0331 * (square * square))
        fails_test = comparison.ge(log(u), square * 0.5 + d * ((1.0 - cube) + log(cube)))
        return bitwise.bitwise_and(fails_squeeze, fails_test)

    def attempt(state: Any) -> Any:
        key, normal_key, uniform_key = subkey_list(state[0], 3)

        def draw_normal(normal_state: Any) -> Any:
            key, subkey = subkey_list(normal_state[0])
            x = gauss(subkey, shape=(), dtype=dtype)
            return key, x, 1.0 + x * c

        start = (normal_key, zero * a, -one + zero * a)
        _, x, v = while_loop(
            lambda normal_state: comparison.le(normal_state[2], zero), draw_normal, start
        )
        return key, x * x, v * v * v, unit_uniform(uniform_key, shape=(), dtype=dtype)

    key, boost_key = subkey_list(key)
    start = (key, zero * a, one + zero * a, literal(2.0, dtype) + zero * a)
    _, _, cube, _ = while_loop(rejected, attempt, start)
    u = unit_uniform(boost_key, shape=(), dtype=dtype)
    if logarithm:
        boost = exponential.log1p(-u) / a
        boost = where(bitwise.bitwise_or(is_large, comparison.eq(u, zero)), zero, boost)
        return log(d) + log(cube) + boost
    boost = exponential.pow_(1.0 - u, 1.0 / a)
    return d * cube * where(is_large, one, boost)


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
    (data, numerator_df, denominator_df), options = with_parameters(
        "f", key, shape, dtype, dfnum=dfnum, dfden=dfden
    )
    denominator_key, numerator_key = subkey_list(data)
    x, y = (
        gammas(k, n * 0.5, options["shape"], logarithm=False) / n
        for k, n in ((numerator_key, numerator_df), (denominator_key, denominator_df))
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
    normal_key, gamma_key = subkey_list(data)
    half = freedom / 2.0
    scale = arithmetic.sqrt(half / gammas(gamma_key, half, options["shape"], logarithm=False))
    return gauss(normal_key, **options) * scale
