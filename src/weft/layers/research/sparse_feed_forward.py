"""A feed-forward block with a small controller that chooses one unit in each block of units.

Source: Jaszczur et al. (2021), Sparse is Enough in Scaling Transformers, arXiv:2111.12763.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import fastmath
from ...fastmath import numpy as jnp
from ...option_checks import (
    INITIALIZER_SIGNATURE,
    checked_mode,
    checked_rate,
    divided,
    flag,
    function,
    number,
    whole_number,
)
from .. import combinators as cb
from ..base import Layer
from ..dropout import Dropout
from ..embedding import one_hot
from ..initializers import GlorotUniformInitializer, RandomNormalInitializer
from ..recipes import takes_mode
from ..softmax import log_softmax

_KERNEL_INITIALIZER = GlorotUniformInitializer()
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)
_FIRST_TIME: dict[str, tuple[()]] = {"running_second_time": ()}
_SECOND_TIME = "running_second_time_yes"


def chosen(log_probabilities: Any, temperature: float, rng: Any) -> Any:
    """Chooses indices along the last axis: the most likely ones, or random ones with Gumbel noise.

    Args:
      log_probabilities: floats [..., n].
      temperature: 0 takes the most likely; 1 draws by the probabilities.
      rng: the random key, for a temperature above 0.
    Returns: int32 [...].
    """
    if temperature:
        u = fastmath.random.uniform(rng, log_probabilities.shape, jnp.float32, 1e-6, 1.0 - 1e-6)
        noise = -jnp.log(-jnp.log(u))
        log_probabilities = log_probabilities + temperature * noise.astype(log_probabilities.dtype)
    return jnp.argmax(log_probabilities, axis=-1).astype(jnp.int32)


def straight_through(code: Any, probabilities: Any) -> Any:
    """The values of `code` with the derivative of `probabilities`."""
    return probabilities + fastmath.stop_gradient(code - probabilities)


class RememberInReverse(Layer):
    """Keeps its input as state, for a reversible network's backward pass, and returns it.

    In the backward pass, which `ReversibleHalfResidual` marks by a flag in the state, it returns
    the input of the forward pass instead of its own input.

    Args:
      output: whether there is an output.
      mode: the input is kept in "train" only; in other modes the state does not change.
    Inputs: integers of any shape.
    Outputs: the same, or none. The state is (input of the last call, a flag).
    """

    _needs_key = False

    def __init__(self, output: bool = True, mode: str = "train"):
        self._output = flag("RememberInReverse", "output", output)
        self._mode = checked_mode("RememberInReverse", mode)
        super().__init__(n_out=1 if output else 0, name="RememberInReverse")

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes no weights; the state is zeros."""
        self.state = (jnp.zeros(input_signature.shape, jnp.int32), _FIRST_TIME)

    def forward(self, x: Any) -> Any:
        """The input, or the stored value."""
        kept, mark = self.state
        result = kept if _SECOND_TIME in mark else x
        if self._mode == "train":
            self.state = (x, _FIRST_TIME)
        return result if self._output else ()


class RecallQuantMaskInReverse(Layer):
    """Returns its input and the value kept by a `RememberInReverse` layer: 1 -> 2.

    Args:
      remember_layer: that layer; its state must be set before this layer is called.
      elements: the number of values kept for each example.
    Inputs: [batch, ...].
    Outputs: the same, and int32 [batch, elements]: -1, or in the backward pass of a reversible
      network the values kept in the forward pass.
    """

    _needs_key = False

    def __init__(self, remember_layer: RememberInReverse, elements: int):
        super().__init__(n_out=2, name="RecallQuantMaskInReverse")
        self._remember_layer = remember_layer
        self._elements = whole_number("RecallQuantMaskInReverse", "elements", elements)

    def forward(self, x: Any) -> Any:
        """The input, and the stored value."""
        state = self._remember_layer.state
        if state and _SECOND_TIME in state[1]:
            return x, state[0]
        return x, jnp.full((x.shape[0], self._elements), -1, jnp.int32)


