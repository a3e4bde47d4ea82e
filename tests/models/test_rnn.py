"""Recurrent models: weights, formulas, decoding, options that they refuse."""

import functools
import math

import numpy as np
import pytest

from weft import fastmath, layers as tl, models, shapes
from weft.models import rnn

V, D = 9, 4
TOKENS = np.array([[5, 2, 7, 1], [3, 3, 8, 0]])
TARGETS = np.array([[6, 4, 1, 8, 2], [7, 1, 5, 3, 3]])
KEY = np.array([0, 3], np.uint32)
LANGUAGE = {
    "RNNLM": models.RNNLM,
    "RNNLM of one layer": functools.partial(models.RNNLM, n_layers=1),
    "RNNLM of three GRU cells": functools.partial(
        models.RNNLM, n_layers=3, rnn_cell=tl.GRUCell, rnn_cell_d_state_multiplier=1
    ),
    "GRULM": models.GRULM,
    "GRULM of two layers": functools.partial(models.GRULM, n_layers=2),
}


def shapes_of(weights):
    return [w.shape for w in fastmath.tree_leaves(weights)]


LSTM, GRU = [(2 * D, 4 * D), (4 * D,)], [(2 * D, 2 * D), (2 * D,), (2 * D, D), (D,)]
TABLE, ENDS = [(V, D)], [(D, V), (V,)]
WEIGHTS = {
    "RNNLM": TABLE + 2 * LSTM + ENDS,
    "RNNLM of one layer": TABLE + LSTM + ENDS,
    "RNNLM of three GRU cells": TABLE + 3 * GRU + ENDS,
    "GRULM": TABLE + GRU + ENDS,
    "GRULM of two layers": TABLE + 2 * GRU + ENDS,
}


def larger(weights):
    """Weights that are not small, so that all of them count."""
    noise = np.random.default_rng(0)
    return fastmath.nested_map(lambda w: w + noise.normal(0, 0.5, w.shape).astype(w.dtype), weights)


@functools.cache
def made(name):
    model = LANGUAGE[name](V, d_model=D, mode="eval")
    weights, _ = model.init(TOKENS, rng=KEY)
    model.weights = larger(weights)
    return model


@functools.cache
def translator():
    model = models.LSTMSeq2SeqAttn(V, V, d_model=D, n_attention_heads=2, mode="eval")
    weights, _ = model.init((TOKENS, TARGETS), rng=KEY)
    model.weights = larger(weights)
    return model


@pytest.mark.parametrize("name", LANGUAGE)
def test_weights_in_their_order(name):
    assert shapes_of(made(name).weights) == WEIGHTS[name]
    assert made(name)(TOKENS).shape == (2, 4, V)


