"""ConfigurableTerraformer: a decoder of reversible blocks over an encoder's vectors and its own.

There is no attention between decoder and encoder: `joined_streams.py` places the vectors of a
target after the vectors of its source, and causal blocks run over both.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import layers as tl, option_checks
from ...fastmath import numpy as jnp
from ...layers.activation_fns import Relu
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...layers.reversible import ReversibleConcatenatePair, ReversibleSelect
from ..reformer.blocks import DecoderBlock, EncoderBlock
from .joined_streams import Continuation, JoinedStreams, StripFromConcatenateWithPadding
from .transformer_parts import (
    EmbeddingAndPositionalEncodings,
    attention_in_turn,
    checked_sizes,
    remembering,
)

__all__ = ["ConfigurableTerraformer"]

NAME = "ConfigurableTerraformer"


@takes_mode
def ConfigurableTerraformer(
    input_vocab_size: int | None,
    output_vocab_size: int | None = None,
    d_model: int = 512,
    d_ff: int = 2048,
    d_attention_key: int | None = None,
    d_attention_value: int | None = None,
    n_encoder_layers: int = 6,
    n_decoder_layers: int = 6,
    n_heads: int = 8,
    dropout: float = 0.1,
    max_len: int = 2048,
    encoder_attention_type: Any = tl.SelfAttention,
    encoder_decoder_attention_type: Any = tl.SelfAttention,
    pos_type: str | None = "fixed-base",
    pos_axial_shape: Sequence[int] | None = (),
    pos_d_axial_embs: Sequence[int] | None = None,
    pos_start_from_zero_prob: float = 1.0,
    pos_max_offset_to_add: int = 0,
    ff_activation: Callable[[], Layer] = Relu,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_dropout: float | None = None,
    ff_sparsity: int | str | Sequence[float] = 0,
    loss_sparsity_type: str = "mult",
    loss_sparsity: int = 0,
    loss_d_lowrank: int = 0,
    loss_sparsity_prob: float | None = None,
    attention_chunk_size: int = 0,
    n_layers_forget: int = 0,
    forget_dense: bool = True,
    n_decoder_attention_layers: int = 2,
    use_bfloat16: bool = False,
    reversible_encoder: bool = False,
    use_two_swaps_per_encoder_block: bool = True,
    center_layernorm: bool = True,
    half_before_layer: int | None = None,
    double_after_layer: int | None = None,
    mode: str = "train",
) -> Layer:
    """A sequence-to-sequence model of reversible blocks, without attention to an encoder.

    The encoder's vectors of a source and the vectors of its target form one sequence, over which
    the causal blocks of the decoder run. The source's padding is left out, wherever it is.

    Mode "predict" takes the targets in pieces; the other modes shift them to the right. Its first
    call runs the encoder, and then the decoder over the source, one position after the other; later
    calls take the target only. In "predict", weights are nested differently; their flat lists are
    equal.

    Args:
      input_vocab_size: the number of source tokens, padding included; None for a source of vectors.
      output_vocab_size: the number of target tokens; None if both vocabularies are the same; they
        then share their vectors.
      d_model: features of a vector, in each of the two streams; a multiple of 2 n_heads.
      d_ff: units of the hidden layer of each block.
      d_attention_key, d_attention_value: depth of queries and keys, and of values, for each head of
        the decoder; d_model / n_heads by default.
      n_encoder_layers, n_decoder_layers: the numbers of blocks.
      n_heads: the number of attention heads.
      dropout: the rate of all dropout layers, in mode "train".
      max_len: the longest source, and the longest target.
      encoder_attention_type: makes the layers of attention with a mask: `SelfAttention`,
        `Attention`, `LSHSelfAttention`, or a `functools.partial` of one; or a list of them, which
        the blocks use in turn; its length divides the number of blocks.
      encoder_decoder_attention_type: the same for the causal attention of the decoder, over source
        and target; `CausalAttention` is possible too.
      pos_type, pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob, pos_max_offset_to_add:
        how positions are encoded, in source and target each; as for `PositionalEncoder`.
      ff_activation, ff_use_sru, ff_chunk_size, ff_dropout, ff_sparsity: as for
        `FeedForwardWithOptions`.
      loss_sparsity_type, loss_sparsity, loss_d_lowrank, loss_sparsity_prob: sparsity_type,
        sparsity, d_lowrank and prob_sparse of the last layer, a `SparseDenseWithOptions`; `Dense`
        by default.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      n_layers_forget: the number of decoder blocks after which the streams are averaged, so that
        the backward pass through later blocks does not recompute the blocks before; 0 for none.
      forget_dense: whether a `Dense` layer follows the average; if False, the streams pass
        unchanged and only the chain of reversible layers is divided.
      n_decoder_attention_layers: the number of attention layers in each decoder block.
      use_bfloat16: whether the weights of embeddings and `Dense` layers outside attention are
        bfloat16.
      reversible_encoder: whether both streams of the encoder go to the decoder; if False, their
        mean does, after `Dense` and `LayerNorm`.
      use_two_swaps_per_encoder_block: whether the streams also swap after the feed-forward halves
        of the encoder.
      center_layernorm: whether normalizations of the blocks subtract the mean and add a bias.
      half_before_layer: the number of first decoder blocks that, like the encoder, have vectors of
        half the size; then the streams are concatenated. None for no such blocks.
      double_after_layer: the index of the decoder block after which the streams are concatenated,
        so that later blocks have vectors of twice the size. None for no such blocks.
      mode: "train", "eval" or "predict".
    Returns: a layer from (source tokens [batch, length], target tokens [batch, target length]), or
      (source vectors [batch, length, any], mask [batch, length], target tokens) if input_vocab_size
      is None, to (logits [batch, target length, output_vocab_size], the same target tokens).
    Raises: TypeError, ValueError: an option is invalid, or options contradict each other.
    Example:
      >>> model = ConfigurableTerraformer(9, d_model=8, d_ff=8, n_encoder_layers=1,
      ...                                 n_decoder_layers=1, n_heads=2, mode="eval")
      >>> source, target = np.array([[5, 2, 0]]), np.array([[3, 1]])
      >>> _ = model.init((source, target))
      >>> [y.shape for y in model((source, target))]
      [(1, 2, 9), (1, 2)]
    Source: Jaszczur et al. (2021), arXiv:2111.12763; Trax's module `models.research.terraformer`.
    """
    option_checks.choice(NAME, "mode", mode, ("train", "eval", "predict"))
    checked_sizes(NAME, dropout, max_len=max_len)
    widths = _widths(n_decoder_layers, half_before_layer, double_after_layer)
    sizes = _sizes(
        n_heads, bool(half_before_layer), d_model, d_ff, d_attention_key, d_attention_value
    )
    d_model = sizes["d_model"]
    sources, targets, output_vocab_size = EmbeddingAndPositionalEncodings(
        input_vocab_size, d_model, mode, dropout, [-2], max_len, output_vocab_size, pos_type,
        pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob, pos_max_offset_to_add,
        use_bfloat16,
    )  # fmt: skip
    options: dict[str, Any] = {
        "n_heads": n_heads, "dropout": dropout, "ff_activation": ff_activation,
        "ff_dropout": ff_dropout, "ff_use_sru": ff_use_sru, "ff_chunk_size": ff_chunk_size,
        "ff_sparsity": ff_sparsity, "attention_chunk_size": attention_chunk_size,
        "center_layernorm": center_layernorm, "use_bfloat16": use_bfloat16, "mode": mode,
    }  # fmt: skip
    dense = partial(tl.Dense, use_bfloat16=use_bfloat16)
    encoder_block = partial(
        EncoderBlock, d_model, sizes["d_ff"],
        use_two_swaps_per_block=use_two_swaps_per_encoder_block, **options,
    )  # fmt: skip
    encoder = _encoder(encoder_attention_type, n_encoder_layers, encoder_block)
    if not reversible_encoder:
        encoder += [_mean_of_streams(), dense(d_model), tl.LayerNorm()]
    decoder_block = partial(DecoderBlock, n_attention_layers=n_decoder_attention_layers, **options)
    memory = 2 * max_len if mode == "predict" else None
    blocks = _decoder_blocks(encoder_decoder_attention_type, sizes, widths, decoder_block, memory)
    forgetting = partial(_forgetting, d_model, forget_dense, dense)
    decoder = _chain(blocks, widths, n_layers_forget, forgetting)

    def once(layers: list[Layer]) -> Layer:
        return tl.Cache(tl.Serial(layers)) if mode == "predict" else tl.Serial(layers)

    is_token = tl.Fn("IsToken", lambda tokens: jnp.not_equal(tokens, 0))
    return tl.Serial(
        tl.Select([0, 1, 2, 2] if input_vocab_size is None else [0, 0, 1, 1]),
        tl.Parallel(once(sources), is_token, tl.Serial(tl.ShiftRight(mode=mode), targets)),
        once(encoder),
        ReversibleSelect([0, 1, 2, 3, 3] if reversible_encoder else [0, 0, 1, 2, 2]),
        Continuation(decoder) if mode == "predict" else [JoinedStreams(), decoder],
        _mean_of_streams(),
        tl.LayerNorm(),
        [] if mode == "predict" else StripFromConcatenateWithPadding(),
        tl.SparseDenseWithOptions(
            output_vocab_size, d_model * widths[-1], loss_sparsity_type, loss_sparsity,
            loss_d_lowrank, loss_sparsity_prob, mode, True, use_bfloat16,
        ),
    )  # fmt: skip


def _sizes(
    n_heads: int,
    is_half: bool,
    d_model: int,
    d_ff: int,
    d_attention_key: int | None,
    d_attention_value: int | None,
) -> dict[str, int]:
    """The sizes of the first decoder block, by the option of `DecoderBlock`."""
    n_heads = option_checks.whole_number(NAME, "n_heads", n_heads)
    option_checks.divided(NAME, "d_model", d_model, "2 n_heads", 2 * n_heads)
    depth = d_model // n_heads
    sizes = {
        "d_model": d_model,
        "d_ff": d_ff,
        "d_attention_key": depth if d_attention_key is None else d_attention_key,
        "d_attention_value": depth if d_attention_value is None else d_attention_value,
    }
    if not is_half:
        return {k: option_checks.whole_number(NAME, k, size) for k, size in sizes.items()}
    reason = "2 (half_before_layer)"
    return {k: option_checks.divided(NAME, k, size, reason, 2) for k, size in sizes.items()}


def _encoder(attention_type: Any, n_layers: int, block: Callable[..., list[Layer]]) -> list[Layer]:
    """Layers from vectors and their mask to two streams and the mask."""
    kinds = attention_in_turn(
        NAME, "encoder_attention_type", attention_type, n_layers, "n_encoder_layers", 0
    )
    blocks = [block(attention_type=_with_mask(kind)) for kind in kinds]
    return [tl.Dup(), tl.ReversibleSerial(blocks)]


def _decoder_blocks(
    attention_type: Any,
    sizes: dict[str, int],
    widths: list[int],
    block: Callable[..., list[Layer]],
    memory: int | None,
) -> list[list[Layer]]:
    """The decoder's blocks; `memory` is the number of positions to remember in decoding."""
    option = "encoder_decoder_attention_type"
    n_layers = len(widths) - 1
    kinds = attention_in_turn(NAME, option, attention_type, n_layers, "n_decoder_layers", 0)
    blocks = []
    for kind, width, next_width in zip(kinds, widths[:-1], widths[1:], strict=True):
        if memory is not None:
            kind = remembering(NAME, option, kind, memory)
        scaled = {name: size * width for name, size in sizes.items()}
        pair = [ReversibleConcatenatePair()] if next_width > width else []
        blocks.append([*block(attention_type=kind, **scaled), *pair])
    return blocks


