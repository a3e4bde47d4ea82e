"""BatchNorm, LayerNorm and FilterResponseNorm: layers that normalize activations."""

import warnings
from collections.abc import Sequence
from typing import Any

from .. import option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import MODES, checked_mode
from ..user_lines import levels_to_user
from .base import Layer
from .layer_calls import known_values

__all__ = ["BatchNorm", "FilterResponseNorm", "LayerNorm"]

_HALF_PRECISION = ("bfloat16", "float16")
_MAX_INITIAL_SHARE = 0.1  # the weight of the initial running statistics, in evaluation


class BatchNorm(Layer):
    """Normalizes each feature over the batch: γ · (x - mean) / √(variance + ε) + β.

    In mode 'train', mean and variance are computed over `axis` of the batch, and the running
    statistics in the state are updated: momentum · old + (1 - momentum) · new. The other modes use
    the running statistics and do not change the state. The variance is the population variance,
    computed as mean(x²) - mean(x)², in float32 for 16-bit floats.

    The running mean begins at 0 and the running variance at 1. After n batches, these initial
    values still have the weight momentumⁿ: with the default momentum, 0.999, 90 % after 100 batches
    and 10 % after 2,300. A network trained on fewer batches is much worse in mode 'eval' than in
    'train'; use a smaller momentum for it, such as 0.9. Outside `jit`, calls in other modes than
    'train' warn if this weight is more than a tenth.

    It maps an array to an array of the same shape and dtype. Weights: (β, γ), zeros and ones,
    float32, with the lengths of the axes that are not in `axis`; `()` for a missing one. State:
    (running mean, running variance, number of batches), the first two with length 1 along `axis`.

    Args:
      axis: the axis or axes of the mean. The default is for images
        [batch, height, width, features].
      epsilon: ε, which prevents division by zero.
      center: whether to add β.
      scale: whether to multiply by γ.
      momentum: the weight of the old running statistics at each batch, from 0 to 1; use the same in
        all modes.
      mode: 'train', 'eval', 'predict' or 'viz'.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array has no such axis, or the result's dtype differs from the
        input's, as for bfloat16 inputs with float32 weights, and for integers.
    Example:
      >>> from weft import layers as tl, shapes
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.array([[1.0], [3.0]])
      >>> layer = tl.BatchNorm(axis=0, momentum=0.5)
      >>> _ = layer.init(shapes.signature(x))
      >>> layer(x).round(3)
      Array([[-1.],
             [ 1.]], dtype=float32)
      >>> [float(s.reshape(())) for s in layer.state]
      [1.0, 1.0, 1.0]
    Source: Ioffe and Szegedy, Batch normalization (2015); Trax documentation, `layers.BatchNorm`.
    """

    _needs_key = False

    def __init__(
        self,
        axis: int | Sequence[int] = (0, 1, 2),
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        momentum: float = 0.999,
        mode: str = "train",
    ) -> None:
        super().__init__()
        name = self.name
        axes = axis if isinstance(axis, tuple | list) else (axis,)
        self._axis = tuple(option_checks.whole_number(name, "axis", a, least=-99) for a in axes)
        self._epsilon = option_checks.number(name, "epsilon", epsilon, least=0.0)
        self._center = option_checks.flag(name, "center", center)
        self._scale = option_checks.flag(name, "scale", scale)
        self._momentum = option_checks.number(name, "momentum", momentum, least=0.0, most=1.0)
        self._mode = checked_mode(name, mode)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets β to 0, γ to 1, the running mean to 0, the running variance to 1, the count to 0."""
        axes = self._axes(input_signature)
        lengths = tuple(input_signature.shape)
        parameter_shape = tuple(n for i, n in enumerate(lengths) if i not in axes)
        running = tuple(1 if i in axes else n for i, n in enumerate(lengths))
        beta = jnp.zeros(parameter_shape, dtype=jnp.float32) if self._center else ()
        gamma = jnp.ones(parameter_shape, dtype=jnp.float32) if self._scale else ()
        self.weights = (beta, gamma)
        self.state = (
            jnp.zeros(running, dtype=jnp.float32),
            jnp.ones(running, dtype=jnp.float32),
            jnp.zeros((), dtype=jnp.int32),
        )

    def forward(self, x: Any) -> Any:
        """`x`, normalized."""
        axes = self._axes(x)
        mean, variance, batches = self.state
        if self._mode == "train":
            mean, variance = _moments(x, axes)
            self.state = (*self._updated(mean, variance), batches + 1)
        else:
            self._warn_after_few(batches)
        z = (x - mean.astype(x.dtype)) / jnp.sqrt(variance + self._epsilon).astype(x.dtype)
        beta, gamma = self.weights
        broadcast = [1 if i in axes else n for i, n in enumerate(x.shape)]
        if self._scale:
            z = z * jnp.reshape(gamma, broadcast)
        if self._center:
            z = z + jnp.reshape(beta, broadcast)
        if z.dtype != x.dtype:
            raise ShapeError(
                f"BatchNorm: the output would be {z.dtype} for an input of {x.dtype}; convert the "
                "input, x.astype(float32), or the weights, which must not be wider"
            )
        return z

    def _updated(self, mean: Any, variance: Any) -> list[Any]:
        """The running mean and variance after a batch."""
        m = self._momentum
        pairs = zip(self.state[:2], (mean, variance), strict=True)
        return [(m * old + (1 - m) * new).astype(old.dtype) for old, new in pairs]

    def _warn_after_few(self, batches: Any) -> None:
        """Warns if the running statistics still depend strongly on their initial values, after some
        training."""
        count = known_values(batches)
        if count is None or not count or self._momentum ** int(count) <= _MAX_INITIAL_SHARE:
            return
        left = self._momentum ** int(count)
        warnings.warn(
            f"BatchNorm in mode {self._mode!r}: its running mean and variance are from only "
            f"{count} batches: with momentum={self._momentum}, the initial mean 0 and variance 1 "
            f"still have a weight of {left:.0%}\n"
            "  fix: a smaller momentum, such as 0.9, in all modes; or train on more batches",
            stacklevel=levels_to_user(),
        )

    def _axes(self, x: Any) -> tuple[int, ...]:
        """The reduced axes, counted from 0."""
        rank = len(x.shape)
        axes = {a + rank if a < 0 else a for a in self._axis if -rank <= a < rank}
        if len(axes) < len(self._axis):
            raise ShapeError(
                f"BatchNorm: axis={self._axis} must be different axes of the input; got an input "
                f"of shape {tuple(x.shape)}"
            )
        return tuple(sorted(axes))


def _moments(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Mean and variance over axes, which are kept with length 1."""
    x = x.astype(jnp.float32) if str(x.dtype) in _HALF_PRECISION else x
    mean = jnp.mean(x, axis=axes, keepdims=True)
    return mean, jnp.mean(x * x, axis=axes, keepdims=True) - mean * mean


