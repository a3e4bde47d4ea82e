"""Activations, element by element: relu, relu6, leaky_relu, elu, celu, selu, gelu, silu (swish),
mish, glu, sigmoid, log_sigmoid, softplus, soft_sign, squareplus, identity, hard_sigmoid,
hard_silu (hard_swish), hard_tanh, sparse_plus, sparse_sigmoid and log1mexp.

Integers become floats, except in `relu`.
"""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..errors import ShapeError
from ..numpy.axes import one_axis
from ..numpy.promotion import noted, value
from ..numpy.trigonometric import tanh
from ..primitives import (
    activations as p,
    arithmetic,
    comparison,
    error_functions,
    selection,
    slicing,
)
from ..primitives.activations import softplus as _softplus
from ..primitives.exponential import expm1, logistic
from ..typing import ArrayLike
from .operands import activation, no_complex, number, real_number, with_parameter

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]

like, clamp, where = arithmetic.like, selection.clamp, selection.where


def _between(low: float, x: Any, high: float) -> Any:
    return clamp(like(x, low), x, like(x, high))


def _positive(x: Any) -> Any:
    return comparison.gt(x, like(x, 0))


# --- piecewise linear functions ---


def identity(x: ArrayLike) -> Array:
    """Returns the array.

    Example:
      >>> from weft import nn
      >>> nn.identity(np.arange(2))
      Array([0, 1], dtype=int32)
    """
    return value("identity", x)


_relu = activation(p.relu)


def relu(x: ArrayLike) -> Array:
    """The rectified linear unit: max(x, 0).

    Args:
      x: real array of any shape.
    Returns: array of the shape and dtype of `x`. The derivative is 0 at 0, and 1 above.
    Raises: TypeError: `x` is complex or boolean.
    Example:
      >>> from weft import nn
      >>> nn.relu(np.array([-1.0, 2.0]))
      Array([0., 2.], dtype=float32)
    Source: JAX documentation, `jax.nn.relu`.
    """
    v = no_complex("relu", value("relu", x))
    if dtypes.is_bool(v.dtype):
        raise noted(ShapeError(f"relu: x must be a number; got {v.aval}\n  fix: x.astype(float)"))
    return p.relu(v)


@activation
def _relu6(x: Any) -> Any:
    return _between(0, x, 6)


def relu6(x: ArrayLike) -> Array:
    """x clipped to the interval from 0 to 6.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`. The derivative is 0 at 0 and at 6, and 1 between.
    Example:
      >>> from weft import nn
      >>> nn.relu6(np.array([-1.0, 2.0, 7.0]))
      Array([0., 2., 6.], dtype=float32)
    Source: JAX documentation, `jax.nn.relu6`.
    """
    return _relu6(real_number("relu6", x))


