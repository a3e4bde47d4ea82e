"""AxialPositionalEncoding, SinCosPositionalEncoding, FixedBasePositionalEncoding,
InfinitePositionalEncoding and TimeBinPositionalEncoding.

Each layer maps floats [batch, length, d] to the same shape. In mode "predict" a sequence arrives in
pieces, and the state is the next position.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ... import fastmath
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, checked_rate, choice, flag, lengths, number, whole_number
from ...user_lines import noted
from ..base import Layer
from ..initializers import OrthogonalInitializer, RandomNormalInitializer, RandomUniformInitializer
from ..positional_encoding import dropped, frequencies, shape_of_sequence, within
from .threefry import counters, threefry, threefry_2x32_prange, threefry_2x32_prf

__all__ = [
    "AxialPositionalEncoding",
    "FixedBasePositionalEncoding",
    "InfinitePositionalEncoding",
    "SinCosPositionalEncoding",
    "TimeBinPositionalEncoding",
    "threefry_2x32_prange",
    "threefry_2x32_prf",
]


GRID_INITIALIZER, DIGIT_INITIALIZER = RandomNormalInitializer(1.0), RandomUniformInitializer(1e-4)


class AxialPositionalEncoding(Layer):
    """Adds trained vectors for the coordinates of a position on a grid.

    The sequence runs through the grid row by row. Each axis has a vector for each coordinate; the
    encoding of a position concatenates the vectors of its coordinates. So 64 + 64 vectors encode
    4096 positions.

    Args:
      shape: the lengths of the grid's axes; their product is the length of sequences.
      d_embs: the features of each axis' vectors; their sum is the input's d.
      kernel_initializer: initializes the vectors.
      dropout: the rate at which encodings are dropped, in mode "train".
      dropout_broadcast_dims: the axes of [batch, *shape, d] along which they are dropped together.
      mode: "train", "eval", "predict" or "viz".
    Inputs: floats [batch, length, d], or [batch, *shape, d].
    Outputs: the same shape.
    Weights: for each axis a of the grid, [1, ..., shape[a], ..., 1, d_embs[a]].
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.AxialPositionalEncoding(shape=(3, 4), d_embs=(2, 6), mode="eval")
      >>> x = np.zeros((1, 12, 8))
      >>> weights, _ = layer.init(x)
      >>> layer(x).shape, [w.shape for w in weights]
      ((1, 12, 8), [(1, 3, 1, 2), (1, 1, 4, 6)])
    Source: Kitaev et al., arXiv:2001.04451; Trax documentation, `AxialPositionalEncoding`.
    """

    def __init__(
        self,
        shape: Sequence[int] = (64, 64, 3),
        d_embs: Sequence[int] = (384, 384, 256),
        kernel_initializer: Callable[[Any, Any], Any] = GRID_INITIALIZER,
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
        """Makes the vectors of each axis; in mode "predict", the state is the position."""
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
        """The vectors with their positions added."""
        room, depth = math.prod(self._shape), sum(self._d_embs)
        batch = inputs.shape[0] if self._dropout else 1  # elements differ only in dropout
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

    Feature i of a half has the wavelength 2π 10000^(2i/d). It has no trained weights, and the
    number of positions is unlimited. In mode "train" the first position is random.

    Args:
      add_offset: the bound of random first positions, exclusive.
      dropout: the rate at which encodings are dropped, in mode "train".
      dropout_broadcast_dims: the axes of [1, length, d] along which they are dropped together. With
        (-2,), a feature is dropped at all positions.
      start_from_zero_one_in: a number n; one in n sequences begins at position 0.
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
        """Makes no weights; in mode "predict", the state is the position."""
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors with their positions added."""
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

    A position p is written in several bases. Digit i in base b is floor(p / b^i) mod b; it scales a
    vector of d / n_digits features. The vectors of the digits are concatenated, and the results for
    the bases are added. The first position has an additional trained vector. In mode "train" each
    sequence begins at a random position, or at 0, and the encodings of random sequences are
    omitted. Beyond position min(bases)^n_digits results are NaN.

    Args:
      bases: the bases.
      n_digits: the number of digits of a position; divides the input's d.
      start_from_zero_one_in: a number n; one in n sequences begins at position 0, in mode "train".
      base_dropout_one_in: a number n; one in n sequences gets no encoding, in mode "train".
      mode: "train", "eval", "predict" or "viz".
      initializer: initializes the vectors.
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Weights: for each base, for each digit, [1, d / n_digits]; and [1, 1, d] for the first position.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.FixedBasePositionalEncoding(bases=(10,), n_digits=2, mode="eval")
      >>> x = np.zeros((1, 5, 8))
      >>> _ = layer.init(x)
      >>> layer(x).shape
      (1, 5, 8)
    Source: Trax documentation, `FixedBasePositionalEncoding`.
    """

    def __init__(
        self,
        bases: Sequence[int] = (11, 13, 14, 15),
        n_digits: int = 8,
        start_from_zero_one_in: int = 2,
        base_dropout_one_in: int = 100,
        mode: str = "train",
        initializer: Callable[[Any, Any], Any] = DIGIT_INITIALIZER,
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
        """Makes the vectors of digits and the vector of the first position; in mode "predict", the
        state is the position."""
        depth = input_signature.shape[-1]
        if depth % self._n_digits:
            raise ShapeError(
                f"FixedBasePositionalEncoding: the {depth} features of the input must be a "
                f"multiple of n_digits, {self._n_digits}"
            )
        key1, key2 = fastmath.random.split(self.rng, 2)
        width = depth // self._n_digits
        # all bases have the same initial vectors, as in Trax
        keys = fastmath.random.split(key1, self._n_digits)
        vectors = [[self._initializer((1, width), key) for key in keys] for _ in self._bases]
        self.weights = (vectors, self._initializer((1, 1, depth), key2))
        if self._mode == "predict":
            self.state = jnp.zeros((), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors with their positions added."""
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
        zeros = jnp.zeros((1, length - 1, inputs.shape[-1]), first.dtype)
        encoding = encoding + jnp.concatenate([first, zeros], axis=1)
        if self._mode == "predict":
            encoding = within(encoding, self.state, length, self._room)
            self.state = self.state + length
        return inputs + encoding

    def _random_starts(self, batch: int, length: int) -> tuple[Any, Any]:
        """The first positions [batch], and 1.0 [batch] for sequences that get an encoding,
        otherwise 0.0."""
        keys = fastmath.random.split(self.rng, 3)
        randint = fastmath.random.randint
        moved = jnp.minimum(randint(keys[0], (batch,), 0, self._from_zero), 1)
        starts = randint(keys[1], (batch,), 0, self._room - length) * moved
        kept = jnp.minimum(randint(keys[2], (batch,), 0, self._left_out), 1)
        return starts, kept.astype(jnp.float32)


