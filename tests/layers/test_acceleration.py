"""Layers on eight devices: the results of one, batches of any size, replicas, placement."""

import numpy as onp
import pytest

import weft
import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

pytestmark = pytest.mark.devices(8)

RNG = onp.random.default_rng(0)
ROWS = RNG.normal(size=(16, 3)).astype("float32")
KEY = fastmath.random.get_prng(0)


def close(x, y):
    onp.testing.assert_allclose(onp.asarray(x), onp.asarray(y), rtol=1e-5, atol=1e-6)


def network():
    return tl.Serial(tl.Dense(4), tl.Relu(), tl.Dense(2))


@pytest.fixture(scope="module")
def trained():
    """A layer, and the same on one, two and eight devices."""
    layer = network()
    layer.init(shapes.signature(ROWS), rng=KEY)
    return layer, {n: tl.Accelerate(layer, n) for n in (1, 2, 8)}


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("size", [16, 13, 1])
def test_outputs_are_those_of_the_layer(trained, size, n):
    layer, fast = trained
    x = jnp.asarray(ROWS[:size])
    y = fast[n](x)
    assert y.shape == (size, 2)
    close(y, layer(x))


def test_all_devices_work(trained):
    y = trained[1][8](jnp.asarray(ROWS))
    assert len(y.sharding.device_set) == 8
    assert len(tl.Accelerate(network(), 0).weights) == 3  # None and 0 mean all: nothing is refused


def test_weights_have_an_axis_of_devices(trained):
    layer, fast = trained
    for n in (2, 8):
        (w, b), _, _ = fast[n].weights
        assert (w.shape, b.shape) == ((n, 3, 4), (n, 4))
        assert [s.data.shape for s in w.addressable_shards] == [(1, 3, 4)] * n
        close(w, onp.stack([layer.weights[0][0]] * n))
    assert fast[1].weights[0][0].shape == (3, 4)


def test_several_inputs_and_outputs_are_cut():
    add = tl.Fn("AddAndSub", lambda a, b: (a + b, a - b), n_out=2)
    one = tl.Fn("Add", lambda a, b: a + b)
    x, y = ROWS[:13], ROWS[3:]
    both = tl.Accelerate(add)((jnp.asarray(x), jnp.asarray(y)))
    close(both[0], x + y)
    close(both[1], x - y)
    close(tl.Accelerate(one)((jnp.asarray(x), jnp.asarray(y))), x + y)


@pytest.mark.parametrize("size", [16, 5])
def test_a_loss_is_one_number_for_each_device(size):
    fast = tl.Accelerate(tl.Fn("Total", lambda x: jnp.sum(x)))
    y = fast(jnp.asarray(ROWS[:size]))
    assert y.shape == (8,)
    close(y.sum(), ROWS[:size].sum())


def test_init_copies_and_may_be_called_again():
    fast = tl.Accelerate(tl.Dense(4), 2)
    for key in (KEY, fastmath.random.get_prng(1)):
        weights, state = fast.init(shapes.signature(ROWS), rng=key)
        expected, _ = tl.Dense(4).init(shapes.signature(ROWS), rng=key)
        for w, e in zip(weights, expected, strict=True):
            close(w, onp.stack([e, e]))
        assert state == ()
        close(fast.sublayer.weights[0], expected[0])


def test_replicate_weights_sets_both():
    layer = tl.Dense(2)
    layer.init(shapes.signature(ROWS))
    fast = tl.Accelerate(layer, 2)
    x = jnp.asarray(ROWS)
    before = fast(x)
    fast.replicate_weights((jnp.ones((3, 2)), jnp.zeros(2)))
    close(fast(x), onp.repeat(ROWS.sum(1, keepdims=True), 2, 1))
    close(layer(x), fast(x))
    assert abs(onp.asarray(before - fast(x))).max() > 0.1


def test_setting_weights_gives_the_layer_the_first_copy():
    fast = tl.Accelerate(tl.Dense(2), 2)
    fast.init(shapes.signature(ROWS))
    fast.weights = (jnp.stack([jnp.ones((3, 2))] * 2), jnp.zeros((2, 2)))
    assert fast.sublayer.weights[0].tolist() == [[1, 1]] * 3


def test_each_device_keeps_its_state():
    fast = tl.Accelerate(tl.BatchNorm(axis=0, momentum=0.0), 2)
    fast.init(shapes.signature(ROWS))
    fast(jnp.asarray(ROWS))
    mean, _, count = fast.state
    assert mean.shape == (2, 1, 3)
    close(mean[0, 0], ROWS[:8].mean(0))
    close(mean[1, 0], ROWS[8:].mean(0))
    assert count.tolist() == [1, 1]
    close(fast.sublayer.state[0][0], ROWS[:8].mean(0))
    fast.replicate_state(fast.sublayer.state)
    close(fast.state[0][1, 0], ROWS[:8].mean(0))


def test_devices_have_keys_of_their_own():
    fast = tl.Accelerate(tl.Dropout(0.5), 8)
    fast.init(shapes.signature(ROWS))
    y = onp.asarray(fast(jnp.ones((8, 50)), rng=KEY))
    assert len({row.tobytes() for row in y}) == 8
    keys = fastmath.random.split(KEY, 8)
    close(y[3], tl.Dropout(0.5)(jnp.ones((1, 50)), rng=keys[3])[0])


