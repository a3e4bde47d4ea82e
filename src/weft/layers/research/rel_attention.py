"""Attention to relative positions, between sequences of different resolution.

As in Transformer-XL, how well a key fits a query is (q + u) k + (q + v) r, where r is an embedding
of the distance from key to query, and u and v are trained biases that all layers of a model share.
Queries may be fewer than keys by a whole factor, or more (pooling and upsampling, as in the
Hourglass and Funnel Transformers). All modes take whole sequences: nothing is kept in "predict".
"""

import math
from typing import Any

import numpy as onp

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...user_lines import noted
from .. import combinators as cb
from ..assert_shape import assert_shape
from ..attention_weights import merge_heads, split_heads, weighted_means
from ..base import Fn, Layer
from ..checked_options import checked_mode, checked_rate, divided
from ..core import Dense, Weights
from ..initializers import RandomNormalInitializer
from ..options import whole_number

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
    """Causal self-attention to relative positions, with the arguments of `CausalAttention`.

    Args:
      d_feature: features of a vector.
      n_heads, dropout, mode: as for `layers.Attention`.
      max_inference_length: for the sake of the signature; any length goes.
      context_bias_layer, location_bias_layer: what `get_rel_att_inputs` gives.
      total_pooling: how many tokens of the model's input a position stands for.
    Returns: a layer from floats [batch, length, d_feature] to the same shape.
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
    """The layers of the two trained biases, which all attention layers of a model share.

    Returns: (context bias, location bias), layers without inputs that give [1, n_heads, 1, d_model
      / n_heads].
    Raises: ValueError: d_model is odd, or no multiple of n_heads.
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
    """Attention to relative positions that maps (queries, keys, values, mask) to (vectors, mask).

    Args:
      d_feature: features of a vector that goes out, and of all heads together.
      context_bias_layer, location_bias_layer: what `get_rel_att_inputs` gives.
      total_kv_pooling: how many tokens of the model's input a key stands for.
      separate_cls: refused: embeddings of positions have no form for it.
      n_heads, dropout, mode: as for `layers.Attention`.
    Returns: a layer of four inputs, [batch, queries, any], [batch, keys, any], [batch, keys, any]
      and the mask [batch, 1, queries, keys], and two outputs, [batch, queries, d_feature] and the
      mask.
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
    """Causal attention to relative positions that maps (queries, keys, values) to vectors.

    The arguments are those of `RelativeAttentionLayer`.

    Returns: a layer of three inputs, [batch, queries, any] and twice [batch, keys, any], and one
      output, [batch, queries, d_feature].
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
    """Attention to relative positions, without weights.

    In mode "viz" the state is the weights of attention [batch, n_heads, queries, keys].

    Args:
      separate_cls: the first position of queries and keys is a token without a place: it gets no
        part of the score for positions.
      n_heads, dropout, mode: as for `layers.Attention`.
    Inputs: location bias and context bias [1, n_heads, 1, d / n_heads]; embeddings of positions
      [distances, d]; queries, keys, values [batch, length, d]; mask [batch, 1, queries, keys].
    Outputs: float32 [batch, queries, d], and the mask as it came.
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

    `layers.DotProductAttention` is another thing, the layer of plain attention.

    Args:
      queries: floats [batch, heads, queries, d].
      keys, values: [batch, heads, keys, d]. One of queries and keys is a multiple of the other.
      pos_emb: r, [distances, heads, d], as `PositionalEmbeddings` orders distances.
      context_bias, location_bias: broadcast to the queries.
      mask: None, or broadcasts to [batch, heads, queries, keys]; nonzero where a key counts. It
        has to rule out keys after the query where there are as many queries as keys.
      separate_cls: no part for positions for the first query and the first key.
      dropout: rate at which weights are set to zero, in mode "train".
      mode: "train", "eval", "predict" or "viz".
      rng: key for dropout.
    Returns: the means [batch, heads, queries, d] and the weights [batch, heads, queries, keys],
      both float32.
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
    """A layer that gives embeddings of all distances between queries and keys.

    Where there are as many queries as keys, distances run from -(keys - 1) to 0, since no later key
    counts; else from one end to the other. They are in tokens of the model's input, but for more
    queries than keys, where they are in queries.

    Args:
      d_feature: features of an embedding, even.
      separate_cls: refused, since nothing says where such a token would be.
      total_kv_pooling: how many tokens a key stands for.
    Returns: a layer of two inputs, queries and keys, whose lengths count, and one output, float32
      [distances, d_feature]: sines, then cosines.
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
    """Key minus query, of all pairs, in order."""
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
    """Scores [b, h, queries, distances] of distances as [b, h, queries, keys] of keys.

    Row i is shifted by i positions: with columns of zeros in front, each row that is read one
    element shorter than it is begins one element later than the row before.
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
    """A layer that adds the causal mask below queries, keys and values.

    Where a position of one sequence stands for several of the other, they count together.

    Returns: a layer of three inputs [batch, length, d] and four outputs, the inputs and booleans
      [batch, 1, queries, keys].
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
    """A layer that puts a token in front of each sequence, and takes the last one off.

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
