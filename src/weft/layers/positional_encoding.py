"""Adds positions to vectors: a trained table, initialized with sines and cosines, and dropout of
positions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as onp

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..option_checks import checked_mode, checked_rate, number, whole_number
from .assert_shape import assert_shape
from .base import Layer
from .initializers import GlorotUniformInitializer

WAVELENGTHS = 10000.0  # the ratio of the longest to the shortest wavelength


@assert_shape("...d->...d")
class PositionalEncoding(Layer):
    """Adds to each vector of a sequence a vector for its position.

    The position vectors are trained; they are initialized with sin(p / 10000^(i/d)) in the even
    channels i, and the cosine in the odd ones. Mode "predict" takes sequences in pieces: the state
    is the number of positions so far, and beyond `max_len` the results are NaN.

    Args:
      max_len: the number of positions in the table.
      dropout: the rate at which encodings are dropped, in mode "train"; the others are divided by 1
        - dropout.
      dropout_broadcast_dims: the axes of [1, length, d] along which encodings are dropped together.
        With (-2,), a channel is dropped at all positions; with (-1,), a position in all channels.
      use_bfloat16: whether the table is bfloat16.
      start_from_zero_prob: the probability, in mode "train", that the first position is 0;
        otherwise it is random.
      max_offset_to_add: the bound of random first positions, exclusive. Its sum with the length of
        the sequence must not exceed `max_len`.
      d_feature: the features of the table, which a trained matrix maps to the features of the
        vectors; by default, those of the vectors.
      mode: "train", "eval", "predict" or "viz".
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Weights: the table [max_len, d]; or (table [max_len, d_feature], matrix [d_feature, d]).
    Example:
      >>> layer, x = PositionalEncoding(max_len=4, mode="eval"), np.zeros((1, 2, 2))
      >>> _ = layer.init(x)
      >>> layer(x)
      Array([[[0.        , 1.        ],
              [0.84147096, 0.5403023 ]]], dtype=float32)
    Source: arXiv:1706.03762; Trax documentation, `layers.PositionalEncoding`.
    """

    def __init__(
        self,
        max_len: int = 2048,
        dropout: float = 0.0,
        dropout_broadcast_dims: Sequence[int] = (-2,),
        use_bfloat16: bool = False,
        start_from_zero_prob: float = 1.0,
        max_offset_to_add: int = 0,
        d_feature: int | None = None,
        mode: str = "train",
    ):
        super().__init__()
        name = "PositionalEncoding"
        self._max_len = whole_number(name, "max_len", max_len)
        self._mode = checked_mode(name, mode)
        rate = checked_rate(name, dropout)
        self._dropout = rate if mode == "train" else 0.0
        self._broadcast_dims = tuple(dropout_broadcast_dims)
        self._use_bfloat16 = use_bfloat16
        self._start_from_zero_prob = number(
            name, "start_from_zero_prob", start_from_zero_prob, least=0.0, most=1.0
        )
        self._offsets = whole_number(name, "max_offset_to_add", max_offset_to_add, least=0)
        self._d_feature = None if d_feature is None else whole_number(name, "d_feature", d_feature)
        self._random_start = mode == "train" and start_from_zero_prob < 1.0 and self._offsets > 0
        self._needs_key = self._dropout > 0 or self._random_start

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the table; in mode "predict", the state is the position."""
        *_, features = shape_of_sequence(self, input_signature)
        depth = self._d_feature or features
        table = jnp.asarray(wave_table(self._max_len, depth))
        if self._use_bfloat16:
            table = table.astype(jnp.bfloat16)
        if self._d_feature is None:
            self.weights = table
        else:
            self.weights = (table, GlorotUniformInitializer()((depth, features), self.rng))
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors with their positions added."""
        length, room = inputs.shape[1], self._max_len
        needed = length + (self._offsets - 1 if self._random_start else 0)
        if needed > room:
            raise ShapeError(
                f"PositionalEncoding: {needed} positions do not fit the table of {room}\n"
                f"  fix: max_len={needed}, or more"
            )
        table, matrix = (self.weights, None) if self._d_feature is None else self.weights
        table = jnp.reshape(table, table.shape[-2:])  # older checkpoints have an additional axis
        if self._mode == "predict":
            start = self.state
            rows = within(fastmath.dynamic_slice_in_dim(table, start, length), start, length, room)
            self.state = start + length
        elif self._random_start:
            rows = fastmath.dynamic_slice_in_dim(table, self._start(), length)
        else:
            rows = table[:length]
        if matrix is not None:
            rows = jnp.matmul(rows, matrix)
        encoding = rows[None]
        if self._dropout:
            encoding = dropped(encoding, self._dropout, self._broadcast_dims, self.rng)
        return inputs + encoding

    def _start(self) -> Any:
        key1, key2 = fastmath.random.split(self.rng, 2)
        start = fastmath.random.randint(key1, (), 0, self._offsets)
        from_zero = fastmath.random.uniform(key2, (), jnp.float32) < self._start_from_zero_prob
        return jnp.where(from_zero, jnp.zeros_like(start), start)


def wave_table(length: int, depth: int) -> onp.ndarray:
    """Sines of positions in the even channels, cosines in the odd ones: float32 [length, depth]."""
    if depth % 2:
        raise ShapeError(
            f"sines and cosines of positions need an even number of features; got {depth}"
        )
    angles = onp.arange(length)[:, None] * frequencies(depth)
    waves = onp.stack([onp.sin(angles), onp.cos(angles)], axis=-1)
    return waves.reshape(length, depth).astype("float32")


def frequencies(depth: int) -> onp.ndarray:
    """10000^(-i/depth) for even i below depth: float64 [depth / 2]."""
    return onp.exp(onp.arange(0, depth, 2) * (-math.log(WAVELENGTHS) / depth))


def dropped(encoding: Any, rate: float, broadcast_dims: Sequence[int], rng: Any) -> Any:
    """The encoding with random zeros at this rate, the same along the axes of `broadcast_dims`."""
    shape = list(encoding.shape)
    for axis in broadcast_dims:
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(f"dropout_broadcast_dims: no axis {axis} in shape {tuple(shape)}")
        shape[axis] = 1
    keep = fastmath.random.bernoulli(rng, 1.0 - rate, tuple(shape))
    return encoding * (keep.astype(encoding.dtype) / (1.0 - rate))


def within(values: Any, start: Any, length: int, room: int) -> Any:
    """The values, or NaN if start + length exceeds the room, because errors cannot be raised under
    `jit`."""
    return jnp.where(start + length <= room, values, jnp.full((), math.nan, values.dtype))


def shape_of_sequence(layer: Layer, x: Any) -> tuple[int, int, int]:
    """(batch, length, features) of an array or its signature."""
    if len(x.shape) != 3:
        raise ShapeError(
            f"{layer.name}: expected vectors [batch, length, features]; got shape {tuple(x.shape)}"
        )
    batch, length, features = x.shape
    return batch, length, features
