"""Parts of Transformers with options: ApplyAttentionLayer, FeedForwardWithOptions,
PositionalEncoder and EmbeddingAndPositionalEncodings.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ... import layers as tl, option_checks
from ...layers.base import Layer
from ...layers.recipes import takes_mode
from ...option_checks import checked_rate, divided
from ...user_lines import noted

__all__ = [
    "ApplyAttentionLayer",
    "EmbeddingAndPositionalEncodings",
    "FeedForwardWithOptions",
    "PositionalEncoder",
]

SRU_UNITS = 32
HASHING = (tl.LSHSelfAttention, tl.PureLSHSelfAttentionWrapper)
POSITIONS: dict[str, Callable[[str], Layer]] = {
    "sin-cos": lambda mode: tl.SinCosPositionalEncoding(mode=mode),
    "fixed-base": lambda mode: tl.FixedBasePositionalEncoding(mode=mode),
    "infinite": lambda mode: tl.InfinitePositionalEncoding(affine=False, mode=mode),
    "infinite-affine": lambda mode: tl.InfinitePositionalEncoding(mode=mode),
    "no": lambda mode: tl.Serial(),
}


def FeedForwardWithOptions(
    d_model: int,
    d_ff: int,
    dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    ff_activation: Callable[[], Layer],
    ff_dropout: float | None,
    ff_chunk_size: int,
    ff_use_sru: int | Sequence[int],
    ff_sparsity: int | str | Sequence[float],
    center_layernorm: bool,
    mode: str,
    use_bfloat16: bool = False,
    ff_sparsity_type: str = "1inN",
) -> list[Layer]:
    """The layers of a feed-forward part of a block: LayerNorm, Dense, activation, Dense, dropouts.

    Args:
      d_model: the number of output features.
      d_ff: the number of units of the hidden layer.
      dropout: rate at which outputs become zero in mode "train".
      dropout_shared_axes: axes along which outputs are dropped together.
      ff_activation: makes the activation layer.
      ff_dropout: rate for hidden units, before the activation; None for `dropout`.
      ff_chunk_size: the number of positions to compute at once; 0 for all.
      ff_use_sru: the number of parallel `SRU` layers, whose outputs are added, or (number, units);
        0 for none; 32 units by default.
      ff_sparsity: 0 for a dense half. For type "1inN", the number N of units in a block, of which
        one is used (the rank of the controller is d_ff / N), or (N, rank), or (N, rank,
        temperature, quant_prob) as for `SparseFF`, or a string such as "64 32". For the other
        types, the number of experts. A sparse half has `Relu` as its activation.
      center_layernorm: whether the normalization subtracts the mean and adds a bias.
      mode: "train", "eval" or "predict".
      use_bfloat16: whether weights of `Dense` layers are bfloat16.
      ff_sparsity_type: the kind of sparsity: "1inN" for `SparseFF`, "Block" for `BlockSparseFF`,
        "Switch" for `SwitchSparseFF`.
    Returns: a list of layers, for use in a residual.
    Raises: TypeError, ValueError: an option is invalid, or options are incompatible.
    Example:
      >>> layers = FeedForwardWithOptions(8, 32, 0.1, None, tl.Relu, 0.1, 0, 0, 0, True, "eval")
      >>> part = tl.Serial(layers)
      >>> _ = part.init(np.ones((2, 5, 8)))
      >>> part(np.ones((2, 5, 8))).shape
      (2, 5, 8)
    Source: Trax's module `models.research.configurable_transformer`.
    """
    name = "FeedForwardWithOptions"
    kind = option_checks.choice(
        name, "ff_sparsity_type", ff_sparsity_type, ("1inN", "Block", "Switch")
    )
    option_checks.function(name, "ff_activation", ff_activation, "that makes a layer")
    chunk_size = option_checks.whole_number(name, "ff_chunk_size", ff_chunk_size, least=0)
    layers: list[Layer] = [tl.LayerNorm(center=center_layernorm)]
    if ff_sparsity and kind == "1inN":
        hidden = tl.SparseFF(
            d_ff,
            **_options_of_units(name, ff_sparsity, d_ff),
            use_bfloat16=use_bfloat16,
            mode=mode,
            dropout_rate=dropout,
            dropout_shared_axes=dropout_shared_axes,
            ff_chunk_size=chunk_size,
        )
        layers += [hidden]
    else:
        if ff_sparsity:
            n_experts = option_checks.whole_number(name, "ff_sparsity", ff_sparsity)
            experts = tl.BlockSparseFF if kind == "Block" else tl.SwitchSparseFF
            hidden = experts(d_ff, n_experts, mode=mode)
        else:
            rate = dropout if ff_dropout is None else ff_dropout
            hidden = tl.Serial(
                tl.Dense(d_ff, use_bfloat16=use_bfloat16),
                tl.Dropout(rate=rate, shared_axes=[-2], mode=mode),
                ff_activation(),
                tl.Dense(d_model, use_bfloat16=use_bfloat16),
            )
        if chunk_size:
            hidden = tl.BatchLeadingAxes(tl.Chunk(hidden, chunk_size))
        layers += [hidden, tl.Dropout(rate=dropout, shared_axes=dropout_shared_axes, mode=mode)]
    if not ff_use_sru:
        return layers
    return [_beside_recurrence(name, layers, ff_use_sru, d_model, mode)]


def _options_of_units(name: str, ff_sparsity: Any, d_ff: int) -> dict[str, Any]:
    """The options of `SparseFF` for a value of ff_sparsity."""
    settings = ff_sparsity
    try:
        if isinstance(settings, str):
            settings = [float(x) if "." in x else int(x) for x in settings.split()]
    except ValueError:
        settings = ()
    if isinstance(settings, list | tuple):
        if len(settings) not in (2, 4):
            expected = "a number or 2 or 4 of them, as (64, 32) or '64 32 0.1 0.3'"
            raise option_checks.wrong_value(name, "ff_sparsity", expected, ff_sparsity)
        names = ("n_elements_in_block", "d_lowrank", "temperature", "quant_prob")
        return dict(zip(names, settings, strict=False))
    n_units = option_checks.whole_number(name, "ff_sparsity", settings)
    return {"n_elements_in_block": n_units, "d_lowrank": max(d_ff // n_units, 1)}


def _beside_recurrence(
    name: str, layers: list[Layer], ff_use_sru: int | Sequence[int], d_model: int, mode: str
) -> Layer:
    """Layers in parallel with recurrent layers, whose outputs are added."""
    pair = ff_use_sru if isinstance(ff_use_sru, tuple | list) else (ff_use_sru, SRU_UNITS)
    if len(pair) != 2:
        raise option_checks.wrong_value(
            name, "ff_use_sru", "a number or (number, units)", ff_use_sru
        )
    count, units = option_checks.lengths(name, "ff_use_sru", tuple(pair))
    recurrent = [tl.SRU(units, mode=mode) for _ in range(count)]
    main = [tl.LayerNorm(), tl.Dense(units), *recurrent, tl.Dense(d_model)]
    return tl.Residual(*main, shortcut=tl.Serial(*layers))


@takes_mode
def ApplyAttentionLayer(
    attention_type: Callable[..., Layer],
    d_model: int,
    n_heads: int,
    d_qk: int,
    d_v: int,
    causal: bool,
    masked: bool,
    attention_dropout: float,
    output_dropout: float,
    attention_chunk_size: int,
    mode: str,
) -> Layer:
    """Makes an attention layer from a class of either kind.

    A class with a parameter `d_qk`, such as `SelfAttention`, gets all options; others, such as
    `CausalAttention`, get d_model, n_heads, attention_dropout and mode.

    Args:
      attention_type: makes the layer; a class, a function, or a `functools.partial` of one.
      d_model: features of a vector.
      n_heads: number of heads.
      d_qk: depth of queries and keys, for each head.
      d_v: depth of values, for each head.
      causal: whether to hide later positions.
      masked: whether the inputs include a mask.
      attention_dropout: rate at which weights of attention become zero in mode "train".
      output_dropout: rate at which outputs of a head become zero in mode "train".
      attention_chunk_size: the number of batch elements to compute at once; 0 for all. It has no
        effect in mode "predict".
      mode: "train", "eval" or "predict".
    Returns: the layer.
    Raises: TypeError, ValueError: an option is invalid, the layer has another number of
      inputs, or it keeps hash buckets of the whole batch, which cannot be split into chunks.
    Example:
      >>> attention = tl.CausalAttention
      >>> layer = ApplyAttentionLayer(attention, 8, 2, 4, 4, True, False, 0.0, 0.0, 0, "eval")
      >>> _ = layer.init(np.ones((2, 5, 8)))
      >>> layer(np.ones((2, 5, 8))).shape
      (2, 5, 8)
    Source: Trax's module `models.research.configurable_transformer`.
    """
    name = "ApplyAttentionLayer"
    option_checks.function(
        name, "attention_type", attention_type, "that makes a layer of attention"
    )
    size = option_checks.whole_number(name, "attention_chunk_size", attention_chunk_size, least=0)
    if "d_qk" in inspect.signature(attention_type).parameters:
        layer = attention_type(
            n_heads=n_heads,
            d_qk=d_qk,
            d_v=d_v,
            causal=causal,
            masked=masked,
            attention_dropout=attention_dropout,
            output_dropout=output_dropout,
            mode=mode,
        )
    else:
        layer = attention_type(d_model, n_heads=n_heads, dropout=attention_dropout, mode=mode)
    if layer.n_in != 1 + masked:
        raise noted(
            ValueError(
                f"{name}: attention_type must make a layer of {1 + masked} inputs "
                f"(masked={masked}); {layer.name} has {layer.n_in}"
            )
        )
    if not size or mode == "predict":
        return layer
    if isinstance(layer, HASHING):
        raise noted(
            ValueError(
                f"{name}: {layer.name} keeps the buckets of the whole batch, which cannot be split "
                f"into chunks of {size}\n  fix: attention_chunk_size=0"
            )
        )
    return tl.Chunk(layer, size)


def PositionalEncoder(
    mode: str,
    dropout: float | None = None,
    max_len: int | None = None,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
    pos_start_from_zero_prob: float = 1.0,
    pos_max_offset_to_add: int = 0,
    use_bfloat16: bool = False,
) -> Layer:
    """A layer that adds positions to vectors, of the given type.

    Args:
      mode: "train", "eval" or "predict".
      dropout: rate at which encodings are dropped in mode "train" (None and "axial").
      max_len: the longest sequence (None).
      pos_type: None for a trained table; "axial", "sin-cos", "fixed-base", "infinite",
        "infinite-affine"; "no" for none.
      pos_axial_shape: lengths of the grid's axes ("axial").
      pos_d_axial_embs: features of each axis' vectors ("axial").
      pos_start_from_zero_prob: the probability that the first position is 0, in "train" (None).
      pos_max_offset_to_add: the bound of random first positions, exclusive (None).
      use_bfloat16: whether the table is bfloat16 (None).
    Returns: a layer from floats [batch, length, d] to the same shape.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> layer = PositionalEncoder("eval", dropout=0.0, max_len=16)
      >>> _ = layer.init(np.ones((2, 5, 8)))
      >>> layer(np.ones((2, 5, 8))).shape
      (2, 5, 8)
    Source: Trax's module `models.research.configurable_transformer`.
    """
    name = "PositionalEncoder"
    option_checks.choice(name, "pos_type", pos_type, (None, "axial", *POSITIONS))
    rate = 0.0 if dropout is None else dropout
    if pos_type is None:
        return tl.PositionalEncoding(
            max_len=2048 if max_len is None else max_len,
            dropout=rate,
            use_bfloat16=use_bfloat16,
            start_from_zero_prob=pos_start_from_zero_prob,
            max_offset_to_add=pos_max_offset_to_add,
            mode=mode,
        )
    if pos_type != "axial":
        return POSITIONS[pos_type](mode)
    shape = option_checks.lengths(name, "pos_axial_shape", pos_axial_shape)
    features = option_checks.lengths(name, "pos_d_axial_embs", pos_d_axial_embs)
    return tl.AxialPositionalEncoding(shape, features, dropout=rate, mode=mode)


def EmbeddingAndPositionalEncodings(
    input_vocab_size: int | None,
    d_model: int,
    mode: str,
    embedding_dropout: float,
    dropout_shared_axes: Sequence[int] | None,
    max_len: int,
    output_vocab_size: int | None = None,
    pos_type: str | None = None,
    pos_axial_shape: Sequence[int] | None = None,
    pos_d_axial_embs: Sequence[int] | None = None,
    pos_start_from_zero_prob: float = 1.0,
    pos_max_offset_to_add: int = 0,
    use_bfloat16: bool = False,
) -> tuple[list[Layer], list[Layer], int]:
    """Layers that map tokens to vectors with positions, for an encoder and for a decoder.

    Args:
      input_vocab_size: the number of source tokens; None for input vectors, which go through a
        `Dense` layer.
      d_model: features of a vector.
      mode: "train", "eval" or "predict"; "predict" means "eval" for the encoder, which sees the
        whole sequence.
      embedding_dropout: rate at which features, and encodings of positions, become zero in "train".
      dropout_shared_axes: axes along which features are dropped together.
      max_len: the longest sequence.
      output_vocab_size: the number of target tokens; None if they are the source tokens; both then
        share their vectors. pos_type, pos_axial_shape, pos_d_axial_embs, pos_start_from_zero_prob,
        pos_max_offset_to_add: as for `PositionalEncoder`.
      use_bfloat16: whether the tables are bfloat16.
    Returns: (layers of the encoder, layers of the decoder, number of target tokens).
    Raises: TypeError, ValueError: an option is invalid, or there is no vocabulary.
    Example:
      >>> source, target, size = EmbeddingAndPositionalEncodings(50, 8, "eval", 0.0, None, 16)
      >>> encoder = tl.Serial(source)
      >>> _ = encoder.init(np.ones((2, 5), np.int32))
      >>> encoder(np.ones((2, 5), np.int32)).shape, size
      ((2, 5, 8), 50)
    Source: Trax's module `models.research.configurable_transformer`.
    """
    name = "EmbeddingAndPositionalEncodings"
    size = input_vocab_size if output_vocab_size is None else output_vocab_size
    if size is None:
        raise noted(
            ValueError(
                f"{name}: expected a vocabulary; input_vocab_size and output_vocab_size are None"
            )
        )
    encoder_mode = "eval" if mode == "predict" else mode

    def embedded(vocab_size: int | None, mode: str) -> list[Layer]:
        if vocab_size is None:
            first: Layer = tl.Dense(d_model, use_bfloat16=use_bfloat16)
        else:
            first = tl.Embedding(vocab_size, d_model, use_bfloat16=use_bfloat16)
        return [first, tl.Dropout(embedding_dropout, shared_axes=dropout_shared_axes, mode=mode)]

    def positions(mode: str) -> Layer:
        return PositionalEncoder(
            mode, embedding_dropout, max_len, pos_type, pos_axial_shape, pos_d_axial_embs,
            pos_start_from_zero_prob, pos_max_offset_to_add, use_bfloat16,
        )  # fmt: skip

    sources = embedded(input_vocab_size, encoder_mode)
    targets = sources if output_vocab_size is None else embedded(output_vocab_size, mode)
    return [*sources, positions(encoder_mode)], [*targets, positions(mode)], size


def checked_sizes(name: str, dropout: float, **sizes: int) -> None:
    """Raises TypeError or ValueError for an invalid size or dropout rate."""
    checked_rate(name, dropout)
    for option, size in sizes.items():
        option_checks.whole_number(name, option, size)


def attention_in_turn(
    name: str,
    option: str,
    attention_type: Any,
    n_layers: int,
    layers_option: str = "n_layers",
    least: int = 1,
) -> list[Callable[..., Layer]]:
    """The kind of attention of each block: one kind, or the kinds of a list in turn."""
    n_layers = option_checks.whole_number(name, layers_option, n_layers, least)
    if not isinstance(attention_type, tuple | list):
        return [attention_type] * n_layers
    if not attention_type:
        raise noted(ValueError(f"{name}: {option} must have a kind of attention; got none"))
    if not n_layers:
        return []
    return [*attention_type] * divided(
        name, layers_option, n_layers, f"the length of {option}", len(attention_type)
    )


def remembering(
    name: str, option: str, attention_type: Callable[..., Layer], max_len: int
) -> Callable[..., Layer]:
    """Attention that remembers `max_len` positions in decoding, unless its options set another
    number."""
    option_checks.function(name, option, attention_type, "that makes a layer")
    parameters = inspect.signature(attention_type).parameters
    unsaid = ("predict_mem_len", "predict_drop_len", "chunk_len")
    if any(option not in parameters or parameters[option].default is not None for option in unsaid):
        if "max_inference_length" in parameters:
            return partial(attention_type, max_inference_length=max_len)
        return attention_type
    return partial(attention_type, predict_mem_len=max_len, predict_drop_len=max_len)