def _digits_times_vectors(positions: Any, base: int, vectors: Sequence[Any]) -> Any:
    """[batch, length] positions as floats [batch, length, d]: each digit multiplied by its
    vector."""
    parts = []
    for i, vector in enumerate(vectors):
        digit = (positions // base**i) % base
        parts.append(digit.astype(jnp.float32)[..., None] * vector)
    return jnp.concatenate(parts, axis=-1)


NOISE_KEY = (onp.uint32(4174489716), onp.uint32(303878026))
"""The key of the random walk: `split(PRNGKey(234234535))[0]` in the classic stream."""


class InfinitePositionalEncoding(Layer):
    """Adds waves of all lengths; their phases drift on a fixed random walk.

    Channels 2k and 2k+1 at time t are cos 2π(f_k t + w_k(t)/4 + a) and the same a quarter of a
    cycle later: f_k is a frequency from ½ down, w_k a walk with random steps of variance about
    `drift`, and `a` a phase that is drawn at every call (once for each sequence in mode "predict").

    Args:
      drift: the variance of a step.
      affine: whether to add a random phase.
      transform: the trained part: "any", a matrix [d, d]; "diag", a factor for each channel;
        "none", no weights.
      time_bin_length: if given, the last three channels are `TimeBinPositionalEncoding`'s.
      mode: "train", "eval", "predict" or "viz". In "predict" a call takes one position; the state
        is (next position of each sequence, int32 [batch]; the key of the phases).
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Weights: [d, d], [d] or none, by `transform`.
    Example:
      >>> from weft import layers as tl
      >>> layer, x = tl.InfinitePositionalEncoding(affine=False, mode="eval"), np.zeros((1, 5, 8))
      >>> _ = layer.init(x)
      >>> layer(x).shape
      (1, 5, 8)
    Source: Trax documentation, `InfinitePositionalEncoding`.
    """

    def __init__(
        self,
        drift: float = 0.03,
        affine: bool = True,
        transform: str = "any",
        time_bin_length: int | None = None,
        mode: str = "train",
    ):
        super().__init__()
        name = "InfinitePositionalEncoding"
        self._drift = float(number(name, "drift", drift, above=0.0))
        self._affine = flag(name, "affine", affine)
        self._transform = choice(name, "transform", transform, ("any", "diag", "none"))
        self._bin_length = (
            None
            if time_bin_length is None
            else whole_number(name, "time_bin_length", time_bin_length)
        )
        self._mode = checked_mode(name, mode)
        self._needs_key = affine and mode != "predict"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the trained weights; in mode "predict", the state is the positions and the key."""
        depth = input_signature.shape[-1]
        if self._bin_length is not None and depth < 3:
            raise ShapeError(
                "InfinitePositionalEncoding: the three features of bins do not fit vectors of "
                f"{depth} features"
            )
        if self._transform == "diag":
            self.weights = jnp.full((depth,), 1e-4, jnp.float32)
        elif self._transform == "any":
            self.weights = OrthogonalInitializer()((depth, depth), self.rng)
        if self._mode == "predict":
            batch = input_signature.shape[0]
            self.state = (jnp.zeros((batch,), jnp.int32), self.rng)

    def forward(self, inputs: Any) -> Any:
        """The vectors with their positions added."""
        _, length, depth = shape_of_sequence(self, inputs)
        if self._mode != "predict":
            cycles = jnp.asarray(fixed_cycles(length, depth, self._drift))
            times = jnp.arange(length, dtype=jnp.int32)
            rng = self.rng if self._needs_key else None
            return inputs + self._transformed(self._waves(cycles, times, rng)[None])
        if length != 1:
            raise ShapeError(
                "InfinitePositionalEncoding: in mode 'predict' a call takes one position, "
                f"[batch, 1, {depth}]; got shape {tuple(inputs.shape)}"
            )
        times, rng = self.state
        waves = self._waves(cycles_at(times, depth, self._drift), times, rng)
        self.state = (times + 1, rng)
        return inputs + self._transformed(waves[:, None, :])

    def _waves(self, cycles: Any, times: Any, rng: Any) -> Any:
        """Waves [n, d] at n times, including all phases except the random one."""
        depth = cycles.shape[-1]
        if self._affine:
            phases = fastmath.random.uniform(rng, (1, depth), jnp.float32, 0.0, 1.0)
            cycles = cycles + phases
        waves = jnp.cos(cycles * (2 * math.pi))
        if self._bin_length is not None:
            waves = jnp.concatenate([waves[:, :-3], bin_features(times, self._bin_length)], axis=-1)
        return waves

    def _transformed(self, waves: Any) -> Any:
        if self._transform == "any":
            return jnp.matmul(waves, self.weights)
        if self._transform == "diag":
            return waves * jnp.logaddexp(self.weights, jnp.zeros_like(self.weights))
        return waves


class TimeBinPositionalEncoding(Layer):
    """Puts features of the position into the last three channels.

    For bins of length T, they are 1 / (1 + floor(t / T)), (t mod T) / T and floor(t / T) mod 2. An
    input with fewer than three channels gets only the last features.

    Args:
      time_bin_length: the number of positions in a bin.
      mode: "train", "eval", "predict" or "viz". In "predict" a call takes one position, and the
        state is the next position of each sequence, int32 [batch].
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Example:
      >>> TimeBinPositionalEncoding(2, mode="eval")(np.zeros((1, 3, 3)))
      Array([[[1. , 0. , 0. ],
              [1. , 0.5, 0. ],
              [0.5, 0. , 1. ]]], dtype=float32)
    Source: Trax documentation, `TimeBinPositionalEncoding`.
    """

    num_features = 3
    _needs_key = False

    def __init__(self, time_bin_length: int, mode: str = "train"):
        super().__init__()
        name = "TimeBinPositionalEncoding"
        self._bin_length = whole_number(name, "time_bin_length", time_bin_length)
        self._mode = checked_mode(name, mode)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes no weights; in mode "predict", the state is the positions."""
        if self._mode == "predict":
            self.state = jnp.zeros((input_signature.shape[0],), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors with the features in their last channels."""
        batch, length, depth = shape_of_sequence(self, inputs)
        if self._mode == "predict":
            if length != 1:
                raise ShapeError(
                    "TimeBinPositionalEncoding: in mode 'predict' a call takes one position, "
                    f"[batch, 1, {depth}]; got shape {tuple(inputs.shape)}"
                )
            features = bin_features(self.state, self._bin_length)[:, None, :]
            self.state = self.state + 1
        else:
            times = jnp.arange(length, dtype=jnp.int32)
            features = bin_features(times, self._bin_length)[None]
            features = jnp.broadcast_to(features, (batch, length, self.num_features))
        features = features.astype(inputs.dtype)
        kept = inputs[..., : max(depth - self.num_features, 0)]
        return jnp.concatenate([kept, features], axis=-1)[..., -depth:]


def bin_features(times: Any, length: int) -> Any:
    """Three features for integer times [n]: float32 [n, 3]."""
    bins = times // length
    within = (times % length).astype(jnp.float32) / length
    parity = (bins % 2).astype(jnp.float32)
    return jnp.stack([1.0 / (1.0 + bins.astype(jnp.float32)), within, parity], axis=-1)


def drifting_frequencies(depth: int, drift: float) -> tuple[onp.ndarray, onp.ndarray]:
    """The cycles per step of each channel, and its phase: float64 [depth]."""
    waves = (depth + 1) // 2
    if depth > 2:
        drift = drift ** (waves / (depth // 2))
    channels = onp.arange(depth)
    spread = onp.geomspace(0.5, 0.5 * drift**2, num=waves)
    return spread[channels // 2], (channels % 2) / 4


def step_of_a_bit(drift: float) -> float:
    """The number of cycles by which a random word of value 1 moves a wave."""
    return math.sqrt(3.0 * drift) / (2**31 - 1) / 4


def fixed_cycles(length: int, depth: int, drift: float) -> onp.ndarray:
    """The phase of each channel's wave at the times below `length`: float32 [length, depth], below
    1. It is computed in float64 on the host, because a float32 sum of many steps would be wrong by
    a cycle.
    """
    frequency, phase = drifting_frequencies(depth, drift)
    waves = (depth + 1) // 2
    words = counters(0, length * waves)
    bits, _ = threefry(NOISE_KEY, (words[:, 0], words[:, 1]))
    walk = onp.cumsum(bits.reshape(length, waves) * step_of_a_bit(drift), axis=0)
    times = onp.arange(length)[:, None]
    cycles = phase + frequency * times + walk[:, onp.arange(depth) // 2]
    return (cycles % 1.0).astype(onp.float32)


def cycles_at(times: Any, depth: int, drift: float) -> Any:
    """The phases of `fixed_cycles` at times [batch], which may be traced: float32 [batch, depth].

    A loop adds up the random steps, to the latest time.
    """
    frequency, phase = drifting_frequencies(depth, drift)
    waves = (depth + 1) // 2
    columns = onp.arange(waves, dtype=onp.uint32)
    scale = step_of_a_bit(drift)

    def step(t: Any, walk: Any) -> Any:
        counter = t.astype(jnp.uint32) * onp.uint32(waves) + columns
        bits, _ = threefry(NOISE_KEY, (counter, jnp.zeros_like(counter)))
        moved = (walk + bits.astype(jnp.float32) * scale) % 1.0
        return jnp.where((t <= times)[:, None], moved, walk)

    walk = jnp.zeros((times.shape[0], waves), jnp.float32)
    walk = fastmath.fori_loop(0, jnp.max(times) + 1, step, walk)
    turns = times.astype(jnp.float32)[:, None] * frequency.astype("float32") % 1.0
    return phase.astype("float32") + turns + walk[:, onp.arange(depth) // 2]
