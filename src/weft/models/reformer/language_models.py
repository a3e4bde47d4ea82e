"""ReformerLM and ReformerShortenLM: language models of reversible blocks.

Reversible blocks store no activations. `ReformerShortenLM` pools every `shorten_factor` tokens into
one vector, so its blocks see a shorter sequence.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import layers as tl, option_checks
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...layers.activation_fns import FastGelu
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...user_lines import noted
from ..research.transformer_parts import (
    PositionalEncoder,
    attention_in_turn,
    checked_sizes,
    remembering,
)
from .blocks import DecoderBlock

__all__ = ["ReformerLM", "ReformerShortenLM"]


@takes_mode
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
    ff_sparsity: int | str | Sequence[float] = 0,
    loss_sparsity_type: str = "mult",
    loss_sparsity: int = 0,
    loss_d_lowrank: int = 0,
    loss_sparsity_prob: float | None = None,
    attention_chunk_size: int = 0,
    mode: str = "train",
) -> Layer:
    """A language model of reversible blocks, whose training memory does not grow with depth.

    In modes "train" and "eval" the tokens are the targets, which the model shifts to the right. In
    mode "predict" nothing is shifted: a call takes the last token and returns the logits of the
    next one, beginning with token 0.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model: features of a vector, in each of the two streams.
      d_ff: units of the hidden layer of each block.
      d_attention_key: depth of queries and keys, for each head.
      d_attention_value: depth of values, for each head.
      n_layers: the number of blocks.
      n_heads: the number of heads.
      dropout: the rate of all dropout layers, in mode "train".
      max_len: the longest sequence. `SelfAttention` without chunks remembers this number of
        positions in mode "predict"; for other attention, see its options.
      attention_type: makes the layers of attention: `SelfAttention`, `LSHSelfAttention`,
        `CausalAttention`, or a `functools.partial` of one; or a list of them, which the blocks use
        in turn; its length divides n_layers.
      pos_type, pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob, pos_max_offset_to_add:
        how positions are encoded; as for `PositionalEncoder`, or "time-bin": the last three
        features encode the bin and the position in the bin; a bin is a chunk of the first block's
        attention. In mode "predict" a call then takes one token.
      ff_activation, ff_use_sru, ff_chunk_size, ff_sparsity: as for `FeedForwardWithOptions`.
      loss_sparsity_type, loss_sparsity, loss_d_lowrank, loss_sparsity_prob: sparsity_type,
        sparsity, d_lowrank and prob_sparse of the last layer, a `SparseDenseWithOptions`; `Dense`
        by default.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      mode: "train", "eval" or "predict".
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: an option is invalid, or options contradict each other.
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
    option_checks.choice(name, "mode", mode, ("train", "eval", "predict"))
    checked_sizes(name, dropout, vocab_size=vocab_size, d_model=d_model, d_ff=d_ff)
    kinds = attention_in_turn(name, "attention_type", attention_type, n_layers)
    if mode == "predict":
        kinds = [remembering(name, "attention_type", kind, max_len) for kind in kinds]
    block = partial(
        DecoderBlock, d_model, d_ff, d_attention_key, d_attention_value, n_heads,
        dropout=dropout, ff_activation=ff_activation, ff_dropout=dropout, ff_use_sru=ff_use_sru,
        ff_chunk_size=ff_chunk_size, ff_sparsity=ff_sparsity,
        attention_chunk_size=attention_chunk_size, mode=mode,
    )  # fmt: skip
    positions = _positions(pos_type, kinds[0])(
        mode, dropout, max_len, pos_type, pos_axial_shape, pos_d_axial_embs,
        pos_start_from_zero_prob, pos_max_offset_to_add,
    )  # fmt: skip
    return tl.Serial(
        _embedded(vocab_size, d_model, dropout, mode, positions),
        tl.Dup(),
        tl.ReversibleSerial([block(attention_type=kind) for kind in kinds]),
        tl.Concatenate(),
        tl.LayerNorm(),
        tl.Dropout(rate=dropout, shared_axes=[-2], mode=mode),
        tl.SparseDenseWithOptions(
            vocab_size,
            d_input=2 * d_model,
            sparsity_type=loss_sparsity_type,
            sparsity=loss_sparsity,
            d_lowrank=loss_d_lowrank,
            prob_sparse=loss_sparsity_prob,
            mode=mode,
        ),
    )


