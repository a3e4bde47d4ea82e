"""Replacements for `Dense` with fewer weights or multiplications.

FactoredDense, LocallyConvDense, LocallyConnectedDense, LowRankDense, EinsumDense and
MultiplicativeModularSparseDense replace the matrix; SplitLastAxis and MergeLastTwoAxes reshape
around them; RandomLayer and SparseDenseWithOptions choose among them.
"""

from collections.abc import Callable
from typing import Any

from ... import fastmath
from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...option_checks import checked_mode, choice, divided, flag, number, whole_number
from ...user_lines import noted
from .. import combinators as cb
from ..assert_shape import assert_shape
from ..base import Fn, Layer
from ..convolution import Conv
from ..core import LocallyConnected1d
from ..dense import Dense
from ..initializers import GlorotUniformInitializer, RandomNormalInitializer
from ..recipes import takes_mode
from ..serial import checked_layer
from ..weights import RandomUniform, Weights


@assert_shape("...a->...bc")
def SplitLastAxis(num_splits: int) -> Layer:
    """A layer that splits the last axis into parts: [..., num_splits * d] -> [..., num_splits, d].

    Args:
      num_splits: the number of parts; divides the length of the axis.
    Returns: the layer.
    Raises: ValueError, TypeError: num_splits is not a positive int. LayerError (when called): it
      does not divide the axis.
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
    """A layer that merges the last two axes: [..., n, d] -> [..., n * d].

    Returns: the layer.
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
    """A layer with one matrix for all modules, and a gate of the input for each module.

    y[n, m] = Σ_d x[d] gate[n, d] projection[d, m] + bias[n, m].

    Args:
      n_modules: the number of modules of the output; divides d_out.
      d_in, d_out: the features of input and output.
      use_bias: whether to add a bias.
      use_bfloat16: whether the weights are bfloat16.
    Returns: a layer from floats [..., d_in] to [..., d_out], with weights gate [n_modules, d_in],
      projection [d_in, d_out / n_modules] and bias [d_out].
    Raises: ValueError: d_out is not a multiple of n_modules.
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
      n_modules: the number of modules of the features.
      n_units: the features of an output module.
      mode: in "predict" sequences arrive in pieces, and the last positions are kept.
      kernel_size: the number of modules in a window; odd.
      length_kernel_size: the number of positions in a window, up to the current one.
    Returns: a layer from floats [batch, length, d] to [batch, length, n_modules * n_units], with
      weights [length_kernel_size, kernel_size, d / n_modules, n_units] and [n_units]; for one
      module, the weights of `Dense`.
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
    """Pads the front of a sequence with zeros, or with the end of the previous piece.

    A subclass may define which positions of the first piece are padding: see `monkey_patched_mask`.

    Args:
      n_items: the number of positions.
      mode: in "predict" the state is (the last positions, a flag that with a mask records whether
        there were earlier pieces).
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
        """None, or in a subclass an object whose `get_value()` returns a mask: 0 at padding at the
        end of a sequence's first piece, which is not remembered. Batches must then have one
        sequence.
        """
        return None

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes no weights; in mode "predict", the state is zeros."""
        if self._mode == "predict" and self._n_items:
            batch, _, *rest = input_signature.shape
            if self._portal is not None and batch != 1:
                raise ShapeError(f"{self._name}: with a mask a batch has one sequence; got {batch}")
            self.state = (jnp.zeros((batch, self._n_items, *rest), jnp.float32), {"init": ()})

    def forward(self, inputs: Any) -> Any:
        """The earlier inputs followed by the current ones."""
        if not self._n_items:
            return inputs
        if self._mode != "predict":
            batch, _, *rest = inputs.shape
            before = jnp.zeros((batch, self._n_items, *rest), inputs.dtype)
            return jnp.concatenate([before, inputs], axis=1)
        whole_sequence = jnp.concatenate([self.state[0], inputs], axis=1)
        # Only a mask needs the flag. All pieces have the same type of state, so steps compile once
        # and can be scanned.
        mark = self.state[1] if self._portal is None else {"forward": ()}
        self.state = (self._end(whole_sequence), mark)
        return whole_sequence

    def _end(self, sequence: Any) -> Any:
        """The last positions; in the first piece, the last positions before its padding."""
        if self._portal is None or "init" not in self.state[1]:
            return sequence[:, -self._n_items :]
        n_padding = jnp.sum((self._portal.get_value() == 0).astype(jnp.int32))
        start = sequence.shape[1] - self._n_items - n_padding
        return fastmath.dynamic_slice_in_dim(sequence, start, self._n_items, 1)


_KERNEL_INITIALIZER = GlorotUniformInitializer()
_BIAS_INITIALIZER = RandomNormalInitializer(1e-6)


@assert_shape("...a->...b")
def LocallyConnectedDense(
    n_modules: int,
    n_units: int,
    kernel_size: int = 1,
    kernel_initializer: Callable[..., Any] = _KERNEL_INITIALIZER,
    bias_initializer: Callable[..., Any] = _BIAS_INITIALIZER,
    use_bias: bool = True,
) -> Layer:
    """A layer in which each part of the output depends on a few parts of the input.

    Input and output have n_modules parts in a ring. Each part of the output has a small matrix for
    each of the kernel_size input parts around its position.

    Args:
      n_modules: the number of parts; divides the features of the input. With one part, the layer is
        `Dense`.
      n_units: the features of an output part.
      kernel_size: the number of input parts on which an output part depends; odd.
      kernel_initializer: function of (shape, rng, nonreceptive_dims) for the matrices.
      bias_initializer: function of (shape, rng) for the bias.
      use_bias: whether to add a bias.
    Returns: a layer from floats [..., d] to [..., n_modules * n_units], with weights [n_modules,
      kernel_size, d / n_modules, n_units] and [n_modules, n_units]; for one module, the weights of
      `Dense`.
    Raises: ValueError, TypeError: an option is out of its range.
    Example:
      >>> layer = LocallyConnectedDense(n_modules=2, n_units=3)
      >>> _ = layer.init(np.ones((5, 8)))
      >>> layer(np.ones((5, 8))).shape
      (5, 6)
    Source: Trax's module `layers.research.sparsity`.
    """
    name = "LocallyConnectedDense"
    whole_number(name, "n_units", n_units)
    if whole_number(name, "kernel_size", kernel_size) % 2 == 0:
        raise noted(ValueError(f"{name}: kernel_size must be odd; got {kernel_size}"))
    options = (kernel_initializer, bias_initializer, use_bias)
    if whole_number(name, "n_modules", n_modules) == 1:
        return Dense(n_units, *options)
    if kernel_size // 2 >= n_modules:
        raise noted(
            ValueError(
                f"{name}: kernel_size must be below 2 * n_modules; got {kernel_size}, and "
                f"{n_modules} modules"
            )
        )
    return cb.Serial(
        SplitLastAxis(n_modules),
        LocallyConnected1d(n_units, kernel_size, *options, padding="WRAP"),
        MergeLastTwoAxes(),
    )


@assert_shape("...a->...b")
def LowRankDense(n_units: int, d_lowrank: int) -> Layer:
    """A dense layer whose matrix is a product of two narrow matrices: two `Dense` layers in series.

    Args:
      n_units: the features of the output.
      d_lowrank: the features between the two layers, the rank of the product.
    Returns: a layer from floats [..., d] to [..., n_units], with (d + n_units) * d_lowrank weights
      and two biases.
    Example:
      >>> layer = LowRankDense(100, d_lowrank=2)
      >>> _ = layer.init(np.ones((5, 100)))
      >>> layer(np.ones((5, 100))).shape
      (5, 100)
    Source: Trax's module `layers.research.sparsity`.
    """
    whole_number("LowRankDense", "n_units", n_units)
    whole_number("LowRankDense", "d_lowrank", d_lowrank)
    return cb.Serial(Dense(d_lowrank), Dense(n_units))


@assert_shape("...a->...b")
def EinsumDense(d_input: int, d_output: int, use_bias: bool) -> Layer:
    """A dense layer whose matrix is stored transposed, [d_output, d_input].

    Args:
      d_input: features of the input.
      d_output: features of the output.
      use_bias: whether to add a bias [d_output].
    Returns: a layer from floats [..., d_input] to [..., d_output].
    Example:
      >>> layer = EinsumDense(4, 3, use_bias=True)
      >>> _ = layer.init(np.ones((5, 4)))
      >>> layer(np.ones((5, 4))).shape
      (5, 3)
    Source: Trax's module `layers.research.sparsity`.
    """
    whole_number("EinsumDense", "d_input", d_input)
    whole_number("EinsumDense", "d_output", d_output)

    def product(kernel: Any, x: Any) -> Any:
        return jnp.matmul(x, jnp.transpose(kernel))

    return cb.Serial(
        Weights(_KERNEL_INITIALIZER, (d_output, d_input)),
        Fn("EinsumProduct", product),
        _added_bias("EinsumDense", d_output, use_bias),
    )


def _added_bias(name: str, length: int, use_bias: bool) -> list[Layer]:
    """Layers that add a bias, or no layers."""
    return (
        [Weights(_BIAS_INITIALIZER, (length,)), cb.Add()]
        if flag(name, "use_bias", use_bias)
        else []
    )


@assert_shape("...a->...a")
def MultiplicativeModularSparseDense(sparsity: int, d_feature: int) -> Layer:
    """A layer with a gate and a small matrix for each module, and one shared matrix.

    y[h, o] = Σ_d Σ_x input[d] multiplier[h, d] kmult[d, x] kmod[h, x, o] + bias[h, o], with x and o
    from 0 to d_feature / sparsity - 1.

    Args:
      sparsity: the number of modules; divides d_feature.
      d_feature: features of input and output.
    Returns: a layer from floats [..., d_feature] to the same shape.
    Raises: ValueError: d_feature is not a multiple of sparsity.
    Example:
      >>> layer = MultiplicativeModularSparseDense(2, 8)
      >>> _ = layer.init(np.ones((5, 8)))
      >>> layer(np.ones((5, 8))).shape
      (5, 8)
    Source: Trax's module `layers.research.sparsity`.
    """
    name = "MultiplicativeModularSparseDense"
    width = divided(name, "d_feature", d_feature, "sparsity", sparsity)

    def product(kmod: Any, kmult: Any, multiplier: Any, x: Any) -> Any:
        modules = jnp.matmul(x[..., None, :] * multiplier, kmult)
        return jnp.einsum("...hx,hxo->...ho", modules, kmod)

    return cb.Serial(
        Weights(RandomNormalInitializer(0.5), (sparsity, d_feature)),
        Weights(_KERNEL_INITIALIZER, (d_feature, width)),
        Weights(_KERNEL_INITIALIZER, (sparsity, width, width)),
        Fn("MultiplicativeModularProduct", product),
        MergeLastTwoAxes(),
        _added_bias(name, d_feature, True),
    )


def RandomLayer(layer_a: Layer, layer_b: Layer, prob_a: float) -> Layer:
    """A layer that randomly applies one of two layers in each call.

    Args:
      layer_a, layer_b: the layers, with equal numbers of inputs and of outputs.
      prob_a: the probability of the first one.
    Returns: the layer.
    Raises: ValueError: an argument is not a layer, the layers differ in their inputs or outputs, or
      the probability is not between 0 and 1.
    Example:
      >>> from weft import layers as tl
      >>> layer = RandomLayer(tl.Relu(), tl.Negate(), prob_a=1.0)
      >>> _ = layer.init(np.ones(2))
      >>> layer(np.array([-1.0, 1.0]))
      Array([0., 1.], dtype=float32)
    Source: Trax's module `layers.research.sparsity`.
    """
    name = "RandomLayer"
    checked_layer(name, "layer_a", layer_a)
    checked_layer(name, "layer_b", layer_b)
    number(name, "prob_a", prob_a, least=0.0, most=1.0)
    condition = cb.Serial(RandomUniform(), Fn("IsFirst", lambda drawn: drawn < prob_a))
    return cb.Cond(condition, layer_a, layer_b, name=name)


_TYPES = (None, "None", "mult", "lowrank", "einsum", "local", "local3")


@takes_mode
@assert_shape("...a->...b")
def SparseDenseWithOptions(
    n_units: int,
    d_input: int | None = None,
    sparsity_type: str | None = None,
    sparsity: int = 0,
    d_lowrank: int | None = None,
    prob_sparse: float | None = None,
    mode: str | None = None,
    use_bias: bool = True,
    use_bfloat16: bool = False,
) -> Layer:
    """`Dense`, or one of its replacements by name.

    Args:
      n_units: features of the output.
      d_input: features of the input; for "mult" and "einsum".
      sparsity_type: None or "None" for `Dense`, "mult" for `FactoredDense`, "lowrank" for
        `LowRankDense`, "einsum" for `EinsumDense`, "local" or "local3" for `LocallyConnectedDense`
        with windows of one or three modules.
      sparsity: the number of modules; 0 for `Dense`, with every type.
      d_lowrank: the rank, for "lowrank".
      prob_sparse: if given, each call uses the replacement with this probability, otherwise
        `Dense`: see `RandomLayer`.
      mode: if given and not "train", prob_sparse counts as 1.
      use_bias: whether to add a bias; "lowrank", "local" and "local3" always have one.
      use_bfloat16: whether the weights are bfloat16, for `Dense` and "mult".
    Returns: a layer from floats [..., d_input] to [..., n_units].
    Raises: ValueError, TypeError: the type is unknown, or an option is out of its range or not
      supported by the type.
    Example:
      >>> layer = SparseDenseWithOptions(6, d_input=8, sparsity_type="mult", sparsity=2)
      >>> _ = layer.init(np.ones((5, 8)))
      >>> layer(np.ones((5, 8))).shape
      (5, 6)
    Source: Trax's module `layers.research.sparsity`.
    """
    name = "SparseDenseWithOptions"
    choice(name, "sparsity_type", sparsity_type, _TYPES)
    whole_number(name, "sparsity", sparsity, least=0)
    flag(name, "use_bias", use_bias)
    if mode is not None:
        checked_mode(name, mode)

    def dense() -> Layer:
        return Dense(n_units, use_bias=use_bias, use_bfloat16=use_bfloat16)

    kind = "None" if sparsity_type is None or sparsity == 0 else sparsity_type
    if kind == "None":
        sparse = dense()
    else:
        _check_options_of_kind(kind, d_input, d_lowrank, use_bias, use_bfloat16)
        sparse = _sparse(kind, n_units, d_input, sparsity, d_lowrank, use_bias, use_bfloat16)
    if prob_sparse is None:
        return sparse
    is_certain = mode is not None and mode != "train"
    return RandomLayer(sparse, dense(), 1.0 if is_certain else prob_sparse)


def _check_options_of_kind(
    kind: str, d_input: int | None, d_lowrank: int | None, use_bias: bool, use_bfloat16: bool
) -> None:
    """Raises ValueError for an option that is missing, or that the kind does not support."""
    has_no_choice_of_bias = kind in ("lowrank", "local", "local3")
    for is_wrong, fault in (
        (kind in ("mult", "einsum") and d_input is None, "d_input is needed"),
        (kind == "lowrank" and d_lowrank is None, "d_lowrank is needed"),
        (kind != "mult" and use_bfloat16, "there is no use_bfloat16"),
        (has_no_choice_of_bias and not use_bias, "there is no use_bias=False"),
    ):
        if is_wrong:
            raise noted(ValueError(f"SparseDenseWithOptions: {fault} with sparsity_type={kind!r}"))


def _sparse(
    kind: str,
    n_units: int,
    d_input: Any,
    sparsity: int,
    d_lowrank: Any,
    use_bias: bool,
    use_bfloat16: bool,
) -> Layer:
    if kind == "mult":
        return FactoredDense(sparsity, d_input, n_units, use_bias, use_bfloat16)
    if kind == "lowrank":
        return LowRankDense(n_units, d_lowrank)
    if kind == "einsum":
        return EinsumDense(d_input, n_units, use_bias)
    width = divided("SparseDenseWithOptions", "n_units", n_units, "sparsity", sparsity)
    return LocallyConnectedDense(sparsity, width, kernel_size=3 if kind == "local3" else 1)
