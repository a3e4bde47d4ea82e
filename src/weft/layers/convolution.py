"""Convolution layers: Conv, Conv1d, CausalConv and CausalDepthwiseConv."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..user_lines import noted
from .base import Layer
from .initializers import (
    GlorotNormalInitializer,
    GlorotUniformInitializer,
    Initializer,
    RandomNormalInitializer,
)

__all__ = ["CausalConv", "CausalDepthwiseConv", "Conv", "Conv1d"]


Padding: TypeAlias = str | Sequence[tuple[int, int]]

_EXAMPLE_SPECS = "('NHWC', 'HWIO', 'NHWC')"


@dataclass(frozen=True)
class Window:
    """The checked options of a convolution layer.

    Attributes:
      layer: the layer's name, for errors.
      filters: the number of output features.
      size: the lengths of the window, in the order of the kernel's spec.
      strides: the step along each of these axes.
      padding: 'VALID', 'SAME', or a pair of numbers for each of these axes.
      specs: the axis letters of input, kernel and output.
    """

    layer: str
    filters: int
    size: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Any
    specs: tuple[str, str, str]

    @property
    def kernel_initializer(self) -> Initializer:
        """The default initializer, which finds the feature axes in the kernel's spec."""
        kernel = self.specs[1]
        return GlorotNormalInitializer(kernel.index("O"), kernel.index("I"))

    def weights(
        self,
        input_signature: Any,
        rng: Any,
        kernel_initializer: Initializer,
        bias_initializer: Initializer | None,
    ) -> Any:
        """Initial weights: (kernel, bias), or just the kernel."""
        self.check(input_signature)
        source, kernel, out = self.specs
        features = input_signature.shape[source.index("C") - len(source)]
        if features is None or features < 1:
            raise ShapeError(
                f"{self.layer}: the features' axis must have a length of at least 1; got shape "
                f"{tuple(input_signature.shape)} with axes {source}"
            )
        lengths = iter(self.size)
        fixed = {"O": self.filters, "I": features}
        shape = [fixed[letter] if letter in fixed else next(lengths) for letter in kernel]
        for_kernel, for_bias = fastmath.random.split(rng, 2)
        w = kernel_initializer(shape, for_kernel)
        if bias_initializer is None:
            return w
        bias_shape = (self.filters,) + (1,) * (len(out) - 1 - out.index("C"))
        return w, bias_initializer(bias_shape, for_bias)

    def check(self, x: Any) -> None:
        """Raises a ShapeError if an array, or its signature, has another number of axes."""
        source, _, out = self.specs
        if len(x.shape) == len(source):
            return
        shape = tuple(x.shape)
        if len(x.shape) < len(source):
            raise ShapeError(
                f"{self.layer}: expected an array with axes {source}, {len(source)} in number; got "
                f"shape {shape}"
            )
        if (source, out) != ("NHWC", "NHWC"):
            kind = "Deconvolutions" if self.layer == "ConvTranspose" else "Convolutions"
            raise ShapeError(
                f"{self.layer}: {kind} on more than 4 dimensions only supported in NHWC; got "
                f"shape {shape} with axes {source}"
            )

    def check_fits(self, x: Any) -> None:
        """Raises a ShapeError if an array is smaller than the window."""
        source, kernel, _ = self.specs
        if self.padding == "SAME":
            return
        spatial = [letter for letter in kernel if letter not in "OI"]
        lengths = tuple(x.shape[source.index(letter) - len(source)] for letter in spatial)
        pads = [(0, 0)] * len(lengths) if self.padding == "VALID" else self.padding
        padded = [n + low + high for n, (low, high) in zip(lengths, pads, strict=True)]
        if any(n < k for n, k in zip(padded, self.size, strict=True)):
            raise ShapeError(
                f"{self.layer}: the window {self.size} is larger than the input's lengths "
                f"{lengths}, with padding {self.padding!r}\n  fix: padding='SAME', or a smaller "
                "kernel_size"
            )

    def over_batches(self, convolve: Callable[[Any], Any], x: Any) -> Any:
        """A convolution of an array; additional leading axes are merged into the batch axis."""
        self.check(x)
        if len(x.shape) == len(self.specs[0]):
            return convolve(x)
        leading = tuple(x.shape[:-3])
        y = convolve(jnp.reshape(x, (math.prod(leading), *x.shape[-3:])))
        return jnp.reshape(y, (*leading, *y.shape[1:]))


