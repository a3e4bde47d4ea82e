"""Tables of layers: shapes, counts of weights and operations by hand, shared layers, nesting."""

import io

import numpy as onp
import pytest

import weft.layers as tl
from weft import fastmath, shapes
from weft.layers.summaries import signature_line

SIGNATURE = shapes.ShapeDtype((4, 3))


def table(layer, signature=SIGNATURE):
    out = io.StringIO()
    tl.summary(layer, signature, out)
    return out.getvalue().splitlines()


def test_a_table(capsys):
    model = tl.Serial(tl.Dense(8), tl.Relu(), tl.Dropout(0.1), tl.Dense(2))
    lines = table(model)
    assert lines[0].split() == ["layer", "output", "weights", "bytes", "FLOPs"]
    assert [line.split()[:4] for line in lines[1:]] == [
        ["Serial", "float32[4,2]", "50", "200"],
        ["Dense_8", "float32[4,8]", "32", "128"],
        ["Relu", "float32[4,8]", "0", "0"],
        ["Dropout", "float32[4,8]", "0", "0"],
        ["Dense_2", "float32[4,2]", "18", "72"],
    ]
    assert lines[2].startswith("  Dense_8")
    tl.summary(model, SIGNATURE)
    assert capsys.readouterr().out.splitlines() == lines


def test_operations_of_layers_by_hand():
    rows = tl.summary_rows(tl.Serial(tl.Dense(8), tl.Tanh(), tl.Conv1d(5, 1)), _series(4, 3))
    counts = {row.layer.name: row.flops for row in rows}
    assert counts == {
        "Dense_8": 2 * 4 * 3 * 8 + 4 * 8,
        "Tanh": 4 * 8,
        "Conv": 2 * 4 * 8 * 5 + 4 * 5,
        "Serial": 224 + 32 + 340,
    }


def _series(length, features):
    return shapes.ShapeDtype((1, length, features))


def test_weights_stay_as_they_are():
    layer = tl.Serial(tl.Dense(2), tl.BatchNorm(axis=0))
    assert table(layer)[1].split()[2] == "12"
    assert layer.weights == ((), ())
    layer.init(SIGNATURE, rng=fastmath.random.get_prng(0))
    weights, state, key = layer.weights, layer.state, layer.rng
    table(layer)
    for old, new in zip(*(map(fastmath.tree_leaves, pair) for pair in (
        (weights, state, key), (layer.weights, layer.state, layer.rng))), strict=True):  # fmt: skip
        assert all(a is b for a, b in zip(old, new, strict=True))


def test_shared_layers_count_once():
    shared = tl.Dense(3)
    rows = tl.summary_rows(tl.Serial(shared, tl.Serial(shared, tl.Dense(3))), SIGNATURE)
    assert [(row.depth, row.layer.name, row.n_weights, row.is_shared) for row in rows] == [
        (0, "Serial", 24, False),
        (1, "Dense_3", 12, False),
        (1, "Serial", 12, False),
        (2, "Dense_3", 0, True),
        (2, "Dense_3", 12, False),
    ]
    assert [row.flops for row in rows] == [3 * 84, 84, 2 * 84, 84, 84]
    assert "Dense_3 (shared)" in table(tl.Serial(shared, shared))[3]


def test_branches_and_several_tensors():
    swap = tl.Fn("Exchange", lambda a, b: (b, a), n_out=2)
    rows = tl.summary_rows(tl.Serial(tl.Branch(tl.Dense(2), None), swap), SIGNATURE)
    assert [
        (row.depth, row.layer.name, signature_line(row.outputs), row.n_weights) for row in rows
    ] == [
        (0, "Serial", "(float32[4,3], float32[4,2])", 8),
        (1, "Branch", "(float32[4,2], float32[4,3])", 8),
        (2, "Select[0,0]", "(float32[4,3], float32[4,3])", 0),
        (2, "Parallel", "(float32[4,2], float32[4,3])", 8),
        (3, "Dense_2", "float32[4,2]", 8),
        (3, "Serial", "float32[4,3]", 0),
        (1, "Exchange", "(float32[4,3], float32[4,2])", 0),
    ]


def test_scans_count_each_step():
    rows = tl.summary_rows(tl.Chunk(tl.Dense(2), 2), SIGNATURE)
    found = {row.layer.name: (row.flops, row.n_weights, signature_line(row.inputs)) for row in rows}
    assert found["Dense_2"] == (28, 8, "float32[2,3]")
    assert found["Scan"] == (2 * 28, 8, "float32[2,2,3]")


@pytest.mark.devices(2)
def test_copies_on_devices_count():
    rows = tl.summary_rows(tl.Accelerate(tl.Dense(3), 2), SIGNATURE)
    assert [(row.layer.name, row.n_weights) for row in rows] == [
        ("Accelerate", 24),
        ("Dense_3", 12),
    ]


def test_metrics_and_hidden_layers_are_one_line():
    sig = (shapes.ShapeDtype((4, 3)), shapes.ShapeDtype((4,), onp.int32), shapes.ShapeDtype((4,)))
    assert [row.layer.name for row in tl.summary_rows(tl.Accuracy(), sig)] == ["Accuracy"]


def test_arrays_serve_as_signatures_and_all_backends():
    with fastmath.use_backend("numpy"):
        lines = table(tl.Serial(tl.Dense(2)), onp.ones((4, 3), "float32"))
    assert lines[2].split() == ["Dense_2", "float32[4,2]", "8", "32", "56"]
