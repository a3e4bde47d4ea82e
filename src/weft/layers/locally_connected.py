"""LocallyConnected1d: a one-dimensional convolution with different weights at each position."""

from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import INITIALIZER_SIGNATURE
from ..shapes import ShapeDtype
from ..user_lines import noted
from .base import Layer
from .initializers import GlorotUniformInitializer, RandomNormalInitializer

_KERNEL_INITIALIZER = GlorotUniformInitializer()
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


class LocallyConnected1d(Layer):
    """A convolution along one axis with separate weights for each position.

    Args:
      filters: the number of outputs at each position.
      kernel_size: the length of the window, an odd number.
      kernel_initializer: function of (shape, rng, nonreceptive_dims) that depends on the shape,
        such as `GlorotUniformInitializer()`.
      bias_initializer: function of (shape, rng).
      use_bias: whether to add a bias.
      padding: 'VALID', 'SAME' (zeros beyond the ends) or 'WRAP' (the sequence is a ring).

    Raises: AssertionError: `kernel_size` is even. ValueError: an invalid padding.

    Inputs [..., L, D] give outputs [..., L, filters], or [..., L - kernel_size + 1, filters] with
    'VALID'. Weights are (w, b), or w without bias: w is [L, kernel_size, D, filters], a matrix for
    each input position and tap, and b is [positions, filters]. With 'VALID' the taps are in reverse
    order, as in Trax. `L` cannot change after `init`.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LocallyConnected1d(4, 3)
      >>> _ = layer.init(np.ones((2, 7, 3)))
      >>> layer(np.ones((2, 7, 3))).shape
      (2, 5, 4)

    Source: Trax documentation, `layers.core.LocallyConnected1d`.
    """

    _needs_key = False

    def __init__(
        self,
        filters: int,
        kernel_size: int,
        kernel_initializer: Any = _KERNEL_INITIALIZER,
        bias_initializer: Any = _BIAS_INITIALIZER,
        use_bias: bool = True,
        padding: str = "VALID",
    ) -> None:
        name = "LocallyConnected1d"
        self._filters = option_checks.whole_number(name, "filters", filters)
        self._size = option_checks.whole_number(name, "kernel_size", kernel_size)
        if self._size % 2 == 0:
            raise noted(AssertionError(f"{name}: kernel_size must be odd; got {kernel_size}"))
        self._padding = option_checks.choice(name, "padding", padding, ("VALID", "SAME", "WRAP"))
        self._use_bias = option_checks.flag(name, "use_bias", use_bias)
        self._kernel_initializer = option_checks.function(
            name, "kernel_initializer", kernel_initializer, INITIALIZER_SIGNATURE
        )
        self._bias_initializer = option_checks.function(
            name, "bias_initializer", bias_initializer, INITIALIZER_SIGNATURE
        )
        super().__init__(name=f"{name}_{filters}_{kernel_size}")

    def forward(self, x: Any) -> Any:
        """The outputs: at position t, the sum of the products at the surrounding positions."""
        w, b = self.weights if self._use_bias else (self.weights, None)
        length, half = x.shape[-2], self._size // 2
        if (length, x.shape[-1]) != (w.shape[0], w.shape[2]):
            raise ShapeError(
                f"{self._name}: expected inputs [..., {w.shape[0]}, {w.shape[2]}], as at init; got "
                f"{tuple(x.shape)}"
            )
        taps = jnp.einsum("...ld,lkdf->...lkf", x, w)
        parts = [self._shifted(taps[..., i, :], i, half, length) for i in range(self._size)]
        y = jnp.sum(jnp.stack(parts), axis=0)
        return y if b is None else y + b

    def _shifted(self, part: Any, i: int, half: int, length: int) -> Any:
        """The contribution of one tap, [..., position, filters], shifted to its output
        positions."""
        if self._padding == "VALID":
            start = self._size - 1 - i
            return part[..., start : start + length - self._size + 1, :]
        shift = i - half
        if self._padding == "WRAP":
            return jnp.roll(part, -shift, axis=-2)
        zeros = jnp.zeros_like(part[..., : abs(shift), :])
        if shift >= 0:
            return jnp.concatenate([part[..., shift:, :], zeros], axis=-2)
        return jnp.concatenate([zeros, part[..., :shift, :]], axis=-2)

    def init_weights_and_state(self, input_signature: ShapeDtype) -> None:
        """Initializes the weights for inputs with this length."""
        if len(input_signature.shape) < 2:
            raise ShapeError(f"{self._name}: expected inputs [..., L, D]; got {input_signature}")
        length, d = input_signature.shape[-2:]
        places = length - self._size + 1 if self._padding == "VALID" else length
        if places < 1 or self._size // 2 >= length:
            raise ShapeError(f"{self._name}: a window of {self._size} in a sequence of {length}")
        key_w, key_b = fastmath.random.split(self.rng, 2)
        shape = (length, self._size, d, self._filters)
        w = self._kernel_initializer(shape, key_w, nonreceptive_dims=[0])
        b = self._bias_initializer((places, self._filters), key_b) if self._use_bias else None
        self.weights = (w, b) if self._use_bias else w