class Convolving(Layer):
    """A layer with a window, a kernel, and usually a bias. Subclasses define `_convolve`."""

    _needs_key = False
    _window: Window
    _kernel_initializer: Initializer
    _bias_initializer: Initializer | None  # None for no bias

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the weights: kernel and bias use the two keys of a split."""
        self.weights = self._window.weights(
            input_signature, self.rng, self._kernel_initializer, self._bias_initializer
        )

    def forward(self, x: Any) -> Any:
        """The convolution of `x`, with the bias added."""
        w, b = (self.weights, None) if self._bias_initializer is None else self.weights
        if x.dtype != w.dtype:
            x, w = (array.astype(jnp.result_type(x, w)) for array in (x, w))
        y = self._window.over_batches(lambda x: self._convolve(x, w), x)
        return y if b is None else y + b

    def _convolve(self, x: Any, w: Any) -> Any:
        """The convolution of an array with one batch axis."""
        raise NotImplementedError


def window(
    layer: str,
    filters: Any,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    dimension_numbers: Any,
) -> Window:
    """A `Window` from checked options.

    Raises: TypeError, ValueError: an option is invalid; the error names the user's line.
    """
    specs = _specs(layer, dimension_numbers)
    count = len(specs[1]) - 2
    size = option_checks.lengths(layer, "kernel_size", kernel_size, count)
    steps = (1,) * count if strides is None else strides
    return Window(
        layer,
        option_checks.whole_number(layer, "filters", filters),
        size,
        option_checks.lengths(layer, "strides", steps, count),
        _padding(layer, padding, count),
        specs,
    )


def _specs(layer: str, dimension_numbers: Any) -> tuple[str, str, str]:
    """Checks three specs: they must have equal lengths and the required letters, each once."""
    specs = dimension_numbers
    if not (isinstance(specs, tuple | list) and all(isinstance(spec, str) for spec in specs)):
        raise noted(
            TypeError(f"{layer}: dimension_numbers must be like {_EXAMPLE_SPECS}; got {specs!r}")
        )
    if len(specs) == 3:
        source, kernel, out = specs
        axes = set(kernel) - {"O", "I"}
        letters = axes | {"N", "C"}
        if (
            set(source) == set(out) == letters
            and {"O", "I"} < set(kernel)
            and not axes & {"N", "C"}
            and len(source) == len(out) == len(kernel) == len(letters)
        ):
            return source, kernel, out
    raise noted(
        ValueError(
            f"{layer}: dimension_numbers must be specs of input, kernel and output with one letter "
            f"an axis, N and C for batch and features and O and I for the kernel's, like "
            f"{_EXAMPLE_SPECS}; "
            f"got {specs!r}"
        )
    )


def _padding(layer: str, padding: Any, count: int) -> Any:
    """'VALID', 'SAME', or pairs of ints."""
    if isinstance(padding, tuple | list):
        if len(padding) == count and all(
            isinstance(pair, tuple | list) and len(pair) == 2 for pair in padding
        ):
            return tuple(
                option_checks.lengths(layer, f"padding[{i}]", pair, least=0)
                for i, pair in enumerate(padding)
            )
        raise noted(
            ValueError(
                f"{layer}: padding must be 'VALID', 'SAME', or {count} pairs (low, high), one for "
                f"each spatial axis; got {padding!r}"
            )
        )
    return option_checks.choice(layer, "padding", padding, ("VALID", "SAME"))


_SPECS = ("NHWC", "HWIO", "NHWC")
_SPECS_1D = ("NWC", "WIO", "NWC")
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


class Conv(Convolving):
    """A convolution over any number of spatial axes, with a bias.

    y[n, p, o] = b[o] + Σ over offsets k of the window, and features i, of
    w[k, i, o] · x[n, p · strides + k, i]: the kernel is not flipped.

    It maps an array with the input's spec to an array with the output's spec. The spatial lengths
    are ⌊(d - size) / stride⌋ + 1 with padding 'VALID', and ⌈d / stride⌉ with 'SAME'. With the spec
    NHWC, arrays may have more than one batch axis. Weights: (w, b), or w without a bias.

    Args:
      filters: the number of output features.
      kernel_size: the lengths of the window.
      strides: the distance between windows; by default 1.
      padding: 'VALID' for no padding, 'SAME' for zeros on both sides that preserve the lengths if
        strides are 1, or a pair (low, high) for each spatial axis.
      dimension_numbers: the axes of input, kernel and output, one letter for each axis.
      kernel_initializer: an initializer for w; by default `GlorotNormalInitializer`.
      bias_initializer: an initializer for b.
      use_bias: whether to add a bias.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array has another number of axes, or is smaller than the
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
        bias_initializer: Initializer = _BIAS_INITIALIZER,
        use_bias: bool = True,
    ) -> None:
        super().__init__()
        name = self.name
        self._window = window(name, filters, kernel_size, strides, padding, dimension_numbers)
        self._kernel_initializer = (
            self._window.kernel_initializer
            if kernel_initializer is None
            else option_checks.function(
                name, "kernel_initializer", kernel_initializer, "(shape, rng)"
            )
        )
        option_checks.function(name, "bias_initializer", bias_initializer, "(shape, rng)")
        has_bias = option_checks.flag(name, "use_bias", use_bias)
        self._bias_initializer = bias_initializer if has_bias else None

    def _convolve(self, x: Any, w: Any) -> Any:
        window = self._window
        window.check_fits(x)
        ones = (1,) * len(window.size)
        return fastmath.conv(x, w, window.strides, window.padding, window.specs, ones)


