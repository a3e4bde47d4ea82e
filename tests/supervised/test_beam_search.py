"""Beam search: among all sequences, with few beams, of several rows, to the end of sequences."""

import functools
import itertools

import numpy as np
import pytest
from decoders import (
    KEY,
    ROOM,
    V,
    log_softmax,
    logits_of,
    trained,
    whole,
)

from weft import fastmath, layers as tl, models
from weft.supervised import decoding

search = decoding.beam_search
FEW = 3  # tokens of the vocabulary whose sequences are all looked at


@functools.cache
def small():
    """A model whose tokens depend on those before, and of which none is very likely."""
    model = models.TransformerLM(FEW, d_model=8, d_ff=8, n_layers=1, n_heads=1, max_len=ROOM)
    model.init(np.zeros((1, 4), int), rng=KEY)
    return model


def penalty(n, alpha):
    return ((5 + n) / 6) ** alpha


def all_sequences(model, prompt, eos, length, alpha):
    """Each sequence of at most `length` tokens that ends with its only eos, or is that long, with
    its score, the best first."""
    found = []
    for n in range(1, length + 1):
        for tokens in itertools.product(range(FEW), repeat=n):
            if eos in tokens[:-1] or (n < length and tokens[-1] != eos):
                continue
            found.append(tokens)
    scores = []
    for i in range(0, len(found), 32):
        rows = [[*prompt, *tokens] for tokens in found[i : i + 32]]
        logits = logits_of(model, rows)
        for row, tokens in enumerate(found[i : i + 32]):
            log_p = sum(log_softmax(logits[row, len(prompt) + j])[t] for j, t in enumerate(tokens))
            scores.append(log_p / penalty(len(tokens), alpha))
    order = np.argsort(-np.array(scores), kind="stable")
    return [(found[i], scores[i]) for i in order]


def row_of(pairs, row):
    """[(tokens up to the first filling, score)] of a row."""
    return [(tokens[row], scores[row]) for tokens, scores in pairs]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.5])
def test_with_room_for_all_sequences_the_best_of_all_are_found(alpha):
    prompts, eos, length, k = [[2, 2], []], 1, 4, 27
    pairs = search(small(), prompts, 2, k, eos_id=eos, max_length=length, length_penalty=alpha)
    model = tl.in_mode(small(), "eval")
    for row, prompt in enumerate(prompts):
        expected = all_sequences(model, prompt, eos, length, alpha)[:k]
        for (tokens, score), (sequence, value) in zip(row_of(pairs, row), expected, strict=True):
            padded = [*sequence, *[0] * (length - len(sequence))]
            assert tokens.tolist() == padded
            np.testing.assert_allclose(score, value, rtol=1e-4, atol=1e-5)
        assert pairs[0][0].dtype == np.int32
        assert pairs[0][1].dtype == np.float32


def beams_by_loop(model, prompt, k, eos, length, alpha, source=None):
    """The search as the documentation has it, written out for one row."""
    alive, ended = [((), 0.0)], []
    for n in range(1, length + 1):
        logits = logits_of(model, [[*prompt, *tokens] for tokens, _ in alive], source)
        longer = [
            ((*tokens, t), log_p + log_softmax(logits[i, len(prompt) + n - 1])[t])
            for i, (tokens, log_p) in enumerate(alive)
            for t in range(logits.shape[-1])
        ]
        longer.sort(key=lambda one: -one[1])
        ended += [(t, p / penalty(n, alpha)) for t, p in longer[: 2 * k] if t[-1] == eos]
        alive = [one for one in longer[: 2 * k] if one[0][-1] != eos][:k]
        if n == length:
            ended += [(t, p / penalty(n, alpha)) for t, p in alive]
        ended = sorted(ended, key=lambda one: -one[1])[:k]
        reachable = alive[0][1] / penalty(length, alpha)
        if len(ended) == k and ended[-1][1] >= reachable:
            break
    return ended


def assert_same_search(pairs, row, expected):
    for (tokens, score), (sequence, value) in zip(row_of(pairs, row), expected, strict=True):
        assert tokens[: len(sequence)].tolist() == list(sequence)
        assert not tokens[len(sequence) :].any()
        np.testing.assert_allclose(score, value, rtol=1e-4, atol=1e-5)


PROMPTS = [[5, 3, 6], [3], [4, 4]]


@pytest.mark.parametrize("eos", [-1, 0, 2, 3, 4, 6])
def test_few_beams_find_what_a_loop_finds(eos):
    pairs = search(trained("TransformerLM"), PROMPTS, 3, 3, eos_id=eos, max_length=7)
    for row, prompt in enumerate(PROMPTS):
        expected = beams_by_loop(whole("TransformerLM"), prompt, 3, eos, 7, 1.0)
        assert_same_search(pairs, row, expected)


