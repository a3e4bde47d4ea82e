"""Cheaper replacements of `Dense`, of modules: parts of the features that have one small matrix."""

from typing import Any

from ... import fastmath
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...user_lines import noted
from .. import combinators as cb
from ..assert_shape import assert_shape
from ..base import Fn, Layer
from ..checked_options import checked_mode, divided
from ..convolution import Conv
from ..core import Dense, Weights
from ..initializers import GlorotUniformInitializer, RandomNormalInitializer
from ..options import whole_number


@assert_shape("...a->...bc")
def SplitLastAxis(num_splits: int) -> Layer:
    """A layer that splits the last axis in parts, from [..., num_splits * d].

    Args:
      num_splits: how many parts; divides the length of the axis.
    Returns: a layer to [..., num_splits, d].
    Raises: ValueError, TypeError: num_splits is no such number. ShapeError, when it runs: it
      doesn't divide the axis.
    Example:
      >>> SplitLastAxis(2)(np.arange(4))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    Source: Trax's module `layers.research.sparsity`.
    """
    whole_number("SplitLastAxis", "num_splits", num_splits)

    def split(x: Any) -> Any:
        if x.shape[-1] % num_splits:
            raise ShapeError(
                f"SplitLastAxis: the last axis must be a multiple of {num_splits}; "
                f"got shape {tuple(x.shape)}"
            )
        return jnp.reshape(x, (*x.shape[:-1], num_splits, x.shape[-1] // num_splits))

    return Fn(f"SplitLastAxis_{num_splits}", split)


@assert_shape("...ab->...c")
def MergeLastTwoAxes() -> Layer:
    """A layer that makes one axis of the last two, from [..., n, d].

    Returns: a layer to [..., n * d].
    Example:
      >>> MergeLastTwoAxes()(np.array([[0, 1], [2, 3]]))
      Array([0, 1, 2, 3], dtype=int32)
    Source: Trax's module `layers.research.sparsity`.
    """

    def merge(x: Any) -> Any:
        return jnp.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))

    return Fn("MergeLastTwoAxes", merge)


@assert_shape("...a->...b")
def FactoredDense(
    n_modules: int, d_in: int, d_out: int, use_bias: bool = True, use_bfloat16: bool = False
) -> Layer:
    """A layer with one matrix for all modules, and a gate of the input for each.

    y[n, m] = Σ_d x[d] gate[n, d] projection[d, m] + bias[n, m].

    Args:
      n_modules: how many parts the output has; divides d_out.
      d_in, d_out: features of input and output.
      use_bias: whether a bias is added.
      use_bfloat16: the weights are bfloat16.
    Returns: a layer from floats [..., d_in] to [..., d_out], with weights gate [n_modules, d_in],
      projection [d_in, d_out / n_modules] and bias [d_out].
    Raises: ValueError: d_out is no multiple of n_modules.
    Example:
      >>> layer = FactoredDense(2, d_in=8, d_out=6)
      >>> _ = layer.init(np.ones((5, 8)))
      >>> layer(np.ones((5, 8))).shape
      (5, 6)
    Source: arXiv:2111.12763, "multiplicative dense".
    """
    width = divided("FactoredDense", "d_out", d_out, "n_modules", n_modules)
    whole_number("FactoredDense", "d_in", d_in)

    def product(projection: Any, gate: Any, x: Any) -> Any:
        return jnp.matmul(x[..., None, :] * gate, projection)

    def weights(initializer: Any, shape: tuple[int, ...]) -> Layer:
        return Weights(initializer, shape=shape, use_bfloat16=use_bfloat16)

    bias = [weights(RandomNormalInitializer(1e-6), (d_out,)), cb.Add()] if use_bias else []
    return cb.Serial(
        weights(RandomNormalInitializer(0.5), (n_modules, d_in)),
        weights(GlorotUniformInitializer(), (d_in, width)),
        Fn("FactoredProduct", product),
        MergeLastTwoAxes(),
        bias,
    )


