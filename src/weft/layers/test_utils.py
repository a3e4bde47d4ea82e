"""Helpers for tests of models: they check that modes agree.

test_eval_is_deterministic, test_eval_equals_predict, test_eval_equals_predict_configs and
test_eval_equals_predict_discrete take functions that make a model for a mode. MockTransformerLM is
a model whose answers come from a function.
"""

# ruff: noqa: PT028 (the functions are for tests, and none themselves)

import copy
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import fastmath, option_checks
from ..fastmath import numpy as jnp
from ..shapes import signature
from .base import Layer
from .serial import as_tuple

__all__ = [
    "MockTransformerLM",
    "test_eval_equals_predict",
    "test_eval_equals_predict_configs",
    "test_eval_equals_predict_discrete",
    "test_eval_is_deterministic",
]


def _two(first: Layer, second: Layer, sig: Any) -> None:
    """Copies the weights of the first of two layers, made for one signature, to the second."""
    first.init(sig)
    second.init(sig)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pkl.gz")
        first.save_to_file(path, weights_only=True, input_signature=sig)
        second.init_from_file(path, weights_only=True)


def _assert_close(a: Any, b: Any, message: str) -> None:
    """Compares outputs to five decimal places."""
    for x, y in zip(as_tuple(a), as_tuple(b), strict=True):
        np.testing.assert_array_almost_equal(x, y, decimal=5, err_msg=message)


def test_eval_is_deterministic(inp: Any, model_fn: Callable[..., Layer], message: str = "") -> None:
    """Checks that two models in mode 'eval' with equal weights have equal outputs.

    Args:
      inp: inputs of the model.
      model_fn: function that makes the model, called with the keyword `mode`.
      message: text for the error.
    Raises: AssertionError: the outputs differ.
    Example:
      >>> def model(mode):
      ...     return tl.Serial(tl.Dense(3), tl.Dropout(0.5, mode=mode))
      >>> test_eval_is_deterministic(np.ones((2, 4), np.float32), model)
    Source: Trax's `layers.test_utils`.
    """
    first, second = model_fn(mode="eval"), model_fn(mode="eval")
    _two(first, second, signature(inp))
    key = fastmath.random.get_prng(0)
    _assert_close(first(inp, rng=key), second(inp, rng=key), message)


def test_eval_equals_predict(
    inp: Any,
    model_fn: Callable[..., Layer],
    seq_axis: int = 1,
    seq_tensor: int | None = None,
    init_tokens: int = 3,
    message: str = "",
) -> None:
    """Checks that the step-by-step outputs of mode 'predict' equal the outputs of mode 'eval'.

    Args:
      inp: inputs of the model: an array, or a tuple of them.
      model_fn: function that makes the model, called with the keyword `mode`.
      seq_axis: the axis of the sequence.
      seq_tensor: the index of the sequence among several inputs; None for a single input.
      init_tokens: the number of elements in the first step; the others have one.
      message: text for the error.
    Raises: AssertionError: they differ, or the sequence is shorter than init_tokens + 2.
    Example:
      >>> def model(mode):
      ...     return tl.Serial(tl.Dense(3), tl.Dropout(0.5, mode=mode))
      >>> test_eval_equals_predict(np.ones((2, 6, 3), np.float32), model)
    Source: Trax's `layers.test_utils`.
    """
    eval_model, predict_model = model_fn(mode="eval"), model_fn(mode="predict")
    sequence = inp if seq_tensor is None else inp[seq_tensor]
    length = sequence.shape[seq_axis]
    if length < init_tokens + 2:
        raise AssertionError(
            f"test_eval_equals_predict: expected a sequence of at least {init_tokens + 2}; got "
            f"one of {length}"
        )
    key = fastmath.random.get_prng(0)
    whole = eval_model
    _two(whole, predict_model, signature(inp))
    outputs = eval_model(inp, rng=key)
    start = 0
    for end in range(init_tokens, length + 1):
        part = _cut(sequence, seq_axis, start, end)
        piece = part if seq_tensor is None else (*inp[:seq_tensor], part, *inp[seq_tensor + 1 :])
        predicted = predict_model(piece, rng=key)
        expected = _cut(as_tuple(outputs)[0], seq_axis, start, end)
        _assert_close(as_tuple(predicted)[0], expected, f"{message} positions {start} to {end}")
        start = end


def _cut(x: Any, axis: int, start: int, end: int) -> Any:
    return jnp.take(x, jnp.arange(start, end), axis=axis)


def test_eval_equals_predict_configs(
    inp: Any,
    model_fn: Callable[..., Layer],
    configs: Sequence[dict[str, Any]],
    seq_axis: int = 1,
    seq_tensor: int | None = None,
    message: str = "",
) -> None:
    """Checks `test_eval_equals_predict` for several sets of keyword arguments of the model.

    Args:
      inp: inputs of the model.
      model_fn: function that makes the model, called with `mode` and the keywords in `configs`.
      configs: dicts of keyword arguments.
      seq_axis: the axis of the sequence.
      seq_tensor: the index of the sequence among several inputs.
      message: text for the error.
    Example:
      >>> def model(n_units, mode):
      ...     return tl.Dense(n_units)
      >>> inputs = np.ones((2, 6, 3), np.float32)
      >>> test_eval_equals_predict_configs(inputs, model, [{"n_units": 2}, {"n_units": 5}])
    Source: Trax's `layers.test_utils`.
    """
    for config in configs:

        def make(mode: str, config: dict[str, Any] = config) -> Layer:
            return model_fn(mode=mode, **config)

        case = f"{message} with {config}"
        test_eval_equals_predict(inp, make, seq_axis, seq_tensor, message=case)


