"""Attention with relative positions, between sequences of different resolutions
(Funnel-Transformer).

Layers: RelativeAttentionWrapper, RelativeAttentionLayer, RelativeAttentionLMLayer,
RelativeAttention, PositionalEmbeddings, CreateAttentionMaskLayer and ShiftRightCls. Functions:
DotProductAttention, get_rel_att_inputs and calc_funnel_ratio.
"""

import math
from typing import Any

import numpy as onp

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, checked_rate, divided, whole_number
from ...user_lines import noted
from .. import combinators as cb
from ..assert_shape import assert_shape
from ..attention_weights import merge_heads, split_heads, weighted_means
from ..base import Fn, Layer
from ..dense import Dense
from ..initializers import RandomNormalInitializer
from ..weights import Weights

__all__ = [
    "CreateAttentionMaskLayer",
    "DotProductAttention",
    "PositionalEmbeddings",
    "RelativeAttention",
    "RelativeAttentionLMLayer",
    "RelativeAttentionLayer",
    "RelativeAttentionWrapper",
    "ShiftRightCls",
    "calc_funnel_ratio",
    "get_rel_att_inputs",
]


def RelativeAttentionWrapper(
    d_feature: int,
    n_heads: int = 1,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    mode: str = "train",
    context_bias_layer: Layer | None = None,
    location_bias_layer: Layer | None = None,
    total_pooling: int | None = None,
) -> Layer:
    """Causal self-attention with relative positions, with the arguments of `CausalAttention`.

    Args:
      d_feature: features of a vector.
      n_heads, dropout, mode: as for `layers.Attention`.
      max_inference_length: has no effect; any length is allowed.
      context_bias_layer, location_bias_layer: the layers from `get_rel_att_inputs`.
      total_pooling: the number of tokens of the model's input per position.
    Returns: a layer from floats [batch, length, d_feature] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> context, location = tl.get_rel_att_inputs(8, 2)
      >>> layer = tl.RelativeAttentionWrapper(
      ...     8,
      ...     n_heads=2,
      ...     mode="eval",
      ...     context_bias_layer=context,
      ...     location_bias_layer=location,
      ...     total_pooling=1,
      ... )
      >>> _ = layer.init(np.ones((1, 3, 8)))
      >>> layer(np.ones((1, 3, 8))).shape
      (1, 3, 8)
    Source: Trax, `layers.research.rel_attention`.
    """
    return cb.Serial(
        cb.Select([0, 0, 0]),
        RelativeAttentionLMLayer(
            d_feature,
            context_bias_layer,
            location_bias_layer,
            total_pooling,
            n_heads=n_heads,
            dropout=dropout,
            mode=mode,
        ),
    )


def get_rel_att_inputs(d_model: int, n_heads: int) -> tuple[Layer, Layer]:
    """The layers for the two trained biases, which all attention layers of a model share.

    Returns: (context bias, location bias), layers without inputs that return [1, n_heads, 1,
      d_model / n_heads].
    Raises: ValueError: d_model is odd, or not a multiple of n_heads.
    Example:
      >>> from weft import layers as tl
      >>> context, location = tl.get_rel_att_inputs(d_model=8, n_heads=2)
      >>> _ = context.init(())
      >>> context(()).shape
      (1, 2, 1, 4)
    Source: arXiv:1901.02860, where they are u and v.
    """
    width = divided("get_rel_att_inputs", "d_model", d_model, "n_heads", n_heads)
    divided("get_rel_att_inputs", "d_model", d_model, "2", 2)
    shape = (1, n_heads, 1, width)
    context, location = (Weights(RandomNormalInitializer(1e-6), shape=shape) for _ in range(2))
    return context, location


