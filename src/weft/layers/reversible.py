"""Reversible layers: the backward pass recomputes a layer's inputs from its outputs, so a deep
network does not store them.

ReversibleLayer is the base; ReversibleHalfResidual and ReversibleSerial make networks;
ReversibleConcatenatePair, ReversibleSelect, ReversibleSwap, ReversibleReshape and
ReversiblePrintShape move tensors. Sources: Gomez, Ren, Urtasun, Grosse (2017), The Reversible
Residual Network; Kitaev, Kaiser, Levskaya (2020), Reformer.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from ..shapes import signature
from ..user_lines import noted
from . import base
from .attention_gradients import forward_and_or_backward_of, is_gradient, vjp_of_inexact
from .base import Layer
from .layer_calls import applied
from .layer_errors import arity
from .serial import Combinator, Serial, as_tuple, inputs_from_stack, outputs_onto_stack, packed

__all__ = [
    "ReversibleConcatenatePair",
    "ReversibleHalfResidual",
    "ReversibleLayer",
    "ReversiblePrintShape",
    "ReversibleReshape",
    "ReversibleSelect",
    "ReversibleSerial",
    "ReversibleSwap",
]


class ReversibleLayer(Layer):
    """A layer whose inputs can be computed from its outputs, weights, states and random key.

    Subclasses define `forward` and `reverse`, or `reverse_and_grad` if these share work. The
    gradient of such a layer needs its outputs and not its inputs.

    Args:
      n_in: number of inputs.
      n_out: number of outputs.
      name: name for printing.
      sublayers_to_print: the sublayers to print.

    Example:
      >>> class Double(ReversibleLayer):
      ...     def forward(self, x):
      ...         return 2 * x
      ...     def reverse(self, output, weights=(), state=(), new_state=(), rng=None):
      ...         return output / 2
      >>> layer, y = Double(), np.ones(2)
      >>> x, (x_grad, weights_grad) = layer.reverse_and_grad(y, np.ones(2))
      >>> x, x_grad, weights_grad
      (Array([0.5, 0.5], dtype=float32), Array([2., 2.], dtype=float32), ())

    Source: Trax documentation, `layers.reversible.ReversibleLayer`.
    """

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """Computes the inputs from an output.

        Args:
          output: the result of `forward`, packaged by `n_out`.
          weights: the layer's weights.
          state: the state before the forward pass.
          new_state: the state after it.
          rng: the random key of the forward pass.
        Returns: the inputs, packaged by `n_in`.
        """
        raise NotImplementedError(
            f"{self._name}: its class must define reverse(self, output, weights, state, "
            "new_state, rng), or reverse_and_grad"
        )

    def reverse_and_grad(
        self,
        output: Any,
        grad: Any,
        weights: Any = (),
        state: Any = (),
        new_state: Any = (),
        rng: Any = None,
    ) -> tuple[Any, tuple[Any, Any]]:
        """Computes the inputs from an output, and the gradients with respect to inputs and weights.

        Args:
          output: the result of `forward`.
          grad: the gradient with respect to the output, packaged like it.
          weights: the layer's weights.
          state: the state before the forward pass.
          new_state: the state after it.
          rng: the random key of the forward pass.
        Returns: (inputs, (gradient for the inputs, gradient for the weights)).
        """
        x = self.reverse(output, weights, state, new_state, rng)

        def forward(x: Any, weights: Any) -> Any:
            return applied(self, x, weights, state, rng)[0]

        _, pull = fastmath.vjp(forward, x, weights)
        return x, pull(grad)

    @property
    def has_backward(self) -> bool:
        """True; the backward pass is `reverse_and_grad`."""
        return True

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
        """The gradients for the inputs and the weights; `inputs` is not used."""
        return self.reverse_and_grad(output, grad, weights, state, new_state, rng)[1]


class ReversibleConcatenatePair(ReversibleLayer):
    """Concatenates both inputs along their last axis, twice: (x, y) -> ([x, y], [x, y]).

    The inputs must have equal shapes.

    Example:
      >>> ReversibleConcatenatePair()((np.zeros(1), np.ones(1)))
      (Array([0., 1.], dtype=float32), Array([0., 1.], dtype=float32))

    Source: Trax documentation, `layers.reversible.ReversibleConcatenatePair`.
    """

    _needs_key = False

    def __init__(self) -> None:
        super().__init__(n_in=2, n_out=2)

    def forward(self, inputs: Any) -> tuple[Any, Any]:
        """The concatenation, twice."""
        x, y = inputs
        if x.shape != y.shape:
            raise ValueError(
                f"{self._name}: its inputs are halves of one output, so they have equal shapes; "
                f"got {x.shape} and {y.shape}"
            )
        both = jnp.concatenate((x, y), axis=-1)
        return both, both

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> tuple[Any, Any]:
        """The halves of the first output."""
        first, second = jnp.split(output[0], 2, axis=-1)
        return first, second


class ReversibleSelect(ReversibleLayer):
    """Copies and reorders items of the stack, without dropping any.

    Args:
      indices: for each output, the index of its input; each input occurs at least once.
      n_in: number of inputs; by default, the largest index plus 1.
      name: name for printing; by default, for example, 'ReversibleSelect[1,0]'.

    Raises: ValueError: an input is not among the outputs, or an index is not an input.

    Example:
      >>> layer = ReversibleSelect([1, 0, 1])
      >>> layer.forward(("a", "b")), layer.reverse(("b", "a", "b"))
      (('b', 'a', 'b'), ('a', 'b'))

    Source: Trax documentation, `layers.reversible.ReversibleSelect`.
    """

    _needs_key = False

    def __init__(self, indices: Any, n_in: int | None = None, name: str | None = None) -> None:
        indices = option_checks.lengths("ReversibleSelect", "indices", indices, least=0)
        n_in = max(indices, default=-1) + 1 if n_in is None else n_in
        missing = sorted(set(range(n_in)).symmetric_difference(indices))
        if missing:
            raise noted(
                ValueError(
                    f"ReversibleSelect: each of the {n_in} inputs, and no other, is to be among "
                    f"the outputs; got indices {list(indices)}, which differ from that by {missing}"
                )
            )
        if name is None:
            name = f"ReversibleSelect[{','.join(map(str, indices))}]"
        super().__init__(n_in, len(indices), name)
        self._indices = indices
        self._first_of = [indices.index(i) for i in range(n_in)]

    def forward(self, inputs: Any) -> Any:
        """The items with these indices."""
        items = as_tuple(inputs)
        return packed(tuple([items[i] for i in self._indices]))

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The first copy of each input."""
        items = as_tuple(output)
        return packed(tuple([items[i] for i in self._first_of]))


