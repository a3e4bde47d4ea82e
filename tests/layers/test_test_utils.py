"""The helpers for tests of models find what they are for."""

import numpy as onp
import pytest

from weft import layers as tl
from weft.fastmath import numpy as jnp
from weft.layers import test_utils as utils

X = onp.random.default_rng(0).normal(size=(2, 6, 4)).astype(onp.float32)


def decoder(mode, n_heads=1):
    return tl.Serial(tl.Dense(4), tl.CausalAttention(4, n_heads=n_heads, mode=mode))


def ignores_the_past(mode):
    if mode == "predict":
        return tl.Serial(tl.Dense(4), tl.Fn("Zero", lambda x: 0 * x))
    return tl.Serial(tl.Dense(4), tl.Dropout(0.0))


def test_modes_that_agree():
    utils.test_eval_is_deterministic(X, decoder)
    utils.test_eval_equals_predict(X, decoder)
    configs = [{"n_heads": 2}, {"n_heads": 4}]
    utils.test_eval_equals_predict_configs(X, decoder, configs)
    scan = lambda mode: tl.Scan(  # noqa: E731
        tl.Fn("Sum", lambda x, c: (x + c, x + c), n_out=2), axis=1, mode=mode
    )
    utils.test_eval_equals_predict((X, onp.zeros((2, 4), onp.float32)), scan, seq_tensor=0)


def test_modes_that_do_not():
    with pytest.raises(AssertionError, match="positions 0 to 3"):
        utils.test_eval_equals_predict(X, ignores_the_past)
    with pytest.raises(AssertionError, match=r"with \{\}"):
        utils.test_eval_equals_predict_configs(X, ignores_the_past, [{}])
    with pytest.raises(AssertionError, match="a sequence of at least 5; got one of 4"):
        utils.test_eval_equals_predict(X[:, :4], decoder)
    noisy = lambda mode: tl.Serial(tl.Dense(2), tl.Fn("N", lambda x: x + onp.random.normal()))  # noqa: E731
    with pytest.raises(AssertionError, match="here"):
        utils.test_eval_is_deterministic(X, noisy, "here")


def test_models_of_tokens():
    def model(mode, vocab_size):
        return tl.Serial(
            tl.ShiftRight(mode=mode), tl.Embedding(vocab_size, 4),
            tl.CausalAttention(4, mode=mode), tl.Dense(vocab_size),
        )  # fmt: skip

    utils.test_eval_equals_predict_discrete(model)
    with pytest.raises(AssertionError, match="position"):
        utils.test_eval_equals_predict_discrete(
            lambda mode, vocab_size: tl.Serial(
                tl.ShiftRight(mode="predict"), tl.Embedding(vocab_size, 4), tl.Dense(vocab_size)
            )
        )


def test_a_mock_of_a_language_model():
    def total(tokens):
        return int(tokens.sum()) % 7

    step = utils.MockTransformerLM(total, "predict", 7)
    tokens = onp.array([[1, 2, 3], [4, 5, 6]])
    found = [step(tokens[:, i : i + 1]).argmax(-1)[:, 0].tolist() for i in range(3)]
    assert found == [[1, 4], [3, 2], [6, 1]]
    step.assert_prediction_buffers_equal([[1, 2, 3], [4, 5, 6]])
    saved = step.state
    step(tokens[:, :1])
    step.state = saved
    step.assert_prediction_buffers_equal([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(AssertionError):
        step.assert_prediction_buffers_equal([[1], [4]])
    whole = utils.MockTransformerLM(total, "eval", 7)(tokens)
    assert jnp.argmax(whole, -1).tolist() == [[0, 1, 3], [0, 4, 2]]
    assert float(whole.max()) == 1000.0
