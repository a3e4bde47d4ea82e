"""Cache: later calls return the outputs of the first call."""

from typing import Any

from .serial import Wrapper, checked_layer, state_pair
from .weight_trees import is_state_marker


class Cache(Wrapper):
    """Runs a layer at the first call, and returns its stored outputs at later calls.

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
        """(outputs, state of the inner layer)."""
        outputs, mark = self._state
        return outputs, (self.sublayer.state if mark is None else mark)

    @state.setter
    def state(self, state: Any) -> None:
        pair = state_pair("Cache", state)
        if pair is not None:
            mark = pair[1] if is_state_marker(pair[1]) else None
            self._state = (pair[0], mark)
            self.sublayer.state = pair[1]

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