def ReversibleSwap() -> ReversibleSelect:
    """A layer that swaps the top two items of the stack.

    Returns: the layer.
    Example:
      >>> ReversibleSwap().forward(("a", "b"))
      ('b', 'a')
    Source: Trax's module `layers.reversible`.
    """
    return ReversibleSelect([1, 0], name="ReversibleSwap")


class ReversibleReshape(ReversibleLayer):
    """Reshapes the leading axes of its inputs.

    Args:
      shape1: the leading lengths of each input.
      shape2: the shape of each output, with the same number of elements.
      n_in: the number of inputs and outputs.

    Raises: ValueError: the numbers of elements differ.

    Example:
      >>> ReversibleReshape((2, 4), (8,))(np.ones((2, 4, 3))).shape
      (8, 3)

    Source: Trax documentation, `layers.reversible.ReversibleReshape`.
    """

    _needs_key = False

    def __init__(self, shape1: Any, shape2: Any, n_in: int = 1) -> None:
        shape1 = option_checks.lengths("ReversibleReshape", "shape1", shape1, least=0)
        shape2 = option_checks.lengths("ReversibleReshape", "shape2", shape2, least=0)
        if math.prod(shape1) != math.prod(shape2):
            raise noted(
                ValueError(
                    f"ReversibleReshape: shape1 {shape1} has {math.prod(shape1)} elements, and "
                    f"shape2 {shape2} has {math.prod(shape2)}; both have as many"
                )
            )
        texts = ["".join(str(list(shape)).split()) for shape in (shape1, shape2)]
        super().__init__(n_in, n_in, f"ReversibleReshape_{texts[0]}_{texts[1]}")
        self._shapes = tuple(shape1), tuple(shape2)

    def forward(self, inputs: Any) -> Any:
        """The inputs, reshaped."""
        return self._reshaped(inputs, *self._shapes)

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The outputs in their original shape."""
        return self._reshaped(output, *reversed(self._shapes))

    def _reshaped(self, items: Any, old: tuple[int, ...], new: tuple[int, ...]) -> Any:
        pieces = []
        for x in as_tuple(items):
            if tuple(x.shape[: len(old)]) != old:
                raise ValueError(
                    f"{self._name}: expected leading lengths {old}; got an array of shape {x.shape}"
                )
            pieces.append(jnp.reshape(x, new + tuple(x.shape[len(old) :])))
        return packed(tuple(pieces))


class ReversiblePrintShape(ReversibleLayer):
    """Prints the shapes and dtypes of its inputs when it is traced or called, and returns the
    inputs.

    Args:
      n_in: the number of inputs and outputs.
      msg: text to print with them.

    Example:
      >>> y = ReversiblePrintShape(msg="before")(np.ones((2, 3), np.float32))
      PrintShape: before: [(2, 3)[float32]]

    Source: Trax documentation, `layers.reversible.ReversiblePrintShape`.
    """

    _needs_key = False

    def __init__(self, n_in: int = 1, msg: str = "") -> None:
        super().__init__(n_in, n_in)
        self._msg = msg

    def forward(self, xs: Any) -> Any:
        """The inputs."""
        shapes = [f"{tuple(s.shape)}[{onp.dtype(s.dtype)}]" for s in map(signature, as_tuple(xs))]
        print(f"PrintShape: {self._msg}: [{', '.join(shapes)}]")
        return xs

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The outputs."""
        return output


