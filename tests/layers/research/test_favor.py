"""Attention in linear time against loops over positions, in float64."""

import itertools

import numpy as np
import pytest

import weft
from weft import fastmath, layers as tl, random, shapes
from weft.layers.research import favor

LONG = favor.CHUNK_LENGTH + 7


def vectors(*shape):
    return np.random.default_rng(0).standard_normal((3, *shape)).astype(np.float32)


def features(x, stabilizer=1e-3):
    return np.maximum(x.astype(np.float64), 0) + stabilizer


def means(q, k, v, counts):
    """Query by query, key by key; counts [queries, keys] for each row of the batch."""
    found = np.zeros((*q.shape[:2], v.shape[-1]))
    for b in range(q.shape[0]):
        for i in range(q.shape[1]):
            weights = np.array([q[b, i] @ k[b, j] * counts[b, i, j] for j in range(k.shape[1])])
            found[b, i] = weights @ v[b] / weights.sum()
    return found


def causal(q, k, v, stabilizer=1e-3):
    counts = np.broadcast_to(np.tri(q.shape[1]), (q.shape[0], q.shape[1], q.shape[1]))
    return means(features(q, stabilizer), features(k, stabilizer), v, counts)


@pytest.mark.parametrize("length", [1, 5, favor.CHUNK_LENGTH, LONG, 2 * favor.CHUNK_LENGTH])
@pytest.mark.parametrize("stabilizer", [1e-3, 0.5])
def test_causal_attention(length, stabilizer):
    q, k, v = vectors(2, length, 3)
    layer = tl.CausalFavorAttention(numerical_stabilizer=stabilizer)
    np.testing.assert_allclose(layer((q, k, v)), causal(q, k, v, stabilizer), rtol=1e-4, atol=1e-5)


def loss(layer, wave):
    return lambda *x: (layer(x) * wave).sum()


@pytest.mark.parametrize("length", [5, LONG])
def test_gradients_are_those_of_the_formula(length):
    """By differences of the loop in float64, and by derivatives of all pairs at once."""
    q, k, v = vectors(1, length, 2)
    wave = np.cos(np.arange(q.size)).reshape(q.shape)
    found = weft.grad(loss(tl.CausalFavorAttention(), wave.astype(np.float32)), (0, 1, 2))(q, k, v)

    def of_pairs(q, k, v):
        q, k = (weft.numpy.maximum(x, 0) + 1e-3 for x in (q, k))
        weights = weft.numpy.einsum("bid,bjd->bij", q, k) * np.tri(length, dtype=np.float32)
        return (weights @ v / weights.sum(-1, keepdims=True) * wave.astype(np.float32)).sum()

    for got, want in zip(found, weft.grad(of_pairs, (0, 1, 2))(q, k, v), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)
    for i, gradient in enumerate(found):
        way = np.random.default_rng(i).standard_normal(q.shape)
        ends = []
        for sign in (1, -1):
            moved = [x.astype(np.float64) for x in (q, k, v)]
            moved[i] = moved[i] + sign * 1e-6 * way
            ends.append((causal(*moved) * wave).sum())
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose((gradient * way).sum(), slope, rtol=2e-3, atol=1e-3)


def test_second_derivatives_and_forward_mode_exist():
    q, k, v = vectors(1, LONG, 2)
    f = loss(tl.CausalFavorAttention(), 1.0)
    way = vectors(1, LONG, 2)[0]
    _, slope = weft.jvp(lambda v: f(q, k, v), (v,), (way,))
    gradient = weft.grad(lambda v: f(q, k, v))(v)
    np.testing.assert_allclose(slope, (gradient * way).sum(), rtol=1e-3)
    _, second = weft.jvp(weft.grad(lambda q: f(q, k, v)), (q,), (way,))
    assert np.isfinite(np.asarray(second)).all()


