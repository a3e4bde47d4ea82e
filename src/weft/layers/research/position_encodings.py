"""Encodings of positions: along axes, by waves, in digits, and without an end.

Each layer maps floats [batch, length, d] to the same shape. In mode "predict" a sequence comes in
pieces, one after the other, and the state is how far it has come.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import fastmath
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...user_lines import noted
from ..base import Layer
from ..checked_options import checked_mode, checked_rate
from ..initializers import RandomNormalInitializer, RandomUniformInitializer
from ..options import lengths, whole_number
from ..positional_encoding import dropped, frequencies, shape_of_sequence, within
from .counter_random import threefry_2x32_prange, threefry_2x32_prf
from .endless_positions import InfinitePositionalEncoding, TimeBinPositionalEncoding

__all__ = [
    "AxialPositionalEncoding",
    "FixedBasePositionalEncoding",
    "InfinitePositionalEncoding",
    "SinCosPositionalEncoding",
    "TimeBinPositionalEncoding",
    "threefry_2x32_prange",
    "threefry_2x32_prf",
]


NORMAL, SMALL = RandomNormalInitializer(1.0), RandomUniformInitializer(1e-4)


class AxialPositionalEncoding(Layer):
    """Adds trained vectors for the coordinates of a position on a grid.

    The sequence runs through the grid row by row. Each axis has a vector for each of its
    coordinates; a position gets those of its coordinates, one after the other: 64 + 64 vectors
    encode 4096 positions.

    Args:
      shape: lengths of the grid's axes; their product is the length of sequences.
      d_embs: features of each axis' vectors; their sum is the d of the input.
      kernel_initializer: what the vectors begin with.
      dropout: rate at which encodings aren't added, in mode "train".
      dropout_broadcast_dims: the axes of [batch, *shape, d] along which they are dropped together.
      mode: "train", "eval", "predict" or "viz".
    Inputs: floats [batch, length, d], or [batch, *shape, d].
    Outputs: the same shape.
    Weights: for each axis a of the grid, [1, ..., shape[a], ..., 1, d_embs[a]].
    Source: Kitaev et al., arXiv:2001.04451; Trax documentation, `AxialPositionalEncoding`.
    """

    def __init__(
        self,
        shape: Sequence[int] = (64, 64, 3),
        d_embs: Sequence[int] = (384, 384, 256),
        kernel_initializer: Callable[[Any, Any], Any] = NORMAL,
        dropout: float = 0.0,
        dropout_broadcast_dims: Sequence[int] = (),
        mode: str = "train",
    ):
        super().__init__()
        name = "AxialPositionalEncoding"
        self._shape = lengths(name, "shape", shape)
        self._d_embs = lengths(name, "d_embs", d_embs)
        if len(self._shape) != len(self._d_embs):
            raise noted(
                ValueError(
                    f"{name}: shape and d_embs must name as many axes; got {shape} and {d_embs}"
                )
            )
        self._kernel_initializer = kernel_initializer
        self._mode = checked_mode(name, mode)
        rate = checked_rate(name, dropout)
        self._dropout = rate if mode == "train" else 0.0
        self._needs_key = self._dropout > 0
        self._broadcast_dims = tuple(dropout_broadcast_dims)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """The vectors of each axis, and in mode "predict" the position."""
        depth = input_signature.shape[-1]
        if sum(self._d_embs) != depth:
            raise ShapeError(
                f"AxialPositionalEncoding: d_embs {self._d_embs} must add up to the {depth} "
                "features of the input"
            )
        keys = fastmath.random.split(self.rng, len(self._d_embs))
        rank = len(self._shape)
        weights = []
        for axis, features in enumerate(self._d_embs):
            lengths = [self._shape[axis] if a == axis else 1 for a in range(rank)]
            weights.append(self._kernel_initializer((1, *lengths, features), keys[axis]))
        self.weights = tuple(weights)
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors, with their positions added."""
        room, depth = math.prod(self._shape), sum(self._d_embs)
        batch = inputs.shape[0] if self._dropout else 1  # elements differ in what is dropped only
        grid = jnp.concatenate(
            [jnp.broadcast_to(w, (batch, *self._shape, w.shape[-1])) for w in self.weights], axis=-1
        )
        if self._mode == "predict":
            start, length = self.state, inputs.shape[1]
            if length > room:
                self._raise_length(inputs)
            table = jnp.reshape(grid, (1, room, depth))
            rows = fastmath.dynamic_slice_in_dim(table, start, length, 1)
            self.state = start + length
            return inputs + within(rows, start, length, room)
        if math.prod(inputs.shape[1:-1]) != room:
            self._raise_length(inputs)
        if self._dropout:
            grid = dropped(grid, self._dropout, self._broadcast_dims, self.rng)
        return inputs + jnp.reshape(grid, (batch, *inputs.shape[1:]))

    def _raise_length(self, inputs: Any) -> None:
        raise ShapeError(
            f"AxialPositionalEncoding: the grid {self._shape} has {math.prod(self._shape)} "
            f"positions; got inputs of shape {tuple(inputs.shape)}"
        )