@activation
def _leaky_relu(x: Any, slope: Any) -> Any:
    return where(comparison.ge(x, like(x, 0)), x, slope * x)


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x if x >= 0, otherwise `negative_slope` times x.

    Args:
      x: real array of any shape; integers become float32.
      negative_slope: a float, or an array that broadcasts with `x`.
    Returns: array of the broadcast shape. The derivative at 0 is 1.
    Example:
      >>> from weft import nn
      >>> nn.leaky_relu(np.array([-1.0, 2.0]), 0.5)
      Array([-0.5,  2. ], dtype=float32)
    Source: JAX documentation, `jax.nn.leaky_relu`.
    """
    return _leaky_relu(*with_parameter("leaky_relu", x, negative_slope, "negative_slope"))


@activation
def _hard_tanh(x: Any) -> Any:
    is_inside = comparison.le(arithmetic.abs_(x), like(x, 1))
    return where(is_inside, x, selection.stop_gradient(_between(-1, x, 1)))


def hard_tanh(x: ArrayLike) -> Array:
    """x clipped to the interval from -1 to 1.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`. The derivative is 1 from -1 to 1, bounds included.
    Example:
      >>> from weft import nn
      >>> nn.hard_tanh(np.array([-2.0, 0.5]))
      Array([-1. ,  0.5], dtype=float32)
    Source: JAX documentation, `jax.nn.hard_tanh`.
    """
    return _hard_tanh(real_number("hard_tanh", x))


def _hard_logistic(x: Any) -> Any:
    return _between(0, x + 3, 6) / 6


_hard_sigmoid = activation(_hard_logistic)


def hard_sigmoid(x: ArrayLike) -> Array:
    """(x + 3) / 6 clipped to the interval from 0 to 1.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`. The derivative is 0 at -3 and at 3.
    Example:
      >>> from weft import nn
      >>> nn.hard_sigmoid(np.array([-4.0, 0.0, 4.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    Source: JAX documentation, `jax.nn.hard_sigmoid`.
    """
    return _hard_sigmoid(real_number("hard_sigmoid", x))


@activation
def _hard_silu(x: Any) -> Any:
    return x * _hard_logistic(x)


def hard_silu(x: ArrayLike) -> Array:
    """x multiplied by `hard_sigmoid(x)`.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.hard_silu(np.array([-4.0, 3.0]))
      Array([-0.,  3.], dtype=float32)
    Source: arXiv:1905.02244; JAX documentation, `jax.nn.hard_silu`.
    """
    return _hard_silu(real_number("hard_silu", x))


hard_swish = hard_silu


@activation
def _sparse_plus(x: Any) -> Any:
    middle_value = arithmetic.square(_between(-1, x, 1) + 1) / 4
    return where(comparison.ge(x, like(x, 1)), x, middle_value)


def sparse_plus(x: ArrayLike) -> Array:
    """0 for x <= -1, (x + 1)² / 4 between -1 and 1, x for x >= 1.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.sparse_plus(np.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)
    Source: JAX documentation, `jax.nn.sparse_plus`.
    """
    return _sparse_plus(real_number("sparse_plus", x))


@activation
def _sparse_sigmoid(x: Any) -> Any:
    return _between(0, x + 1, 2) / 2


def sparse_sigmoid(x: ArrayLike) -> Array:
    """(x + 1) / 2 clipped to the interval from 0 to 1, the derivative of `sparse_plus`.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`. The derivative is 0 at -1 and at 1.
    Example:
      >>> from weft import nn
      >>> nn.sparse_sigmoid(np.array([-2.0, 0.0, 2.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    Source: JAX documentation, `jax.nn.sparse_sigmoid`.
    """
    return _sparse_sigmoid(real_number("sparse_sigmoid", x))


# --- based on the logistic function ---


def sigmoid(x: ArrayLike) -> Array:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.sigmoid(np.array([0.0, 100.0]))
      Array([0.5, 1. ], dtype=float32)
    Source: JAX documentation, `jax.nn.sigmoid`.
    """
    return logistic(number("sigmoid", x))


@activation
def _silu(x: Any) -> Any:
    return x * logistic(x)


def silu(x: ArrayLike) -> Array:
    """x multiplied by the logistic function of x; also called swish.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.silu(np.array([0.0, 100.0]))
      Array([  0., 100.], dtype=float32)
    Source: arXiv:1702.03118; JAX documentation, `jax.nn.silu`.
    """
    return _silu(number("silu", x))


swish = silu


def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)), without overflow.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`. The derivative is the logistic function.
    Example:
      >>> from weft import nn
      >>> nn.softplus(np.array([0.0, 100.0]))
      Array([  0.6931472, 100.       ], dtype=float32)
    Source: JAX documentation, `jax.nn.softplus`.
    """
    return _softplus(real_number("softplus", x))


@activation
def _log_sigmoid(x: Any) -> Any:
    return -p.softplus(-x)


def log_sigmoid(x: ArrayLike) -> Array:
    """The logarithm of the logistic function.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.log_sigmoid(np.array([0.0, -100.0]))
      Array([  -0.6931472, -100.       ], dtype=float32)
    Source: JAX documentation, `jax.nn.log_sigmoid`.
    """
    return _log_sigmoid(real_number("log_sigmoid", x))


@activation
def _mish(x: Any) -> Any:
    return x * tanh(p.softplus(x))


def mish(x: ArrayLike) -> Array:
    """x tanh(softplus(x)).

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.mish(np.array([0.0, 100.0]))
      Array([  0., 100.], dtype=float32)
    Source: arXiv:1908.08681.
    """
    return _mish(real_number("mish", x))


_gelu_by_tanh = activation(p.gelu_by_tanh)


@activation
def _gelu(x: Any) -> Any:
    return x * (error_functions.erfc(-math.sqrt(0.5) * x) / 2)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x multiplied by the probability that a standard normal variable is below x.

    Args:
      x: real array of any shape; integers become float32.
      approximate: True approximates this probability with the hyperbolic tangent of a cubic
        polynomial, with an error below 0.001; False is exact.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.gelu(np.array([0.0, 100.0]))
      Array([  0., 100.], dtype=float32)
    Source: arXiv:1606.08415; JAX documentation, `jax.nn.gelu`.
    """
    x = real_number("gelu", x)
    return _gelu_by_tanh(x) if approximate else _gelu(x)


# --- exponential below zero ---


def _below(x: Any) -> Any:
    """x where it is not positive, otherwise 0, so that the branch that is not selected does not
    overflow."""
    return where(_positive(x), like(x, 0), x)


@activation
def _elu(x: Any, alpha: Any) -> Any:
    return where(_positive(x), x, alpha * expm1(_below(x)))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x if x > 0, otherwise alpha (exp(x) - 1).

    Args:
      x: real array of any shape; integers become float32.
      alpha: a float, or an array that broadcasts with `x`.
    Returns: array of the broadcast shape. The derivative at 0 is alpha.
    Example:
      >>> from weft import nn
      >>> nn.elu(np.array([-100.0, 2.0]))
      Array([-1.,  2.], dtype=float32)
    Source: arXiv:1511.07289; JAX documentation, `jax.nn.elu`.
    """
    return _elu(*with_parameter("elu", x, alpha, "alpha"))


@activation
def _celu(x: Any, alpha: Any) -> Any:
    return where(_positive(x), x, alpha * expm1(_below(x) / alpha))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x if x > 0, otherwise alpha (exp(x / alpha) - 1). The derivative is continuous.

    Args:
      x: real array of any shape; integers become float32.
      alpha: a float, or an array that broadcasts with `x`.
    Returns: array of the broadcast shape.
    Example:
      >>> from weft import nn
      >>> nn.celu(np.array([-100.0, 2.0]), 0.5)
      Array([-0.5,  2. ], dtype=float32)
    Source: arXiv:1704.07483; JAX documentation, `jax.nn.celu`.
    """
    return _celu(*with_parameter("celu", x, alpha, "alpha"))


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@activation
def _selu(x: Any) -> Any:
    return _SELU_SCALE * where(_positive(x), x, _SELU_ALPHA * expm1(_below(x)))


def selu(x: ArrayLike) -> Array:
    """1.0507 `elu(x, 1.6733)`. These constants preserve mean 0 and variance 1 from layer to layer.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.selu(np.array([-100.0, 2.0]))
      Array([-1.7580993,  2.101402 ], dtype=float32)
    Source: arXiv:1706.02515; JAX documentation, `jax.nn.selu`.
    """
    return _selu(real_number("selu", x))


_log1mexp = activation(p.log1mexp)


def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)), without loss of digits for small or large x.

    Args:
      x: real array of any shape, at least 0; integers become float32.
    Returns: array of the shape of `x`: -inf at 0, NaN below.
    Example:
      >>> from weft import nn
      >>> nn.log1mexp(np.array([1e-20, 100.0]))
      Array([-4.6051701e+01, -3.7835059e-44], dtype=float32)
    Source: M. Mächler, Accurately computing log(1 - exp(-|a|)), 2012.
    """
    return _log1mexp(real_number("log1mexp", x))


# --- roots and quotients ---


@activation
def _soft_sign(x: Any) -> Any:
    return x / (1 + arithmetic.abs_(x))


def soft_sign(x: ArrayLike) -> Array:
    """x / (1 + |x|).

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> from weft import nn
      >>> nn.soft_sign(np.array([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    Source: JAX documentation, `jax.nn.soft_sign`.
    """
    return _soft_sign(real_number("soft_sign", x))


_squareplus = activation(p.squareplus)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x² + b)) / 2.

    Args:
      x: real array of any shape; integers become float32.
      b: a number of at least 0, or an array that broadcasts with `x`; it smooths the bend.
    Returns: array of the broadcast shape.
    Example:
      >>> from weft import nn
      >>> nn.squareplus(np.array([0.0, 1.5]))
      Array([1., 2.], dtype=float32)
    Source: arXiv:2112.11687.
    """
    return _squareplus(*with_parameter("squareplus", x, b, "b"))


# --- gated ---


@activation
def _glu(x: Any, *, axis: int) -> Any:
    half = x.shape[axis] // 2
    values, gates = slicing.split(x, sizes=(half, half), axis=axis)
    return values * logistic(gates)


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half of an axis multiplied by the logistic function of the second half.

    Args:
      x: array with at least one axis; integers become float32.
      axis: the axis to halve, with an even length.
    Returns: array of the shape of `x`, except that the axis is half as long.
    Raises: ValueError: the length is odd, or the axis is out of range.
    Example:
      >>> from weft import nn
      >>> nn.glu(np.array([1.0, 2.0, 0.0, 100.0]))
      Array([0.5, 2. ], dtype=float32)
    Source: arXiv:1612.08083; JAX documentation, `jax.nn.glu`.
    """
    v = number("glu", x)
    split_axis = one_axis("glu", axis, v)
    if v.shape[split_axis] % 2:
        raise noted(ValueError(f"glu: axis {split_axis} of {v.aval} must have an even length"))
    return _glu(v, axis=split_axis)
