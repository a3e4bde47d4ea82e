"""Recurrent layers: against loops in NumPy; programs that don't grow with the length."""

import numpy as np
import pytest

import weft
from weft import layers as tl

RNG = np.random.default_rng(5)
B, L, D, N = 2, 5, 4, 3
X = RNG.standard_normal((B, L, D)).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, state, w, b):
    c, h = np.split(state, 2, -1)
    i, j, f, o = np.split(np.concatenate([x, h], -1) @ w + b, 4, -1)
    c = c * sigmoid(f) + sigmoid(i) * np.tanh(j)
    h = np.tanh(c) * sigmoid(o)
    return h, np.concatenate([c, h], -1)


def gru(x, h, w1, b1, w2, b2):
    u, r = np.split(sigmoid(np.concatenate([x, h], -1) @ w1 + b1), 2, -1)
    h = u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], -1) @ w2 + b2)
    return h, h


def leaves(layer):
    return [np.asarray(x, np.float64) for x in weft.tree_util.tree_leaves(layer.weights)]


def along(cell, x, state, weights):
    """The outputs of a cell along a sequence, and the last state."""
    outputs = []
    for t in range(x.shape[1]):
        y, state = cell(x[:, t], state, *weights)
        outputs.append(y)
    return np.stack(outputs, 1), state


@pytest.mark.parametrize(
    ("name", "cell", "states"), [("LSTMCell", lstm, 2 * N), ("GRUCell", gru, N)]
)
def test_a_cell_is_one_step(name, cell, states):
    layer = getattr(tl, name)(N)
    state = RNG.standard_normal((B, states)).astype(np.float32)
    layer.init((X[:, 0], state))
    expected = cell(X[:, 0], state, *leaves(layer))
    for found, wanted in zip(layer((X[:, 0], state)), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("n_units", [D, N])
def test_a_layer_is_its_cell_along_the_sequence(name, n_units):
    layer = getattr(tl, name)(n_units)
    layer.init(X)
    cell, states = {"LSTM": (lstm, 2 * n_units), "GRU": (gru, n_units)}[name]
    expected, _ = along(cell, X, np.zeros((B, states)), leaves(layer))
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5, atol=1e-6)
    assert f"{name}_{n_units}" in repr(layer)


def test_lstm_with_states_in_and_out():
    state = RNG.standard_normal((B, 2 * N)).astype(np.float32)
    layer = tl.LSTM(N, return_state=True, initial_state=True)
    layer.init((X, state))
    outputs, last = layer((X, state))
    expected, expected_last = along(lstm, X, state, leaves(layer))
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, expected_last, rtol=1e-5, atol=1e-6)


def test_biases_begin_with_the_forget_bias():
    for cell, x, at in (
        (tl.LSTMCell(N, forget_bias=2.0), (X[:, 0], np.zeros((B, 2 * N), np.float32)), 1),
        (tl.GRUCell(N, forget_bias=2.0), (X[:, 0], np.zeros((B, N), np.float32)), 1),
    ):
        cell.init(x)
        np.testing.assert_allclose(cell.weights[at], 2.0, atol=1e-4)


def test_initializers_are_those_given():
    def ones(shape, rng):
        return np.ones(shape, np.float32)

    cell = tl.GRUCell(N, kernel_initializer=ones, bias_initializer=ones)
    cell.init((X[:, 0], np.zeros((B, N), np.float32)))
    assert all((np.asarray(w) == 1).all() for w in cell.weights)


@pytest.mark.parametrize("activation", [None, "Tanh"])
def test_sru(activation):
    layer = tl.SRU(D, activation=getattr(tl, activation)() if activation else None)
    layer.init(X)
    w, b = leaves(layer)
    r, f, y = np.split(X @ w + b, 3, -1)
    r, f = sigmoid(r), sigmoid(f)
    c, cells = np.zeros((B, D)), []
    for t in range(L):
        c = f[:, t] * c + (1 - f[:, t]) * y[:, t]
        cells.append(c)
    c = np.stack(cells, 1)
    expected = r * (np.tanh(c) if activation else c) + (1 - r) * X * np.sqrt(3)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5, atol=1e-6)


def test_inner_sru_cell():
    rest, forget, cell = RNG.random((3, B, N)).astype(np.float32)
    for found in tl.InnerSRUCell()((rest, forget, cell)):
        np.testing.assert_allclose(found, forget * cell + rest, rtol=1e-6)


def test_zero_states():
    for multiplier in (1, 2):
        zeros = tl.MakeZeroState(multiplier)(X)
        assert (zeros.shape, zeros.dtype) == ((B, multiplier * D), np.float32)
        assert not np.asarray(zeros).any()


def test_general_gru_cell():
    layer = tl.GeneralGRUCell(lambda: tl.Dense(D), dropout_rate_c=0.0, sigmoid_bias=0.25)
    layer.init(X)
    wu, bu, wr, br, wc, bc, *_ = leaves(layer)
    x = X.astype(np.float64)
    u, r = sigmoid(x @ wu + bu + 0.25), sigmoid(x @ wr + br + 0.25)
    expected = u * x + (1 - u) * np.tanh((r * x) @ wc + bc)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5, atol=1e-6)


def test_general_gru_cell_with_layers_of_choice():
    layer = tl.GeneralGRUCell(
        lambda: tl.Fn("zero", lambda x: 0 * x),
        memory_transform_fn=lambda: tl.Fn("twice", lambda x: 2 * x),
        gate_nonlinearity=tl.HardSigmoid,
        candidate_nonlinearity=lambda: tl.Fn("one", lambda x: x + 1),
        dropout_rate_c=0.0,
        sigmoid_bias=0.75,
    )
    layer.init(X)
    np.testing.assert_allclose(layer(X), 0.75 * 2 * X + 0.25, rtol=1e-5)


def test_dropout_of_a_general_gru_cell_has_a_mode():
    def made(mode):
        layer = tl.GeneralGRUCell(lambda: tl.Dense(D), dropout_rate_c=0.5, mode=mode)
        layer.init(X)
        return layer

    trained, evaluated = made("train"), made("eval")
    keys = [weft.random.PRNGKey(i) for i in range(2)]
    assert not np.allclose(*(trained(X, rng=key) for key in keys))
    np.testing.assert_array_equal(*(evaluated(X, rng=key) for key in keys))


def test_convolutional_gru_cell():
    image = RNG.standard_normal((B, 4, 5, D)).astype(np.float32)
    layer = tl.ConvGRUCell(D, kernel_size=(3, 1))
    layer.init(image)
    assert layer(image).shape == image.shape
    assert [w.shape for w in leaves(layer)] == [(3, 1, D, D), (D,)] * 3


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SRU"])
def test_programs_do_not_grow_with_the_length(name):
    def equations(length):
        layer, x = getattr(tl, name)(D), np.zeros((1, length, D), np.float32)
        weights, state = layer.init(x)
        run = weft.make_jaxpr(lambda w, x: layer.pure_fn(x, w, state, None)[0])
        return str(run(weights, x)).count("\n")

    assert equations(3) == equations(300)
