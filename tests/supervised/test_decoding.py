"""Decoding: samples are those of a loop over the model in mode "eval", row by row."""

import functools
import itertools
import weakref

import numpy as np
import pytest
from decoders import (
    LANGUAGE_MODELS,
    ROOM,
    SIZES,
    TRANSLATORS,
    V,
    assert_each_is_chosen,
    greedy_loop,
    in_rows,
    likeliest,
    log_softmax,
    trained,
    whole,
)

from weft import fastmath, layers as tl, models, random
from weft.shapes import ShapeDtype
from weft.supervised import decoders, decoding, requests

PROMPTS = [[5, 2, 6], [3], [], [4, 4, 1, 5]]
SOURCES = [[5, 2, 6, 1], [3, 4], [6]]
sample, stream = decoding.autoregressive_sample, decoding.autoregressive_sample_stream


def drawn_by(keys, temperature):
    """A choice by Gumbel's noise, as the documentation has it: the i-th of a row with its key."""

    def choose(logits, row, i):
        u = random.uniform(random.fold_in(keys[row], i), (V,), np.float32, 1e-6, 1 - 1e-6)
        noise = -np.log(-np.log(np.asarray(u, np.float64)))
        return np.argmax(log_softmax(logits) + temperature * noise)

    return choose


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_greedy_tokens_are_the_likeliest_after_those_before(name):
    found = sample(trained(name), PROMPTS, 4, temperature=0.0, eos_id=-1, max_length=6)
    assert_each_is_chosen(whole(name), PROMPTS, found, likeliest)


def test_greedy_tokens_are_those_of_a_loop_in_mode_eval():
    model = trained("TransformerLM")
    found = sample(model, PROMPTS, 4, temperature=0.0, eos_id=-1, max_length=6)
    expected = [greedy_loop(whole("TransformerLM"), prompt, 6) for prompt in PROMPTS]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["TransformerLM", "GRULM"])
def test_tokens_are_drawn_with_the_key_of_their_row(name):
    key = random.PRNGKey(7)
    found = sample(trained(name), PROMPTS, 4, temperature=1.5, eos_id=-1, max_length=6, rng=key)
    assert_each_is_chosen(whole(name), PROMPTS, found, drawn_by(random.split(key, 4), 1.5))


@pytest.mark.parametrize(
    "name", ["Transformer", "LSTMSeq2SeqAttn", pytest.param("Reformer", marks=pytest.mark.slow)]
)
def test_translations_are_the_likeliest(name):
    found = sample(trained(name), SOURCES, 3, temperature=0.0, eos_id=-1, max_length=5)
    assert_each_is_chosen(whole(name), [[]] * 3, found, likeliest, in_rows(SOURCES))


@pytest.mark.parametrize(
    "name", ["TransformerLM", pytest.param("Transformer", marks=pytest.mark.slow)]
)
def test_mode_eval_gives_the_same_tokens(name):
    inputs, greedy = (PROMPTS, {}) if name in LANGUAGE_MODELS else (SOURCES, {"temperature": 0.0})
    options = {"batch_size": len(inputs), "eos_id": -1, "max_length": 3, **greedy}
    expected = sample(trained(name), inputs, **options)
    for least in (3, 9) if name in LANGUAGE_MODELS else (8,):
        found = sample(trained(name), inputs, eval_mode=True, eval_min_length=least, **options)
        np.testing.assert_array_equal(found, expected)


def test_without_compilation_the_tokens_are_the_same():
    options = {"batch_size": 4, "eos_id": -1, "max_length": 3}
    model = trained("TransformerLM")
    expected = sample(model, PROMPTS, **options)
    np.testing.assert_array_equal(sample(model, PROMPTS, accelerate=False, **options), expected)


def test_a_request_among_others_gets_what_it_gets_alone():
    model, keys = trained("TransformerLM"), random.split(random.PRNGKey(1), 4)
    together = sample(model, PROMPTS, 4, eos_id=-1, max_length=5, rng=keys)
    for row in (0, 3):
        prompt, key = PROMPTS[row], keys[row : row + 1]
        alone = sample(model, [prompt], eos_id=-1, max_length=5, rng=key)
        np.testing.assert_array_equal(alone[0], together[row])


