"""Attention, AttentionQKV, PureAttention, DotProductAttention, CausalAttention,
DotProductCausalAttention and ConfigurableAttention; SplitIntoHeads, MergeHeads, ShiftRight,
PaddingMask and EncoderDecoderMask.

Vectors attend to vectors: each query gets a weighted mean of all values. The weights depend on how
well the query matches the keys. The layers have modes:

- "train": dropout is active, and so are random shifts of positions;
- "eval": neither is;
- "predict": sequences arrive in pieces, one after another; the layer's state keeps the information
  from earlier pieces;
- "viz": as "eval", and the attention weights are the layer's state.

Heads are equal parts of the features; each attends independently.
"""

import math
from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import checked_mode, checked_rate, divided, whole_number
from ..user_lines import noted
from . import combinators as cb
from .assert_shape import assert_shape
from .attention_weights import attend, causal_mask, merge_heads, split_heads
from .base import Fn, Layer
from .convolution import CausalDepthwiseConv
from .dense import Dense
from .positional_encoding import PositionalEncoding
from .recipes import takes_mode
from .research.sparse_dense import FactoredDense, LocallyConvDense

__all__ = [
    "Attention",
    "AttentionQKV",
    "CausalAttention",
    "ConfigurableAttention",
    "DotProductAttention",
    "DotProductCausalAttention",
    "EncoderDecoderMask",
    "MergeHeads",
    "PaddingMask",
    "PositionalEncoding",
    "PureAttention",
    "ShiftRight",
    "SplitIntoHeads",
]


@assert_shape("bld,b11l->bld,b11l")
def Attention(d_feature: int, n_heads: int = 1, dropout: float = 0.0, mode: str = "train") -> Layer:
    """A layer of self-attention that maps (vectors, mask) to (new vectors, the same mask).

    Three `Dense` layers compute queries, keys and values; for each head, a query gets softmax(q kᵀ
    / √d) v, with d = d_feature / n_heads; a last `Dense` layer mixes the heads.

    Args:
      d_feature: the features of input and output vectors.
      n_heads: the number of attention heads; divides d_feature.
      dropout: the rate at which attention weights are set to zero, in mode "train".
      mode: "train", "eval", "predict" or "viz".
    Returns: a layer of two inputs, floats [batch, length, d_feature] and the mask [batch, 1, 1,
      length], nonzero at vectors to attend to, and two outputs of the same shapes.
    Raises: ValueError: d_feature is not a multiple of n_heads; an invalid rate or mode.
    Example:
      >>> layer = Attention(8, n_heads=2, mode="eval")
      >>> x, mask = np.ones((1, 3, 8)), np.ones((1, 1, 1, 3), bool)
      >>> _ = layer.init((x, mask))
      >>> layer((x, mask))[0].shape
      (1, 3, 8)
    Source: arXiv:1706.03762; Trax documentation, `layers.Attention`.
    """
    return cb.Serial(
        cb.Select([0, 0, 0]),
        AttentionQKV(d_feature, n_heads=n_heads, dropout=dropout, mode=mode),
    )


