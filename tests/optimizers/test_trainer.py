import numpy as np
import pytest

import weft
from weft import fastmath, layers as tl, optimizers, random
from weft.errors import ShapeError
from weft.layers.precision import InPrecision
from weft.layers.serial import assembled

KEY, N = random.PRNGKey(3), 4


def data(n=8, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.randn(n, 5).astype("float32")
    return x, rng.randn(n, 1).astype("float32"), np.ones((n, 1), "float32")


def linear(batch):
    """A linear model with its loss, and the weights that it begins with."""
    model = tl.Serial(tl.Dense(1), tl.L2Loss())
    model.init(batch, KEY)
    return model, [np.asarray(w, "float64") for w in model.weights[0]]


def descent(weights, batches, rate, parts=1):
    """Losses and weights of plain gradient descent on the mean squared error, in float64."""
    (w, b), losses = weights, []
    for x, y, _ in batches:
        error = x @ w + b - y
        losses.append(np.mean(error**2))
        w = w - rate * 2 * x.T @ error / len(x)
        b = b - rate * 2 * np.mean(error, axis=0)
    return losses, w, b


def rich_model():
    """Layers with weights, state and random numbers."""
    return tl.Serial(
        tl.Dense(16), tl.Relu(), tl.BatchNorm(axis=0), tl.Dropout(0.2), tl.Dense(1), tl.L2Loss()
    )


def trained(n_devices, steps=4, make=rich_model, **options):
    batch = data()
    model = make()
    model.init(batch, KEY)
    trainer = optimizers.Trainer(model, optimizers.Adam(0.01), n_devices, **options)
    losses = [float(trainer.one_step(batch, KEY, step=i + 1)[0]) for i in range(steps)]
    return losses, trainer


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_steps_are_gradient_descent(parts):
    batches = [data(seed=i) for i in range(5)]
    model, begin = linear(batches[0])
    trainer = optimizers.Trainer(model, optimizers.SGD(0.05), 1, accumulation_steps=parts)
    losses = [float(trainer.one_step(b, KEY)[0]) for b in batches]
    expected, w, b = descent(begin, batches, 0.05)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(model.weights[0][0], w, atol=1e-5)
    np.testing.assert_allclose(model.weights[0][1], b, atol=1e-5)


def test_a_step_returns_the_loss_and_norms_before_the_update():
    batch = data()
    model, (w, b) = linear(batch)
    trainer = optimizers.Trainer(model, optimizers.SGD(0.05, clip_grad_norm=0.001), 1)
    loss, stats = trainer.one_step(batch, KEY)
    error = batch[0] @ w + b - batch[1]
    gradients = 2 * batch[0].T @ error / 8, 2 * np.mean(error, axis=0)
    norm = np.sqrt(sum(np.sum(g**2) for g in gradients))
    assert stats.keys() == {"loss", "gradients_l2", "weights_l2"}
    assert float(loss) == float(stats["loss"])
    np.testing.assert_allclose(stats["gradients_l2"], norm, rtol=1e-5)
    np.testing.assert_allclose(stats["weights_l2"], np.sqrt(np.sum(w**2)), rtol=1e-5)
    moved = np.concatenate([(w - model.weights[0][0]).ravel(), b - model.weights[0][1]])
    np.testing.assert_allclose(np.linalg.norm(moved), 0.05 * 0.001, rtol=1e-3)


def test_a_learning_rate_stays_in_the_trainer_and_not_in_the_optimizer():
    batch = data()
    model, _ = linear(batch)
    optimizer = optimizers.SGD(0.5)
    trainer = optimizers.Trainer(model, optimizer)
    trainer.one_step(batch, KEY, learning_rate=0.0)
    before = np.asarray(model.weights[0][0])
    trainer.one_step(batch, KEY)
    assert (np.asarray(model.weights[0][0]) == before).all()
    assert optimizer.opt_params["learning_rate"] == 0.5


def test_weights_state_and_slots_change_and_later_changes_by_the_user_count():
    _, trainer = trained(1)
    model = trainer.model_with_loss
    fresh = rich_model_initialized()
    assert (np.asarray(model.weights[0][0]) != np.asarray(fresh.weights[0][0])).all()
    assert (np.asarray(model.state[2][0]) != np.asarray(fresh.state[2][0])).any()
    assert trainer.slots is trainer.optimizer.slots
    assert trainer.n_devices == 1
    model.weights = weft.tree_util.tree_map(np.zeros_like, model.weights)
    _, stats = trainer.one_step(data(), KEY, step=9)
    assert float(stats["weights_l2"]) == 0
    trainer.slots = before = trainer.optimizer.tree_init(model.weights)[0]
    assert trainer.optimizer.slots is before


def test_advance_leaves_the_model_as_it_is_until_write():
    batch = data()
    model, _ = linear(batch)
    trainer = optimizers.Trainer(model, optimizers.SGD(0.5), 1)
    before = model.weights
    trainer.advance(batch, KEY, 1)
    assert model.weights[0][0] is before[0][0]
    trainer.write()
    assert model.weights[0][0] is not before[0][0]


def test_a_step_is_traced_once():
    traces = []

    def count(x):
        traces.append(x.shape)
        return x

    model = assembled(rich_model_initialized(), tl.Fn("Count", count))
    trainer = optimizers.Trainer(model, optimizers.Adam(0.01), 1)
    for step in range(5):
        trainer.one_step(data(seed=step), KEY, step=step, learning_rate=0.1 / (step + 1))
    assert len(traces) == 1


def rich_model_initialized():
    model = rich_model()
    model.init(data(), KEY)
    return model


def test_the_same_steps_give_the_same_bits_and_other_keys_others():
    assert trained(1)[0] == trained(1)[0]
    model = rich_model_initialized()
    trainer = optimizers.Trainer(model, optimizers.SGD(0.0), 1)
    at = [float(trainer.one_step(data(), KEY, step=i)[0]) for i in (1, 2, 1)]
    assert at[0] == at[2] != at[1]


@pytest.mark.devices(N)
@pytest.mark.parametrize("options", [{}, {"accumulation_steps": 2}], ids=str)
def test_several_devices_are_one(options):
    one, trainer = trained(1, **options)
    several, sharded = trained(N, **options)
    np.testing.assert_allclose(several, one, rtol=2e-6)
    for a, b in zip(
        weft.tree_util.tree_leaves(trainer.model_with_loss.weights),
        weft.tree_util.tree_leaves(sharded.model_with_loss.weights),
        strict=True,
    ):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=1e-4)  # Adam divides by gradients