@assert_shape("bSq,blk,blv,b1xl->bSd,b1xl")
def RelativeAttentionLayer(
    d_feature: int,
    context_bias_layer: Layer | None,
    location_bias_layer: Layer | None,
    total_kv_pooling: int | None,
    separate_cls: bool,
    n_heads: int = 1,
    dropout: float = 0.0,
    mode: str = "train",
) -> Layer:
    """Attention with relative positions that maps (queries, keys, values, mask) to (vectors, mask).

    Args:
      d_feature: features of an output vector, and of all heads together.
      context_bias_layer, location_bias_layer: the layers from `get_rel_att_inputs`.
      total_kv_pooling: the number of tokens of the model's input per key.
      separate_cls: must be False, because the positional embeddings do not support it.
      n_heads, dropout, mode: as for `layers.Attention`.
    Returns: a layer of four inputs, [batch, queries, any], [batch, keys, any], [batch, keys, any]
      and the mask [batch, 1, queries, keys], and two outputs, [batch, queries, d_feature] and the
      mask.
    Example:
      >>> from weft import layers as tl
      >>> biases = tl.get_rel_att_inputs(8, 2)
      >>> layer = tl.RelativeAttentionLayer(8, *biases, 1, False, n_heads=2, mode="eval")
      >>> x, mask = np.ones((1, 3, 8)), np.tril(np.ones((1, 1, 3, 3), bool))
      >>> _ = layer.init((x, x, x, mask))
      >>> vectors, _ = layer((x, x, x, mask))
      >>> vectors.shape
      (1, 3, 8)
    Source: arXiv:1901.02860; arXiv:2110.13711.
    """
    name = "RelativeAttentionLayer"
    divided(name, "d_feature", d_feature, "n_heads", n_heads)
    for option, layer in (
        ("context_bias_layer", context_bias_layer),
        ("location_bias_layer", location_bias_layer),
    ):
        if not isinstance(layer, Layer):
            raise noted(
                TypeError(
                    f"{name}: {option} must be a layer; got {layer!r}\n"
                    "  fix: get_rel_att_inputs(d_model, n_heads) gives both"
                )
            )
    return cb.Serial(
        cb.Branch(
            PositionalEmbeddings(d_feature, separate_cls, total_kv_pooling),
            cb.Select([0]),
            cb.Select([1]),
        ),
        cb.Parallel(Dense(d_feature), Dense(d_feature), Dense(d_feature), Dense(d_feature)),
        context_bias_layer,
        location_bias_layer,
        RelativeAttention(separate_cls, n_heads=n_heads, dropout=dropout, mode=mode),
        Dense(d_feature),
    )


@assert_shape("bSq,blk,blv->bSd")
def RelativeAttentionLMLayer(
    d_feature: int,
    context_bias_layer: Layer | None,
    location_bias_layer: Layer | None,
    total_kv_pooling: int | None,
    separate_cls: bool = False,
    n_heads: int = 1,
    dropout: float = 0.0,
    mode: str = "train",
) -> Layer:
    """Causal attention with relative positions that maps (queries, keys, values) to vectors.

    Takes the arguments of `RelativeAttentionLayer`.

    Returns: a layer of three inputs, [batch, queries, any] and twice [batch, keys, any], and one
      output, [batch, queries, d_feature].
    Example:
      >>> from weft import layers as tl
      >>> biases = tl.get_rel_att_inputs(8, 2)
      >>> layer = tl.RelativeAttentionLMLayer(8, *biases, 1, n_heads=2, mode="eval")
      >>> x = np.ones((1, 3, 8))
      >>> _ = layer.init((x, x, x))
      >>> layer((x, x, x)).shape
      (1, 3, 8)
    Source: arXiv:1901.02860; arXiv:2110.13711.
    """
    return cb.Serial(
        CreateAttentionMaskLayer(),
        RelativeAttentionLayer(
            d_feature,
            context_bias_layer,
            location_bias_layer,
            total_kv_pooling,
            separate_cls,
            n_heads=n_heads,
            dropout=dropout,
            mode=mode,
        ),
        cb.Select([0], n_in=2),
    )


class RelativeAttention(Layer):
    """Attention with relative positions, without weights.

    In mode "viz" the state is the attention weights [batch, n_heads, queries, keys].

    Args:
      separate_cls: whether the first query and key are a token without a position, whose scores do
        not depend on positions.
      n_heads, dropout, mode: as for `layers.Attention`.
    Inputs: location bias and context bias [1, n_heads, 1, d / n_heads]; embeddings of positions
      [distances, d]; queries, keys, values [batch, length, d]; mask [batch, 1, queries, keys].
    Outputs: float32 [batch, queries, d], and the unchanged mask.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.RelativeAttention(separate_cls=False, n_heads=2, mode="eval")
      >>> bias, positions, x = np.zeros((1, 2, 1, 4)), np.zeros((3, 8)), np.ones((1, 3, 8))
      >>> vectors, _ = layer((bias, bias, positions, x, x, x, np.tril(np.ones((1, 1, 3, 3), bool))))
      >>> vectors.shape
      (1, 3, 8)
    Source: arXiv:1901.02860; arXiv:2006.03236.
    """

    def __init__(
        self, separate_cls: bool, n_heads: int = 1, dropout: float = 0.0, mode: str = "train"
    ):
        super().__init__(n_in=7, n_out=2)
        self._separate_cls = separate_cls
        self._n_heads = whole_number("RelativeAttention", "n_heads", n_heads)
        self._dropout = checked_rate("RelativeAttention", dropout)
        self._mode = checked_mode("RelativeAttention", mode)
        self._needs_key = self._dropout > 0 and mode == "train"

    def forward(self, inputs: Any) -> Any:
        """(vectors, mask)."""
        location_bias, context_bias, positions, *vectors, mask = inputs
        queries, keys, values = (split_heads(x, self._n_heads) for x in vectors)
        positions = jnp.reshape(positions, (positions.shape[0], self._n_heads, -1))
        means, weights = DotProductAttention(
            queries,
            keys,
            values,
            positions,
            context_bias,
            location_bias,
            mask,
            self._separate_cls,
            self._dropout,
            self._mode,
            self.rng if self._needs_key else None,
        )
        if self._mode == "viz":
            self.state = weights
        return merge_heads(means), mask


