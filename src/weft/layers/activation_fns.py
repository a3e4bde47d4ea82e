"""Layers that compute activation functions, element by element.

Relu, ParametricRelu, LeakyRelu, Elu, Selu, Gelu, FastGelu, Sigmoid, Tanh, HardSigmoid, HardTanh,
Softplus, Exp, Log, Swish, Glu and ThresholdedLinearUnit, the only layer with weights. Shapes and
float dtypes are kept, except that `Glu` halves the last axis.
"""

from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .assert_shape import assert_shape
from .base import Fn, Layer

__all__ = [
    "Elu",
    "Exp",
    "FastGelu",
    "Gelu",
    "Glu",
    "HardSigmoid",
    "HardTanh",
    "LeakyRelu",
    "Log",
    "ParametricRelu",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softplus",
    "Swish",
    "Tanh",
    "ThresholdedLinearUnit",
]


@assert_shape("...->...")
def Relu() -> Layer:
    """A layer that computes the rectified linear unit: 0 if x ≤ 0, else x.

    The gradient at 0 is 0, and NaN stays NaN.

    Returns: a layer from one array to one of the same shape and dtype.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.Relu()(jnp.array([-2.0, 0.5]))
      Array([0. , 0.5], dtype=float32)
    Source: Nair and Hinton, Rectified linear units improve restricted Boltzmann machines (2010);
      Trax documentation, `layers.Relu`.
    """
    return Fn("Relu", lambda x: jnp.where(x <= 0, jnp.zeros_like(x), x))


@assert_shape("...->...")
def ParametricRelu(a: float = 1.0) -> Layer:
    """A layer that computes a ReLU with a given slope: max(a·x, 0).

    Args:
      a: the slope for positive inputs.
    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.ParametricRelu(2.0)(np.array([-2.0, 0.5]))
      Array([0., 1.], dtype=float32)
    Source: Trax documentation, `layers.ParametricRelu`.
    """
    option_checks.number("ParametricRelu", "a", a)
    return Fn("ParametricRelu", lambda x: jnp.maximum(a * x, jnp.zeros_like(x)))


@assert_shape("...->...")
def LeakyRelu(a: float = 0.01) -> Layer:
    """A layer that computes a leaky ReLU: x if x ≥ 0, else a·x.

    Args:
      a: the slope for negative inputs.
    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.LeakyRelu(0.1)(np.array([-2.0, 0.5]))
      Array([-0.2,  0.5], dtype=float32)
    Source: Maas et al., Rectifier nonlinearities improve neural network acoustic models (2013);
      Trax documentation, `layers.LeakyRelu`.
    """
    option_checks.number("LeakyRelu", "a", a)
    return Fn("LeakyRelu", lambda x: jnp.where(x >= 0, x, a * x))


@assert_shape("...->...")
def Elu(a: float = 1.0) -> Layer:
    """A layer that computes the exponential linear unit: x if x > 0, else a·(eˣ - 1).

    Args:
      a: minus the limit for very negative inputs.
    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Elu()(np.array([-2.0, 0.5]))
      Array([-0.86466473,  0.5       ], dtype=float32)
    Source: Clevert et al., Fast and accurate deep network learning by exponential linear units
      (2016); Trax documentation, `layers.Elu`.
    """
    option_checks.number("Elu", "a", a)
    return Fn("Elu", lambda x: jnp.where(x > 0, x, a * _expm1_of_negative(x)))


@assert_shape("...->...")
def Selu(alpha: float = 1.6732632423543772, lmbda: float = 1.0507009873554805) -> Layer:
    """A layer that computes a scaled Elu: λ·x if x > 0, else λ·α·(eˣ - 1).

    With the default values, activations of normalized inputs stay normalized through the layers.

    Args:
      alpha: the factor of the exponential, α.
      lmbda: the factor of the result, λ.
    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Selu()(np.array([-2.0, 0.5]))
      Array([-1.5201665,  0.5253505], dtype=float32)
    Source: Klambauer et al., Self-normalizing neural networks (2017); Trax documentation,
      `layers.Selu`.
    """
    option_checks.number("Selu", "alpha", alpha)
    option_checks.number("Selu", "lmbda", lmbda)
    return Fn("Selu", lambda x: lmbda * jnp.where(x > 0, x, alpha * _expm1_of_negative(x)))


def _expm1_of_negative(x: Any) -> Any:
    """exp(x) - 1 where x ≤ 0, otherwise 0, so the gradient does not overflow where it is not
    selected."""
    return jnp.expm1(jnp.where(x > 0, jnp.zeros_like(x), x))


@assert_shape("...->...")
def Gelu() -> Layer:
    """A layer that computes the Gaussian error linear unit: x/2 · (1 + erf(x/√2)).

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Gelu()(np.array([-2.0, 0.5]))
      Array([-0.04550028,  0.34573123], dtype=float32)
    Source: Hendrycks and Gimpel, Gaussian error linear units (2016); Trax documentation,
      `layers.Gelu`.
    """
    return Fn("Gelu", lambda x: x * 0.5 * (1.0 + fastmath.erf(x / 2**0.5)))


@assert_shape("...->...")
def FastGelu() -> Layer:
    """A layer that approximates Gelu by tanh: x/2 · (1 + tanh(a·x + a·b·x³)).

    a = 0.7978845608, which is √(2/π), and b = 0.044715.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.FastGelu()(np.array([-2.0, 0.5]))
      Array([-0.04540235,  0.34571403], dtype=float32)
    Source: Hendrycks and Gimpel, Gaussian error linear units (2016); Trax documentation,
      `layers.FastGelu`.
    """

    def f(x: Any) -> Any:
        return 0.5 * x * (1 + jnp.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))

    return Fn("FastGelu", f)


