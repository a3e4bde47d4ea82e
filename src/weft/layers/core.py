"""Core layers: those with weights of their own, dropout, reductions and softmax."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from . import options
from .assert_shape import assert_shape
from .base import Fn, Layer, PureLayer
from .densities import (
    log_gaussian_diag_pdf,
    log_gaussian_pdf,
    log_softmax,
    logsoftmax_sample,
    multigaussian_loss,
    one_hot,
)
from .initializers import GlorotUniformInitializer, RandomNormalInitializer, ScaledInitializer
from .known_values import known_values
from .locally_connected import LocallyConnected1d
from .summary_layers import SummaryImage, SummaryScalar

__all__ = [
    "ArgMax",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "LocallyConnected1d",
    "LogSoftmax",
    "LogSumExp",
    "Max",
    "Mean",
    "Min",
    "Negate",
    "PrintShape",
    "RandomUniform",
    "Softmax",
    "StopGradient",
    "Sum",
    "SummaryImage",
    "SummaryScalar",
    "ThresholdToBinary",
    "ToFloat",
    "Weights",
    "log_gaussian_diag_pdf",
    "log_gaussian_pdf",
    "log_softmax",
    "logsoftmax_sample",
    "multigaussian_loss",
    "one_hot",
]

_GLOROT, _SMALL = GlorotUniformInitializer(), RandomNormalInitializer(1e-6)
_EMBEDDING = ScaledInitializer(
    out_dim=-1, in_dim=-2, scale=1.0, mode="fan_out", distribution="uniform"
)
MODES = ("train", "eval", "predict", "viz")
_INITIALIZER = "of (shape, rng)"


@assert_shape("...a->...b")
class Dense(Layer):
    """An affine map of the last axis: x · w + b, [..., a] -> [..., n_units].

    Args:
      n_units: the length of the output's last axis.
      kernel_initializer: function of (shape, rng) for w.
      bias_initializer: function of (shape, rng) for b.
      use_bias: whether b is added.
      use_bfloat16: whether w and b are bfloat16.

    Raises: ValueError, TypeError: an option is out of its range.

    Weights are (w [a, n_units], b [n_units]), or w without bias. Integers become floats.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Dense(2)
      >>> _ = layer.init(np.ones((3, 4)))
      >>> layer(np.ones((3, 4))).shape
      (3, 2)

    Source: Trax documentation, `layers.core.Dense`.
    """

    _needs_key = False

    def __init__(
        self,
        n_units: int,
        kernel_initializer: Callable[..., Any] = _GLOROT,
        bias_initializer: Callable[..., Any] = _SMALL,
        use_bias: bool = True,
        use_bfloat16: bool = False,
    ) -> None:
        self._n_units = options.whole_number("Dense", "n_units", n_units)
        super().__init__(name=f"Dense_{n_units}")
        self._kernel_initializer = options.function(
            "Dense", "kernel_initializer", kernel_initializer, _INITIALIZER
        )
        self._bias_initializer = options.function(
            "Dense", "bias_initializer", bias_initializer, _INITIALIZER
        )
        self._use_bias = options.flag("Dense", "use_bias", use_bias)
        self._use_bfloat16 = options.flag("Dense", "use_bfloat16", use_bfloat16)

    def forward(self, x: Any) -> Any:
        """x · w + b."""
        w = weights = self.weights
        if self._use_bias:
            if not isinstance(weights, list | tuple):
                raise ValueError(
                    f"Weights should be a (w, b) tuple or list; instead got: {weights}"
                )
            if len(weights) != 2:
                raise ValueError(_unset(self, "(w, b)", weights))
            w, b = weights
        elif isinstance(w, list | tuple):
            raise ValueError(_unset(self, "w", weights))
        if x.shape[-1] != w.shape[0]:
            raise ShapeError(
                f"{self._name}: expected inputs [..., {w.shape[0]}], as w is {tuple(w.shape)}; got "
                f"{tuple(x.shape)}"
            )
        y = jnp.dot(x, w)
        return y + b if self._use_bias else y

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes w and b for inputs of this last length."""
        key_w, key_b = fastmath.random.split(self.rng, 2)
        w = self._kernel_initializer((input_signature.shape[-1], self._n_units), key_w)
        b = self._bias_initializer((self._n_units,), key_b) if self._use_bias else None
        if self._use_bfloat16:
            w, b = (v if v is None else v.astype(jnp.bfloat16) for v in (w, b))
        self.weights = (w, b) if self._use_bias else w


def _unset(layer: Layer, wanted: str, weights: Any) -> str:
    """The message for weights that were not made, or are another layer's."""
    got = "none" if weights == () else f"{weights!r}"
    return f"{layer.name}: expected weights {wanted}; got {got}"


