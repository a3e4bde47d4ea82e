"""Dense: an affine map along the last axis."""

from collections.abc import Callable
from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import INITIALIZER_SIGNATURE
from .assert_shape import assert_shape
from .base import Layer
from .initializers import GlorotUniformInitializer, RandomNormalInitializer

_KERNEL_INITIALIZER = GlorotUniformInitializer()
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


@assert_shape("...a->...b")
class Dense(Layer):
    """An affine map along the last axis: x · w + b, [..., a] -> [..., n_units].

    Args:
      n_units: the length of the output's last axis.
      kernel_initializer: function of (shape, rng) for w.
      bias_initializer: function of (shape, rng) for b.
      use_bias: whether to add b.
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
        kernel_initializer: Callable[..., Any] = _KERNEL_INITIALIZER,
        bias_initializer: Callable[..., Any] = _BIAS_INITIALIZER,
        use_bias: bool = True,
        use_bfloat16: bool = False,
    ) -> None:
        self._n_units = option_checks.whole_number("Dense", "n_units", n_units)
        super().__init__(name=f"Dense_{n_units}")
        self._kernel_initializer = option_checks.function(
            "Dense", "kernel_initializer", kernel_initializer, INITIALIZER_SIGNATURE
        )
        self._bias_initializer = option_checks.function(
            "Dense", "bias_initializer", bias_initializer, INITIALIZER_SIGNATURE
        )
        self._use_bias = option_checks.flag("Dense", "use_bias", use_bias)
        self._use_bfloat16 = option_checks.flag("Dense", "use_bfloat16", use_bfloat16)

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
        """Initializes w and b for the length of the last axis."""
        key_w, key_b = fastmath.random.split(self.rng, 2)
        w = self._kernel_initializer((input_signature.shape[-1], self._n_units), key_w)
        b = self._bias_initializer((self._n_units,), key_b) if self._use_bias else None
        if self._use_bfloat16:
            w, b = (v if v is None else v.astype(jnp.bfloat16) for v in (w, b))
        self.weights = (w, b) if self._use_bias else w


def _unset(layer: Layer, expected: str, weights: Any) -> str:
    """The message for weights that are missing, or belong to another layer."""
    description = "none" if weights == () else f"{weights!r}"
    return f"{layer.name}: expected weights {expected}; got {description}"