@assert_shape("...a->...b")
def LocallyConvDense(
    n_modules: int, n_units: int, mode: str, kernel_size: int = 1, length_kernel_size: int = 1
) -> Layer:
    """A layer that convolves modules with their neighbours, and with earlier positions.

    Args:
      n_modules: how many parts the features have.
      n_units: features of a part of the output.
      mode: in "predict" sequences come in pieces, and the last positions are kept.
      kernel_size: over how many parts; odd.
      length_kernel_size: over how many positions, up to the own one.
    Returns: a layer from floats [batch, length, d] to [batch, length, n_modules * n_units], with
      weights [length_kernel_size, kernel_size, d / n_modules, n_units] and [n_units]; for one
      module, those of `Dense`.
    Raises: ValueError: an even kernel_size.
    Example:
      >>> layer = LocallyConvDense(4, n_units=3, mode="eval", kernel_size=3, length_kernel_size=2)
      >>> _ = layer.init(np.ones((1, 5, 8)))
      >>> layer(np.ones((1, 5, 8))).shape
      (1, 5, 12)
    Source: arXiv:2111.12763.
    """
    name = "LocallyConvDense"
    whole_number(name, "n_units", n_units)
    whole_number(name, "length_kernel_size", length_kernel_size)
    if whole_number(name, "kernel_size", kernel_size) % 2 == 0:
        raise noted(ValueError(f"{name}: kernel_size must be odd; got {kernel_size}"))
    if whole_number(name, "n_modules", n_modules) == 1:
        return Dense(n_units)
    margin = kernel_size // 2

    def padded(x: Any) -> Any:
        if x.ndim != 4:
            raise ShapeError(
                f"{name}: expected vectors [batch, length, features]; got {x.ndim - 1} axes"
            )
        zeros = jnp.zeros((*x.shape[:2], margin, x.shape[3]), x.dtype)
        return jnp.concatenate([zeros, x, zeros], axis=2)

    return cb.Serial(
        SplitLastAxis(n_modules),
        Fn("PadModules", padded),
        RememberPad(length_kernel_size - 1, mode=mode),
        Conv(n_units, kernel_size=(length_kernel_size, kernel_size)),
        MergeLastTwoAxes(),
    )


class RememberPad(Layer):
    """Puts what came before in front of a sequence: zeros, or the end of the piece before.

    A subclass may say which positions of the first piece are padding: see `monkey_patched_mask`.

    Args:
      n_items: how many positions.
      mode: in "predict" the state is (the last positions, a mark, which with a mask says if there
        were pieces).
    Inputs: floats [batch, length, ...].
    Outputs: [batch, n_items + length, ...].
    """

    _needs_key = False

    def __init__(self, n_items: int, mode: str = "train"):
        super().__init__(name="RememberPad")
        self._n_items = whole_number("RememberPad", "n_items", n_items, least=0)
        self._mode = checked_mode("RememberPad", mode)
        self._portal = self.monkey_patched_mask()

    def monkey_patched_mask(self) -> Any:
        """None, or in a subclass an object whose `get_value()` is a mask, 0 where the first piece
        of a sequence ends in padding, which isn't remembered. Then a batch has one sequence.
        """
        return None

    def init_weights_and_state(self, input_signature: Any) -> None:
        """No weights; in mode "predict" zeros."""
        if self._mode == "predict" and self._n_items:
            batch, _, *rest = input_signature.shape
            if self._portal is not None and batch != 1:
                raise ShapeError(f"{self._name}: with a mask a batch has one sequence; got {batch}")
            self.state = (jnp.zeros((batch, self._n_items, *rest), jnp.float32), {"init": ()})

    def forward(self, inputs: Any) -> Any:
        """The earlier inputs, and these."""
        if not self._n_items:
            return inputs
        if self._mode != "predict":
            batch, _, *rest = inputs.shape
            before = jnp.zeros((batch, self._n_items, *rest), inputs.dtype)
            return jnp.concatenate([before, inputs], axis=1)
        whole_sequence = jnp.concatenate([self.state[0], inputs], axis=1)
        # Only a mask asks for the mark. One state for all pieces: steps compile once, and can scan.
        mark = self.state[1] if self._portal is None else {"forward": ()}
        self.state = (self._end(whole_sequence), mark)
        return whole_sequence

    def _end(self, sequence: Any) -> Any:
        """The last positions; of the first piece, those before its padding."""
        if self._portal is None or "init" not in self.state[1]:
            return sequence[:, -self._n_items :]
        n_padding = jnp.sum((self._portal.get_value() == 0).astype(jnp.int32))
        start = sequence.shape[1] - self._n_items - n_padding
        return fastmath.dynamic_slice_in_dim(sequence, start, self._n_items, 1)
