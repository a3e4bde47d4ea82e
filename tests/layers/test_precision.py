import numpy as np
import pytest

import weft
from weft import layers as tl
from weft.dtypes import bfloat16

X = np.random.RandomState(0).randn(4, 3).astype("float32")


def dense(dtype):
    layer = tl.InPrecision(tl.Dense(5), dtype)
    layer.init(X, rng=weft.random.PRNGKey(0))
    return layer


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_it_computes_in_a_dtype_and_returns_float32(dtype):
    layer = dense(dtype)
    ((w, b),) = layer.weights
    rounded = [np.asarray(a).astype({"bfloat16": bfloat16}.get(dtype, dtype)) for a in (X, w, b)]
    x, w16, b16 = [a.astype("float64") for a in rounded]
    y = layer(X)
    assert y.dtype == w.dtype == b.dtype == np.float32
    eps = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-23}[dtype]
    np.testing.assert_allclose(y, x @ w16 + b16, atol=8 * eps)
    if dtype != "float32":
        assert (np.asarray(y).astype(rounded[0].dtype) == np.asarray(y)).all(), "rounded"


def test_gradients_are_float32():
    layer = dense("bfloat16")

    def loss(weights):
        return weft.numpy.sum(layer.pure_fn(X, weights, layer.state, None)[0] ** 2)

    gradients = weft.grad(loss)(layer.weights)
    exact = weft.grad(lambda w: weft.numpy.sum((X @ w[0] + w[1]) ** 2))(layer.weights[0])
    for g, e in zip(gradients[0], exact, strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=0.05, atol=0.1)


def test_integers_stay_and_state_keeps_its_dtypes():
    layer = tl.InPrecision(tl.Serial(tl.Embedding(7, 3), tl.BatchNorm(axis=(0, 1))), "bfloat16")
    tokens = np.arange(6).reshape(2, 3)
    layer.init(tokens)
    before = [s.dtype for s in weft.tree_util.tree_leaves(layer.state)]
    y = layer(tokens)
    assert (y.shape, y.dtype) == ((2, 3, 3), np.float32)
    assert [s.dtype for s in weft.tree_util.tree_leaves(layer.state)] == before


def test_several_inputs_and_outputs():
    layer = tl.InPrecision(tl.Parallel(tl.Dense(2), tl.Relu()), "float16")
    layer.init((X, X))
    y, z = layer((X, X))
    assert (layer.n_in, layer.n_out) == (2, 2)
    np.testing.assert_allclose(z, np.maximum(X.astype("float16"), 0).astype("float32"))
    assert y.shape == (4, 2)


def test_random_numbers_are_the_layers_own():
    layer = tl.InPrecision(tl.Dropout(0.5), "float16")
    layer.init(X)
    key = weft.random.PRNGKey(1)
    assert (layer(X, rng=key) == layer(X, rng=key)).all()
    assert (layer(X, rng=key) != layer(X, rng=weft.random.PRNGKey(2))).any()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tl.InPrecision(tl.Dense, "float16"), TypeError, "layer must be a layer"),
        (lambda: tl.InPrecision(tl.Dense(2), "int8"), ValueError, "dtype"),
        (lambda: tl.InPrecision(tl.Dense(2), np.float16), ValueError, "dtype"),
    ],
)
def test_wrong_options_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