def DotProductAttention(
    queries: Any,
    keys: Any,
    values: Any,
    pos_emb: Any,
    context_bias: Any,
    location_bias: Any,
    mask: Any,
    separate_cls: bool,
    dropout: float,
    mode: str,
    rng: Any,
) -> tuple[Any, Any]:
    """softmax(((q + context bias) kᵀ + (q + location bias) rᵀ) / √d) v, for each head.

    It differs from `layers.DotProductAttention`, the layer for plain attention.

    Args:
      queries: floats [batch, heads, queries, d].
      keys, values: [batch, heads, keys, d]. One of queries and keys is a multiple of the other.
      pos_emb: r, [distances, heads, d], in the order of `PositionalEmbeddings`.
      context_bias, location_bias: broadcast to the queries.
      mask: None, or broadcasts to [batch, heads, queries, keys]; nonzero where a key is visible.
        With equal numbers of queries and keys, it must hide the keys after the query.
      separate_cls: whether the scores of the first query and key do not depend on positions.
      dropout: the rate at which weights are set to zero, in mode "train".
      mode: "train", "eval", "predict" or "viz".
      rng: the key for dropout.
    Returns: the means [batch, heads, queries, d] and the weights [batch, heads, queries, keys],
      both float32.
    Example:
      >>> from weft.layers.research import rel_attention
      >>> x, positions, bias = np.ones((1, 2, 3, 4)), np.zeros((3, 2, 4)), np.zeros((1, 2, 1, 4))
      >>> mask = np.tril(np.ones((1, 1, 3, 3), bool))
      >>> means, weights = rel_attention.DotProductAttention(
      ...     x, x, x, positions, bias, bias, mask, False, 0.0, "eval", None
      ... )
      >>> weights[0, 0]
      Array([[1.        , 0.        , 0.        ],
             [0.5       , 0.5       , 0.        ],
             [0.33333334, 0.33333334, 0.33333334]], dtype=float32)
    """
    checked_rate("DotProductAttention", dropout)
    scale = 1.0 / math.sqrt(queries.shape[-1])
    by_content = jnp.matmul((queries + context_bias) * scale, jnp.swapaxes(keys, -1, -2))
    distances = jnp.transpose(pos_emb, (1, 2, 0))[None]
    by_position = jnp.matmul((queries + location_bias) * scale, distances)
    factor, is_upsampling = calc_funnel_ratio(keys.shape[-2], queries.shape[-2])
    by_position = _of_pairs(by_position, factor, is_upsampling)
    if separate_cls:
        queries_with_place = jnp.arange(queries.shape[-2]) > 0
        keys_with_place = jnp.arange(keys.shape[-2]) > 0
        placed = queries_with_place[:, None] & keys_with_place[None, :]
        by_position = jnp.where(placed, by_position, jnp.zeros_like(by_position))
    rate = dropout if mode == "train" else 0.0
    return weighted_means(by_content + by_position, values, mask, rate, rng)


def PositionalEmbeddings(d_feature: int, separate_cls: bool, total_kv_pooling: int | None) -> Layer:
    """A layer that returns embeddings of all distances between queries and keys.

    With equal numbers of queries and keys, distances run from -(keys - 1) to 0, because later keys
    are hidden; otherwise they cover all pairs. The unit is a token of the model's input, or a query
    if there are more queries than keys.

    Args:
      d_feature: the features of an embedding, an even number.
      separate_cls: must be False, because such a token has no position.
      total_kv_pooling: the number of tokens for each key.
    Returns: a layer of two inputs, queries and keys, of which only the lengths matter, and one
      output, float32 [distances, d_feature]: sines, then cosines.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.PositionalEmbeddings(4, separate_cls=False, total_kv_pooling=1)
      >>> layer((np.ones((1, 3, 8)), np.ones((1, 3, 8))))
      Array([[-0.9092974 , -0.01999867, -0.41614684,  0.9998    ],
             [-0.84147096, -0.00999983,  0.5403023 ,  0.99995   ],
             [ 0.        ,  0.        ,  1.        ,  1.        ]],
            dtype=float32)
    """
    name = "PositionalEmbeddings"
    divided(name, "d_feature", d_feature, "2", 2)
    if separate_cls:
        raise noted(ValueError(f"{name}: separate_cls has no embedding of positions\n  fix: False"))
    pooling = whole_number(name, "total_kv_pooling", total_kv_pooling)

    def embeddings(queries: Any, keys: Any) -> Any:
        distances = _distances(keys.shape[1], queries.shape[1], pooling)
        frequency = 1.0 / 10000.0 ** (onp.arange(0, d_feature, 2) / d_feature)
        angles = distances[:, None] * frequency
        table = onp.concatenate([onp.sin(angles), onp.cos(angles)], axis=1)
        return jnp.asarray(table.astype("float32"))

    return Fn(name, embeddings)