def test_eval_equals_predict_discrete(
    model_fn: Callable[..., Layer], vocab_size: int = 10, length: int = 5, batch_size: int = 3
) -> None:
    """Checks that a model of tokens has the same logits in modes 'eval' and 'predict'.

    Args:
      model_fn: function that makes the model, called with the keywords `mode` and `vocab_size`. The
        model maps tokens [batch, length] to logits [batch, length, vocab_size] that depend on
        earlier tokens.
      vocab_size: the number of tokens.
      length: the length of the sequences.
      batch_size: the number of sequences.
    Raises: AssertionError: they differ.
    Example:
      >>> def model(vocab_size, mode):
      ...     embedding, dense = tl.Embedding(vocab_size, 4), tl.Dense(vocab_size)
      ...     return tl.Serial(tl.ShiftRight(mode=mode), embedding, dense)
      >>> test_eval_equals_predict_discrete(model)
    Source: Trax's `layers.test_utils`.
    """
    key = fastmath.random.get_prng(0)
    models = [model_fn(mode=mode, vocab_size=vocab_size) for mode in ("eval", "predict")]
    tokens = np.random.randint(0, vocab_size, (batch_size, length)).astype(np.int32)
    models[0].init(signature(tokens), rng=key)
    models[1].init(signature(tokens[:, :1]), rng=key)
    logits = as_tuple(models[0](tokens, rng=key))[0]
    shifted = np.pad(tokens, ((0, 0), (1, 0)))[:, :length]  # a model shifts in mode 'eval' only
    for i in range(length):
        step = as_tuple(models[1](shifted[:, i : i + 1], rng=key))[0]
        _assert_close(step[:, 0], logits[:, i], f"position {i}")


class MockTransformerLM(Layer):
    """A language model whose next token is a function of the tokens so far.

    Args:
      sequence_fn: function from an array of tokens [n] to the next token.
      mode: in 'predict', the tokens of all calls are one sequence, and the output is the following
        token; in other modes, the output is the token that follows each prefix of a 0 and the
        input.
      vocab_size: the number of tokens.

    Inputs are tokens [batch, length], outputs logits [batch, length or 1, vocab_size]: 1000 for the
    token, 0 for others. The state is a copy of the tokens so far; it can be set to an earlier
    state.

    Example:
      >>> model = MockTransformerLM(lambda tokens: tokens[-1] + 1, "predict", vocab_size=4)
      >>> model(np.array([[0]]))
      Array([[[   0., 1000.,    0.,    0.]]], dtype=float32)

    Source: Trax's `layers.test_utils.MockTransformerLM`.
    """

    def __init__(self, sequence_fn: Callable[[Any], Any], mode: str, vocab_size: int) -> None:
        name = "MockTransformerLM"
        self._buffers: Any = None
        super().__init__()
        self._sequence_fn = option_checks.function(name, "sequence_fn", sequence_fn, "of tokens")
        self._mode = option_checks.choice(name, "mode", mode, ("train", "eval", "predict"))
        self._vocab_size = option_checks.whole_number(name, "vocab_size", vocab_size)

    @property
    def state(self) -> Any:
        """The tokens so far, of each sequence; None before the first call."""
        return copy.deepcopy(self._buffers)

    @state.setter
    def state(self, state: Any) -> None:
        self._buffers = copy.deepcopy(state)

    def __call__(self, inputs: Any, weights: Any = None, state: Any = None, rng: Any = None) -> Any:
        """The logits of the next tokens; weights, state and key are not used."""
        inputs = np.asarray(inputs)
        if self._buffers is None:
            self._buffers = [[] for _ in inputs]
        answer = self._step if self._mode == "predict" else self._all
        tokens = [answer(row, buffer) for row, buffer in zip(inputs, self._buffers, strict=True)]
        codes = np.asarray(tokens)[..., None] == np.arange(self._vocab_size)
        return jnp.asarray(1000.0 * codes.astype(np.float32))

    def _step(self, row: Any, buffer: list[Any]) -> list[Any]:
        buffer.extend(row)
        return [self._sequence_fn(np.array(buffer))]

    def _all(self, row: Any, buffer: list[Any]) -> list[Any]:
        shifted = np.concatenate([[0], row])
        return [self._sequence_fn(shifted[: i + 1]) for i in range(len(row))]

    def assert_prediction_buffers_equal(self, expected_buffers: Any) -> None:
        """Raises an AssertionError unless the tokens so far are the given ones."""
        np.testing.assert_array_equal(self._buffers, expected_buffers)
