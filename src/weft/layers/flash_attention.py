"""FlashAttention: exact attention with memory proportional to the lengths, not to their product. On
the backend `jax` it uses the block-wise attention of `weft.nn`; on other backends, plain attention.
"""

from typing import Any

from .. import fastmath, nn
from ..fastmath import numpy as jnp
from ..option_checks import flag
from .attention_weights import attend
from .base import Layer

__all__ = ["FlashAttention"]


class FlashAttention(Layer):
    """Attention within heads: maps (queries, keys, values) to softmax(q kᵀ / √d) v.

    It replaces `DotProductAttention`. Scores are computed block by block with a running softmax,
    and recomputed in the backward pass, so the scores of all pairs of a query and a key are never
    in memory at once. Fewer than 2²⁰ pairs are computed in one block, which is faster.

    Args:
      causal: whether to hide later keys from a query.
      masked: whether there is a fourth input, a mask that broadcasts to [..., queries, keys],
        nonzero at keys to attend to.

    Inputs: floats [..., queries, d], [..., keys, d], [..., keys, d], with one or two leading axes
      (examples, and heads), and the mask.
    Outputs: like the queries. A query whose keys are all masked gets zeros. Other backends than
      `jax` compute all pairs at once.

    Raises: TypeError: `causal` or `masked` is neither True nor False. LayerError: shapes do not
      match.

    Example:
      >>> from weft import layers as tl
      >>> x = np.ones((2, 3, 8, 4))
      >>> tl.FlashAttention(causal=True)((x, x, x)).shape
      (2, 3, 8, 4)

    Source: Dao et al. (2022), FlashAttention; Rabe, Staats (2021), Self-attention Does Not Need
    O(n²) Memory.
    """

    _needs_key = False

    def __init__(self, causal: bool = False, masked: bool = False) -> None:
        self._causal = flag("FlashAttention", "causal", causal)
        self._masked = flag("FlashAttention", "masked", masked)
        super().__init__(n_in=4 if masked else 3)

    def forward(self, inputs: Any) -> Any:
        """The weighted means of values."""
        q, k, v, *rest = inputs
        mask = rest[0] if rest else None
        if q.ndim not in (3, 4):
            raise ValueError(
                f"{self._name}: expected queries [examples, queries, d] or [examples, heads, "
                f"queries, d]; got an array of shape {q.shape}"
            )
        if not fastmath.is_backend(fastmath.Backend.JAX):
            return self._all_pairs(q, k, v, mask)
        q, k, v = [x[:, None] if x.ndim == 3 else x for x in (q, k, v)]
        if mask is not None:
            mask = jnp.asarray(mask) != 0
            mask = mask[:, None] if inputs[0].ndim == 3 and mask.ndim == 3 else mask
        q, k, v = [jnp.swapaxes(x, 1, 2) for x in (q, k, v)]  # moves heads after positions
        out = nn.dot_product_attention(q, k, v, mask=mask, is_causal=self._causal)
        return jnp.reshape(jnp.swapaxes(out, 1, 2), inputs[0].shape)

    def _all_pairs(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        counts = jnp.ones((q.shape[-2], k.shape[-2]))
        if self._causal:
            counts = jnp.tril(counts)
        if mask is not None:
            counts = counts * jnp.asarray(mask != 0).astype(counts.dtype)
        means = attend(q, k, v, counts)[0]
        is_seen = jnp.max(counts, axis=-1) > 0
        return jnp.where(is_seen[..., None], means, 0.0).astype(q.dtype)