@pytest.mark.parametrize("eos", range(FEW))
def test_an_end_among_the_best_leaves_as_many_prefixes(eos):
    prompts = [[a, b] for a in range(FEW) for b in range(FEW)]
    pairs = search(small(), prompts, 9, 2, eos_id=eos, max_length=5, length_penalty=3.0)
    model = tl.in_mode(small(), "eval")
    for row, prompt in enumerate(prompts):
        expected = beams_by_loop(model, prompt, 2, eos, 5, 3.0)
        found = row_of(pairs, row)
        for (tokens, score), (sequence, value) in zip(found, expected, strict=True):
            assert tokens[: len(sequence)].tolist() == list(sequence)
            np.testing.assert_allclose(score, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["GRULM", pytest.param("ReformerLM", marks=pytest.mark.slow)])
def test_models_with_other_states(name):
    """How a state lies in memory does not matter: heads, chunks, carries, positions."""
    pairs = search(trained(name), [[5, 2]], 1, 2, eos_id=-1, max_length=4)
    assert_same_search(pairs, 0, beams_by_loop(whole(name), [5, 2], 2, -1, 4, 1.0))


@pytest.mark.parametrize(
    "name", ["Transformer", pytest.param("LSTMSeq2SeqAttn", marks=pytest.mark.slow)]
)
def test_translations(name):
    sources = np.array([[5, 2, 6, 1], [3, 4, 0, 0]])
    pairs = search(trained(name), sources, 2, 2, eos_id=1, max_length=4)
    for row in range(2):
        source = np.repeat(sources[row : row + 1], 2, axis=0)

        def model(inputs):
            return whole(name)((inputs[0][: len(inputs[1])], inputs[1]))

        assert_same_search(pairs, row, beams_by_loop(model, [], 2, 1, 4, 1.0, source))


def test_one_beam_is_greedy():
    model = trained("TransformerLM")
    ((tokens, scores),) = search(model, PROMPTS, 3, 1, eos_id=-1, max_length=6)
    greedy = decoding.autoregressive_sample(
        model, PROMPTS, 3, temperature=0.0, eos_id=-1, max_length=6
    )
    np.testing.assert_array_equal(tokens, greedy)
    assert (scores < 0).all()


def test_without_compilation_it_is_the_same():
    for (a, x), (b, y) in zip(
        search(small(), [[2, 2], []], 2, 3, max_length=3, accelerate=False),
        search(small(), [[2, 2], []], 2, 3, max_length=3),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_sequences_that_are_not_there_have_no_score():
    pairs = search(small(), None, 1, 9, eos_id=1, max_length=1, fill_id=2)
    assert len(pairs) == 9
    scores = np.array([score[0] for _, score in pairs])
    assert np.isfinite(scores[:FEW]).all()
    assert (scores[FEW:] == -np.inf).all()
    assert pairs[-1][0].tolist() == [[2]]
    assert sorted(tokens[0, 0] for tokens, _ in pairs[:FEW]) == [0, 1, 2]
    np.testing.assert_allclose(np.exp(scores[:FEW]).sum(), 1.0, rtol=1e-5)


def test_a_row_that_is_done_does_not_stop_others():
    """The first row ends at once: no prefix can get a better score. The second one does not."""
    table = np.full((16, V), -9.0, np.float32)
    table[0, 1] = table[3, 5] = table[4, 6] = table[5, 1] = 9.0
    model = tl.Serial(
        tl.ShiftRight(),
        tl.Fn("Zeros", lambda x: np.zeros((*x.shape, V), np.float32)),
        tl.PositionalEncoding(max_len=16),
    )
    model.init(np.zeros((1, 4), int))
    model.weights = (*model.weights[:2], table)
    (best, _), *_ = search(model, [[], [2, 2, 2]], 2, 2, eos_id=1, max_length=6)
    assert best.tolist() == [[1, 0, 0, 0, 0, 0], [5, 6, 1, 0, 0, 0]]


REFUSED = {
    "n_beams": ({"n_beams": 0}, ValueError, "beam_search: n_beams must be at least 1; got 0"),
    "penalty": ({"length_penalty": -1.0}, ValueError, "length_penalty must be at least 0"),
    "length": ({"max_length": 0}, ValueError, "max_length must be at least 1"),
    "rows": ({"inputs": [[3], [4]]}, ValueError, "batch_size must be the number of rows"),
    "room": (
        {"max_length": 40, "eos_id": -1}, FloatingPointError, "beam_search: the logits of row 0",
    ),
    "fill": ({"fill_id": None}, TypeError, "fill_id must be an int"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    options, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        search(small(), **options)
    with pytest.raises(ValueError, match="has two inputs, of which inputs must be the first"):
        search(trained("Transformer"))


def test_other_backends_are_refused():
    with (
        fastmath.use_backend("numpy"),
        pytest.raises(ValueError, match=r"expected the backend 'jax'; got 'numpy'\n  fix"),
    ):
        search(small())
