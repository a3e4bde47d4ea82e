"""Functions that make keys, against what their words should be."""

import numpy as np
import pytest

from weft import random


def words(key):
    return np.asarray(random.key_data(key)).tolist()


@pytest.mark.parametrize("seed", [0, 42, 2**31])
def test_a_key_of_a_seed(seed):
    assert words(random.key(seed)) == [0, seed]
    assert random.key_impl(random.key(seed)) == "threefry2x32"


def test_a_key_of_words_and_the_same_key_again():
    key = random.wrap_key_data(np.uint32([7, 9]))
    assert words(key) == [7, 9]
    assert random.key_impl(key) == "threefry2x32"
    assert words(random.clone(key)) == [7, 9]


def test_split_makes_as_many_keys_as_asked_all_different():
    key = random.key(3)
    for number, shape in ((2, (2,)), (5, (5,)), ((2, 3), (2, 3))):
        keys = random.split(key, number)
        assert keys.shape == shape
        made = np.asarray(random.key_data(keys)).reshape(-1, 2).tolist()
        assert len({tuple(w) for w in [*made, [0, 3]]}) == len(made) + 1
    assert words(random.split(key)) == words(random.split(random.clone(key)))
