"""Feed-forward blocks of experts: equal parts of the units, one of which is used for each vector.

Sources: Fedus, Zoph, Shazeer (2021), Switch Transformers, arXiv:2101.03961; Jaszczur et al. (2021),
Sparse is Enough in Scaling Transformers, arXiv:2111.12763.
"""

from collections.abc import Callable
from typing import Any

from ... import fastmath
from ...fastmath import numpy as jnp
from ...option_checks import INITIALIZER_SIGNATURE, checked_mode, divided, function, number
from ..base import Layer
from ..embedding import one_hot
from ..initializers import GlorotUniformInitializer, RandomNormalInitializer
from ..softmax import log_softmax
from .sparse_feed_forward import chosen, straight_through

_KERNEL_INITIALIZER = GlorotUniformInitializer()
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


class ExpertFeedForward(Layer):
    """Base class of feed-forward blocks of experts: relu(x · w1 · gate of the expert) · w2 + b2.

    Subclasses define the factors of each expert's units in `_gates`, and the factor of the chosen
    expert's units in `_gate_of_chosen`.

    Args:
      d_ff, n_experts, temperature, mode, kernel_initializer, bias_initializer: as for
        `BlockSparseFF`.
    """

    def __init__(
        self,
        d_ff: int,
        n_experts: int,
        temperature: float,
        mode: str,
        kernel_initializer: Callable[..., Any],
        bias_initializer: Callable[..., Any],
    ):
        kind = type(self).__name__
        self._width = divided(kind, "d_ff", d_ff, "n_experts", n_experts)
        super().__init__(name=f"{kind}_{d_ff}")
        self._d_ff, self._n_experts = d_ff, n_experts
        number(kind, "temperature", temperature, least=0.0)
        self._mode = checked_mode(kind, mode)
        self._temperature = temperature if mode == "train" else 0.0
        self._kernel_initializer = function(
            kind, "kernel_initializer", kernel_initializer, INITIALIZER_SIGNATURE
        )
        self._bias_initializer = function(
            kind, "bias_initializer", bias_initializer, INITIALIZER_SIGNATURE
        )
        self._needs_key = mode == "train"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes m1 [d, n_experts], w1 [d, d_ff], w2 [d_ff, d] and b2 [d]."""
        depth = input_signature.shape[-1]
        keys = fastmath.random.split(self.rng, 4)
        shapes = ((depth, self._n_experts), (depth, self._d_ff), (self._d_ff, depth))
        kernels = [self._kernel_initializer(shape, keys[i]) for i, shape in enumerate(shapes)]
        self.weights = (*kernels, self._bias_initializer((depth,), keys[3]))

    def forward(self, x: Any) -> Any:
        """The output of the chosen experts."""
        m1, w1, w2, b2 = self.weights
        flat = jnp.reshape(x, (-1, x.shape[-1]))
        log_mask = log_softmax(jnp.matmul(flat, m1), axis=-1)
        mask = jnp.exp(log_mask)
        keys = fastmath.random.split(self.rng, 2) if self._needs_key else (None, None)
        selected = chosen(log_mask, self._temperature, keys[0])
        if self._mode == "predict" and flat.shape[0] == 1:
            expert = selected[0]
            start = expert * self._width
            w1 = fastmath.dynamic_slice_in_dim(w1, start, self._width, axis=1)
            w2 = fastmath.dynamic_slice_in_dim(w2, start, self._width, axis=0)
            gates = self._gate_of_chosen(jnp.take(mask, expert, axis=1))[:, None]
        else:
            code = one_hot(selected, self._n_experts, dtype=mask.dtype)
            gates = jnp.repeat(self._gates(code, mask, keys[1]), self._width, axis=1)
        hidden = jnp.maximum(jnp.matmul(flat, w1) * gates, 0)
        return jnp.reshape(jnp.matmul(hidden, w2) + b2, x.shape)

    def _gates(self, code: Any, mask: Any, rng: Any) -> Any:
        """The factors of the units of each expert, from its choice, 0 or 1, and its probability."""
        raise NotImplementedError

    def _gate_of_chosen(self, probability: Any) -> Any:
        """The factor of the chosen expert's units, after training."""
        raise NotImplementedError


