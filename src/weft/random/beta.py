"""Quotients of gamma samples: beta, dirichlet."""

from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..primitives import arithmetic, reductions, selection, structural
from ..primitives.exponential import exp
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import float_dtype, parameter, sample_shape, with_parameters
from .gamma import gammas
from .keys import one_key, subkey_list

__all__ = ["beta", "dirichlet"]


# --- from gamma samples ---


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
    a_key, b_key = subkey_list(data)
    x = gammas(a_key, a, options["shape"], logarithm=True)
    y = gammas(b_key, b, options["shape"], logarithm=True)
    maximum = arithmetic.max_(x, y)
    x, y = exp(x - maximum), exp(y - maximum)
    return x / (x + y)


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
      shape: the shape of the result without the last axis; by default the shape of `alpha` without
        its last axis.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape` and an axis of length n.
    Raises: TypeError: not a key, or not a float dtype. ValueError: alpha does not broadcast to the
      shape.
    Example:
      >>> random.dirichlet(random.PRNGKey(0), np.array([1.0, 2.0, 3.0]), (2,)).shape
      (2, 3)
    """
    data, dtype = one_key("dirichlet", key), float_dtype("dirichlet", dtype)
    weights = parameter("dirichlet", alpha, "alpha", dtype)
    if not weights.ndim:
        raise ShapeError("dirichlet: alpha must have at least one axis; got a scalar")
    leading, n = weights.shape[:-1], weights.shape[-1:]
    batch_shape = leading if shape is None else shape_tuple("dirichlet", shape)
    result_shape = sample_shape("dirichlet", (*batch_shape, *n), alpha=weights)
    x = gammas(data, weights, result_shape, logarithm=True)
    last_axis = (len(batch_shape),)
    maximum = selection.stop_gradient(reductions.reduce_max(x, axes=last_axis))
    x = exp(x - structural.reshape(maximum, shape=(*batch_shape, 1)))
    total = structural.reshape(structural.reduce_sum(x, axes=last_axis), shape=(*batch_shape, 1))
    return x / total