class SparseFFController(Layer):
    """Chooses a unit in each block: maps (x, choices to repeat) to (choices, their probabilities).

    logits = x · m1 · m2 + mb, for each block of units.

    Args:
      n_blocks: the number of blocks.
      n_units: the number of units in a block.
      d_lowrank: the features between m1 and m2.
      temperature: the temperature for drawing choices in mode "train".
      mode: "train", "eval", "predict" or "viz".
      kernel_initializer, bias_initializer: functions of (shape, rng).
      use_bfloat16: whether the weights are bfloat16.
      multiply_by_controller_output: whether all modes return probabilities; otherwise only "train"
        does.
    Inputs: floats [rows, d]; int32 [rows, n_blocks], where -1 means that there is no choice to
      repeat.
    Outputs: int32 [rows, n_blocks], and floats [rows, n_blocks, n_units].
    """

    def __init__(
        self,
        n_blocks: int,
        n_units: int,
        d_lowrank: int,
        temperature: float,
        mode: str,
        kernel_initializer: Callable[..., Any],
        bias_initializer: Callable[..., Any],
        use_bfloat16: bool,
        multiply_by_controller_output: bool,
    ):
        self._has_mask = mode == "train" or multiply_by_controller_output
        super().__init__(n_in=2, n_out=2 if self._has_mask else 1)
        self._shape = (n_blocks, n_units)
        self._d_lowrank = d_lowrank
        self._temperature = temperature if mode == "train" else 0.0
        self._mode = mode
        self._initializers = kernel_initializer, bias_initializer
        self._use_bfloat16 = use_bfloat16
        self._needs_key = self._temperature > 0

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes m1 [d, d_lowrank], m2 [d_lowrank, n_blocks, n_units] and mb [n_blocks,
        n_units]."""
        depth, low, d_ff = input_signature[0].shape[-1], self._d_lowrank, math.prod(self._shape)
        kernel, bias = self._initializers
        keys = fastmath.random.split(self.rng, 3)
        m1 = kernel((depth, low), keys[0])
        m2 = jnp.reshape(kernel((low, d_ff), keys[1]), (low, *self._shape))
        mb = jnp.reshape(bias((d_ff,), keys[2]), self._shape)
        matrices = (m1, m2, mb)
        self.weights = tuple(as_bfloat16(w) for w in matrices) if self._use_bfloat16 else matrices

    def forward(self, inputs: Any) -> Any:
        """The choices, and the probabilities."""
        x, recalled = inputs
        m1, m2, mb = self.weights
        blocks = jnp.matmul(jnp.matmul(x, m1), jnp.reshape(m2, (m2.shape[0], -1)))
        logits = jnp.reshape(blocks, (-1, *self._shape)) + mb
        if not self._has_mask:
            return chosen(logits, 0.0, None)
        log_mask = log_softmax(logits, axis=-1)
        rng = self.rng if self._needs_key else None
        quant = chosen(log_mask, self._temperature, rng)
        if self._mode == "train":
            quant = jnp.where(recalled == -1, quant, recalled)
        return quant, jnp.exp(log_mask)


class SparseFFMain(Layer):
    """The two matrices of a feed-forward block; only the chosen units are used.

    Args:
      n_blocks, n_units, mode, kernel_initializer, bias_initializer, multiply_by_controller_output:
        as for `SparseFFController`.
      quant_prob: in mode "train", the probability that a call uses only the chosen units; otherwise
        it uses all units, multiplied by their probabilities.
      use_bfloat16: whether the weights are bfloat16.
      big_weights_in_bfloat16: whether the matrices are bfloat16.
      kernel_scaling: whether the initial second matrix is √n_units times larger.
    Inputs: choices, probabilities if there are any, and floats [rows, d].
    Outputs: the choices, and floats [rows, d].
    """

    def __init__(
        self,
        n_blocks: int,
        n_units: int,
        quant_prob: float,
        mode: str,
        kernel_initializer: Callable[..., Any],
        bias_initializer: Callable[..., Any],
        use_bfloat16: bool,
        big_weights_in_bfloat16: bool,
        multiply_by_controller_output: bool,
        kernel_scaling: bool,
    ):
        has_mask = mode == "train" or multiply_by_controller_output
        super().__init__(n_in=3 if has_mask else 2, n_out=2)
        self._shape = (n_blocks, n_units)
        self._quant_prob = quant_prob
        self._mode = mode
        self._initializers = kernel_initializer, bias_initializer
        self._in_bfloat16 = (use_bfloat16 or big_weights_in_bfloat16, use_bfloat16)
        self._multiplies = multiply_by_controller_output
        self._kernel_scaling = kernel_scaling
        self._needs_key = mode == "train"

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes w1 [d, n_blocks, n_units], w2 [n_units, n_blocks, d] and b2 [d]."""
        depth = input_signature[-1].shape[-1]
        n_blocks, n_units = self._shape
        kernel, bias = self._initializers
        keys = fastmath.random.split(self.rng, 3)
        w1 = jnp.reshape(kernel((depth, n_blocks * n_units), keys[0]), (depth, n_blocks, n_units))
        w2 = jnp.reshape(kernel((n_blocks * n_units, depth), keys[1]), (n_units, n_blocks, depth))
        b2 = bias((depth,), keys[2])
        if self._kernel_scaling:
            w2 = w2 * math.sqrt(n_units)
        big, all_of_them = self._in_bfloat16
        if big:
            w1, w2 = as_bfloat16(w1), as_bfloat16(w2)
        self.weights = w1, w2, as_bfloat16(b2) if all_of_them else b2

    def forward(self, inputs: Any) -> Any:
        """The choices, and the block's output."""
        quant, *probabilities, x = inputs
        mask = probabilities[0] if probabilities else None
        if self._mode == "predict" and x.shape[0] == 1:
            return quant, self._of_chosen_units(quant, mask, x)
        return quant, self._of_all_units(quant, mask, x)

    def _of_all_units(self, quant: Any, mask: Any, x: Any) -> Any:
        """The output, computed with the other units set to zero."""
        w1, w2, b2 = self.weights
        depth, n_blocks, n_units = w1.shape
        code = one_hot(quant, n_units, dtype=x.dtype)
        factor = mask
        if self._mode == "train":
            is_quantized = fastmath.random.uniform(self.rng, ()) < self._quant_prob
            code = jnp.where(is_quantized, straight_through(code, mask), mask)
            factor = fastmath.stop_gradient(jnp.where(is_quantized, mask, jnp.ones_like(mask)))
        hidden = jnp.reshape(jnp.matmul(x, jnp.reshape(w1, (depth, -1))), (-1, n_blocks, n_units))
        hidden = jnp.maximum(hidden * code, 0)
        if self._multiplies:
            hidden = hidden * factor
        flat = jnp.reshape(jnp.swapaxes(hidden, 1, 2), (-1, n_units * n_blocks))
        return jnp.matmul(flat, jnp.reshape(w2, (-1, depth))) + b2

    def _of_chosen_units(self, quant: Any, mask: Any, x: Any) -> Any:
        """The output, computed from the weights of the chosen units only. The weights are copied
        for each row. This is faster than using all weights for one row, but not for four rows or
        more (benchmarks/long_sequences.py).
        """
        w1, w2, b2 = self.weights
        depth, n_blocks, n_units = w1.shape
        blocks = jnp.arange(n_blocks, dtype=jnp.int32)
        to_hidden = jnp.take(jnp.reshape(w1, (depth, -1)), blocks * n_units + quant, axis=1)
        from_hidden = jnp.take(jnp.reshape(w2, (-1, depth)), quant * n_blocks + blocks, axis=0)
        hidden = jnp.maximum(jnp.einsum("bd,dbx->bx", x, to_hidden), 0)
        if self._multiplies:
            code = one_hot(quant, n_units, dtype=mask.dtype)
            hidden = hidden * jnp.sum(mask * code, axis=-1)
        return jnp.einsum("bx,bxd->bd", hidden, from_hidden) + b2