class ReversibleSerial(ReversibleLayer, Serial):
    """Reversible layers in series, on a data stack; only the last outputs are stored.

    Args:
      *layers: reversible layers, possibly in nested lists and tuples.

    Raises: ValueError: a layer is not reversible.

    Example:
      >>> layer = ReversibleSerial(ReversibleSwap(), ReversibleReshape((2,), (2, 1), n_in=2))
      >>> y = layer((np.zeros(2), np.ones(2)))
      >>> layer.reverse(y, layer.weights, layer.state, layer.state)[1]
      Array([1., 1.], dtype=float32)

    Source: Trax documentation, `layers.reversible.ReversibleSerial`.
    """

    def __init__(self, *layers: Any) -> None:
        Serial.__init__(self, *layers)
        for i, layer in enumerate(self._sublayers):
            if not isinstance(layer, ReversibleLayer):
                raise noted(
                    ValueError(
                        f"ReversibleSerial: sublayers must be reversible layers; layer {i} is "
                        f"{layer!r}\n  fix: tl.ReversibleHalfResidual(layer) adds its output to "
                        "an accumulator, which can be undone"
                    )
                )

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The inputs of the first layer, computed layer by layer from the last layer's outputs."""
        stack = output
        for layer, *arguments in self._backwards(weights, state, new_state, rng):
            x = layer.reverse(inputs_from_stack(stack, layer.n_out), *arguments)
            stack = outputs_onto_stack(x, stack, layer.n_out)
        return stack

    def reverse_and_grad(
        self,
        output: Any,
        grad: Any,
        weights: Any = (),
        state: Any = (),
        new_state: Any = (),
        rng: Any = None,
    ) -> tuple[Any, tuple[Any, Any]]:
        """The inputs and the gradients, computed layer by layer from the last to the first."""
        stack, grads, weights_grads = output, grad, []
        for layer, *arguments in self._backwards(weights, state, new_state, rng):
            n = layer.n_out
            y, y_grad = inputs_from_stack(stack, n), inputs_from_stack(grads, n)
            x, (x_grad, weights_grad) = layer.reverse_and_grad(y, y_grad, *arguments)
            stack = outputs_onto_stack(x, stack, n)
            grads = outputs_onto_stack(x_grad, grads, n)
            weights_grads.append(weights_grad)
        return stack, (grads, tuple(reversed(weights_grads)))

    def _backwards(self, weights: Any, state: Any, new_state: Any, rng: Any) -> Any:
        """The layers from the last to the first, each with its weights, states and key."""
        keys = self._keys(rng)
        rows = zip(self._sublayers, weights, state, new_state, keys, strict=True)
        return reversed([*rows])