@assert_shape("...->...d")
class Embedding(Layer):
    """A vector for each of a vocabulary's ids: [...] -> [..., d_feature].

    Args:
      vocab_size: the number of ids, which are 0 … vocab_size - 1. Another id is an error in an
        un-jitted call; in a compiled one, where ids are not known, those below 0 count as 0 and
        those above as the last.
      d_feature: the length of the vectors.
      use_bfloat16: whether the weights are bfloat16; outputs are float32 all the same.
      kernel_initializer: function of (shape, rng) for the vectors.

    Raises:
      ValueError, TypeError: an option is out of its range; (when called) ids are not integers.
      IndexError: (when called, un-jitted) an id is outside the vocabulary.

    Weights are w [vocab_size, d_feature], which `init` makes without looking at the signature.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Embedding(10, 4)
      >>> _ = layer.init(None)
      >>> layer(np.array([[1, 2, 3]])).shape
      (1, 3, 4)

    Source: Trax documentation, `layers.core.Embedding`.
    """

    _needs_key = False

    def __init__(
        self,
        vocab_size: int,
        d_feature: int,
        use_bfloat16: bool = False,
        kernel_initializer: Callable[..., Any] = _EMBEDDING,
    ) -> None:
        name = "Embedding"
        self._vocab_size = options.whole_number(name, "vocab_size", vocab_size)
        self._d_feature = options.whole_number(name, "d_feature", d_feature)
        super().__init__(name=f"{name}_{vocab_size}_{d_feature}")
        self._use_bfloat16 = options.flag(name, "use_bfloat16", use_bfloat16)
        self._kernel_initializer = options.function(
            name, "kernel_initializer", kernel_initializer, _INITIALIZER
        )

    def forward(self, x: Any) -> Any:
        """The vectors of these ids."""
        w = self.weights
        if isinstance(w, list | tuple):
            raise ValueError(_unset(self, "w", w))
        if not jnp.issubdtype(x.dtype, jnp.integer):
            raise TypeError(f"{self._name}: expected ids, which are integers; got {x.dtype}")
        ids, size = known_values(x), w.shape[0]
        if ids is not None and ids.size and not 0 <= ids.min() <= ids.max() < size:
            strange = ids.min() if ids.min() < 0 else ids.max()
            raise IndexError(
                f"{self._name}: the id {strange} is outside the vocabulary of {size}\n"
                f"  fix: ids from 0 to {size - 1}, or a larger vocab_size"
            )
        y = jnp.take(w, x, axis=0, mode="clip")
        return y.astype(jnp.float32) if self._use_bfloat16 else y

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the vectors."""
        w = self._kernel_initializer((self._vocab_size, self._d_feature), self.rng)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w


@assert_shape("...->...")
class Dropout(Layer):
    """In training, sets elements to zero at random, and scales the others by 1 / (1 - rate).

    Args:
      rate: the probability of an element to be dropped.
      shared_axes: axes along which all elements are dropped, or none.
      mode: in 'train' elements are dropped; in others, the input is returned.

    Raises: ValueError, TypeError: an option is out of its range.

    The state is the rate, a scalar; if it is a dict with the layer's name, the rate is found there.

    Example:
      >>> from weft import layers as tl
      >>> tl.Dropout(0.5, mode="eval")(np.ones(3))
      Array([1., 1., 1.], dtype=float32)

    Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
    2014; Trax documentation, `layers.core.Dropout`.
    """

    def __init__(
        self, rate: float = 0.0, shared_axes: Sequence[int] | None = None, mode: str = "train"
    ) -> None:
        super().__init__()
        self._rate = options.number("Dropout", "rate", rate, least=0.0, most=1.0)
        shared_axes = () if shared_axes is None else shared_axes
        self._shared_axes = options.lengths("Dropout", "shared_axes", shared_axes, least=-64)
        self._mode = options.choice("Dropout", "mode", mode, MODES)
        self._needs_key = mode == "train"

    def forward(self, x: Any) -> Any:
        """The input, or what is left of it."""
        if self._mode != "train":
            return x
        rate, state = self._rate, self.state
        if isinstance(state, dict) and self._name in state:
            rate = state[self._name]
        elif rate == 0.0:
            return x
        elif rate == 1.0:
            return jnp.zeros_like(x)
        shape = list(x.shape)
        for axis in self._shared_axes:
            if not -len(shape) <= axis < len(shape):
                raise ShapeError(f"Dropout: no axis {axis} (shared_axes) in shape {tuple(shape)}")
            shape[axis] = 1
        kept = 1.0 - rate
        keep = fastmath.random.bernoulli(self.rng, kept, tuple(shape))
        return x * (keep.astype(x.dtype) / kept).astype(x.dtype)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the state, which is the rate."""
        self.state = jnp.array(self._rate, jnp.float32)