def test_padding_at_either_end_does_not_count():
    model = trained("TransformerLM")
    left = np.array([[0, 5, 2, 6], [0, 0, 0, 3], [0, 0, 0, 0], [4, 4, 1, 5]])
    right = np.array([[5, 2, 6, 0], [3, 0, 0, 0], [0, 0, 0, 0], [4, 4, 1, 5]])
    options = {"batch_size": 4, "eos_id": -1, "max_length": 4}
    expected = sample(model, PROMPTS, **options)
    for inputs in (left, right):
        np.testing.assert_array_equal(sample(model, inputs, pad_id=0, **options), expected)
        with_zeros = sample(model, [*inputs], **options)
        np.testing.assert_array_equal(sample(model, inputs, **options), with_zeros)
        assert (with_zeros != expected).any()
    translator = trained("Transformer")
    padded = np.array([[0, 5, 2, 6, 1], [0, 3, 4, 0, 0], [0, 0, 0, 0, 6]])
    np.testing.assert_array_equal(
        sample(translator, padded, 3, 0.0, pad_id=0, eos_id=-1, max_length=5),
        sample(translator, SOURCES, 3, 0.0, eos_id=-1, max_length=5),
    )


@pytest.mark.parametrize("name", ["TransformerLM", "GRULM"])
def test_long_prompts_are_read_in_pieces(name, monkeypatch):
    prompts = np.random.default_rng(0).integers(1, V, (4, 10))
    options = {"batch_size": 4, "temperature": 0.0, "eos_id": -1, "max_length": 6}
    expected = sample(trained(name), prompts, **options)
    monkeypatch.setattr("weft.supervised.decoders.PIECE", 4)
    np.testing.assert_array_equal(sample(trained(name), prompts, **options), expected)
    assert_each_is_chosen(whole(name), prompts, expected, likeliest)


def test_positions_that_are_counted_one_at_a_time_get_single_tokens(monkeypatch):
    monkeypatch.setattr("weft.supervised.decoders.PIECE", 2)
    model = models.ReformerLM(
        V, n_layers=1, d_model=8, d_ff=8, n_heads=1, d_attention_key=4, d_attention_value=4,
        pos_type="infinite",
    )  # fmt: skip
    model.init(np.zeros((1, 4), int), rng=random.PRNGKey(2))
    found = sample(model, [[5, 2, 6, 1]], temperature=0.0, eos_id=-1, max_length=3)
    assert_each_is_chosen(tl.in_mode(model, "eval"), [[5, 2, 6, 1]], found, likeliest)


def test_the_step_is_traced_once(monkeypatch):
    traces = []
    made = requests.step_of_pieces

    def counting(logits, *how):
        step = made(logits, *how)

        def counted(*arguments):
            traces.append(arguments[2].shape)
            return step(*arguments)

        return counted

    monkeypatch.setattr(requests, "step_of_pieces", counting)
    model = models.TransformerLM(V, d_model=4, d_ff=4, n_layers=1, n_heads=1, max_len=ROOM)
    model.init(np.zeros((1, 4), int))
    for prompts in (None, [[3], [4, 5, 6]], [[3, 4], [5]]):
        sample(model, prompts, 1 if prompts is None else 2, eos_id=-1, max_length=8)
    assert traces == [(1, 1), (2, 1)]
    sample(model, [[3], [4, 5, 6]], 2, temperature=0.7, eos_id=-1, max_length=8)
    assert len(traces) == 2  # the temperature is an argument
    sample(model, None, 1, temperature=0.7, top_k=3, eos_id=-1, max_length=2)
    sample(model, None, 1, temperature=0.2, top_p=0.3, eos_id=-1, max_length=2)
    assert len(traces) == 3
    model.weights = tl.in_mode(model, "eval").weights
    sample(model, eos_id=-1, max_length=2)
    assert len(traces) == 3


