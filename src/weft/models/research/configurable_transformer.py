"""Transformers with options for attention, feed-forward parts, positions and the last layer:
ConfigurableTransformer, ConfigurableTransformerEncoder and ConfigurableTransformerLM.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import layers as tl, option_checks
from ...layers.activation_fns import Relu
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from .transformer_blocks import DecoderBlock, EncoderBlock, EncoderDecoderBlock
from .transformer_parts import (
    ApplyAttentionLayer,
    EmbeddingAndPositionalEncodings,
    FeedForwardWithOptions,
    PositionalEncoder,
    checked_sizes,
    remembering,
)

__all__ = [
    "ApplyAttentionLayer",
    "ConfigurableTransformer",
    "ConfigurableTransformerEncoder",
    "ConfigurableTransformerLM",
    "DecoderBlock",
    "EmbeddingAndPositionalEncodings",
    "EncoderBlock",
    "EncoderDecoderBlock",
    "FeedForwardWithOptions",
    "PositionalEncoder",
]

MODES = ("train", "eval", "predict")


@takes_mode
def ConfigurableTransformerEncoder(
    vocab_size: int,
    n_classes: int = 10,
    d_model: int = 512,
    d_ff: int = 2048,
    n_layers: int = 6,
    n_heads: int = 8,
    max_len: int = 2048,
    dropout: float = 0.1,
    dropout_shared_axes: Sequence[int] | None = None,
    mode: str = "train",
    ff_activation: Callable[[], Layer] = Relu,
    ff_dropout: float | None = 0.1,
    ff_chunk_size: int = 0,
    ff_use_sru: int | Sequence[int] = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    ff_sparsity_type: str = "1inN",
    attention_chunk_size: int = 0,
    attention_type: Callable[..., Layer] = tl.Attention,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
) -> Layer:
    """A classifier of sequences: bidirectional attention, then the mean over all positions.

    No position attends to padding; the mean at the end is over all positions, padding included.

    Args:
      vocab_size: the number of tokens, padding included.
      n_classes: the number of classes.
      d_model: features of a vector.
      d_ff: units of the hidden layer of each block.
      n_layers: the number of blocks.
      n_heads: the number of attention heads; divides d_model.
      max_len: the longest sequence.
      dropout: rate at which features, and weights of attention, become zero in mode "train".
      dropout_shared_axes: axes of vectors [batch, length, d_model] along which features are dropped
        together.
      mode: "train" or "eval"; "predict" is the same as "eval".
      ff_activation, ff_dropout, ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type: as for
        `FeedForwardWithOptions`.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      attention_type: makes a layer of attention with a mask: `Attention`, `SelfAttention`, or a
        `functools.partial` of one.
      pos_type, pos_axial_shape, pos_d_axial_embs: how positions are encoded; as for
        `PositionalEncoder`.
    Returns: a layer from tokens [batch, length] to logits [batch, n_classes].
    Raises: TypeError, ValueError: an option is invalid, or d_model is not a multiple of n_heads.
    Example:
      >>> model = ConfigurableTransformerEncoder(9, 3, d_model=4, d_ff=8, n_layers=1, n_heads=2,
      ...                                        attention_type=tl.SelfAttention, mode="eval")
      >>> tokens = np.array([[5, 2, 0], [1, 8, 8]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (2, 3)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax's module
      `models.research.configurable_transformer`.
    """
    name = "ConfigurableTransformerEncoder"
    checked_sizes(name, dropout, vocab_size=vocab_size, n_classes=n_classes, max_len=max_len)
    option_checks.divided(name, "d_model", d_model, "n_heads", n_heads)
    if option_checks.choice(name, "mode", mode, MODES) == "predict":
        mode = "eval"
    embedded, _, _ = EmbeddingAndPositionalEncodings(
        vocab_size, d_model, mode, dropout, dropout_shared_axes, max_len, None,
        pos_type, pos_axial_shape, pos_d_axial_embs,
    )  # fmt: skip
    block = partial(
        EncoderBlock, d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation,
        ff_dropout, ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
        attention_type,
    )  # fmt: skip
    return tl.Serial(
        tl.Branch(tl.Serial(embedded), tl.PaddingMask()),
        _repeated(name, "n_layers", n_layers, block),
        tl.Select([0], n_in=2),
        tl.LayerNorm(),
        tl.Mean(axis=1),
        tl.Dense(n_classes),
    )


@takes_mode
def ConfigurableTransformerLM(
    vocab_size: int,
    d_model: int = 512,
    d_ff: int = 2048,
    n_layers: int = 6,
    n_heads: int = 8,
    max_len: int = 2048,
    dropout: float = 0.1,
    dropout_shared_axes: Sequence[int] | None = None,
    mode: str = "train",
    ff_activation: Callable[[], Layer] = Relu,
    ff_dropout: float | None = 0.1,
    ff_chunk_size: int = 0,
    ff_use_sru: int | Sequence[int] = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    ff_sparsity_type: str = "1inN",
    loss_sparsity_type: str = "mult",
    loss_sparsity: int = 0,
    loss_d_lowrank: int = 0,
    loss_sparsity_prob: float | None = None,
    attention_chunk_size: int = 0,
    attention_type: Callable[..., Layer] = tl.CausalAttention,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
    pos_start_from_zero_prob: float = 1.0,
    pos_max_offset_to_add: int = 0,
) -> Layer:
    """A language model: predicts the token at each position from all tokens before it.

    In modes "train" and "eval" the tokens are the targets, which the model shifts to the right. In
    mode "predict" nothing is shifted: a call takes the last token and returns the logits of the
    next one, beginning with token 0.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model, d_ff, n_layers, n_heads, dropout, dropout_shared_axes, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size: as for
        `ConfigurableTransformerEncoder`.
      max_len: the longest sequence, also in mode "predict".
      mode: "train", "eval" or "predict".
      loss_sparsity_type, loss_sparsity, loss_d_lowrank, loss_sparsity_prob: sparsity_type,
        sparsity, d_lowrank and prob_sparse of the last layer, a `SparseDenseWithOptions`; `Dense`
        by default.
      attention_type: makes a layer of causal attention: `CausalAttention`, `SelfAttention`,
        `LSHSelfAttention`, or a `functools.partial` of one.
      pos_type, pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob, pos_max_offset_to_add:
        how positions are encoded; as for `PositionalEncoder`.
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: as for `ConfigurableTransformerEncoder`.
    Example:
      >>> model = ConfigurableTransformerLM(9, d_model=4, d_ff=8, n_layers=1, n_heads=2,
      ...                                   ff_sparsity=2, mode="eval")
      >>> tokens = np.array([[5, 2, 7]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 3, 9)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax's module
      `models.research.configurable_transformer`.
    """
    name = "ConfigurableTransformerLM"
    option_checks.choice(name, "mode", mode, MODES)
    checked_sizes(name, dropout, vocab_size=vocab_size, max_len=max_len)
    option_checks.divided(name, "d_model", d_model, "n_heads", n_heads)
    if mode == "predict":
        attention_type = remembering(name, "attention_type", attention_type, max_len)
    block = partial(
        DecoderBlock, d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation,
        ff_dropout, ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
        attention_type,
    )  # fmt: skip
    return tl.Serial(
        tl.ShiftRight(mode=mode),
        tl.Embedding(vocab_size, d_model),
        tl.Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode),
        PositionalEncoder(
            mode, dropout, max_len, pos_type, pos_axial_shape, pos_d_axial_embs,
            pos_start_from_zero_prob, pos_max_offset_to_add,
        ),
        _repeated(name, "n_layers", n_layers, block),
        tl.LayerNorm(),
        tl.SparseDenseWithOptions(
            vocab_size, d_model, loss_sparsity_type, loss_sparsity, loss_d_lowrank,
            loss_sparsity_prob, mode,
        ),
    )  # fmt: skip


@takes_mode
def ConfigurableTransformer(
    input_vocab_size: int,
    output_vocab_size: int | None = None,
    d_model: int = 512,
    d_ff: int = 2048,
    n_encoder_layers: int = 6,
    n_decoder_layers: int = 6,
    n_heads: int = 8,
    max_len: int = 2048,
    dropout: float = 0.1,
    dropout_shared_axes: Sequence[int] | None = None,
    mode: str = "train",
    ff_activation: Callable[[], Layer] = Relu,
    ff_dropout: float | None = 0.1,
    ff_chunk_size: int = 0,
    ff_use_sru: int | Sequence[int] = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    ff_sparsity_type: str = "1inN",
    loss_sparsity_type: str = "mult",
    loss_sparsity: int = 0,
    loss_d_lowrank: int = 0,
    loss_sparsity_prob: float | None = None,
    attention_chunk_size: int = 0,
    encoder_attention_type: Callable[..., Layer] = tl.Attention,
    encoder_decoder_attention_type: Callable[..., Layer] = tl.CausalAttention,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
    enc_dec_attention_sparsity: int | Sequence[int | str | None] = 0,
) -> Layer:
    """A sequence-to-sequence model: an encoder, and a decoder that attends to it.

    Mode "predict" takes the targets in pieces, and runs the encoder at the first call only; the
    other modes shift the targets to the right. In "predict", layers that run once are wrapped in
    `Cache`, so weights are nested differently; their flat lists are equal.

    Args:
      input_vocab_size: the number of source tokens, padding included.
      output_vocab_size: the number of target tokens; None if both vocabularies are the same; they
        then share their vectors.
      d_model, d_ff, n_heads, dropout, dropout_shared_axes, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size: as for
        `ConfigurableTransformerEncoder`.
      n_encoder_layers, n_decoder_layers: the numbers of blocks.
      max_len: the longest sequence, also in mode "predict".
      mode: "train", "eval" or "predict".
      loss_sparsity_type, loss_sparsity, loss_d_lowrank, loss_sparsity_prob: as for
        `ConfigurableTransformerLM`.
      encoder_attention_type: the attention_type of `ConfigurableTransformerEncoder`.
      encoder_decoder_attention_type: the attention_type of `ConfigurableTransformerLM`, for the
        attention of targets to earlier targets.
      pos_type, pos_axial_shape, pos_d_axial_embs: how positions are encoded; as for
        `PositionalEncoder`.
      enc_dec_attention_sparsity: the layers for queries and for results in the attention of targets
        to the source, (q_sparsity, result_sparsity) of `AttentionQKV`; a number of modules n for
        (n, "noop"); 0 for `Dense` layers.
    Returns: a layer from (source tokens [batch, length], target tokens [batch, target length]) to
      (logits [batch, target length, output_vocab_size], the same target tokens).
    Raises: TypeError, ValueError: as for `ConfigurableTransformerEncoder`.
    Example:
      >>> model = ConfigurableTransformer(9, d_model=4, d_ff=8, n_encoder_layers=1,
      ...                                 n_decoder_layers=1, n_heads=2, loss_sparsity=3,
      ...                                 mode="eval")
      >>> source, target = np.array([[5, 2, 0]]), np.array([[3, 1]])
      >>> _ = model.init((source, target))
      >>> [y.shape for y in model((source, target))]
      [(1, 2, 9), (1, 2)]
    Source: Vaswani et al. (2017), arXiv:1706.03762; sparsity: arXiv:2111.12763; Trax's module
      `models.research.configurable_transformer`.
    """
    name = "ConfigurableTransformer"
    option_checks.choice(name, "mode", mode, MODES)
    checked_sizes(name, dropout, input_vocab_size=input_vocab_size, max_len=max_len)
    option_checks.divided(name, "d_model", d_model, "n_heads", n_heads)
    sources, targets, output_vocab_size = EmbeddingAndPositionalEncodings(
        input_vocab_size, d_model, mode, dropout, dropout_shared_axes, max_len, output_vocab_size,
        pos_type, pos_axial_shape, pos_d_axial_embs,
    )  # fmt: skip
    if mode == "predict":
        encoder_decoder_attention_type = remembering(
            name, "encoder_decoder_attention_type", encoder_decoder_attention_type, max_len
        )
    options = (
        d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
    )  # fmt: skip
    encoder_block = partial(EncoderBlock, *options, encoder_attention_type)
    decoder_block = partial(
        EncoderDecoderBlock, *options, encoder_decoder_attention_type, enc_dec_attention_sparsity
    )
    last = tl.SparseDenseWithOptions(
        output_vocab_size, d_model, loss_sparsity_type, loss_sparsity, loss_d_lowrank,
        loss_sparsity_prob, mode,
    )  # fmt: skip
    return _with_encoder(
        [*sources, _repeated(name, "n_encoder_layers", n_encoder_layers, encoder_block)],
        [*targets, tl.Branch([], tl.EncoderDecoderMask())],
        _repeated(name, "n_decoder_layers", n_decoder_layers, decoder_block),
        last,
        mode,
    )


def _repeated(
    name: str, option: str, number: int, block: Callable[[], list[Layer]]
) -> list[list[Layer]]:
    """A number of blocks, none or more."""
    return [block() for _ in range(option_checks.whole_number(name, option, number, least=0))]


def _with_encoder(
    encoder: list[Any], targets: list[Layer], blocks: list[list[Layer]], last: Layer, mode: str
) -> Layer:
    """The layers of an encoder and a decoder; in mode "predict" the encoder runs once."""
    encoded: Layer = tl.Serial(encoder, tl.LayerNorm())
    return tl.Serial(
        tl.Select([0, 1, 1]),
        tl.Branch([], tl.PaddingMask()),
        tl.Cache(encoded) if mode == "predict" else encoded,
        tl.Select([2, 1, 0]),
        tl.ShiftRight(mode=mode),
        targets,
        blocks,
        tl.LayerNorm(),
        tl.Select([0], n_in=3),
        last,
    )
