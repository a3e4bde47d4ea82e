"""Scan: applies a layer to successive slices, with carried values."""

from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..shapes import ShapeDtype
from ..user_lines import noted
from .layer_calls import held, put_back
from .layer_errors import drawn
from .serial import Wrapper, as_tuple, checked_layer, packed, state_pair
from .weight_trees import is_state_marker

MODES = ("train", "eval", "predict")


class Scan(Wrapper):
    """Applies a layer to successive slices of the inputs, with carried values.

    Args:
      layer: a layer from (x1, …, xN, carry1, …, carryM) to (y1, …, yK, carry1, …, carryM).
      axis: the axis of the inputs and outputs along which to slice; slices do not have it.
      n_carry: M, the number of carried values.
      remat: whether to recompute the steps in the backward pass, which saves memory.
      mode: in 'predict', the last carry is kept as state, and the next call continues with it.

    Raises: ValueError: the layer has fewer inputs or outputs than carried values.

    Inputs are x1, …, xN, all of the same length along `axis`, and the initial carry; outputs are
    y1, …, yK with that axis, and the last carry. Step i has the random key `fold_in(rng, i)`. The
    weights are `(w,)`, and the state is `(state of the layer, carry)`, with a carry in mode
    'predict' only.

    Example:
      >>> from weft import layers as tl
      >>> add = tl.Fn("add", lambda x, carry: (x + carry, x + carry), n_out=2)
      >>> tl.Scan(add)((np.array([1, 2, 3]), np.array(0)))
      (Array([1, 3, 6], dtype=int32), Array(6, dtype=int32))

    Source: Trax documentation, `layers.combinators.Scan`.
    """

    def __init__(
        self, layer: Any, axis: int = 0, n_carry: int = 1, remat: bool = False, mode: str = "train"
    ) -> None:
        layer = checked_layer("Scan", "layer", layer)
        n_carry = option_checks.whole_number("Scan", "n_carry", n_carry, least=0)
        axis = option_checks.whole_number("Scan", "axis", axis, least=-64)
        option_checks.choice("Scan", "mode", mode, MODES)
        if n_carry > min(layer.n_in, layer.n_out) or n_carry == layer.n_in:
            raise noted(
                ValueError(
                    f"Scan: the layer takes {layer.n_in} inputs and gives {layer.n_out} outputs, "
                    f"of which n_carry={n_carry} are carried; at least one input isn't\n"
                    + drawn([layer], layer.n_in)
                )
            )
        super().__init__(layer, layer.n_in, layer.n_out)
        self._axis, self._n_carry, self._remat, self._mode = axis, n_carry, remat, mode
        self._state = (None, ())
        self._needs_key = layer._needs_key

    @property
    def state(self) -> Any:
        """(state of the layer, carry)."""
        mark, carry = self._state
        return (self.sublayer.state if mark is None else mark), carry

    @state.setter
    def state(self, state: Any) -> None:
        pair = state_pair("Scan", state)
        if pair is not None:
            mark = pair[0] if is_state_marker(pair[0]) else None
            self._state = (mark, pair[1])
            self.sublayer.state = pair[0]

    def forward(self, inputs: Any) -> Any:
        """The stacked outputs of all steps, and the last carry."""
        inputs = as_tuple(inputs)
        if len(inputs) != self._n_in:
            raise ValueError(f"Scan: expected {self._n_in} inputs; got {len(inputs)}")
        layer, n, m = self.sublayer, self._n_in - self._n_carry, self._n_carry
        (weights,), (state, kept) = self.weights, self.state
        xs, carry = inputs[:n], inputs[n:]
        _check_lengths(xs, self._axis)
        if self._mode == "predict" and m and kept != ():
            carry = kept
        key = self.rng if layer._needs_key else None

        def step(carried: Any, slices: Any) -> tuple[Any, Any]:
            carry, state, i = carried
            rng = None if key is None else fastmath.random.fold_in(key, i)
            y, state = layer.pure_fn(packed((*slices, *carry)), weights, state, rng, True)
            y = as_tuple(y)
            split = len(y) - m
            return (y[split:], state, i + 1), y[:split]

        step = fastmath.remat(step) if self._remat else step  # type: ignore[assignment]
        xs = tuple([jnp.swapaxes(x, self._axis, 0) for x in xs])
        start = (tuple(carry), state, jnp.asarray(0, jnp.int32))
        before = held(layer)
        (carry, state, _), ys = fastmath.scan(step, start, xs)
        put_back(before)  # otherwise the layers would hold values of the loop's trace
        self.state = (state, carry if self._mode == "predict" and m else ())
        ys = tuple([jnp.swapaxes(y, self._axis, 0) for y in ys])
        return packed((*ys, *carry))

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layer for slices of the inputs."""
        sigs = as_tuple(input_signature)
        n = self._n_in - self._n_carry
        if len(sigs) != self._n_in:
            raise ValueError(f"Scan: expected {self._n_in} inputs; got {len(sigs)}")
        _check_lengths(sigs[:n], self._axis)
        slices = [_without(sig, self._axis) for sig in sigs[:n]]
        w, s = self.sublayer.init(packed((*slices, *sigs[n:])), use_cache=True)
        self._state = (None, ())
        self.state = (s, ())
        self.weights = (w,)


def _check_lengths(xs: tuple[Any, ...], axis: int) -> None:
    """Raises an error unless the inputs have the axis, with equal lengths."""
    for x in xs:
        if not -len(x.shape) <= axis < len(x.shape):
            raise ShapeError(f"Scan: axis {axis} is out of range for an input of shape {x.shape}")
    lengths = {x.shape[axis] for x in xs}
    if len(lengths) > 1:
        shapes = ", ".join(str(tuple(x.shape)) for x in xs)
        raise ShapeError(f"Scan: inputs differ in their length along axis {axis}: {shapes}")


def _without(sig: Any, axis: int) -> ShapeDtype:
    """The signature of a slice, with the first axis moved to `axis`."""
    shape = list(sig.shape)
    shape[0], shape[axis] = shape[axis], shape[0]
    return ShapeDtype(tuple(shape[1:]), sig.dtype)
