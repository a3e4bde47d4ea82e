"""The dtypes in files: each array has bytes that safetensors knows, and they come back."""

import checkpoint_trees as trees
import numpy as np
import pytest

from weft.checkpoints.stored_dtypes import DTYPES, from_stored, stored_type, to_stored
from weft.extended_dtypes import KEYS


@pytest.mark.parametrize("dtype", trees.DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_elements_come_back(dtype, shape):
    host = trees.host(dtype, shape)
    stored = to_stored(host, dtype)
    expected = stored_type(dtype, shape)
    assert (stored.dtype, stored.shape, stored.nbytes) == (
        expected.dtype,
        expected.shape,
        expected.nbytes,
    )
    assert stored.flags.c_contiguous
    raw = np.frombuffer(stored.tobytes(), np.uint8)
    restored = from_stored(raw, dtype, shape)
    assert (restored.dtype, restored.shape) == (host.dtype, shape)
    assert restored.tobytes() == host.tobytes()


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_words(key):
    words = np.arange(3 * key.words, dtype=np.uint32).reshape(3, key.words)
    host = words.view(key.host)[:, 0]
    np.testing.assert_array_equal(to_stored(host, key.name), words)
    restored = from_stored(words.view(np.uint8).reshape(-1), key.name, (3,))
    assert restored.tobytes() == host.tobytes()
    assert restored.dtype == key.host


def test_the_codes_that_are_used_are_those_of_all_releases():
    """Those of safetensors 0.4: later ones have more, which earlier ones cannot read."""
    known = {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32",
             "F32", "F64", "I64", "U64"}  # fmt: skip
    assert {stored_type(name, ()).code for name in DTYPES} == known
