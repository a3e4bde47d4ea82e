"""Spans of noise: counts by the formulas, distributions by counting, texts put together again."""

import collections
import itertools

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError


def runs(mask):
    return [(bool(value), len(list(run))) for value, run in itertools.groupby(mask)]


@pytest.mark.parametrize("length", [2, 3, 10, 57, 100, 1000])
@pytest.mark.parametrize(("density", "mean"), [(0.15, 3.0), (0.5, 2.0), (0.9, 1.0), (0.01, 3.0)])
def test_random_spans_noise_mask(length, density, mean):
    mask = data.random_spans_noise_mask(length, density, mean, seed1=1, seed2=2)
    assert mask.dtype == bool
    assert mask.shape == (length,)
    noise = min(max(round(length * density), 1), length - 1)
    assert mask.sum() == noise
    spans = [n for is_noise, n in runs(mask) if is_noise]
    wanted = max(round(noise / mean), 1)
    assert len(spans) == min(wanted, length - noise, noise)
    assert not mask[0]
    assert mask[-1]


@pytest.mark.parametrize("length", [0, 1])
def test_masks_of_sequences_too_short_for_a_gap(length):
    assert data.random_spans_noise_mask(length).tolist() == [False] * length


def test_defaults_and_seeds():
    np.random.seed(0)
    mask = data.random_spans_noise_mask(200)
    assert mask.sum() == 30
    assert sum(is_noise for is_noise, _ in runs(mask)) == 10
    np.random.seed(0)
    assert (data.random_spans_noise_mask(200) == mask).all()
    assert (data.random_spans_noise_mask(200) != mask).any()
    a, b = (data.random_spans_noise_mask(200, seed1=s, seed2=0) for s in (1, 2))
    assert [n for kind, n in runs(a) if not kind] == [n for kind, n in runs(b) if not kind]
    assert runs(a) != runs(b)


def test_all_divisions_are_as_likely():
    """6 noise tokens in 2 gaps: 5 divisions; chi-square with 4 degrees."""
    counts = collections.Counter(
        next(n for kind, n in runs(data.random_spans_noise_mask(12, 0.5, 3.0, s, s)) if kind)
        for s in range(1000)
    )
    assert set(counts) == {1, 2, 3, 4, 5}
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 25


def filled(inputs, targets, vocab_size):
    """A text put together of the parts between the marks of the gaps."""
    n = len({int(x) for x in inputs} & set(range(vocab_size - len(inputs), vocab_size)))
    marks = {vocab_size - k for k in range(1, n + 2)}

    def parts(ids):
        found = [[]]
        for x in ids:
            if int(x) in marks:
                found.append([])
            else:
                found[-1].append(int(x))
        return found

    text, gaps = parts(inputs), parts(targets)
    assert gaps[0] == []
    return [
        x for pair in itertools.zip_longest(text, gaps[1:], fillvalue=[]) for p in pair for x in p
    ]


@pytest.mark.parametrize("seed", range(5))
def test_mlm(seed):
    text = np.random.default_rng(seed).integers(0, 500, 230).astype(np.int32)
    stage = data.MLM(1000, 50, noise_density=0.3, mean_noise_span_length=2.0, seed=seed)
    pairs = list(stage([text, (text[:7],)]))
    assert len(pairs) == 6
    back = [x for inputs, targets in pairs for x in filled(inputs, targets, 1000)]
    assert back == [*text.tolist(), *text[:7].tolist()]
    assert all(x.dtype == np.int32 for pair in pairs for x in pair)
    assert [len(x) for x in pairs[0]] == [35 + 8, 15 + 8], "15 tokens in 8 gaps"


def test_consume_noise_mask():
    tokens = np.arange(1, 9)
    mask = np.array([0, 1, 1, 0, 0, 1, 0, 0], bool)
    ((inputs, targets),) = data.consume_noise_mask(100)([(tokens, mask)])
    assert inputs.tolist() == [1, 99, 4, 5, 98, 7, 8]
    assert targets.tolist() == [99, 2, 3, 98, 6, 97]
    ((inputs, targets),) = data.consume_noise_mask()([(tokens, ~mask)])
    assert inputs.tolist() == [32099, 2, 3, 32098, 6, 32097]
    assert targets.tolist() == [1, 32099, 4, 5, 32098, 7, 8]
    ((inputs, targets),) = data.consume_noise_mask(9)([(tokens, np.zeros(8, bool))])
    assert inputs.tolist() == tokens.tolist()
    assert targets.tolist() == [8]


def test_masks_of_a_stream_differ_and_repeat_with_the_seed():
    texts = [np.arange(100)] * 3

    def masks(**seeds):
        return [runs(m) for _, m in data.generate_random_noise_mask(**seeds)(texts)]

    a, b, c = masks(seed=1)
    assert a != b != c
    assert masks(seed=1) == [a, b, c] != masks(seed=2)
    first, *others = masks(seed1=4, seed2=5)
    assert others == [first, first]
    assert sum(n for kind, n in first if kind) == 15


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: data.MLM(), "MLM: vocab_size must be an int; got None"),
        (lambda: data.MLM(100), "MLM: max_length must be an int; got None"),
        (lambda: data.consume_noise_mask(1), "consume_noise_mask: vocab_size must be at least 2"),
        (lambda: data.random_spans_noise_mask(-1), "length must be at least 0"),
        (lambda: data.random_spans_noise_mask(9, 1.5), "noise_density must be at least 0.0 and at"),
        (lambda: data.MLM(100, 9, 0.1, 0.0), "mean_noise_span_length must be greater than 0.0"),
        (lambda: data.generate_random_noise_mask(seed1=-2), "seed1 must be at least 0"),
        (lambda: list(data.consume_noise_mask()([np.ones(3)])), "expected a sequence and its mask"),
        (lambda: list(data.generate_random_noise_mask()([(1, 2)])), "expected one array with one"),
    ],
)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError, ShapeError), match=text):
        call()
