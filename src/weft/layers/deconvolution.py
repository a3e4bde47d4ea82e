"""ConvTranspose: transposed convolutions."""

from collections.abc import Sequence
from typing import Any

from .. import fastmath, option_checks
from ..user_lines import noted
from .convolution import Convolving, Padding, window
from .initializers import Initializer, RandomNormalInitializer

__all__ = ["ConvTranspose"]

_SPECS = ("NHWC", "HWIO", "NHWC")
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


class ConvTranspose(Convolving):
    """A transposed convolution, which enlarges arrays as a `Conv` with strides shrinks them.

    The input, with stride - 1 zeros between its elements and zeros around it, is convolved with the
    kernel, which is not flipped. So it is the gradient of a convolution with the flipped kernel.

    It maps an array with the input's spec to an array with the output's spec. With k = (size - 1) ·
    dilation + 1, spatial lengths are d · stride with padding 'SAME', and d · stride + max(k -
    stride, 0) with 'VALID'. Weights: (w, b), with the shapes of `Conv`'s.

    Args:
      filters: the number of output features.
      kernel_size: the lengths of the window.
      strides: the factors by which the array becomes larger; by default 1.
      padding: 'VALID', 'SAME', or a pair (low, high) for each spatial axis: the numbers of zeros
        around the dilated input.
      rhs_dilation: the distance between the kernel's elements; by default 1.
      dimension_numbers: the axes of input, kernel and output, one letter for each axis.
      kernel_initialzer: an initializer for w; by default `GlorotNormalInitializer`. The spelling is
        Trax's.
      bias_initializer: an initializer for b.
      kernel_initializer: another name for `kernel_initialzer`.
    Raises:
      TypeError, ValueError: an option is invalid, or the kernel's initializer is given twice.
      LayerError (when called): the array has another number of axes.
    Example:
      >>> from weft import layers as tl, shapes
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.ones((1, 5, 5, 3))
      >>> layer = tl.ConvTranspose(8, (3, 3), strides=(2, 2), padding="SAME")
      >>> _ = layer.init(shapes.signature(x))
      >>> layer(x).shape
      (1, 10, 10, 8)
    Source: Zeiler et al., Deconvolutional networks (2010); Trax's documented names,
      `layers.ConvTranspose`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Padding = "VALID",
        rhs_dilation: Sequence[int] | None = None,
        dimension_numbers: Sequence[str] = _SPECS,
        kernel_initialzer: Initializer | None = None,
        bias_initializer: Initializer = _BIAS_INITIALIZER,
        kernel_initializer: Initializer | None = None,
    ) -> None:
        super().__init__()
        name = self.name
        self._window = window(name, filters, kernel_size, strides, padding, dimension_numbers)
        count = len(self._window.size)
        dilation = (1,) * count if rhs_dilation is None else rhs_dilation
        self._dilation = option_checks.lengths(name, "rhs_dilation", dilation, count)
        if kernel_initialzer is not None and kernel_initializer is not None:
            raise noted(
                ValueError(
                    f"{name}: kernel_initialzer and kernel_initializer are two spellings of one "
                    "option; give one of them"
                )
            )
        initializer = kernel_initialzer if kernel_initializer is None else kernel_initializer
        self._kernel_initializer = (
            self._window.kernel_initializer
            if initializer is None
            else option_checks.function(name, "kernel_initialzer", initializer, "(shape, rng)")
        )
        self._bias_initializer = option_checks.function(
            name, "bias_initializer", bias_initializer, "(shape, rng)"
        )

    def _convolve(self, x: Any, w: Any) -> Any:
        """The convolution of the dilated and padded input."""
        pads = [self._pads(i) for i in range(len(self._dilation))]
        ones, gaps = (1,) * len(pads), self._window.strides
        return fastmath.conv(x, w, ones, pads, self._window.specs, self._dilation, gaps)

    def _pads(self, i: int) -> tuple[int, int]:
        """The numbers of zeros before and after the input along a spatial axis."""
        padding, stride = self._window.padding, self._window.strides[i]
        if not isinstance(padding, str):
            return padding[i]
        k = (self._window.size[i] - 1) * self._dilation[i] + 1
        total = k + stride - 2
        if padding == "VALID":
            return k - 1, total - (k - 1) + max(k - stride, 0)
        low = k - 1 if stride > k - 1 else -(-total // 2)
        return low, total - low