class BlockSparseFF(ExpertFeedForward):
    """A feed-forward block whose units form equal groups (experts); each vector uses one group.

    In mode "train" half of the calls draw experts by their probabilities, with straight-through
    derivatives; the others use all units, multiplied by the probabilities of their experts. Other
    modes use the most likely expert.

    Args:
      d_ff: the number of units.
      n_experts: the number of experts; divides d_ff.
      temperature: the temperature for drawing experts in mode "train"; 0 takes the most likely.
      mode: "train", "eval", "predict" or "viz". In "predict", a call with one vector reads the
        weights of one expert only.
      kernel_initializer, bias_initializer: functions of (shape, rng).

    Inputs and outputs: floats [..., d]. Weights: [d, n_experts] for the probabilities, [d, d_ff],
    [d_ff, d] and [d].

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> layer = BlockSparseFF(32, n_experts=4, mode="eval")
      >>> _ = layer.init(np.ones((2, 3, 16)))
      >>> layer(np.ones((2, 3, 16))).shape
      (2, 3, 16)

    Source: Trax's module `layers.research.sparsity`.
    """

    def __init__(
        self,
        d_ff: int,
        n_experts: int = 64,
        temperature: float = 0.7,
        mode: str = "train",
        kernel_initializer: Callable[..., Any] = _KERNEL_INITIALIZER,
        bias_initializer: Callable[..., Any] = _BIAS_INITIALIZER,
    ):
        super().__init__(d_ff, n_experts, temperature, mode, kernel_initializer, bias_initializer)

    def _gates(self, code: Any, mask: Any, rng: Any) -> Any:
        if self._mode != "train":
            return code
        takes_one = fastmath.random.uniform(rng, (), jnp.float32, -1.0, 1.0) > 0.0
        return jnp.where(takes_one, straight_through(code, mask), mask)

    def _gate_of_chosen(self, probability: Any) -> Any:
        return jnp.ones_like(probability)


class SwitchSparseFF(ExpertFeedForward):
    """A feed-forward block of experts (equal parts of the units) that uses one expert for each
    vector. The expert's units are multiplied by its probability, through which the choice is
    trained.

    Args:
      d_ff: the number of units.
      n_experts: the number of experts; divides d_ff.
      temperature: the temperature for drawing experts in mode "train"; 0 takes the most likely.
      mode: "train", "eval", "predict" or "viz". In "predict", a call with one vector reads the
        weights of one expert only.
      kernel_initializer, bias_initializer: functions of (shape, rng).

    Inputs and outputs: floats [..., d]. Weights: [d, n_experts] for the probabilities, [d, d_ff],
    [d_ff, d] and [d].

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> layer = SwitchSparseFF(32, n_experts=4, mode="eval")
      >>> _ = layer.init(np.ones((2, 3, 16)))
      >>> layer(np.ones((2, 3, 16))).shape
      (2, 3, 16)

    Source: arXiv:2101.03961; Trax's module `layers.research.sparsity`.
    """

    def __init__(
        self,
        d_ff: int,
        n_experts: int = 64,
        temperature: float = 0.1,
        mode: str = "train",
        kernel_initializer: Callable[..., Any] = _KERNEL_INITIALIZER,
        bias_initializer: Callable[..., Any] = _BIAS_INITIALIZER,
    ):
        super().__init__(d_ff, n_experts, temperature, mode, kernel_initializer, bias_initializer)

    def _gates(self, code: Any, mask: Any, rng: Any) -> Any:
        return fastmath.stop_gradient(code) * mask

    def _gate_of_chosen(self, probability: Any) -> Any:
        return probability