def adasum(gradients):
    """Gradients of some devices merged by a tree of pairs, in NumPy."""
    while len(gradients) > 1:
        gradients = [
            (1 - np.vdot(a, b) / (2 * np.vdot(a, a))) * a
            + (1 - np.vdot(a, b) / (2 * np.vdot(b, b))) * b
            for a, b in zip(gradients[::2], gradients[1::2], strict=True)
        ]
    return gradients[0]


@pytest.mark.devices(N)
def test_adasum_merges_the_gradients_of_devices():
    batch = data()
    model, (w, b) = linear(batch)
    trainer = optimizers.Trainer(model, optimizers.SGD(1.0), N, adasum=True)
    trainer.one_step(batch, KEY)
    parts = []
    for x, y in zip(np.split(batch[0], N), np.split(batch[1], N), strict=True):
        parts.append(2 * x.T @ (x @ w + b - y) / len(x))
    np.testing.assert_allclose(w - model.weights[0][0], adasum(parts), rtol=1e-4)


def test_adasum_on_one_device_changes_nothing():
    np.testing.assert_allclose(trained(1, adasum=True)[0], trained(1)[0], rtol=1e-6)


def computed_in(dtype):
    """The model without its loss, computed in a dtype."""
    *layers, loss = rich_model().sublayers
    return tl.Serial(InPrecision(tl.Serial(*layers), dtype), loss)


@pytest.mark.parametrize(("dtype", "scale"), [("bfloat16", None), ("float16", 8.0)])
def test_16_bits_train_nearly_as_32_with_weights_in_32(dtype, scale):
    losses, trainer = trained(1, make=lambda: computed_in(dtype), loss_scale=scale)
    exact, _ = trained(1, make=lambda: computed_in("float32"))
    np.testing.assert_allclose(losses, exact, rtol=0.05)
    assert losses != exact
    leaves = weft.tree_util.tree_leaves(trainer.model_with_loss.weights)
    assert {str(leaf.dtype) for leaf in leaves} == {"float32"}


def test_a_scaled_loss_trains_as_another_one():
    np.testing.assert_allclose(trained(1, loss_scale=1024.0)[0], trained(1)[0], rtol=1e-5)


def test_a_dynamic_scale_leaves_out_steps_that_overflow_and_halves_itself():
    batch = data()
    model, _ = linear(batch)
    trainer = optimizers.Trainer(model, optimizers.Momentum(0.1), 1, loss_scale="dynamic")
    before, slots = model.weights, trainer.slots
    trainer.one_step((np.full_like(batch[0], 1e30), *batch[1:]), KEY)
    assert trainer.loss_scale.factor == 2.0**14
    for new, old in zip(model.weights[0] + trainer.slots, before[0] + slots, strict=True):
        assert (np.asarray(new) == np.asarray(old)).all()
    trainer.one_step(batch, KEY)
    assert trainer.loss_scale.factor == 2.0**14
    assert trainer.loss_scale.finite_steps == 1


