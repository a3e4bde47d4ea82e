"""Chunk and BatchLeadingAxes.

Chunk applies a layer to parts of the batch, one after the other; BatchLeadingAxes merges several
batch axes for the inner layer.
"""

from collections.abc import Callable
from typing import Any

from .. import option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from ..shapes import ShapeDtype
from ..user_lines import noted
from .base import Layer, PureLayer
from .layer_errors import drawn
from .scan import Scan
from .serial import Serial, Wrapper, as_tuple, checked_layer, packed


class BatchLeadingAxes(Wrapper):
    """Runs a layer on inputs whose leading axes are merged into one batch axis.

    Args:
      layer: a layer with one output.
      n_last_axes_to_keep: the number of trailing axes to keep.

    Raises: ValueError: the layer does not have exactly one output, or the number is not positive.

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
        keep = option_checks.whole_number(name, "n_last_axes_to_keep", n_last_axes_to_keep)
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
        """The shape with merged leading axes."""
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
    """Runs a layer on chunks of the batch, one after the other, to save memory.

    Args:
      layer: the layer; its inputs and outputs have a batch for their first axis.
      chunk_size: the number of batch elements per chunk; below 1, the batch is not divided.
      pass_unchunkable: whether to run a batch that is not a multiple of `chunk_size` as one chunk.
    Returns: the layer. In training, the chunks are recomputed in the backward pass.
    Raises: ValueError (when called): the batch is not a multiple of `chunk_size`, and
      `pass_unchunkable` is False.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Chunk(tl.Dense(3), chunk_size=2)
      >>> _ = layer.init(np.ones((6, 5)))
      >>> layer(np.ones((6, 5))).shape
      (6, 3)
    Source: Trax documentation, `layers.combinators.Chunk`.
    """
    layer = checked_layer("Chunk", "layer", layer)
    size = option_checks.whole_number("Chunk", "chunk_size", chunk_size, least=-(2**31))
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
