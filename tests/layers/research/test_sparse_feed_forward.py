"""Sparse feed-forward blocks against loops over vectors and blocks, in float64."""

import itertools

import numpy as np
import pytest

import weft
from weft import fastmath, layers as tl, random, shapes
from weft.layers.research import sparse_feed_forward

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
ROWS = X.reshape(6, 4)
KEY = random.PRNGKey(5)
BLOCKS, UNITS, RANK, EXPERTS = 4, 3, 2, 3


def sparse_ff(mode="train", **options):
    layer = tl.SparseFF(BLOCKS * UNITS, UNITS, RANK, mode=mode, **options)
    layer.init(shapes.signature(X), rng=random.PRNGKey(1))
    layer.weights = fastmath.nested_map(lambda w: 2 * w, layer.weights)  # some units are negative
    return layer


def leaves(tree):
    return [np.asarray(leaf, np.float64) for leaf in weft.tree_util.tree_leaves(tree)]


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def probabilities(weights, rows=ROWS):
    """Of each unit in its block, [rows, blocks, units]."""
    m1, m2, mb = weights[:3]
    return softmax(np.einsum("bd,dl,lxy->bxy", rows, m1, m2) + mb)


def output(weights, gates, factors=None):
    """Unit for unit: gates multiply before the ReLU, factors after it."""
    w1, w2, b2 = weights[3:]
    found = np.zeros(ROWS.shape) + b2
    for row, block, unit in itertools.product(range(6), range(BLOCKS), range(UNITS)):
        hidden = max(ROWS[row] @ w1[:, block, unit] * gates[row, block, unit], 0)
        hidden *= 1 if factors is None else factors[row, block, unit]
        found[row] += hidden * w2[unit, block]
    return found.reshape(X.shape)


def code(choices, n):
    return np.eye(n)[choices]


@pytest.mark.parametrize("multiplies", [False, True])
@pytest.mark.parametrize("mode", ["eval", "predict", "viz"])
def test_after_training_the_likeliest_unit_of_each_block_is_used(mode, multiplies):
    layer = sparse_ff(mode, multiply_by_controller_output=multiplies, dropout_rate=0.9)
    weights = leaves(layer.weights)
    mask = probabilities(weights)
    expected = output(weights, code(mask.argmax(-1), UNITS), mask if multiplies else None)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)
    for i in range(2):  # one row, of which mode "predict" reads chosen weights alone
        np.testing.assert_allclose(layer(X[i, :1]), expected[i, :1], rtol=1e-4, atol=1e-5)


def drawn(mask, temperature, key):
    """Choices by Gumbel noise of the controller's key."""
    u = np.asarray(random.uniform(key, mask.shape, minval=1e-6, maxval=1 - 1e-6), np.float64)
    return (np.log(mask) - temperature * np.log(-np.log(u))).argmax(-1)


def keys():
    """Those of the controller and of the main part: the second of three layers, of six of it."""
    inside = random.split(random.split(KEY, 3)[1], 6)
    return inside[1], inside[2]


@pytest.mark.parametrize("multiplies", [False, True])
@pytest.mark.parametrize(("quant_prob", "temperature"), [(1.0, 0.0), (1.0, 3.0), (0.0, 3.0)])
def test_in_training_units_are_drawn_or_all_are_used(quant_prob, temperature, multiplies):
    layer = sparse_ff(quant_prob=quant_prob, temperature=temperature,
                      multiply_by_controller_output=multiplies)  # fmt: skip
    weights = leaves(layer.weights)
    mask = probabilities(weights)
    choices = drawn(mask, temperature, keys()[0])
    assert (choices != mask.argmax(-1)).any() == (temperature > 0)
    gates = code(choices, UNITS) if quant_prob else mask
    expected = output(weights, gates, mask if multiplies and quant_prob else None)
    found, state = layer.pure_fn(X, layer.weights, layer.state, KEY)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(state[0][2][0], choices)


def test_one_draw_for_a_call_says_if_units_are_drawn():
    layer = sparse_ff(quant_prob=0.3)
    share = np.mean([
        np.allclose(
            layer.pure_fn(X, layer.weights, layer.state, key)[0],
            sparse_ff(quant_prob=1.0).pure_fn(X, layer.weights, layer.state, key)[0],
        )
        for key in random.split(KEY, 40)
    ])  # fmt: skip
    assert 0.1 < share < 0.6