def test_memory_of_a_gradient_grows_with_the_length_and_not_with_its_square():
    def needed(length):
        q, k, v = vectors(1, length, 16)
        step = weft.jit(weft.grad(loss(tl.CausalFavorAttention(), 1.0), (0, 1, 2)))
        return step.lower(q, k, v).compile().memory_analysis().temp_bytes

    assert needed(4096) < 5 * needed(1024)


def test_decoding_goes_on_without_an_end():
    q, k, v = vectors(2, LONG, 3)
    layer = tl.CausalFavorAttention(mode="predict")
    layer.init(shapes.signature((q, k, v)))
    assert layer.state.shape == (2, 3, 4)
    ends = (0, 3, LONG - 1, LONG)
    found = [
        np.asarray(layer(tuple(x[:, a:b] for x in (q, k, v)))) for a, b in itertools.pairwise(ends)
    ]
    np.testing.assert_allclose(np.concatenate(found, 1), causal(q, k, v), rtol=1e-4, atol=1e-5)


def test_sums_of_bfloat16_are_exact():
    """Summed in bfloat16, ones stop at 256."""
    ones = weft.numpy.ones((1, 2000, 1), weft.numpy.bfloat16)
    values = weft.numpy.asarray(np.arange(2000) % 2 * 2.0, weft.numpy.bfloat16).reshape(1, -1, 1)
    found = tl.CausalFavorAttention()((ones, ones, values))
    assert found.dtype == weft.numpy.bfloat16
    assert float(found[0, -1, 0]) == 1.0
    q, k, v = (weft.numpy.asarray(abs(x), weft.numpy.bfloat16) for x in vectors(1, 50, 3))
    expected = causal(*(np.asarray(x, np.float32) for x in (q, k, v)))
    found = np.asarray(tl.CausalFavorAttention()((q, k, v)), np.float64)
    np.testing.assert_allclose(found, expected, rtol=1.01 * 2**-8)  # rounded once, at the end
    mask = np.ones((1, 1, 1, 2000), bool)
    found, _ = tl.FavorAttention()((ones, ones, values, mask))
    assert float(found[0, -1, 0]) == 1.0


MASK = np.array([[1, 1, 0, 1], [1, 1, 1, 1]], bool).reshape(2, 1, 1, 4)


def per_query(mask, n_heads):
    rows = np.repeat(mask.reshape(2, 1, 4), n_heads, axis=0)
    return np.broadcast_to(rows, (2 * n_heads, 4, 4))


@pytest.mark.parametrize("n_heads", [1, 2])
def test_attention_of_features(n_heads):
    q, k, v = vectors(2 * n_heads, 4, 3)
    layer = tl.FavorAttention(3 * n_heads, n_heads, numerical_stabilizer=0.1)
    found, mask = layer((q, k, v, MASK))
    expected = means(features(q, 0.1), features(k, 0.1), v, per_query(MASK, n_heads))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert mask is MASK


def test_where_everything_is_hidden_all_positions_count_alike():
    q, k, v = vectors(2, 4, 4)
    nothing = MASK & np.array([False, True])[:, None, None, None]
    everything = MASK | np.array([True, False])[:, None, None, None]
    layer = tl.FavorAttention()
    np.testing.assert_allclose(layer((q, k, v, nothing))[0], layer((q, k, v, everything))[0])


@pytest.mark.parametrize("normalize_data", [False, True])
@pytest.mark.parametrize("scale_by_norm", [False, True])
def test_random_features(scale_by_norm, normalize_data):
    q, k, v = vectors(2, 4, 3)
    layer = tl.FavorAttention(3, 1, 5, use_approximate_softmax=True, scale_by_norm=scale_by_norm,
                              normalize_data=normalize_data, epsilon=0.01)  # fmt: skip
    directions = np.asarray(layer.get_2d_array(random.PRNGKey(0), 5, 3, scale_by_norm), np.float64)
    c = 3**-0.25 if normalize_data else 1.0

    def made(x, axes):
        products = np.einsum("bld,md->blm", c * x.astype(np.float64), directions)
        half = c * c * (x.astype(np.float64) ** 2).sum(-1, keepdims=True) / 2
        largest = products.max(axes, keepdims=True)
        return (np.exp(products - half - largest) + 0.01) / np.sqrt(5)

    for x, is_query in ((q, True), (k, False)):
        found = layer.nonnegative_softmax_kernel_feature_creator(x, is_query)
        np.testing.assert_allclose(found, made(x, -1 if is_query else (-2, -1)), rtol=1e-4)
    expected = means(made(q, -1), made(k, (-2, -1)), v, per_query(MASK, 1))
    np.testing.assert_allclose(layer((q, k, v, MASK))[0], expected, rtol=1e-3, atol=1e-4)


