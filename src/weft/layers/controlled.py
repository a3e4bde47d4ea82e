"""Layers that run another layer in a loop, under a condition, once, or on reshaped inputs.

Knows one sublayer (`Cond`: three) and the functions of `fastmath` for control flow.
"""

from collections.abc import Callable
from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..shapes import ShapeDtype
from ..user_lines import noted
from . import options
from .base import Layer, PureLayer
from .layer_calls import held, put_back, tree
from .stack_drawing import drawn
from .stacks import Serial, as_tuple, one_layer, packed
from .weight_trees import is_state_marker

MODES = ("train", "eval", "predict")


def checked_layer(name: str, option: str, layer: Any) -> Layer:
    """An option that is a layer."""
    if not isinstance(layer, Layer):
        raise options.wrong_type(name, option, "a layer", layer)
    return layer


class Wrapper(Layer):
    """A layer with one sublayer."""

    def __init__(self, layer: Any, n_in: int, n_out: int, name: str | None = None) -> None:
        super().__init__(n_in, n_out, name)
        self.__dict__.update(_sublayers=[layer], _weights=(None,), _state=(None,))

    @property
    def sublayer(self) -> Layer:
        """The layer inside."""
        return self._sublayers[0]


class Scan(Wrapper):
    """A layer applied to one slice of its inputs after the other, with values carried along.

    Args:
      layer: a layer from (x1, …, xN, carry1, …, carryM) to (y1, …, yK, carry1, …, carryM).
      axis: the axis of the inputs and outputs along which the slices lie; slices don't have it.
      n_carry: M, the number of values that are carried.
      remat: whether the backward pass computes the steps again, which takes less memory.
      mode: in 'predict', the last carry is kept as state, and the next call goes on with it.

    Raises: ValueError: the layer has fewer inputs or outputs than are carried.

    Inputs are x1, …, xN, all of one length along `axis`, and the first carry; outputs are y1, …, yK
    with that axis, and the last carry. Step i has the random key `fold_in(rng, i)`. The weights are
    `(w,)`, and the state `(state of the layer, carry)`, with a carry in mode 'predict' only.

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
        n_carry = options.whole_number("Scan", "n_carry", n_carry, least=0)
        axis = options.whole_number("Scan", "axis", axis, least=-64)
        options.choice("Scan", "mode", mode, MODES)
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
        kept = _pair("Scan", state)
        if kept is not None:
            mark = kept[0] if is_state_marker(kept[0]) else None
            self._state = (mark, kept[1])
            self.sublayer.state = kept[0]

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
        before = [held(inner) for inner in tree(layer)]
        (carry, state, _), ys = fastmath.scan(step, start, xs)
        put_back(before)  # the layers would hold values of the loop's own trace
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


def _pair(name: str, state: Any) -> Any:
    """A state of two items; None for the mark of a shared layer."""
    if is_state_marker(state):
        return None
    if not isinstance(state, list | tuple) or len(state) != 2:
        raise noted(ValueError(f"{name}: the state has two items; got {state!r}"))
    return state


def _check_lengths(xs: tuple[Any, ...], axis: int) -> None:
    """Raises an error unless the inputs have the axis, and are of one length along it."""
    for x in xs:
        if not -len(x.shape) <= axis < len(x.shape):
            raise ShapeError(f"Scan: axis {axis} is out of range for an input of shape {x.shape}")
    lengths = {x.shape[axis] for x in xs}
    if len(lengths) > 1:
        shapes = ", ".join(str(tuple(x.shape)) for x in xs)
        raise ShapeError(f"Scan: inputs differ in their length along axis {axis}: {shapes}")


def _without(sig: Any, axis: int) -> ShapeDtype:
    """The signature of a slice: in the place of `axis` is what was first."""
    shape = list(sig.shape)
    shape[0], shape[axis] = shape[axis], shape[0]
    return ShapeDtype(tuple(shape[1:]), sig.dtype)


class Cond(Layer):
    """One of two layers, chosen by a third one when the program runs.

    Args:
      cond: a layer with one output, a boolean scalar, of the first inputs.
      true: the layer for the other inputs if it is true.
      false: the layer if it isn't; by default, the input is left as it is.
      name: name for printing.

    Raises: ValueError: `cond` gives not exactly one output, or the two layers don't take and give
      as many tensors. Only the chosen one runs, and only its state changes.

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
        numbers = [(layer.n_in, layer.n_out) for layer in (cond, true, false)]
        if cond.n_out != 1 or numbers[1] != numbers[2]:
            raise noted(
                ValueError(
                    f"{what}: cond must have one output, and true and false as many inputs and "
                    "outputs as each other; (n_in, n_out) of cond, true and false: "
                    f"{', '.join(map(str, numbers))}\n"
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
        return y

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes all three layers."""
        sigs = self._inputs(input_signature)
        cond, true, false = self._sublayers
        head, rest = packed(sigs[: cond.n_in]), packed(sigs[cond.n_in :])
        pairs = ((cond, head), (true, rest), (false, rest))
        made = [layer.init(sig, use_cache=True) for layer, sig in pairs]
        self.state = tuple(s for _, s in made)
        self.weights = tuple(w for w, _ in made)

    def _inputs(self, xs: Any) -> tuple[Any, ...]:
        xs = as_tuple(xs)
        if len(xs) != self._n_in:
            raise ValueError(
                f"{self._name}: number of inputs ({len(xs)}) is not n_in ({self._n_in}), which is "
                f"{self._sublayers[0].n_in} for cond and {self._sublayers[1].n_in} for the others"
            )
        return xs


class Cache(Wrapper):
    """A layer that runs on the first call, whose outputs all further calls return.

    Args:
      layer: the layer.

    The weights are `(w,)`, and the state is `(outputs, state of the layer)`, with `()` for outputs
    before the first call.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Cache(tl.Fn("Double", lambda x: 2 * x))
      >>> _ = layer.init(np.ones(2))
      >>> layer(np.ones(2)), layer(np.zeros(2))
      (Array([2., 2.], dtype=float32), Array([2., 2.], dtype=float32))

    Source: Trax documentation, `layers.combinators.Cache`.
    """

    def __init__(self, layer: Any) -> None:
        layer = checked_layer("Cache", "layer", layer)
        super().__init__(layer, layer.n_in, layer.n_out)
        self._state = ((), None)

    @property
    def state(self) -> Any:
        """(outputs, state of the layer)."""
        outputs, mark = self._state
        return outputs, (self.sublayer.state if mark is None else mark)

    @state.setter
    def state(self, state: Any) -> None:
        kept = _pair("Cache", state)
        if kept is not None:
            mark = kept[1] if is_state_marker(kept[1]) else None
            self._state = (kept[0], mark)
            self.sublayer.state = kept[1]

    def forward(self, inputs: Any) -> Any:
        """The layer's outputs for the inputs of the first call."""
        outputs, state = self.state
        if not (isinstance(outputs, tuple) and outputs == ()):
            return outputs
        outputs, state = self.sublayer.pure_fn(inputs, self.weights[0], state, self.rng)
        self.state = (outputs, state)
        return outputs

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layer."""
        w, s = self.sublayer.init(input_signature, use_cache=True)
        self._state = ((), None)
        self.state = ((), s)
        self.weights = (w,)


class BatchLeadingAxes(Wrapper):
    """A layer for batches, on inputs with any number of leading axes, taken for one.

    Args:
      layer: a layer with one output.
      n_last_axes_to_keep: how many axes at the end the layer is to see as they are.

    Raises: ValueError: the layer hasn't exactly one output, or the number isn't positive.

    `BatchLeadingAxes(Conv(…), n_last_axes_to_keep=3)` takes arrays [..., W, H, C].

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.BatchLeadingAxes(tl.Fn("Sum", lambda x: np.sum(x, axis=-1)))
      >>> layer(np.ones((2, 3, 4))).shape
      (2, 3)

    Source: Trax documentation, `layers.combinators.BatchLeadingAxes`.
    """

    def __init__(self, layer: Any, n_last_axes_to_keep: int = 1) -> None:
        name = "BatchLeadingAxes"
        layer = checked_layer(name, "layer", layer)
        keep = options.whole_number(name, "n_last_axes_to_keep", n_last_axes_to_keep)
        if layer.n_out != 1:
            raise noted(
                ValueError(
                    f"{name}: the layer must have one output; {layer!r} has {layer.n_out}\n"
                    + drawn([layer], layer.n_in)
                )
            )
        super().__init__(layer, layer.n_in, 1)
        self._keep = keep
        self._needs_key = layer._needs_key

    def _flat(self, shape: Any) -> tuple[int, ...]:
        """The shape with the leading axes as one."""
        at = len(shape) - self._keep
        if at < 0:
            raise ShapeError(
                f"BatchLeadingAxes: keeps {self._keep} axes; an input has shape {tuple(shape)}"
            )
        batch = 1
        for n in shape[:at]:
            batch *= n
        return batch, *shape[at:]

    def forward(self, inputs: Any) -> Any:
        """The layer's output, with the leading axes of the last input."""
        xs = as_tuple(inputs)
        flat = packed(tuple([jnp.reshape(x, self._flat(x.shape)) for x in xs]))
        y, s = self.sublayer.pure_fn(flat, self.weights[0], self.state[0], self.rng)
        self.state = (s,)
        leading = tuple(xs[-1].shape)[: len(xs[-1].shape) - self._keep]
        return jnp.reshape(y, leading + tuple(y.shape)[1:])

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layer for inputs with one leading axis."""
        sigs = as_tuple(input_signature)
        flat = packed(tuple(ShapeDtype(self._flat(sig.shape), sig.dtype) for sig in sigs))
        w, s = self.sublayer.init(flat, use_cache=True)
        self.state = (s,)
        self.weights = (w,)


def Chunk(layer: Any, chunk_size: int, pass_unchunkable: bool = True) -> Layer:
    """A layer that is run on chunks of the batch, one after the other, to save memory.

    Args:
      layer: the layer; its inputs and outputs have a batch for their first axis.
      chunk_size: how many elements of the batch a chunk has; below 1, the batch isn't cut.
      pass_unchunkable: whether a batch that isn't a multiple of that is run as one chunk.
    Returns: the layer. In training, steps are computed again in the backward pass.
    Raises: ValueError, when it runs: such a batch, without `pass_unchunkable`.
    Source: Trax documentation, `layers.combinators.Chunk`.
    """
    layer = checked_layer("Chunk", "layer", layer)
    size = options.whole_number("Chunk", "chunk_size", chunk_size, least=-(2**31))
    if size < 1:
        return layer

    def to_chunks(x: Any) -> Any:
        batch = x.shape[0]
        if batch % size and not pass_unchunkable:
            raise ShapeError(
                f"Chunk: the batch of {batch} can't be cut in chunks of {size}\n"
                "  fix: pass_unchunkable=True runs it whole"
            )
        chunk = batch if batch % size or not batch else size
        return jnp.reshape(x, (batch // max(chunk, 1), chunk, *x.shape[1:]))

    def from_chunks(x: Any) -> Any:
        return jnp.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))

    def each(name: str, f: Callable[[Any], Any], n: int) -> PureLayer:
        return PureLayer(lambda xs: packed(tuple(map(f, as_tuple(xs)))), n, n, name)

    return Serial(
        each("ReshapeToChunks", to_chunks, layer.n_in),
        Scan(layer, axis=0, n_carry=0, remat=True),
        each("ReshapeFromChunks", from_chunks, layer.n_out),
    )
