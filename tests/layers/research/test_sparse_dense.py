"""Replacements of dense layers against loops over their parts, in float64."""

import itertools

import numpy as np
import pytest

import weft
from weft import layers as tl, random

X = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)


def leaves(tree):
    return [np.asarray(leaf, np.float64) for leaf in weft.tree_util.tree_leaves(tree)]


def initialized(layer, x=X):
    """A layer, with biases that count, and its weights."""
    layer.init(x, rng=random.PRNGKey(1))
    layer.weights = weft.tree_util.tree_map(lambda w: w + 0.1, layer.weights)
    return layer, leaves(layer.weights)


@pytest.mark.parametrize("kernel_size", [1, 3])
def test_a_part_depends_on_those_beside_it_in_the_ring(kernel_size):
    layer, (w, b) = initialized(tl.LocallyConnectedDense(4, 3, kernel_size))
    parts = X.reshape(2, 3, 4, 2)
    expected = np.zeros((2, 3, 4, 3)) + b
    for place, tap in itertools.product(range(4), range(kernel_size)):
        source = (place + tap - kernel_size // 2) % 4
        expected[:, :, place] += parts[:, :, source] @ w[source, tap]
    np.testing.assert_allclose(layer(X), expected.reshape(2, 3, 12), rtol=1e-4, atol=1e-5)


def test_one_part_is_a_dense_layer():
    layer, (w, b) = initialized(tl.LocallyConnectedDense(1, 3, use_bias=True))
    np.testing.assert_allclose(layer(X), X @ w + b, rtol=1e-4, atol=1e-5)


def test_low_rank():
    layer, (w1, b1, w2, b2) = initialized(tl.LowRankDense(5, 2))
    assert (w1.shape, w2.shape) == ((8, 2), (2, 5))
    np.testing.assert_allclose(layer(X), (X @ w1 + b1) @ w2 + b2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use_bias", [True, False])
def test_einsum(use_bias):
    layer, (w, *b) = initialized(tl.EinsumDense(8, 5, use_bias))
    expected = np.einsum("xd,bld->blx", w, X) + (b[0] if use_bias else 0)
    assert len(b) == use_bias
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)


def test_multiplicative_modules():
    layer, (multiplier, kmult, kmod, bias) = initialized(tl.MultiplicativeModularSparseDense(2, 8))
    expected = np.zeros((2, 3, 2, 4))
    for h, o, k, d in itertools.product(range(2), range(4), range(4), range(8)):
        expected[:, :, h, o] += X[:, :, d] * multiplier[h, d] * kmult[d, k] * kmod[h, k, o]
    np.testing.assert_allclose(layer(X), expected.reshape(X.shape) + bias, rtol=1e-4, atol=1e-5)


def is_first(layer, key):
    """Whether a layer of Negate and nothing negates."""
    found, _ = layer.pure_fn(X, layer.weights, layer.state, key)
    return bool((np.asarray(found) == -X).all())


@pytest.mark.parametrize("prob", [0.0, 0.3, 1.0])
def test_one_of_two_layers_is_drawn(prob):
    layer = tl.RandomLayer(tl.Negate(), tl.Serial(), prob)
    layer.init(X)
    share = np.mean([is_first(layer, key) for key in random.split(random.PRNGKey(0), 60)])
    assert share == prob if prob in (0, 1) else 0.15 < share < 0.45


TYPES = {
    None: tl.Dense(6),
    "None": tl.Dense(6),
    "mult": tl.FactoredDense(2, 8, 6),
    "lowrank": tl.LowRankDense(6, 3),
    "einsum": tl.EinsumDense(8, 6, use_bias=True),
    "local": tl.LocallyConnectedDense(2, 3),
}


def build(kind, **options):
    arguments = {"d_input": 8, "sparsity": 2, "d_lowrank": 3, **options}
    return tl.SparseDenseWithOptions(6, sparsity_type=kind, **arguments)


def shapes_of(layer):
    return [w.shape for w in leaves(layer.init(X)[0])]


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_names_a_layer(kind):
    layer, wanted = build(kind), TYPES[kind]
    layer.init(X)
    wanted.init(X)
    wanted.weights = weft.tree_util.tree_structure(wanted.weights).unflatten(
        weft.tree_util.tree_leaves(layer.weights)
    )
    np.testing.assert_allclose(layer(X), wanted(X), rtol=1e-5)
    assert shapes_of(build(kind, sparsity=0)) == [(8, 6), (6,)]


def test_options_of_types():
    x = X[..., :6]
    assert leaves(build("local3", sparsity=3).init(x)[0])[0].shape == (3, 3, 2, 2)
    for kind, shapes in ((None, [(8, 6)]), ("mult", [(2, 8), (8, 3)]), ("einsum", [(6, 8)])):
        assert shapes_of(build(kind, use_bias=False)) == shapes
    for kind in (None, "mult"):
        weights, _ = build(kind, use_bfloat16=True).init(X)
        assert {str(w.dtype) for w in weft.tree_util.tree_leaves(weights)} == {"bfloat16"}


@pytest.mark.parametrize(("mode", "shares"), [("train", 2), (None, 2), ("eval", 1), ("predict", 1)])
def test_in_training_some_calls_are_dense(mode, shares):
    layer = build("lowrank", prob_sparse=0.5, mode=mode)
    layer.init(X)
    keys = random.split(random.PRNGKey(0), 12)
    found = {float(layer(X, rng=key).sum()) for key in keys}
    assert len(found) == shares
    w1, b1, w2, b2, *_ = leaves(layer.weights)
    total = ((X @ w1 + b1) @ w2 + b2).sum()
    assert any(abs(total - value) < 1e-3 for value in found)