def test_many_random_features_come_near_a_softmax():
    q, k, v = vectors(1, 6, 4) * 0.4
    layer = tl.FavorAttention(4, 1, 4096, use_approximate_softmax=True, normalize_data=True,
                              epsilon=1e-6)  # fmt: skip
    found, _ = layer((q, k, v, np.ones((1, 6))))
    scores = np.exp(np.einsum("bid,bjd->bij", q, k) / 2)
    expected = scores @ v / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=0.05)


@pytest.mark.parametrize("scale_by_norm", [False, True])
def test_directions_are_orthogonal_block_by_block(scale_by_norm):
    key = random.PRNGKey(7)
    found = np.asarray(tl.FavorAttention.get_2d_array(key, 7, 3, scale_by_norm))
    lengths = np.linalg.norm(found, axis=1)
    wanted = np.linalg.norm(np.asarray(random.normal(key, (7, 3))), axis=1)
    np.testing.assert_allclose(lengths, wanted if scale_by_norm else np.sqrt(3), rtol=1e-5)
    for start in (0, 3, 6):
        block = (found / lengths[:, None])[start : start + 3]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-5)
    sub = random.split(random.split(key)[0])[1]  # that of the second block
    q = np.linalg.qr(np.asarray(random.normal(sub, (3, 3)), np.float64))[0]
    alignment = np.abs(((found / lengths[:, None])[3:6] * q.T).sum(1))
    np.testing.assert_allclose(alignment, 1, rtol=1e-4)


def test_parts_of_the_formula():
    q, k, v = vectors(4, 2, 3)  # [length, batch, features]
    attention = tl.FavorAttention
    numerator = np.einsum("ibm,jbm,jbd->ibd", q, k, v)
    np.testing.assert_allclose(attention.bidirectional_numerator(q, k, v), numerator, atol=1e-4)
    denominator = np.einsum("ibm,jbm->ib", q, k)
    np.testing.assert_allclose(attention.bidirectional_denominator(q, k), denominator, atol=1e-4)
    np.testing.assert_array_equal(attention.relu(np.array([-1.0, 0.0, 2.0])), [0, 0, 2])


def test_layers_of_queries_keys_and_values():
    x = vectors(2, 4, 6)[0]
    layer = tl.Favor(6, n_heads=2)
    layer.init((x, MASK))
    (wq, bq, wk, bk, wv, bv, wo, bo) = [
        np.asarray(w, np.float64) for w in fastmath.tree_leaves(layer.weights)
    ]

    def heads(y):
        return y.reshape(2, 4, 2, 3).transpose(0, 2, 1, 3).reshape(4, 4, 3)

    q, k, v = (heads(x @ w + b) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    for made, counts in (
        (layer, per_query(MASK, 2)),
        (tl.CausalFavor(6, n_heads=2), np.broadcast_to(np.tri(4), (4, 4, 4))),
    ):
        inputs = (x, MASK) if made is layer else x
        made.init(inputs)
        made.weights = weft.tree_util.tree_structure(made.weights).unflatten(
            fastmath.tree_leaves(layer.weights)
        )
        found = made(inputs)[0] if made is layer else made(inputs)
        merged = means(features(q), features(k), v, counts).reshape(2, 2, 4, 3)
        expected = merged.transpose(0, 2, 1, 3).reshape(2, 4, 6) @ wo + bo
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
