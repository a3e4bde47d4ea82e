"""The blocks of Transformers with options: EncoderBlock, DecoderBlock and EncoderDecoderBlock."""

from collections.abc import Callable, Sequence

from ... import layers as tl
from ...layers.base import Layer
from ...option_checks import divided, whole_number, wrong_value
from .transformer_parts import ApplyAttentionLayer, FeedForwardWithOptions

__all__ = ["DecoderBlock", "EncoderBlock", "EncoderDecoderBlock"]


def EncoderBlock(
    d_model: int,
    d_ff: int,
    n_heads: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_chunk_size: int,
    ff_use_sru: int | Sequence[int],
    ff_sparsity: int | str | Sequence[float],
    ff_sparsity_type: str,
    attention_chunk_size: int,
    attention_type: Callable[..., Layer],
    n_attention_layers: int = 1,
    n_feedforward_layers: int = 1,
) -> list[Layer]:
    """The layers of a block: attention to all unmasked positions, then a feed-forward part.

    Args:
      d_model: features of a vector; queries, keys and values of a head have d_model / n_heads.
      d_ff: units of the hidden layer of the feed-forward part.
      n_heads: the number of attention heads; divides d_model.
      dropout: rate at which outputs, and attention weights, become zero in mode "train".
      dropout_shared_axes: axes along which outputs are dropped together.
      mode: "train" or "eval"; "predict" is the same as "eval", because an encoder sees the whole
        sequence.
      ff_activation, ff_dropout, ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type: as for
        `FeedForwardWithOptions`.
      attention_chunk_size: as for `ApplyAttentionLayer`.
      attention_type: makes a layer of attention with a mask: `Attention`, `SelfAttention`, or a
        `functools.partial` of one.
      n_attention_layers: the number of successive attention layers.
      n_feedforward_layers: the number of feed-forward parts after them.
    Returns: a list of layers from (floats [batch, length, d_model], mask [batch, 1, 1, length]) to
      the same.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = EncoderBlock(
      ...     8, 32, 2, 0.1, None, "eval", tl.Relu, 0.1, 0, 0, 0, "1inN", 0, tl.Attention
      ... )
      >>> layer = tl.Serial(block)
      >>> x, mask = np.ones((1, 4, 8)), np.ones((1, 1, 1, 4), bool)
      >>> _ = layer.init((x, mask))
      >>> [y.shape for y in layer((x, mask))]
      [(1, 4, 8), (1, 1, 1, 4)]
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax's module
      `models.research.configurable_transformer`.
    """
    return _halves(
        "EncoderBlock", False, d_model, d_ff, n_heads, dropout, dropout_shared_axes,
        "eval" if mode == "predict" else mode, ff_activation, ff_dropout, ff_chunk_size, ff_use_sru,
        ff_sparsity, ff_sparsity_type, attention_chunk_size, attention_type, n_attention_layers,
        n_feedforward_layers,
    )  # fmt: skip


def DecoderBlock(
    d_model: int,
    d_ff: int,
    n_heads: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_chunk_size: int,
    ff_use_sru: int | Sequence[int],
    ff_sparsity: int | str | Sequence[float],
    ff_sparsity_type: str,
    attention_chunk_size: int,
    attention_type: Callable[..., Layer],
    n_attention_layers: int = 1,
    n_feedforward_layers: int = 1,
) -> list[Layer]:
    """The layers of a block: attention to earlier positions, then a feed-forward part.

    Args:
      d_model, d_ff, n_heads, dropout, dropout_shared_axes, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
        n_attention_layers, n_feedforward_layers: as for `EncoderBlock`.
      mode: "train", "eval" or "predict".
      attention_type: makes a layer of causal attention: `CausalAttention`, `SelfAttention`,
        `LSHSelfAttention`, or a `functools.partial` of one.
    Returns: a list of layers from floats [batch, length, d_model] to the same shape.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = DecoderBlock(
      ...     8, 32, 2, 0.1, None, "eval", tl.Relu, 0.1, 0, 0, 0, "1inN", 0, tl.CausalAttention
      ... )
      >>> layer = tl.Serial(block)
      >>> _ = layer.init(np.ones((1, 4, 8)))
      >>> layer(np.ones((1, 4, 8))).shape
      (1, 4, 8)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax's module
      `models.research.configurable_transformer`.
    """
    return _halves(
        "DecoderBlock", True, d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode,
        ff_activation, ff_dropout, ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type,
        attention_chunk_size, attention_type, n_attention_layers, n_feedforward_layers,
    )  # fmt: skip


