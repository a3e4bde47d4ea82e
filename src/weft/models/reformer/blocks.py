"""The blocks of Reformers: DecoderBlock, EncoderBlock and EncoderDecoderBlock."""

from collections.abc import Callable, Sequence
from typing import Any

from ... import layers as tl
from ...layers.base import Layer
from ...option_checks import checked_mode, checked_rate, divided
from ..research.transformer_parts import ApplyAttentionLayer, FeedForwardWithOptions

__all__ = ["DecoderBlock", "EncoderBlock", "EncoderDecoderBlock"]


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
    ff_sparsity: int | str | Sequence[float],
    attention_chunk_size: int,
    n_attention_layers: int = 1,
    n_feedforward_layers: int = 1,
    center_layernorm: bool = True,
    use_bfloat16: bool = False,
    mode: str = "train",
) -> list[Layer]:
    """The reversible layers of a block: causal attention and a feed-forward part.

    Args:
      d_model: features of a vector.
      d_ff: units of the feed-forward half's hidden layer.
      d_attention_key: depth of queries and keys, for each head.
      d_attention_value: depth of values, for each head.
      n_heads: number of heads.
      attention_type: makes a layer of causal attention; see `ReformerLM`.
      dropout: rate at which outputs, and attention weights, become zero in mode "train".
      ff_activation, ff_dropout, ff_use_sru, ff_chunk_size, ff_sparsity: as for
        `FeedForwardWithOptions`.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      n_attention_layers: the number of successive attention layers.
      n_feedforward_layers: the number of feed-forward halves after them.
      center_layernorm: whether normalizations subtract the mean and add a bias.
      use_bfloat16: whether weights of the feed-forward half are bfloat16.
      mode: "train", "eval" or "predict".
    Returns: a list of layers from two streams, each floats [batch, length, d_model], to two.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = DecoderBlock(
      ...     8, 32, 4, 4, 2, tl.SelfAttention, 0.1, tl.Relu, 0.1, 0, 0, 0, 0, mode="eval"
      ... )
      >>> model = tl.ReversibleSerial(block)
      >>> x = np.ones((1, 4, 8))
      >>> _ = model.init((x, x))
      >>> [y.shape for y in model((x, x))]
      [(1, 4, 8), (1, 4, 8)]
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax's module `models.reformer`.
    """
    halves = []
    for _ in range(n_attention_layers):
        attention = ApplyAttentionLayer(
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
        halves.append(_attention_half(attention, center_layernorm))
    for _ in range(n_feedforward_layers):
        feed_forward = FeedForwardWithOptions(
            d_model, d_ff, dropout, [-2], ff_activation, ff_dropout, ff_chunk_size, ff_use_sru,
            ff_sparsity, center_layernorm, mode, use_bfloat16,
        )  # fmt: skip
        halves.append(tl.ReversibleHalfResidual(*feed_forward))
    return [layer for half in halves for layer in (half, tl.ReversibleSwap())]


def EncoderBlock(
    d_model: int,
    d_ff: int,
    n_heads: int,
    attention_type: Callable[..., Layer],
    dropout: float,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    attention_chunk_size: int = 0,
    center_layernorm: bool = True,
    use_bfloat16: bool = False,
    use_two_swaps_per_block: bool = True,
    mode: str = "train",
) -> list[Layer]:
    """The reversible layers of a block: bidirectional attention and a feed-forward part.

    Args:
      d_model: features of a vector; queries, keys and values of a head have d_model / n_heads.
      d_ff: units of the feed-forward half's hidden layer.
      n_heads: number of heads; divides d_model.
      attention_type: makes a layer of attention with a mask: `SelfAttention`, `LSHSelfAttention`,
        `Attention`, or a `functools.partial` of one.
      dropout: rate at which outputs, and attention weights, become zero in mode "train".
      ff_activation, ff_dropout, ff_use_sru, ff_chunk_size, ff_sparsity: as for
        `FeedForwardWithOptions`.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      center_layernorm: whether normalizations subtract the mean and add a bias.
      use_bfloat16: whether weights of the feed-forward half are bfloat16.
      use_two_swaps_per_block: whether the streams swap after the feed-forward half too.
      mode: "train" or "eval"; "predict" is the same as "eval", because an encoder sees the whole
        sequence.
    Returns: a list of layers from two streams, each floats [batch, length, d_model], and a mask, a
      bool array [batch, length], False at padding, to the same.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = EncoderBlock(8, 32, 2, tl.SelfAttention, 0.1, tl.Relu, 0.1, mode="eval")
      >>> len(block), type(block[0]).__name__
      (4, 'ReversibleHalfResidual')
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax's module `models.reformer`.
    """
    depth = divided("EncoderBlock", "d_model", d_model, "n_heads", n_heads)
    mode = "eval" if checked_mode("EncoderBlock", mode) == "predict" else mode
    attention = ApplyAttentionLayer(
        attention_type,
        d_model,
        n_heads,
        depth,
        depth,
        causal=False,
        masked=True,
        attention_dropout=dropout,
        output_dropout=dropout,
        attention_chunk_size=attention_chunk_size,
        mode=mode,
    )
    feed_forward = FeedForwardWithOptions(
        d_model, d_ff, dropout, [-2], ff_activation, ff_dropout, ff_chunk_size, ff_use_sru,
        ff_sparsity, center_layernorm, mode, use_bfloat16,
    )  # fmt: skip
    halves = [
        _attention_half(_of_flat_mask(attention), center_layernorm),
        tl.ReversibleSwap(),
        tl.ReversibleHalfResidual(*feed_forward),
    ]
    return [*halves, tl.ReversibleSwap()] if use_two_swaps_per_block else halves


def EncoderDecoderBlock(
    d_model: int,
    d_ff: int,
    n_heads: int,
    dropout: float,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    mode: str,
    ff_use_sru: int | Sequence[int] = 0,
    ff_chunk_size: int = 0,
    ff_sparsity: int | str | Sequence[float] = 0,
    max_len: int = 2048,
) -> list[Layer]:
    """The reversible layers of a block: causal attention, attention to an encoder, feed-forward.

    Args:
      d_model: features of a vector; queries, keys and values of a head have d_model / n_heads.
      d_ff: units of the feed-forward half's hidden layer.
      n_heads: number of heads; divides d_model.
      dropout: rate at which outputs, and attention weights, become zero in mode "train".
      ff_activation: makes the activation of the feed-forward half.
      ff_dropout: as for `FeedForwardWithOptions`.
      mode: "train", "eval" or "predict".
      ff_use_sru, ff_chunk_size, ff_sparsity: as for `FeedForwardWithOptions`.
      max_len: the number of positions that mode "predict" remembers.
    Returns: a list of layers from two streams, each floats [batch, length, d_model], the encoder's
      output, floats [batch, other length, any], and its mask, a bool array
      [batch, other length], False at padding, to the same.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = EncoderDecoderBlock(8, 32, 2, 0.1, tl.Relu, 0.1, "eval")
      >>> len(block), type(block[0]).__name__
      (6, 'ReversibleHalfResidual')
    Source: Kitaev, Kaiser, Levskaya (2020), arXiv:2001.04451; Trax's module `models.reformer`.
    """
    name = "EncoderDecoderBlock"
    depth = divided(name, "d_model", d_model, "n_heads", n_heads)
    rate = checked_rate(name, dropout)
    attention: dict[str, Any] = {"n_heads": n_heads, "d_qk": depth, "d_v": depth, "mode": mode}
    attention |= {"attention_dropout": rate, "output_dropout": rate}
    memory: dict[str, Any] = {"predict_mem_len": max_len, "predict_drop_len": max_len}
    feed_forward = FeedForwardWithOptions(
        d_model, d_ff, rate, [-2], ff_activation, ff_dropout, ff_chunk_size, ff_use_sru,
        ff_sparsity, True, mode,
    )  # fmt: skip
    halves = [
        _attention_half(tl.SelfAttention(causal=True, **memory, **attention)),
        _attention_half(tl.EncDecAttention(**attention)),
        tl.ReversibleHalfResidual(*feed_forward),
    ]
    return [layer for half in halves for layer in (half, tl.ReversibleSwap())]


def _attention_half(attention: Layer, center: bool = True) -> Layer:
    return tl.ReversibleHalfResidual(tl.LayerNorm(center=center), attention_layer=attention)


def _of_flat_mask(attention: Layer) -> Layer:
    """Attention with a mask [batch, length], which is not among the outputs."""
    if attention.n_out == 1:
        return attention
    with_axes = tl.Fn("MaskOfQueries", lambda x, mask: (x, mask[:, None, None, :]), n_out=2)
    return tl.Serial(with_axes, attention, tl.Select([0], n_in=2))
