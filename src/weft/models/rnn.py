"""RNNLM, GRULM and LSTMSeq2SeqAttn: recurrent models for sequences of tokens."""

from collections.abc import Callable
from typing import Any

from .. import layers as tl, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..layers.base import Layer
from ..option_checks import checked_mode, checked_rate, whole_number

__all__ = ["GRULM", "RNNLM", "LSTMSeq2SeqAttn"]


def RNNLM(
    vocab_size: int,
    d_model: int = 512,
    n_layers: int = 2,
    rnn_cell: Callable[..., Layer] = tl.LSTMCell,
    rnn_cell_d_state_multiplier: int = 2,
    dropout: float = 0.1,
    mode: str = "train",
) -> Layer:
    """A language model of recurrent cells, which run in series at each step.

    In modes "train" and "eval" the tokens are the targets, which the model shifts to the right. In
    mode "predict" nothing is shifted, and the cells keep their state between calls.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model: features of a vector, and units of a cell.
      n_layers: the number of cells.
      rnn_cell: makes a cell, called as `rnn_cell(n_units=d_model)`: `LSTMCell`, `GRUCell`, or a
        layer from (x, state) to (output, next state).
      rnn_cell_d_state_multiplier: features of a cell's state, in multiples of d_model: 2 for
        `LSTMCell`, 1 for `GRUCell`.
      dropout: rate at which features of the tokens become zero in mode "train".
      mode: "train", "eval" or "predict".
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> model = RNNLM(9, d_model=4, mode="eval")
      >>> tokens = np.array([[5, 2, 7]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 3, 9)
    Source: Zaremba, Sutskever, Vinyals (2014), arXiv:1409.2329; Trax documentation, `models.RNNLM`,
      where n_layers is 2.
    """
    name = "RNNLM"
    vocab_size = whole_number(name, "vocab_size", vocab_size)
    d_model = whole_number(name, "d_model", d_model)
    n_layers = whole_number(name, "n_layers", n_layers)
    multiple = whole_number(name, "rnn_cell_d_state_multiplier", rnn_cell_d_state_multiplier)
    make = option_checks.function(name, "rnn_cell", rnn_cell, "(n_units=…) that makes a cell")
    rate, mode = checked_rate(name, dropout), checked_mode(name, mode)
    cells = tl.Serial(
        tl.Parallel([], tl.Split(n_items=n_layers)),
        tl.SerialWithSideOutputs([make(n_units=d_model) for _ in range(n_layers)]),
        tl.Parallel([], tl.Concatenate(n_items=n_layers)),
    )
    return tl.Serial(
        tl.ShiftRight(mode=mode),
        tl.Embedding(vocab_size, d_model),
        tl.Dropout(rate=rate, mode=mode),
        tl.Branch([], tl.MakeZeroState(depth_multiplier=n_layers * multiple)),
        tl.Scan(cells, axis=1, mode=mode),
        tl.Select([0], n_in=2),
        tl.Dense(vocab_size),
    )


def GRULM(
    vocab_size: int = 256, d_model: int = 512, n_layers: int = 1, mode: str = "train"
) -> Layer:
    """A language model of `GRU` layers.

    Args:
      vocab_size: the number of tokens, padding included.
      d_model: features of a vector, and units of a layer.
      n_layers: the number of layers.
      mode: "train", "eval" or "predict", as for `RNNLM`.
    Returns: a layer from tokens [batch, length] to logits [batch, length, vocab_size].
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> model = GRULM(9, d_model=4, mode="eval")
      >>> tokens = np.array([[5, 2, 7]])
      >>> _ = model.init(tokens)
      >>> model(tokens).shape
      (1, 3, 9)
    Source: Cho et al. (2014), arXiv:1406.1078; Trax documentation, `models.GRULM`.
    """
    name = "GRULM"
    vocab_size = whole_number(name, "vocab_size", vocab_size)
    d_model = whole_number(name, "d_model", d_model)
    n_layers = whole_number(name, "n_layers", n_layers, least=0)
    return tl.Serial(
        tl.ShiftRight(mode=checked_mode(name, mode)),
        tl.Embedding(vocab_size, d_model),
        [tl.GRU(d_model, mode=mode) for _ in range(n_layers)],
        tl.Dense(vocab_size),
    )


