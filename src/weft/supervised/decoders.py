"""Decoder: a copy of a model in mode "predict" or "eval", with compiled functions that continue
sequences. decoder_of keeps one for each model, logits_of computes its outputs, and Packed makes its
calls cheap.
"""

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as onp

from .. import fastmath, tree_util
from ..fastmath import numpy as jnp
from ..layers.base import Layer, LayerError
from ..layers.layer_calls import kept
from ..layers.modes import layer_pairs, renested, twin_of
from ..layers.serial import as_tuple
from ..layers.weight_trees import signature_tree
from ..user_lines import noted

__all__ = ["PIECE", "Decoder", "Packed", "decoder_of", "logits_of"]

PIECE = 64
"""The number of tokens that are read at a time from a longer prompt; the others are read one by
one. Other lengths would need more programs, and compiling one takes as long as hundreds of
steps."""

_decoders: weakref.WeakKeyDictionary[Layer, dict[str, "Decoder"]] = weakref.WeakKeyDictionary()


class Packed:
    """Nested arrays as a flat list, with their structure.

    The weights of a network are nested in hundreds of tuples, most of them empty. Flattening them
    at each call would take longer than all other host work of a compiled step.
    """

    __slots__ = ("flat", "tree")

    def __init__(self, flat: Sequence[Any], tree: Any) -> None:
        self.flat, self.tree = flat, tree

    @classmethod
    def of(cls, nested: Any) -> "Packed":
        """Packs nested arrays."""
        return cls(*tree_util.tree_flatten(nested))

    def nested(self) -> Any:
        """The nested arrays."""
        return self.tree.unflatten(self.flat)


tree_util.register_pytree_node(
    Packed, lambda packed: (packed.flat, packed.tree), lambda tree, flat: Packed(flat, tree)
)


class Decoder:
    """A copy of a model (its twin) in another mode. It holds no arrays; weights and state are
    arguments.

    Args:
      model: a model of one input, tokens, or two, source tokens and tokens.
      mode: "predict" or "eval".
    """

    def __init__(self, model: Layer, mode: str) -> None:
        self.twin = twin_of(model, mode)
        self._starts: dict[Any, _Start] = {}
        self._functions: dict[Hashable, Callable[..., Any]] = {}

    def begin(self, name: str, model: Layer, signature: Any, key: Any) -> tuple[Any, Any]:
        """(weights, state) for the beginning of sequences, packed.

        Args:
          name: the calling function, for errors.
          model: the model with the weights to use; it does not change. Its state is used too if it
            does not depend on the sequence, such as the running mean of `BatchNorm`.
          signature: the signature of the inputs.
          key: random key, for layers with a random initial state.
        """
        shapes = tuple([tuple(x.shape) for x in as_tuple(signature)])
        start = self._starts.get(shapes)
        if start is None:
            start = self._starts.setdefault(shapes, _Start(self.twin, signature, key))
        return Packed.of(start.weights(name, model)), Packed.of(start.state(model, key))

    def pieces(
        self, tokens: onp.ndarray, two: Any, weights: Any, state: Any, key: Any
    ) -> list[onp.ndarray]:
        """Splits tokens [batch, length] into the pieces for calls: of `PIECE` tokens, then of one.

        Args:
          tokens: the tokens.
          two: the signature of inputs with two tokens for each sequence.
          weights, state, key: as for a call of the twin.
        """
        length = tokens.shape[1]
        long = length - length % PIECE
        if long:
            try:
                fastmath.abstract_eval(self.twin.pure_fn)(
                    two, weights.nested(), state.nested(), key
                )
            except LayerError:  # such as positions that are counted one by one
                long = 0
        starts = [*range(0, long, PIECE), *range(long, length)]
        return [tokens[:, a:b] for a, b in zip(starts, [*starts[1:], length], strict=True)]

    def function(self, name: Hashable, make: Callable[[], Callable[..., Any]]) -> Any:
        """A function that is made once and cached."""
        if name not in self._functions:
            self._functions.setdefault(name, make())
        return self._functions[name]


