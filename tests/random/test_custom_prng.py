"""enable_custom_prng: PRNGKey gives typed keys of the same streams."""

import numpy as onp
import pytest

import weft
from weft import random


def test_typed_keys_of_the_same_streams():
    plain = random.PRNGKey(3)
    with weft.enable_custom_prng():
        key = random.PRNGKey(3)
        assert isinstance(key, random.Key)
        onp.testing.assert_array_equal(random.key_data(key), plain)
        onp.testing.assert_array_equal(random.normal(key, (4,)), random.normal(plain, (4,)))
        assert isinstance(random.split(key)[0], random.Key)
        assert isinstance(weft.jit(lambda: random.PRNGKey(0))(), random.Key)
        with pytest.raises(TypeError):
            key + 1
    assert not isinstance(random.PRNGKey(3), random.Key)


def test_there_is_one_kind():
    with pytest.raises(ValueError, match="default_prng_impl: expected one of 'threefry2x32'"):
        weft.default_prng_impl("rbg")
    with weft.default_prng_impl("threefry2x32"):
        assert random.key_impl(random.key(0)) == "threefry2x32"