def test_the_weights_of_a_translator():
    attention = [(D, D), (D,)] * 3 + [(D, D), (D,)]
    expected = TABLE + 2 * LSTM + TABLE + LSTM + attention + 2 * LSTM + ENDS
    assert shapes_of(translator().weights) == expected


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, c, h, w, b):
    i, j, f, o = np.split(np.concatenate([x, h], axis=-1) @ w + b, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
    return c, sigmoid(o) * np.tanh(c)


def gru_step(x, h, w1, b1, w2, b2):
    u, r = np.split(sigmoid(np.concatenate([x, h], axis=-1) @ w1 + b1), 2, axis=-1)
    c = np.concatenate([x, r * h], axis=-1) @ w2 + b2
    return u * h + (1 - u) * np.tanh(c)


def shifted(tokens):
    return np.pad(tokens, ((0, 0), (1, 0)))[:, : tokens.shape[1]]


def test_an_rnnlm_is_its_formula():
    table, *cells, w, b = (np.float64(x) for x in fastmath.tree_leaves(made("RNNLM").weights))
    state = [[np.zeros((2, D)), np.zeros((2, D))] for _ in range(2)]
    logits = []
    for x in np.swapaxes(table[shifted(TOKENS)], 0, 1):
        for n in range(2):
            state[n] = lstm_step(x, *state[n], *cells[2 * n : 2 * n + 2])
            x = state[n][1]
        logits.append(x @ w + b)
    found = made("RNNLM")(TOKENS)
    np.testing.assert_allclose(found, np.stack(logits, axis=1), rtol=1e-4, atol=1e-5)


def test_a_grulm_is_its_formula():
    table, *cells, w, b = (np.float64(x) for x in fastmath.tree_leaves(made("GRULM").weights))
    h, logits = np.zeros((2, D)), []
    for x in np.swapaxes(table[shifted(TOKENS)], 0, 1):
        h = gru_step(x, h, *cells)
        logits.append(h @ w + b)
    np.testing.assert_allclose(
        made("GRULM")(TOKENS), np.stack(logits, axis=1), rtol=1e-4, atol=1e-5
    )


def lstm(xs, w, b):
    c = h = np.zeros((len(xs), D))
    outputs = []
    for x in np.swapaxes(xs, 0, 1):
        c, h = lstm_step(x, c, h, w, b)
        outputs.append(h)
    return np.stack(outputs, axis=1)


def test_a_translator_is_its_formula():
    """Two layers read the source, one the target; attention in two heads, of which the sum with
    what asked goes on through two layers. No padding is attended to."""
    source = np.array([[5, 2, 7, 0], [3, 3, 0, 0]])
    weights = iter([np.float64(x) for x in fastmath.tree_leaves(translator().weights)])
    keys = next(weights)[source]
    for _ in range(2):
        keys = lstm(keys, next(weights), next(weights))
    queries = lstm(next(weights)[shifted(TARGETS)], next(weights), next(weights))
    q, k, v = (x @ next(weights) + next(weights) for x in (queries, keys, keys))
    q, k, v = (np.swapaxes(x.reshape(2, -1, 2, D // 2), 1, 2) for x in (q, k, v))
    scores = q @ np.swapaxes(k, 2, 3) / math.sqrt(D // 2)
    scores = np.exp(np.where(source[:, None, None] != 0, scores, -np.inf))
    means = scores / scores.sum(axis=-1, keepdims=True) @ v
    x = queries + np.swapaxes(means, 1, 2).reshape(2, -1, D) @ next(weights) + next(weights)
    for _ in range(2):
        x = lstm(x, next(weights), next(weights))
    logits = x @ next(weights) + next(weights)
    expected = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    found, targets = translator()((source, TARGETS))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(targets, TARGETS)
    assert next(weights, None) is None


@pytest.mark.parametrize("name", LANGUAGE)
def test_decoding_step_by_step_gives_what_the_whole_gives(name):
    decoder = LANGUAGE[name](V, d_model=D, mode="predict")
    decoder.init(shapes.ShapeDtype((2, 1), np.int32))
    tl.share_weights(made(name), decoder)
    steps = [np.asarray(decoder(x[:, None])) for x in shifted(TOKENS).T]
    np.testing.assert_allclose(
        np.concatenate(steps, axis=1), made(name)(TOKENS), rtol=1e-5, atol=1e-6
    )


def test_translating_step_by_step_gives_what_the_whole_gives():
    decoder = models.LSTMSeq2SeqAttn(V, V, d_model=D, n_attention_heads=2, mode="predict")
    decoder.init((TOKENS, TARGETS[:, :1]))
    tl.share_weights(translator(), decoder)
    expected, _ = translator()((TOKENS, TARGETS))
    for i, x in enumerate(shifted(TARGETS).T):
        found, targets = decoder((TOKENS, x[:, None]))
        np.testing.assert_allclose(found[:, 0], expected[:, i], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(targets, x[:, None])


def test_training_drops_features_and_weights_of_attention():
    model = models.RNNLM(V, d_model=D, dropout=0.5)
    weights, state = model.init(TOKENS, rng=KEY)
    both = [model.pure_fn(TOKENS, weights, state, np.array([0, k], np.uint32))[0] for k in (1, 2)]
    assert not np.allclose(*both)
    model = models.LSTMSeq2SeqAttn(V, V, d_model=D, attention_dropout=0.5)
    weights, state = model.init((TOKENS, TARGETS), rng=KEY)
    both = [
        model.pure_fn((TOKENS, TARGETS), larger(weights), state, np.array([0, k], np.uint32))[0][0]
        for k in (1, 2)
    ]
    assert not np.allclose(*both)


def test_defaults_are_those_of_trax():
    model = models.RNNLM(4)
    weights, _ = model.weights_and_state_signature(shapes.ShapeDtype((1, 2), np.int32))
    assert shapes_of(weights) == [(4, 512), *[(1024, 2048), (2048,)] * 2, (512, 4), (4,)]
    assert "Dropout" in str(model)
    weights, _ = models.GRULM().weights_and_state_signature(shapes.ShapeDtype((1, 2), np.int32))
    assert shapes_of(weights)[0] == (256, 512)
    assert len(shapes_of(weights)) == 7


REFUSED = {
    "n_layers": (lambda: rnn.RNNLM(V, n_layers=0), ValueError, "RNNLM: n_layers must be at least"),
    "vocab_size": (lambda: rnn.GRULM(2.5), TypeError, "GRULM: vocab_size must be an int; got 2.5"),
    "cell": (lambda: rnn.RNNLM(V, rnn_cell=3), TypeError, "rnn_cell must be a function"),
    "state": (
        lambda: rnn.RNNLM(V, D, rnn_cell=tl.GRUCell).init(TOKENS), tl.LayerError,
        "GRUCell: expected a state of 4 features",
    ),
    "rate": (lambda: rnn.RNNLM(V, dropout=1.0), ValueError, "dropout must be less than 1"),
    "mode": (lambda: rnn.GRULM(mode="test"), ValueError, "GRULM: mode must be"),
    "heads": (
        lambda: rnn.LSTMSeq2SeqAttn(d_model=8, n_attention_heads=3), ValueError,
        "d_model must be a multiple of n_attention_heads; got 8 and 3",
    ),
    "layers": (
        lambda: rnn.LSTMSeq2SeqAttn(n_encoder_layers=-1), ValueError, "n_encoder_layers must be",
    ),
    "attention": (
        lambda: rnn.LSTMSeq2SeqAttn(attention_dropout=-1), ValueError, "attention_dropout must be",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()
