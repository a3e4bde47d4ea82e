"""Drawings: well-formed SVG with every layer in it, and wires that go where the data goes."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import weft.layers as tl
from weft import shapes
from weft.layers import drawings

SVG = "{http://www.w3.org/2000/svg}"


def texts(layer, **options):
    """What is written in a drawing, which parses."""
    root = ElementTree.fromstring(tl.draw(layer, **options))
    assert root.tag == f"{SVG}svg"
    return [node.text for node in root.iter(f"{SVG}text")]


def wires(svg):
    """The ends of wires, in coordinates of the page: ((x0, y0), (x1, y1))."""
    found = []

    def walk(node, x, y):
        if node.tag == f"{SVG}g":
            dx, dy = map(float, re.findall(r"[-\d.]+", node.get("transform")))
            x, y = x + dx, y + dy
        if node.tag == f"{SVG}path":
            numbers = [float(n) for n in re.findall(r"[-\d.]+", node.get("d"))]
            start, end = numbers[:2], numbers[-2:] if "C" in node.get("d") else None
            end = end or [numbers[0], numbers[2]]
            found.append(tuple((round(a + x, 1), round(b + y, 1)) for a, b in (start, end)))
        for child in node:
            walk(child, x, y)

    walk(ElementTree.fromstring(svg), 0, 0)
    return found


def traced(svg):
    """For each wire into the page, in order, the x of the wire out at which it ends, or None."""
    ends = wires(svg)
    top, bottom = min(y for (_, y), _ in ends), max(y for _, (_, y) in ends)

    def follow(point):
        if point[1] == bottom:
            return {point[0]}
        return set().union(*(follow(end) for start, end in ends if start == point))

    starts = sorted(start for start, _ in ends if start[1] == top)
    outs = sorted({end[0] for _, end in ends if end[1] == bottom})
    return [sorted(outs.index(x) for x in follow(start)) for start in starts]


# layer, what is written
LAYERS = {
    "one": (lambda: tl.Dense(4), ["Dense_4"]),
    "series": (
        lambda: tl.Serial(tl.Dense(4), tl.Relu(), tl.Dense(2)),
        ["Dense_4", "Relu", "Dense_2"],
    ),
    "residual": (lambda: tl.Residual(tl.Dense(4), tl.Relu()), ["Branch", "Dense_4", "Relu", "Add"]),
    "metric": (lambda: tl.Accuracy(), ["Accuracy"]),
    "scan": (lambda: tl.Scan(tl.Add()), ["Scan", "Add"]),
    "empty": (lambda: tl.Serial(), []),
    "name": (lambda: tl.Fn("a<b & c", lambda x: x), ["a<b & c"]),
}


@pytest.mark.parametrize("case", LAYERS)
def test_every_layer_is_written(case):
    make, expected = LAYERS[case]
    assert texts(make()) == expected


def test_conditions_are_frames_without_wires_inside():
    positive = tl.Fn("Positive", lambda x: x[0] > 0)
    assert texts(tl.Cond(positive, tl.Dense(4))) == [
        "Cond", "Positive", "Dense_4"
    ]  # fmt: skip


def test_shapes_are_written_if_the_signature_is_known():
    found = texts(tl.Serial(tl.Dense(4), tl.Relu()), input_signature=shapes.ShapeDtype((2, 3)))
    assert found == ["Dense_4", "float32[2,4]", "Relu", "float32[2,4]"]


# layer of copies alone, the outputs that each input reaches
ROUTES = {
    "swap": (tl.Swap(), [[1], [0]]),
    "dup": (tl.Dup(), [[0, 1]]),
    "drop": (tl.Serial(tl.Drop(), tl.Dup()), [[], [0, 1]]),
    "select": (tl.Select([2, 0, 2]), [[1], [], [0, 2]]),
    "series": (tl.Serial(tl.Swap(), tl.Select([0], n_in=2), tl.Dup()), [[], [0, 1]]),
    "parallel": (tl.Parallel(tl.Dup(), tl.Swap()), [[0, 1], [3], [2]]),
    "deep": (tl.Serial(tl.Select([2, 1, 0]), tl.Swap()), [[2], [0], [1]]),
    "branch": (tl.Branch(tl.Swap(), tl.Serial()), [[1, 2], [0]]),
}


@pytest.mark.parametrize("case", ROUTES)
def test_wires_go_where_the_data_goes(case):
    layer, expected = ROUTES[case]
    assert traced(tl.draw(layer)) == expected
    out = layer(tuple(range(layer.n_in)) if layer.n_in > 1 else 0)  # numbers stand for tensors
    out = out if isinstance(out, tuple) else (out,)
    reached = [[i for i, x in enumerate(out) if x == n] for n in range(layer.n_in)]
    assert reached == expected


def test_a_file(tmp_path):
    path = tmp_path / "model.svg"
    svg = tl.draw(tl.Serial(tl.Dense(4)), path)
    assert path.read_text(encoding="utf-8") == svg
    assert svg.startswith("<svg xmlns=")


def test_boxes_hold_their_text():
    block = drawings.box(["a long name of a layer", "float32[1,2,3]"], 1, 2)
    assert block.width >= len("a long name of a layer") * drawings.LETTER
    assert (len(block.ins), len(block.outs)) == (1, 2)
