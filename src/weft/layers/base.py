"""Layer: a function of inputs, weights, state and a random key, together with its own weights and
state.

PureLayer and Fn make layers from functions. shard and unshard divide nested arrays among devices,
and join them.
"""

import random as python_random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import fastmath
from ..user_lines import note_user_line, noted
from . import checkpoints
from .array_files import np_from_file as np_from_file, np_to_file as np_to_file
from .layer_calls import (
    check_inputs,
    checked_items,
    forward_abstract,
    held,
    init_abstract,
    number_of_arguments,
    own_arrays,
    put_back,
    run_located,
    run_whole,
    run_with_backward,
    split,
    text,
    tree,
)
from .layer_errors import LayerError, cause_text, creation_site, described, likely_fix
from .recipes import Made
from .weight_shards import parts, unshard_in_pmap as unshard_in_pmap, wholes
from .weight_trees import (
    EMPTY_STATE,
    EMPTY_WEIGHTS,
    GET_STATE_FROM_CACHE,
    GET_WEIGHTS_FROM_CACHE,
    flatten_weights_and_state as flatten_weights_and_state,
    is_state_marker,
    is_weights_marker,
    marks_of,
    to_list as to_list,
    unflatten_weights_and_state as unflatten_weights_and_state,
)

__all__ = [
    "EMPTY_STATE",
    "EMPTY_WEIGHTS",
    "GET_STATE_FROM_CACHE",
    "GET_WEIGHTS_FROM_CACHE",
    "N_WEIGHTS_SHARDS",
    "Fn",
    "Layer",
    "LayerError",
    "PureLayer",
    "flatten_weights_and_state",
    "np_from_file",
    "np_to_file",
    "shard",
    "to_list",
    "unflatten_weights_and_state",
    "unshard",
    "unshard_in_pmap",
]

N_WEIGHTS_SHARDS = 1
"""The number of devices over which the weights of each layer are spread; see `shard`."""


