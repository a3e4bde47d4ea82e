"""Layers of convolutions. Know fastmath's convolution; nothing of other layers."""

from collections.abc import Sequence
from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from . import options
from .base import Layer
from .convolving import Convolving, Padding, window
from .initializers import GlorotUniformInitializer, Initializer, RandomNormalInitializer

__all__ = ["CausalConv", "CausalDepthwiseConv", "Conv", "Conv1d"]

_SPECS = ("NHWC", "HWIO", "NHWC")
_SPECS_1D = ("NWC", "WIO", "NWC")
_SMALL = RandomNormalInitializer(1e-6)


class Conv(Convolving):
    """A convolution over any number of spatial axes, with a bias.

    y[n, p, o] = b[o] + Σ over offsets k of the window, and features i, of
    w[k, i, o] · x[n, p · strides + k, i]: the kernel isn't flipped.

    From an array of the input's spec to one of the output's, whose spatial lengths are
    ⌊(d - size) / stride⌋ + 1 with padding 'VALID', and ⌈d / stride⌉ with 'SAME'. With the spec
    NHWC, arrays with more than one batch axis are taken too. Weights: (w, b), or w without a bias.

    Args:
      filters: how many features come out.
      kernel_size: the window's lengths.
      strides: how far each window is from the next one; by default 1.
      padding: 'VALID' for none, 'SAME' for as many zeros on both sides as keep the lengths with
        strides of 1, or a pair (low, high) for each spatial axis.
      dimension_numbers: the axes of input, kernel and output, a letter each.
      kernel_initializer: an initializer for w; by default `GlorotNormalInitializer`.
      bias_initializer: an initializer for b.
      use_bias: whether there is a bias.
    Raises:
      TypeError, ValueError: an option has another form.
      ShapeError (when called): the array has another number of axes, or is smaller than the
        window.
    Example:
      >>> from weft import layers as tl, shapes
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.ones((1, 5, 5, 3))
      >>> layer = tl.Conv(8, (3, 3), strides=(2, 2))
      >>> w, b = layer.init(shapes.signature(x))[0]
      >>> w.shape, b.shape, layer(x).shape
      ((3, 3, 3, 8), (8,), (1, 2, 2, 8))
    Source: Trax documentation, `layers.Conv`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Padding = "VALID",
        dimension_numbers: Sequence[str] = _SPECS,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = _SMALL,
        use_bias: bool = True,
    ) -> None:
        super().__init__()
        name = self.name
        self._window = window(name, filters, kernel_size, strides, padding, dimension_numbers)
        self._kernel_initializer = (
            self._window.kernel_initializer
            if kernel_initializer is None
            else options.function(name, "kernel_initializer", kernel_initializer, "(shape, rng)")
        )
        options.function(name, "bias_initializer", bias_initializer, "(shape, rng)")
        has_bias = options.flag(name, "use_bias", use_bias)
        self._bias_initializer = bias_initializer if has_bias else None

    def _convolve(self, x: Any, w: Any) -> Any:
        window = self._window
        window.check_fits(x)
        ones = (1,) * len(window.size)
        return fastmath.conv(x, w, window.strides, window.padding, window.specs, ones)


class CausalConv(Conv):
    """A convolution over time in which no output depends on a later input.

    y[n, t, o] = b[o] + Σ over k and i of w[k, i, o] · x[n, t - (width - 1) + k, i], where x is 0
    before its start.

    From an array [batch, time, features] to one [batch, time, filters]. Weights as those of `Conv`:
    w [width, features, filters], b [filters].

    Args:
      filters: how many features come out.
      kernel_width: how many steps each output sees, its own included.
      kernel_initializer, bias_initializer, use_bias: as those of `Conv`.
    Raises:
      TypeError, ValueError: an option has another form.
      ShapeError (when called): the array hasn't three axes.
    Source: van den Oord et al., WaveNet (2016); Trax documentation, `layers.CausalConv`.
    """

    _needs_key = False

    def __init__(
        self,
        filters: int,
        kernel_width: int = 3,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = _SMALL,
        use_bias: bool = True,
    ) -> None:
        options.whole_number("CausalConv", "kernel_width", kernel_width)
        super().__init__(
            filters,
            (kernel_width,),
            dimension_numbers=_SPECS_1D,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            use_bias=use_bias,
        )

    def forward(self, x: Any) -> Any:
        """The convolution of `x`, behind as many zeros as give it its length again."""
        self._window.check(x)
        return super().forward(_delayed(x, self._window.size[0] - 1))


def Conv1d(
    filters: int,
    kernel_size: int,
    stride: int = 1,
    padding: Padding = "VALID",
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _SMALL,
    use_bias: bool = True,
) -> Layer:
    """A `Conv` over one axis, of arrays [batch, length, features].

    Args:
      filters: how many features come out.
      kernel_size: the window's length, an int.
      stride: how far each window is from the next one.
      padding, kernel_initializer, bias_initializer, use_bias: as those of `Conv`.
    Returns: a `Conv` from an array [batch, length, features] to one [batch, length', filters].
    Raises: as `Conv`.
    Source: Trax documentation, `layers.Conv1d`.
    """
    return Conv(
        filters,
        (options.whole_number("Conv1d", "kernel_size", kernel_size),),
        (options.whole_number("Conv1d", "stride", stride),),
        padding,
        _SPECS_1D,
        kernel_initializer,
        bias_initializer,
        use_bias,
    )


class CausalDepthwiseConv(Layer):
    """A convolution over time of each feature by itself, without a bias.

    y[n, t, d] = Σ over i of w[i, d] · x[n, t - i, d], where x is 0 before its start.

    From an array [batch, time, depth] to one of the same shape. Weights: w [width, depth].

    Args:
      kernel_size: how many steps each output sees, its own included.
      kernel_initializer: an initializer for w.
      use_bfloat16: whether w is bfloat16.
    Raises:
      TypeError, ValueError: an option has another form.
      ShapeError (when called): the array hasn't three axes.
    Source: So et al., Primer (2021); Trax's documented names, `layers.CausalDepthwiseConv`.
    """

    _needs_key = False

    def __init__(
        self,
        kernel_size: int = 3,
        kernel_initializer: Initializer = GlorotUniformInitializer(),  # noqa: B008
        use_bfloat16: bool = False,
    ) -> None:
        super().__init__()
        name = self.name
        self._kernel_size = options.whole_number(name, "kernel_size", kernel_size)
        self._kernel_initializer = options.function(
            name, "kernel_initializer", kernel_initializer, "(shape, rng)"
        )
        self._use_bfloat16 = options.flag(name, "use_bfloat16", use_bfloat16)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets the kernel, whose key is the first of a split."""
        self._check(input_signature)
        key = fastmath.random.split(self.rng, 2)[0]
        w = self._kernel_initializer((self._kernel_size, input_signature.shape[-1]), key)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w

    def forward(self, x: Any) -> Any:
        """The weighted sum of `x` and its delays."""
        self._check(x)
        length = x.shape[1]
        y = self.weights[0] * x
        for i in range(1, min(self._kernel_size, length)):
            y = y + self.weights[i] * _delayed(x, i)[:, :length]
        return y

    def _check(self, x: Any) -> None:
        if len(x.shape) != 3:
            raise ShapeError(
                f"{self.name}: expected an array [batch, time, depth]; got shape {tuple(x.shape)}"
            )


def _delayed(x: Any, steps: int) -> Any:
    """An array [batch, time, depth] with steps of zeros before its own."""
    return jnp.pad(x, ((0, 0), (steps, 0), (0, 0)))
