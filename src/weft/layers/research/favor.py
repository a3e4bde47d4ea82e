"""Attention in linear time: weights are products of positive features of queries and keys, so
values are summed once for all queries.

Source: Choromanski et al. (2020), Rethinking Attention with Performers, arXiv:2009.14794.
"""

import math
from typing import Any

import numpy as onp

from ... import fastmath, option_checks
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, checked_rate, divided
from ...user_lines import noted
from ..attention import ConfigurableAttention
from ..attention_weights import wide_dtype, widened
from ..base import Layer
from ..dense import Dense

# The number of positions whose scores are computed at once. For 2 heads of 32 features, the
# gradient is about as fast with 32 or 128, and clearly slower with 16 or 256
# (benchmarks/long_sequences.py).
CHUNK_LENGTH = 64


class FavorAttention(Layer):
    """Attention within heads, in time and memory proportional to the length, not to its square.

    The output for a query is Σ_j (q' · k'_j) v_j / Σ_j (q' · k'_j), where q' and k' are positive
    features of queries and keys: relu(x) + numerical_stabilizer, or random features, whose products
    have the mean exp(q · k), the terms of a softmax.

    Args:
      d_feature: the features of all heads together.
      n_heads: the number of heads; divides d_feature.
      n_random_features: the number of random features; more of them approximate the softmax better.
      numerical_stabilizer: a number added to relu(x), so that no denominator is 0.
      use_approximate_softmax: whether to use random features.
      scale_by_norm: whether the random directions have the lengths of normal vectors; otherwise √d.
      normalize_data: whether to divide vectors by d^¼, as in a softmax of q · k / √d.
      epsilon: a number added to random features.
      mode: "train", "eval", "predict" or "viz"; has no effect.

    Inputs: queries, keys, values, floats [batch * n_heads, length, d], and a mask of batch * length
      numbers in any shape, 0 where a key is hidden. If all keys are hidden, all get the same
      weight.
    Outputs: floats like the values, and the unchanged mask.

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> x = np.ones((2, 3, 4), np.float32)
      >>> FavorAttention(d_feature=8, n_heads=2)((x, x, x, np.ones((1, 1, 1, 3))))[0].shape
      (2, 3, 4)

    Source: arXiv:2009.14794; Trax's module `layers.research.sparsity`.
    """

    _needs_key = False

    def __init__(
        self,
        d_feature: int = 4,
        n_heads: int = 1,
        n_random_features: int = 256,
        numerical_stabilizer: float = 0.001,
        use_approximate_softmax: bool = False,
        scale_by_norm: bool = True,
        normalize_data: bool = False,
        epsilon: float = 0.0001,
        mode: str = "train",
    ):
        name = "FavorAttention"
        depth = divided(name, "d_feature", d_feature, "n_heads", n_heads)
        option_checks.whole_number(name, "n_random_features", n_random_features)
        super().__init__(n_in=4, n_out=2)
        self._n_heads = n_heads
        self._stabilizer = option_checks.number(
            name, "numerical_stabilizer", numerical_stabilizer, least=0.0
        )
        self._normalize_data = option_checks.flag(name, "normalize_data", normalize_data)
        self._epsilon = option_checks.number(name, "epsilon", epsilon, least=0.0)
        checked_mode(name, mode)
        scale_by_norm = option_checks.flag(name, "scale_by_norm", scale_by_norm)
        self._directions: onp.ndarray[Any, Any] | None = None
        if option_checks.flag(name, "use_approximate_softmax", use_approximate_softmax):
            key = fastmath.random.get_prng(0)
            directions = self.get_2d_array(key, n_random_features, depth, scale_by_norm)
            self._directions = onp.asarray(directions)  # independent of the backend

    @staticmethod
    def get_2d_array(
        rng: Any,
        n_rows: int = 256,
        n_columns: int = 0,
        scale_by_norm: bool = True,
        normalize_data: bool = False,
        epsilon: float = 0.0001,
    ) -> Any:
        """Random directions: each block of n_columns successive directions is orthogonal.

        Args:
          rng: random key.
          n_rows: the number of directions.
          n_columns: their dimension.
          scale_by_norm: whether their lengths are distributed like those of normal vectors;
            otherwise √n_columns.
          normalize_data, epsilon: have no effect.
        Returns: floats [n_rows, n_columns].
        """
        option_checks.whole_number("get_2d_array", "n_rows", n_rows)
        option_checks.whole_number("get_2d_array", "n_columns", n_columns)
        blocks, key = [], rng
        for _ in range(-(-n_rows // n_columns)):
            key, sub = fastmath.random.split(key)
            q, _ = jnp.linalg.qr(fastmath.random.normal(sub, (n_columns, n_columns)))
            blocks.append(jnp.transpose(q))
        directions = jnp.concatenate(blocks, axis=0)[:n_rows]
        if not scale_by_norm:
            return directions * math.sqrt(n_columns)
        vectors = fastmath.random.normal(rng, (n_rows, n_columns))
        return directions * jnp.sqrt(jnp.sum(vectors * vectors, axis=1, keepdims=True))

    @staticmethod
    def bidirectional_numerator(query_prime: Any, key_prime: Any, value: Any) -> Any:
        """Sums of values, weighted by products of features: Σ_j (q'_i · k'_j) v_j.

        Args:
          query_prime, key_prime: features [length, batch, features].
          value: [length, batch, d].
        Returns: [length, batch, d].
        """
        sums = jnp.einsum("lbm,lbd->bmd", key_prime, value)
        return jnp.einsum("lbm,bmd->lbd", query_prime, sums)

    @staticmethod
    def bidirectional_denominator(query_prime: Any, key_prime: Any) -> Any:
        """Sums of products of features: Σ_j (q'_i · k'_j).

        Args:
          query_prime, key_prime: features [length, batch, features].
        Returns: [length, batch].
        """
        return jnp.einsum("lbm,bm->lb", query_prime, jnp.sum(key_prime, axis=0))

    @staticmethod
    def relu(x: Any) -> Any:
        """x where it is positive, otherwise 0."""
        return jnp.where(x > 0, x, jnp.zeros_like(x))

    def nonnegative_softmax_kernel_feature_creator(self, x: Any, is_query: bool) -> Any:
        """Random features of vectors: (exp(p · x - |x|² / 2 - m) + epsilon) / √n, for n directions.

        p is a direction. m is the maximum of p · x for each query, or over all keys; without
        epsilon it would have no effect.

        Args:
          x: floats [batch, length, d].
          is_query: whether `x` are queries.
        Returns: [batch, length, n_random_features].
        Raises: ValueError: the layer has no random features.
        """
        directions = self._directions
        if directions is None:
            raise noted(
                ValueError(
                    f"{self._name}: random features need random directions\n"
                    "  fix: use_approximate_softmax=True"
                )
            )
        if x.shape[-1] != directions.shape[1]:
            raise ShapeError(
                f"{self._name}: expected {directions.shape[1]} features in a head, "
                f"d_feature / n_heads; got shape {tuple(x.shape)}"
            )
        if self._normalize_data:
            x = x * x.shape[-1] ** -0.25
        products = jnp.matmul(x, jnp.transpose(directions))
        square = jnp.sum(x * x, axis=-1, keepdims=True) / 2
        largest = jnp.max(products, axis=-1 if is_query else (-2, -1), keepdims=True)
        features = jnp.exp(products - square - largest) + self._epsilon
        return features / math.sqrt(directions.shape[0])

    def forward(self, inputs: Any) -> Any:
        """(weighted means of values, mask)."""
        queries, keys, values, mask = inputs
        q, k, v = widened(queries), widened(keys), widened(values)
        if self._directions is None:
            q, k = [self.relu(x) + self._stabilizer for x in (q, k)]
        else:
            q = self.nonnegative_softmax_kernel_feature_creator(q, True)
            k = self.nonnegative_softmax_kernel_feature_creator(k, False)
        k = k * self._per_key(mask, k)
        q, k, v = [jnp.swapaxes(x, 0, 1) for x in (q, k, v)]
        means = self.bidirectional_numerator(q, k, v)
        means = means / self.bidirectional_denominator(q, k)[..., None]
        return jnp.swapaxes(means, 0, 1).astype(values.dtype), mask

    def _per_key(self, mask: Any, keys: Any) -> Any:
        """The mask's value for each key, [batch * n_heads, length, 1]; 1 if all values are 0."""
        rows, length, _ = keys.shape
        if rows % self._n_heads or mask.size * self._n_heads != rows * length:
            raise ShapeError(
                f"{self._name}: expected a mask of one number for each position; got shape "
                f"{tuple(mask.shape)} for keys {tuple(keys.shape)} of {self._n_heads} heads"
            )
        counts = jnp.reshape(mask, (rows // self._n_heads, length)).astype(keys.dtype)
        is_any = jnp.max(jnp.abs(counts), axis=1, keepdims=True) > 0
        counts = jnp.where(is_any, counts, jnp.ones_like(counts))
        return jnp.repeat(counts, self._n_heads, axis=0)[..., None]


def Favor(
    d_feature: int,
    n_heads: int = 1,
    n_random_features: int = 256,
    dropout: float = 0.0,
    numerical_stabilizer: float = 0.001,
    use_approximate_softmax: bool = False,
    scale_by_norm: int = 0,
    normalize_data: bool = False,
    epsilon: float = 0.0001,
    mode: str = "train",
) -> Layer:
    """A layer of self-attention in linear time that maps (vectors, mask) to (vectors, mask).

    Args:
      d_feature: the features of input and output vectors.
      n_heads: the number of attention heads; divides d_feature.
      dropout: has no effect, because there are no attention weights to drop.
      n_random_features, numerical_stabilizer, use_approximate_softmax, scale_by_norm,
        normalize_data, epsilon, mode: as for `FavorAttention`; except that scale_by_norm is False.
    Returns: a layer of two inputs, floats [batch, length, d_feature] and a mask [batch, 1, 1,
      length], 0 where a vector is hidden, and two outputs of the same shapes; with four `Dense`
      layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = Favor(8, n_heads=2)
      >>> x, mask = np.ones((1, 3, 8)), np.ones((1, 1, 1, 3), bool)
      >>> _ = layer.init((x, mask))
      >>> layer((x, mask))[0].shape
      (1, 3, 8)
    Source: arXiv:2009.14794; Trax's module `layers.research.sparsity`.
    """
    checked_rate("Favor", dropout)
    attention = FavorAttention(
        d_feature=d_feature,
        n_heads=n_heads,
        n_random_features=n_random_features,
        numerical_stabilizer=numerical_stabilizer,
        use_approximate_softmax=use_approximate_softmax,
        scale_by_norm=bool(scale_by_norm),
        normalize_data=normalize_data,
        epsilon=epsilon,
        mode=mode,
    )
    return _with_dense_layers(d_feature, n_heads, attention)


def _with_dense_layers(d_feature: int, n_heads: int, attention: Layer) -> Layer:
    layers = [Dense(d_feature) for _ in range(4)]
    return ConfigurableAttention(*layers, n_heads=n_heads, qkv_attention_layer=attention)


class CausalFavorAttention(Layer):
    """Causal attention within heads, in linear time.

    Position i gets Σ_{j<=i} (q'_i · k'_j) v_j / Σ_{j<=i} (q'_i · k'_j), with features x' = relu(x)
    + numerical_stabilizer. The sums Σ k'_j v_jᵀ and Σ k'_j run along the sequence, chunk by chunk.
    The backward pass recomputes chunks, so its memory is linear too. In mode "predict" these sums
    are the state: all steps take the same time, and the length of the sequence is unlimited.

    Args:
      numerical_stabilizer: a number added to relu(x), so that no denominator is 0.
      mode: "train", "eval", "predict" or "viz".

    Inputs: queries, keys, values: floats [batch, length, d].
    Outputs: floats like the values.

    Raises: ValueError, TypeError: an option is out of its range.

    Example:
      >>> x = np.arange(6, dtype=np.float32).reshape(1, 3, 2)
      >>> CausalFavorAttention()((x, x, x))[0, 0]
      Array([0., 1.], dtype=float32)

    Source: arXiv:2009.14794; Trax's module `layers.research.sparsity`.
    """

    _needs_key = False

    def __init__(self, numerical_stabilizer: float = 0.001, mode: str = "train"):
        name = "CausalFavorAttention"
        super().__init__(n_in=3)
        self._stabilizer = option_checks.number(
            name, "numerical_stabilizer", numerical_stabilizer, least=0.0
        )
        self._mode = checked_mode(name, mode)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes no weights; in mode "predict", the state of sums [batch, d, d + 1], of values and
        of keys."""
        if self._mode == "predict":
            self.state = _no_sums(*input_signature[1:])

    def forward(self, inputs: Any) -> Any:
        """The weighted means of values."""
        if len({tuple(x.shape[:-1]) for x in inputs}) != 1 or inputs[0].ndim != 3:
            shapes = ", ".join(str(tuple(x.shape)) for x in inputs)
            raise ShapeError(
                f"{self._name}: expected queries, keys and values [batch, length, d]; got {shapes}"
            )
        q, k, v = [widened(x) for x in inputs]
        q, k = [FavorAttention.relu(x) + self._stabilizer for x in (q, k)]
        before = self.state if self._mode == "predict" else _no_sums(k, v)
        # a column of ones makes the denominators part of the sums
        values = jnp.concatenate([v, jnp.ones_like(v[..., :1])], axis=-1)
        sums, weighted = causal_sums(q, k, values, before)
        if self._mode == "predict":
            self.state = sums
        return (weighted[..., :-1] / weighted[..., -1:]).astype(inputs[2].dtype)


def _no_sums(keys: Any, values: Any) -> Any:
    return jnp.zeros((keys.shape[0], keys.shape[-1], values.shape[-1] + 1), wide_dtype(keys))


def causal_sums(queries: Any, keys: Any, values: Any, before: Any) -> tuple[Any, Any]:
    """Cumulative sums of the products of keys and values, and their products with queries.

    Args:
      queries, keys: floats [batch, length, features].
      values: [batch, length, d].
      before: the sums [batch, features, d] over earlier positions.
    Returns: the sums after the last position, and before_i = before + Σ_{j<=i} keys_j values_jᵀ
      times queries_i, [batch, length, d].
    """
    length = queries.shape[1]
    size = min(length, CHUNK_LENGTH)
    ordered = jnp.tril(jnp.ones((size, size), queries.dtype))

    def step(sums: Any, chunk: Any) -> tuple[Any, Any]:
        q, k, v = chunk
        scores = jnp.matmul(q, jnp.swapaxes(k, 1, 2)) * ordered
        means = jnp.matmul(scores, v) + jnp.matmul(q, sums)
        return sums + jnp.matmul(jnp.swapaxes(k, 1, 2), v), means

    if length <= CHUNK_LENGTH:
        return step(before, (queries, keys, values))
    count = -(-length // size)

    def cut(x: Any) -> Any:
        """[chunks, batch, positions, d]; the last chunk is padded with zeros."""
        padding = jnp.zeros((x.shape[0], count * size - length, x.shape[2]), x.dtype)
        padded = jnp.concatenate([x, padding], axis=1)
        return jnp.swapaxes(jnp.reshape(padded, (x.shape[0], count, size, x.shape[2])), 0, 1)

    sums, means = fastmath.scan(
        fastmath.remat(step), before, (cut(queries), cut(keys), cut(values))
    )
    means = jnp.reshape(jnp.swapaxes(means, 0, 1), (-1, count * size, values.shape[2]))
    return sums, means[:, :length]


def CausalFavor(
    d_feature: int,
    n_heads: int = 1,
    dropout: float = 0.0,
    numerical_stabilizer: float = 0.001,
    mode: str = "train",
) -> Layer:
    """Causal self-attention in linear time.

    Args:
      d_feature: the features of input and output vectors.
      n_heads: the number of attention heads; divides d_feature.
      dropout: has no effect, because there are no attention weights to drop.
      numerical_stabilizer, mode: as for `CausalFavorAttention`.
    Returns: a layer from floats [batch, length, d_feature] to the same shape, with four `Dense`
      layers.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = CausalFavor(8, n_heads=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 8)
    Source: arXiv:2009.14794; Trax's module `layers.research.sparsity`.
    """
    divided("CausalFavor", "d_feature", d_feature, "n_heads", n_heads)
    checked_rate("CausalFavor", dropout)
    attention = CausalFavorAttention(numerical_stabilizer=numerical_stabilizer, mode=mode)
    return _with_dense_layers(d_feature, n_heads, attention)
