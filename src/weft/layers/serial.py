"""Serial, which runs layers in series, and Combinator, the base class of layers with sublayers."""

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import fastmath, option_checks
from ..user_lines import noted
from .base import Layer
from .layer_calls import checked_items
from .layer_errors import arity, drawn
from .weight_trees import is_state_marker, is_weights_marker, marks_of


def inputs_from_stack(stack: Any, n: int) -> Any:
    """The top `n` items of a stack, packaged as a layer's inputs.

    Args:
      stack: a tuple or list, top first, or a single tensor.
      n: the number of items.
    Returns: `()`, one tensor, or a tuple of tensors.
    Example:
      >>> inputs_from_stack((1, 2, 3), 2)
      (1, 2)
    Source: Trax documentation, `layers.combinators.inputs_from_stack`.
    """
    return packed(as_tuple(stack)[:n])


def outputs_onto_stack(outputs: Any, stack: Any, n: int) -> Any:
    """The stack after removing `n` items and pushing outputs.

    Args:
      outputs: `()`, one tensor, or a tuple or list of tensors.
      stack: a tuple or list, top first, or a single tensor.
      n: the number of items to remove.
    Returns: the new stack; a single item is returned alone.
    Example:
      >>> outputs_onto_stack((7, 8), (1, 2, 3), 2)
      (7, 8, 3)
    Source: Trax documentation, `layers.combinators.outputs_onto_stack`.
    """
    return packed(as_tuple(outputs) + as_tuple(stack)[n:])


def as_tuple(items: Any) -> tuple[Any, ...]:
    """Items as a tuple; a single item becomes a tuple of one."""
    return tuple(items) if isinstance(items, list | tuple) else (items,)


def packed(items: tuple[Any, ...]) -> Any:
    """Items packaged as a layer's inputs or outputs: a single item is returned alone."""
    return items[0] if len(items) == 1 else items


def flat_layers(layers: Any) -> list[Layer]:
    """The layers in nested lists and tuples, in order; empty for a single None."""
    if len(layers) == 1 and layers[0] is None:
        return []
    flat: list[Layer] = []
    for item in layers:
        if isinstance(item, list | tuple):
            flat += flat_layers([*item]) if item != [None] else []
        elif isinstance(item, Layer):
            flat.append(item)
        else:
            raise noted(
                ValueError(f"Found nonlayer object ({item!r}) in layers: {layers!r}{_fix(item)}")
            )
    return flat


def _fix(item: Any) -> str:
    """The `fix:` line for an object that is not a layer: the call that makes a layer from it."""
    if not callable(item):
        return ""
    name = getattr(item, "__name__", "f")
    makes_layers = isinstance(item, type) and issubclass(item, Layer)
    if makes_layers or getattr(item, "__module__", "").startswith(f"{__package__}."):
        arguments = "…" if _needs_arguments(item) else ""
        return f"\n  fix: {name}({arguments}), a layer that {name} makes"
    return f"\n  fix: tl.Fn('{name}', …) makes a layer of a function"


def _needs_arguments(function: Any) -> bool:
    empty = inspect.Parameter.empty
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is empty and p.kind is not p.VAR_POSITIONAL for p in parameters)