class ReversibleHalfResidual(ReversibleLayer, Combinator):
    """Adds the output of layers for a context to an accumulator, from which it can be subtracted
    again.

    The stack `[accumulator, *context]` becomes `[accumulator + f(context), *context]`: half of a
    reversible residual block; the other half swaps the two.

    Args:
      *residual_layers: the layers of f.
      attention_layer: an additional last layer of f. If it has `forward_and_or_backward`, the
        backward pass computes its output and gradients together, from the state after the forward
        pass, so attention over hash buckets uses the same buckets.
      name: name for printing.

    Raises: ValueError: an argument is not a layer.

    Example:
      >>> from weft import layers as tl
      >>> half = tl.ReversibleHalfResidual(tl.Fn("Square", lambda x: x * x))
      >>> half((np.ones(2), np.arange(2.0)))[0]
      Array([1., 2.], dtype=float32)

    Source: Trax documentation, `layers.reversible.ReversibleHalfResidual`.
    """

    def __init__(
        self, *residual_layers: Any, attention_layer: Any = None, name: str | None = None
    ) -> None:
        layers: list[Layer] = [Serial(*residual_layers)]
        attend: Callable[..., Any] | None = None
        if attention_layer is not None:
            if not isinstance(attention_layer, Layer):
                raise noted(
                    ValueError(
                        f"ReversibleHalfResidual: attention_layer is a layer; "
                        f"got {attention_layer!r}"
                    )
                )
            layers.append(attention_layer)
            attend = _attention_of(attention_layer)
        n_in = 1 + arity(layers)[0]
        super().__init__(name=name)
        self._combine(layers, n_in, n_in)
        self._attend = attend

    def forward(self, xs: Any) -> tuple[Any, ...]:
        """The accumulator with the layers' output for the context, and the context."""
        accumulator, *context = xs
        stack, states = packed(tuple(context)), []
        rows = zip(self._sublayers, self.weights, self.state, self._keys(self._rng), strict=True)
        for layer, weights, state, key in rows:
            inputs = inputs_from_stack(stack, layer.n_in)
            run = fastmath.remat(layer.pure_fn) if base.N_WEIGHTS_SHARDS > 1 else layer.pure_fn
            outputs, state = run(inputs, weights, state, key)
            stack = outputs_onto_stack(outputs, stack, layer.n_in)
            states.append(state)
        self.state = tuple(states)
        return accumulator + as_tuple(stack)[0], *context

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers for the context, and the attention layer for their output."""
        stack, pieces = packed(tuple(input_signature[1:])), []
        for layer in self._sublayers:
            inputs = inputs_from_stack(stack, layer.n_in)
            pieces.append(layer.init(inputs, use_cache=True))
            outputs = layer._forward_abstract(inputs)[0]
            stack = outputs_onto_stack(outputs, stack, layer.n_in)
        self._init_marks([w for w, _ in pieces], [s for _, s in pieces])

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """Raises an error, because the subtracted part is computed together with its gradient."""
        raise NotImplementedError(
            f"{self._name}: use reverse_and_grad, which computes the residual and its gradient "
            "at once"
        )

    def reverse_and_grad(
        self,
        output: Any,
        ct: Any,
        weights: Any = (),
        state: Any = (),
        new_state: Any = (),
        rng: Any = None,
    ) -> tuple[Any, tuple[Any, Any]]:
        """The inputs and the gradients; see `ReversibleLayer.reverse_and_grad`."""
        accumulator, *context = output
        accumulator_ct, *context_ct = ct
        keys = self._keys(rng)
        first = self._sublayers[0]
        stack = packed(tuple(context))
        inputs = inputs_from_stack(stack, first.n_in)
        residual, pull = self._residual(inputs, weights[0], state[0], new_state[0], keys[0])
        cts: tuple[Any, ...]
        attention_ct: tuple[Any, ...] = ()
        if self._attend is None:
            added, cts = residual[0], (accumulator_ct,)
        else:
            n_in = self._sublayers[1].n_in
            below = outputs_onto_stack(residual, stack, first.n_in)
            added, _, inputs_ct, weights_ct = self._attend(
                inputs_from_stack(below, n_in),
                weights[1],
                new_state[1],
                keys[1],
                output_grad=accumulator_ct,
                compute_output=True,
                update_state=False,
            )
            cts, attention_ct = as_tuple(inputs_ct), (weights_ct,)
        inputs_ct, residual_weights_ct = pull(cts[: len(residual)])
        context_ct = _with_added(context_ct, as_tuple(inputs_ct), 0)
        context_ct = _with_added(context_ct, cts[len(residual) :], first.n_in)
        inputs = (accumulator - added, *context)
        return inputs, ((accumulator_ct, *context_ct), (residual_weights_ct, *attention_ct))

    def _residual(
        self, inputs: Any, weights: Any, state: Any, new_state: Any, key: Any
    ) -> tuple[tuple[Any, ...], Callable[[tuple[Any, ...]], Any]]:
        """The results of the residual layers, as a tuple, and a function that pulls back the
        cotangents of the first result to inputs and weights. Layers that store a choice in the
        forward pass repeat it.
        """
        layer, state = self._sublayers[0], _replayed(state, new_state)

        def forward(x: Any, weights: Any) -> Any:
            outputs, aux = layer.pure_fn(x, weights, state, key)
            return as_tuple(outputs), aux

        outputs, pull, _ = vjp_of_inexact(forward, inputs, weights)
        return outputs, pull


def _attention_of(layer: Layer) -> Callable[..., Any]:
    """The function that computes a layer's output and gradients together."""
    own = getattr(layer, "forward_and_or_backward", None)
    if own is None:
        return forward_and_or_backward_of(layer)
    if "weights" not in inspect.signature(own).parameters:
        raise noted(
            ValueError(
                f"ReversibleHalfResidual: {layer.name} has no weights, and its "
                "forward_and_or_backward takes none\n"
                "  fix: tl.PureLSHSelfAttentionWrapper around it"
            )
        )
    return own


def _with_added(grads: list[Any], more: tuple[Any, ...], start: int) -> list[Any]:
    """Gradients for the items of a stack, plus the gradients of some items from `start` on."""
    gradients = list(grads)
    for i, other in enumerate(more, start):
        if is_gradient(other):
            gradients[i] = gradients[i] + other if is_gradient(gradients[i]) else other
    return gradients


def _replayed(state: Any, new_state: Any) -> Any:
    """The state before a forward pass, with the choices that layers stored during it."""
    if not isinstance(state, list | tuple):
        return state
    if len(state) == 2 and isinstance(state[1], dict) and "running_second_time" in state[1]:
        return new_state[0], {"running_second_time_yes": ()}
    pairs = zip(state, new_state, strict=True)
    replayed = [_replayed(old, new) for old, new in pairs]
    return type(state)(*replayed) if hasattr(state, "_fields") else type(state)(replayed)
