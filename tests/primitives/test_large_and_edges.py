"""Primitives where only large arrays or the ends of a domain take another way."""

import numpy as onp
import pytest
import scipy.special

import weft
import weft.numpy as np
from weft import lax

INF, NAN = onp.inf, onp.nan
EVERYWHERE = pytest.mark.parametrize("run", [lambda f: f, weft.jit], ids=["eager", "compiled"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1024 * 40, 1024 * 40 + 1, 300_001])
def test_the_sum_of_a_long_array_counts_its_last_elements(size, dtype):
    with weft.config.temporarily(enable_x64=True):
        x = onp.zeros(size, dtype)
        x[-3:] = 1, 2, 4
        assert float(np.sum(x)) == 7
        assert float(np.sum(np.ones(size, dtype))) == size


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("name", "model"),
    [("cumsum", onp.cumsum), ("cumprod", onp.cumprod), ("cummax", onp.maximum.accumulate)],
)
def test_running_along_an_axis_of_a_large_array(name, model, axis, reverse):
    x = onp.random.default_rng(0).uniform(0.9, 1.1, (20, 60, 90)).astype("float32")
    forward = onp.flip(x, axis) if reverse else x
    expected = model(forward.astype("float64"), axis=axis)
    expected = onp.flip(expected, axis) if reverse else expected
    f = weft.jit(lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse))
    onp.testing.assert_allclose(f(x), expected, rtol=2e-5)


@EVERYWHERE
def test_betainc_where_all_weight_is_at_one_end(run):
    a = onp.array([0, 0, 0, 2, 2, 2, INF, 1, 0, INF], "float32")
    b = onp.array([1, 2, 2, 0, 0, 0, 1, INF, 0, INF], "float32")
    x = onp.array([0, 0, 0.5, 1, 0.5, 0, 0.5, 0.5, 0.5, 0.5], "float32")
    expected = scipy.special.betainc(a, b, x)
    onp.testing.assert_array_equal(run(lax.betainc)(a, b, x), expected)
    onp.testing.assert_array_equal(expected[:6], [0, 0, 1, 1, 0, 0])


@EVERYWHERE
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_at_the_ends(run, name):
    a = onp.array([INF, INF, 0, 2, 2, 0.5, INF], "float32")
    x = onp.array([1, 0, 1, 0, INF, 0, INF], "float32")
    model = {"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}[name]
    onp.testing.assert_array_equal(run(getattr(lax, name))(a, x), model(a, x))


@EVERYWHERE
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_stable_sort_keeps_the_order_of_zeros_of_both_signs(run, dtype):
    values = onp.array([-1.0, -0.0, 0.0, 1.0], "float32")
    x = onp.random.default_rng(0).choice(values, 2000)
    expected = onp.array(sorted(x.tolist()), "float32")  # Python's sort is stable
    got = onp.asarray(run(lambda x: lax.sort(x, is_stable=True))(np.asarray(x, dtype)))
    got = got.astype("float32")
    onp.testing.assert_array_equal(got, expected)
    onp.testing.assert_array_equal(onp.signbit(got), onp.signbit(expected))


@EVERYWHERE
@pytest.mark.parametrize("length", [3, 9, 12])
def test_windows_with_gaps_of_any_length(run, length):
    x = onp.random.default_rng(0).normal(size=(2, 60)).astype("float32")
    f = run(
        lambda x: lax.reduce_window(
            x, -onp.float32(INF), lax.max, (1, length), (1, 1), "VALID", window_dilation=(1, 3)
        )
    )
    count = 60 - 3 * (length - 1)
    expected = [[row[i : i + 3 * length - 2 : 3].max() for i in range(count)] for row in x]
    onp.testing.assert_array_equal(f(x), expected)


@EVERYWHERE
def test_nans_of_the_first_key_are_ordered_by_the_second(run):
    first = onp.array([NAN, 1, NAN, 0, NAN, 1], "float32")
    second = onp.array([3, 5, 1, 9, 2, 4], "float32")
    got = run(lambda x, y: lax.sort((x, y), num_keys=2))(first, second)
    order = onp.lexsort((second, first))
    onp.testing.assert_array_equal(got[0], first[order])
    onp.testing.assert_array_equal(got[1], second[order])


@EVERYWHERE
def test_start_indices_of_two_dtypes(run):
    x = onp.arange(30).reshape(5, 6)
    with weft.config.temporarily(enable_x64=True):
        f = run(lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)))
        for i, j in [(onp.int64(1), onp.uint8(2)), (onp.int32(3), onp.int64(3))]:
            onp.testing.assert_array_equal(f(x, i, j), x[i : i + 2, j : j + 3])


@EVERYWHERE
def test_unsigned_indices_beyond_the_signed_ones(run):
    """They are far behind the end, not before the beginning."""
    x = onp.arange(5.0, dtype="float32")
    i = onp.array([0, 4, 2**31, 2**32 - 1], "uint32")
    got = run(lambda x, i: np.take(x, i, mode="clip"))(x, i)
    onp.testing.assert_array_equal(got, [0, 4, 4, 4])
    got = run(lambda x, i: np.take(x, i, mode="fill", fill_value=-1.0))(x, i)
    onp.testing.assert_array_equal(got, [0, 4, -1, -1])


@EVERYWHERE
@pytest.mark.parametrize("dtype", ["int4", "int8"])
def test_bits_of_negative_numbers_are_counted_in_their_own_width(run, dtype):
    numbers = [-8, -2, -1, 0, 1, 5, 7]
    width = int(dtype[3:])
    bits = [format(n % 2**width, f"0{width}b") for n in numbers]
    x = np.asarray(onp.array(numbers, "int8"), dtype)
    ones = onp.asarray(run(lax.population_count)(x)).astype("int32")
    assert ones.tolist() == [b.count("1") for b in bits]
    zeros = onp.asarray(run(lax.clz)(x)).astype("int32")
    assert zeros.tolist() == [width - len(b.lstrip("0")) for b in bits]
