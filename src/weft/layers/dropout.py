"""Dropout: sets random elements to zero during training."""

from collections.abc import Sequence
from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .assert_shape import assert_shape
from .base import Layer


@assert_shape("...->...")
class Dropout(Layer):
    """In training, sets elements to zero at random, and scales the others by 1 / (1 - rate).

    Args:
      rate: the probability of dropping an element.
      shared_axes: axes along which either all elements are dropped, or none.
      mode: elements are dropped in 'train'; other modes return the input.

    Raises: ValueError, TypeError: an option is out of its range.

    The state is the rate, a scalar, or a dict with the rate under the layer's name.

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
        self._rate = option_checks.number("Dropout", "rate", rate, least=0.0, most=1.0)
        shared_axes = () if shared_axes is None else shared_axes
        self._shared_axes = option_checks.lengths("Dropout", "shared_axes", shared_axes, least=-64)
        self._mode = option_checks.checked_mode("Dropout", mode)
        self._needs_key = mode == "train"

    def forward(self, x: Any) -> Any:
        """The input; in mode 'train', with zeros at random positions."""
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
        keep_rate = 1.0 - rate
        keep = fastmath.random.bernoulli(self.rng, keep_rate, tuple(shape))
        return x * (keep.astype(x.dtype) / keep_rate).astype(x.dtype)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the state, the rate."""
        self.state = jnp.array(self._rate, jnp.float32)
