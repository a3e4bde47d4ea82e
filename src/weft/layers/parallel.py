"""Parallel: layers in parallel, each with its own inputs."""

from typing import Any

from ..user_lines import noted
from .base import Layer
from .layer_errors import drawn
from .serial import Combinator, Serial, as_tuple, packed


class Parallel(Combinator):
    """Layers in parallel, each with its own span of the inputs.

    Args:
      *sublayers: at least two layers, each with at least one input. None, or an empty list, leaves
        one input unchanged; a list of layers is a `Serial` of them.
      name: name for printing.

    Raises: ValueError: there are fewer than two layers, or an argument is not a layer, or takes no
      input.

    With F: 1 -> 1, G: 3 -> 1 and H: 2 -> 2, `Parallel(F, G, H)` takes a, b, c, d, e, f and returns
    F(a), G(b, c, d), and the two outputs of H(e, f).

    Example:
      >>> from weft import layers as tl
      >>> negate = tl.Fn("Negate", lambda x: -x)
      >>> tl.Parallel(None, negate)((np.ones(2), np.ones(2)))
      (Array([1., 1.], dtype=float32), Array([-1., -1.], dtype=float32))

    Source: Trax documentation, `layers.combinators.Parallel`.
    """

    def __init__(self, *sublayers: Any, name: str | None = None) -> None:
        super().__init__(name=name)  # draws its seed before layers are made for None
        what = name or type(self).__name__
        if len(sublayers) < 2:
            raise noted(
                ValueError(
                    f"{what}: expected at least two layers; got {len(sublayers)}: {sublayers!r}"
                )
            )
        layers = [one_layer(item) for item in sublayers]
        for layer in layers:
            if layer.n_in == 0:
                raise noted(
                    ValueError(
                        f"{what}: each layer must take an input; {layer!r} takes none"
                        f"\n{drawn(layers, sum(layer.n_in for layer in layers))}"
                    )
                )
        self._combine(layers, sum(a.n_in for a in layers), sum(a.n_out for a in layers))

    def _apply(self, xs: Any, weights: Any, state: Any) -> tuple[Any, Any]:
        spans = self._spans(xs)
        outputs: list[Any] = []
        states = []
        rows = zip(self._sublayers, spans, weights, state, self._keys(self._rng), strict=True)
        for layer, x, w, s, key in rows:
            y, s = layer.pure_fn(x, w, s, key, True)
            states.append(s)
            if isinstance(y, list | tuple):
                outputs += y
            else:
                outputs.append(y)
        return packed(tuple(outputs)), self._new_state(states)

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes each layer for its span of the inputs."""
        pairs = zip(self._sublayers, self._spans(input_signature), strict=True)
        pieces = [layer.init(span, use_cache=True) for layer, span in pairs]
        self._init_marks([w for w, _ in pieces], [s for _, s in pieces])

    def _abstract(self, input_signature: Any) -> tuple[Any, Any]:
        outputs: tuple[Any, ...] = ()
        states = []
        spans = self._spans(input_signature)
        for layer, span, mark in zip(self._sublayers, spans, self._state, strict=True):
            out_specs, s = layer._forward_abstract(span)
            outputs += as_tuple(out_specs)
            states.append(s if mark is None else mark)
        return packed(outputs), tuple(states)

    def _spans(self, xs: Any) -> list[Any]:
        """The span of the inputs for each layer; surplus inputs are ignored."""
        if not isinstance(xs, list | tuple) or len(xs) < self._n_in:
            count = len(xs) if isinstance(xs, list | tuple) else 1
            raise ValueError(
                f"{self._name}: number of inputs ({count}) is less than n_in ({self._n_in}): "
                f"{', '.join(f'{layer.name} takes {layer.n_in}' for layer in self._sublayers)}"
            )
        spans, start = [], 0
        for layer in self._sublayers:
            end = start + layer._n_in
            spans.append(xs[start] if layer._n_in == 1 else tuple(xs[start:end]))
            start = end
        return spans


def one_layer(item: Any) -> Layer:
    """A layer itself; the identity for None; a `Serial` for several layers."""
    return item if isinstance(item, Layer) else Serial(item)
