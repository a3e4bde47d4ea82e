"""Activations as layers without parameters: Tanh, Relu, Exp, LogSoftmax, Softmax, Softplus,
Sigmoid, Elu, LeakyRelu, Selu and Gelu; elementwise makes one from a function.
"""

from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.source import located
from ...numpy.exponential import exp
from ...numpy.trigonometric import tanh
from .pairs import Layer, array, layer

__all__ = [
    "Elu",
    "Exp",
    "Gelu",
    "LeakyRelu",
    "LogSoftmax",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "elementwise",
]


@located
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies an elementwise function.

    Args:
      fun: maps an array to an array of the same shape.
      fun_kwargs: keyword arguments of `fun`.
    Returns: (init_fun, apply_fun); there are no parameters.
    Raises: TypeError: `fun` is not a function.
    Example:
      >>> from weft.experimental import stax
      >>> _, apply_fun = stax.elementwise(np.clip, min=0.0, max=1.0)
      >>> apply_fun((), np.array([-2.0, 0.5, 2.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    if not callable(fun):
        raise TypeError(f"elementwise: fun must be a function; got a {type(fun).__name__}")
    name = getattr(fun, "__name__", "elementwise")
    return layer(
        lambda rng, input_shape: (input_shape, ()),
        lambda params, inputs: fun(array(name, inputs), **fun_kwargs),
    )


Tanh = elementwise(tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
