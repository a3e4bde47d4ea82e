"""enable_custom_prng: PRNGKey gives typed keys of the same streams."""

import numpy as onp
import pytest

import weft
from weft import random


def test_typed_keys_of_the_same_streams():
    plain = random.PRNGKey(3)
    with weft.enable_custom_prng():
        key = random.PRNGKey(3)
        assert weft.dtypes.issubdtype(key.dtype, weft.dtypes.prng_key)
        onp.testing.assert_array_equal(random.key_data(key), plain)
        onp.testing.assert_array_equal(random.normal(key, (4,)), random.normal(plain, (4,)))
        assert random.split(key)[0].dtype == key.dtype
        assert weft.jit(lambda: random.PRNGKey(0))().dtype == key.dtype
        with pytest.raises(TypeError):
            key + 1
    assert random.PRNGKey(3).dtype == onp.uint32


def test_the_default_kind_is_that_of_new_keys_and_of_raw_words():
    with pytest.raises(
        ValueError, match="default_prng_impl: expected one of 'threefry2x32', 'rbg'"
    ):
        weft.default_prng_impl("mersenne")
    for name, words in (("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4)):
        with weft.default_prng_impl(name):
            plain, typed = random.PRNGKey(3), random.key(3)
            assert random.key_impl(typed) == name == random.key_impl(plain)
            assert plain.shape == (words,)
            assert typed.dtype is random.key_dtype()
            onp.testing.assert_array_equal(random.normal(plain, (4,)), random.normal(typed, (4,)))
            assert random.split(plain).shape == (2, words)
            with pytest.raises(TypeError, match=rf"uint32\[{words}\]"):
                random.normal(onp.zeros(6 - words, onp.uint32))