def as_bfloat16(weights: Any) -> Any:
    return weights.astype(jnp.bfloat16)


@takes_mode
def SparseFF(
    d_ff: int,
    n_elements_in_block: int = 32,
    d_lowrank: int = 64,
    temperature: float = 0.1,
    quant_prob: float = 0.3,
    use_bfloat16: bool = False,
    big_weights_in_bfloat16: bool = False,
    mode: str = "train",
    kernel_initializer: Callable[..., Any] = _KERNEL_INITIALIZER,
    bias_initializer: Callable[..., Any] = _BIAS_INITIALIZER,
    dropout_rate: float = 0.0,
    dropout_shared_axes: Sequence[int] | None = None,
    ff_chunk_size: int = 0,
    multiply_by_controller_output: bool = False,
    kernel_scaling: bool = False,
) -> Layer:
    """A feed-forward block that uses one unit of each block of units, chosen for each vector.

    A controller of low rank gives each unit a probability within its block. Modes "eval" and
    "predict" use the most likely unit of each block; in "predict", a call with one vector does not
    read the weights of other units. In mode "train" a call uses either randomly drawn units, with
    straight-through derivatives, or all units, multiplied by their probabilities. In a reversible
    network the backward pass repeats the same draws.

    Args:
      d_ff: the number of units.
      n_elements_in_block: the number of units in a block; divides d_ff.
      d_lowrank: the rank of the controller's matrix.
      temperature: the temperature for drawing units in mode "train"; 0 takes the most likely.
      quant_prob: the probability that a call in mode "train" uses only the drawn units.
      use_bfloat16: whether all weights are bfloat16.
      big_weights_in_bfloat16: whether the two matrices of the units are bfloat16.
      mode: "train", "eval", "predict" or "viz".
      kernel_initializer, bias_initializer: functions of (shape, rng).
      dropout_rate, dropout_shared_axes: the options of a `Dropout` layer at the end, where the
        first axis has all vectors of a batch.
      ff_chunk_size: if positive, the number of vectors to compute at a time; see `Chunk`.
      multiply_by_controller_output: whether to multiply units by their probabilities.
      kernel_scaling: whether the initial second matrix is √n_elements_in_block times larger.
    Returns: a layer from floats [..., d] to the same shape.
    Raises: ValueError, TypeError: an option is out of its range; d_ff is not a multiple of
      n_elements_in_block.
    Example:
      >>> layer = SparseFF(32, n_elements_in_block=8, d_lowrank=4, mode="eval")
      >>> _ = layer.init(np.ones((2, 3, 16)))
      >>> layer(np.ones((2, 3, 16))).shape
      (2, 3, 16)
    Source: arXiv:2111.12763, "sparse feed-forward layer".
    """
    name = "SparseFF"
    n_blocks = divided(name, "d_ff", d_ff, "n_elements_in_block", n_elements_in_block)
    whole_number(name, "d_lowrank", d_lowrank)
    number(name, "temperature", temperature, least=0.0)
    number(name, "quant_prob", quant_prob, least=0.0, most=1.0)
    checked_mode(name, mode)
    checked_rate(name, dropout_rate, "dropout_rate")
    whole_number(name, "ff_chunk_size", ff_chunk_size, least=0)
    shape = (n_blocks, n_elements_in_block)
    initializers = (
        function(name, "kernel_initializer", kernel_initializer, INITIALIZER_SIGNATURE),
        function(name, "bias_initializer", bias_initializer, INITIALIZER_SIGNATURE),
    )
    use_bfloat16 = flag(name, "use_bfloat16", use_bfloat16)
    big = flag(name, "big_weights_in_bfloat16", big_weights_in_bfloat16)
    multiplies = flag(name, "multiply_by_controller_output", multiply_by_controller_output)
    scaling = flag(name, "kernel_scaling", kernel_scaling)
    remember = RememberInReverse(output=False, mode=mode)
    block = cb.Serial(
        cb.Select([0, 1, 0]),
        SparseFFController(
            *shape, d_lowrank, temperature, mode, *initializers, use_bfloat16, multiplies
        ),
        SparseFFMain(
            *shape, quant_prob, mode, *initializers, use_bfloat16, big, multiplies, scaling
        ),
        cb.Select([1, 0]),
        Dropout(rate=dropout_rate, shared_axes=dropout_shared_axes, mode=mode),
        cb.Select([1, 0]),
    )
    # sets the states of all inner layers before they run, because the first layer reads the last
    # one's state
    return cb.BatchLeadingAxes(
        cb.Serial(
            RecallQuantMaskInReverse(remember_layer=remember, elements=n_blocks),
            cb.Chunk(block, chunk_size=ff_chunk_size),
            remember,
        )
    )