class Layer(Made):
    """A function of tensors, which may have weights to train.

    A layer may have *weights*, which training changes, *state*, which a call changes (a running
    mean, or a cache for decoding), and *sublayers*. A subclass overrides at most two methods:
    `forward`, which computes outputs from inputs, and `init_weights_and_state`, which makes weights
    and state for inputs with a given signature.

    Args:
      n_in: the number of inputs: zero are passed as `()`, one as itself, several as a tuple.
      n_out: the number of outputs, which are packaged like inputs.
      name: the name of the layer when it is printed; by default, the name of its class.
      sublayers_to_print: the sublayers to print; by default, all.

    Raises: ValueError: `n_in` or `n_out` is not an int of at least 0.

    Inputs and outputs are on a *data stack*: a layer pops `n_in` items and pushes `n_out`.

    Example:
      >>> class Scale(Layer):
      ...     def init_weights_and_state(self, input_signature):
      ...         self.weights = np.ones(input_signature.shape[-1])
      ...     def forward(self, x):
      ...         return x * self.weights
      >>> layer = Scale()
      >>> weights, state = layer.init(np.ones((2, 3)))
      >>> layer(np.ones((2, 3)), weights=2 * weights)
      Array([[2., 2., 2.],
             [2., 2., 2.]], dtype=float32)

    Source: Trax documentation, `layers.base.Layer`.
    """

    _n_in: int
    _n_out: int
    _name: str
    _sublayers_to_print: Sequence[Any] | None
    _sublayers: Sequence["Layer"]
    _rng: Any
    _rng_seed_int: int
    _weights: Any
    _state: Any
    _site: tuple[str, int]
    _init_signature: Any  # the signature of the last `init`
    _is_plain: ClassVar[bool] = True  # keeps weights and state with this nesting
    _needs_key: bool = True  # whether `forward` uses `rng`; subclasses may set it to False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._is_plain = cls.weights is Layer.weights and cls.state is Layer.state
        if "forward" in vars(cls) and "_needs_key" not in vars(cls):
            cls._needs_key = True

    def __init__(
        self,
        n_in: int = 1,
        n_out: int = 1,
        name: str | None = None,
        sublayers_to_print: Sequence[Any] | None = None,
    ) -> None:
        name = type(self).__name__ if name is None else name
        for what, count in (("n_in", n_in), ("n_out", n_out)):
            if not (type(count) is int or hasattr(count, "__index__")) or count < 0:
                raise noted(
                    ValueError(f"{name}: {what} is a number of tensors, an int >= 0; got {count!r}")
                )
        self.__dict__.update(
            _n_in=n_in,
            _n_out=n_out,
            _name=name,
            _sublayers_to_print=sublayers_to_print,
            _sublayers=(),
            _rng=None,
            _rng_seed_int=python_random.randint(0, 2**31 - 1),
            _weights=EMPTY_WEIGHTS,
            _state=EMPTY_STATE,
            _site=creation_site(),
            _init_cached=False,
            _init_signature=None,
        )

    def __repr__(self) -> str:
        return text(self)

    def __call__(self, x: Any, weights: Any = None, state: Any = None, rng: Any = None) -> Any:
        """Computes the layer's outputs for inputs `x`, with its own weights and state.

        Args:
          x: the inputs, packaged by their number: `()`, one tensor, or a tuple of them.
          weights: weights for this call only; by default, the layer's own.
          state: the state before the call, which replaces the layer's own.
          rng: random key; by default the layer's own, which is the same for each call.
        Returns: the outputs, packaged like the inputs. The layer keeps the new state.
        Raises: LayerError: an error occurred in the layer.
        """
        weights = self.weights if weights is None else weights
        rng = self.rng if rng is None else rng
        if state is not None:
            self.state = state
        outputs, self.state = self.pure_fn(x, weights, self.state, rng)
        return outputs

    # Methods to override.

    def forward(self, inputs: Any) -> Any:
        """Computes the outputs for inputs. Subclasses override this method.

        Args:
          inputs: `()`, one tensor, or a tuple of tensors, by `n_in`.
        Returns: outputs, packaged by `n_out`. `self.weights`, `self.state` and `self.rng`
          are those of the call; a new state is assigned to `self.state`.
        """
        raise NotImplementedError(f"{self._name}: its class must define forward(self, inputs)")

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Assigns `self.weights` and `self.state` for inputs with a signature.

        Subclasses with weights or state override it. Use `self.rng` for random values.

        Args:
          input_signature: a `ShapeDtype`, or a tuple of them, by `n_in`.
        """

    @property
    def has_backward(self) -> bool:
        """True if the layer computes its own gradients in `backward`."""
        return False

    def backward(
        self,
        inputs: Any,
        output: Any,
        grad: Any,
        weights: Any,
        state: Any,
        new_state: Any,
        rng: Any,
    ) -> tuple[Any, Any]:
        """Computes the layer's own gradients, if `has_backward` is true.

        Args:
          inputs: the inputs of `forward`.
          output: its result.
          grad: the gradient with respect to the output, with the same nesting.
          weights: the layer's weights.
          state: the state before the call.
          new_state: the state after it.
          rng: the random key of the call.
        Returns: (gradient for the inputs, gradient for the weights); `()` without weights.
        """
        raise NotImplementedError(f"{self._name}: its class has_backward, but no method backward")

    # Methods to call.

    def init(
        self, input_signature: Any, rng: Any = None, use_cache: bool = False
    ) -> tuple[Any, Any]:
        """Initializes the weights and state of this layer and its sublayers.

        Args:
          input_signature: a `ShapeDtype` or a tuple of them, by `n_in`; arrays are also accepted.
          rng: random key, which is split over the sublayers; by default, each layer uses its own
            key, drawn from Python's `random` when it was made.
          use_cache: whether to skip a layer that was already initialized since the outermost `init`
            began. Combinators set it, so a layer that occurs twice has one set of weights.
        Returns: (weights, state). With `use_cache`, from the second time on, the markers
          `GET_WEIGHTS_FROM_CACHE` and `GET_STATE_FROM_CACHE`.
        Raises: LayerError: the layer does not accept inputs with this signature.
        """
        own = self.__dict__
        if use_cache and own["_init_cached"]:
            return GET_WEIGHTS_FROM_CACHE, GET_STATE_FROM_CACHE
        try:
            if rng is not None:
                self.rng = rng
            own["_init_signature"] = described(input_signature)
            self.init_weights_and_state(input_signature)
        except Exception as error:
            raise self._error("init", input_signature, error, not use_cache) from None
        finally:
            if not use_cache:
                for layer in tree(self):
                    layer.__dict__["_init_cached"] = False
        if use_cache:
            own["_init_cached"] = True
        return self.weights, self.state

    def pure_fn(
        self, x: Any, weights: Any, state: Any, rng: Any, use_cache: bool = False
    ) -> tuple[Any, Any]:
        """The layer as a pure function, for `jit`, `grad` and other transformations.

        Subclasses override `forward`, not this method.

        Args:
          x: the inputs, packaged by their number.
          weights: nested as `self.weights`.
          state: nested as `self.state`.
          rng: random key.
          use_cache: whether the layer object keeps these weights and the new state, for later
            occurrences in the network. Combinators set it.
        Returns: (outputs, new state).
        Raises: LayerError: an error occurred in the layer.
        """
        own = self.__dict__
        key = own["_rng"]
        before = None if use_cache else held(self)
        own["_rng"] = rng
        try:
            if before is not None:
                x = own_arrays(x)
            is_repeated = (
                type(weights) is dict and is_weights_marker(weights) and is_state_marker(state)
            )
            outputs, state = run_located(self, x, weights, state, is_repeated)
        except Exception as error:
            raise self._error("pure_fn", x, error, not use_cache) from None
        finally:
            own["_rng"] = key
            if before is not None:
                put_back(before)
        return outputs, GET_STATE_FROM_CACHE if is_repeated else state

    def output_signature(self, input_signature: Any) -> Any:
        """The shapes and dtypes of the outputs for a signature; the layer must have weights.

        Args:
          input_signature: a `ShapeDtype` or a tuple of them, by `n_in`.
        Returns: a `ShapeDtype` or a tuple of them, by `n_out`.
        """
        return self._forward_abstract(input_signature)[0]

    def weights_and_state_signature(
        self, input_signature: Any, unsafe: bool = False
    ) -> tuple[Any, Any]:
        """The shapes and dtypes of the weights and state that `init` would make.

        Args:
          input_signature: a `ShapeDtype` or a tuple of them, by `n_in`.
          unsafe: whether to leave the layer with traced weights and state, which the caller
            replaces, instead of restoring the old ones.
        Returns: (weights, state): a `ShapeDtype` for each array, and markers of shared layers.
        """
        return init_abstract(self, input_signature, unsafe)

    def init_from_file(
        self, file_name: Any, weights_only: bool = False, input_signature: Any = None
    ) -> tuple[Any, Any]:
        """Loads weights and state from a checkpoint, without running code from it.

        Args:
          file_name: path of a file from `save_to_file` or Trax, or of a training loop's checkpoint:
            "run/model", or Trax's name "run/model.pkl.gz".
          weights_only: whether to make new state instead of reading it.
          input_signature: signature of the inputs; by default, the one in the file.
        Returns: (weights, state).
        Raises: FileNotFoundError; ValueError: it is damaged, refused, or of another layer.
        """
        return checkpoints.load(self, file_name, weights_only, input_signature)

    def save_to_file(
        self, file_name: Any, weights_only: bool = False, input_signature: Any = None
    ) -> None:
        """Writes weights and state to a checkpoint; an old file is replaced at the end.

        Args:
          file_name: path of the file, a gzipped pickle of a dictionary of plain arrays.
          weights_only: whether to omit the state.
          input_signature: signature of the inputs, to store in the file.
        """
        checkpoints.save(self, file_name, weights_only, input_signature)

    # Attributes.

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self._name

    @property
    def n_in(self) -> int:
        """The number of inputs."""
        return self._n_in

    @property
    def n_out(self) -> int:
        """The number of outputs."""
        return self._n_out

    @property
    def sublayers(self) -> Sequence["Layer"]:
        """The sublayers; may be empty."""
        return self._sublayers

    @property
    def weights(self) -> Any:
        """The weights: `()`, an array, or nested arrays; with sublayers, a tuple of their weights.

        Second and later occurrences of a shared layer have `GET_WEIGHTS_FROM_CACHE`.
        """
        if not self._sublayers:
            return self._weights
        pairs = zip(self._sublayers, self._weights, strict=False)
        return tuple([layer.weights if mark is None else mark for layer, mark in pairs])

    @weights.setter
    def weights(self, weights: Any) -> None:
        if is_weights_marker(weights):
            return
        if not self._sublayers:
            self._weights = weights
            return
        checked_items(self, weights, "weight")
        self._weights = marks_of(weights)
        for layer, w in zip(self._sublayers, weights, strict=True):
            layer.weights = w

    @property
    def state(self) -> Any:
        """The arrays that a call keeps for the next call; nested like the weights."""
        if not self._sublayers:
            return self._state
        pairs = zip(self._sublayers, self._state, strict=False)
        return tuple([layer.state if mark is None else mark for layer, mark in pairs])

    @state.setter
    def state(self, state: Any) -> None:
        if is_state_marker(state):
            return
        if not self._sublayers:
            self._state = state
            return
        checked_items(self, state, "state")
        self._state = marks_of(state)
        for layer, s in zip(self._sublayers, state, strict=True):
            layer.state = s

    @property
    def rng(self) -> Any:
        """The random key, for one use; `fastmath.random.split` makes several keys from it.

        A key made from the seed is not kept: it may be traced, and must not outlive its trace.
        """
        if self._rng is None:
            return fastmath.random.get_prng(self._rng_seed_int)
        return self._rng

    @rng.setter
    def rng(self, rng: Any) -> None:
        self._rng = rng
        for layer, key in zip(self._sublayers, split(rng, len(self._sublayers)), strict=True):
            layer.rng = key

    def _settable_attrs(self) -> tuple[str, ...]:
        """The public attributes that may be assigned."""
        return "weights", "state", "rng"

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and name not in self._settable_attrs():
            raise noted(
                ValueError(
                    f"{self._name}: only {self._settable_attrs()} of a layer's public attributes "
                    f"can be set; got {name!r}\n  fix: a class of layers keeps its own as _{name}"
                )
            )
        object.__setattr__(self, name, value)

    # Implementation.

    @property
    def _caller(self) -> dict[str, Any]:
        """The place where the layer was made."""
        return dict(zip(("filename", "lineno"), self._site, strict=True))

    def _run(self, x: Any, weights: Any, state: Any, is_repeated: bool) -> tuple[Any, Any]:
        """(outputs, new state), with `self._rng` set; `Serial` and `Parallel` override it.

        A repeated layer already has its weights and state.
        """
        own = self.__dict__
        if not is_repeated:
            if own["_sublayers"] or not self._is_plain or type(weights) is dict:
                self.weights, self.state = weights, state
            else:
                own["_weights"] = weights
                if type(state) is not dict or not is_state_marker(state):
                    own["_state"] = state
        if N_WEIGHTS_SHARDS > 1 and not own["_sublayers"]:
            return run_whole(self, x, N_WEIGHTS_SHARDS)
        if self.has_backward:
            outputs, self.state = run_with_backward(self, x)
            return outputs, self.state
        outputs = self.forward(x)
        return outputs, self.state

    def _forward_abstract(self, input_signature: Any) -> tuple[Any, Any]:
        """The signatures of outputs and new state, for the layer's current weights."""
        try:
            return self._abstract(input_signature)
        except LayerError:  # from this layer's `pure_fn`; it is already complete
            raise
        except Exception as error:
            raise self._error("_forward_abstract", input_signature, error, False) from None

    def _abstract(self, input_signature: Any) -> tuple[Any, Any]:
        return forward_abstract(self, input_signature)

    def _error(self, function: str, inputs: Any, error: Exception, outermost: bool) -> LayerError:
        """The error of this layer, with the error that caused it."""
        is_new = (
            self._init_signature is None
            and self._weights is EMPTY_WEIGHTS
            and type(self).init_weights_and_state is not Layer.init_weights_and_state
        )
        traceback = cause_text(error, likely_fix(function, inputs, error, is_new))
        layer_error = LayerError(self._name, function, self._caller, described(inputs), traceback)
        if outermost:
            note_user_line(layer_error)
        return layer_error


