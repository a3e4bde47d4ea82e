"""Cond: runs one of two layers, chosen at run time."""

from typing import Any

from .. import fastmath
from ..user_lines import noted
from .base import Layer
from .layer_errors import drawn
from .parallel import one_layer
from .serial import as_tuple, checked_layer, packed


class Cond(Layer):
    """Runs one of two layers, chosen by a third layer at run time.

    Args:
      cond: a layer that maps the first inputs to a boolean scalar.
      true: the layer to apply to the other inputs if the scalar is true.
      false: the layer to apply otherwise; by default, the inputs are returned unchanged.
      name: name for printing.

    Raises: ValueError: `cond` does not return exactly one output, or the two layers differ in their
      numbers of inputs or outputs.

    Only the chosen layer runs, and only its state changes.

    Example:
      >>> from weft import layers as tl
      >>> big, negate = tl.Fn("Big", lambda x: x > 5), tl.Fn("Negate", lambda x: -x)
      >>> tl.Cond(big, negate)((np.array(7), np.ones(2)))
      Array([-1., -1.], dtype=float32)

    Source: Trax documentation, `layers.combinators.Cond`.
    """

    def __init__(self, cond: Any, true: Any, false: Any = None, name: str | None = None) -> None:
        what = name or "Cond"
        true = checked_layer(what, "true", true)
        cond, false = checked_layer(what, "cond", cond), one_layer(false)
        arities = [(layer.n_in, layer.n_out) for layer in (cond, true, false)]
        if cond.n_out != 1 or arities[1] != arities[2]:
            raise noted(
                ValueError(
                    f"{what}: cond must have one output, and true and false as many inputs and "
                    "outputs as each other; (n_in, n_out) of cond, true and false: "
                    f"{', '.join(map(str, arities))}\n"
                    + drawn([cond, true], cond.n_in + true.n_in)
                    + "\n  and instead of the last layer:\n"
                    + drawn([false], false.n_in)
                )
            )
        super().__init__(cond.n_in + true.n_in, true.n_out, name)
        nothing = (None, None, None)
        layers = [cond, true, false]
        self.__dict__.update(_sublayers=layers, _weights=nothing, _state=nothing)
        self._needs_key = any(layer._needs_key for layer in layers)

    def forward(self, xs: Any) -> Any:
        """The outputs of the chosen layer."""
        xs = self._inputs(xs)
        cond, true, false = self._sublayers
        weights, state = self.weights, self.state
        keys = fastmath.random.split(self.rng, 3) if self._needs_key else (None,) * 3
        head, rest = packed(xs[: cond.n_in]), packed(xs[cond.n_in :])
        choice, cond_state = cond.pure_fn(head, weights[0], state[0], keys[0])

        def run_true(operands: Any) -> Any:
            y, s = true.pure_fn(operands, weights[1], state[1], keys[1])
            return y, s, state[2]

        def run_false(operands: Any) -> Any:
            y, s = false.pure_fn(operands, weights[2], state[2], keys[2])
            return y, state[1], s

        y, *states = fastmath.cond(choice, run_true, run_false, rest)
        self.state = (cond_state, *states)
        return packed(as_tuple(y))

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes all three layers."""
        sigs = self._inputs(input_signature)
        cond, true, false = self._sublayers
        head, rest = packed(sigs[: cond.n_in]), packed(sigs[cond.n_in :])
        pairs = ((cond, head), (true, rest), (false, rest))
        pieces = [layer.init(sig, use_cache=True) for layer, sig in pairs]
        self.state = tuple(s for _, s in pieces)
        self.weights = tuple(w for w, _ in pieces)

    def _inputs(self, xs: Any) -> tuple[Any, ...]:
        xs = as_tuple(xs)
        if len(xs) != self._n_in:
            raise ValueError(
                f"{self._name}: number of inputs ({len(xs)}) is not n_in ({self._n_in}), which is "
                f"{self._sublayers[0].n_in} for cond and {self._sublayers[1].n_in} for the others"
            )
        return xs
