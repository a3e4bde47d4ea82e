"""Reformer: an encoder and a decoder of reversible blocks."""

from collections.abc import Callable, Sequence
from typing import Any

from ... import layers as tl, option_checks
from ...layers.activation_fns import Relu
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...option_checks import checked_rate
from ..research.transformer_parts import EmbeddingAndPositionalEncodings
from .blocks import DecoderBlock, EncoderBlock, EncoderDecoderBlock
from .language_models import ReformerLM, ReformerShortenLM

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "EncoderDecoderBlock",
    "Reformer",
    "ReformerLM",
    "ReformerShortenLM",
]


@takes_mode
def Reformer(
    input_vocab_size: int,
    output_vocab_size: int | None = None,
    d_model: int = 512,
    d_ff: int = 2048,
    n_encoder_layers: int = 6,
    n_decoder_layers: int = 6,
    n_heads: int = 8,
    dropout: float = 0.1,
    max_len: int = 2048,
    ff_activation: Callable[[], Layer] = Relu,
    ff_dropout: float | None = None,
    mode: str = "train",
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
) -> Layer:
    """An encoder and a decoder that attends to it, both of reversible blocks.

    Mode "predict" takes the targets in pieces, and runs the encoder at the first call only; the
    other modes shift the targets to the right. In "predict", layers that run once are wrapped in
    `Cache`, so weights are nested differently; their flat lists are equal.

    Args:
      input_vocab_size: the number of source tokens, padding included.
      output_vocab_size: the number of target tokens; None if both vocabularies are the same; they
        then share their vectors.
      d_model: features of a vector, in each of the two streams.
      d_ff: units of the hidden layer of each block.
      n_encoder_layers, n_decoder_layers: the numbers of blocks.
      n_heads: the number of heads; divides d_model.
      dropout: the rate of all dropout layers, in mode "train".
      max_len: the longest sequence, also in mode "predict".
      ff_activation, ff_dropout, ff_use_sru, ff_chunk_size, ff_sparsity: as for
        `FeedForwardWithOptions`.
      mode: "train", "eval" or "predict".
      pos_type, pos_axial_shape, pos_d_axial_embs: how positions are encoded; as for
        `PositionalEncoder`.
    Returns: a layer from (source tokens [batch, length], target tokens [batch, target length]) to
      (logits [batch, target length, output_vocab_size], the same target tokens).
    Raises: TypeError, ValueError: an option is invalid, or d_model is not a multiple of n_heads.
    Example:
      >>> model = Reformer(9, d_model=4, d_ff=8, n_encoder_layers=1, n_decoder_layers=1,
      ...                  n_heads=2, mode="eval")
      >>> source, target = np.array([[5, 2, 0]]), np.array([[3, 1]])
      >>> _ = model.init((source, target))
      >>> [y.shape for y in model((source, target))]
      [(1, 2, 9), (1, 2)]
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax documentation,
      `models.Reformer`.
    """
    name = "Reformer"
    option_checks.choice(name, "mode", mode, ("train", "eval", "predict"))
    rate = checked_rate(name, dropout)
    option_checks.whole_number(name, "input_vocab_size", input_vocab_size)
    n_encoder_layers = option_checks.whole_number(name, "n_encoder_layers", n_encoder_layers)
    n_decoder_layers = option_checks.whole_number(name, "n_decoder_layers", n_decoder_layers)
    sources, targets, output_vocab_size = EmbeddingAndPositionalEncodings(
        input_vocab_size, d_model, mode, rate, [-2], max_len, output_vocab_size,
        pos_type, pos_axial_shape, pos_d_axial_embs,
    )  # fmt: skip
    sizes = (d_model, d_ff, n_heads)
    half: dict[str, Any] = {
        "ff_activation": ff_activation, "ff_dropout": ff_dropout, "ff_use_sru": ff_use_sru,
        "ff_chunk_size": ff_chunk_size, "ff_sparsity": ff_sparsity, "mode": mode,
    }  # fmt: skip
    encoder_blocks = [
        EncoderBlock(*sizes, tl.SelfAttention, rate, **half) for _ in range(n_encoder_layers)
    ]
    decoder_blocks = [
        EncoderDecoderBlock(*sizes, rate, max_len=max_len, **half) for _ in range(n_decoder_layers)
    ]
    encoder: Layer = tl.Serial(
        sources, tl.Dup(), tl.ReversibleSerial(encoder_blocks), _mean_of_streams(), tl.LayerNorm()
    )
    return tl.Serial(
        tl.Select([0, 1, 1]),
        tl.Branch([], tl.Fn("IsToken", lambda tokens: tokens != 0)),
        tl.Cache(encoder) if mode == "predict" else encoder,
        tl.Select([2, 0, 1]),
        tl.ShiftRight(mode=mode),
        targets,
        tl.Dup(),
        tl.ReversibleSerial(decoder_blocks),
        _mean_of_streams(),
        tl.LayerNorm(),
        tl.Select([0], n_in=3),
        tl.Dense(output_vocab_size),
    )


def _mean_of_streams() -> Layer:
    return tl.Fn("MeanOfStreams", lambda x, y: (x + y) / 2)