class Weights(Layer):
    """Weights themselves as an output: 0 -> 1.

    Args:
      initializer: function of (shape, rng).
      shape: their shape.
      use_bfloat16: whether they are bfloat16.

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Weights(lambda shape, rng: np.ones(shape), shape=(2,))
      >>> _ = layer.init(())
      >>> layer(())
      Array([1., 1.], dtype=float32)

    Source: Trax documentation, `layers.core.Weights`.
    """

    _needs_key = False

    def __init__(
        self, initializer: Callable[..., Any], shape: Sequence[int] = (), use_bfloat16: bool = False
    ) -> None:
        self._shape = options.lengths("Weights", "shape", shape, least=0)
        super().__init__(n_in=0, name=f"Weights_{tuple(shape)}")
        self._initializer = options.function("Weights", "initializer", initializer, _INITIALIZER)
        self._use_bfloat16 = options.flag("Weights", "use_bfloat16", use_bfloat16)

    def forward(self, x: Any) -> Any:
        """The weights."""
        if isinstance(self.weights, list | tuple):
            raise ValueError(_unset(self, "an array", self.weights))
        return self.weights

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the weights."""
        w = self._initializer(self._shape, self.rng)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w


class RandomUniform(Layer):
    """Random numbers, uniform on [min_val, max_val): 0 -> 1.

    Args:
      min_val: the lower end.
      max_val: the upper end.
      shape: shape of the output.
      dtype: dtype of the output, a float.
      sync: whether all devices of a `pmap` over the axis 'batch' draw the same numbers.

    Raises: ValueError, TypeError: an option is out of its range.

    Source: Trax documentation, `layers.core.RandomUniform`.
    """

    def __init__(
        self,
        min_val: float = 0.0,
        max_val: float = 1.0,
        shape: Sequence[int] = (),
        dtype: Any = onp.float32,
        sync: bool = False,
    ) -> None:
        name = "RandomUniform"
        super().__init__(n_in=0)
        self._min_val = options.number(name, "min_val", min_val)
        self._max_val = options.number(name, "max_val", max_val, least=min_val)
        self._shape = options.lengths(name, "shape", shape, least=0)
        self._dtype, self._sync = dtype, options.flag(name, "sync", sync)

    def forward(self, xs: Any) -> Any:
        """The numbers."""
        rng = self.rng
        if self._sync and fastmath.global_device_count() > 1:
            rng = fastmath.psum(rng, "batch")
        return fastmath.random.uniform(rng, self._shape, self._dtype, self._min_val, self._max_val)


def _axes(layer: str, axis: Any) -> Any:
    """An option that is an axis, several, or None for all."""
    if axis is None:
        return None
    if isinstance(axis, list | tuple):
        return options.lengths(layer, "axis", axis, least=-64)
    return options.whole_number(layer, "axis", axis, least=-64)


def PrintShape(n_in: int = 1, msg: str = "") -> Layer:
    """A layer that prints the shapes of its inputs, under `jit` when it is traced.

    Args:
      n_in: number of inputs, and of outputs.
      msg: text that is printed before.
    Source: Trax documentation, `layers.core.PrintShape`.
    """
    n = options.whole_number("PrintShape", "n_in", n_in)

    def shown(xs: Any) -> Any:
        shapes = [f"{tuple(x.shape)}[{x.dtype}]" for x in (xs if n > 1 else (xs,))]
        print(f"PrintShape: {msg}: [{', '.join(shapes)}]")
        return xs

    return PureLayer(shown, n, n, f"PrintShape_{n}")


def Flatten(n_axes_to_keep: int = 1) -> Layer:
    """A layer that joins the last axes to one: [a, b, c, d] -> [a, b · c · d].

    Args:
      n_axes_to_keep: how many axes are left as they are.
    Raises: ValueError, when it runs: the input hasn't more axes than these.
    Example:
      >>> from weft import layers as tl
      >>> tl.Flatten(n_axes_to_keep=2)(np.ones((2, 3, 5, 7, 11))).shape
      (2, 3, 385)
    Source: Trax documentation, `layers.core.Flatten`.
    """
    n = options.whole_number("Flatten", "n_axes_to_keep", n_axes_to_keep, least=0)
    name = f"Flatten_keep{n}"

    def flat(x: Any) -> Any:
        if len(x.shape) <= n:
            raise ShapeError(f"{name}: expected more than {n} axes; got shape {tuple(x.shape)}")
        last = 1
        for length in x.shape[n:]:
            last *= length
        return jnp.reshape(x, (*x.shape[:n], last))

    return Fn(name, flat)


def LogSoftmax(axis: int = -1) -> Layer:
    """A layer that makes log-probabilities of activations along an axis.

    Args:
      axis: the axis along which probabilities add up to 1.
    Source: Trax documentation, `layers.core.LogSoftmax`.
    """
    axis = _axes("LogSoftmax", axis)
    return Fn("LogSoftmax", lambda x: log_softmax(x, axis=axis))


def LogSumExp(axis: int = -1) -> Layer:
    """A layer that computes log Σ exp(x) along an axis, which stays, with length 1.

    Args:
      axis: the axis.
    Source: Trax documentation, `layers.core.LogSumExp`.
    """
    axis = _axes("LogSumExp", axis)
    return Fn("LogSumExp", lambda x: fastmath.logsumexp(x, axis=axis, keepdims=True))


def Softmax(axis: int = -1) -> Layer:
    """A layer that makes probabilities of activations along an axis.

    Args:
      axis: the axis along which they add up to 1.
    Example:
      >>> from weft import layers as tl
      >>> tl.Softmax()(np.zeros(4))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    Source: Trax documentation, `layers.core.Softmax`.
    """
    axis = _axes("Softmax", axis)
    return Fn("Softmax", lambda x: jnp.exp(log_softmax(x, axis=axis)))


def ToFloat() -> Layer:
    """A layer that makes float32 of any numbers.

    Source: Trax documentation, `layers.core.ToFloat`.
    """
    return Fn("ToFloat", lambda x: x.astype(jnp.float32))


def _reduction(name: str, function: str, axis: Any, keepdims: bool) -> Layer:
    """A layer that applies a function of NumPy's with an axis."""
    axis, keepdims = _axes(name, axis), options.flag(name, "keepdims", keepdims)
    return Fn(name, lambda x: getattr(jnp, function)(x, axis=axis, keepdims=keepdims))


