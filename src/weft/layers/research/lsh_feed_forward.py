"""LSHFF: LSH attention in place of a feed-forward block."""

from typing import Any

from ... import fastmath, option_checks
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode
from .. import initializers
from ..base import Layer
from .chunked_attention import hash_vecs


class LSHFF(Layer):
    """A feed-forward block in which each position uses only the hidden units in its buckets.

    Args:
      d_ff: number of hidden units.
      n_buckets: an even number of buckets, or a list of even factors of it.
      n_hashes: the number of rounds of hashing; a unit is used if it matches in any round.
      mode: has no effect.
      kernel_initializer: makes both kernels, as in `Dense`.
      bias_initializer: makes the bias of the output.

    Inputs [..., depth] become outputs of the same shape. Weights are (w1 [d_ff, depth],
    w2 [d_ff, depth], b2 [depth]); the rotations are new with each random key.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LSHFF(16, n_buckets=2)
      >>> weights, state = layer.init(np.ones((2, 4), np.float32))
      >>> layer(np.ones((2, 4), np.float32)).shape
      (2, 4)

    Source: Trax documentation, `layers.research.efficient_attention.LSHFF`.
    """

    def __init__(
        self,
        d_ff: int,
        n_buckets: Any,
        n_hashes: int = 4,
        mode: str = "train",
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
    ) -> None:
        super().__init__(name=f"LSHFF_{d_ff}")
        checked_mode("LSHFF", mode)
        self._d_ff = option_checks.whole_number("LSHFF", "d_ff", d_ff)
        self._n_hashes = option_checks.whole_number("LSHFF", "n_hashes", n_hashes)
        self._n_buckets = n_buckets
        self._kernel_initializer = kernel_initializer or initializers.GlorotUniformInitializer()
        self._bias_initializer = bias_initializer or initializers.RandomNormalInitializer(1e-6)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes both kernels and the bias."""
        depth = input_signature.shape[-1]
        keys = fastmath.random.split(self.rng, 3)
        shape = (self._d_ff, depth)
        w1, w2 = [self._kernel_initializer(shape, key) for key in keys[:2]]
        self.weights = w1, w2, self._bias_initializer((depth,), keys[2])

    def forward(self, x: Any) -> Any:
        """The output of the units that share a bucket with their input."""
        w1, w2, b2 = self.weights
        flat = jnp.reshape(x, (-1, x.shape[-1]))
        of_inputs, of_units = [
            hash_vecs(fastmath.stop_gradient(v), self._n_buckets, self._n_hashes, self.rng)[0]
            for v in (flat, w1)
        ]
        is_used = jnp.max((of_inputs[:, :, None] == of_units[:, None, :]).astype(x.dtype), axis=0)
        hidden = jnp.maximum(jnp.matmul(flat, jnp.transpose(w1)) * is_used, 0)
        return jnp.reshape(jnp.matmul(hidden, w2) + b2, x.shape)
