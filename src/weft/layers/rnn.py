"""Recurrent layers: LSTM, GRU and SRU along a sequence, and their cells LSTMCell, GRUCell,
ConvGRUCell, GeneralGRUCell, InnerSRUCell and ScanSRUCell; MakeZeroState for the initial state.

A cell maps an input and a state to an output and the next state. `LSTM`, `GRU` and `SRU` run a cell
along axis 1 of [batch, length, features], as a loop in the compiled program, so compilation time
does not depend on the length. In mode "predict" the sequence arrives in pieces, and the state is
kept between pieces.
"""

import math
from collections.abc import Callable
from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import checked_mode, checked_rate, function, lengths, whole_number
from ..user_lines import noted
from . import combinators as cb
from .activation_fns import Sigmoid, Tanh
from .attention_weights import wide_dtype
from .base import Fn, Layer
from .convolution import Conv
from .dense import Dense
from .dropout import Dropout
from .initializers import (
    GlorotUniformInitializer,
    RandomNormalInitializer,
    RandomUniformInitializer,
)
from .recipes import takes_mode

__all__ = [
    "GRU",
    "LSTM",
    "SRU",
    "ConvGRUCell",
    "GRUCell",
    "GeneralGRUCell",
    "InnerSRUCell",
    "LSTMCell",
    "MakeZeroState",
    "ScanSRUCell",
]

Initializer = Callable[[Any, Any], Any]

LSTM_KERNEL_INITIALIZER, GRU_KERNEL_INITIALIZER = (
    GlorotUniformInitializer(),
    RandomUniformInitializer(0.01),
)
BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