def test_within_a_network_and_shared():
    inner = tl.Accelerate(tl.Dense(3), 2)
    layer = tl.Serial(inner, inner)
    weights, _ = layer.init(shapes.signature(ROWS))
    assert weights[1] == tl.base.GET_WEIGHTS_FROM_CACHE
    w, b = (onp.asarray(part)[0] for part in weights[0])
    close(layer(jnp.asarray(ROWS)), (ROWS @ w + b) @ w + b)


def test_gradients_of_the_copies_add_up_to_the_gradient(trained):
    layer, fast = trained
    x = jnp.asarray(ROWS)

    def loss(weights, which):
        return jnp.sum(which.pure_fn(x, weights, which.state, KEY)[0] ** 2)

    expected = fastmath.grad(loss)(layer.weights, layer)
    found = weft.jit(fastmath.grad(loss), static_argnums=1)(fast[2].weights, fast[2])
    for e, f in zip(*map(fastmath.tree_leaves, (expected, found)), strict=True):
        close(onp.asarray(f).sum(0), e)


@pytest.mark.parametrize("shards", [2, 8])
def test_weights_may_be_spread_over_the_devices(shards, monkeypatch):
    layer = tl.Dense(16)
    x = jnp.asarray(RNG.normal(size=(16, 8)).astype("float32"))
    layer.init(shapes.signature(x))
    expected = layer(x)
    monkeypatch.setattr(tl.base, "N_WEIGHTS_SHARDS", shards)
    fast = tl.Accelerate(layer)
    assert [w.shape for w in fast.weights] == [(8, 8 // shards, 16), (8, 16 // shards)]
    close(fast(x), expected)
    with pytest.raises(ValueError, match="need all 8 devices, in groups of"):
        _ = tl.Accelerate(layer, 4).weights


def test_signatures_without_values():
    fast = tl.Accelerate(tl.Dense(4), 2)
    (w, b), _ = fast.weights_and_state_signature(shapes.signature(ROWS))
    assert (w.shape, b.shape) == ((2, 3, 4), (2, 4))


# --- functions ---


def forward(x, weights, state, rng):
    return (x * weights, jnp.sum(x * weights)), state + 1


@pytest.mark.parametrize("n", [0, 1])
def test_jit_forward_on_one_device(n):
    run = tl.jit_forward(forward, n)
    (y, total), state = run(jnp.asarray(ROWS), jnp.array(2.0), jnp.array(1), KEY)
    close(y, 2 * ROWS)
    close(total, 2 * ROWS.sum())
    assert int(state) == 2


@pytest.mark.parametrize("do_mean", [True, False])
def test_jit_forward_on_several_devices(do_mean):
    run = tl.jit_forward(forward, 4, do_mean)
    weights, state = tl.for_n_devices((jnp.array(2.0), jnp.array(1)), 4)
    (y, total), state = run(jnp.asarray(ROWS), weights, state, KEY)
    close(y, 2 * (ROWS.mean(0) if do_mean else ROWS))
    parts = 2 * ROWS.reshape(4, -1).sum(1)
    close(total, parts.mean() if do_mean else parts)
    assert state.tolist() == [2] * 4


@pytest.mark.parametrize("pure_np", [True, False])
def test_reshape_by_device(pure_np):
    tree = {"x": ROWS, "more": [ROWS[:, 0], (jnp.asarray(ROWS),)]}
    found = tl.reshape_by_device(tree, 4, pure_np)
    close(found["x"], ROWS.reshape(4, 4, 3))
    close(found["more"][0], ROWS[:, 0].reshape(4, 4))
    close(found["more"][1][0], found["x"])
    assert isinstance(found["x"], onp.ndarray) == pure_np


def test_for_n_devices():
    tree = [{"w": jnp.arange(3.0)}, ()]
    assert tl.for_n_devices(tree, 1) is tree
    found = tl.for_n_devices(tree, 3)
    close(found[0]["w"], [[0, 1, 2]] * 3)
    assert [s.device for s in found[0]["w"].addressable_shards] == weft.local_devices()[:3]
    assert found[1] == ()
    traced = weft.jit(lambda x: tl.for_n_devices(x, 3))(jnp.arange(3.0))
    close(traced, found[0]["w"])


def test_mean_or_pmean():
    x = jnp.asarray(ROWS)
    close(tl.mean_or_pmean(16, x, axis=0), ROWS.mean(0))
    close(tl.mean_or_pmean(16, x), ROWS.mean())


def test_placement():
    tree = (jnp.ones(2), {"x": ROWS})
    found = tl.on_cpu(tree)
    assert found[0].device == weft.devices("cpu")[0]
    close(found[1]["x"], ROWS)
    if not any(d.platform in ("gpu", "cuda", "tpu") for d in weft.devices()):
        assert tl.on_accelerator(tree) is tree
    with fastmath.use_backend("numpy"):
        assert tl.on_cpu(tree) is tl.on_accelerator(tree) is tree


def test_the_numpy_backend_has_one_device():
    with fastmath.use_backend("numpy"):
        layer = tl.LayerNorm()
        layer.init(shapes.signature(ROWS))
        close(tl.Accelerate(layer)(ROWS), layer(ROWS))