@takes_mode
def ReformerShortenLM(
    vocab_size: int,
    shorten_factor: int = 1,
    d_embedding: int = 256,
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
    ff_activation: Callable[[], Layer] = FastGelu,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    attention_chunk_size: int = 0,
    mode: str = "train",
) -> Layer:
    """A language model whose reversible blocks process one vector for each group of tokens.

    The features of `shorten_factor` tokens become one vector. The output of the blocks is split
    into one vector per token again; a convolution and an `SRU` combine these with the embeddings.
    The model is causal. The tokens are the targets, which the model shifts to the right; there is
    no mode "predict", because a vector holds several tokens. One of the two streams continues after
    the blocks. It is not the one to which the last feed-forward layer adds, so that layer is not
    trained.

    Args:
      vocab_size: the number of tokens, padding included.
      shorten_factor: the number of tokens per vector; it must divide the length of sequences.
      d_embedding: features of a token's vector.
      d_model: features of a vector of the blocks, in each of the two streams.
      d_ff, d_attention_key, d_attention_value, n_layers, n_heads, dropout, attention_type,
        ff_activation, ff_use_sru, ff_chunk_size, ff_sparsity, attention_chunk_size: as for
        `ReformerLM`.
      max_len: the longest sequence of tokens.
      pos_type, pos_axial_shape, pos_d_axial_embs: how positions of tokens are encoded; as for
        `PositionalEncoder`.
      mode: "train" or "eval".
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises:
      TypeError, ValueError: an option is invalid.
      LayerError (when called): shorten_factor doesn't divide the length.
    Example:
      >>> model = ReformerShortenLM(9, 2, d_embedding=4, d_model=4, d_ff=8, d_attention_key=2,
      ...                           d_attention_value=2, n_layers=1, n_heads=2, mode="eval")
      >>> tokens = np.array([[5, 2, 7, 1]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 4, 9)
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax documentation,
      `models.ReformerShortenLM`.
    """
    name = "ReformerShortenLM"
    if mode == "predict":
        raise noted(
            ValueError(
                f"{name}: there is no mode 'predict', because a block vector has several tokens\n"
                "  fix: mode='eval' on the sequence so far; ReformerLM decodes"
            )
        )
    option_checks.choice(name, "mode", mode, ("train", "eval"))
    checked_sizes(name, dropout, vocab_size=vocab_size, d_model=d_model, d_ff=d_ff)
    checked_sizes(name, dropout, shorten_factor=shorten_factor, d_embedding=d_embedding)
    kinds = attention_in_turn(name, "attention_type", attention_type, n_layers)
    block = partial(
        DecoderBlock, d_model, d_ff, d_attention_key, d_attention_value, n_heads,
        dropout=dropout, ff_activation=ff_activation, ff_dropout=dropout, ff_use_sru=ff_use_sru,
        ff_chunk_size=ff_chunk_size, ff_sparsity=ff_sparsity,
        attention_chunk_size=attention_chunk_size, mode=mode,
    )  # fmt: skip
    positions = PositionalEncoder(
        mode, dropout, max_len, pos_type, pos_axial_shape, pos_d_axial_embs
    )
    blocks = tl.ReversibleSerial([block(attention_type=kind) for kind in kinds])
    return tl.Serial(
        _embedded(vocab_size, d_embedding, dropout, mode, positions),
        tl.Dup(),
        _shortened(blocks, shorten_factor, d_embedding, d_model, dropout, mode),
        tl.Concatenate(),
        tl.CausalConv(d_embedding),
        tl.Relu(),
        tl.SRU(d_embedding),
        tl.Dense(vocab_size),
    )


def _embedded(
    vocab_size: int, depth: int, dropout: float, mode: str, positions: Layer
) -> list[Layer]:
    """Layers that map tokens to vectors with positions, shifted by one token."""
    return [
        tl.ShiftRight(mode=mode),
        tl.Embedding(vocab_size, depth),
        tl.Dropout(rate=dropout, shared_axes=[-2], mode=mode),
        positions,
    ]


def _positions(pos_type: str | None, first: Callable[..., Layer]) -> Callable[..., Layer]:
    """The function that makes the positional layer before the first kind of attention."""
    return partial(_bins_of_time, first) if pos_type == "time-bin" else PositionalEncoder


def _bins_of_time(attention_type: Callable[..., Layer], mode: str, *rest: Any) -> Layer:
    """A layer that adds positions in bins, which are the chunks of a kind of attention."""
    option = inspect.signature(attention_type).parameters.get("chunk_len")
    if option is None or not isinstance(option.default, int):
        raise noted(
            ValueError(
                "ReformerLM: pos_type='time-bin' takes the length of bins from the chunk_len of "
                "the first block's attention, which has none\n  fix: "
                "attention_type=functools.partial(SelfAttention, chunk_len=64)"
            )
        )
    return tl.TimeBinPositionalEncoding(option.default, mode=mode)


def _shortened(
    layer: Layer, factor: int, d_embedding: int, d_model: int, dropout: float, mode: str
) -> list[Layer]:
    """Layers that combine every `factor` token vectors into one, run a reversible layer on these,
    and restore the length. The output at a token does not depend on later tokens."""

    def shorten(x: Any) -> Any:
        batch, length, depth = x.shape
        if length % factor:
            raise ShapeError(
                f"ReformerShortenLM: shorten_factor={factor} must divide the length of sequences; "
                f"got {length}\n  fix: pad the sequences"
            )
        return jnp.reshape(x, (batch, length // factor, factor * depth))

    def lengthen(x: Any) -> Any:
        batch, length, depth = x.shape
        return jnp.reshape(x, (batch, length * factor, depth // factor))

    return [
        tl.ShiftRight(n_positions=factor - 1, mode=mode),
        tl.Fn("Shorten", shorten),
        tl.Dense(d_model),
        tl.Dup(),
        layer,
        tl.Select([0], n_in=2),
        tl.LayerNorm(),
        tl.Dropout(rate=dropout, shared_axes=[-2], mode=mode),
        tl.Dense(factor * d_embedding),
        tl.Fn("Lengthen", lengthen),
    ]
