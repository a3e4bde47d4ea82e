"""Causal attention of modular layers, by its parts; permutations of features."""

import itertools

import numpy as np
import pytest

import weft
from weft import layers as tl, random
from weft.layers.research import sparse_dense

X = np.random.default_rng(0).standard_normal((2, 5, 8)).astype(np.float32)


def leaves(tree):
    return [np.asarray(leaf, np.float64) for leaf in weft.tree_util.tree_leaves(tree)]


def run(layer, weights, x):
    """A layer with these weights, from left to right; returns those that are left."""
    layer.init(x, rng=random.PRNGKey(1))
    count = len(leaves(layer.weights))
    structure = weft.tree_util.tree_structure(layer.weights)
    layer.weights = structure.unflatten([w.astype(np.float32) for w in weights[:count]])
    return np.asarray(layer(x), np.float64), weights[count:]


def attended(q, k, v, n_heads):
    """Softmax attention to the own and earlier positions, head by head, query by query."""
    width = 8 // n_heads
    found = np.zeros((2, 5, 8))
    for b, h, i in itertools.product(range(2), range(n_heads), range(5)):
        part = slice(h * width, (h + 1) * width)
        scores = k[b, : i + 1, part] @ q[b, i, part] / np.sqrt(width)
        weights = np.exp(scores - scores.max())
        found[b, i, part] = weights @ v[b, : i + 1, part] / weights.sum()
    return found