def _distances(keys: int, queries: int, pooling: int) -> onp.ndarray:
    """Key position minus query position, for all pairs, in order."""
    factor, is_upsampling = calc_funnel_ratio(keys, queries)
    if is_upsampling:
        return onp.arange(1 - queries, queries)
    return onp.arange(1 - keys, 1 if factor == 1 else keys) * pooling


def calc_funnel_ratio(keys_len: int, queries_len: int) -> tuple[int, bool]:
    """(the factor between two lengths, whether there are more queries than keys).

    Raises: ShapeError: neither length is a multiple of the other.
    Example:
      >>> calc_funnel_ratio(8, 4), calc_funnel_ratio(4, 8)
      ((2, False), (2, True))
    """
    is_upsampling = queries_len > keys_len
    longer, shorter = max(keys_len, queries_len), min(keys_len, queries_len)
    if shorter == 0 or longer % shorter:
        raise noted(
            ShapeError(
                "calc_funnel_ratio: one of the numbers of keys and queries must be a multiple of "
                f"the other; got {keys_len} keys and {queries_len} queries"
            )
        )
    return longer // shorter, is_upsampling


def _of_pairs(by_distance: Any, factor: int, is_upsampling: bool) -> Any:
    """Converts scores of distances [b, h, queries, distances] to scores of keys [b, h, queries,
    keys].

    Row i is shifted by i positions: after padding with columns of zeros, the array is read with
    rows one element shorter, so that each row begins one element later than the row before.
    """
    batch, heads, queries, count = by_distance.shape
    if factor == 1 and not is_upsampling:
        padded = _padded(by_distance, 1)
        return jnp.reshape(padded, (batch, heads, count + 1, queries))[:, :, 1:]
    keys, shift = (factor, 1) if is_upsampling else (1, factor)
    width = (count + 1) // 2
    padded = jnp.reshape(_padded(by_distance, shift), (batch, heads, count + shift, queries))
    rows = jnp.reshape(padded[:, :, shift:], (batch, heads, queries, count))
    return rows[..., shift - 1 : shift - 1 + width : keys]


def _padded(x: Any, columns: int) -> Any:
    return jnp.concatenate([jnp.zeros((*x.shape[:3], columns), x.dtype), x], axis=-1)


@assert_shape("bqd,bkd,bvd->bqd,bkd,bvd,b1qk")
def CreateAttentionMaskLayer() -> Layer:
    """A layer that appends the causal mask to queries, keys and values.

    If lengths differ, a position of the shorter sequence represents several of the longer one.

    Returns: a layer of three inputs [batch, length, d] and four outputs, the inputs and booleans
      [batch, 1, queries, keys].
    Example:
      >>> from weft import layers as tl
      >>> x = np.ones((1, 3, 8))
      >>> *_, mask = tl.CreateAttentionMaskLayer()((x, x, x))
      >>> mask[0, 0]
      Array([[ True, False, False],
             [ True,  True, False],
             [ True,  True,  True]], dtype=bool)
    """

    def mask(queries: Any, keys: Any, values: Any) -> Any:
        n_queries, n_keys = queries.shape[1], keys.shape[1]
        factor, is_upsampling = calc_funnel_ratio(n_keys, n_queries)
        query, key = onp.arange(n_queries)[:, None], onp.arange(n_keys)[None, :]
        counted = query // factor >= key if is_upsampling else query >= key // factor
        rows = jnp.broadcast_to(jnp.asarray(counted), (queries.shape[0], 1, n_queries, n_keys))
        return queries, keys, values, rows

    return Fn("CreateAttentionMaskLayer", mask, n_out=4)


@assert_shape("...d->...d")
def ShiftRightCls(cls_id: int) -> Layer:
    """A layer that prepends a token to each sequence and drops the last one.

    Args:
      cls_id: the token.
    Returns: a layer from [batch, length] to the same shape and dtype, in every mode.
    Example:
      >>> ShiftRightCls(9)(np.array([[1, 2, 3]]))
      Array([[9, 1, 2]], dtype=int32)
    """

    def shifted(x: Any) -> Any:
        first = jnp.full((x.shape[0], 1, *x.shape[2:]), cls_id, x.dtype)
        return jnp.concatenate([first, x[:, :-1]], axis=1)

    return Fn(f"ShiftRightCls({cls_id})", shifted)
