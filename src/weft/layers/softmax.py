"""Softmax and LogSoftmax, and the functions log_softmax and logsoftmax_sample (Gumbel's trick)."""

from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from .base import Fn, Layer
from .reductions import checked_axes


def LogSoftmax(axis: int = -1) -> Layer:
    """A layer that computes log-probabilities from activations along an axis.

    Args:
      axis: the axis along which probabilities add up to 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.LogSoftmax()(np.zeros(4))
      Array([-1.3862944, -1.3862944, -1.3862944, -1.3862944], dtype=float32)
    Source: Trax documentation, `layers.core.LogSoftmax`.
    """
    axis = checked_axes("LogSoftmax", axis)
    return Fn("LogSoftmax", lambda x: log_softmax(x, axis=axis))


def Softmax(axis: int = -1) -> Layer:
    """A layer that computes probabilities from activations along an axis.

    Args:
      axis: the axis along which probabilities add up to 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Softmax()(np.zeros(4))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    Source: Trax documentation, `layers.core.Softmax`.
    """
    axis = checked_axes("Softmax", axis)
    return Fn("Softmax", lambda x: jnp.exp(log_softmax(x, axis=axis)))


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Log-probabilities from activations: x - log Σ exp(x) along an axis.

    Args:
      x: array of activations.
      axis: the axis along which probabilities add up to 1.
    Returns: array of the same shape.
    Example:
      >>> log_softmax(np.zeros(2))
      Array([-0.6931472, -0.6931472], dtype=float32)
    Source: Trax documentation, `layers.core.log_softmax`.
    """
    return x - fastmath.logsumexp(x, axis, keepdims=True)


def logsoftmax_sample(log_probs: Any, temperature: float = 1.0) -> Any:
    """Draws categories by their log-probabilities, with NumPy's global random generator.

    Args:
      log_probs: array [..., n].
      temperature: 1 draws by these probabilities, 0 takes the most likely category, and larger
        values are more random.
    Returns: integer array [...].
    Example:
      >>> int(logsoftmax_sample(onp.log([0.1, 0.7, 0.2]), temperature=0.0))
      1
    Source: Gumbel's method: argmax of log_probs + temperature · G, with G = -log(-log(u)); Trax
    documentation, `layers.core.logsoftmax_sample`.
    """
    option_checks.number("logsoftmax_sample", "temperature", temperature, least=0.0)
    log_probs = onp.asarray(log_probs)
    u = onp.random.uniform(low=1e-6, high=1.0 - 1e-6, size=log_probs.shape)
    return onp.argmax(log_probs - onp.log(-onp.log(u)) * temperature, axis=-1)
