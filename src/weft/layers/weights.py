"""Weights and RandomUniform: layers without inputs, for trained weights and random numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from ..option_checks import INITIALIZER_SIGNATURE
from .base import Layer
from .dense import _unset


class Weights(Layer):
    """A layer that returns its weights: 0 -> 1.

    Args:
      initializer: function of (shape, rng).
      shape: the shape of the weights.
      use_bfloat16: whether the weights are bfloat16.

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
        self._shape = option_checks.lengths("Weights", "shape", shape, least=0)
        super().__init__(n_in=0, name=f"Weights_{tuple(shape)}")
        self._initializer = option_checks.function(
            "Weights", "initializer", initializer, INITIALIZER_SIGNATURE
        )
        self._use_bfloat16 = option_checks.flag("Weights", "use_bfloat16", use_bfloat16)

    def forward(self, x: Any) -> Any:
        """The weights."""
        if isinstance(self.weights, list | tuple):
            raise ValueError(_unset(self, "an array", self.weights))
        return self.weights

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the weights."""
        w = self._initializer(self._shape, self.rng)
        self.weights = w.astype(jnp.bfloat16) if self._use_bfloat16 else w


class RandomUniform(Layer):
    """A layer that returns uniform random numbers in [min_val, max_val): 0 -> 1.

    Args:
      min_val: the lower bound.
      max_val: the upper bound.
      shape: shape of the output.
      dtype: the dtype of the output, a float dtype.
      sync: whether all devices of a `pmap` over the axis 'batch' draw the same numbers.

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.RandomUniform(shape=(2, 3))
      >>> layer(()).shape
      (2, 3)

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
        self._min_val = option_checks.number(name, "min_val", min_val)
        self._max_val = option_checks.number(name, "max_val", max_val, least=min_val)
        self._shape = option_checks.lengths(name, "shape", shape, least=0)
        self._dtype, self._sync = dtype, option_checks.flag(name, "sync", sync)

    def forward(self, xs: Any) -> Any:
        """The numbers."""
        rng = self.rng
        if self._sync and fastmath.global_device_count() > 1:
            rng = fastmath.psum(rng, "batch")
        return fastmath.random.uniform(rng, self._shape, self._dtype, self._min_val, self._max_val)
