"""SummaryScalar and SummaryImage: layers that return their inputs and record values for
TensorBoard.

The records are the layer's state, a dict whose keys begin with `summary_`; a training loop reads
them from the state of a model.
"""

from collections.abc import Callable
from typing import Any

from .. import option_checks
from ..fastmath import numpy as jnp
from .base import Layer


def _checked_name(layer: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise option_checks.wrong_type(layer, "name", "a text that isn't empty", name)
    return f"summary_{name}"


class SummaryScalar(Layer):
    """A layer that returns its input, and stores a number computed from it for TensorBoard.

    Args:
      name: name of the number.
      aggregation_fun: function from a tensor to a scalar; by default, the mean.

    The state is {'summary_' + name: the number of the last call}.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.SummaryScalar("activation")
      >>> _ = layer(np.array([1.0, 3.0]))
      >>> layer.state
      {'summary_activation': Array(2., dtype=float32)}

    Source: Trax documentation, `layers.core.SummaryScalar`.
    """

    _needs_key = False

    def __init__(self, name: str, aggregation_fun: Callable[[Any], Any] | None = None) -> None:
        super().__init__(name=_checked_name("SummaryScalar", name))
        if aggregation_fun is not None:
            option_checks.function(
                "SummaryScalar", "aggregation_fun", aggregation_fun, "of a tensor"
            )
        self._aggregation_fun = aggregation_fun

    def forward(self, x: Any) -> Any:
        """The input itself."""
        aggregate = self._aggregation_fun or jnp.mean
        self.state = {self._name: aggregate(x)}
        return x

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the state: zero."""
        self.state = {self._name: jnp.array(0.0)}


class SummaryImage(Layer):
    """A layer that returns its inputs, and stores images of them for TensorBoard.

    Args:
      name: name of the images.
      n_in: the number of inputs; an image shows them one above the other.
      num_summaries: the number of batch elements for which to store an image.
      recover_fn: function from one element of an input to an image.

    After a call the state is {'summary_' + name + '0': image, …}; image s is `recover_fn` of
    element s of each input, concatenated along the first axis.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.SummaryImage("input", n_in=1, num_summaries=2)
      >>> _ = layer(np.ones((5, 8, 8, 3)))
      >>> {name: image.shape for name, image in layer.state.items()}
      {'summary_input0': (8, 8, 3), 'summary_input1': (8, 8, 3)}

    Source: Trax documentation, `layers.core.SummaryImage`.
    """

    _needs_key = False

    def __init__(
        self,
        name: str,
        n_in: int,
        num_summaries: int = 5,
        recover_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        n_in = option_checks.whole_number("SummaryImage", "n_in", n_in)
        super().__init__(n_in, n_in, _checked_name("SummaryImage", name))
        self._num = option_checks.whole_number(
            "SummaryImage", "num_summaries", num_summaries, least=0
        )
        if recover_fn is not None:
            option_checks.function("SummaryImage", "recover_fn", recover_fn, "of a tensor")
        self._recover_fn = recover_fn

    def forward(self, x: Any) -> Any:
        """The inputs themselves."""
        recover = self._recover_fn or (lambda tensor: tensor)
        inputs = x if self._n_in > 1 else (x,)
        images = {}
        for s in range(min(self._num, inputs[0].shape[0])):
            parts = [recover(tensor[s]) for tensor in inputs[: self._n_in]]
            images[f"{self._name}{s}"] = jnp.concatenate(parts, axis=0)
        self.state = images
        return x if self._n_in == 1 else tuple(inputs[: self._n_in])

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Makes the state: zero until there is an image."""
        self.state = {self._name: jnp.array(0.0)}
