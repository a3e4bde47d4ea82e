"""Draws layers as SVG, with `draw`: the data stack flows down through boxes."""

import os
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from .. import option_checks
from .base import Layer, PureLayer
from .combinators import Parallel, Serial
from .summaries import shown, signature_line, summary_rows

__all__ = ["draw"]


LANE = 26.0  # distance between wires
GAP = 22.0  # distance between boxes, where wires bend
LINE = 14.0  # height of a line of text
LETTER = 6.7  # the maximal width of a letter
MARGIN = 12.0

STYLE = (
    "text { font: 11px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; "
    "fill: #1b1f24 } .title, .shape { fill: #57606a } .title { text-anchor: start } "
    "rect { fill: #eaf2ff; stroke: #3b6fb6; rx: 4px } .router { fill: #ffffff; stroke: #8c959f } "
    ".frame { fill: none; stroke: #8c959f; stroke-dasharray: 4 3 } .page { fill: #ffffff; "
    "stroke: none } path { fill: none; stroke: #1b1f24 }"
)


class Block(NamedTuple):
    """A part of a drawing.

    Attributes:
      width, height: its size.
      ins, outs: the positions of wires at its top and bottom, from the left.
      svg: the drawing, with (0, 0) as its upper left corner.
    """

    width: float
    height: float
    ins: tuple[float, ...]
    outs: tuple[float, ...]
    svg: str


def box(lines: Sequence[str], n_in: int, n_out: int) -> Block:
    """A box with lines of text: a name, and more lines below it."""
    width = max(max(map(len, lines)) * LETTER + 2 * MARGIN, (max(n_in, n_out) + 1) * LANE)
    height = len(lines) * LINE + 10
    classes = [""] + [' class="shape"'] * (len(lines) - 1)
    texts = [
        f'<text{kind} x="{_n(width / 2)}" y="{_n(16 + i * LINE)}">{escape(line)}</text>'
        for i, (kind, line) in enumerate(zip(classes, lines, strict=True))
    ]
    svg = f'<rect width="{_n(width)}" height="{_n(height)}"/>' + "".join(texts)
    return Block(width, height, _spread(n_in, width), _spread(n_out, width), svg)


def router(name: str, sources: Sequence[int], n_in: int) -> Block:
    """A box that shows the input of each output. The name is shown as a tooltip."""
    width = (max(n_in, len(sources)) + 1) * LANE
    ins, outs = _spread(n_in, width), _spread(len(sources), width)
    height = 30.0
    wires = [_wire(ins[source], 0, x, height) for source, x in zip(sources, outs, strict=True)]
    ends = [_wire(x, 0, x, 8) for i, x in enumerate(ins) if i not in sources]
    svg = (
        f'<rect class="router" width="{_n(width)}" height="{_n(height)}"><title>{escape(name)}'
        f"</title></rect>{''.join(wires + ends)}"
    )
    return Block(width, height, ins, outs, svg)


def in_series(blocks: Sequence[Block], n_in: int) -> Block:
    """Blocks in a column, on a stack of `n_in` wires; unused wires pass on the right."""
    if not blocks:
        xs = tuple(LANE * (i + 0.5) for i in range(n_in))
        wires = "".join(_wire(x, 0, x, GAP) for x in xs)
        return Block(max(n_in, 1) * LANE, GAP, xs, xs, wires)
    main = max(block.width for block in blocks)
    drawn, top, ins, stack = [], 0.0, None, None
    width, count = main, n_in
    for block in blocks:
        left = (main - block.width) / 2
        passing = count - len(block.ins)
        lanes = tuple(main + LANE * (i + 0.5) for i in range(passing))
        entries = (*(left + x for x in block.ins), *lanes)
        if stack is None:
            ins = entries
        else:
            drawn += [_wire(a, top, b, top + GAP) for a, b in zip(stack, entries, strict=True)]
            top += GAP
        drawn.append(_moved(block.svg, left, top))
        drawn += [_wire(x, top, x, top + block.height) for x in lanes]
        top += block.height
        stack = (*(left + x for x in block.outs), *lanes)
        count = len(stack)
        width = max(width, main + LANE * passing)
    return Block(width, top, ins or (), stack or (), "".join(drawn))


def in_parallel(blocks: Sequence[Block]) -> Block:
    """Blocks in a row, each with its own wires."""
    height = max(block.height for block in blocks)
    left, drawn = 0.0, []
    ins: list[float] = []
    outs: list[float] = []
    for block in blocks:
        drawn.append(_moved(block.svg, left, 0))
        ins += [left + x for x in block.ins]
        outs += [left + x for x in block.outs]
        if block.height < height:
            drawn += [_wire(left + x, block.height, left + x, height) for x in block.outs]
        left += block.width + MARGIN
    return Block(left - MARGIN, height, tuple(ins), tuple(outs), "".join(drawn))