@takes_mode
@assert_shape("bSq,blk,blv,b1xl->bSd,b1xl")
def AttentionQKV(
    d_feature: int,
    n_heads: int = 1,
    dropout: float = 0.0,
    mode: str = "train",
    cache_KV_in_predict: bool = False,
    q_sparsity: int | str | None = None,
    result_sparsity: int | str | None = None,
) -> Layer:
    """A layer of attention that maps (queries, keys, values, mask) to (vectors, mask).

    Like `Attention`, but with vectors from three sources: for example, a decoder's queries attend
    to an encoder's keys and values.

    Args:
      d_feature: the features of output vectors, and of all heads together.
      n_heads, dropout, mode: as for `Attention`.
      cache_KV_in_predict: whether to compute keys and values at the first call only, in mode
        "predict". The output of an encoder is the same for all decoded tokens.
      q_sparsity: the layer for the queries: None for a `Dense` layer, "noop" for no layer, or the
        number of modules of a `FactoredDense` and `LocallyConvDense` layer.
      result_sparsity: the layer that mixes the heads, with the same values as `q_sparsity`.
    Returns: a layer of four inputs, [batch, queries, any], [batch, keys, any], [batch, keys, any]
      and the mask [batch, 1, 1 or queries, keys], and two outputs, floats [batch, queries,
      d_feature] and the mask.
    Raises: ValueError: as for `Attention`; an unknown sparsity.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.AttentionQKV(8, n_heads=2, mode="eval")
      >>> queries, keys, mask = np.ones((1, 3, 8)), np.ones((1, 5, 8)), np.ones((1, 1, 1, 5), bool)
      >>> _ = layer.init((queries, keys, keys, mask))
      >>> vectors, mask = layer((queries, keys, keys, mask))
      >>> vectors.shape, mask.shape
      ((1, 3, 8), (1, 1, 1, 5))
    Source: Trax documentation, `layers.AttentionQKV`; sparsity: arXiv:2111.12763.
    """
    divided("AttentionQKV", "d_feature", d_feature, "n_heads", n_heads)

    def modular(name: str, sparsity: int | str | None) -> Layer:
        if sparsity is None:
            return Dense(d_feature)
        if sparsity == "noop":
            return cb.Serial()
        modules = whole_number("AttentionQKV", f'{name} (None, "noop" or modules)', sparsity)
        width = divided("AttentionQKV", "d_feature", d_feature, name, modules)
        return cb.Serial(
            FactoredDense(modules, d_feature, d_feature),
            LocallyConvDense(modules, width, mode=mode, kernel_size=3, length_kernel_size=3),
        )

    def of_memory() -> Layer:
        keep = cache_KV_in_predict and mode == "predict"
        return cb.Cache(Dense(d_feature)) if keep else Dense(d_feature)

    return cb.Serial(
        cb.Parallel(modular("q_sparsity", q_sparsity), of_memory(), of_memory()),
        PureAttention(n_heads=n_heads, dropout=dropout, mode=mode),
        modular("result_sparsity", result_sparsity),
    )


@assert_shape("blq,bkq,bkd,b1xk->bld,b1xk")
class PureAttention(Layer):
    """Attention without weights: maps (queries, keys, values, mask) to (vectors, mask).

    Divides the features into heads, gives each query softmax(q kᵀ / √d) v of its head, and joins
    the heads. In mode "viz" its state is the weights [batch, heads, queries, keys].

    Args:
      n_heads, dropout, mode: as for `Attention`.
    Inputs: floats [batch, queries, d], [batch, keys, d], [batch, keys, d_v]; the mask [batch, 1, 1
      or queries, keys], nonzero at keys to attend to.
    Outputs: float32 [batch, queries, d_v], and the unchanged mask.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.PureAttention(n_heads=2, mode="eval")
      >>> queries, keys, mask = np.ones((1, 3, 8)), np.ones((1, 5, 8)), np.ones((1, 1, 1, 5), bool)
      >>> vectors, _ = layer((queries, keys, keys, mask))
      >>> vectors.shape
      (1, 3, 8)
    Source: arXiv:1706.03762; Trax documentation, `layers.PureAttention`.
    """

    def __init__(self, n_heads: int = 1, dropout: float = 0.0, mode: str = "train"):
        super().__init__(n_in=4, n_out=2)
        self._n_heads = whole_number("PureAttention", "n_heads", n_heads)
        self._dropout = checked_rate("PureAttention", dropout)
        self._mode = checked_mode("PureAttention", mode)
        self._needs_key = self._dropout > 0 and mode == "train"

    def forward(self, inputs: Any) -> Any:
        """(vectors, mask)."""
        *vectors, mask = inputs
        queries, keys, values = (split_heads(x, self._n_heads) for x in vectors)
        rng = self.rng if self._needs_key else None
        means, weights = attend(queries, keys, values, mask, self._dropout, self._mode, rng)
        if self._mode == "viz":
            self.state = weights
        return merge_heads(means), mask


