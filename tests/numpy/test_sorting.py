"""Sorting and searching in sorted arrays against NumPy."""

import numpy as onp
import pytest
from agreement import agree, assert_close

import weft
import weft.numpy as np

RNG = onp.random.default_rng(3)
X = RNG.standard_normal((3, 7)).astype(onp.float32)
INTS = RNG.integers(0, 5, (3, 7)).astype(onp.int32)
HOLES = onp.where(RNG.random((3, 7)) < 0.3, onp.nan, X).astype(onp.float32)
COMPLEX = (INTS + 1j * INTS[::-1]).astype(onp.complex64)


@pytest.mark.parametrize("x", [X, INTS, HOLES, COMPLEX, X > 0], ids=["f", "i", "nan", "c", "b"])
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_sort(x, axis):
    agree("sort", x, axis=axis)
    agree("argsort", x, axis=axis, oracle=lambda x, axis: onp.argsort(x, axis, kind="stable"))


def test_sort_in_other_orders():
    assert_close(np.sort(X, descending=True), onp.sort(X)[:, ::-1])
    order = onp.asarray(np.argsort(INTS, descending=True))
    wanted = [sorted(range(7), key=lambda k: (-row[k], k)) for row in INTS.tolist()]
    assert order.tolist() == wanted
    agree("lexsort", (X[0], INTS[0]), compiled=False)
    agree("sort_complex", INTS[0], oracle=lambda x: onp.sort_complex(x))
    assert_close(np.partition(X, 3)[:, 3], onp.sort(X)[:, 3])
    with pytest.raises(TypeError, match="kind is not supported"):
        np.sort(X, kind="quicksort")


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 1000])
@pytest.mark.parametrize("run", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_searches_for_many_values_are_a_loop(run, count, side):
    line = onp.sort(RNG.integers(-300, 300, count)).astype(onp.float32)
    many = RNG.integers(-310, 310, (70, 1000)).astype(onp.float32)
    many[0, :3] = onp.nan, onp.inf, -onp.inf
    search = run(lambda a, v: np.searchsorted(a, v, side))
    assert_close(search(line, many), onp.searchsorted(line, many, side))


def test_derivatives_beside_searches_for_many_values():
    xs, ys = onp.linspace(0, 1, 9, dtype="f4"), onp.linspace(0, 1, 9, dtype="f4") ** 2
    many = RNG.random(70_000).astype(onp.float32)
    slopes = weft.grad(lambda v: np.sum(np.interp(v, xs, ys)))(many)
    steps = onp.diff(ys) / onp.diff(xs)
    expected = steps[onp.searchsorted(xs, many, "right") - 1]
    onp.testing.assert_allclose(slopes, expected, rtol=1e-4)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("method", ["scan", "compare_all"])
def test_searchsorted(side, method):
    line = onp.sort(INTS[0]).astype(onp.float32)
    agree("searchsorted", line, onp.append(X[0], [line[2], 99, -99, onp.nan]).astype(onp.float32),
          side=side, oracle=lambda a, v, side: onp.searchsorted(a, v, side))  # fmt: skip
    assert_close(np.searchsorted(line, X, side, method=method), onp.searchsorted(line, X, side))
    grid = (RNG.integers(-2, 3, (3, 12)) + 1j * RNG.integers(-2, 3, (3, 12))).astype(onp.complex64)
    line = onp.sort_complex(grid[0])
    assert_close(
        np.searchsorted(line, grid, side, method=method), onp.searchsorted(line, grid, side)
    )
    bins = onp.array([-1 + 1j, 0, 1j], onp.complex64)
    assert_close(np.digitize(grid, bins), onp.searchsorted(bins, grid, "right"))
    unsorted = onp.array([3.0, 1.0, 2.0], onp.float32)
    assert_close(np.searchsorted(unsorted, 1.5, side, sorter=onp.argsort(unsorted)), onp.array(1))


# --- quantiles and statistics ---

METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]
QUANTILES = ["quantile", "percentile", "nanquantile", "nanpercentile"]


WEIGHTS = RNG.integers(0, 4, (3, 7)) * 0.75
WEIGHTS[0, 0] = WEIGHTS[2] = 1.5
WEIGHTED = {
    "all": (None, WEIGHTS),
    "in columns": (0, WEIGHTS.astype(onp.float32)),
    "in rows": (-1, WEIGHTS * 4),
    "whole numbers": ((1, 0), (WEIGHTS * 4).astype(onp.int32)),
    "of the rows": (1, onp.arange(7)),
    "of the columns": (0, onp.array([1.0, 4.0, 2.0])),
    "of both axes": ((1, 0), onp.arange(21).reshape(7, 3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "int64", "int16"])
@pytest.mark.parametrize("shape_axis", [((9000,), 0), ((5000, 3), 0), ((3, 5000), 1), ((4095,), 0)])
def test_the_order_of_many_elements_is_stable(dtype, shape_axis):
    """Ties, zeros of both signs, and NaNs, beside NumPy's stable sort."""
    shape, axis = shape_axis
    r = onp.random.RandomState(0)
    x = (r.randint(-40, 40, shape) * 10.0 ** r.randint(-3, 8, shape)).astype("float64")
    if dtype.startswith("float"):
        x[r.rand(*shape) < 0.1] = onp.nan
        x[r.rand(*shape) < 0.1] = -0.0
        x[r.rand(*shape) < 0.1] = -onp.inf
        x = x.astype(dtype)
    else:
        bounds = onp.iinfo(dtype)
        x = r.choice([bounds.min, bounds.max, *range(50)], shape).astype(dtype)
    expected = onp.argsort(x, axis, kind="stable")
    with weft.experimental.enable_x64():
        got = np.argsort(np.array(x), axis=axis)
        values, places = weft.lax.sort_key_val(np.array(x), np.array(expected), dimension=axis)
    onp.testing.assert_array_equal(got, expected)
    onp.testing.assert_array_equal(values, onp.take_along_axis(x, expected, axis))
    onp.testing.assert_array_equal(places, onp.take_along_axis(expected, expected, axis))
