"""Branches of `weft.numpy` that ordinary arguments don't reach: halves, infinities, subnormals,
permuted axes, each against NumPy."""

import numpy as onp
import pytest
from agreement import assert_close

import weft
import weft.numpy as np

INF, NAN = onp.inf, onp.nan
EVERYWHERE = pytest.mark.parametrize("run", [lambda f: f, weft.jit], ids=["eager", "compiled"])
RNG = onp.random.default_rng(0)


@EVERYWHERE
@pytest.mark.parametrize("method", ["nearest", "lower", "higher", "midpoint", "linear"])
def test_quantiles_half_way_between_two_elements(run, method):
    q = onp.array([0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875], "float32")
    for n in (3, 5):  # q * (n - 1) is 0.5, 1.5, 2.5, … for some of them
        x = RNG.permutation(n).astype("float32") ** 2
        f = run(lambda x, q: np.quantile(x, q, method=method))
        onp.testing.assert_array_equal(f(x, q), onp.quantile(x, q, method=method))


CLOSE = [
    (10.0, 11.0, 0.095), (11.0, 10.0, 0.095), (INF, INF, 0.1), (INF, -INF, 0.1), (-INF, -INF, 0.1),
    (1.0, INF, 0.1), (INF, 1.0, 0.1), (NAN, NAN, 0.1), (NAN, 1.0, 0.1), (0.0, 1e-9, 0.0),
]  # fmt: skip


@EVERYWHERE
@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize(("a", "b", "rtol"), CLOSE)
def test_isclose_is_relative_to_the_second_and_knows_infinities(run, a, b, rtol, equal_nan):
    a, b = onp.float32(a), onp.float32(b)
    f = run(lambda a, b: np.isclose(a, b, rtol=rtol, equal_nan=equal_nan))
    assert bool(f(a, b)) == bool(onp.isclose(a, b, rtol=rtol, equal_nan=equal_nan))
    x, y = onp.array([a, 1], "float32"), onp.array([b, 1], "float32")
    g = run(lambda a, b: np.allclose(a, b, rtol=rtol, equal_nan=equal_nan))
    assert bool(g(x, y)) == onp.allclose(x, y, rtol=rtol, equal_nan=equal_nan)


@EVERYWHERE
@pytest.mark.parametrize("ends", [(-3.5, 2.5, 7), (-7, 3, 4), (5, -6, 9)])
def test_linspace_of_integers_rounds_down(run, ends):
    *limits, num = ends
    expected = onp.linspace(*limits, num, dtype="int32")
    onp.testing.assert_array_equal(np.linspace(*limits, num, dtype="int32"), expected)
    f = run(lambda a, b: np.linspace(a, b, num, dtype="int32"))
    onp.testing.assert_array_equal(f(*map(onp.float32, limits)), expected)


def test_frexp_takes_numbers_apart_down_to_the_smallest():
    x = onp.array([1e-45, 3e-40, -1e-39, 1e-38, 1.5, -8, 0, -0.0, 3e38, INF, -INF], "float32")
    x = onp.append(x, onp.finfo("float32").smallest_normal)
    mantissa, exponent = np.frexp(x)
    expected = onp.frexp(x)
    onp.testing.assert_array_equal(mantissa, expected[0])
    finite = onp.isfinite(x)
    onp.testing.assert_array_equal(onp.asarray(exponent)[finite], expected[1][finite])


