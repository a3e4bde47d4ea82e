"""summary and summary_rows: tables of layers with output shapes, numbers of weights and operations.

All values are derived from signatures, without computing arrays. SummaryRow is one line of the
table.
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

import numpy as onp

from .. import fastmath, option_checks
from ..compiler.flops import flops
from ..fastmath import Backend, tree_leaves, use_backend
from ..transforms.tracing import make_jaxpr
from .base import Layer
from .layer_calls import kept
from .weight_trees import signature_tree

__all__ = ["SummaryRow", "summary", "summary_rows"]


class SummaryRow(NamedTuple):
    """One layer in a table.

    Attributes:
      depth: the number of enclosing layers.
      layer: the layer.
      inputs: the signature of its inputs.
      outputs: the signature of its outputs.
      n_weights: the number of its weights, including its sublayers'.
      n_bytes: the memory of the weights.
      flops: the number of floating-point operations of its forward pass. Multiplications, additions
        and functions such as exp count one each.
      is_shared: whether the layer already occurred further up, where its weights are counted.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dense(4), tl.Relu())
      >>> for row in tl.summary_rows(layer, np.ones((2, 3))):
      ...     print(row.depth, row.layer.name, row.n_weights, row.flops)
      0 Serial 16 64
      1 Dense_4 16 56
      1 Relu 0 8
    """

    depth: int
    layer: Layer
    inputs: Any
    outputs: Any
    n_weights: int
    n_bytes: int
    flops: int
    is_shared: bool


def summary(layer: Layer, input_signature: Any, file: TextIO | None = None) -> None:
    """Prints a table of a layer and its sublayers.

    The columns are the layer, indented by depth; the shapes of its outputs; the number and the
    bytes of its weights; and the floating-point operations of its forward pass. The first line
    is the layer itself.

    Args:
      layer: a layer, initialized or not; its weights and state are unchanged.
      input_signature: the signature of its inputs, or the inputs.
      file: the output file; by default, standard output.
    Raises:
      TypeError: `layer` is not a layer.
      LayerError: the layer does not accept inputs with this signature.
    Example:
      >>> from weft import layers as tl, shapes
      >>> model = tl.Serial(tl.Dense(8), tl.Relu(), tl.Dense(2))
      >>> tl.summary(model, shapes.ShapeDtype((4, 3)))
      layer      output        weights  bytes  FLOPs
      Serial     float32[4,2]       50    200    392
        Dense_8  float32[4,8]       32    128    224
        Relu     float32[4,8]        0      0     32
        Dense_2  float32[4,2]       18     72    136
    """
    lines = [["layer", "output", "weights", "bytes", "FLOPs"]]
    for row in summary_rows(layer, input_signature):
        name = "  " * row.depth + row.layer.name + " (shared)" * row.is_shared
        counts = row.n_weights, row.n_bytes, row.flops
        lines.append([name, signature_line(row.outputs), *(f"{n:,}" for n in counts)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [text.ljust(width) for text, width in zip(line[:2], widths[:2], strict=True)]
        cells += [text.rjust(width) for text, width in zip(line[2:], widths[2:], strict=True)]
        print("  ".join(cells).rstrip(), file=sys.stdout if file is None else file)


def summary_rows(layer: Layer, input_signature: Any) -> list[SummaryRow]:
    """The rows of the table of `summary`.

    Layers that only check shapes are omitted; a nameless `Serial` of one layer is shown as that
    layer.

    Args: as `summary`.
    Returns: the row of the layer, followed by all sublayers in order.
    Raises: as `summary`.
    Example:
      >>> from weft import layers as tl, shapes
      >>> rows = tl.summary_rows(tl.Serial(tl.Dense(8)), shapes.ShapeDtype((4, 3)))
      >>> [(row.depth, row.layer.name, row.n_weights) for row in rows]
      [(0, 'Serial', 32), (1, 'Dense_8', 32)]
    """
    if not isinstance(layer, Layer):
        raise option_checks.wrong_type("summary", "layer", "a layer", layer)
    with use_backend(Backend.JAX):  # signatures are the same on all backends
        return _measured(layer, input_signature)


def signature_line(signature: Any) -> str:
    """A short text of a signature: `float32[4,2]`, `(float32[4,2], int32[4])`."""
    if isinstance(signature, tuple | list):
        return "(" + ", ".join(map(signature_line, signature)) + ")"
    lengths = ",".join(map(str, signature.shape))
    return f"{onp.dtype(signature.dtype).name}[{lengths}]"


def _measured(layer: Layer, input_signature: Any) -> list[SummaryRow]:
    """The rows, from one trace of the layer's initialization."""
    rows: list[SummaryRow] = []

    def trace(inputs: Any, rng: Any) -> Any:
        weights, state = layer.init(inputs, rng=rng)
        seen: set[Layer] = set()
        for depth, part in _parts(layer):
            if part._init_signature is not None:
                rows.append(_row(depth, part, rng, part in seen))
            seen.add(part)
        return weights, state

    with kept(layer):
        fastmath.abstract_eval(trace)(
            signature_tree(input_signature), signature_tree(fastmath.random.get_prng(0))
        )
    return rows


def _row(depth: int, layer: Layer, rng: Any, is_shared: bool) -> SummaryRow:
    """The row of a layer with traced weights, from its outputs and inputs."""

    def run(inputs: Any) -> Any:
        return layer.pure_fn(inputs, layer.weights, layer.state, rng)[0]

    inputs = layer._init_signature
    jaxpr, outputs = make_jaxpr(run, return_shape=True)(inputs)
    arrays = [] if is_shared else tree_leaves(signature_tree(layer.weights))
    sizes = [int(onp.prod(a.shape, dtype=int)) for a in arrays]
    n_bytes = sum(n * onp.dtype(a.dtype).itemsize for n, a in zip(sizes, arrays, strict=True))
    outputs = signature_tree(outputs)
    return SummaryRow(depth, layer, inputs, outputs, sum(sizes), n_bytes, flops(jaxpr), is_shared)


def _parts(layer: Layer, depth: int = 0) -> Iterator[tuple[int, Layer]]:
    """A layer and its visible sublayers, with their depths."""
    yield depth, layer
    for part in shown(layer):
        yield from _parts(part, depth + 1)


def shown(layer: Layer) -> list[Layer]:
    """The sublayers to show. A nameless Serial of one layer is replaced by that layer."""
    hidden = layer._sublayers_to_print is not None and not layer._sublayers_to_print
    named = [] if hidden else [part for part in layer.sublayers if part.name]
    return [_only(part) for part in named]


def _only(layer: Layer) -> Layer:
    inside = shown(layer)
    return inside[0] if len(inside) == 1 and layer.name == "Serial" else layer