class DotProductAttention(Layer):
    """Attention within a head: maps (queries, keys, values, mask) to softmax(q kᵀ / √d) v.

    The mask is not an output. In mode "viz" the state is the weights.

    Args:
      dropout, mode: as for `Attention`.
    Inputs: floats [..., queries, d], [..., keys, d], [..., keys, d_v]; a mask that broadcasts to
      [..., queries, keys], nonzero at keys to attend to.
    Outputs: float32 [..., queries, d_v].
    Example:
      >>> from weft import layers as tl
      >>> q, k, v = np.ones((1, 1, 2)), np.ones((1, 3, 2)), np.arange(3.0).reshape(1, 3, 1)
      >>> tl.DotProductAttention(mode="eval")((q, k, v, np.array([[[True, True, False]]])))
      Array([[[0.5]]], dtype=float32)
    Source: arXiv:1706.03762; Trax documentation, `layers.DotProductAttention`.
    """

    def __init__(self, dropout: float = 0.0, mode: str = "train"):
        super().__init__(n_in=4, n_out=1)
        self._dropout = checked_rate("DotProductAttention", dropout)
        self._mode = checked_mode("DotProductAttention", mode)
        self._needs_key = self._dropout > 0 and mode == "train"

    def forward(self, inputs: Any) -> Any:
        """The weighted means of values."""
        queries, keys, values, mask = inputs
        rng = self.rng if self._needs_key else None
        means, weights = attend(queries, keys, values, mask, self._dropout, self._mode, rng)
        if self._mode == "viz":
            self.state = weights
        return means


@assert_shape("bld->...lh")
def SplitIntoHeads(n_heads: int, merged_batch_and_head: bool = True) -> Layer:
    """A layer that divides features into heads.

    Args:
      n_heads: the number of heads; divides the number of features.
      merged_batch_and_head: whether to merge the head axis into the batch axis, with the heads of
        one element adjacent.
    Returns: a layer from [batch, length, d] to [batch * n_heads, length, d / n_heads], or to
      [batch, n_heads, length, d / n_heads].
    Example:
      >>> from weft import layers as tl
      >>> tl.SplitIntoHeads(2)(np.ones((3, 5, 8))).shape
      (6, 5, 4)
      >>> tl.SplitIntoHeads(2, merged_batch_and_head=False)(np.ones((3, 5, 8))).shape
      (3, 2, 5, 4)
    Source: Trax documentation, `layers.SplitIntoHeads`.
    """
    whole_number("SplitIntoHeads", "n_heads", n_heads)

    def split(x: Any) -> Any:
        heads = split_heads(x, n_heads)
        return jnp.reshape(heads, (-1, *heads.shape[2:])) if merged_batch_and_head else heads

    return Fn("SplitIntoHeads", split)