ATTENTION = {
    "modular": (lambda: tl.ModularCausalAttention(8, 2, sparsity=4, kernel_size=3),
                lambda: tl.LocallyConnectedDense(4, 2, 3)),
    "modules are heads": (lambda: tl.ModularCausalAttention(8, 2),
                          lambda: tl.LocallyConnectedDense(2, 4)),
    "convolved": (lambda: tl.ConvCausalAttention(8, 2, 4, kernel_size=3),
                  lambda: tl.LocallyConvDense(4, 2, "train", 3)),
    "low rank": (lambda: tl.LowRankCausalAttention(8, 2, lowrank=3),
                 lambda: tl.LowRankDense(8, 3)),
    "multiplicative": (lambda: tl.MultiplicativeCausalAttention(8, 2, sparsity=4),
                       lambda: tl.FactoredDense(4, 8, 8)),
    "multiplicative, modular": (lambda: tl.MultiplicativeModularCausalAttention(8, 2, sparsity=4),
                                lambda: tl.MultiplicativeModularSparseDense(4, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_has_four_layers_of_a_kind(name):
    make, dense = ATTENTION[name]
    layer = make()
    layer.init(X, rng=random.PRNGKey(2))
    weights = leaves(layer.weights)
    q, weights = run(dense(), weights, X)
    k, weights = run(dense(), weights, X)
    v, weights = run(dense(), weights, X)
    expected, weights = run(dense(), weights, attended(q, k, v, 2).astype(np.float32))
    assert weights == []
    np.testing.assert_allclose(layer(X), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("share_qk", [False, True])
@pytest.mark.parametrize("output_layer_type", ["none", "mult", "conv", "multconv"])
@pytest.mark.parametrize("v_concat_type", ["original", "fixed", "none"])
def test_terraformers_attention(v_concat_type, output_layer_type, share_qk):
    layer = tl.MultiplicativeConvCausalAttention(
        8, n_heads=2, sparsity=4, length_kernel_size=2, share_qk=share_qk, mode="eval",
        output_layer_type=output_layer_type, v_concat_type=v_concat_type,
    )  # fmt: skip
    layer.init(X, rng=random.PRNGKey(2))

    def convolved(kernel_size):
        return tl.LocallyConvDense(4, 2, "eval", kernel_size, 2)

    y, weights = run(tl.FactoredDense(4, 8, 8), leaves(layer.weights), X)
    y = y.astype(np.float32)
    q, weights = run(convolved(3), weights, y)
    k, weights = (q, weights) if share_qk else run(convolved(3), weights, y)
    both = {
        "none": y,
        "original": np.concatenate([y, X], -1),
        "fixed": np.concatenate([a.reshape(2, 5, 4, 2) for a in (y, X)], -1).reshape(2, 5, 16),
    }[v_concat_type]
    v, weights = run(convolved(1), weights, both)
    expected = attended(q, k, v, 2).astype(np.float32)
    if "mult" in output_layer_type:
        expected, weights = run(tl.FactoredDense(4, 8, 8), weights, expected)
    if "conv" in output_layer_type:
        expected, weights = run(convolved(3), weights, expected.astype(np.float32))
    assert weights == []
    np.testing.assert_allclose(layer(X), expected, rtol=1e-3, atol=1e-4)


def test_dropout_can_be_forced_off():
    def varies(**options):
        layer = tl.MultiplicativeConvCausalAttention(8, 2, dropout=0.5, **options)
        layer.init(X)
        first, second = (np.asarray(layer(X, rng=key)) for key in random.split(random.PRNGKey(0)))
        return not np.allclose(first, second)

    assert varies()
    assert not varies(force_no_dropout=True)
    assert not varies(mode="eval")


class Mask:
    """A portal, as models with an encoder have one: a mask of the first piece."""

    def __init__(self, mask):
        self.mask = np.array(mask, np.float32)

    def get_value(self):
        return self.mask


def remembering(mask, n_items=2, x=X[:1]):
    class Padded(sparse_dense.RememberPad):
        def monkey_patched_mask(self):
            return Mask(mask)

    layer = Padded(n_items, mode="predict")
    layer.init(x)
    return layer


def test_padding_of_the_first_piece_is_not_remembered():
    layer, x = remembering([[1, 1, 1, 0, 0]]), X[:1]
    np.testing.assert_array_equal(layer(x)[:, 2:], x)
    np.testing.assert_array_equal(layer(x[:, :1])[:, :2], x[:, 1:3])
    np.testing.assert_array_equal(layer(x[:, 1:4])[:, :2], np.stack([x[:, 2], x[:, 0]], 1))
    np.testing.assert_array_equal(layer(x[:, :1])[:, :2], x[:, 2:4])
    short = remembering([[1, 0, 0, 0, 0]])
    short(x)
    np.testing.assert_array_equal(short(x[:, :1])[:, :2], np.stack([0 * x[:, 0], x[:, 0]], 1))
    with pytest.raises(tl.LayerError, match="a batch has one sequence; got 2"):
        remembering([[1, 0]], x=X)


# --- permutations ---


@pytest.mark.parametrize("exponent", range(13))
def test_features_are_transposed(exponent):
    d = 2**exponent
    columns = (1, 2, 2, 2, 2, 4, 2, 8, 8, 16, 16, 32, 32)[exponent]
    x = np.arange(2 * d).reshape(2, d)
    layer = tl.ReversibleReshapePermute()
    expected = x.reshape(2, d // columns, columns).transpose(0, 2, 1).reshape(2, d)
    np.testing.assert_array_equal(layer(x), expected)
    np.testing.assert_array_equal(layer.reverse(layer(x)), x)


def test_features_are_shuffled():
    layer = tl.ReversibleRandomPermute()
    np.testing.assert_array_equal(layer(np.arange(8)), [3, 4, 6, 7, 2, 5, 0, 1])
    np.testing.assert_array_equal(layer(X), X[..., [3, 4, 6, 7, 2, 5, 0, 1]])
    for d in (1, 3, 100):
        x = np.random.default_rng(d).standard_normal((2, d))
        y = layer(x)
        np.testing.assert_array_equal(tl.ReversibleRandomPermute()(x), y)
        np.testing.assert_array_equal(layer.reverse(y), x.astype(np.float32))


@pytest.mark.parametrize("kind", [tl.ReversibleReshapePermute, tl.ReversibleRandomPermute])
def test_gradients_are_permuted_back(kind):
    layer = kind()
    wave = np.cos(np.arange(X.size, dtype=np.float32)).reshape(X.shape)
    gradient = weft.grad(lambda x: (layer.pure_fn(x, (), (), None)[0] * wave).sum())(X)
    np.testing.assert_array_equal(layer.forward(gradient), wave)