def _widths(
    n_layers: int, half_before_layer: int | None, double_after_layer: int | None
) -> list[int]:
    """The size of vectors before each decoder block, and after the last, relative to the first."""
    n_layers = option_checks.whole_number(NAME, "n_decoder_layers", n_layers, least=0)
    borders = []
    for option, value, more in (
        ("half_before_layer", half_before_layer, 0),
        ("double_after_layer", double_after_layer, 1),
    ):
        if value:
            borders.append(option_checks.whole_number(NAME, option, value) + more)
            if borders[-1] > n_layers:
                expected = f"one of the {n_layers} decoder blocks (n_decoder_layers)"
                raise option_checks.wrong_value(NAME, option, expected, value)
    return [2 ** sum(i >= border for border in borders) for i in range(n_layers + 1)]


def _with_mask(attention_type: Callable[..., Layer]) -> Callable[..., Layer]:
    """Attention for an encoder. A kind without a mask, `CausalAttention`, gets none: real vectors
    do not see padding at the end of the sequence."""
    option_checks.function(NAME, "encoder_attention_type", attention_type, "that makes a layer")
    if "d_qk" in inspect.signature(attention_type).parameters:
        return attention_type

    def made(d_model: int, **options: Any) -> Layer:
        layer = attention_type(d_model, **options)
        return layer if layer.n_in == 2 else tl.Serial(tl.Select([0], n_in=2), layer)

    return made


def _chain(
    blocks: list[list[Layer]],
    widths: list[int],
    n_layers_forget: int,
    forgetting: Callable[[int], list[Layer]],
) -> Layer:
    """Reversible blocks, which are divided after every `n_layers_forget` of them."""
    n = option_checks.whole_number(NAME, "n_layers_forget", n_layers_forget, least=0)
    parts: list[Any] = []
    start = 0
    while n and len(blocks) - start > n + 1:
        start += n
        parts += [tl.ReversibleSerial(blocks[start - n : start]), *forgetting(widths[start])]
    return tl.Serial(parts, tl.ReversibleSerial(blocks[start:]))


def _forgetting(
    d_model: int, forget_dense: bool, dense: Callable[[int], Layer], width: int
) -> list[Layer]:
    """Layers of two streams that end a chain of reversible layers."""
    if not option_checks.flag(NAME, "forget_dense", forget_dense):
        return [tl.Select([0, 1])]
    return [_mean_of_streams(), dense(d_model * width), tl.Dup()]


def _mean_of_streams() -> Layer:
    return tl.Fn("MeanOfStreams", lambda x, y: (x + y) / 2)