class LSTMCell(Layer):
    """One step of an LSTM: maps (x, state) to (output, next state).

    With (i, j, f, o) the quarters of [x, h] w + b: c' = σ(f) c + σ(i) tanh(j) and h' = σ(o)
    tanh(c'). The output is h'; a state is [c, h].

    Args:
      n_units: the features of c and of h.
      forget_bias: added to the initial value of b.
      kernel_initializer, bias_initializer: functions that make w and b.
    Inputs: floats [batch, d] and [batch, 2 n_units].
    Outputs: [batch, n_units] and [batch, 2 n_units].
    Weights: w [d + n_units, 4 n_units], b [4 n_units].
    Example:
      >>> cell, x = LSTMCell(3), (np.ones((2, 5)), np.zeros((2, 6)))
      >>> _ = cell.init(x)
      >>> [y.shape for y in cell(x)]
      [(2, 3), (2, 6)]
    Source: Hochreiter and Schmidhuber 1997; gates: arXiv:1503.04069; Trax documentation,
      `layers.LSTMCell`.
    """

    _needs_key = False

    def __init__(
        self,
        n_units: int,
        forget_bias: float = 1.0,
        kernel_initializer: Initializer = LSTM_KERNEL_INITIALIZER,
        bias_initializer: Initializer = BIAS_INITIALIZER,
    ):
        super().__init__(n_in=2, n_out=2)
        self._n_units = whole_number("LSTMCell", "n_units", n_units)
        self._forget_bias = forget_bias
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def forward(self, inputs: Any) -> Any:
        """(output, next state)."""
        x, state = inputs
        c, h = jnp.split(state, 2, axis=-1)
        w, b = self.weights
        i, j, f, o = jnp.split(jnp.matmul(jnp.concatenate([x, h], axis=-1), w) + b, 4, axis=-1)
        c = c * fastmath.sigmoid(f) + fastmath.sigmoid(i) * jnp.tanh(j)
        h = jnp.tanh(c) * fastmath.sigmoid(o)
        return h, jnp.concatenate([c, h], axis=-1)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes w and b."""
        x, state = input_signature
        n = self._n_units
        _check_state("LSTMCell", state, 2 * n)
        key1, key2 = fastmath.random.split(self.rng, 2)
        w = self._kernel_initializer((x.shape[-1] + n, 4 * n), key1)
        self.weights = (w, self._bias_initializer((4 * n,), key2) + self._forget_bias)


def MakeZeroState(depth_multiplier: int = 1) -> Layer:
    """A layer that maps a sequence [batch, length, d] to zeros, float32 [batch, depth_multiplier *
    d].

    Example:
      >>> from weft import layers as tl
      >>> tl.MakeZeroState(depth_multiplier=2)(np.ones((1, 4, 2)))
      Array([[0., 0., 0., 0.]], dtype=float32)

    Source: Trax documentation, `layers.MakeZeroState`.
    """
    whole_number("MakeZeroState", "depth_multiplier", depth_multiplier)

    def zeros(x: Any) -> Any:
        return _zero_state(x, depth_multiplier * x.shape[-1])

    return Fn("MakeZeroState", zeros)


def LSTM(
    n_units: int, mode: str = "train", return_state: bool = False, initial_state: bool = False
) -> Layer:
    """An LSTM along axis 1.

    Args:
      n_units: the features of the outputs.
      mode: in "predict" the state is kept between calls.
      return_state: whether to also return the last state, [batch, 2 n_units], as a second output.
      initial_state: whether the initial state is a second input; otherwise it is zeros.
    Returns: a layer from floats [batch, length, d] to [batch, length, n_units].
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.LSTM(3)
      >>> _ = layer.init(np.ones((2, 4, 5)))
      >>> layer(np.ones((2, 4, 5))).shape
      (2, 4, 3)
    Source: Trax documentation, `layers.LSTM`. There d has to be n_units.
    """
    whole_number("LSTM", "n_units", n_units)
    return cb.Serial(
        [] if initial_state else _with_zero_state(2 * n_units),
        cb.Scan(LSTMCell(n_units=n_units), axis=1, mode=checked_mode("LSTM", mode)),
        [] if return_state else cb.Select([0], n_in=2),
        name=f"LSTM_{n_units}",
        sublayers_to_print=[],
    )


class GRUCell(Layer):
    """One step of a GRU: maps (x, h) to (h', h').

    u, r = the halves of σ([x, h] w1 + b1); c = [x, r h] w2 + b2; h' = u h + (1 - u) tanh(c).

    Args:
      n_units: the features of h.
      forget_bias: added to the initial value of b1.
      kernel_initializer, bias_initializer: functions that make w1, w2 and b1, b2.
    Inputs: floats [batch, d] and [batch, n_units].
    Outputs: [batch, n_units], twice.
    Weights: w1 [d + n_units, 2 n_units], b1, w2 [d + n_units, n_units], b2.
    Example:
      >>> from weft import layers as tl
      >>> cell, x = tl.GRUCell(3), (np.ones((2, 5)), np.zeros((2, 3)))
      >>> _ = cell.init(x)
      >>> [y.shape for y in cell(x)]
      [(2, 3), (2, 3)]
    Source: arXiv:1406.1078; Trax documentation, `layers.GRUCell`.
    """

    _needs_key = False

    def __init__(
        self,
        n_units: int,
        forget_bias: float = 0.0,
        kernel_initializer: Initializer = GRU_KERNEL_INITIALIZER,
        bias_initializer: Initializer = BIAS_INITIALIZER,
    ):
        super().__init__(n_in=2, n_out=2)
        self._n_units = whole_number("GRUCell", "n_units", n_units)
        self._forget_bias = forget_bias
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def forward(self, inputs: Any) -> Any:
        """(output, next state), which are the same array."""
        x, h = inputs
        w1, b1, w2, b2 = self.weights
        gates = fastmath.sigmoid(jnp.matmul(jnp.concatenate([x, h], axis=-1), w1) + b1)
        update, reset = jnp.split(gates, 2, axis=-1)
        candidate = jnp.matmul(jnp.concatenate([x, reset * h], axis=-1), w2) + b2
        h = update * h + (1.0 - update) * jnp.tanh(candidate)
        return h, h

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes w1, b1, w2 and b2."""
        x, state = input_signature
        n = self._n_units
        _check_state("GRUCell", state, n)
        rows = x.shape[-1] + n
        keys = fastmath.random.split(self.rng, 4)
        self.weights = (
            self._kernel_initializer((rows, 2 * n), keys[0]),
            self._bias_initializer((2 * n,), keys[1]) + self._forget_bias,
            self._kernel_initializer((rows, n), keys[2]),
            self._bias_initializer((n,), keys[3]),
        )


def GRU(n_units: int, mode: str = "train") -> Layer:
    """A GRU along axis 1.

    Args:
      n_units: the features of the outputs.
      mode: in "predict" the state is kept between calls.
    Returns: a layer from floats [batch, length, d] to [batch, length, n_units].
    Example:
      >>> layer, x = GRU(3), np.ones((2, 4, 5))
      >>> _ = layer.init(x)
      >>> layer(x).shape
      (2, 4, 3)
    Source: Trax documentation, `layers.GRU`. There d has to be n_units.
    """
    whole_number("GRU", "n_units", n_units)
    return cb.Serial(
        _with_zero_state(n_units),
        cb.Scan(GRUCell(n_units=n_units), axis=1, mode=checked_mode("GRU", mode)),
        cb.Select([0], n_in=2),
        name=f"GRU_{n_units}",
        sublayers_to_print=[],
    )


