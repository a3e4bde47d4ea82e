"""Tables of layers: shapes, counts of weights and operations by hand, shared layers, nesting."""

import io

import numpy as onp
import pytest

import weft
import weft.layers as tl
from weft import fastmath, lax, shapes
from weft.compiler.flops import flops
from weft.fastmath import numpy as jnp
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


# --- counts of operations ---

X, W = jnp.ones((4, 3)), jnp.ones((3, 5))
IMAGES, KERNEL = jnp.ones((2, 6, 6, 3)), jnp.ones((3, 3, 3, 4))

# function, arguments, count
COUNTS = {
    "product": (lambda x, w: x @ w, (X, W), 2 * 4 * 3 * 5),
    "elementwise": (lambda x: jnp.exp(x) * 2 + 1, (X,), 3 * 12),
    "sum": (lambda x: jnp.sum(x), (X,), 12),
    "maximum": (lambda x: jnp.max(x, axis=0), (X,), 12),
    "moves": (lambda x: jnp.concatenate([x.T.reshape(4, 3), x])[::2], (X,), 0),
    "integers": (lambda x: x * 2 + 1, (jnp.arange(5),), 0),
    "convolution": (
        lambda x, k: fastmath.conv(x, k, (1, 1), "VALID", ("NHWC", "HWIO", "NHWC")),
        (IMAGES, KERNEL), 2 * (2 * 4 * 4 * 4) * 27),
    "pool": (lambda x: fastmath.max_pool(x, (2, 2), (2, 2), "VALID"), (IMAGES,), 2 * 9 * 3 * 4),
    "scan": (
        lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1], (X,), 4 * 6),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 3.0, lambda c: c * 2, x), (X[0],), 4),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda x: x * x * x, lambda x: x + 1, x), (X[0],), 7),
    "jit": (lambda x: weft.jit(lambda x: x + 1)(x), (X,), 12),
    "linear solve": (
        lambda a, b: lax.custom_linear_solve(
            lambda x: a @ x, b, lambda matvec, b: b / matvec(b), lambda matvec, b: b * 3),
        (X[:3], X[0]), 2 * 3 * 3 + 3),
    "reduction by a function": (
        lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + a, (0,)), (X,), 2 * 12),
    "windows by a function": (
        lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b * b, (2, 1), (1, 1), "VALID"),
        (X,), 2 * 2 * (3 * 3)),
    "checkpoint": (lambda x: fastmath.remat(lambda x: x + 1)(x), (X,), 12),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTS)
def test_counts(case):
    f, args, expected = COUNTS[case]
    assert flops(weft.make_jaxpr(f)(*args)) == expected