@EVERYWHERE
@pytest.mark.parametrize("axis", [(2, 0), (0, 2), (1, 2), (2, 1), (-1, 0), (2, 0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_average_with_weights_of_axes_in_any_order(run, axis, keepdims):
    x = RNG.normal(size=(2, 3, 4)).astype("float32")
    w = RNG.uniform(0.5, 2, [x.shape[i] for i in axis]).astype("float32")
    f = run(lambda x, w: np.average(x, axis, w, returned=True, keepdims=keepdims))
    expected = onp.average(x, axis, w, returned=True, keepdims=keepdims)
    for got, wanted in zip(f(x, w), expected, strict=True):
        assert_close(got, wanted)


def test_density_of_a_histogram_counts_the_widths_of_all_axes():
    x = RNG.normal(size=(50, 3)).astype("float32")
    edges = [onp.array([-3, -1, 0, 3.0]), onp.array([-3, 0.5, 3]), onp.array([-4, 0, 0.25, 1, 4])]
    expected, _ = onp.histogramdd(x, edges, density=True)
    got, _ = np.histogramdd(x, edges, density=True)
    assert_close(got, expected.astype("float32"))
    flat, *_ = np.histogram2d(x[:, 0], x[:, 1], edges[:2], density=True)
    assert_close(flat, onp.histogram2d(x[:, 0], x[:, 1], edges[:2], density=True)[0].astype("f4"))


@EVERYWHERE
@pytest.mark.parametrize("name", ["fmax", "fmin", "maximum", "minimum"])
def test_extremes_with_a_nan_in_either_operand(run, name):
    x = onp.array([NAN, 1, NAN, 2, INF, NAN, -INF], "float32")
    y = onp.array([3, NAN, NAN, 1, NAN, -INF, 5], "float32")
    onp.testing.assert_array_equal(run(getattr(np, name))(x, y), getattr(onp, name)(x, y))


PADS = {
    "odd symmetric": {"mode": "symmetric", "reflect_type": "odd"},
    "odd reflect": {"mode": "reflect", "reflect_type": "odd"},
    "ramp": {"mode": "linear_ramp", "end_values": ((-4, 10),)},
}


@pytest.mark.parametrize("kind", PADS)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("width", [(1, 2), (7, 11)])
def test_pad_beyond_the_length_of_the_array(kind, dtype, width):
    x = onp.array([3, 1, 4, 8], dtype)
    assert_close(np.pad(x, width, **PADS[kind]), onp.pad(x, width, **PADS[kind]))


def test_unique_takes_complex_nans_for_one():
    x = onp.array([complex(NAN, 1), 3, complex(2, NAN), 1, complex(NAN, 5), 3], "complex64")
    got, expected = np.unique(x, return_counts=True), onp.unique(x, return_counts=True)
    onp.testing.assert_array_equal(got[1], expected[1])
    onp.testing.assert_array_equal(onp.isnan(onp.asarray(got[0])), onp.isnan(expected[0]))


def test_unique_of_a_traced_array_finds_where_each_is_first():
    x = onp.array([5, 2, 5, 7, 2, 2, 7], "int32")
    f = weft.jit(lambda x: np.unique(x, True, True, True, size=3))
    for got, expected in zip(f(x), onp.unique(x, True, True, True), strict=True):
        onp.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_apply_along_axis_puts_all_axes_of_the_result_there(axis):
    x = RNG.normal(size=(2, 3, 4)).astype("float32")
    got = np.apply_along_axis(lambda v: np.outer(v, v[:2]), axis, x)
    assert_close(got, onp.apply_along_axis(lambda v: onp.outer(v, v[:2]), axis, x))


def test_nan_extremes_with_an_initial_value():
    x = onp.array([[NAN, NAN], [NAN, 3]], "float32")
    for name, initial in [("nanmax", -2.0), ("nanmin", 9.0)]:
        got = getattr(np, name)(x, axis=1, initial=initial)
        assert_close(got, getattr(onp, name)(x, axis=1, initial=initial).astype("float32"))


def test_polymul_of_nothing_but_zeros():
    for a, b in [([1.0, 2], [0.0, 0]), ([0.0, 0], [1.0, 2]), ([0.0, 0], [0.0, 0])]:
        got = np.polymul(np.array(a), np.array(b), trim_leading_zeros=True)
        assert not onp.asarray(got).any()


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_a_dtype_that_is_asked_for_is_no_weak_one(name):
    for x in (2.0, np.asarray(2.0)):  # a number, whose dtype would give way
        running = getattr(np, name)(x, dtype="float16")
        assert (running + onp.ones(1, "int32")).dtype == "float16"
        assert (running + np.ones(1, "bfloat16")).dtype == "float32"


@pytest.mark.parametrize("name", ["zeros", "arange", "asarray"])
def test_the_warning_of_a_truncated_dtype_is_for_the_line_that_asks(name):
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64") as caught:
        getattr(np, name)(3, dtype="float64")
    assert [w.filename for w in caught] == [__file__]