@pytest.mark.parametrize("name", ["GRULM", pytest.param("LSTMSeq2SeqAttn", marks=pytest.mark.slow)])
def test_a_first_state_of_another_form_is_one_more_trace(name, monkeypatch):
    traces, made = [], requests.step_of_pieces
    monkeypatch.setattr(
        requests, "step_of_pieces",
        lambda *how: lambda *x: (traces.append(0), made(*how)(*x))[1],
    )  # fmt: skip
    inputs = [[3, 4]] if name in TRANSLATORS else None
    for _ in range(2):
        sample(trained(name), inputs, temperature=0.0, eos_id=-1, max_length=8)
    assert len(traces) == 2


@pytest.mark.parametrize("name", ["TransformerLM", "GRULM"])
def test_a_call_leaves_the_model_as_it_was_and_begins_anew(name):
    options = {"batch_size": 4, "temperature": 0.0, "eos_id": -1, "max_length": 5}
    expected = sample(trained(name), PROMPTS, **options)
    decoder = tl.in_mode(trained(name), "predict", ShapeDtype((4, 1), np.int32))
    decoder(np.full((4, 1), 3))  # somebody decodes by hand
    before = fastmath.tree_leaves(decoder.state)
    assert before
    for _ in range(2):
        np.testing.assert_array_equal(sample(decoder, PROMPTS, **options), expected)
    for a, b in zip(before, fastmath.tree_leaves(decoder.state), strict=True):
        assert a is b


def test_the_running_mean_is_that_of_the_model():
    def make(mode):
        norm = tl.BatchNorm(momentum=0.9, mode=mode)
        return tl.Serial(tl.ShiftRight(mode=mode), tl.Embedding(V, 4), norm, tl.Dense(V))

    model, tokens = make("train"), np.random.default_rng(0).integers(0, V, (8, 5))
    weights, _ = model.init(tokens, rng=random.PRNGKey(0))
    model.weights = (weights[0], 9 * weights[1] + 5, *weights[2:])
    for _ in range(50):
        model(tokens)
    for one in (model, tl.in_mode(model, "predict")):
        found = sample(one, temperature=0.0, eos_id=-1, max_length=6)
        assert_each_is_chosen(tl.in_mode(model, "eval"), [[]], found, likeliest)


def test_new_weights_are_used():
    model = models.GRULM(V, d_model=4)
    weights, _ = model.init(np.zeros((1, 4), int))
    *rest, (w, _) = weights
    for token in (3, 5):
        model.weights = (*rest, (0 * w, np.eye(V, dtype=np.float32)[token]))
        found = sample(model, temperature=0.0, eos_id=-1, max_length=3)
        np.testing.assert_array_equal(found, [[token] * 3])


@functools.cache
def table_model():
    """A model whose logits at a position are the row of a table, whatever comes in."""
    model = tl.Serial(
        tl.ShiftRight(),
        tl.Fn("Zeros", lambda x: np.zeros((*x.shape, V), np.float32)),
        tl.PositionalEncoding(max_len=16),
    )
    model.init(np.zeros((1, 4), int))
    return model


def constant(*tokens):
    """A model that gives one of these tokens after the other, and then any."""
    table = np.zeros((16, V), np.float32)
    table[range(len(tokens)), tokens] = 50.0
    table_model().weights = (*table_model().weights[:2], table)
    return table_model()


def test_rows_stop_when_all_have_ended():
    tokens = sample(constant(5, 1, 4, 1), max_length=9)
    np.testing.assert_array_equal(tokens, [[5, 1]])
    np.testing.assert_array_equal(sample(constant(5, 1, 4), max_length=9, eos_id=4), [[5, 1, 4]])
    assert sample(constant(5, 1, 4), max_length=3, eos_id=6).tolist() == [[5, 1, 4]]
    assert sample(constant(5), max_length=0).shape == (1, 0)
    assert sample(constant(1)).shape == (1, 1)


def test_what_follows_the_end_may_be_filled():
    model = constant(5, 1, 4, 3, 1)
    ragged = sample(model, [[2, 2], []], 2, max_length=9)  # positions 2, 3, … and 0, 1, …
    np.testing.assert_array_equal(ragged, [[4, 3, 1], [5, 1, 4]])
    filled = sample(model, [[2, 2], []], 2, max_length=9, fill_id=0)
    np.testing.assert_array_equal(filled, [[4, 3, 1], [5, 1, 0]])
    assert filled.dtype == np.int32


