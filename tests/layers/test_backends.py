"""The rows of the table of layers on TensorFlow: values and derivatives as on weft's own engine.

On NumPy, the law `backends` of `laws/test_laws.py` compares them. This file is run by
`tests/fastmath/test_tensorflow.py`, in its one process with TensorFlow.
"""

import importlib
import os
from pathlib import Path

import numpy as onp
import pytest

if os.environ.get("FASTMATH_BACKENDS") != "tensorflow-numpy":
    pytest.skip("runs in the process of test_tensorflow.py", allow_module_level=True)

from weft import fastmath, layers as tl, shapes
from weft.fastmath import numpy as np

ROWS = sorted((Path(__file__).parent / "laws").glob("layer_cases_*.py"))
CASES = [case for path in ROWS for case in importlib.import_module(path.stem).CASES]


def on_host(tree):
    """Arrays of any backend in NumPy."""
    return fastmath.nested_map(lambda x: onp.asarray(x) if hasattr(x, "shape") else x, tree)


def on_backend(tree):
    """Arrays of NumPy on the backend in use."""
    return fastmath.nested_map(lambda x: np.asarray(x) if hasattr(x, "shape") else x, tree)


def initialized(case):
    """A layer of a row with its inputs, weights and state, in NumPy."""
    x, layer = case.arrays(), case.make()
    key = fastmath.random.get_prng(1)
    layer.init(shapes.signature(x), rng=key)
    return layer, x, on_host(layer.weights), on_host(layer.state), onp.asarray(key)


def values(layer, x, weights, state, key):
    """What a layer returns, in NumPy."""
    outputs, new_state = layer.pure_fn(*on_backend((x, weights, state, key)))
    return on_host((outputs, new_state))


def gradients(layer, x, weights, state, key):
    """The derivatives by weights of a weighted sum of the outputs that are floats, in NumPy."""
    x, weights, state, key = on_backend((x, weights, state, key))

    def loss(weights):
        outputs, _ = layer.pure_fn(x, weights, state, key)
        floats = [y for y in fastmath.tree_leaves(outputs) if np.issubdtype(y.dtype, np.floating)]
        return sum(
            np.sum(y * np.cos(np.reshape(np.arange(onp.prod(y.shape)), y.shape))) for y in floats
        )

    return on_host(fastmath.grad(loss)(weights))


def check(case, function):
    """Compares a function of a layer on TensorFlow with what it is on weft."""
    layer, *given = initialized(case)
    wanted = fastmath.tree_leaves(function(layer, *given))
    with fastmath.use_backend("tensorflow-numpy"):
        found = fastmath.tree_leaves(function(layer, *given))
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert [x.dtype for x in found] == [x.dtype for x in wanted]
    for one, other in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(
            one.astype("float64"), other.astype("float64"), rtol=1e-3, atol=1e-4
        )


HERE = [case for case in CASES if "backends" not in case.exempt]
LEARNING = [
    case for case in HERE if "derivative" not in case.exempt and fastmath.tree_leaves(
        initialized(case)[2]
    )
]  # fmt: skip


@pytest.mark.parametrize("case", HERE, ids=lambda case: case.name)
def test_values(case):
    check(case, values)


@pytest.mark.parametrize("case", LEARNING, ids=lambda case: case.name)
def test_gradients(case):
    check(case, gradients)


def test_a_model_learns_the_same_on_both():
    """Ten steps of gradient descent, compiled, from the same weights: the same losses."""
    model = tl.Serial(tl.Dense(8), tl.LayerNorm(), tl.Relu(), tl.Dense(1))
    random = onp.random.RandomState(0)
    x = random.normal(size=(16, 4)).astype("float32")
    y = x[:, :1] * x[:, 1:2]
    model.init(shapes.signature(x))
    start = on_host(model.weights)

    def losses():
        weights, inputs, targets = on_backend((start, x, y))

        def loss(weights):
            return np.mean((model.pure_fn(inputs, weights, model.state, None)[0] - targets) ** 2)

        @fastmath.jit
        def step(weights):
            value, slopes = fastmath.value_and_grad(loss)(weights)
            update = fastmath.nested_map_multiarg(lambda w, g: w - 0.1 * g, weights, slopes)
            return value, update

        found = []
        for _ in range(10):
            value, weights = step(weights)
            found.append(float(value))
        return found

    wanted = losses()
    with fastmath.use_backend("tensorflow-numpy"):
        found = losses()
    assert found == pytest.approx(wanted, rel=1e-3)
    assert found[-1] < found[0] / 2