@pytest.mark.parametrize("multiplies", [False, True])
@pytest.mark.parametrize("quant_prob", [0.0, 1.0])
def test_the_derivative_of_choices_is_that_of_their_probabilities(quant_prob, multiplies):
    """Against differences of a loss in which what has no derivative is held."""
    layer = sparse_ff(quant_prob=quant_prob, temperature=2.0,
                      multiply_by_controller_output=multiplies)  # fmt: skip
    weights = leaves(layer.weights)
    held = probabilities(weights)
    choices = code(drawn(held, 2.0, keys()[0]), UNITS)
    wave = np.cos(np.arange(X.size)).reshape(X.shape)

    def expected_loss(weights):
        mask = probabilities(weights)
        gates = choices + mask - held if quant_prob else mask
        return (output(weights, gates, held if multiplies and quant_prob else None) * wave).sum()

    def loss(w):
        return (layer.pure_fn(X, w, layer.state, KEY)[0] * wave.astype(np.float32)).sum()

    gradients = leaves(weft.grad(loss)(layer.weights))
    rng = np.random.default_rng(3)
    for i, gradient in enumerate(gradients):
        way = rng.standard_normal(gradient.shape)
        ends = [
            expected_loss([w + sign * 1e-6 * way if j == i else w for j, w in enumerate(weights)])
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose((gradient * way).sum(), slope, rtol=2e-3, atol=1e-4)
        assert np.abs(gradient).max() > 0


def test_a_backward_pass_repeats_the_choices():
    layer = sparse_ff(quant_prob=1.0)
    weights = leaves(layer.weights)
    choices = np.random.default_rng(4).integers(0, UNITS, (6, BLOCKS))
    inside = layer.state[0]
    state = ((*inside[:2], (choices.astype(np.int32), {"running_second_time_yes": ()})),)
    found, after = layer.pure_fn(X, layer.weights, state, KEY)
    np.testing.assert_allclose(found, output(weights, code(choices, UNITS)), rtol=1e-4, atol=1e-5)
    assert set(after[0][2][1]) == {"running_second_time"}
    again, _ = layer.pure_fn(X, layer.weights, after, KEY)
    assert not np.allclose(again, found)


def test_reversible_networks_take_the_choices_of_the_forward_pass():
    """The state tells: other choices in it give the gradients of these."""
    half = tl.ReversibleHalfResidual(sparse_ff(quant_prob=1.0))
    weights, before = half.init((X, X), rng=KEY)
    y, after = half.pure_fn((X, X), weights, before, KEY)
    x, _ = half.reverse_and_grad(y, y, weights, before, after, KEY)
    np.testing.assert_allclose(x[0], X, atol=1e-5)
    kept = after[0][0][0][2][0]
    other = weft.tree_util.tree_map(
        lambda leaf: (leaf + 1) % UNITS if leaf is kept else leaf, after
    )
    x, _ = half.reverse_and_grad(y, y, weights, before, other, KEY)
    assert not np.allclose(x[0], X, atol=1e-2)


def test_what_is_kept():
    remember = sparse_feed_forward.RememberInReverse()
    remember.init(shapes.ShapeDtype((2, 3), np.int32))
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(remember(x), x)
    np.testing.assert_array_equal(remember(x + 1), x + 1)
    kept, _ = remember.state
    marked = (kept, {"running_second_time_yes": ()})
    np.testing.assert_array_equal(remember(x, state=marked), x + 1)
    recall = sparse_feed_forward.RecallQuantMaskInReverse(remember, 3)
    y, mask = recall(X[:, 0])
    assert y is not None
    np.testing.assert_array_equal(mask, -np.ones((2, 3)))
    remember.state = marked
    np.testing.assert_array_equal(recall(X[:, 0])[1], x + 1)
    assert sparse_feed_forward.RememberInReverse(output=False).n_out == 0


def test_weights_are_as_large_as_their_initializers_say():
    shapes_of = [w.shape for w in leaves(sparse_ff().weights)]
    assert shapes_of == [(4, 2), (2, 4, 3), (4, 3), (4, 4, 3), (3, 4, 4), (4,)]
    plain, scaled = [
        tl.SparseFF(12, 3, 2, kernel_scaling=scaling, kernel_initializer=lambda shape, key:
                    np.full(shape, shape[0], np.float32)).init(X)[0]
        for scaling in (False, True)
    ]  # fmt: skip
    assert [w.flat[0] for w in leaves(plain)[:2]] == [4, 2]
    np.testing.assert_allclose(leaves(scaled)[4], leaves(plain)[4] * np.sqrt(3), rtol=1e-6)
    for options, wanted in (
        ({"use_bfloat16": True}, "bbbbbb"),
        ({"big_weights_in_bfloat16": True}, "fffbbf"),
    ):
        weights = tl.SparseFF(12, 3, 2, **options).init(X)[0]
        kinds = [str(w.dtype)[0] for w in weft.tree_util.tree_leaves(weights)]
        assert "".join(kinds) == wanted


def test_chunks_give_what_the_whole_gives():
    whole, chunked = sparse_ff("eval"), sparse_ff("eval", ff_chunk_size=2)
    chunked.weights = weft.tree_util.tree_structure(chunked.weights).unflatten(
        weft.tree_util.tree_leaves(whole.weights)
    )
    np.testing.assert_allclose(chunked(X), whole(X), rtol=1e-5, atol=1e-6)


# --- experts ---


def experts(kind, mode="train", **options):
    layer = kind(12, EXPERTS, mode=mode, **options)
    layer.init(shapes.signature(X), rng=random.PRNGKey(2))
    return layer


def expected_of_experts(weights, gates):
    """Vector by vector; gates [rows, experts]."""
    _, w1, w2, b2 = weights
    found = np.zeros(ROWS.shape) + b2
    for row, expert in itertools.product(range(6), range(EXPERTS)):
        units = slice(expert * 4, expert * 4 + 4)
        found[row] += np.maximum(ROWS[row] @ w1[:, units] * gates[row, expert], 0) @ w2[units]
    return found.reshape(X.shape)


@pytest.mark.parametrize("mode", ["eval", "predict"])
@pytest.mark.parametrize("kind", [tl.BlockSparseFF, tl.SwitchSparseFF])
def test_after_training_the_likeliest_expert_is_used(kind, mode):
    layer = experts(kind, mode)
    weights = leaves(layer.weights)
    mask = softmax(ROWS @ weights[0])
    gates = code(mask.argmax(-1), EXPERTS) * (mask if kind is tl.SwitchSparseFF else 1)
    expected = expected_of_experts(weights, gates)
    assert len(set(mask.argmax(-1))) > 1
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)
    for i, j in itertools.product(range(2), range(3)):
        found = layer(X[i, j : j + 1])
        np.testing.assert_allclose(found, expected[i, j : j + 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [tl.BlockSparseFF, tl.SwitchSparseFF])
def test_in_training_experts_are_drawn(kind):
    layer = experts(kind, temperature=2.0)
    weights = leaves(layer.weights)
    mask = softmax(ROWS @ weights[0])
    ways = set()
    for key in random.split(KEY, 8):
        first, second = random.split(key, 2)
        gates = code(drawn(mask, 2.0, first), EXPERTS)
        if kind is tl.SwitchSparseFF:
            gates = gates * mask
        elif random.uniform(second, (), minval=-1.0, maxval=1.0) <= 0:
            gates = mask
        ways.add(gates is mask)
        found, _ = layer.pure_fn(X, layer.weights, (), key)
        np.testing.assert_allclose(found, expected_of_experts(weights, gates), rtol=1e-4, atol=1e-5)
    assert ways == ({False} if kind is tl.SwitchSparseFF else {True, False})


@pytest.mark.parametrize("kind", [tl.BlockSparseFF, tl.SwitchSparseFF])
def test_the_choice_of_experts_is_trained(kind):
    """By the probability: of a Switch the gate itself, of a Block what passes through."""
    layer = experts(kind, temperature=0.0)
    weights = leaves(layer.weights)
    held = softmax(ROWS @ weights[0])
    choices = code(held.argmax(-1), EXPERTS)
    wave = np.cos(np.arange(X.size)).reshape(X.shape)
    key = next(k for k in random.split(KEY, 9)
               if random.uniform(random.split(k, 2)[1], (), minval=-1.0) > 0)  # fmt: skip

    def expected_loss(m1):
        mask = softmax(ROWS @ m1)
        gates = choices * mask if kind is tl.SwitchSparseFF else choices + mask - held
        return (expected_of_experts([m1, *weights[1:]], gates) * wave).sum()

    def loss(w):
        return (layer.pure_fn(X, w, (), key)[0] * wave.astype(np.float32)).sum()

    gradient = np.asarray(weft.grad(loss)(layer.weights)[0], np.float64)
    way = np.random.default_rng(1).standard_normal(gradient.shape)
    slope = (expected_loss(weights[0] + 1e-6 * way) - expected_loss(weights[0] - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose((gradient * way).sum(), slope, rtol=2e-3, atol=1e-4)


def test_experts_are_named_by_their_units():
    assert str(tl.BlockSparseFF(128)) == "BlockSparseFF_128"
    assert str(tl.SwitchSparseFF(64)) == "SwitchSparseFF_64"
    assert [w.shape for w in leaves(experts(tl.BlockSparseFF).weights)] == [
        (4, 3), (4, 12), (12, 4), (4,),
    ]  # fmt: skip
