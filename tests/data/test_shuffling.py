"""`Shuffle` against its rule written out."""

import collections
import logging

import numpy as np
import pytest

from weft import data


@pytest.mark.parametrize(("n", "size"), [(30, 7), (7, 7), (6, 7), (7, 6), (0, 3), (500, 100)])
def test_the_examples_stay_the_same(n, size):
    out = list(data.Shuffle(size, seed=1)(range(n)))
    assert sorted(out) == list(range(n))
    assert n < 3 or out != list(range(n))
    assert list(data.shuffle(range(n), size, seed=1)) == out


def test_the_buffer_is_a_window():
    """An example comes out only when those `size` places ahead have been read."""
    read = []

    def source():
        for i in range(50):
            read.append(i)
            yield i

    out = []
    for i, x in enumerate(data.Shuffle(10, seed=0)(source())):
        out.append(x)
        assert len(read) == min(50, 11 + i)
    assert all(x <= 10 + i for i, x in enumerate(out))


def test_the_rule_written_out():
    size, rng = 4, np.random.default_rng([9, 0])
    places = rng.integers(size, size=256).tolist()
    buffer, expected = list("abcd"), []
    for letter, place in zip("efghij", places, strict=False):
        expected.append(buffer[place])
        buffer[place] = letter
    expected += [buffer[i] for i in rng.permutation(4)]
    assert list(data.Shuffle(4, seed=9)("abcdefghij")) == expected


def test_places_are_uniform():
    """The first example out of a buffer of 5, for 4,000 seeds: chi-square with 4 degrees."""
    counts = collections.Counter(next(data.Shuffle(5, seed=s)(range(10))) for s in range(4000))
    assert sum((counts[i] - 800) ** 2 / 800 for i in range(5)) < 25


def test_the_default_buffer_has_1024_examples():
    read = iter(range(5000))
    next(data.Shuffle(seed=0)(read))
    assert next(read) == 1025


@pytest.mark.parametrize("size", [0, -5])
def test_sizes_are_positive(size):
    with pytest.raises(ValueError, match=f"Shuffle: queue_size must be at least 1; got {size}"):
        data.Shuffle(size)
    with pytest.raises(ValueError, match="shuffle: queue_size"):
        data.shuffle(range(3), size)


def test_a_buffer_of_one_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        assert list(data.Shuffle(1)(range(3))) == [0, 1, 2]
    assert "a buffer of one example changes no order" in caplog.text