@assert_shape("...lh->bld")
def MergeHeads(n_heads: int, merged_batch_and_head: bool = True) -> Layer:
    """A layer that joins the heads; the inverse of `SplitIntoHeads`.

    Args:
      n_heads: the number of heads.
      merged_batch_and_head: whether the head axis is merged into the batch axis.
    Returns: a layer from [batch * n_heads, length, d], or [batch, n_heads, length, d], to [batch,
      length, n_heads * d].
    Example:
      >>> from weft import layers as tl
      >>> tl.MergeHeads(2)(np.ones((6, 5, 4))).shape
      (3, 5, 8)
    Source: Trax documentation, `layers.MergeHeads`.
    """
    whole_number("MergeHeads", "n_heads", n_heads)

    def merge(x: Any) -> Any:
        if merged_batch_and_head:
            if x.shape[0] % n_heads:
                raise ShapeError(
                    f"MergeHeads: the first axis must hold {n_heads} heads for each element of "
                    f"the batch; got shape {tuple(x.shape)}"
                )
            x = jnp.reshape(x, (x.shape[0] // n_heads, n_heads, *x.shape[1:]))
        elif x.ndim != 4 or x.shape[1] != n_heads:
            raise ShapeError(
                f"MergeHeads: expected [batch, {n_heads}, length, features]; "
                f"got shape {tuple(x.shape)}"
            )
        return merge_heads(x)

    return Fn("MergeHeads", merge)


@assert_shape("bld->bld")
def ConfigurableAttention(
    q_layer: Layer,
    k_layer: Layer,
    v_layer: Layer,
    final_layer: Layer,
    qkv_attention_layer: Layer,
    n_heads: int = 1,
) -> Layer:
    """Self-attention built from your own layers.

    Args:
      q_layer, k_layer, v_layer: map the vectors to queries, keys and values of all heads.
      final_layer: mixes the heads; it maps [batch, length, features] to the shape of the input.
      qkv_attention_layer: maps (queries, keys, values), each [batch * n_heads, length, features of
        a head], to vectors of that shape; for example `DotProductCausalAttention`.
      n_heads: the number of heads.
    Returns: a layer from [batch, length, d] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> attention = tl.DotProductCausalAttention(mode="eval")
      >>> layer = tl.ConfigurableAttention(*(tl.Dense(8) for _ in range(4)), attention, n_heads=2)
      >>> _ = layer.init(np.ones((1, 3, 8)))
      >>> layer(np.ones((1, 3, 8))).shape
      (1, 3, 8)
    Source: Trax documentation, `layers.ConfigurableAttention`.
    """
    whole_number("ConfigurableAttention", "n_heads", n_heads)
    return cb.Serial(
        cb.Branch(*([layer, SplitIntoHeads(n_heads)] for layer in (q_layer, k_layer, v_layer))),
        qkv_attention_layer,
        MergeHeads(n_heads),
        final_layer,
    )


@takes_mode
@assert_shape("bld->bld")
def CausalAttention(
    d_feature: int,
    n_heads: int = 1,
    dropout: float = 0.0,
    max_inference_length: int = 2048,
    use_dconv: bool = False,
    mode: str = "train",
) -> Layer:
    """Self-attention in which no position sees a later one, for language models.

    Mode "predict" takes the sequence in pieces, of one token or more. The state has the keys and
    values of all tokens so far. The outputs equal those of mode "eval".

    Args:
      d_feature, n_heads, dropout, mode: as for `Attention`.
      max_inference_length: the longest sequence in mode "predict".
      use_dconv: whether a causal depthwise convolution follows the layers of queries, keys and
        values. It keeps no history, so it raises an error in mode "predict".
    Returns: a layer from floats [batch, length, d_feature] to the same shape.
    Raises: ValueError: d_feature is not a multiple of n_heads; an invalid rate, length or mode.
    Example:
      >>> layer = CausalAttention(4, n_heads=2, mode="predict", max_inference_length=5)
      >>> token = np.ones((1, 1, 4))
      >>> _ = layer.init(token)
      >>> layer(token).shape
      (1, 1, 4)
    Source: arXiv:1706.03762; Trax documentation, `layers.CausalAttention`.
    """
    divided("CausalAttention", "d_feature", d_feature, "n_heads", n_heads)
    if use_dconv and checked_mode("CausalAttention", mode) == "predict":
        raise noted(
            ValueError(
                "CausalAttention: use_dconv keeps no history of the sequence, so that mode "
                "'predict' would give other values than mode 'eval'\n  fix: use_dconv=False"
            )
        )

    def dense() -> Layer:
        layer = Dense(d_feature)
        return cb.Serial(layer, CausalDepthwiseConv()) if use_dconv else layer

    return ConfigurableAttention(
        dense(),
        dense(),
        dense(),
        Dense(d_feature),
        n_heads=n_heads,
        qkv_attention_layer=DotProductCausalAttention(
            dropout=dropout, max_inference_length=max_inference_length, mode=mode
        ),
    )


@assert_shape("bld,bld,bld->bld")
class DotProductCausalAttention(Layer):
    """Attention within a head to a position's own and earlier ones.

    In mode "predict" the state is (keys, values, index): two arrays [batch, max_inference_length,
    features] and the number of stored positions. A call adds its keys and values, at least one of
    each, and its queries attend to all stored ones. In mode "viz" the state is the weights.

    Args:
      dropout, mode: as for `Attention`.
      max_inference_length: the longest sequence in mode "predict". Beyond it the results are NaN,
        because the length of the sequence is unknown when the program is compiled.
    Inputs: queries, keys, values: floats [batch, length, features].
    Outputs: float32 of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> x = np.array([[[0.0], [1.0], [2.0]]])
      >>> tl.DotProductCausalAttention(mode="eval")((np.zeros((1, 3, 1)), x, x))
      Array([[[0. ],
              [0.5],
              [1. ]]], dtype=float32)
    Source: arXiv:1706.03762; Trax documentation, `layers.DotProductCausalAttention`.
    """

    def __init__(self, dropout: float = 0.0, max_inference_length: int = 2048, mode: str = "train"):
        super().__init__(n_in=3, n_out=1)
        name = "DotProductCausalAttention"
        self._dropout = checked_rate(name, dropout)
        self._max_len = whole_number(name, "max_inference_length", max_inference_length)
        self._mode = checked_mode(name, mode)
        self._needs_key = self._dropout > 0 and mode == "train"
        self._portal = self.monkey_patched_mask()

    def monkey_patched_mask(self) -> Any:
        """None, or in a subclass an object whose `get_value()` returns a mask of the first input's
        keys.

        The mask [batch, 1, 1, length] applies to the first input of a sequence in mode "predict",
        such as the output of an encoder with padding.
        """
        return None

    def forward(self, inputs: Any) -> Any:
        """The weighted means of values."""
        queries, keys, values = inputs
        if self._mode == "predict":
            return self._predict(queries, keys, values)
        rng = self.rng if self._needs_key else None
        mask = causal_mask(queries.shape[-2])
        means, weights = attend(queries, keys, values, mask, self._dropout, self._mode, rng)
        if self._mode == "viz":
            self.state = weights
        return means

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes no weights; in mode "predict", the state with room for keys and values."""
        if self._mode != "predict":
            return
        _, keys, values = input_signature
        room = tuple(
            jnp.zeros((x.shape[0], self._max_len, x.shape[2]), x.dtype) for x in (keys, values)
        )
        state = (*room, jnp.array(0, jnp.int32))
        if self._portal is not None:
            state = (jnp.zeros((self._max_len,), jnp.bool_), *state)
        self.state = state

    def _predict(self, queries: Any, keys: Any, values: Any) -> Any:
        length, room = queries.shape[-2], self._max_len
        if length > room:
            raise ShapeError(
                f"DotProductCausalAttention: {length} positions do not fit the "
                f"max_inference_length of {room}\n  fix: max_inference_length={length}, or more"
            )
        *counted, kept_keys, kept_values, index = self.state
        kept_keys = _with_more(kept_keys, keys, index)
        kept_values = _with_more(kept_values, values, index)
        place = index + jnp.arange(length, dtype=jnp.int32)
        mask = (jnp.arange(room, dtype=jnp.int32)[None, :] <= place[:, None])[None]
        if counted:
            counted = [self._counted(counted[0], index)]
            mask = mask & counted[0][None, None, :]
        means, _ = attend(queries, kept_keys, kept_values, mask)
        self.state = (*counted, kept_keys, kept_values, index + length)
        return jnp.where(index + length <= room, means, jnp.full((), math.nan, means.dtype))

    def _counted(self, counted: Any, index: Any) -> Any:
        """A mask of the positions to attend to: those of the portal's mask, the one after them, and
        the current one."""
        mask = jnp.reshape(self._portal.get_value(), (-1,)) != 0
        counted = fastmath.dynamic_update_slice_in_dim(counted, mask, 0, 0)
        positions = jnp.arange(self._max_len, dtype=jnp.int32)
        return counted | (positions == jnp.sum(mask.astype(jnp.int32))) | (positions == index)


def _with_more(kept: Any, more: Any, index: Any) -> Any:
    return fastmath.dynamic_update_slice_in_dim(kept, more.astype(kept.dtype), index, 1)


@takes_mode
@assert_shape("...d->...d")
def ShiftRight(n_positions: int = 1, mode: str = "train") -> Layer:
    """A layer that shifts sequences to the right, so that no position sees its own target.

    Args:
      n_positions: the number of zeros inserted at the front, and of elements removed at the
        end.
      mode: in "predict" nothing is shifted, because tokens arrive one at a time.
    Returns: a layer from [batch, length, ...] to the same shape and dtype.
    Example:
      >>> ShiftRight()(np.array([[[1], [2], [3]]]))[0, :, 0]
      Array([0, 1, 2], dtype=int32)
    Source: Trax documentation, `layers.ShiftRight`.
    """
    shift = whole_number("ShiftRight", "n_positions", n_positions, least=0)
    checked_mode("ShiftRight", mode)

    def shifted(x: Any) -> Any:
        if mode == "predict" or shift == 0:
            return x
        if x.ndim < 2:
            raise ShapeError(f"ShiftRight: expected [batch, length, ...]; got shape {x.shape}")
        length = x.shape[1]
        zeros = jnp.zeros((x.shape[0], min(shift, length), *x.shape[2:]), x.dtype)
        return jnp.concatenate([zeros, x[:, : length - zeros.shape[1]]], axis=1)

    return Fn(f"ShiftRight({shift})", shifted)


@assert_shape("bs->b11l")
def PaddingMask(pad: int = 0) -> Layer:
    """A layer that marks the tokens that are not padding.

    Args:
      pad: the id of padding.
    Returns: a layer from integers [batch, length] to booleans [batch, 1, 1, length], which
      broadcast over heads and queries.
    Example:
      >>> PaddingMask()(np.array([[7, 3, 0]]))
      Array([[[[ True,  True, False]]]], dtype=bool)
    Source: Trax documentation, `layers.PaddingMask`.
    """

    def mask(x: Any) -> Any:
        if x.ndim != 2:
            raise ShapeError(f"PaddingMask: expected tokens [batch, length]; got shape {x.shape}")
        return jnp.reshape(x != pad, (x.shape[0], 1, 1, x.shape[1]))

    return Fn(f"PaddingMask({pad})", mask)


def EncoderDecoderMask() -> Layer:
    """A layer that makes the mask for a decoder's attention to an encoder.

    Returns: a layer of two inputs, the decoder's vectors [batch, queries, d] and the encoder's
      padding mask [batch, 1, 1, keys], and one output, float32 [batch, 1, queries, keys]: the mask,
      repeated for each query.
    Example:
      >>> from weft import layers as tl
      >>> mask = np.array([[[[True, True, False]]]])
      >>> tl.EncoderDecoderMask()((np.ones((1, 2, 8)), mask))
      Array([[[[1., 1., 0.],
               [1., 1., 0.]]]], dtype=float32)
    Source: Trax documentation, `layers.EncoderDecoderMask`.
    """

    def mask(decoder_input: Any, mask: Any) -> Any:
        if decoder_input.ndim != 3:
            raise ShapeError(
                "EncoderDecoderMask: expected the decoder's vectors [batch, length, d]; "
                f"got shape {tuple(decoder_input.shape)}"
            )
        row = jnp.reshape(mask, (mask.shape[0], 1, 1, mask.shape[-1])).astype(jnp.float32)
        return row + jnp.zeros((1, 1, decoder_input.shape[1], 1), jnp.float32)

    return Fn("EncoderDecoderMask", mask)
