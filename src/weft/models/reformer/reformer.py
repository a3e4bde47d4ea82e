"""The Reformer: a language model of reversible blocks, which keeps no activations of its layers.

Each block has two streams of vectors. Attention to one is added to the other, then they swap, and
the feed-forward half does the same: both can be subtracted again in the backward pass.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ... import layers as tl
from ...layers import options
from ...layers.activation_fns import FastGelu
from ...layers.base import Layer
from ...layers.checked_options import checked_rate, divided
from ...user_lines import noted
from ..research.configurable_transformer import (
    ApplyAttentionLayer,
    FeedForwardWithOptions,
    PositionalEncoder,
    refuse_sparsity,
)

__all__ = ["DecoderBlock", "ReformerLM"]

MODES = ("train", "eval", "predict")


def DecoderBlock(
    d_model: int,
    d_ff: int,
    d_attention_key: int,
    d_attention_value: int,
    n_heads: int,
    attention_type: Callable[..., Layer],
    dropout: float,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_use_sru: int | Sequence[int],
    ff_chunk_size: int,
    ff_sparsity: int,
    attention_chunk_size: int,
    n_attention_layers: int = 1,
    n_feedforward_layers: int = 1,
    center_layernorm: bool = True,
    use_bfloat16: bool = False,
    mode: str = "train",
) -> list[Layer]:
    """The reversible layers of a block: causal attention and a feed-forward half.

    Args:
      d_model: features of a vector.
      d_ff: units of the feed-forward half's hidden layer.
      d_attention_key: depth of queries and keys, for each head.
      d_attention_value: depth of values, for each head.
      n_heads: number of heads.
      attention_type: makes a layer of causal attention; see `ReformerLM`.
      dropout: rate at which outputs become zero in mode "train"; of attention its weights too.
      ff_activation, ff_dropout, ff_use_sru, ff_chunk_size, ff_sparsity: as for
        `FeedForwardWithOptions`.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      n_attention_layers: how many attentions there are, one after the other.
      n_feedforward_layers: how many feed-forward halves follow.
      center_layernorm: whether normalizations subtract the mean and add a bias.
      use_bfloat16: whether weights of the feed-forward half are bfloat16.
      mode: "train", "eval" or "predict".
    Returns: a list of layers from two streams, each floats [batch, length, d_model], to two.
    Raises: TypeError, ValueError: an option has another form.
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax's module `models.reformer`.
    """

    def attention() -> Layer:
        layer = ApplyAttentionLayer(
            attention_type,
            d_model,
            n_heads,
            d_attention_key,
            d_attention_value,
            causal=True,
            masked=False,
            attention_dropout=dropout,
            output_dropout=dropout,
            attention_chunk_size=attention_chunk_size,
            mode=mode,
        )
        norm = tl.LayerNorm(center=center_layernorm)
        return tl.ReversibleHalfResidual(norm, attention_layer=layer)

    def feed_forward() -> Layer:
        layers = FeedForwardWithOptions(
            d_model,
            d_ff,
            dropout,
            [-2],
            ff_activation,
            ff_dropout,
            ff_chunk_size,
            ff_use_sru,
            ff_sparsity,
            center_layernorm,
            mode,
            use_bfloat16,
        )
        return tl.ReversibleHalfResidual(*layers)

    halves = [attention() for _ in range(n_attention_layers)]
    halves += [feed_forward() for _ in range(n_feedforward_layers)]
    return [layer for half in halves for layer in (half, tl.ReversibleSwap())]


def ReformerLM(
    vocab_size: int,
    d_model: int = 512,
    d_ff: int = 2048,
    d_attention_key: int = 64,
    d_attention_value: int = 64,
    n_layers: int = 6,
    n_heads: int = 8,
    dropout: float = 0.1,
    max_len: int = 2048,
    attention_type: Any = tl.SelfAttention,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] = (),
    pos_d_axial_embs: Sequence[int] | None = None,
    pos_start_from_zero_prob: float = 1.0,
    pos_max_offset_to_add: int = 0,
    ff_activation: Callable[[], Layer] = FastGelu,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_sparsity: int = 0,
    loss_sparsity_type: str = "mult",
    loss_sparsity: int = 0,
    loss_d_lowrank: int = 0,
    loss_sparsity_prob: float | None = None,
    attention_chunk_size: int = 0,
    mode: str = "train",
) -> Layer:
    """A language model of reversible blocks, whose memory in training doesn't grow with its depth.

    In modes "train" and "eval" the tokens are the targets, which the model shifts to the right. In
    mode "predict" nothing is shifted: a call takes the last token and gives the logits of the next
    one, beginning with token 0.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model: features of a vector, in each of the two streams.
      d_ff: units of the hidden layer of each block.
      d_attention_key: depth of queries and keys, for each head.
      d_attention_value: depth of values, for each head.
      n_layers: the number of blocks.
      n_heads: the number of heads.
      dropout: rate of all dropout, in mode "train".
      max_len: the longest sequence. `SelfAttention` without chunks remembers as many positions in
        mode "predict"; other attention, as many as its own options say.
      attention_type: makes the layers of attention: `SelfAttention`, `LSHSelfAttention`,
        `CausalAttention`, or a `functools.partial` of one; or a list of them, which the blocks take
        in turn, whose length divides n_layers.
      pos_type, pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob, pos_max_offset_to_add:
        how positions are encoded; as for `PositionalEncoder`.
      ff_activation, ff_use_sru, ff_chunk_size, ff_sparsity: as for `FeedForwardWithOptions`.
      loss_sparsity_type, loss_sparsity, loss_d_lowrank, loss_sparsity_prob: "mult", 0, 0, None; the
        last layer is a `Dense` one.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      mode: "train", "eval" or "predict".
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: an option has another form, or asks for sparse layers.
    Example:
      >>> model = ReformerLM(9, d_model=4, d_ff=8, d_attention_key=2, d_attention_value=2,
      ...                    n_layers=1, n_heads=2, mode="eval")
      >>> tokens = np.array([[5, 2, 7]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 3, 9)
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax documentation,
      `models.ReformerLM`.
    """
    name = "ReformerLM"
    options.choice(name, "mode", mode, MODES)
    for option, size in (("vocab_size", vocab_size), ("d_model", d_model), ("d_ff", d_ff)):
        options.whole_number(name, option, size)
    checked_rate(name, dropout)
    options.choice(name, "loss_sparsity_type", loss_sparsity_type, ("mult",))
    refuse_sparsity(name, ff_sparsity=ff_sparsity, loss_sparsity=loss_sparsity)
    refuse_sparsity(name, loss_d_lowrank=loss_d_lowrank, loss_sparsity_prob=loss_sparsity_prob)
    kinds = _in_turn(name, attention_type, n_layers)
    if mode == "predict":
        kinds = [_remembering(kind, max_len) for kind in kinds]
    sizes = (d_model, d_ff, d_attention_key, d_attention_value, n_heads)
    half = (dropout, ff_activation, dropout, ff_use_sru, ff_chunk_size, ff_sparsity)
    block: Callable[..., list[Layer]] = functools.partial(DecoderBlock, mode=mode)
    blocks = [block(*sizes, kind, *half, attention_chunk_size) for kind in kinds]
    grid = (pos_axial_shape, pos_d_axial_embs)
    start = (pos_start_from_zero_prob, pos_max_offset_to_add)
    return tl.Serial(
        tl.ShiftRight(mode=mode),
        tl.Embedding(vocab_size, d_model),
        tl.Dropout(rate=dropout, shared_axes=[-2], mode=mode),
        PositionalEncoder(mode, dropout, max_len, pos_type, *grid, *start),
        tl.Dup(),
        tl.ReversibleSerial(blocks),
        tl.Concatenate(),
        tl.LayerNorm(),
        tl.Dropout(rate=dropout, shared_axes=[-2], mode=mode),
        tl.Dense(vocab_size),
    )


def _in_turn(name: str, attention_type: Any, n_layers: int) -> list[Callable[..., Layer]]:
    """The kind of attention of each block."""
    options.whole_number(name, "n_layers", n_layers)
    if not isinstance(attention_type, tuple | list):
        return [attention_type] * n_layers
    if not attention_type:
        raise noted(ValueError(f"{name}: attention_type must have a kind of attention; got none"))
    return [*attention_type] * divided(
        name, "n_layers", n_layers, "the length of attention_type", len(attention_type)
    )


def _remembering(attention_type: Callable[..., Layer], max_len: int) -> Callable[..., Layer]:
    """Attention that remembers `max_len` positions in decoding, unless its options say how many."""
    options.function("ReformerLM", "attention_type", attention_type, "that makes a layer")
    taken = inspect.signature(attention_type).parameters
    unsaid = ("predict_mem_len", "predict_drop_len", "chunk_len")
    if any(option not in taken or taken[option].default is not None for option in unsaid):
        if "max_inference_length" in taken:
            return functools.partial(attention_type, max_inference_length=max_len)
        return attention_type
    return functools.partial(attention_type, predict_mem_len=max_len, predict_drop_len=max_len)
