"""The samples of JAX's README of 2018: each as it stands there, with the values that it prints."""

import itertools
from functools import partial

import numpy as onp
import pytest
import sampling
from printed import prints

import weft.numpy as np
from weft import grad, jacfwd, jacrev, jit, random, vmap
from weft.experimental import minmax, stax
from weft.tree_util import tree_structure


def predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs


def logprob_fun(params, inputs, targets):
    preds = predict(params, inputs)
    return np.sum((preds - targets) ** 2)


def numpy_loss(params, x, t):
    """The same in NumPy, in float64."""
    for W, b in params:
        outputs = onp.dot(x, W) + b
        x = onp.tanh(outputs)
    return onp.sum((outputs - t) ** 2)


@pytest.fixture
def network():
    rng = onp.random.default_rng(0)
    params = [
        (rng.normal(size=s).astype("f"), rng.normal(size=s[1]).astype("f"))
        for s in ((4, 8), (8, 3))
    ]
    return params, rng.normal(size=(5, 4)).astype("f"), rng.normal(size=(5, 3)).astype("f")


def finite_difference(params, inputs, targets):
    """The gradient by central differences of the NumPy function."""
    params = [tuple(p.astype("d") for p in layer) for layer in params]
    out = []
    for layer in params:
        grads = []
        for p in layer:
            g = onp.zeros_like(p)
            for i in onp.ndindex(p.shape):
                kept, h = p[i], 1e-6
                p[i] = kept + h
                up = numpy_loss(params, inputs, targets)
                p[i] = kept - h
                g[i] = (up - numpy_loss(params, inputs, targets)) / (2 * h)
                p[i] = kept
            grads.append(g)
        out.append(grads)
    return out


def test_compiled_gradient(network):
    grad_fun = jit(grad(logprob_fun))  # compiled gradient evaluation function
    expected = finite_difference(*network)
    for got, want in zip(grad_fun(*network), expected, strict=True):
        for g, w in zip(got, want, strict=True):
            onp.testing.assert_allclose(g, w, rtol=2e-4, atol=1e-4)


def test_per_example_gradients(network):
    # The README's `vmap(partial(grad_fun, params), inputs, targets)` passes the arguments to vmap,
    # as its first version took them; since then a function is made, and called.
    params, inputs, targets = network
    grad_fun = jit(grad(logprob_fun))
    perex_grads = jit(
        lambda params, inputs, targets: vmap(partial(grad_fun, params))(inputs, targets)
    )
    (first, _), _ = perex_grads(params, inputs, targets)
    assert first.shape == (5, 4, 8)
    for i in range(5):
        (alone, _), _ = grad_fun(params, inputs[i], targets[i])
        onp.testing.assert_allclose(first[i], alone, rtol=1e-4, atol=1e-4)
    (total, _), _ = grad_fun(params, inputs, targets)
    onp.testing.assert_allclose(first.sum(0), total, rtol=1e-4, atol=1e-4)


def test_brief_tour():
    key = random.PRNGKey(0)
    x = random.normal(key, (5000, 5000))
    rows = x if sampling.whole else x[:3]  # of the product the first three elements are printed
    product = np.dot(rows, rows.T) / 2  # fast!
    printed = [2.52727051e03, 8.15895557e00, -8.53276134e-01]  # sums of 5000 terms, on a GPU
    onp.testing.assert_allclose(product[0, :3], printed, rtol=1e-5, atol=1e-3)
    again = np.dot(rows, rows.T) / 2  # even faster!
    assert (product == again).all()


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1)


# Outputs probability of a label being true according to logistic model.
def logistic_predictions(weights, inputs):
    return sigmoid(np.dot(inputs, weights))


