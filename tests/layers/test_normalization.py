"""Normalization: moments, running statistics by hand, axes, dtypes, missing parts."""

import numpy as onp
import pytest

import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

RNG = onp.random.default_rng(0)
IMAGES = (RNG.normal(size=(3, 4, 5, 2)) * [2.0, 0.5] + [1.0, -3.0]).astype("float32")


def started(layer, x, *weights):
    layer.init(shapes.signature(x))
    if weights:
        layer.weights = weights
    return layer


def close(x, y, tolerance=1e-5):
    onp.testing.assert_allclose(onp.asarray(x), y, rtol=tolerance, atol=tolerance)


# axis, the axes that it means
AXES = [((0, 1, 2), (0, 1, 2)), (0, (0,)), (-1, (3,)), ((-4, 1), (0, 1)), ([2], (2,)), ((), ())]


@pytest.mark.parametrize(("axis", "axes"), AXES)
@pytest.mark.parametrize("mode", ["train", "eval", "predict"])
def test_batch_norm(axis, axes, mode):
    layer = started(tl.BatchNorm(axis, epsilon=1e-3, momentum=0.75, mode=mode), IMAGES)
    kept = [n for i, n in enumerate(IMAGES.shape) if i not in axes]
    reduced = tuple(1 if i in axes else n for i, n in enumerate(IMAGES.shape))
    beta, gamma = RNG.normal(size=(2, *kept)).astype("float32")
    layer.weights = (beta, gamma)
    mean, var = onp.zeros(reduced), onp.ones(reduced)
    for step in range(3):
        x = IMAGES * (1 + step)
        y = layer(x)
        exact = x.astype("float64")
        batch = exact.mean(axes, keepdims=True), exact.var(axes, keepdims=True)
        used = batch if mode == "train" else (mean, var)
        expected = (exact - used[0]) / onp.sqrt(used[1] + 1e-3)
        expected = expected * gamma.reshape(reduced) + beta.reshape(reduced)
        close(y, expected, 1e-4)
        if mode == "train":
            mean, var = 0.75 * mean + 0.25 * batch[0], 0.75 * var + 0.25 * batch[1]
    close(layer.state[0], mean)
    close(layer.state[1], var)
    count = layer.state[2]
    assert (int(count), str(count.dtype)) == (3 if mode == "train" else 0, "int32")


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_batch_norm_without_parts(center, scale):
    layer = started(tl.BatchNorm(center=center, scale=scale), IMAGES)
    beta, gamma = layer.weights
    assert [isinstance(w, tuple) for w in (beta, gamma)] == [not center, not scale]
    weights = (jnp.full(2, 7.0) if center else (), jnp.full(2, 3.0) if scale else ())
    y = onp.asarray(layer(IMAGES, weights=weights))
    close(y.mean((0, 1, 2)), 7.0 * center, 1e-4)
    close(y.std((0, 1, 2)), 3.0 if scale else 1.0, 1e-3)


def test_what_training_learns_evaluation_uses():
    train = started(tl.BatchNorm(momentum=0.0), IMAGES)
    expected = train(IMAGES)
    layer = started(tl.BatchNorm(momentum=0.0, mode="eval"), IMAGES)
    layer.weights, layer.state = train.weights, train.state
    close(layer(IMAGES), expected, 1e-4)
    for before, after in zip(train.state, layer.state, strict=True):
        onp.testing.assert_array_equal(before, after)


def test_evaluation_after_few_batches_warns():
    x = jnp.asarray(RNG.normal(size=(64, 3)) * 3 + 5)

    def evaluated(momentum, batches):
        train = started(tl.BatchNorm(0, momentum=momentum), x)
        for _ in range(batches):
            train(x)
        layer = started(tl.BatchNorm(0, momentum=momentum, mode="eval"), x)
        layer(x)  # of a layer that was never trained nothing is said
        layer.weights, layer.state = train.weights, train.state
        compiled = fastmath.jit(lambda state: layer.pure_fn(x, layer.weights, state, None)[0])
        compiled(layer.state)  # what the state holds is not known
        return layer(x)

    with pytest.warns(UserWarning, match="from only 100 batches: .* weight of 90%") as found:
        evaluated(0.999, 100)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="from only 21 batches: .* weight of 11%"):
        evaluated(0.9, 21)
    close(onp.asarray(evaluated(0.9, 44)).mean(0), 0, 0.1)


def test_batch_norm_of_16_bit_floats_is_computed_in_32():
    """mean(x²) - mean(x)² of numbers around 100 would be anything in bfloat16."""
    x = jnp.asarray(RNG.normal(size=(64, 3)) + 100).astype(jnp.bfloat16)
    layer = tl.BatchNorm(axis=0, center=False, scale=False)
    y = onp.asarray(started(layer, x)(x)).astype("float32")
    assert str(layer(x).dtype) == "bfloat16"
    close(y.std(0), 1.0, 0.1)


def test_gradients_flow_through_the_statistics_of_the_batch():
    layer = started(tl.BatchNorm(axis=0), IMAGES[0, 0])
    x = jnp.asarray(IMAGES[0, 0])
    of_sum = fastmath.grad(lambda x: jnp.sum(layer.pure_fn(x, layer.weights, layer.state, None)[0]))
    close(of_sum(x), onp.zeros_like(x), 1e-5)  # the sum of normalized numbers is 0


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(3, 4, 5), (7,)])
def test_layer_norm(shape, center, backend):
    x = (RNG.normal(size=shape) * 3 + 1).astype("float32")
    scale, bias = RNG.normal(size=(2, shape[-1])).astype("float32")
    with fastmath.use_backend(backend):
        layer = started(tl.LayerNorm(center, epsilon=0.1), jnp.asarray(x))
        assert [onp.asarray(w).tolist() for w in layer.weights] == [
            [1] * shape[-1], [0] * shape[-1]
        ]  # fmt: skip
        y = layer(jnp.asarray(x), weights=(scale, bias))
    c = x.astype("float64") - x.mean(-1, keepdims=True, dtype="float64") * center
    expected = c / onp.sqrt((c * c).mean(-1, keepdims=True) + 0.1) * scale + bias * center
    close(y, expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_layer_norm_takes_the_dtype_of_its_signature(dtype):
    weights, _ = tl.LayerNorm().init(shapes.ShapeDtype((2, 3), dtype))
    assert [str(w.dtype) for w in weights] == [dtype, dtype]


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 5, 2), (3, 6, 2), (3, 2)])
def test_filter_response_norm(shape, learn):
    x = RNG.normal(size=shape).astype("float32")
    layer = started(tl.FilterResponseNorm("train", learn, 0.1, 0.3), x)
    gamma, beta, learnt = layer.weights
    assert [float(e) for e in learnt] == ([pytest.approx(0.3)] if learn else [])
    gamma, beta = RNG.normal(size=(2, 2)).astype("float32")
    y = layer(x, weights=(gamma, beta, (jnp.array(-0.2),) if learn else ()))
    squares = (x.astype("float64") ** 2).mean(tuple(range(1, x.ndim - 1)), keepdims=True)
    expected = gamma * x / onp.sqrt(squares + 0.1 + 0.2 * learn) + beta
    close(y, expected)


def test_names():
    layers = tl.BatchNorm(), tl.LayerNorm(), tl.FilterResponseNorm()
    assert [str(layer) for layer in layers] == ["BatchNorm", "LayerNorm", "FilterResponseNorm"]