def test_the_default_key_is_that_of_seed_0():
    model = trained("GRULM")
    default = sample(model, batch_size=4, eos_id=-1, max_length=8)
    np.testing.assert_array_equal(
        sample(model, batch_size=4, eos_id=-1, max_length=8, rng=random.PRNGKey(0)), default
    )
    other = sample(model, batch_size=4, eos_id=-1, max_length=8, rng=random.PRNGKey(1))
    assert (other != default).any()
    assert (default[0] != default[1]).any()


def test_a_stream_has_no_end_and_gives_the_columns():
    model = trained("GRULM")
    expected = sample(model, PROMPTS, 4, eos_id=-1, max_length=30)
    found = [*itertools.islice(stream(model, PROMPTS, 4), 30)]
    np.testing.assert_array_equal(np.stack(found, axis=1), expected)
    assert found[0].shape == (4,)
    assert found[0].dtype == np.int32


def test_start_tokens():
    model, start = trained("GRULM"), np.array([[3], [4], [0], [7]])
    prompts = np.full((4, 1), 5)
    found = sample(model, prompts, 4, start_id=start, temperature=0.0, eos_id=-1, max_length=6)
    # In mode "eval" the model itself puts a 0 in front, which is a token like others.
    decoder = tl.in_mode(model, "predict", ShapeDtype((4, 1), np.int32))
    expected, tokens = [decoder(start), decoder(prompts)], None
    for _ in range(6):
        tokens = np.argmax(expected[-1], axis=-1)
        expected.append(decoder(tokens))
    np.testing.assert_array_equal(found, np.argmax(expected, axis=-1)[1:7, :, 0].T)
    for i, one in ((2, 0), (3, 7)):
        same = sample(model, prompts, 4, 0.0, start_id=one, eos_id=-1, max_length=6)
        np.testing.assert_array_equal(same[0], found[i])


def test_another_backend_gives_the_same_likeliest_tokens():
    model = trained("TransformerLM")
    options = {"batch_size": 4, "temperature": 0.0, "eos_id": -1, "max_length": 4}
    expected = sample(model, PROMPTS, **options)
    copy = models.TransformerLM(V, n_layers=1, **SIZES)
    with fastmath.use_backend("numpy"):
        copy.init(np.zeros((1, 4), int))
        copy.weights = fastmath.nested_map(np.asarray, model.weights)
        np.testing.assert_array_equal(sample(copy, PROMPTS, **options), expected)
        drawn = sample(copy, PROMPTS, **{**options, "temperature": 1.0}, top_k=3)
        assert drawn.shape == (4, 4)


def test_models_that_say_themselves_what_a_call_is_are_called():
    mock = tl.test_utils.MockTransformerLM(lambda tokens: len(tokens), "predict", 9)
    found = sample(mock, [[5, 5]], temperature=0.0, max_length=4, eos_id=-1, accelerate=False)
    np.testing.assert_array_equal(found, [[3, 4, 5, 6]])
    mock.assert_prediction_buffers_equal([[0, 5, 5, 3, 4, 5]])


def test_what_decodes_holds_no_arrays():
    """It is kept as long as the model, whose weights are others by then."""
    twin = decoders.decoder_of("test", trained("GRULM"), "predict").twin
    sample(trained("GRULM"), PROMPTS, 4, max_length=6)
    held = fastmath.tree_leaves((twin.weights, twin.state))
    assert len(held) >= 7
    assert all(isinstance(x, ShapeDtype) for x in held)


def test_programs_go_with_the_model():
    model = models.GRULM(V, d_model=4)
    model.init(np.zeros((1, 4), int))
    sample(model, max_length=1)
    gone = weakref.ref(decoders.decoder_of("test", model, "predict"))
    del model
    assert gone() is None