def Mean(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that takes the mean along an axis.

    Args:
      axis: the axis; several, as a tuple; None for all.
      keepdims: whether the axis stays, with length 1.
    Source: Trax documentation, `layers.core.Mean`.
    """
    return _reduction("Mean", "mean", axis, keepdims)


def Min(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that takes the least element along an axis.

    Args:
      axis: the axis; several, as a tuple; None for all.
      keepdims: whether the axis stays, with length 1.
    Source: Trax documentation, `layers.core.Min`.
    """
    return _reduction("Min", "min", axis, keepdims)


def Max(axis: Any = -1, keepdims: bool = False) -> Layer:
    """A layer that takes the greatest element along an axis.

    Args:
      axis: the axis; several, as a tuple; None for all.
      keepdims: whether the axis stays, with length 1.
    Source: Trax documentation, `layers.core.Max`.
    """
    return _reduction("Max", "max", axis, keepdims)


def Sum(axis: Any = None, keepdims: bool = False) -> Layer:
    """A layer that sums along an axis, by default along all.

    Args:
      axis: the axis; several, as a tuple; None for all.
      keepdims: whether the axis stays, with length 1.
    Source: Trax documentation, `layers.core.Sum`.
    """
    return _reduction("Sum", "sum", axis, keepdims)


def ThresholdToBinary(threshold: float = 0.5) -> Layer:
    """A layer that gives 1 where the input is greater than a number, and 0 elsewhere, as int32.

    Args:
      threshold: the number.
    Source: Trax documentation, `layers.core.ThresholdToBinary`.
    """
    options.number("ThresholdToBinary", "threshold", threshold)
    return Fn("ThresholdToBinary", lambda x: (x > threshold).astype(jnp.int32))


def ArgMax(axis: int = -1) -> Layer:
    """A layer that gives the index of the greatest element along an axis, as int32.

    Args:
      axis: the axis.
    Source: Trax documentation, `layers.core.ArgMax`.
    """
    axis = options.whole_number("ArgMax", "axis", axis, least=-64)
    return Fn("ArgMax", lambda x: jnp.argmax(x, axis=axis).astype(jnp.int32))


@assert_shape("...->...")
def Negate() -> Layer:
    """A layer that computes -x.

    Source: Trax documentation, `layers.core.Negate`.
    """
    return Fn("Negate", lambda x: -x)


@assert_shape("...->...")
def StopGradient() -> Layer:
    """A layer that returns its input, whose derivative counts as zero.

    Source: Trax documentation, `layers.core.StopGradient`.
    """
    return Fn("StopGradient", lambda x: fastmath.stop_gradient(x))
