"""Drawings of layers as SVG: the data stack flows down through boxes.

Knows how layers are nested; how boxes and wires look is said in `stack_blocks.py`.
"""

import os
from typing import Any

from . import options
from .base import Layer, PureLayer
from .combinators import Parallel, Serial
from .stack_blocks import Block, box, framed, in_parallel, in_series, page, router, unwired
from .summaries import shown, summary_rows, told

__all__ = ["draw"]

_ROUTERS = ("Drop", "Dup", "Swap")


def draw(
    layer: Layer, file_name: str | os.PathLike[str] | None = None, input_signature: Any = None
) -> str:
    """Draws a layer as SVG.

    The data stack flows from top to bottom, with its top on the left. A box is a layer; a wire is
    one tensor, and one that passes boxes on their right lies deeper in the stack. White boxes only
    copy, drop or reorder. Frames are layers with layers inside; those whose layers aren't just in
    series or parallel, such as `Cond`, show them without wires.

    Args:
      layer: a layer, initialized or not.
      file_name: where the drawing is written, if it is.
      input_signature: the signature of the layer's inputs, or the inputs: with it, boxes have the
        shapes of their outputs.
    Returns: the SVG text.
    Raises:
      TypeError: `layer` is none.
      LayerError: the layer can't take inputs of this signature.
      OSError: the file can't be written.
    Example:
      >>> from weft import layers as tl
      >>> svg = tl.draw(tl.Residual(tl.Dense(8), tl.Relu()))
      >>> svg[:4], "Dense_8" in svg
      ('<svg', True)
    """
    if not isinstance(layer, Layer):
        raise options.wrong_type("draw", "layer", "a layer", layer)
    rows = () if input_signature is None else summary_rows(layer, input_signature)
    svg = page(_block(layer, {row.layer: told(row.outputs) for row in rows}))
    if file_name is not None:
        with open(file_name, "w", encoding="utf-8") as file:
            file.write(svg)
    return svg


def _block(layer: Layer, shapes: dict[Layer, str]) -> Block:
    """The drawing of a layer, with the shapes of outputs that are known."""
    inside = shown(layer)
    is_visible = layer._sublayers_to_print is None or bool(layer._sublayers_to_print)
    if isinstance(layer, Serial) and is_visible:
        block = in_series([_block(part, shapes) for part in inside], layer.n_in)
        return block if layer.name == "Serial" else framed(block, layer.name)
    if isinstance(layer, Parallel) and is_visible:
        return in_parallel([_block(part, shapes) for part in inside])
    if isinstance(layer, PureLayer) and layer.name.startswith(("Select[", *_ROUTERS)):
        return _router(layer)
    if not inside:
        text = [layer.name, shapes[layer]] if layer in shapes else [layer.name]
        return box(text, layer.n_in, layer.n_out)
    block = in_parallel([_block(part, shapes) for part in inside])
    if (len(block.ins), len(block.outs)) != (layer.n_in, layer.n_out):
        block = unwired(block, layer.n_in, layer.n_out)
    return framed(block, layer.name)


def _router(layer: PureLayer) -> Block:
    """A layer that only hands on inputs: which they are, it tells for their numbers."""
    numbers = tuple(range(layer.n_in))
    found = layer.forward(numbers if layer.n_in != 1 else 0)
    return router(layer.name, found if isinstance(found, tuple | list) else (found,), layer.n_in)