class Combinator(Layer):
    """A layer whose sublayers run on parts of one stack, each with its own weights and state.

    Subclasses define `_apply`, which runs the sublayers with given weights and states. These are
    passed down level by level. Setting them on all descendants first, as an assignment to `weights`
    does, would take time proportional to the number of layers times the depth.
    """

    _is_lean: ClassVar[bool] = True  # whether `forward` is not overridden, so it is `_apply`

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._is_lean = cls.forward is Combinator.forward

    def _combine(self, layers: Sequence[Layer], n_in: int, n_out: int) -> None:
        """Sets the sublayers."""
        marks = (None,) * len(layers)
        self.__dict__.update(
            _n_in=n_in,
            _n_out=n_out,
            _sublayers=layers,
            _weights=marks,
            _state=marks,
            _needs_key=not self._is_lean or any([layer._needs_key for layer in layers]),
        )

    def forward(self, xs: Any) -> Any:
        """The outputs of the sublayers with their own weights and states."""
        outputs, self.state = self._apply(xs, self.weights, self.state)
        return outputs

    def _apply(self, xs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
        """(outputs, new state) for weights and states of the sublayers."""
        raise NotImplementedError

    def _run(self, x: Any, weights: Any, state: Any, is_repeated: bool) -> tuple[Any, Any]:
        if not self._is_lean or self.has_backward:
            return super()._run(x, weights, state, is_repeated)
        return self._apply(x, *self._own(weights, state, is_repeated))

    def _own(self, weights: Any, state: Any, is_repeated: bool) -> tuple[Any, Any]:
        """The weights and states of the sublayers in this call; stores their markers."""
        own = self.__dict__
        if is_repeated or is_weights_marker(weights):
            weights = self.weights
        else:
            own["_weights"] = marks_of(checked_items(self, weights, "weight"))
        if is_repeated or is_state_marker(state):
            state = self.state
        else:
            own["_state"] = marks_of(checked_items(self, state, "state"))
        return weights, state

    def _keys(self, rng: Any) -> Any:
        """A random key for each sublayer, split from one key; None for layers that need no key.

        Splitting a key takes a good part of the time for tracing a small layer.
        """
        own = self.__dict__
        n = len(own["_sublayers"])
        if rng is None or not own["_needs_key"]:
            return (None,) * n
        keys = fastmath.random.split(rng, n)
        return [keys[i] if a._needs_key else None for i, a in enumerate(own["_sublayers"])]

    def _new_state(self, states: list[Any]) -> tuple[Any, ...]:
        """The states after a call. For a shared layer, it is the state after its first
        occurrence."""
        marks = marks_of(states)
        if any(marks):
            self._state = marks
            for layer, s in zip(self._sublayers, states, strict=True):
                layer.state = s
        return tuple(states)

    def _init_marks(self, weights: list[Any], states: list[Any]) -> None:
        """Records which sublayers are shared; they already have their weights and states."""
        self._weights, self._state = marks_of(weights), marks_of(states)


class Serial(Combinator):
    """Layers in series, on a data stack.

    Each layer removes `n_in` items from the top of the stack and pushes its `n_out` outputs; the
    other items are left for later layers. Without layers, `Serial` returns its input.

    Args:
      *sublayers: layers, possibly in nested lists and tuples; None for no layers.
      name: name for printing.
      sublayers_to_print: the sublayers to print; by default, all.

    Raises: ValueError: an argument is not a layer.

    `n_in` counts the inputs that the layers take from the stack, and `n_out` the outputs that they
    leave on it. Weights and state are tuples with one item for each layer; a layer that occurs
    twice has one set of them.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dup(), tl.Fn("Square", lambda x: x * x), tl.Add())
      >>> layer(np.arange(3.0))
      Array([0., 2., 6.], dtype=float32)

    Source: Trax documentation, `layers.combinators.Serial`.
    """

    def __init__(
        self,
        *sublayers: Any,
        name: str | None = None,
        sublayers_to_print: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(name=name, sublayers_to_print=sublayers_to_print)
        layers = flat_layers(sublayers)
        self._combine(layers, *(arity(layers) if layers else (1, 1)))

    def _apply(self, xs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
        layers = self._sublayers
        if not layers:
            return xs, ()
        inputs = self._stack(xs)
        stack, states = list(reversed(inputs)), []  # the top is last, where changes are cheap
        for layer, w, s, key in zip(layers, weights, state, self._keys(self._rng), strict=True):
            n = layer._n_in
            if n == 1:
                x = stack.pop()
            elif n:
                x = tuple(reversed(stack[-n:]))
                del stack[-n:]
            else:
                x = ()
            y, s = layer.pure_fn(x, w, s, key, True)
            states.append(s)
            if isinstance(y, list | tuple):
                stack += reversed(y)
            else:
                stack.append(y)
        outputs = stack[0] if len(stack) == 1 else tuple(reversed(stack))
        return outputs, self._new_state(states)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers in order, each for the outputs of the previous layers."""
        stack, weights, states = self._stack(input_signature), [], []
        for layer in self._sublayers:
            inputs = inputs_from_stack(stack, layer.n_in)
            w, s = layer.init(inputs, use_cache=True)
            weights.append(w)
            states.append(s)
            stack = self._next(layer, inputs, stack)
        self._init_marks(weights, states)

    def _abstract(self, input_signature: Any) -> tuple[Any, Any]:
        if not self._sublayers:
            return input_signature, ()
        stack, states = self._stack(input_signature), []
        for layer, mark in zip(self._sublayers, self._state, strict=True):
            outputs, s = layer._forward_abstract(inputs_from_stack(stack, layer.n_in))
            states.append(s if mark is None else mark)
            stack = as_tuple(outputs_onto_stack(outputs, stack, layer.n_in))
        return packed(stack), tuple(states)

    def _next(self, layer: Layer, inputs: Any, stack: tuple[Any, ...]) -> tuple[Any, ...]:
        """The signatures on the stack after a layer. Checks the number of its outputs."""
        outputs = as_tuple(layer._forward_abstract(inputs)[0])
        if len(outputs) != layer.n_out and layer.name != "FlattenList":
            raise ValueError(
                f"{layer.name} gave {len(outputs)} outputs, and its n_out is {layer.n_out}\n"
                + drawn(self._sublayers, self.n_in)
            )
        return outputs + stack[layer.n_in :]

    def _stack(self, xs: Any) -> tuple[Any, ...]:
        """The inputs as a stack with at least as many items as the layers need."""
        is_stack = isinstance(xs, list | tuple)
        if not is_stack and self._n_in != 1:
            raise TypeError(
                f"{self._name}: expected a tuple or list of {self._n_in} tensors; got a single "
                f"{type(xs).__name__}\n{drawn(self._sublayers, 1)}"
            )
        inputs = xs if is_stack else (xs,)
        if len(inputs) < self._n_in:
            raise ValueError(
                f"{self._name}: number of inputs ({len(inputs)}) is less than n_in "
                f"({self._n_in})\n{drawn(self._sublayers, len(inputs))}"
            )
        return tuple(inputs)


def assembled(*layers: Layer) -> Serial:
    """A `Serial` of initialized layers, with their weights and state."""
    serial = Serial(*layers)
    serial.weights = tuple([layer.weights for layer in serial.sublayers])
    serial.state = tuple([layer.state for layer in serial.sublayers])
    return serial


def checked_layer(name: str, option: str, layer: Any) -> Layer:
    """Checks that an option is a layer."""
    if not isinstance(layer, Layer):
        raise option_checks.wrong_type(name, option, "a layer", layer)
    return layer


class Wrapper(Layer):
    """A layer with one sublayer."""

    def __init__(self, layer: Any, n_in: int, n_out: int, name: str | None = None) -> None:
        super().__init__(n_in, n_out, name)
        self.__dict__.update(_sublayers=[layer], _weights=(None,), _state=(None,))

    @property
    def sublayer(self) -> Layer:
        """The inner layer."""
        return self._sublayers[0]


def state_pair(name: str, state: Any) -> Any:
    """A state of two items; None for the marker of a shared layer."""
    if is_state_marker(state):
        return None
    if not isinstance(state, list | tuple) or len(state) != 2:
        raise noted(ValueError(f"{name}: the state has two items; got {state!r}"))
    return state