class CausalConv(Conv):
    """A convolution over time in which outputs do not depend on later inputs.

    y[n, t, o] = b[o] + Σ over k and i of w[k, i, o] · x[n, t - (width - 1) + k, i], where x is 0
    before its start.

    It maps an array [batch, time, features] to an array [batch, time, filters]. Weights, as in
    `Conv`: w [width, features, filters], b [filters].

    Args:
      filters: the number of output features.
      kernel_width: the number of steps that each output depends on, including its own.
      kernel_initializer, bias_initializer, use_bias: as for `Conv`.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array does not have three axes.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.CausalConv(filters=3, kernel_width=2)
      >>> _ = layer.init(np.ones((1, 5, 4)))
      >>> layer(np.ones((1, 5, 4))).shape
      (1, 5, 3)
    Source: van den Oord et al., WaveNet (2016); Trax documentation, `layers.CausalConv`.
    """

    _needs_key = False

    def __init__(
        self,
        filters: int,
        kernel_width: int = 3,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = _BIAS_INITIALIZER,
        use_bias: bool = True,
    ) -> None:
        option_checks.whole_number("CausalConv", "kernel_width", kernel_width)
        super().__init__(
            filters,
            (kernel_width,),
            dimension_numbers=_SPECS_1D,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            use_bias=use_bias,
        )

    def forward(self, x: Any) -> Any:
        """The convolution of `x`, padded with zeros at the front to keep its length."""
        self._window.check(x)
        return super().forward(_delayed(x, self._window.size[0] - 1))


def Conv1d(
    filters: int,
    kernel_size: int,
    stride: int = 1,
    padding: Padding = "VALID",
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _BIAS_INITIALIZER,
    use_bias: bool = True,
) -> Layer:
    """A `Conv` over one axis, for arrays [batch, length, features].

    Args:
      filters: the number of output features.
      kernel_size: the length of the window, an int.
      stride: the distance between windows.
      padding, kernel_initializer, bias_initializer, use_bias: as for `Conv`.
    Returns: a `Conv` from an array [batch, length, features] to an array [batch, length', filters].
    Raises: as `Conv`.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Conv1d(filters=3, kernel_size=2)
      >>> _ = layer.init(np.ones((1, 5, 4)))
      >>> layer(np.ones((1, 5, 4))).shape
      (1, 4, 3)
    Source: Trax documentation, `layers.Conv1d`.
    """
    return Conv(
        filters,
        (option_checks.whole_number("Conv1d", "kernel_size", kernel_size),),
        (option_checks.whole_number("Conv1d", "stride", stride),),
        padding,
        _SPECS_1D,
        kernel_initializer,
        bias_initializer,
        use_bias,
    )


class CausalDepthwiseConv(Layer):
    """A separate convolution over time for each feature, without a bias.

    y[n, t, d] = Σ over i of w[i, d] · x[n, t - i, d], where x is 0 before its start.

    It maps an array [batch, time, depth] to an array of the same shape. Weights: w [width, depth].

    Args:
      kernel_size: the number of steps that each output depends on, including its own.
      kernel_initializer: an initializer for w.
      use_bfloat16: whether w is bfloat16.
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): the array does not have three axes.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.CausalDepthwiseConv(kernel_size=2)
      >>> _ = layer.init(np.ones((1, 3, 1)))
      >>> layer.weights = np.array([[1.0], [10.0]])
      >>> layer(np.array([[[1.0], [2.0], [3.0]]]))
      Array([[[ 1.],
              [12.],
              [23.]]], dtype=float32)
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
        self._kernel_size = option_checks.whole_number(name, "kernel_size", kernel_size)
        self._kernel_initializer = option_checks.function(
            name, "kernel_initializer", kernel_initializer, "(shape, rng)"
        )
        self._use_bfloat16 = option_checks.flag(name, "use_bfloat16", use_bfloat16)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the kernel with the first key of a split."""
        self._check(input_signature)
        key = fastmath.random.split(self.rng, 2)[0]
        w = self._kernel_initializer((self._kernel_size, input_signature.shape[-1]), key)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w

    def forward(self, x: Any) -> Any:
        """The weighted sum of `x` and its delayed copies."""
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
    """An array [batch, time, depth], delayed by some steps; zeros come first."""
    return jnp.pad(x, ((0, 0), (steps, 0), (0, 0)))
