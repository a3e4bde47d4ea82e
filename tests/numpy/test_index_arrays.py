"""Indices of every integer type, known when a function is traced and at run time, as NumPy's."""

import numpy as onp
import pytest

import weft
import weft.numpy as np

X = onp.arange(300)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["known", "run time"])
def test_negative_indices_of_few_bits_count_from_the_end_of_a_long_axis(dtype, wrap):
    places = onp.array([0, -1, 5, -128]).astype(dtype)
    in_range = places[places < len(X)]
    f = wrap(lambda i: np.asarray(X)[i])
    onp.testing.assert_array_equal(f(in_range), X[in_range])
    g = wrap(lambda i: np.asarray(X).at[i].set(-7))
    expected = X.copy()
    expected[in_range] = -7
    onp.testing.assert_array_equal(g(in_range), expected)


def test_the_largest_unsigned_number_is_out_of_range():
    places = onp.array([2**64 - 1, 3], "uint64")
    x = np.arange(5)
    assert x.at[places].get(mode="fill", fill_value=-7).tolist() == [-7, 3]
    assert x.at[places].set(9, mode="drop").tolist() == [0, 1, 2, 9, 4]
    assert x.at[places].get(mode="clip").tolist() == [4, 3]
