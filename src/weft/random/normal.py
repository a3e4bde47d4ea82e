"""Normal distributions: normal, truncated_normal, lognormal, multivariate_normal.

A normal sample is √2 erf⁻¹(u) for a uniform number u. Samples are differentiable with respect to
the parameters.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax import linalg
from ..numpy.axes import shape_tuple
from ..numpy.products import matmul
from ..primitives import arithmetic, complex_numbers, error_functions, selection, structural
from ..primitives.exponential import exp
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype, parameter, sample_shape, sampler, with_parameters
from .keys import one_key, subkey_list
from .uniform import uniform_between

__all__ = ["lognormal", "multivariate_normal", "normal", "truncated_normal"]


# --- normal ---


@located
def normal(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Normal samples: mean 0, variance 1.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float or complex dtype; float32 by default (float64 with x64 on). Complex samples
        have real and imaginary parts of variance 1/2.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not an inexact dtype.
    Example:
      >>> random.normal(random.PRNGKey(0), (3,)).tolist()
      [1.816087, -0.482623, 0.339889]
    """
    data = one_key("normal", key)
    dtype = float_dtype("normal", dtype, accepts_complex=True)
    shape = shape_tuple("normal", shape)
    if dtypes.is_complex(dtype):
        return complex_gauss(data, shape=shape, dtype=dtype)
    return gauss(data, shape=shape, dtype=dtype)


@sampler
def gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal samples, by the inverse of the distribution function."""
    one = np.ones((), dtype)
    low = literal(np.nextafter(-one, 0 * one).item(), dtype)
    u = uniform_between(key, low, literal(1.0, dtype), shape=shape, dtype=dtype)
    return error_functions.erf_inv(u) * math.sqrt(2)


@sampler
def complex_gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex normal samples."""
    part = dtypes.real_of(dtype)
    parts = [gauss(k, shape=shape, dtype=part) for k in subkey_list(key)]
    return complex_numbers.complex_(*parts) / math.sqrt(2)


@located
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples of the normal distribution truncated to the interval from `lower` to `upper`.

    Args:
      key: a key.
      lower, upper: the bounds, in standard deviations.
      shape: the shape of the result; by default the shape to which the bounds broadcast.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`, lower < x < upper.
    Raises: TypeError: not a key, or not a float dtype. ValueError: bounds do not broadcast to the
      shape.
    Example:
      >>> random.truncated_normal(random.PRNGKey(0), -2, 2, (2,)).tolist()
      [-0.74147, 0.80742]
    """
    name = "truncated_normal"
    data, dtype = one_key(name, key), float_dtype(name, dtype)
    low, high = parameter(name, lower, "lower", dtype), parameter(name, upper, "upper", dtype)
    shape = sample_shape(name, shape, lower=low, upper=high)
    return truncated_gauss(data, low, high, shape=shape, dtype=dtype)


@sampler
def truncated_gauss(key: Any, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal samples between `low` and `high`."""
    root = math.sqrt(2)
    a, b = error_functions.erf(low / root), error_functions.erf(high / root)
    x = error_functions.erf_inv(uniform_between(key, a, b, shape=shape, dtype=dtype)) * root
    # rounding can give the bounds themselves
    infinity = literal(math.inf, dtype)
    smallest = arithmetic.nextafter(selection.stop_gradient(low), infinity)
    largest = arithmetic.nextafter(selection.stop_gradient(high), -infinity)
    return arithmetic.max_(smallest, arithmetic.min_(x, largest))


@located
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Lognormal samples: exp(sigma · normal).

    Args: as in `pareto`; `sigma` is the standard deviation of the logarithm.
    Returns: array of `shape`.
    Example:
      >>> random.lognormal(random.PRNGKey(0), 0.5, (3,)).shape
      (3,)
    """
    args, options = with_parameters("lognormal", key, shape, dtype, sigma=sigma)
    return _lognormal(*args, **options)


@sampler
def _lognormal(key: Any, sigma: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return exp(gauss(key, shape=shape, dtype=dtype) * sigma)


_METHODS = ("cholesky", "eigh", "svd")


@located
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
) -> Array:
    """Normally distributed vectors with a given mean and covariance.

    Args:
      key: a key.
      mean: float[…,n], whose leading axes broadcast to `shape`.
      cov: float[…,n,n], symmetric positive semidefinite; the leading axes broadcast to `shape`.
      shape: the shape of the result without its last axis; by default the shape to which the
        leading axes of the parameters broadcast.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      method: the factorization of the covariance: "cholesky", the fastest, needs a positive
        definite matrix; "eigh" and "svd" accept singular ones too.
    Returns: array of `shape` and an axis of length n; NaN where "cholesky" has no factor, and for
      "eigh" where an eigenvalue is negative. Differentiable in `mean` and `cov`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: the parameters do not broadcast
      to the shape, or the method is unknown.
    Example:
      >>> cov = np.array([[2.0, 1.0], [1.0, 2.0]])
      >>> random.multivariate_normal(random.PRNGKey(0), np.zeros(2), cov, (5,)).shape
      (5, 2)
    Source: a factor F with F Fᵀ = cov, times independent normal numbers.
    """
    name = "multivariate_normal"
    if method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(_METHODS)}; got {method!r}")
    dtype = float_dtype(name, dtype)
    mean_value, covariance = (
        parameter(name, mean, "mean", dtype),
        parameter(name, cov, "cov", dtype),
    )
    if (
        not mean_value.ndim
        or covariance.ndim < 2
        or covariance.shape[-2:] != 2 * mean_value.shape[-1:]
    ):
        raise ShapeError(
            f"{name}: expected a mean […,n] and a covariance […,n,n]; got mean {mean_value.aval} "
            f"and cov {covariance.aval}"
        )
    batch, n = _batch_shape(name, shape, mean_value, covariance), mean_value.shape[-1]
    factor = _factor(covariance, method)
    z = normal(key, (*batch, n), dtype)
    return structural.add(structural.widen(mean_value, z.shape), _applied(factor, z))


def _batch_shape(name: str, shape: Any, mean: Any, cov: Any) -> tuple[int, ...]:
    batch_shapes = mean.shape[:-1], cov.shape[:-2]
    result_shape = None if shape is None else shape_tuple(name, shape)
    try:
        joint_shape = np.broadcast_shapes(
            *batch_shapes, *([] if result_shape is None else [result_shape])
        )
        if result_shape is None or joint_shape == result_shape:
            return joint_shape
    except ValueError:
        pass
    raise ShapeError(
        f"{name}: the leading axes of mean {mean.aval} and cov {cov.aval} don't broadcast "
        + ("together" if result_shape is None else f"to shape {result_shape}")
        + "\n  fix: pass the shape of the result without its last axis"
    )


def _factor(cov: Any, method: str) -> Any:
    if method == "cholesky":
        return linalg.cholesky(cov)
    if method == "eigh":
        vectors, squares = linalg.eigh(cov)
    else:
        vectors, squares, _ = linalg.svd(cov)
    roots = arithmetic.sqrt(squares)
    shape = (*roots.shape[:-1], 1, roots.shape[-1])
    return vectors * structural.reshape(roots, shape=shape)


def _applied(factor: Any, z: Any) -> Any:
    """Products of matrices and vectors."""
    if factor.ndim == 2:  # one matrix for all: the vectors are the rows of a matrix
        return matmul(z, structural.transpose(factor, permutation=(1, 0)))
    columns = structural.reshape(z, shape=(*z.shape, 1))
    return structural.reshape(matmul(factor, columns), shape=z.shape)