class PureLayer(Layer):
    """A layer that applies a function of tensors, without weights, state or randomness.

    Args:
      forward_fn: function of the inputs, which are packaged as for `Layer.forward`.
      n_in: number of inputs.
      n_out: number of outputs.
      name: name for printing.

    Raises: TypeError: `forward_fn` is not a function.

    Example:
      >>> PureLayer(lambda xs: xs[0] + xs[1], n_in=2, name="Sum")((1, 2))
      3

    Source: Trax documentation, `layers.base.PureLayer`.
    """

    _needs_key = False

    def __init__(
        self,
        forward_fn: Callable[[Any], Any],
        n_in: int = 1,
        n_out: int = 1,
        name: str = "PureLayer",
    ) -> None:
        super().__init__(n_in, n_out, name)
        if not callable(forward_fn):
            raise noted(
                TypeError(f"{name}: forward_fn must be a function of inputs; got {forward_fn!r}")
            )
        self._forward_fn = forward_fn

    def forward(self, inputs: Any) -> Any:
        """The function's outputs for these inputs."""
        if self._n_in != 1:
            check_inputs(self._name, self._n_in, inputs)
        outputs = self._forward_fn(inputs)
        if outputs is None:
            raise ValueError(
                f'Argument "container" is None. The function of {self._name} returned None\n'
                "  fix: return the outputs, or () if there are none"
            )
        return () if isinstance(outputs, list | tuple) and not outputs else outputs