REFUSED = {
    "another model": (lambda: sample(len), TypeError, "expected a model, a layer; got builtin"),
    "no weights": (
        lambda: sample(models.GRULM(V, d_model=4)), ValueError,
        r"Serial has no weights yet\n  fix: model.init\(signature\)",
    ),
    "three inputs": (
        lambda: sample(models.BERT(d_model=4, n_heads=2)), ValueError, "has 3 inputs",
    ),
    "batch_size": (
        lambda: sample(trained("GRULM"), np.zeros((3, 2), int)), ValueError,
        r"batch_size must be the number of rows of inputs, 3; got 1\n  fix: batch_size=3",
    ),
    "floats": (
        lambda: sample(trained("GRULM"), np.zeros((1, 2))), TypeError,
        "inputs must be tokens, integers; got float64",
    ),
    "negative tokens": (
        lambda: sample(trained("GRULM"), [[3, -1]]), ValueError, r"inputs\[0\] must be tokens >= 0",
    ),
    "a single sequence": (
        lambda: sample(trained("GRULM"), np.zeros((1, 1, 2), int)), ValueError,
        r"inputs must be tokens \[batch_size, length\].*got shape \(1, 1, 2\)",
    ),
    "temperature": (
        lambda: sample(trained("GRULM"), temperature=-1.0), ValueError, "temperature must be at le",
    ),
    "infinite temperature": (
        lambda: sample(trained("GRULM"), temperature=np.inf), ValueError, "must be finite",
    ),
    "top_k": (lambda: sample(trained("GRULM"), top_k=0), ValueError, "top_k must be at least 1"),
    "top_p": (lambda: sample(trained("GRULM"), top_p=0.0), ValueError, "top_p must be"),
    "start_id": (
        lambda: sample(trained("GRULM"), start_id=[3, 4]), ValueError,
        r"start_id must be a token, or tokens of shape \(1, 1\); got shape \(2,\)",
    ),
    "eos_id": (lambda: sample(trained("GRULM"), eos_id=-2), ValueError, "eos_id must be at least"),
    "max_length": (lambda: sample(trained("GRULM"), max_length=2.5), TypeError, "max_length must"),
    "rng": (
        lambda: sample(trained("GRULM"), rng=random.split(random.PRNGKey(0), 3)), ValueError,
        r"rng must be a random key, or an array of 1 keys.*shape \(3, 2\)\n  fix",
    ),
    "eval_mode": (lambda: sample(trained("GRULM"), eval_mode=1), TypeError, "eval_mode must be"),
    "no source": (
        lambda: sample(trained("Transformer")), ValueError,
        "has two inputs, of which inputs must be the first; got None",
    ),
    "no mode": (
        lambda: sample(models.ReformerShortenLM(V, 2)), ValueError, "there is no mode 'predict'",
    ),
    "no room": (
        lambda: sample(trained("TransformerLM"), max_length=ROOM + 1, eos_id=-1),
        FloatingPointError,
        r"autoregressive_sample: the logits of row 0 are NaN\n  fix: a model with room",
    ),
    "fill_id": (lambda: sample(trained("GRULM"), fill_id=-1), ValueError, "fill_id must be"),
    "a stream": (lambda: stream(trained("GRULM"), top_p=2.0), ValueError, "_stream: top_p must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_all_the_room_may_be_used():
    assert sample(trained("TransformerLM"), max_length=ROOM, eos_id=-1).shape == (1, ROOM)


@pytest.mark.parametrize("name", [*LANGUAGE_MODELS, *TRANSLATORS])
def test_models_are_causal(name):
    tokens = np.random.default_rng(1).integers(1, V, (1, 8))
    source = np.array([[3, 4, 5]])

    def logits(tokens):
        outputs = whole(name)(tokens if name in LANGUAGE_MODELS else (source, tokens))
        return np.asarray(outputs[0] if isinstance(outputs, tuple) else outputs)[0]

    for k in (0, 4):
        changed = tokens.copy()
        changed[0, k] = tokens[0, k] % (V - 1) + 1
        before, after = logits(tokens), logits(changed)
        np.testing.assert_array_equal(before[: k + 1], after[: k + 1])
        assert (before[k + 1] != after[k + 1]).any()