def test_a_dynamic_scale_is_doubled_after_2000_finite_steps():
    batch = data()
    model, _ = linear(batch)
    trainer = optimizers.Trainer(model, optimizers.SGD(0.0), 1, loss_scale="dynamic")
    trainer.loss_scale = trainer.loss_scale._replace(finite_steps=weft.numpy.int32(1998))
    factors = []
    for _ in range(3):
        trainer.one_step(batch, KEY)
        factors.append(float(trainer.loss_scale.factor))
    assert factors == [2.0**15, 2.0**16, 2.0**16]


@pytest.mark.devices(8)
def test_all_devices_are_the_default():
    assert optimizers.Trainer(rich_model_initialized(), optimizers.SGD()).n_devices == 8


def test_a_model_without_weights_has_a_loss():
    model = tl.Serial(tl.Relu(), tl.L2Loss())
    batch = np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1))
    model.init(batch)
    loss, stats = optimizers.Trainer(model, optimizers.Adam(), 1).one_step(batch, KEY)
    assert (float(loss), float(stats["gradients_l2"])) == (1, 0)


def test_the_accelerated_model_gives_the_loss():
    _, trainer = trained(1)
    model = trainer.accelerated_model_with_loss
    assert isinstance(model, tl.Accelerate)
    assert np.shape(model(data())) == ()


def losses_on(backend, reversible):
    """The losses of some steps on a backend; the weights begin as constants."""
    tokens = np.arange(8).reshape(2, 4)
    batch = tokens, 2 * tokens % 9, np.ones((2, 4), "float32")
    with fastmath.use_backend(backend):
        table, kernel = np.eye(9, 4, dtype="float32"), np.eye(8, 9, dtype="float32")
        first = [tl.Embedding(9, 4, kernel_initializer=lambda *_: table), tl.Dup()]
        half = [tl.ReversibleHalfResidual(tl.Tanh()), tl.ReversibleSwap()]
        dense = tl.Dense(9, kernel_initializer=lambda *_: kernel, use_bias=False)
        last = [tl.Concatenate(), dense, tl.LogSoftmax(), tl.CrossEntropyLoss()]
        model = tl.Serial(first, half, last)
        model.init(batch)
        if reversible:
            blocks = [(first, half)]
            trainer = optimizers.ReversibleSerialTrainer(
                blocks, assembled(*last), lambda: optimizers.Momentum(0.5), 1
            )
        else:
            trainer = optimizers.Trainer(model, optimizers.Momentum(0.5), 1)
        key = fastmath.random.get_prng(0)
        return [float(trainer.one_step(batch, key, step=i)[0]) for i in range(4)]


@pytest.mark.parametrize("reversible", [False, True])
def test_backends_train_alike(reversible):
    pytest.importorskip("tensorflow")
    expected = losses_on("jax", False)
    assert expected[3] < expected[0]
    np.testing.assert_allclose(losses_on("tensorflow-numpy", reversible), expected, rtol=1e-4)


WRONG = {
    "no layer": (lambda m: optimizers.Trainer(3, optimizers.SGD()), TypeError, "model_with_loss"),
    "no optimizer": (lambda m: optimizers.Trainer(m, optimizers.SGD), TypeError, r"Adam\(0.001\)"),
    "devices": (lambda m: optimizers.Trainer(m, optimizers.SGD(), 99), ValueError, "n_devices"),
    "parts": (
        lambda m: optimizers.Trainer(m, optimizers.SGD(), accumulation_steps=0),
        ValueError,
        "accumulation_steps",
    ),
    "indivisible parts": (
        lambda m: optimizers.Trainer(m, optimizers.SGD(), 1, accumulation_steps=3).one_step(
            data(), KEY
        ),
        ShapeError,
        r"accumulation_steps=3 must divide the batch.*\(8, 5\)",
    ),
    "scale": (
        lambda m: optimizers.Trainer(m, optimizers.SGD(), loss_scale="static"),
        ValueError,
        "'dynamic'",
    ),
    "negative scale": (
        lambda m: optimizers.Trainer(m, optimizers.SGD(), loss_scale=-1.0),
        ValueError,
        "loss_scale",
    ),
    "no scalar": (
        lambda m: optimizers.Trainer(assembled(*m.sublayers[:-1]), optimizers.SGD(), 1).one_step(
            data()[0], KEY
        ),
        ShapeError,
        r"the loss must be a scalar.*shape \(8, 1\)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_refused(case):
    call, error, message = WRONG[case]
    model = rich_model_initialized()
    with pytest.raises(error, match=message):
        call(model)


@pytest.mark.devices(N)
def test_devices_that_do_not_divide_the_batch_are_refused():
    trainer = optimizers.Trainer(rich_model_initialized(), optimizers.SGD(), N)
    with pytest.raises(ShapeError, match=rf"{N} devices must divide the batch.*\(7, 5\)"):
        trainer.one_step(data(7), KEY)