class _Start:
    """The initial weights and state for inputs of one signature."""

    def __init__(self, twin: Layer, signature: Any, key: Any) -> None:
        self._twin = twin

        def init(key: Any) -> Any:
            with kept(twin):
                return twin.init(signature, rng=key)

        if fastmath.is_backend(fastmath.Backend.JAX):
            self._nested = twin.weights_and_state_signature(signature)[0]
            self._init = fastmath.jit(lambda key: init(key)[1])
        else:  # other backends may be unable to trace random initializers
            self._nested = signature_tree(init(key)[0])
            self._init = lambda key: init(key)[1]
        twin.weights = self._nested  # a twin has no arrays
        state = signature_tree(self._init(key))
        twin.state = state
        self._constant = _constant_leaves(twin, signature, self._nested, state)

    def weights(self, name: str, model: Layer) -> Any:
        """The model's weights, nested like the twin's."""
        weights = model.weights
        if not fastmath.tree_leaves(weights) and fastmath.tree_leaves(self._nested):
            raise noted(
                ValueError(
                    f"{name}: {model.name} has no weights yet\n"
                    "  fix: model.init(signature), or model.init_from_file(name)"
                )
            )
        return renested(weights, self._nested)

    def state(self, model: Layer, key: Any) -> Any:
        """A new initial state; the parts that do not depend on the sequence come from the model."""
        state = self._init(key)
        flat = fastmath.tree_flatten(state)
        with kept(self._twin):
            self._twin.state = fastmath.tree_unflatten([*range(len(flat))], state)[0]
            for layer, twin_layer in layer_pairs(model, self._twin):
                places = fastmath.tree_leaves(twin_layer._state)
                arrays = fastmath.tree_leaves(layer._state)
                if self._constant.issuperset(places) and len(places) == len(arrays):
                    for place, array in zip(places, arrays, strict=True):
                        if onp.shape(array) == onp.shape(flat[place]):
                            flat[place] = jnp.copy(array)  # the state may be donated
        return fastmath.tree_unflatten(flat, state)[0]


def _constant_leaves(twin: Layer, signature: Any, weights: Any, state: Any) -> set[int]:
    """The indices of state arrays that a call returns unchanged."""
    constant: set[int] = set()

    def call(x: Any, weights: Any, state: Any, key: Any) -> Any:
        outputs, new_state = twin.pure_fn(x, weights, state, key)
        leaves = fastmath.tree_flatten(state)
        kept_ones = {id(leaf) for leaf in fastmath.tree_leaves(new_state)}
        constant.update(i for i, leaf in enumerate(leaves) if id(leaf) in kept_ones)
        return outputs

    fastmath.abstract_eval(call)(signature, weights, state, fastmath.random.get_prng(0))
    return constant


def logits_of(twin: Layer, weights: Any, state: Any, inputs: Any, key: Any) -> tuple[Any, Any]:
    """(logits [batch, length, vocabulary], new state) of a twin; both states are packed."""
    outputs, state = twin.pure_fn(inputs, weights.nested(), state.nested(), key)
    return as_tuple(outputs)[0], Packed.of(state)


def decoder_of(name: str, model: Any, mode: str) -> Decoder:
    """The decoder of a model. It is cached with its programs as long as the model exists.

    Args:
      name: the calling function, for errors.
      model: a model, in any mode.
      mode: "predict" or "eval".
    Returns: the decoder.
    Raises: TypeError, ValueError: `model` is not a model, has other inputs, or does not support the
      mode.
    """
    if not isinstance(model, Layer):
        raise noted(TypeError(f"{name}: expected a model, a layer; got {type(model).__name__}"))
    if model.n_in not in (1, 2):
        raise noted(
            ValueError(
                f"{name}: expected a model of one input, tokens, or of two, source tokens and "
                f"tokens; {model.name} has {model.n_in} inputs"
            )
        )
    of_model = _decoders.setdefault(model, {})
    if mode not in of_model:
        of_model.setdefault(mode, Decoder(model, mode))
    return of_model[mode]