@assert_shape("...->...")
def Sigmoid() -> Layer:
    """A layer that computes the logistic function: 1 / (1 + e⁻ˣ).

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Sigmoid()(np.array([-2.0, 0.5]))
      Array([0.11920293, 0.62245935], dtype=float32)
    Source: Trax documentation, `layers.Sigmoid`.
    """
    return Fn("Sigmoid", lambda x: fastmath.expit(x))


@assert_shape("...->...")
def Tanh() -> Layer:
    """A layer that computes the hyperbolic tangent.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Tanh()(np.array([-2.0, 0.5]))
      Array([-0.9640276,  0.4621172], dtype=float32)
    Source: Trax documentation, `layers.Tanh`.
    """
    return Fn("Tanh", lambda x: jnp.tanh(x))


@assert_shape("...->...")
def HardSigmoid() -> Layer:
    """A layer that computes a piecewise linear sigmoid: x, clipped to [0, 1].

    The gradient at 0 and at 1 is 1/2.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.HardSigmoid()(jnp.array([-0.5, 0.5, 1.5]))
      Array([0. , 0.5, 1. ], dtype=float32)
    Source: Trax documentation, `layers.HardSigmoid`, whose code adds 1 to x.
    """
    return Fn("HardSigmoid", lambda x: jnp.maximum(0, jnp.minimum(1, x)))


@assert_shape("...->...")
def HardTanh() -> Layer:
    """A layer that computes a piecewise linear tanh: x, clipped to [-1, 1].

    The gradient at -1 and at 1 is 1/2.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.HardTanh()(np.array([-2.0, 0.5]))
      Array([-1. ,  0.5], dtype=float32)
    Source: Trax documentation, `layers.HardTanh`.
    """
    return Fn("HardTanh", lambda x: jnp.maximum(-1, jnp.minimum(1, x)))


@assert_shape("...->...")
def Softplus() -> Layer:
    """A layer that computes a smooth ReLU: log(1 + eˣ), which doesn't overflow.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Softplus()(np.array([-2.0, 0.5]))
      Array([0.126928, 0.974077], dtype=float32)
    Source: Trax documentation, `layers.Softplus`.
    """
    return Fn("Softplus", lambda x: jnp.logaddexp(x, jnp.zeros_like(x)))


@assert_shape("...->...")
def Exp() -> Layer:
    """A layer that computes the exponential function.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Exp()(np.array([-2.0, 0.5]))
      Array([0.13533528, 1.6487212 ], dtype=float32)
    Source: Trax documentation, `layers.Exp`.
    """
    return Fn("Exp", lambda x: jnp.exp(x))


@assert_shape("...->...")
def Log() -> Layer:
    """A layer that computes the natural logarithm: -inf at 0, NaN below.

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Log()(np.array([0.0, 0.5, 1.0]))
      Array([      -inf, -0.6931472,  0.       ], dtype=float32)
    Source: Trax documentation, `layers.Log`.
    """
    return Fn("Log", lambda x: jnp.log(x))


@assert_shape("...->...")
def Swish() -> Layer:
    """A layer that computes x · sigmoid(x).

    Returns: a layer from one array to one of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> tl.Swish()(np.array([-2.0, 0.5]))
      Array([-0.23840587,  0.31122968], dtype=float32)
    Source: Ramachandran et al., Searching for activation functions (2017); Trax documentation,
      `layers.Swish`.
    """
    return Fn("Swish", lambda x: x * fastmath.expit(x))


@assert_shape("...a->...b")
def Glu() -> Layer:
    """A layer that computes the gated linear unit a · sigmoid(b), for the input's halves a and b.

    Returns: a layer from an array [..., 2·n] to an array [..., n].
    Raises (when called): LayerError: the last axis has an odd length.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.Glu()(jnp.array([3.0, 4.0, 0.0, 100.0]))
      Array([1.5, 4. ], dtype=float32)
    Source: Dauphin et al., Language modeling with gated convolutional networks (2017); Trax
      documentation, `layers.Glu`.
    """

    def f(x: Any) -> Any:
        if x.shape[-1] % 2:
            raise ShapeError(
                "Glu: the last axis, whose second half gates the first one, must have an even "
                f"length; got shape {tuple(x.shape)}"
            )
        a, b = jnp.split(x, 2, axis=-1)
        return a * fastmath.expit(b)

    return Fn("Glu", f)


class ThresholdedLinearUnit(Layer):
    """A layer that computes max(x, t) with a trained threshold t.

    It is intended to follow `FilterResponseNorm`. Where x = t, x and t get half the gradient each.
    It maps an array to an array of the same shape. Weights: t, a float32 scalar, initially 0.

    Args (all of `Layer`'s):
      n_in, n_out: 1 and 1.
      name: the name when printed.
      sublayers_to_print: the layers printed as its parts.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.ThresholdedLinearUnit()
      >>> _ = layer.init(np.ones((1, 2)))
      >>> layer.weights = np.array([0.25, 0.25])
      >>> layer(np.array([[-2.0, 0.5]]))
      Array([[0.25, 0.5 ]], dtype=float32)
    Source: Singh and Krishnan, Filter response normalization layer (2020); Trax documentation,
      `layers.ThresholdedLinearUnit`.
    """

    _needs_key = False

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets the threshold to 0."""
        self.weights = jnp.zeros((), dtype=jnp.float32)

    def forward(self, inputs: Any) -> Any:
        """The maximum of each element and the threshold."""
        return jnp.maximum(inputs, self.weights)