def LSTMSeq2SeqAttn(
    input_vocab_size: int = 256,
    target_vocab_size: int = 256,
    d_model: int = 512,
    n_encoder_layers: int = 2,
    n_decoder_layers: int = 2,
    n_attention_heads: int = 1,
    attention_dropout: float = 0.0,
    mode: str = "train",
) -> Layer:
    """A sequence-to-sequence model: an encoder and a decoder of `LSTM` layers, with attention.

    A first layer reads the target tokens; its vectors attend to the encoder's, and the decoder
    continues from both. In modes "train" and "eval" the targets are shifted to the right; in mode
    "predict" they are passed in pieces, and the encoder's keys and values are those of the first
    call.

    Args:
      input_vocab_size: the number of source tokens; 0 is padding, to which no position attends.
      target_vocab_size: the number of target tokens.
      d_model: features of a vector, and units of a layer.
      n_encoder_layers: the number of layers of the encoder.
      n_decoder_layers: the number of layers of the decoder after the attention.
      n_attention_heads: the number of heads; divides d_model.
      attention_dropout: rate at which weights of attention become zero in mode "train".
      mode: "train", "eval" or "predict".
    Returns: a layer from (source tokens [batch, length], target tokens [batch, target length]) to
      (log-probabilities [batch, target length, target_vocab_size], the same target tokens).
    Raises: TypeError, ValueError: an option is invalid, or d_model is not a multiple of
      n_attention_heads.
    Example:
      >>> model = LSTMSeq2SeqAttn(9, 9, d_model=4, mode="eval")
      >>> source, target = np.array([[5, 2, 0]]), np.array([[3, 1]])
      >>> _ = model.init((source, target))
      >>> [y.shape for y in model((source, target))]
      [(1, 2, 9), (1, 2)]
    Source: Bahdanau, Cho, Bengio (2014), arXiv:1409.0473; Trax documentation,
      `models.LSTMSeq2SeqAttn`.
    """
    name = "LSTMSeq2SeqAttn"
    for option, number, least in (
        ("input_vocab_size", input_vocab_size, 1),
        ("target_vocab_size", target_vocab_size, 1),
        ("n_encoder_layers", n_encoder_layers, 0),
        ("n_decoder_layers", n_decoder_layers, 0),
    ):
        whole_number(name, option, number, least)
    option_checks.divided(name, "d_model", d_model, "n_attention_heads", n_attention_heads)
    rate, mode = (
        checked_rate(name, attention_dropout, "attention_dropout"),
        checked_mode(name, mode),
    )
    # in each mode, the encoder sees the whole sequence
    encoder = [
        tl.Embedding(input_vocab_size, d_model),
        [tl.LSTM(d_model) for _ in range(n_encoder_layers)],
    ]
    reader = [
        tl.ShiftRight(mode=mode),
        tl.Embedding(target_vocab_size, d_model),
        tl.LSTM(d_model, mode=mode),
    ]
    attention = tl.AttentionQKV(
        d_model,
        n_heads=n_attention_heads,
        dropout=rate,
        mode=mode,
        cache_KV_in_predict=True,
    )
    return tl.Serial(
        tl.Select([0, 1, 0, 1]),
        tl.Parallel(encoder, reader),
        tl.Fn("PrepareAttentionInputs", _attention_inputs, n_out=4),
        tl.Residual(attention),
        tl.Select([0, 2]),
        [tl.LSTM(d_model, mode=mode) for _ in range(n_decoder_layers)],
        tl.Dense(target_vocab_size),
        tl.LogSoftmax(),
    )


def _attention_inputs(encoded: Any, read: Any, source: Any) -> Any:
    """(queries, keys, values, mask), with a row of the mask for each query."""
    if source.ndim != 2:
        raise ShapeError(f"expected source tokens [batch, length]; got shape {tuple(source.shape)}")
    mask = jnp.reshape(source != 0, (source.shape[0], 1, 1, source.shape[1]))
    rows = mask & jnp.ones((1, 1, read.shape[1], 1), jnp.bool_)
    return read, encoded, encoded, rows