def EncoderDecoderBlock(
    d_model: int,
    d_ff: int,
    n_heads: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_chunk_size: int,
    ff_use_sru: int | Sequence[int],
    ff_sparsity: int | str | Sequence[float],
    ff_sparsity_type: str,
    attention_chunk_size: int,
    attention_type: Callable[..., Layer],
    enc_dec_attention_sparsity: int | Sequence[int | str | None] = 0,
) -> list[Layer]:
    """The layers of a block: causal attention, attention to an encoder, a feed-forward part.

    Args:
      d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
        attention_type: as for `DecoderBlock`.
      enc_dec_attention_sparsity: the layers for queries and for results in the attention to the
        encoder, (q_sparsity, result_sparsity) of `AttentionQKV`; a number of modules n for
        (n, "noop"); 0 for `Dense` layers.
    Returns: a list of layers from (floats [batch, length, d_model], mask, the encoder's output,
      floats [batch, other length, d_model]) to the same.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> block = EncoderDecoderBlock(
      ...     8, 32, 2, 0.1, None, "eval", tl.Relu, 0.1, 0, 0, 0, "1inN", 0, tl.CausalAttention
      ... )
      >>> layer = tl.Serial(block)
      >>> inputs = np.ones((1, 3, 8)), np.ones((1, 1, 3, 4), bool), np.ones((1, 4, 8))
      >>> _ = layer.init(inputs)
      >>> [y.shape for y in layer(inputs)]
      [(1, 3, 8), (1, 1, 3, 4), (1, 4, 8)]
    Source: Vaswani et al. (2017), arXiv:1706.03762; sparsity: arXiv:2111.12763; Trax's module
      `models.research.configurable_transformer`.
    """
    q_sparsity, result_sparsity = _sparsities(enc_dec_attention_sparsity)
    to_encoder = tl.AttentionQKV(
        d_model,
        n_heads=n_heads,
        dropout=dropout,
        mode=mode,
        cache_KV_in_predict=True,
        q_sparsity=q_sparsity,
        result_sparsity=result_sparsity,
    )
    causal, feed_forward = DecoderBlock(
        d_model, d_ff, n_heads, dropout, dropout_shared_axes, mode, ff_activation, ff_dropout,
        ff_chunk_size, ff_use_sru, ff_sparsity, ff_sparsity_type, attention_chunk_size,
        attention_type,
    )  # fmt: skip
    second = tl.Residual(
        tl.LayerNorm(),
        tl.Select([0, 2, 2, 1, 2]),
        to_encoder,
        tl.Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode),
    )
    return [causal, second, feed_forward]


def _halves(
    name: str,
    causal: bool,
    d_model: int,
    d_ff: int,
    n_heads: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    mode: str,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_chunk_size: int,
    ff_use_sru: int | Sequence[int],
    ff_sparsity: int | str | Sequence[float],
    ff_sparsity_type: str,
    attention_chunk_size: int,
    attention_type: Callable[..., Layer],
    n_attention_layers: int,
    n_feedforward_layers: int,
) -> list[Layer]:
    """The residuals of a block: attention, causal or with a mask, then the feed-forward parts."""
    depth = divided(name, "d_model", d_model, "n_heads", n_heads)
    halves: list[Layer] = []
    for _ in range(whole_number(name, "n_attention_layers", n_attention_layers, least=0)):
        attention = ApplyAttentionLayer(
            attention_type, d_model, n_heads, depth, depth, causal, not causal, dropout, dropout,
            attention_chunk_size, mode,
        )  # fmt: skip
        halves.append(
            tl.Residual(
                tl.LayerNorm(),
                attention if causal else _keeping_mask(attention),
                tl.Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode),
            )
        )
    for _ in range(whole_number(name, "n_feedforward_layers", n_feedforward_layers, least=0)):
        feed_forward = FeedForwardWithOptions(
            d_model, d_ff, dropout, dropout_shared_axes, ff_activation, ff_dropout, ff_chunk_size,
            ff_use_sru, ff_sparsity, True, mode, False, ff_sparsity_type,
        )  # fmt: skip
        halves.append(tl.Residual(*feed_forward))
    return halves


def _sparsities(sparsity: int | Sequence[int | str | None]) -> tuple[int | str | None, ...]:
    """(q_sparsity, result_sparsity) for an option."""
    name, option = "EncoderDecoderBlock", "enc_dec_attention_sparsity"
    if isinstance(sparsity, tuple | list):
        if len(sparsity) != 2:
            raise wrong_value(name, option, "a number or (q_sparsity, result_sparsity)", sparsity)
        return tuple(sparsity)
    modules = whole_number(name, option, sparsity, least=0)
    return (modules, "noop") if modules else (None, None)


def _keeping_mask(attention: Layer) -> Layer:
    """Attention with a mask [batch, 1, 1, length], which is among the outputs."""
    if attention.n_out == 2:
        return attention
    flat = tl.Fn("FlatMask", lambda x, mask: (x, mask[:, 0, 0, :]), n_out=2)
    return tl.Serial(tl.Select([0, 1, 1]), flat, attention)
