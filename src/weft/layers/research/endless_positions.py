"""Encodings of positions without a last one: a drifting walk of waves, and features of bins."""

import math
from typing import Any

import numpy as onp

from ... import fastmath
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ..base import Layer
from ..checked_options import checked_mode
from ..initializers import OrthogonalInitializer
from ..options import choice, flag, number, whole_number
from ..positional_encoding import shape_of_sequence
from .counter_random import counters, threefry

NOISE_KEY = (onp.uint32(4174489716), onp.uint32(303878026))
"""The key of the walk: what the classic streams give for `split(PRNGKey(234234535))[0]`."""


class InfinitePositionalEncoding(Layer):
    """Adds waves of all lengths, whose phases drift on a fixed random walk.

    Channels 2k and 2k+1 at time t are cos 2π(f_k t + w_k(t)/4 + a) and the same a quarter of a
    cycle later: f_k is a frequency from ½ down, w_k a walk with random steps of variance about
    `drift`, and `a` a phase that is drawn at every call (of each sequence in mode "predict").

    Args:
      drift: variance of a step.
      affine: whether a random phase is added.
      transform: what is trained: "any", a matrix [d, d]; "diag", a factor for each channel; "none",
        nothing.
      time_bin_length: if given, the last three channels are those of `TimeBinPositionalEncoding`.
      mode: "train", "eval", "predict" or "viz". In "predict" a call takes one position; the state
        is (next position of each sequence, int32 [batch]; the key of the phases).
    Inputs: floats [batch, length, d].
    Outputs: the same shape.
    Weights: [d, d], [d] or none, by `transform`.
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
        """The trained weights, and in mode "predict" the positions and the key."""
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
        """The vectors, with their positions added."""
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
        """Waves [n, d] at n times, of their phases but for the random one."""
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

    With T the length of a bin, they are 1 / (1 + floor(t / T)), (t mod T) / T and floor(t / T) mod
    2. An input of fewer than three channels gets the last of them.

    Args:
      time_bin_length: positions in a bin.
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
        """No weights; in mode "predict" the positions."""
        if self._mode == "predict":
            self.state = jnp.zeros((input_signature.shape[0],), jnp.int32)

    def forward(self, inputs: Any) -> Any:
        """The vectors, with the features in their last channels."""
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
    """Three features of integer times [n]: float32 [n, 3]."""
    bins = times // length
    within = (times % length).astype(jnp.float32) / length
    parity = (bins % 2).astype(jnp.float32)
    return jnp.stack([1.0 / (1.0 + bins.astype(jnp.float32)), within, parity], axis=-1)


def frequencies(depth: int, drift: float) -> tuple[onp.ndarray, onp.ndarray]:
    """Cycles in a step of each channel, and its phase: float64 [depth]."""
    waves = (depth + 1) // 2
    if depth > 2:
        drift = drift ** (waves / (depth // 2))
    channels = onp.arange(depth)
    spread = onp.geomspace(0.5, 0.5 * drift**2, num=waves)
    return spread[channels // 2], (channels % 2) / 4


def step_of_a_bit(drift: float) -> float:
    """By how many cycles a random word of 1 moves a wave."""
    return math.sqrt(3.0 * drift) / (2**31 - 1) / 4


def fixed_cycles(length: int, depth: int, drift: float) -> onp.ndarray:
    """The phase of each channel's wave at the times below `length`:
    float32 [length, depth], below 1.

    Computed in float64 on the host: a sum of many steps in float32 would be off by a cycle.
    """
    frequency, phase = frequencies(depth, drift)
    waves = (depth + 1) // 2
    words = counters(0, length * waves)
    bits, _ = threefry(NOISE_KEY, (words[:, 0], words[:, 1]))
    walk = onp.cumsum(bits.reshape(length, waves) * step_of_a_bit(drift), axis=0)
    times = onp.arange(length)[:, None]
    cycles = phase + frequency * times + walk[:, onp.arange(depth) // 2]
    return (cycles % 1.0).astype(onp.float32)


def cycles_at(times: Any, depth: int, drift: float) -> Any:
    """The same at times [batch], which may be traced: float32 [batch, depth].

    The walk is summed step by step, in a loop up to the latest time.
    """
    frequency, phase = frequencies(depth, drift)
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