class LayerNorm(Layer):
    """Normalizes each vector: scale · (x - mean) / √(mean((x - mean)²) + ε) + bias.

    Means are over the last axis. It maps an array to an array of the same shape. Weights: (scale,
    bias), ones and zeros of the last axis's length, in the signature's dtype.

    Args:
      center: whether to subtract the mean and add the bias. Without it, this is the
        root-mean-square norm, and the bias is not used.
      epsilon: ε, which prevents division by zero.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array has no axes.
    Example:
      >>> from weft import layers as tl, shapes
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.array([[1.0, 3.0], [0.0, 20.0]])
      >>> layer = tl.LayerNorm()
      >>> _ = layer.init(shapes.signature(x))
      >>> layer(x).round(3)
      Array([[-1.,  1.],
             [-1.,  1.]], dtype=float32)
    Source: Ba et al., Layer normalization (2016); Trax documentation, `layers.LayerNorm`.
    """

    _needs_key = False

    def __init__(self, center: bool = True, epsilon: float = 1e-6) -> None:
        super().__init__()
        self._center = option_checks.flag(self.name, "center", center)
        self._epsilon = option_checks.number(self.name, "epsilon", epsilon, least=0.0)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets the scale to 1 and the bias to 0."""
        _needs_axes(self.name, input_signature, 1)
        features = input_signature.shape[-1]
        dtype = input_signature.dtype
        self.weights = (jnp.ones(features, dtype=dtype), jnp.zeros(features, dtype=dtype))

    def forward(self, x: Any) -> Any:
        """`x`, normalized."""
        _needs_axes(self.name, x, 1)
        scale, bias = self.weights
        centered = x - jnp.mean(x, axis=-1, keepdims=True) if self._center else x
        variance = jnp.mean(centered * centered, axis=-1, keepdims=True)
        y = centered / jnp.sqrt(variance + self._epsilon) * scale
        return y + bias if self._center else y


class FilterResponseNorm(Layer):
    """Normalizes each feature of each example: γ · x / √(ν² + ε) + β.

    ν² is the mean of x² over the axes between the first and the last one. `ThresholdedLinearUnit`
    is intended to follow it. It maps an array [batch, …, features] to an array of the same shape.
    Weights: (γ, β, e), ones and zeros of the last axis's length, float32, and e = `()`, or with a
    learned ε a tuple of one scalar, whose absolute value is added to ε.

    Args:
      mode: not used; the layer is the same in all modes.
      learn_epsilon: whether to train a part of ε.
      init_epsilon: ε.
      init_learnt_epsilon: the initial value of the trained part.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array has fewer than two axes.
    Example:
      >>> from weft import layers as tl
      >>> layer, x = tl.FilterResponseNorm(), np.array([[[3.0], [4.0]]])
      >>> _ = layer.init(x)
      >>> layer(x)
      Array([[[0.8485281],
              [1.1313708]]], dtype=float32)
    Source: Singh and Krishnan, Filter response normalization layer (2020); Trax documentation,
      `layers.FilterResponseNorm`.
    """

    _needs_key = False

    def __init__(
        self,
        mode: str | None = None,
        learn_epsilon: bool = False,
        init_epsilon: float = 1e-6,
        init_learnt_epsilon: float = 1e-4,
    ) -> None:
        super().__init__()
        name = self.name
        option_checks.choice(name, "mode", mode, (None, *MODES))
        self._learn_epsilon = option_checks.flag(name, "learn_epsilon", learn_epsilon)
        self._epsilon = option_checks.number(name, "init_epsilon", init_epsilon, above=0.0)
        self._learnt_epsilon = option_checks.number(
            name, "init_learnt_epsilon", init_learnt_epsilon, above=0.0
        )

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets γ to 1, β to 0, and the trained part of ε."""
        _needs_axes(self.name, input_signature, 2)
        features = input_signature.shape[-1]
        epsilon = (jnp.array(self._learnt_epsilon, dtype=jnp.float32),)
        self.weights = (
            jnp.ones(features, dtype=jnp.float32),
            jnp.zeros(features, dtype=jnp.float32),
            epsilon if self._learn_epsilon else (),
        )

    def forward(self, inputs: Any) -> Any:
        """The inputs, normalized."""
        _needs_axes(self.name, inputs, 2)
        gamma, beta, learnt = self.weights
        epsilon = self._epsilon + jnp.abs(learnt[0]) if self._learn_epsilon else self._epsilon
        between = tuple(range(1, len(inputs.shape) - 1))
        squares = jnp.mean(inputs * inputs, axis=between, keepdims=True)
        return gamma * (inputs / jnp.sqrt(squares + epsilon)) + beta


def _needs_axes(layer: str, x: Any, count: int) -> None:
    """Raises an error if an array, or its signature, has too few axes."""
    if len(x.shape) < count:
        least = "1 axis" if count == 1 else f"{count} axes"
        raise ShapeError(
            f"{layer}: expected an array with at least {least}; got shape {tuple(x.shape)}"
        )