def framed(block: Block, title: str) -> Block:
    """A block in a frame with a title; wires cross the frame."""
    width = max(block.width, len(title) * LETTER + MARGIN) + 2 * MARGIN
    left, top = (width - block.width) / 2, LINE + MARGIN
    height = top + block.height + MARGIN
    ins, outs = (tuple(left + x for x in xs) for xs in (block.ins, block.outs))
    wires = [_wire(x, 0, x, top) for x in ins]
    wires += [_wire(x, top + block.height, x, height) for x in outs]
    svg = (
        f'<rect class="frame" width="{_n(width)}" height="{_n(height)}"/>'
        f'<text class="title" x="6" y="13">{escape(title)}</text>'
        f"{''.join(wires)}{_moved(block.svg, left, top)}"
    )
    return Block(width, height, ins, outs, svg)


def unwired(block: Block, n_in: int, n_out: int) -> Block:
    """A block whose wires end at its border, because the connections inside are unknown."""
    ins, outs = _spread(n_in, block.width), _spread(n_out, block.width)
    return block._replace(ins=ins, outs=outs)


def page(block: Block) -> str:
    """A whole SVG file."""
    width, height = block.width + 2 * MARGIN, block.height + 2 * GAP
    wires = [_wire(x, -GAP / 2, x, 0) for x in block.ins]
    wires += [_wire(x, block.height, x, block.height + GAP / 2) for x in block.outs]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}">\n<style>{STYLE}</style>\n'
        f'<rect class="page" width="{_n(width)}" height="{_n(height)}"/>\n'
        f"{_moved(''.join(wires) + block.svg, MARGIN, GAP)}\n</svg>\n"
    )


def _spread(count: int, width: float) -> tuple[float, ...]:
    """Positions for wires, evenly spread over a width."""
    return tuple(width * (i + 1) / (count + 1) for i in range(count))


def _wire(x0: float, y0: float, x1: float, y1: float) -> str:
    """A wire downwards, bent if necessary."""
    if x0 == x1:
        return f'<path d="M{_n(x0)} {_n(y0)}V{_n(y1)}"/>'
    middle = _n((y0 + y1) / 2)
    curve = f"C{_n(x0)} {middle} {_n(x1)} {middle} {_n(x1)} {_n(y1)}"
    return f'<path d="M{_n(x0)} {_n(y0)}{curve}"/>'


def _moved(svg: str, x: float, y: float) -> str:
    return f'<g transform="translate({_n(x)} {_n(y)})">{svg}</g>'


def _n(x: float) -> str:
    """A coordinate as short text."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


_ROUTERS = ("Drop", "Dup", "Swap")


def draw(
    layer: Layer, file_name: str | os.PathLike[str] | None = None, input_signature: Any = None
) -> str:
    """Draws a layer as SVG.

    The data stack flows from top to bottom, with its top on the left. A box is a layer and a wire
    is a tensor; wires that pass boxes on the right are deeper in the stack. White boxes only copy,
    drop or reorder. Frames are layers with sublayers; if these are not simply in series or
    parallel, as in `Cond`, they are shown without wires.

    Args:
      layer: a layer, initialized or not.
      file_name: the file for the drawing; None writes no file.
      input_signature: the signature of the layer's inputs, or the inputs; if given, boxes show the
        shapes of their outputs.
    Returns: the SVG text.
    Raises:
      TypeError: `layer` is not a layer.
      LayerError: the layer does not accept inputs with this signature.
      OSError: the file cannot be written.
    Example:
      >>> from weft import layers as tl
      >>> svg = tl.draw(tl.Residual(tl.Dense(8), tl.Relu()))
      >>> svg[:4], "Dense_8" in svg
      ('<svg', True)
    """
    if not isinstance(layer, Layer):
        raise option_checks.wrong_type("draw", "layer", "a layer", layer)
    rows = () if input_signature is None else summary_rows(layer, input_signature)
    svg = page(_block(layer, {row.layer: signature_line(row.outputs) for row in rows}))
    if file_name is not None:
        with open(file_name, "w", encoding="utf-8") as file:
            file.write(svg)
    return svg


def _block(layer: Layer, shapes: dict[Layer, str]) -> Block:
    """The drawing of a layer, with the shapes of its outputs if they are known."""
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
    """The box of a layer that only reorders inputs. The order is found by applying it to their
    numbers."""
    positions = tuple(range(layer.n_in))
    order = layer.forward(positions if layer.n_in != 1 else 0)
    return router(layer.name, order if isinstance(order, tuple | list) else (order,), layer.n_in)