def Fn(name: str, f: Callable[..., Any], n_out: int = 1) -> PureLayer:
    """A layer without weights that applies a function to tensors.

    Args:
      name: name for printing; an empty name becomes 'Fn'.
      f: function of positional arguments without defaults. Each argument is a tensor; their number
        is the layer's `n_in`. It returns one tensor, or a tuple of `n_out` tensors. Bind options by
        keyword: `functools.partial(f, margin=0.1)`.
      n_out: number of outputs.
    Returns: the layer.
    Raises: ValueError: `f` has arguments that are not plain positional ones.
    Example:
      >>> both = Fn("SumAndMax", lambda x, y: (x + y, np.maximum(x, y)), n_out=2)
      >>> both
      SumAndMax_in2_out2
      >>> both((np.ones(2), np.arange(2)))[0]
      Array([1., 2.], dtype=float32)
    Source: Trax documentation, `layers.base.Fn`.
    """
    name = name or "Fn"
    if not callable(f):
        raise noted(TypeError(f"{name}: f must be a function of tensors; got {f!r}"))
    n_in = number_of_arguments(name, f)
    if n_in == 1:
        return PureLayer(f, 1, n_out, name)
    return PureLayer(lambda xs: f(*xs), n_in, n_out, name)


def shard(tensors: Any, n_shards: int | None = None) -> Any:
    """Divides nested arrays among devices.

    Args:
      tensors: nested arrays.
      n_shards: the number of parts of each array, along its first axis or, if it has three or more
        axes, along its last; by default `N_WEIGHTS_SHARDS`.
    Returns: the same nesting; each array has a new first axis, with part i % n_shards for device i.
    Raises: ValueError: the axis cannot be divided into `n_shards` equal parts.
    Example:
      >>> from weft import layers as tl
      >>> tl.shard(np.arange(6), n_shards=1)[0]
      Array([0, 1, 2, 3, 4, 5], dtype=int32)
    Source: Trax documentation, `layers.base.shard`.
    """
    return parts(tensors, N_WEIGHTS_SHARDS if n_shards is None else n_shards)


def unshard(tensors: Any, n_shards: int | None = None) -> Any:
    """Joins nested arrays that were divided among devices; returns NumPy arrays.

    Args:
      tensors: the result of `shard`.
      n_shards: the number of parts of each array; by default `N_WEIGHTS_SHARDS`.
    Returns: the same nesting, without the first axis.
    Example:
      >>> from weft import layers as tl
      >>> parts = tl.shard(np.arange(6), n_shards=1)
      >>> tl.unshard(parts, n_shards=1)
      array([0, 1, 2, 3, 4, 5], dtype=int32)
    Source: Trax documentation, `layers.base.unshard`.
    """
    return wholes(tensors, N_WEIGHTS_SHARDS if n_shards is None else n_shards)
