"""Continuous distributions with a closed form: cauchy, double_sided_maxwell, exponential, gumbel,
laplace, logistic, maxwell, pareto, rayleigh, triangular, wald, weibull_min.

A sample is the inverse of the distribution function at a uniform number, or a function of a few
normal and uniform samples. All are differentiable with respect to their parameters.
"""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..numpy.axes import shape_tuple
from ..numpy.promotion import cast
from ..primitives import (
    arithmetic,
    comparison,
    error_functions,
    selection,
    structural,
    trigonometric,
)
from ..primitives.exponential import exp, log, log1p, pow_
from ..transforms.custom_derivatives import custom_jvp
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import drawing_mode, sampler, with_parameters, without_parameters
from .discrete import bernoulli_samples
from .keys import subkey_list
from .normal import gauss
from .uniform import coarse_and_fine, uniform_between, unit_uniform

__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "maxwell",
    "pareto",
    "rayleigh",
    "triangular",
    "wald",
    "weibull_min",
]


def _open_unit(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform floats from the smallest normal number to 1, so that their logarithm is finite."""
    smallest_normal = literal(float(dtypes.finfo(dtype).tiny), dtype)
    return uniform_between(key, smallest_normal, literal(1.0, dtype), shape=shape, dtype=dtype)


# --- without parameters ---


@located
def exponential(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Exponential samples: density exp(-x) for x >= 0.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype.
    Example:
      >>> random.exponential(random.PRNGKey(0)).shape
      ()
    """
    data, options = without_parameters("exponential", key, shape, dtype)
    return _exponential(data, **options)


@sampler
def _exponential(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return -log1p(-unit_uniform(key, shape=shape, dtype=dtype))


@located
def gumbel(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
) -> Array:
    """Gumbel samples: distribution function exp(-exp(-x)).

    Args:
      key, shape, dtype: as in `exponential`.
      mode: "low", the default, or "high", which draws two random numbers for each sample: float32
        samples reach up to 32 with "high", and to 16 with "low".
    Returns: array of `shape`.
    Raises: as `exponential`. ValueError: `mode` is invalid.
    Example:
      >>> random.gumbel(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    """
    data, options = without_parameters("gumbel", key, shape, dtype)
    return gumbels(data, **options, mode=drawing_mode("gumbel", mode))


@sampler
def gumbels(key: Any, *, shape: tuple[int, ...], dtype: Any, mode: str = "low") -> Any:
    """Gumbel samples."""
    if mode == "low":
        return -log(-log(_open_unit(key, shape, dtype)))
    # numbers near 0 become the large samples; floats are finest there
    coarse, fine = coarse_and_fine(key, shape, dtype)
    smallest_normal = literal(float(dtypes.finfo(dtype).tiny), dtype)
    is_upper = comparison.ge(coarse, literal(0.5, dtype))  # a sum near 1 might be rounded to 1
    return -log(-log1p(-selection.where(is_upper, coarse, coarse + fine + smallest_normal)))


@located
def laplace(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Laplace samples: density exp(-|x|) / 2.

    Args: as in `exponential`.
    Returns: array of `shape`.
    Example:
      >>> random.laplace(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    """
    data, options = without_parameters("laplace", key, shape, dtype)
    return _laplace(data, **options)


@sampler
def _laplace(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    low = literal(-1.0 + float(dtypes.finfo(dtype).epsneg), dtype)
    u = uniform_between(key, low, literal(1.0, dtype), shape=shape, dtype=dtype)
    return arithmetic.sign(u) * log1p(-arithmetic.abs_(u))


@located
def logistic(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Logistic samples: distribution function 1 / (1 + exp(-x)).

    Args: as in `exponential`.
    Returns: array of `shape`.
    Example:
      >>> random.logistic(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    """
    data, options = without_parameters("logistic", key, shape, dtype)
    return _logistic(data, **options)


@sampler
def _logistic(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    u = _open_unit(key, shape, dtype)
    return log(u / (1.0 - u))


@located
def cauchy(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Cauchy samples: density 1 / (π (1 + x²)).

    Args: as in `exponential`.
    Returns: array of `shape`.
    Example:
      >>> random.cauchy(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    """
    data, options = without_parameters("cauchy", key, shape, dtype)
    return _cauchy(data, **options)


@sampler
def _cauchy(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    low = literal(float(dtypes.finfo(dtype).eps), dtype)
    u = uniform_between(key, low, literal(1.0, dtype), shape=shape, dtype=dtype)
    return trigonometric.tan((u - 0.5) * math.pi)


@located
def maxwell(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Maxwell samples: lengths of vectors of three normal samples.

    Args: as in `exponential`.
    Returns: array of `shape`.
    Example:
      >>> random.maxwell(random.PRNGKey(0), (2, 3)).shape
      (2, 3)
    """
    data, options = without_parameters("maxwell", key, shape, dtype)
    return _maxwell(data, **options)


@sampler
def _maxwell(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = gauss(key, shape=(*shape, 3), dtype=dtype)
    return arithmetic.sqrt(structural.reduce_sum(x * x, axes=(len(shape),)))


# --- with parameters ---


@located
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples of the Maxwell distribution, mirrored at its location: ± scale · maxwell + loc.

    Args:
      key: a key.
      loc, scale: the parameters, which broadcast together.
      shape: the shape of the samples for each element of the parameters, before their axes.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape` followed by the shape of the parameters.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast.
    Example:
      >>> random.double_sided_maxwell(random.PRNGKey(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    leading_shape = shape_tuple("double_sided_maxwell", shape)
    args, options = with_parameters("double_sided_maxwell", key, None, dtype, loc=loc, scale=scale)
    options["shape"] = (*leading_shape, *options["shape"])
    return _double_sided_maxwell(*args, **options)


@sampler
def _double_sided_maxwell(
    key: Any, loc: Any, scale: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    magnitude_key, sign_key = subkey_list(key)
    half = literal(0.5, dtypes.default_float())
    signs = cast(bernoulli_samples(sign_key, half, shape=shape), dtype) * 2.0 - 1.0
    return loc + scale * (signs * _maxwell(magnitude_key, shape=shape, dtype=dtype))


@located
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Weibull samples: distribution function 1 - exp(-(x / scale)**concentration).

    Args:
      key: a key.
      scale, concentration: the parameters, which broadcast to `shape`.
      shape: the shape of the result; by default the shape to which the parameters broadcast.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast to
      the shape.
    Example:
      >>> random.weibull_min(random.PRNGKey(0), 1.0, 2.0, (3,)).shape
      (3,)
    """
    args, options = with_parameters(
        "weibull_min", key, shape or None, dtype, scale=scale, concentration=concentration
    )
    return _weibull_min(*args, **options)


@sampler
def _weibull_min(
    key: Any, scale: Any, concentration: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    e = -log1p(-unit_uniform(key, shape=shape, dtype=dtype))
    return scale * pow_(e, 1.0 / concentration)


@located
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Pareto samples: distribution function 1 - x**-b for x >= 1.

    Args:
      key: a key.
      b: the exponent, positive, which broadcasts to `shape`.
      shape: the shape of the result; by default the shape of the parameters.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: parameters do not broadcast to
      the shape.
    Example:
      >>> random.pareto(random.PRNGKey(0), 2.0, (3,)).shape
      (3,)
    """
    args, options = with_parameters("pareto", key, shape, dtype, b=b)
    return _pareto(*args, **options)


@sampler
def _pareto(key: Any, b: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return exp(_exponential(key, shape=shape, dtype=dtype) / b)


@located
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Rayleigh samples: distribution function 1 - exp(-(x / scale)² / 2).

    Args: as in `pareto`; `scale` is positive.
    Returns: array of `shape`.
    Example:
      >>> random.rayleigh(random.PRNGKey(0), 2.0, (3,)).shape
      (3,)
    """
    args, options = with_parameters("rayleigh", key, shape, dtype, scale=scale)
    return _rayleigh(*args, **options)


@sampler
def _rayleigh(key: Any, scale: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    u = _open_unit(key, shape, dtype)
    return arithmetic.sqrt(log(u) * -2.0) * scale


@located
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples whose density rises from `left` to `mode` and falls to `right`.

    Args: as in `pareto`; left <= mode <= right, and left < right.
    Returns: array of `shape`.
    Example:
      >>> random.triangular(random.PRNGKey(0), -1.0, 0.0, 1.0, (3,)).shape
      (3,)
    """
    args, options = with_parameters(
        "triangular", key, shape, dtype, left=left, mode=mode, right=right
    )
    return _triangular(*args, **options)


@sampler
def _triangular(
    key: Any, left: Any, mode: Any, right: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    u = unit_uniform(key, shape=shape, dtype=dtype)
    width = right - left
    rising_value = left + arithmetic.sqrt(u * width * (mode - left))
    falling_value = right - arithmetic.sqrt((1.0 - u) * width * (right - mode))
    return selection.where(comparison.lt(u, (mode - left) / width), rising_value, falling_value)


@located
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Wald (inverse Gaussian) samples with a given mean and scale 1.

    Args: as in `pareto`; `mean` is positive.
    Returns: array of `shape`.
    Example:
      >>> random.wald(random.PRNGKey(0), 2.0, (3,)).shape
      (3,)
    """
    (data, mean), options = with_parameters("wald", key, shape, dtype, mean=mean)
    return _wald(data, structural.widen(mean, options["shape"]))


@custom_jvp
def _wald(key: Any, mean: Any) -> Any:
    return _random_root(key, mean, shape=mean.shape, dtype=mean.dtype)


@sampler
def _random_root(key: Any, mean: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    # Michael, Schucany and Haas (1976): one of two roots, chosen by a uniform number
    root_key, choice_key = subkey_list(key)
    v = gauss(root_key, shape=shape, dtype=dtype)
    y, squared = v * v, mean * mean
    root = arithmetic.sqrt(4.0 * mean * y + squared * (y * y))
    x = mean + (squared * y / 2.0 - mean / 2.0 * root)
    z = unit_uniform(choice_key, shape=shape, dtype=dtype)
    return selection.where(comparison.le(z, mean / (mean + x)), x, squared / x)


@_wald.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # The roots' own derivatives miss that the choice between them depends on the mean. So it is
    # -(dF/dmean) / F', of the distribution function F(x; mean).
    _, mean = primals
    x = _wald(*primals)
    ratio = mills_ratio((x / mean + 1.0) / arithmetic.sqrt(x))
    return x, tangents[1] * (2.0 * (x * arithmetic.sqrt(x)) / (mean * mean) * ratio)


_wald.check_derivatives = False  # the rule is not the derivative of the sampler's steps


def mills_ratio(x: Any) -> Any:
    """The Mills ratio (1 - Φ(x)) / φ(x) of the normal distribution, for x >= 0.

    Source: DLMF 7.12.1, the asymptotic series, where erfc is too small for the dtype.
    """
    limit = 30.0 if x.dtype == dtypes.float64 else 3.0 if x.dtype == dtypes.float16 else 12.0
    is_large = comparison.gt(x, literal(limit, x.dtype))
    x_small = selection.where(is_large, literal(1.0, x.dtype), x)
    exact_value = (
        exp(x_small * x_small / 2.0)
        * error_functions.erfc(x_small * math.sqrt(0.5))
        * math.sqrt(math.pi / 2)
    )
    s = 1.0 / (x * x)
    series = (1.0 - s * (1.0 - s * (3.0 - s * (15.0 - s * 105.0)))) / x
    return selection.where(is_large, series, exact_value)
