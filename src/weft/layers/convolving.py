"""The common part of `Conv` and `ConvTranspose`: options, weights, more batch axes than one.

Knows specs of dimensions, ('NHWC', 'HWIO', 'NHWC'), and shapes; computes no convolution.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..user_lines import noted
from . import options
from .base import Layer
from .initializers import GlorotNormalInitializer, Initializer

Padding: TypeAlias = str | Sequence[tuple[int, int]]

_FORMS = "('NHWC', 'HWIO', 'NHWC')"


@dataclass(frozen=True)
class Window:
    """The checked options of a convolution layer.

    Attributes:
      layer: the layer's name, for errors.
      filters: how many features come out.
      size: the window's lengths, in the order of the kernel's spec.
      strides: a step for each of them.
      padding: 'VALID', 'SAME', or a pair of numbers for each of them.
      specs: the letters of the axes of input, kernel and output.
    """

    layer: str
    filters: int
    size: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Any
    specs: tuple[str, str, str]

    @property
    def kernel_initializer(self) -> Initializer:
        """The default one, which finds the features' axes in the kernel's spec."""
        kernel = self.specs[1]
        return GlorotNormalInitializer(kernel.index("O"), kernel.index("I"))

    def weights(
        self,
        input_signature: Any,
        rng: Any,
        kernel_initializer: Initializer,
        bias_initializer: Initializer | None,
    ) -> Any:
        """Initial weights: (kernel, bias), or the kernel alone."""
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
                f"{self.layer}: expected an array with axes {source}, and so of {len(source)} "
                f"axes; got shape {shape}"
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
        whole = [n + low + high for n, (low, high) in zip(lengths, pads, strict=True)]
        if any(n < k for n, k in zip(whole, self.size, strict=True)):
            raise ShapeError(
                f"{self.layer}: the window {self.size} is larger than the input's lengths "
                f"{lengths}, with padding {self.padding!r}\n  fix: padding='SAME', or a smaller "
                "kernel_size"
            )

    def over_batches(self, convolve: Callable[[Any], Any], x: Any) -> Any:
        """A convolution of an array, whose first axes, if it has more, become one for it."""
        self.check(x)
        if len(x.shape) == len(self.specs[0]):
            return convolve(x)
        leading = tuple(x.shape[:-3])
        y = convolve(jnp.reshape(x, (math.prod(leading), *x.shape[-3:])))
        return jnp.reshape(y, (*leading, *y.shape[1:]))


class Convolving(Layer):
    """A layer with a window, a kernel, and mostly a bias; a class of them has `_convolve`."""

    _needs_key = False
    _window: Window
    _kernel_initializer: Initializer
    _bias_initializer: Initializer | None  # None: no bias

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Sets the weights: the kernel's key and the bias's are the two of a split."""
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
    """A `Window` of the options, which are checked.

    Raises: TypeError, ValueError: an option has another form; the user's line is on it.
    """
    specs = _specs(layer, dimension_numbers)
    count = len(specs[1]) - 2
    size = options.lengths(layer, "kernel_size", kernel_size, count)
    steps = (1,) * count if strides is None else strides
    return Window(
        layer,
        options.whole_number(layer, "filters", filters),
        size,
        options.lengths(layer, "strides", steps, count),
        _padding(layer, padding, count),
        specs,
    )


def _specs(layer: str, dimension_numbers: Any) -> tuple[str, str, str]:
    """Three specs of equal length with the letters that they need, each once."""
    given = dimension_numbers
    if not (isinstance(given, tuple | list) and all(isinstance(spec, str) for spec in given)):
        raise noted(TypeError(f"{layer}: dimension_numbers must be like {_FORMS}; got {given!r}"))
    if len(given) == 3:
        source, kernel, out = given
        axes = set(kernel) - {"O", "I"}
        wanted = axes | {"N", "C"}
        if (
            set(source) == set(out) == wanted
            and {"O", "I"} < set(kernel)
            and not axes & {"N", "C"}
            and len(source) == len(out) == len(kernel) == len(wanted)
        ):
            return source, kernel, out
    raise noted(
        ValueError(
            f"{layer}: dimension_numbers must be specs of input, kernel and output with one letter "
            f"an axis, N and C for batch and features and O and I for the kernel's, like {_FORMS}; "
            f"got {given!r}"
        )
    )


def _padding(layer: str, padding: Any, count: int) -> Any:
    """'VALID', 'SAME', or pairs of ints."""
    if isinstance(padding, tuple | list):
        if len(padding) == count and all(
            isinstance(pair, tuple | list) and len(pair) == 2 for pair in padding
        ):
            return tuple(
                options.lengths(layer, f"padding[{i}]", pair, least=0)
                for i, pair in enumerate(padding)
            )
        raise noted(
            ValueError(
                f"{layer}: padding must be 'VALID', 'SAME', or {count} pairs (low, high), one for "
                f"each spatial axis; got {padding!r}"
            )
        )
    return options.choice(layer, "padding", padding, ("VALID", "SAME"))
