"""Attention: against loops in float64, for every layer; masks, heads, dropout, shifts."""

import math

import numpy as np
import pytest

import weft
from weft import layers as tl
from weft.layers import attention_weights
from weft.layers.research import rel_attention

RNG = np.random.default_rng(1)
B, L, K, D, H = 2, 4, 6, 8, 2
Q = RNG.standard_normal((B, L, D)).astype(np.float32)
KEYS, VALUES = RNG.standard_normal((2, B, K, D)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 1]])[:, None, None].astype(bool)
CAUSAL = np.tril(np.ones((L, L), bool))[None, None]


def head(q, k, v, mask):
    """One head's attention, query by query."""
    out = np.zeros((len(q), v.shape[-1]))
    for i in range(len(q)):
        scores = [math.exp(q[i] @ k[j] / math.sqrt(len(k[j]))) * mask[i, j] for j in range(len(k))]
        out[i] = sum(s * v[j] for j, s in enumerate(scores)) / sum(scores)
    return out


def attention(q, k, v, mask, heads=H):
    """Attention of all heads, in float64."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    mask = np.broadcast_to(mask, (len(q), 1, q.shape[1], k.shape[1]))
    out = np.zeros((*q.shape[:2], v.shape[2]))
    for b in range(len(q)):
        for h in range(heads):
            width = slice(h * D // heads, (h + 1) * D // heads)
            out[b, :, width] = head(q[b, :, width], k[b, :, width], v[b, :, width], mask[b, 0])
    return out


def dense(x, weights):
    w, b = (np.asarray(x, np.float64) for x in weights)
    return x @ w + b


def leaves(weights):
    """The (w, b) of `Dense` layers, in order."""
    found = [np.asarray(x) for x in weft.tree_util.tree_leaves(weights)]
    return list(zip(found[::2], found[1::2], strict=True))


def test_attention_without_weights():
    for dtype in (bool, np.float32, np.int32):
        found, mask = tl.PureAttention(n_heads=H, mode="eval")(
            (Q, KEYS, VALUES, MASK.astype(dtype))
        )
        np.testing.assert_allclose(found, attention(Q, KEYS, VALUES, MASK), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(mask, MASK.astype(dtype))
    found = tl.DotProductAttention(mode="eval")((Q, KEYS, VALUES, MASK[:, 0]))
    np.testing.assert_allclose(
        found, attention(Q, KEYS, VALUES, MASK, heads=1), rtol=1e-5, atol=1e-6
    )


def test_attention_of_dense_layers():
    layer = tl.AttentionQKV(D, n_heads=H, mode="eval")
    layer.init((Q, KEYS, VALUES, MASK))
    q, k, v, out = leaves(layer.weights)
    expected = attention(dense(Q, q), dense(KEYS, k), dense(VALUES, v), MASK)
    np.testing.assert_allclose(
        layer((Q, KEYS, VALUES, MASK))[0], dense(expected, out), rtol=1e-4, atol=1e-5
    )

    layer = tl.Attention(D, n_heads=H, mode="train")
    layer.init((KEYS, MASK))
    q, k, v, out = leaves(layer.weights)
    expected = attention(dense(KEYS, q), dense(KEYS, k), dense(KEYS, v), MASK)
    np.testing.assert_allclose(layer((KEYS, MASK))[0], dense(expected, out), rtol=1e-4, atol=1e-5)


def test_causal_attention():
    layer = tl.CausalAttention(D, n_heads=H, mode="eval")
    layer.init(Q)
    q, k, v, out = leaves(layer.weights)
    expected = attention(dense(Q, q), dense(Q, k), dense(Q, v), CAUSAL)
    np.testing.assert_allclose(layer(Q), dense(expected, out), rtol=1e-4, atol=1e-5)


def test_causal_attention_after_convolutions_sees_no_later_position():
    layer = tl.CausalAttention(D, n_heads=H, use_dconv=True, mode="eval")
    layer.init(Q)
    changed = Q.copy()
    changed[:, 2:] += 1
    np.testing.assert_allclose(layer(changed)[:, :2], layer(Q)[:, :2], rtol=1e-5)
    assert not np.allclose(layer(changed)[:, 2:], layer(Q)[:, 2:])


@pytest.mark.parametrize(("q_sparsity", "result_sparsity"), [("noop", "noop"), (2, 4), (None, 1)])
def test_attention_with_modules_in_the_place_of_dense_layers(q_sparsity, result_sparsity):
    layer = tl.AttentionQKV(
        D, n_heads=H, mode="eval", q_sparsity=q_sparsity, result_sparsity=result_sparsity
    )
    layer.init((Q, KEYS, VALUES, MASK))
    found, _ = layer((Q, KEYS, VALUES, MASK))
    assert found.shape == Q.shape
    if q_sparsity == "noop":
        k, v = leaves(layer.weights)
        expected = attention(Q, dense(KEYS, k), dense(VALUES, v), MASK)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_query_without_keys_gets_the_mean_of_all_values():
    none = np.zeros((B, 1, 1, K), bool)
    found, _ = tl.PureAttention(n_heads=H, mode="eval")((Q, KEYS, VALUES, none))
    expected = np.broadcast_to(VALUES.mean(1, keepdims=True), Q.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_large_scores_do_not_overflow():
    found = tl.DotProductCausalAttention(mode="eval")((Q * 1e6, Q * 1e6, Q))
    assert np.isfinite(found).all()


def test_results_are_float32():
    narrow = [x.astype(weft.numpy.bfloat16) for x in (Q, KEYS, VALUES)]
    found, _ = tl.PureAttention(n_heads=H, mode="eval")((*narrow, MASK))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, attention(Q, KEYS, VALUES, MASK), atol=0.05)


@pytest.mark.parametrize("layer", ["pure", "dot", "causal", "relative"])
def test_mode_viz_keeps_the_weights(layer):
    dot = (Q, KEYS, VALUES, MASK[:, 0])
    bias = np.zeros((1, H, 1, D // H), np.float32)
    made, x, shape = {
        "pure": (tl.PureAttention(n_heads=H, mode="viz"), (Q, KEYS, VALUES, MASK), (B, H, L, K)),
        "dot": (tl.DotProductAttention(mode="viz"), dot, (B, L, K)),
        "causal": (tl.DotProductCausalAttention(mode="viz"), (Q, Q, Q), (B, L, L)),
        "relative": (
            rel_attention.RelativeAttention(False, n_heads=H, mode="viz"),
            (bias, bias, np.zeros((L, D), np.float32), Q, Q, Q, CAUSAL),
            (B, H, L, L),
        ),
    }[layer]
    made(x)
    assert made.state.shape == shape
    np.testing.assert_allclose(np.sum(made.state, -1), 1, rtol=1e-5)


def test_dropout_sets_weights_to_zero_in_training_only():
    keys = weft.random.PRNGKey(3)
    ones = np.ones((B, L, D), np.float32)
    for made in (
        lambda mode: tl.DotProductCausalAttention(dropout=0.4, mode=mode),
        lambda mode: tl.DotProductAttention(dropout=0.4, mode=mode),
    ):
        x = (ones, ones, ones, CAUSAL[0])[: made("eval").n_in]
        np.testing.assert_allclose(made("eval")(x, rng=keys), 1, rtol=1e-6)
        found = np.asarray(made("train")(x, rng=keys))
        keep = np.asarray(weft.random.bernoulli(keys, 0.6, (B, L, L)))
        share = (keep * CAUSAL[0] / CAUSAL[0].sum(-1, keepdims=True)).sum(-1) / 0.6
        np.testing.assert_allclose(found, np.broadcast_to(share[..., None], found.shape), rtol=1e-5)


def test_heads_are_split_and_merged():
    heads = tl.SplitIntoHeads(H)(Q)
    assert heads.shape == (B * H, L, D // H)
    np.testing.assert_array_equal(heads[1], Q[0, :, D // H :])
    np.testing.assert_array_equal(tl.MergeHeads(H)(heads), Q)
    heads = tl.SplitIntoHeads(H, merged_batch_and_head=False)(Q)
    assert heads.shape == (B, H, L, D // H)
    np.testing.assert_array_equal(tl.MergeHeads(H, merged_batch_and_head=False)(heads), Q)


def test_configurable_attention_is_what_its_layers_are():
    layer = tl.ConfigurableAttention(
        tl.Fn("twice", lambda x: 2 * x),
        tl.Serial(),
        tl.Serial(),
        tl.Fn("negative", lambda x: -x),
        tl.DotProductCausalAttention(mode="eval"),
        n_heads=H,
    )
    layer.init(Q)
    np.testing.assert_allclose(layer(Q), -attention(2 * Q, Q, Q, CAUSAL), rtol=1e-5, atol=1e-6)


SHIFTS = {
    ("train", 1): [0, 1, 2, 3],
    ("eval", 1): [0, 1, 2, 3],
    ("viz", 3): [0, 0, 0, 1],
    ("train", 9): [0, 0, 0, 0],
    ("train", 0): [1, 2, 3, 4],
    ("predict", 2): [1, 2, 3, 4],
}


@pytest.mark.parametrize(("mode", "n"), SHIFTS)
def test_shift_right(mode, n):
    tokens = np.array([[1, 2, 3, 4]], np.int32)
    found = tl.ShiftRight(n, mode=mode)(tokens)
    np.testing.assert_array_equal(found, [SHIFTS[mode, n]])
    assert found.dtype == np.int32
    vectors = tl.ShiftRight(n, mode=mode)(np.stack([tokens, -tokens], -1).astype(np.float32))
    np.testing.assert_array_equal(vectors[..., 1], [[-x for x in SHIFTS[mode, n]]])


def test_masks_of_padding():
    tokens = np.array([[3, 0, 5, 0], [1, 2, 5, 0]], np.int32)
    np.testing.assert_array_equal(tl.PaddingMask()(tokens)[:, 0, 0], tokens != 0)
    np.testing.assert_array_equal(tl.PaddingMask(pad=5)(tokens)[:, 0, 0], tokens != 5)
    mask = tl.EncoderDecoderMask()((Q, MASK))
    assert mask.dtype == np.float32
    np.testing.assert_array_equal(mask, np.broadcast_to(MASK, (B, 1, L, K)).astype(np.float32))


def test_the_causal_mask_is_that_of_numpy():
    np.testing.assert_array_equal(attention_weights.causal_mask(4)[0], np.tril(np.ones((4, 4))))
