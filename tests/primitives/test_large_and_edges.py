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


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("size", [16383, 16384, 16385, 40000])
def test_the_larger_of_a_large_array_and_a_number(size, dtype):
    with weft.config.temporarily(enable_x64=True, eager_tier="host"):
        x = onp.random.default_rng(0).integers(0, 9, size).astype(dtype)
        if x.dtype.kind == "f":
            x[[3, -3]] = NAN
            x[[5, -5]] = -INF
        a, three = np.array(x), x.dtype.type(3)
        onp.testing.assert_array_equal(np.maximum(a, three), onp.maximum(x, three))
        onp.testing.assert_array_equal(np.minimum(three, a), onp.minimum(three, x))
        onp.testing.assert_array_equal(np.clip(a, 2, three), onp.clip(x, 2, three))
        onp.testing.assert_array_equal(lax.clamp(three, a, three), onp.clip(x, three, three))
        onp.testing.assert_array_equal(weft.nn.relu(a), onp.maximum(x, 0))
        columns = a[: size // 2 * 2].reshape(-1, 2).T
        onp.testing.assert_array_equal(np.maximum(columns, three), onp.maximum(columns, three))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_reciprocals_and_signs_of_complex_numbers_of_all_sizes(dtype):
    most = 37 if dtype == "complex64" else 300
    rng = onp.random.default_rng(0)
    sizes = onp.concatenate([rng.uniform(-most, most, (200, 2)), rng.uniform(-2, 2, (200, 2))])
    parts = rng.choice([-1, 1], sizes.shape) * 10**sizes
    with weft.config.temporarily(enable_x64=True):
        z = (parts[:, 0] + 1j * parts[:, 1]).astype(dtype)
        inverse, sign, root = weft.jit(lambda z: (np.reciprocal(z), np.sign(z), lax.rsqrt(z)))(z)
    wide = z.astype("complex256")
    size = onp.maximum(abs(wide.real), abs(wide.imag))
    unit = wide / size
    square = unit.real**2 + unit.imag**2
    info = onp.finfo(dtype)
    for out, exact in ((inverse, unit.conj() / square / size), (sign, unit / onp.sqrt(square))):
        for part in ("real", "imag"):
            got, wanted = getattr(onp.asarray(out), part), getattr(exact, part)
            onp.testing.assert_allclose(got, wanted, rtol=3 * info.eps, atol=2 * info.tiny)
    exact = 1 / onp.sqrt(wide)
    assert (abs(onp.asarray(root) - exact) / abs(exact)).max() < 4 * info.eps


@EVERYWHERE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log1p_at_its_ends(run, dtype):
    with weft.config.temporarily(enable_x64=True):
        most = onp.finfo(dtype).max
        x = onp.array([0, -0.0, -1, -2, INF, NAN, most, 0.6 * most, 1e-30, -1e-30, 1e10], dtype)
        got, wanted = onp.asarray(run(np.log1p)(np.array(x))), expected_log1p(x)
        onp.testing.assert_allclose(got, wanted, rtol=3 * onp.finfo(dtype).eps)
        onp.testing.assert_array_equal(onp.signbit(got[:2]), [False, True])


def expected_log1p(x):
    with onp.errstate(all="ignore"):
        return onp.log1p(x)


@EVERYWHERE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_odds_from_the_smallest_number_to_one(run, dtype):
    with weft.config.temporarily(enable_x64=True):
        eps, tiny = onp.finfo(dtype).eps, onp.finfo(dtype).tiny
        p = [tiny, 3 * tiny, 1e-9, 1 / 3, 0.34, 0.4999999, 0.5, 0.66, 0.67, 0.999, 1 - eps]
        p = onp.array([0, *p, 1, -0.1, 1.1, NAN, INF], dtype)
        got = onp.asarray(run(weft.scipy.special.logit)(np.array(p)))
        onp.testing.assert_allclose(got, scipy.special.logit(p), rtol=3 * eps)


@EVERYWHERE
def test_slopes_at_the_ends_of_inverse_functions(run):
    slope = lambda f: run(weft.vmap(weft.grad(f)))  # noqa: E731
    x = onp.float32([1.0001, 3e3, 1e5, 1e25])
    wide = x.astype("float64")
    exact = 1 / onp.sqrt((wide - 1) * (wide + 1))
    onp.testing.assert_allclose(slope(np.arccosh)(x), exact, rtol=1e-6)
    onp.testing.assert_allclose(
        slope(weft.grad(np.arccosh))(x[:3]), -(wide * exact**3)[:3], rtol=1e-5
    )
    x = onp.float32([-0.9999999, 0, 0.5, 0.9999999])
    exact = 1 / onp.sqrt((1 - x.astype("float64")) * (1 + x.astype("float64")))
    onp.testing.assert_allclose(slope(np.arcsin)(x), exact, rtol=1e-6)
    x = onp.float32([-1e30, -1e4, 0, 1e4, 1e30])
    wide = x.astype("float64")
    root = onp.sqrt(wide**2 + 4)
    exact = onp.where(x < -1, 2 / (root * (root - onp.minimum(wide, 0))), (1 + wide / root) / 2)
    onp.testing.assert_allclose(slope(weft.nn.squareplus)(x), exact, rtol=1e-6, atol=1e-37)
