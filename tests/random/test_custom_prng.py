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


def test_there_is_one_kind():
    with pytest.raises(ValueError, match="default_prng_impl: expected one of 'threefry2x32'"):
        weft.default_prng_impl("rbg")
    with weft.default_prng_impl("threefry2x32"):
        assert random.key_impl(random.key(0)) == "threefry2x32"