def ConvGRUCell(n_units: int, kernel_size: tuple[int, int] = (3, 3)) -> Layer:
    """A GRU cell with convolutions instead of matrix products; it maps a state to the next state.

    Args:
      n_units: the channels of the state.
      kernel_size: the kernel size of the convolutions, which preserve the size of the image.
    Returns: a layer from floats [batch, height, width, n_units] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> cell, state = tl.ConvGRUCell(3), np.zeros((1, 8, 8, 3))
      >>> _ = cell.init(state)
      >>> cell(state).shape
      (1, 8, 8, 3)
    Source: arXiv:1511.06432; Trax documentation, `layers.ConvGRUCell`.
    """
    whole_number("ConvGRUCell", "n_units", n_units)
    size = lengths("ConvGRUCell", "kernel_size", kernel_size)
    return GeneralGRUCell(lambda: Conv(filters=n_units, kernel_size=size, padding="SAME"))


def GeneralGRUCell(
    candidate_transform: Callable[[], Layer],
    memory_transform_fn: Callable[[], Layer] | None = None,
    gate_nonlinearity: Callable[[], Layer] = Sigmoid,
    candidate_nonlinearity: Callable[[], Layer] = Tanh,
    dropout_rate_c: float = 0.1,
    sigmoid_bias: float = 0.5,
    mode: str = "train",
) -> Layer:
    """A GRU cell built from your own layers; it maps a state to the next state.

    u = σ(U' s + bias); r = σ(U'' s + bias); c = tanh(U (r s)); s' = u M(s) + (1 - u) c.

    Args:
      candidate_transform: makes each of the layers U, U' and U''.
      memory_transform_fn: makes the layer M; by default M(s) = s.
      gate_nonlinearity: makes the layer σ.
      candidate_nonlinearity: makes the layer for c.
      dropout_rate_c: the dropout rate for c.
      sigmoid_bias: a constant added to the input of σ, so that initially the state is kept.
      mode: dropout is active in "train" only.
    Returns: a layer that maps a state to a state of the same shape.
    Example:
      >>> from weft import layers as tl
      >>> cell, state = tl.GeneralGRUCell(lambda: tl.Dense(3), mode="eval"), np.zeros((2, 3))
      >>> _ = cell.init(state)
      >>> cell(state).shape
      (2, 3)
    Source: arXiv:1406.1078; dropout: arXiv:1603.05118; Trax documentation, `layers.GeneralGRUCell`.
    """
    name = "GeneralGRUCell"
    checked_rate(name, dropout_rate_c, "dropout_rate_c")
    for option, value in (
        ("candidate_transform", candidate_transform),
        ("gate_nonlinearity", gate_nonlinearity),
        ("candidate_nonlinearity", candidate_nonlinearity),
    ):
        if isinstance(value, Layer):
            raise noted(
                TypeError(
                    f"{name}: {option} must make layers, and is one: {value}\n"
                    "  fix: lambda: …, which makes a new layer each time"
                )
            )
        function(name, option, value, "that makes a layer")

    def gate() -> list[Layer]:
        biased = Fn("AddBias", lambda x: x + sigmoid_bias)
        return [candidate_transform(), biased, gate_nonlinearity()]

    candidate = [
        cb.Dup(),
        gate(),
        cb.Multiply(),
        candidate_transform(),
        candidate_nonlinearity(),
        Dropout(rate=dropout_rate_c, mode=checked_mode(name, mode)),
    ]
    memory = memory_transform_fn() if memory_transform_fn else None
    return cb.Serial(cb.Branch(memory, gate(), candidate), cb.Gate())


def InnerSRUCell() -> Layer:
    """The part of an SRU that runs in sequence: maps ((1 - f) y, f, c) to (c', c').

    c' = f c + (1 - f) y, all of the same shape.

    Example:
      >>> from weft import layers as tl
      >>> rest, forget, cell = np.array([1.0]), np.array([0.5]), np.array([8.0])
      >>> tl.InnerSRUCell()((rest, forget, cell))
      (Array([5.], dtype=float32), Array([5.], dtype=float32))

    Source: arXiv:1709.02755; Trax documentation, `layers.InnerSRUCell`.
    """

    def step(rest: Any, forget: Any, cell: Any) -> Any:
        cell = forget * cell + rest
        return cell, cell

    return Fn("InnerSRUCell", step, n_out=2)