class SinCosPositionalEncoding(Layer):
    """Adds sines of the position to the first half of the features, cosines to the second half.

    Feature i of a half has the wavelength 2π 10000^(2i/d). Nothing is trained, and there is no last
    position. In mode "train" the first position is random.

    Args:
      add_offset: the bound of random first positions, exclusive.
      dropout: rate at which encodings aren't added, in mode "train".
      dropout_broadcast_dims: the axes of [1, length, d] along which they are dropped together. With
        (-2,), a feature is dropped at all positions.
      start_from_zero_one_in: one in so many sequences begins at position 0.
      mode: "train", "eval", "predict" or "viz".
    Inputs: floats [batch, length, d], d even.
    Outputs: the same shape.
    Example:
      >>> layer = SinCosPositionalEncoding(mode="eval")
      >>> layer(np.zeros((1, 2, 2)))
      Array([[[0.       , 1.       ],
              [0.841471 , 0.5403023]]], dtype=float32)
    Source: arXiv:1706.03762; Trax documentation, `SinCosPositionalEncoding`.
    """

    def __init__(
        self,
        add_offset: int = 2048,
        dropout: float = 0.0,
        dropout_broadcast_dims: Sequence[int] = (-2,),
        start_from_zero_one_in: int = 2,
        mode: str = "train",
    ):
        super().__init__()
        name = "SinCosPositionalEncoding"
        self._add_offset = whole_number(name, "add_offset", add_offset)
        self._mode = checked_mode(name, mode)
        rate = checked_rate(name, dropout)
        self._dropout = rate if mode == "train" else 0.0
        self._broadcast_dims = tuple(dropout_broadcast_dims)
        self._from_zero = whole_number(name, "start_from_zero_one_in", start_from_zero_one_in)
        self._needs_key = mode == "train"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """No weights; in mode "predict" the position."""
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors, with their positions added."""
        _, length, depth = shape_of_sequence(self, inputs)
        if depth % 2:
            raise ShapeError(
                f"SinCosPositionalEncoding: the number of features must be even; got {depth}"
            )
        positions = jnp.arange(length, dtype=jnp.int32)
        if self._mode == "predict":
            positions = positions + self.state
            self.state = self.state + length
        elif self._mode == "train":
            key1, key2 = fastmath.random.split(self.rng, 2)
            start = fastmath.random.randint(key1, (), 0, self._add_offset)
            draw = fastmath.random.randint(key2, (), 0, self._from_zero)
            positions = positions + start * jnp.minimum(draw, 1)
        angles = positions.astype(jnp.float32)[:, None] * frequencies(depth).astype("float32")
        encoding = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)[None]
        if self._dropout:
            encoding = dropped(encoding, self._dropout, self._broadcast_dims, self.rng)
        return inputs + encoding


class FixedBasePositionalEncoding(Layer):
    """Adds, for each digit of the position, a trained vector times that digit.

    A position p is written in several bases. Digit i in base b is floor(p / b^i) mod b; it scales
    a vector of d / n_digits features; the digits' vectors stand side by side, and those of the
    bases are added. The first position gets a trained vector besides.

    In mode "train" each sequence begins at a random position, or at 0; and the encoding of a
    sequence is left out now and then. Beyond position min(bases)^n_digits results are NaN.

    Args:
      bases: the bases.
      n_digits: how many digits a position has; divides the d of the input.
      start_from_zero_one_in: one in so many sequences begins at position 0, in mode "train".
      base_dropout_one_in: one in so many sequences gets no encoding, in mode "train".
      mode: "train", "eval", "predict" or "viz".
      initializer: what the vectors begin with.
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Weights: for each base, for each digit, [1, d / n_digits]; and [1, 1, d] for the first position.
    Source: Trax documentation, `FixedBasePositionalEncoding`.
    """

    def __init__(
        self,
        bases: Sequence[int] = (11, 13, 14, 15),
        n_digits: int = 8,
        start_from_zero_one_in: int = 2,
        base_dropout_one_in: int = 100,
        mode: str = "train",
        initializer: Callable[[Any, Any], Any] = SMALL,
    ):
        super().__init__()
        name = "FixedBasePositionalEncoding"
        self._bases = lengths(name, "bases", bases, least=2)
        self._n_digits = whole_number(name, "n_digits", n_digits)
        if not self._bases or max(self._bases) ** self._n_digits >= 2**32:
            raise noted(
                ValueError(
                    f"{name}: expected at least one base, and numbers of n_digits below 2**32; "
                    f"got bases {bases} and n_digits {n_digits}"
                )
            )
        self._room = min(min(self._bases) ** self._n_digits, 2**31 - 1)
        self._from_zero = whole_number(name, "start_from_zero_one_in", start_from_zero_one_in)
        self._left_out = whole_number(name, "base_dropout_one_in", base_dropout_one_in)
        self._mode = checked_mode(name, mode)
        self._initializer = initializer
        self._needs_key = mode == "train"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """The vectors of digits, that of the first position, and in mode "predict" the position."""
        depth = input_signature.shape[-1]
        if depth % self._n_digits:
            raise ShapeError(
                f"FixedBasePositionalEncoding: the {depth} features of the input must be a "
                f"multiple of n_digits, {self._n_digits}"
            )
        key1, key2 = fastmath.random.split(self.rng, 2)
        width = depth // self._n_digits
        # Each base begins with the same vectors, as in Trax, whose weights these are.
        keys = fastmath.random.split(key1, self._n_digits)
        vectors = [[self._initializer((1, width), key) for key in keys] for _ in self._bases]
        self.weights = (vectors, self._initializer((1, 1, depth), key2))
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors, with their positions added."""
        batch, length, _ = shape_of_sequence(self, inputs)
        if length >= self._room:
            raise ShapeError(
                f"FixedBasePositionalEncoding: {length} positions do not fit {self._n_digits} "
                f"digits in base {min(self._bases)}"
            )
        vectors, first = self.weights
        positions = jnp.arange(length, dtype=jnp.int32)[None, :]
        kept = None
        if self._mode == "train":
            starts, kept = self._random_starts(batch, length)
            positions = positions + starts[:, None]
        elif self._mode == "predict":
            positions = positions + self.state
            first = first * jnp.where(self.state == 0, 1.0, 0.0).astype(first.dtype)
        encoding: Any = 0.0
        for base, of_digits in zip(self._bases, vectors, strict=True):
            encoding = encoding + _digits_times_vectors(positions, base, of_digits)
        if kept is not None:
            encoding = encoding * kept[:, None, None]
        rest = jnp.zeros((1, length - 1, inputs.shape[-1]), first.dtype)
        encoding = encoding + jnp.concatenate([first, rest], axis=1)
        if self._mode == "predict":
            encoding = within(encoding, self.state, length, self._room)
            self.state = self.state + length
        return inputs + encoding

    def _random_starts(self, batch: int, length: int) -> tuple[Any, Any]:
        """First positions [batch], and 1.0 or 0.0 [batch] for sequences that get an encoding."""
        keys = fastmath.random.split(self.rng, 3)
        randint = fastmath.random.randint
        moved = jnp.minimum(randint(keys[0], (batch,), 0, self._from_zero), 1)
        starts = randint(keys[1], (batch,), 0, self._room - length) * moved
        kept = jnp.minimum(randint(keys[2], (batch,), 0, self._left_out), 1)
        return starts, kept.astype(jnp.float32)


def _digits_times_vectors(positions: Any, base: int, vectors: Sequence[Any]) -> Any:
    """[batch, length] positions as floats [batch, length, d]: each digit times its vector."""
    parts = []
    for i, vector in enumerate(vectors):
        digit = (positions // base**i) % base
        parts.append(digit.astype(jnp.float32)[..., None] * vector)
    return jnp.concatenate(parts, axis=-1)
