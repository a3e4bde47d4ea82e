"""Indices of every integer type, known when a function is traced and at run time, as NumPy's."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax, ops

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


LONG = {  # of the 300 numbers X: what is done at three places, and what NumPy makes of it
    "insert": (lambda x, i: np.insert(x, i, 5), lambda x, i: onp.insert(x, i, 5)),
    "insert one": (lambda x, i: np.insert(x, i[0], 5), lambda x, i: onp.insert(x, i[0], 5)),
    "delete one": (lambda x, i: np.delete(x, i[0]), lambda x, i: onp.delete(x, i[0])),
    "repeat": (
        lambda x, i: np.repeat(x[:3], np.abs(i), total_repeat_length=202),
        lambda x, i: onp.repeat(x[:3], onp.abs(i)),
    ),
    "index_take": (lambda x, i: lax.index_take(x, (i,), (0,)), lambda x, i: x[i]),
    "segment_sum": (
        lambda x, i: ops.segment_sum(np.ones(3), i, 300),
        lambda x, i: onp.bincount(i[i >= 0], minlength=300),
    ),
    "take": (lambda x, i: np.take(x, i, mode="wrap"), lambda x, i: x[i]),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 0), lambda x, i: x[i]),
    "roll": (lambda x, i: np.roll(x, i[0]), lambda x, i: onp.roll(x, i[0])),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["known", "run time"])
@pytest.mark.parametrize("name", LONG)
def test_places_of_few_bits_on_a_long_axis(name, wrap, dtype):
    f, expected = LONG[name]
    places = onp.array([100, 101, 1 if dtype == "uint8" else -1])
    got = wrap(f)(np.asarray(X), places.astype(dtype))
    onp.testing.assert_array_equal(got, expected(X, places))


def test_the_largest_unsigned_number_is_out_of_range():
    places = onp.array([2**64 - 1, 3], "uint64")
    x = np.arange(5)
    assert x.at[places].get(mode="fill", fill_value=-7).tolist() == [-7, 3]
    assert x.at[places].set(9, mode="drop").tolist() == [0, 1, 2, 9, 4]
    assert x.at[places].get(mode="clip").tolist() == [4, 3]