@takes_mode
def ScanSRUCell(mode: str, monkey_patched_mask: Any = None) -> Layer:
    """`InnerSRUCell` along axis 1.

    Args:
      mode: in "predict" the state is kept between calls.
      monkey_patched_mask: an object whose `get_layer()` returns a layer without inputs, which
        returns a mask [batch, 1, 1, length - 1] of the first piece: where it is zero, the positions
        after the first do not change the state. In mode "predict" only.
    Returns: a layer of three inputs, (1 - f) y and f, [batch, length, d], and the initial state
      [batch, d], and two outputs, all states and the last state.
    Example:
      >>> from weft import layers as tl
      >>> rest, forget = np.ones((1, 3, 1)), np.full((1, 3, 1), 0.5)
      >>> states, last = tl.ScanSRUCell("eval")((rest, forget, np.zeros((1, 1))))
      >>> states
      Array([[[1.  ],
              [1.5 ],
              [1.75]]], dtype=float32)
    Source: Trax, `layers.ScanSRUCell`.
    """
    checked_mode("ScanSRUCell", mode)
    if monkey_patched_mask is None:
        return cb.Scan(InnerSRUCell(), axis=1, mode=mode)
    if mode != "predict":
        raise noted(
            ValueError(
                f"ScanSRUCell: monkey_patched_mask is for mode 'predict' only; got mode {mode!r}"
            )
        )

    def counted(mask: Any, rest: Any) -> Any:
        batch, length = rest.shape[:2]
        weights = jnp.ones((batch, length), jnp.float32)
        if length > 1:
            mask = jnp.reshape(mask, (mask.shape[0], -1)) != 0
            weights = fastmath.dynamic_update_slice_in_dim(
                weights, jnp.broadcast_to(mask.astype(jnp.float32), (batch, mask.shape[1])), 1, 1
            )
        return weights, rest

    def step(weight: Any, rest: Any, forget: Any, cell: Any) -> Any:
        weight = weight[:, None]
        cell = (forget * cell + rest) * weight + (1.0 - weight) * cell
        return cell, cell

    return cb.Serial(
        monkey_patched_mask.get_layer(),
        Fn("CountedPositions", counted, n_out=2),
        cb.Scan(Fn("MaskedInnerSRUCell", step, n_out=2), axis=1, mode=mode),
    )


def SRU(n_units: int, activation: Layer | None = None, mode: str = "train") -> Layer:
    """A simple recurrent unit along axis 1: its matrix products do not depend on the state.

    r, f, y = the thirds of x w + b, the first two through σ; c' = f c + (1 - f) y; h = r
    activation(c') + (1 - r) x √3.

    Args:
      n_units: the features of the input and the outputs.
      activation: an activation layer; none by default.
      mode: in "predict" the state is kept between calls.
    Returns: a layer from floats [batch, length, n_units] to the same shape.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.SRU(3)
      >>> _ = layer.init(np.ones((2, 4, 3)))
      >>> layer(np.ones((2, 4, 3))).shape
      (2, 4, 3)
    Source: arXiv:1709.02755, with its scaling correction √3; Trax documentation, `layers.SRU`.
    """
    whole_number("SRU", "n_units", n_units)

    def gated(output: Any, forget: Any, rest: Any) -> Any:
        return rest * (1.0 - forget), forget, output

    def start(rest: Any, forget: Any, output: Any) -> Any:
        return rest, forget, _zero_state(output, n_units), output

    def highway(cell: Any, output: Any, x: Any) -> Any:
        return cell * output + x * (1.0 - output) * math.sqrt(3.0)

    # the number of sublayers (eight or nine) determines the random weights from a key
    return cb.Serial(
        cb.Branch(Dense(3 * n_units), []),
        cb.Split(n_items=3),
        cb.Parallel(Sigmoid(), Sigmoid()),
        Fn("Gated", gated, n_out=3),
        Fn("ZeroState", start, n_out=4),
        ScanSRUCell(mode=mode),
        cb.Select([0], n_in=2),
        activation if activation is not None else [],
        Fn("Highway", highway),
        name=f"SRU_{n_units}",
        sublayers_to_print=[],
    )


def _with_zero_state(features: int) -> Layer:
    """A layer that inserts a zero state below a sequence."""
    return cb.Branch([], Fn("MakeZeroState", lambda x: _zero_state(x, features)))


def _zero_state(x: Any, features: int) -> Any:
    if x.ndim != 3:
        raise ShapeError(
            f"expected a sequence [batch, length, features]; got shape {tuple(x.shape)}"
        )
    return jnp.zeros((x.shape[0], features), wide_dtype(x))


def _check_state(cell: str, state: Any, features: int) -> None:
    if state.shape[-1] != features:
        raise ShapeError(
            f"{cell}: expected a state of {features} features; got shape {tuple(state.shape)}"
        )