# Training loss is the negative log-likelihood of the training labels.
def loss(weights, inputs, targets):
    preds = logistic_predictions(weights, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -np.sum(np.log(label_probs))


def test_logistic_regression():
    # Build a toy dataset.
    inputs = np.array(
        [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
    )
    targets = np.array([True, True, False, True])

    # Define a compiled function that returns gradients of the training loss
    training_gradient_fun = jit(grad(loss))

    # Optimize weights using gradient descent.
    weights = np.array([0.0, 0.0, 0.0])
    assert f"Initial loss: {loss(weights, inputs, targets):0.2f}" == "Initial loss: 2.77"  # 4 log 2
    for _ in range(100):
        weights -= 0.1 * training_gradient_fun(weights, inputs, targets)
    trained = loss(weights, inputs, targets)

    x, t, w = onp.asarray(inputs, "d"), onp.asarray(targets, "d"), onp.zeros(3)
    for _ in range(100):  # the gradient of this loss is known
        w -= 0.1 * x.T @ (1 / (1 + onp.exp(-x @ w)) - t)
    onp.testing.assert_allclose(weights, w, rtol=1e-5)
    p = 1 / (1 + onp.exp(-x @ w))
    expected = -onp.sum(onp.log(p * t + (1 - p) * (1 - t)))
    assert f"Trained loss: {trained:0.2f}" == f"Trained loss: {expected:0.2f}"


def test_gradient_of_tanh():
    def tanh(x):  # Define a function
        y = np.exp(-2.0 * x)
        return (1.0 - y) / (1.0 + y)

    grad_tanh = grad(tanh)  # Obtain its gradient function
    prints(grad_tanh(1.0), "0.41997434161402603")  # Evaluate it at x = 1.0
    onp.testing.assert_allclose(grad(grad_tanh)(1.0), -2 * onp.tanh(1) * 0.41997434, rtol=1e-5)


def test_hessian():
    def hessian(fun):
        return jit(jacfwd(jacrev(fun)))

    h = hessian(lambda x: np.sum(np.sin(x) * x[0] ** 3))(np.array([1.0, 2.0]))
    (x, y), s, c = (1.0, 2.0), onp.sin, onp.cos
    expected = [
        [6 * x * (s(x) + s(y)) + 6 * x**2 * c(x) - x**3 * s(x), 3 * x**2 * c(y)],
        [3 * x**2 * c(y), -(x**3) * s(y)],
    ]
    onp.testing.assert_allclose(h, expected, rtol=1e-5)


def test_python_control_flow():
    def abs_val(x):
        if x > 0:
            return x
        else:
            return -x

    abs_val_grad = grad(abs_val)
    assert abs_val_grad(1.0) == 1.0
    assert abs_val_grad(-1.0) == -1.0  # (abs_val is re-evaluated)


def test_compilation():
    def slow_f(x):
        # Element-wise ops see a large benefit from fusion
        return x * x + x * 2.0

    x = np.ones((5000, 5000))
    fast_f = jit(slow_f)
    assert (fast_f(x) == 3.0).all()
    assert (slow_f(x) == 3.0).all()


def test_auto_vectorization():
    def predict(params, input_vec):
        assert input_vec.ndim == 1
        for W, b in params:
            output_vec = np.dot(W, input_vec) + b  # `input_vec` on the right-hand side!
            input_vec = np.tanh(output_vec)
        return output_vec

    rng = onp.random.default_rng(1)
    params = [(rng.normal(size=(3, 4)).astype("f"), rng.normal(size=3).astype("f"))]
    input_batch = rng.normal(size=(6, 4)).astype("f")
    predictions = np.stack(list(map(partial(predict, params), input_batch)))
    mapped = vmap(partial(predict, params))(input_batch)
    onp.testing.assert_allclose(mapped, predictions, rtol=1e-6)
    ((W, b),) = params
    onp.testing.assert_allclose(mapped, input_batch @ W.T + b, rtol=1e-5)


def test_random_numbers():
    key = random.PRNGKey(0)
    prints(random.normal(key, shape=(3,)), "[ 1.81608593 -0.48262325  0.33988902]")
    # If we make the same call again with the same key, we get the same values
    prints(random.normal(key, shape=(3,)), "[ 1.81608593 -0.48262325  0.33988902]")

    key = random.PRNGKey(0)
    key, subkey = random.split(key)
    prints(random.normal(subkey, shape=(3,)), "[ 1.1378783  -1.22095478 -0.59153646]")
    key, subkey = random.split(key)
    prints(random.normal(subkey, shape=(3,)), "[-0.06607265  0.16676566  1.17800343]", ulp=10)


def test_supported_uses():
    A = np.array(onp.arange(80).reshape(10, 2, 4))
    assert (
        A[[5, 1, 7], :, 2:4].tolist()
        == onp.arange(80).reshape(10, 2, 4)[[5, 1, 7], :, 2:4].tolist()
    )
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert np.array([x, y]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert np.sum(np.array([x, y])) == 10
    # raw NumPy functions get a copy on the host
    assert onp.allclose(onp.sqrt(x * x), [1, 2])
    # control flow based on shapes, and `for subarr in array`
    rows = jit(lambda x: sum(row for row in x) if x.shape[0] > 2 else x)(A)
    assert rows.tolist() == onp.arange(80).reshape(10, 2, 4).sum(0).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda A, i: A.__setitem__((0, 0), 1.0),
        lambda A, i: np.sum([A, A]),
        lambda A, i: np.add(A, A, out=onp.zeros((3, 4))),
        jit(lambda A, i: A if i > 0 else -A),
        jit(lambda A, i: A[i : i + 2]),
        jit(lambda A, i: A[A > 0]),
    ],
)
def test_unsupported_uses_give_loud_errors(wrong):
    with pytest.raises((TypeError, IndexError, ValueError, NotImplementedError)):
        wrong(np.ones((3, 4)), 1)


def test_stax_and_minmax():
    # The README's names but for the imports that it forgets (Flatten) and `SoftMax`, which is
    # Softmax; images have their four axes, and `init` takes a key, as in every version since.
    Conv, Dense, Flatten = stax.Conv, stax.Dense, stax.Flatten
    MaxPool, Relu, LogSoftmax = stax.MaxPool, stax.Relu, stax.LogSoftmax
    size, wide = (28, 128) if sampling.whole else (8, 16)

    # Set up network initialization and evaluation functions
    net_init, net_apply = stax.serial(
        Conv(32, (3, 3), padding="SAME"), Relu,
        Conv(64, (3, 3), padding="SAME"), Relu,
        MaxPool((2, 2)), Flatten,
        Dense(wide), Relu,
        Dense(10), LogSoftmax,
    )  # fmt: skip

    # Initialize parameters, not committing to a batch shape
    in_shape = (-1, size, size, 1)
    out_shape, net_params = net_init(random.PRNGKey(0), in_shape)
    assert out_shape == (-1, 10)

    # Apply network
    rng = onp.random.default_rng(0)
    inputs, labels = rng.normal(size=(16, size, size, 1)).astype("f"), rng.integers(10, size=16)
    predictions = net_apply(net_params, inputs)
    assert predictions.shape == (16, 10)
    onp.testing.assert_allclose(onp.exp(predictions).sum(-1), 1, rtol=1e-5)

    def loss(params, batch):
        inputs, labels = batch
        return -np.mean(net_apply(params, inputs)[np.arange(16), labels])

    # Set up an optimizer
    opt_init, opt_update = minmax.momentum(step_size=1e-3, mass=0.9)

    # Define a compiled update step
    @jit
    def step(i, opt_state, batch):
        params = minmax.get_params(opt_state)
        g = grad(loss)(params, batch)
        return opt_update(i, g, opt_state)

    # Optimize parameters in a loop
    num_steps, data_generator = 20, itertools.repeat((inputs, labels))
    opt_state = opt_init(net_params)
    for i in range(num_steps):
        opt_state = step(i, opt_state, next(data_generator))
    trained = minmax.get_params(opt_state)
    assert tree_structure(trained) == tree_structure(net_params)
    assert loss(trained, (inputs, labels)) < 0.96 * loss(net_params, (inputs, labels))
