"""TransformerEncoder, TransformerDecoder, TransformerLM and Transformer (encoder and decoder)."""

from collections.abc import Callable, Sequence

from .. import layers as tl, option_checks
from ..layers.activation_fns import Relu
from ..layers.base import Layer
from ..layers.recipes import takes_mode
from ..option_checks import checked_mode, checked_rate, divided

__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder", "TransformerLM"]

D_MODEL = 512
D_FF = 2048
N_LAYERS = 6
N_HEADS = 8
MAX_SEQUENCE_LENGTH = 2048
DROPOUT_RATE = 0.1
DROPOUT_SHARED_AXES: Sequence[int] | None = None
MODE = "train"
FF_ACTIVATION_TYPE: Callable[[], Layer] = Relu


@takes_mode
def TransformerEncoder(
    vocab_size: int,
    n_classes: int = 10,
    d_model: int = D_MODEL,
    d_ff: int = D_FF,
    n_layers: int = N_LAYERS,
    n_heads: int = N_HEADS,
    max_len: int = MAX_SEQUENCE_LENGTH,
    dropout: float = DROPOUT_RATE,
    dropout_shared_axes: Sequence[int] | None = DROPOUT_SHARED_AXES,
    mode: str = MODE,
    ff_activation: Callable[[], Layer] = FF_ACTIVATION_TYPE,
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
      ff_activation: makes the activation layer of each block.
    Returns: a layer from tokens [batch, length] to logits [batch, n_classes].
    Raises: TypeError, ValueError: an option is invalid, or d_model is not a multiple of n_heads.
    Example:
      >>> model = TransformerEncoder(9, 3, d_model=4, d_ff=8, n_layers=1, n_heads=2, mode="eval")
      >>> tokens = np.array([[5, 2, 0], [1, 8, 8]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (2, 3)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax documentation,
      `models.TransformerEncoder`.
    """
    name = "TransformerEncoder"
    mode = _mode_of_encoder(checked_mode(name, mode))
    parts = _Parts(
        name, d_model, d_ff, n_heads, max_len, dropout, dropout_shared_axes, mode, ff_activation
    )
    n_classes = option_checks.whole_number(name, "n_classes", n_classes)
    return tl.Serial(
        tl.Branch([], tl.PaddingMask()),
        parts.embedded(tl.Embedding(_vocabulary(name, vocab_size), d_model)),
        [parts.encoder_block() for _ in range(_blocks(name, "n_layers", n_layers))],
        tl.Select([0], n_in=2),
        tl.LayerNorm(),
        tl.Mean(axis=1),
        tl.Dense(n_classes),
    )


def TransformerDecoder(
    vocab_size: int | None = None,
    d_model: int = D_MODEL,
    d_ff: int = D_FF,
    n_layers: int = N_LAYERS,
    n_heads: int = N_HEADS,
    max_len: int = MAX_SEQUENCE_LENGTH,
    dropout: float = DROPOUT_RATE,
    dropout_shared_axes: Sequence[int] | None = DROPOUT_SHARED_AXES,
    mode: str = MODE,
    ff_activation: Callable[[], Layer] = FF_ACTIVATION_TYPE,
) -> Layer:
    """Causal blocks that map a sequence to vectors: each position sees itself and earlier ones.

    Args:
      vocab_size: the number of tokens; None for inputs that are vectors.
      d_model, d_ff, n_layers, n_heads, max_len, dropout, dropout_shared_axes, ff_activation: as for
        `TransformerEncoder`.
      mode: "train", "eval" or "predict".
    Returns: a layer from tokens [batch, length], or floats [batch, length, any], to floats [batch,
      length, d_model].
    Raises: TypeError, ValueError: as for `TransformerEncoder`.
    Example:
      >>> model = TransformerDecoder(32, d_model=8, d_ff=16, n_layers=1, n_heads=2, mode="eval")
      >>> tokens = np.ones((2, 5), np.int32)
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (2, 5, 8)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax documentation,
      `models.TransformerDecoder`.
    """
    name = "TransformerDecoder"
    parts = _Parts(
        name, d_model, d_ff, n_heads, max_len, dropout, dropout_shared_axes, mode, ff_activation
    )
    if vocab_size is None:
        first: Layer = tl.Dense(d_model)
    else:
        first = tl.Embedding(_vocabulary(name, vocab_size), d_model)
    return tl.Serial(
        parts.embedded(first),
        [parts.decoder_block() for _ in range(_blocks(name, "n_layers", n_layers))],
        tl.LayerNorm(),
    )


def TransformerLM(
    vocab_size: int,
    d_model: int = D_MODEL,
    d_ff: int = D_FF,
    n_layers: int = N_LAYERS,
    n_heads: int = N_HEADS,
    max_len: int = MAX_SEQUENCE_LENGTH,
    dropout: float = DROPOUT_RATE,
    dropout_shared_axes: Sequence[int] | None = DROPOUT_SHARED_AXES,
    mode: str = MODE,
    ff_activation: Callable[[], Layer] = FF_ACTIVATION_TYPE,
) -> Layer:
    """A language model: predicts the token at each position from all tokens before it.

    In modes "train" and "eval" the tokens are the targets, which the model shifts to the right. In
    mode "predict" nothing is shifted: a call takes the last token and returns the logits of the
    next one, beginning with token 0.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model, d_ff, n_layers, n_heads, dropout, dropout_shared_axes, ff_activation: as for
        `TransformerEncoder`.
      max_len: the longest sequence, also in mode "predict".
      mode: "train", "eval" or "predict".
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: as for `TransformerEncoder`.
    Example:
      >>> model = TransformerLM(9, d_model=4, d_ff=8, n_layers=1, n_heads=2, mode="eval")
      >>> tokens = np.array([[5, 2, 7]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 3, 9)
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax documentation, `models.TransformerLM`.
    """
    name = "TransformerLM"
    parts = _Parts(
        name, d_model, d_ff, n_heads, max_len, dropout, dropout_shared_axes, mode, ff_activation
    )
    vocab_size = _vocabulary(name, vocab_size)
    return tl.Serial(
        tl.ShiftRight(mode=mode),
        parts.embedded(tl.Embedding(vocab_size, d_model)),
        [parts.decoder_block() for _ in range(_blocks(name, "n_layers", n_layers))],
        tl.LayerNorm(),
        tl.Dense(vocab_size),
    )


@takes_mode
def Transformer(
    input_vocab_size: int,
    output_vocab_size: int | None = None,
    d_model: int = D_MODEL,
    d_ff: int = D_FF,
    n_encoder_layers: int = N_LAYERS,
    n_decoder_layers: int = N_LAYERS,
    n_heads: int = N_HEADS,
    max_len: int = MAX_SEQUENCE_LENGTH,
    dropout: float = DROPOUT_RATE,
    dropout_shared_axes: Sequence[int] | None = DROPOUT_SHARED_AXES,
    mode: str = MODE,
    ff_activation: Callable[[], Layer] = FF_ACTIVATION_TYPE,
) -> Layer:
    """A sequence-to-sequence model: an encoder, and a decoder that attends to it.

    Mode "predict" takes the targets in pieces, and runs the encoder at the first call only; the
    other modes shift the targets to the right. In "predict", layers that run once are wrapped in
    `Cache`, so weights are nested differently; their flat lists are equal.

    Args:
      input_vocab_size: the number of source tokens, padding included.
      output_vocab_size: the number of target tokens; None if both vocabularies are the same; they
        then share their vectors.
      d_model, d_ff, n_heads, max_len, dropout, dropout_shared_axes, ff_activation: as for
        `TransformerEncoder`.
      n_encoder_layers, n_decoder_layers: the numbers of blocks.
      mode: "train", "eval" or "predict".
    Returns: a layer from (source tokens [batch, length], target tokens [batch, target length]) to
      (logits [batch, target length, output_vocab_size], the same target tokens).
    Raises: TypeError, ValueError: as for `TransformerEncoder`.
    Example:
      >>> model = Transformer(9, d_model=4, d_ff=8, n_encoder_layers=1, n_decoder_layers=1,
      ...                     n_heads=2, mode="eval")
      >>> source, target = np.array([[5, 2, 0]]), np.array([[3, 1]])
      >>> _ = model.init((source, target))
      >>> [y.shape for y in model((source, target))]
      [(1, 2, 9), (1, 2)]
    Source: Vaswani et al. (2017), arXiv:1706.03762; Trax documentation, `models.Transformer`.
    """
    name = "Transformer"
    mode = checked_mode(name, mode)
    shape = (d_model, d_ff, n_heads, max_len, dropout, dropout_shared_axes)
    encoding = _Parts(name, *shape, _mode_of_encoder(mode), ff_activation)
    decoding = _Parts(name, *shape, mode, ff_activation)
    sources: Layer = tl.Embedding(_vocabulary(name, input_vocab_size, "input_vocab_size"), d_model)
    if output_vocab_size is None:
        output_vocab_size, targets = input_vocab_size, sources
    else:
        _vocabulary(name, output_vocab_size, "output_vocab_size")
        targets = tl.Embedding(output_vocab_size, d_model)
    n_encoder_layers = _blocks(name, "n_encoder_layers", n_encoder_layers)
    n_decoder_layers = _blocks(name, "n_decoder_layers", n_decoder_layers)
    encoder: Layer = tl.Serial(
        encoding.embedded(sources),
        [encoding.encoder_block() for _ in range(n_encoder_layers)],
        tl.LayerNorm(),
    )
    if mode == "predict":
        encoder = tl.Cache(encoder)
    return tl.Serial(
        tl.Select([0, 1, 1]),
        tl.Branch([], tl.PaddingMask()),
        encoder,
        tl.Select([2, 1, 0]),
        tl.ShiftRight(mode=mode),
        decoding.embedded(targets),
        tl.Branch([], tl.EncoderDecoderMask()),
        [decoding.encoder_decoder_block() for _ in range(n_decoder_layers)],
        tl.LayerNorm(),
        tl.Select([0], n_in=3),
        tl.Dense(output_vocab_size),
    )


class _Parts:
    """Makes the parts of a Transformer from shared options."""

    def __init__(
        self,
        name: str,
        d_model: int,
        d_ff: int,
        n_heads: int,
        max_len: int,
        dropout: float,
        dropout_shared_axes: Sequence[int] | None,
        mode: str,
        ff_activation: Callable[[], Layer],
    ) -> None:
        divided(name, "d_model", d_model, "n_heads", n_heads)
        self.d_model, self.n_heads = d_model, n_heads
        self.d_ff = option_checks.whole_number(name, "d_ff", d_ff)
        self.max_len = option_checks.whole_number(name, "max_len", max_len)
        self.rate = checked_rate(name, dropout)
        self.mode = checked_mode(name, mode)
        self.shared_axes = dropout_shared_axes
        self.activation = option_checks.function(
            name, "ff_activation", ff_activation, "that makes a layer"
        )

    def dropout(self) -> Layer:
        """Dropout of features."""
        return tl.Dropout(rate=self.rate, shared_axes=self.shared_axes, mode=self.mode)

    def embedded(self, embedding: Layer) -> list[Layer]:
        """Layers that map tokens to vectors with positions."""
        return [
            embedding,
            self.dropout(),
            tl.PositionalEncoding(max_len=self.max_len, mode=self.mode),
        ]

    def feed_forward(self) -> Layer:
        """The second half of each block."""
        return tl.Residual(
            tl.LayerNorm(),
            tl.Dense(self.d_ff),
            self.activation(),
            self.dropout(),
            tl.Dense(self.d_model),
            self.dropout(),
        )

    def encoder_block(self) -> list[Layer]:
        """Layers that map (vectors, mask) to (vectors, mask), with attention to all unmasked
        positions."""
        attention = tl.Attention(
            self.d_model, n_heads=self.n_heads, dropout=self.rate, mode=self.mode
        )
        return [tl.Residual(tl.LayerNorm(), attention, self.dropout()), self.feed_forward()]

    def decoder_block(self) -> list[Layer]:
        """Layers that map vectors to vectors, with attention to earlier positions."""
        return [self.causal_attention(self.rate), self.feed_forward()]

    def encoder_decoder_block(self) -> list[Layer]:
        """Layers that map (vectors, mask, encoder's vectors) to the same."""
        to_encoder = tl.AttentionQKV(
            self.d_model,
            n_heads=self.n_heads,
            dropout=self.rate,
            mode=self.mode,
            cache_KV_in_predict=True,
        )
        return [
            self.causal_attention(0.0),
            tl.Residual(tl.LayerNorm(), tl.Select([0, 2, 2, 1, 2]), to_encoder, self.dropout()),
            self.feed_forward(),
        ]

    def causal_attention(self, rate: float) -> Layer:
        """The residual of a decoder's self-attention, whose weights have dropout `rate`."""
        attention = tl.CausalAttention(
            self.d_model,
            n_heads=self.n_heads,
            dropout=rate,
            max_inference_length=self.max_len,
            mode=self.mode,
        )
        return tl.Residual(tl.LayerNorm(), attention, self.dropout())


def _mode_of_encoder(mode: str) -> str:
    """The mode of an encoder: "eval" for "predict", because it sees the whole sequence."""
    return "eval" if mode == "predict" else mode


def _vocabulary(name: str, size: int, option: str = "vocab_size") -> int:
    return option_checks.whole_number(name, option, size)


def _blocks(name: str, option: str, number: int) -> int:
    return option_checks.whole_number(name, option, number, least=0)
