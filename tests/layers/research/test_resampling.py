"""Attention to relative positions, rotations, pooling and upsampling: against loops."""

import math

import numpy as np
import pytest

import weft
from weft import layers as tl
from weft.layers.research import rel_attention, resampling, sparse_dense
from weft.layers.research.rotary_positional_embedding import Rotate, rotate

RNG = np.random.default_rng(9)
B, H, D = 2, 2, 4
X = RNG.standard_normal((B, 6, 8)).astype(np.float32)


def leaves(weights):
    return [np.asarray(x) for x in weft.tree_util.tree_leaves(weights)]


LENGTHS = [(4, 4), (2, 4), (6, 2), (3, 6), (6, 6)]  # queries, keys


def embedding(distance, depth):
    angles = [distance / 10000 ** (2 * i / depth) for i in range(depth // 2)]
    return np.array([math.sin(a) for a in angles] + [math.cos(a) for a in angles])


def counted(i, j, queries, keys):
    """Whether key j counts for query i: it, or the group that it stands for, begins no later."""
    return i >= j // (keys // queries) if keys >= queries else i // (queries // keys) >= j


@pytest.mark.parametrize("pooling", [1, 3])
@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
def test_relative_attention(queries, keys, pooling):
    width = D * H
    q = RNG.standard_normal((B, queries, width)).astype(np.float32)
    k, v = RNG.standard_normal((2, B, keys, width)).astype(np.float32)
    context, location = RNG.standard_normal((2, 1, H, 1, D)).astype(np.float32)
    positions = rel_attention.PositionalEmbeddings(width, False, pooling)((q, k))
    *_, mask = rel_attention.CreateAttentionMaskLayer()((q, k, v))
    found, _ = rel_attention.RelativeAttention(False, n_heads=H, mode="eval")(
        (location, context, positions, q, k, v, mask)
    )
    for b in range(B):
        for h in range(H):
            part = slice(h * D, (h + 1) * D)
            for i in range(queries):
                scores = np.zeros(keys)
                for j in range(keys):
                    if not counted(i, j, queries, keys):
                        continue
                    if queries > keys:
                        distance = queries // keys * j - i
                    else:
                        distance = (j - keys // queries * i) * pooling
                    r = embedding(distance, width)[part]
                    score = (q[b, i, part] + context[0, h, 0]) @ k[b, j, part]
                    score += (q[b, i, part] + location[0, h, 0]) @ r
                    scores[j] = math.exp(score / math.sqrt(D))
                expected = scores @ v[b, :, part] / scores.sum()
                np.testing.assert_allclose(found[b, i, part], expected, rtol=1e-3, atol=1e-4)


def test_a_first_token_without_a_place():
    """Its scores have no part for positions: with equal content, it gets what all have."""
    ones = np.ones((1, 1, 3, 2), np.float32)
    distances = RNG.standard_normal((3, 1, 2)).astype(np.float32)
    arguments = (ones, ones, ones, distances, 0 * ones[:, :, :1], 0 * ones[:, :, :1])
    _, weights = rel_attention.DotProductAttention(*arguments, None, True, 0.0, "eval", None)
    np.testing.assert_allclose(weights[0, 0, 0], 1 / 3, rtol=1e-5)
    _, weights = rel_attention.DotProductAttention(*arguments, None, False, 0.0, "eval", None)
    assert not np.allclose(weights[0, 0, 0], 1 / 3)


def test_dropout_of_relative_attention():
    q = np.ones((1, 1, 2, 2), np.float32)
    key = weft.random.PRNGKey(0)
    bias = np.zeros((1, 1, 1, 2), np.float32)
    arguments = (q, q, q, np.zeros((2, 1, 2), np.float32), bias, bias, None, False, 0.5)
    _, weights = rel_attention.DotProductAttention(*arguments, "train", key)
    keep = np.asarray(weft.random.bernoulli(key, 0.5, (1, 1, 2, 2)))
    np.testing.assert_allclose(weights, keep.astype(np.float32), rtol=1e-6)


def test_layers_of_relative_attention_share_biases():
    biases = rel_attention.get_rel_att_inputs(8, H)
    layer = tl.Serial(
        rel_attention.RelativeAttentionWrapper(
            8,
            H,
            context_bias_layer=biases[0],
            location_bias_layer=biases[1],
            total_pooling=1,
            mode="eval",
        ),
        tl.Select([0, 0, 0]),
        rel_attention.RelativeAttentionLMLayer(8, *biases, 1, n_heads=H, mode="eval"),
    )
    layer.init(X)
    shapes = [w.shape for w in leaves(layer.weights)]
    assert shapes.count((1, H, 1, 4)) == 2
    assert shapes.count((8, 8)) == 10
    changed = X.copy()
    changed[:, 3:] += 1.0
    np.testing.assert_allclose(layer(changed)[:, :3], layer(X)[:, :3], rtol=1e-4, atol=1e-5)
    assert not np.allclose(layer(changed)[:, 3:], layer(X)[:, 3:])


def test_relative_attention_takes_a_mask():
    biases = rel_attention.get_rel_att_inputs(8, H)
    layer = rel_attention.RelativeAttentionLayer(8, *biases, 1, False, n_heads=H, mode="eval")
    mask = np.tril(np.ones((6, 6), bool))[None, None] & np.array([1, 1, 0, 1, 1, 1], bool)
    mask = np.broadcast_to(mask, (B, 1, 6, 6))
    layer.init((X, X, X, mask))
    changed = X.copy()
    changed[:, 2] += 1.0
    found, same = layer((X, changed, changed, mask))
    expected, _ = layer((X, X, X, mask))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(same, mask)


def test_ratios_of_lengths():
    assert rel_attention.calc_funnel_ratio(8, 2) == (4, False)
    assert rel_attention.calc_funnel_ratio(2, 8) == (4, True)
    assert rel_attention.calc_funnel_ratio(8, 8) == (1, False)


def test_a_token_in_front():
    tokens = np.array([[1, 2, 3]], np.int32)
    np.testing.assert_array_equal(rel_attention.ShiftRightCls(9)(tokens), [[9, 1, 2]])


# --- rotations ---


def test_rotations_are_those_of_complex_numbers():
    turned = np.asarray(rotate(X))
    planes = X[..., :4] + 1j * X[..., 4:]
    angles = np.arange(6)[:, None] / 10000 ** (np.arange(4) / 4)
    expected = planes * np.exp(1j * angles)
    np.testing.assert_allclose(
        turned, np.concatenate([expected.real, expected.imag], -1), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(Rotate()(X), turned)


def test_products_of_rotated_vectors_depend_on_the_distance_only():
    q, k = np.broadcast_to(X[:, :1], X.shape), np.broadcast_to(X[:, 1:2], X.shape)
    scores = np.asarray(rotate(q)) @ np.asarray(rotate(k)).swapaxes(1, 2)
    for distance in range(-3, 4):
        diagonal = np.diagonal(scores, distance, 1, 2)
        np.testing.assert_allclose(
            diagonal, diagonal[:, :1].repeat(diagonal.shape[1], 1), rtol=1e-4, atol=1e-4
        )


# --- pooling and upsampling ---


def test_average_pooling():
    found = resampling.AveragePooling(3)(X)
    np.testing.assert_allclose(found, X.reshape(B, 2, 3, 8).mean(2), rtol=1e-5, atol=1e-6)


def test_linear_pooling_and_upsampling():
    layer = resampling.LinearPooling(2, 5, mode="eval")
    layer.init(X)
    w, b = leaves(layer.weights)[:2]
    np.testing.assert_allclose(layer(X), X.reshape(B, 3, 16) @ w + b, rtol=1e-4, atol=1e-5)
    layer = resampling.LinearUpsampling(2, 5, mode="eval")
    layer.init(X)
    w, b = leaves(layer.weights)[:2]
    expected = (X @ w + b).reshape(B, 12, 5)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)


def test_upsampling_without_weights():
    np.testing.assert_array_equal(resampling.NaiveUpsampling(2, 8)(X), X.repeat(2, axis=1))
    zeros = resampling.NoUpsampling(2, 8)(X)
    assert (zeros.shape, np.asarray(zeros).any()) == ((B, 12, 8), False)


@pytest.mark.parametrize("pooling", ["AveragePooling", "LinearPooling"])
@pytest.mark.parametrize("upsampling", ["NaiveUpsampling", "LinearUpsampling", "NoUpsampling"])
def test_an_hourglass(pooling, upsampling):
    """Shorter by two, and back: [B, 6, 8] again, and no look ahead of more than a group."""
    biases = rel_attention.get_rel_att_inputs(8, H)

    def block(is_upsampling, total_pooling, function):
        return resampling.AttentionResampling(
            2, 8, is_upsampling, 16, H, 0.1, None, "eval", tl.Relu, *biases, total_pooling,
            getattr(resampling, function),
        )  # fmt: skip

    layer = tl.Serial(
        tl.Dup(), block(False, 1, pooling), block(True, 2, upsampling), tl.Select([0], n_in=2)
    )
    layer.init(X)
    assert layer(X).shape == X.shape
    changed = X.copy()
    changed[:, 4:] += 1.0
    np.testing.assert_allclose(layer(changed)[:, :4], layer(X)[:, :4], rtol=1e-4, atol=1e-5)


def test_a_feed_forward_block():
    layer = tl.Serial(resampling.FeedForwardBlock(8, 16, 0.1, None, "eval", tl.Relu))
    layer.init(X)
    w1, b1, w2, b2 = (w for w in leaves(layer.weights) if w.ndim)
    expected = np.maximum(X @ w1 + b1, 0) @ w2 + b2
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)


# --- dense layers of modules ---


def test_factored_dense():
    for use_bias in (True, False):
        layer = sparse_dense.FactoredDense(2, 8, 6, use_bias=use_bias)
        layer.init(X)
        gate, projection, *bias = leaves(layer.weights)
        expected = np.einsum("bld,nd,dm->blnm", X, gate, projection).reshape(B, 6, 6)
        expected = expected + bias[0] if use_bias else expected
        np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)


def test_locally_convolved_dense():
    layer = sparse_dense.LocallyConvDense(4, 3, "eval", kernel_size=3, length_kernel_size=2)
    layer.init(X)
    kernel, bias = leaves(layer.weights)
    assert kernel.shape == (2, 3, 2, 3)
    padded = np.pad(X.reshape(B, 6, 4, 2), ((0, 0), (1, 0), (1, 1), (0, 0)))
    expected = np.zeros((B, 6, 4, 3)) + bias
    for t in range(6):
        for m in range(4):
            expected[:, t, m] += np.einsum("bijd,ijdo->bo", padded[:, t : t + 2, m : m + 3], kernel)
    np.testing.assert_allclose(layer(X), expected.reshape(B, 6, 12), rtol=1e-4, atol=1e-5)
    layer = sparse_dense.LocallyConvDense(1, 3, "eval")
    layer.init(X)
    assert layer(X).shape == (B, 6, 3)


def test_axes_are_split_and_merged():
    parts = sparse_dense.SplitLastAxis(4)(X)
    np.testing.assert_array_equal(parts, X.reshape(B, 6, 4, 2))
    np.testing.assert_array_equal(sparse_dense.MergeLastTwoAxes()(parts), X)
