"""The layers that place the vectors of a target after the vectors of its source: JoinedStreams,
StripFromConcatenateWithPadding, and Continuation for decoding.
"""

from typing import Any

from ... import fastmath, layers as tl, tree
from ...fastmath import numpy as jnp
from ...layers.base import Fn, Layer
from ...layers.layer_calls import held, put_back
from ...layers.reversible import ReversibleLayer
from ...layers.serial import Wrapper, packed
from ...shapes import ShapeDtype

__all__ = ["Continuation", "JoinedStreams", "StripFromConcatenateWithPadding"]


class JoinedStreams(ReversibleLayer):
    """Joins two streams of a source with two streams of its target, along the sequence.

    In each row of the batch, the vectors of source tokens come first, then the target's vectors,
    then the vectors of the source's padding. All vectors are kept, so the layer is reversible.

    Inputs: two streams of the source, floats [batch, length, d]; its mask [batch, length], False at
      padding; two streams of the target, [batch, target length, d].
    Outputs: two streams [batch, length + target length, d], and the mask.
    Example:
      >>> source, target = np.array([[[1.0], [2.0], [3.0]]]), np.array([[[7.0], [8.0]]])
      >>> mask = np.array([[True, True, False]])
      >>> joined, _, _ = JoinedStreams()((source, source, mask, target, target))
      >>> joined[0, :, 0]
      Array([1., 2., 7., 8., 3.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__(n_in=5, n_out=3)

    def forward(self, inputs: Any) -> tuple[Any, Any, Any]:
        """(joined stream, joined stream, mask)."""
        first, second, mask, third, fourth = inputs
        order = _order(mask, third.shape[1])
        pairs = ((first, third), (second, fourth))
        x, y = (_taken(jnp.concatenate(pair, axis=1), order) for pair in pairs)
        return x, y, mask

    def reverse(
        self, output: Any, weights: Any = (), state: Any = (), new_state: Any = (), rng: Any = None
    ) -> Any:
        """The streams of source and target, and the mask."""
        x, y, mask = output
        length = mask.shape[1]
        order = jnp.argsort(_order(mask, x.shape[1] - length), axis=1)
        x, y = _taken(x, order), _taken(y, order)
        return x[:, :length], y[:, :length], mask, x[:, length:], y[:, length:]

    def reverse_and_grad(
        self,
        output: Any,
        grad: Any,
        weights: Any = (),
        state: Any = (),
        new_state: Any = (),
        rng: Any = None,
    ) -> tuple[Any, tuple[Any, Any]]:
        """The inputs, and the gradients for them: the layer only moves vectors."""
        first, second, _, third, fourth = self.reverse((grad[0], grad[1], output[2]))
        return self.reverse(output), ((first, second, grad[2], third, fourth), ())


def StripFromConcatenateWithPadding() -> Layer:
    """A layer that extracts the target's vectors from a stream of `JoinedStreams`.

    Returns: a layer from (floats [batch, length + target length, d], mask [batch, length]) to
      [batch, target length, d].
    Example:
      >>> joined = np.array([[[1.0], [2.0], [7.0], [8.0], [3.0]]])
      >>> layer = StripFromConcatenateWithPadding()
      >>> layer((joined, np.array([[True, True, False]])))[0, :, 0]
      Array([7., 8.], dtype=float32)
    """

    return Fn(
        "StripFromConcatenateWithPadding",
        lambda x, mask: _taken(x, _places(mask, x.shape[1] - mask.shape[1])),
    )


class Continuation(Wrapper):
    """Runs the layers of a decoder over a source, and then over its target piece by piece.

    The first call begins with the source, without its padding. Each row of a batch has its own
    state, because rows differ in the number of source tokens. Steps take one position each.

    Args:
      layer: layers in mode "predict", from two streams [1, 1, d] to two streams [1, 1, any].
    Inputs: as for `JoinedStreams`; the source and its mask are used only in the first call.
    Outputs: two streams of the target.
    Example:
      >>> add = tl.Serial(tl.Fn("Add", lambda x, y: (x + y, y), n_out=2))
      >>> layer, x, mask = Continuation(add), np.ones((2, 3, 4)), np.ones((2, 3), bool)
      >>> _ = layer.init((x, x, mask, x[:, :2], x[:, :2]))
      >>> [y.shape for y in layer((x, x, mask, x[:, :2], x[:, :2]))]
      [(2, 2, 4), (2, 2, 4)]
    """

    def __init__(self, layer: Layer) -> None:
        self._step = _Step(layer)
        super().__init__(tl.Scan(self._step, axis=1, n_carry=0), n_in=5, n_out=2)
        self._state = (None, ())

    @property
    def state(self) -> Any:
        """(state of the decoder, whether the source has been read)."""
        return self.sublayer.state, self._state[1]

    @state.setter
    def state(self, state: Any) -> None:
        self.sublayer.state, mark = state
        self._state = (None, mark)

    def forward(self, inputs: Any) -> Any:
        """The outputs for the target."""
        first, second = inputs[3:]
        state, mark = self.state
        batch, length = first.shape[:2]
        xs = (first, second, jnp.ones((batch, length), jnp.bool_))
        if "init" not in mark:
            outputs, state = self.sublayer.pure_fn(xs, self.weights[0], state, self.rng)
        else:
            outputs, state = self._from_source(inputs, state)
        self.state = (state, {"forward": ()})
        return outputs

    def _from_source(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The outputs for the first piece of the target, and the state."""
        scan, (weights,), mask = self.sublayer, self.weights, inputs[2]
        x, y, _ = JoinedStreams().forward(inputs)
        length = x.shape[1] - mask.shape[1]
        places = _places(mask, length)
        counts = jnp.arange(x.shape[1], dtype=jnp.int32)[None, :] <= places[:, -1:]
        # The first step may change the structure of the state, and always counts.
        xs = tuple([z[:, 0] for z in (x, y, counts)])
        start, inner = self._step.pure_fn(xs, weights[0], state[0], self.rng)
        xs = tuple([z[:, 1:] for z in (x, y, counts)])
        rest, state = scan.pure_fn(xs, weights, (inner, ()), self.rng)
        pairs = zip(start, rest, strict=True)
        joined = [jnp.concatenate([a[:, None], b], axis=1) for a, b in pairs]
        return tuple([_taken(z, places) for z in joined]), state

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers."""
        first, second = input_signature[3:]
        counts = ShapeDtype(first.shape[:2], jnp.bool_)
        w, s = self.sublayer.init((first, second, counts), use_cache=True)
        self.state = (s, {"init": ()})
        self.weights = (w,)


class _Step(Wrapper):
    """A step of each row of a batch, from (x [batch, d], y [batch, d], whether it counts [batch]).

    Each row has its own state, which only changes in steps that count, or that change its
    structure.
    """

    def __init__(self, layer: Layer) -> None:
        super().__init__(layer, n_in=3, n_out=2)
        self._needs_key = layer._needs_key

    def forward(self, inputs: Any) -> Any:
        """The outputs of all rows."""
        (weights,), rng = self.weights, self.rng

        def row(x: Any, y: Any, counts: Any, state: Any) -> Any:
            streams = packed((x[None, None], y[None, None]))
            outputs, new_state = self.sublayer.pure_fn(streams, weights, state, rng)
            if tree.structure(new_state) == tree.structure(state):
                new_state = fastmath.nested_map_multiarg(
                    lambda new, old: jnp.where(counts, new, old), new_state, state
                )
            return tuple([z[0, 0] for z in outputs]), new_state

        before = held(self.sublayer)
        outputs, state = fastmath.vmap(row)(*inputs, self.state[0])
        put_back(before)  # otherwise the layers would hold values of the trace
        self.state = (state,)
        return outputs

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers for one row, and copies the state for each row."""
        rows, streams = input_signature[0].shape[0], input_signature[:2]
        w, s = self.sublayer.init(
            tuple(ShapeDtype((1, 1, x.shape[-1]), x.dtype) for x in streams), use_cache=True
        )
        self.state = (
            fastmath.nested_map(lambda x: jnp.broadcast_to(x[None], (rows, *x.shape)), s),
        )
        self.weights = (w,)


def _order(mask: Any, n_targets: int) -> Any:
    """The indices [batch, length + n_targets] that move padding of the source to the end."""
    targets = jnp.ones((mask.shape[0], n_targets), jnp.bool_)
    is_padding = ~jnp.concatenate([mask != 0, targets], axis=1)
    return jnp.argsort(is_padding.astype(jnp.int32), axis=1)


def _places(mask: Any, n_targets: int) -> Any:
    """The indices [batch, n_targets] of a target's vectors, after those of its source."""
    n_tokens = jnp.sum((mask != 0).astype(jnp.int32), axis=1)
    return n_tokens[:, None] + jnp.arange(n_targets, dtype=jnp.int32)[None, :]


def _taken(x: Any, indices: Any) -> Any:
    return jnp.take_along_axis(x, indices[:, :, None], axis=1)
