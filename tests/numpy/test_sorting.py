"""Sorting, searching, sets, quantiles, histograms against NumPy; fixed sizes under jit."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np
from weft.errors import ConcretizationTypeError

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


# --- sets ---


@pytest.mark.parametrize("x", [INTS, HOLES, COMPLEX, INTS > 2], ids=["i", "nan", "c", "b"])
def test_unique(x):
    agree("unique", x, compiled=False)
    agree("unique", x, return_index=True, return_inverse=True, return_counts=True, compiled=False)


def test_unique_rows():
    rows = onp.array([[1, 2], [0, 5], [1, 2], [0, 4]], onp.int32)
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    agree("unique", rows, axis=0, compiled=False, **options)
    agree("unique", rows.T, axis=1, compiled=False, **options)
    assert np.unique(HOLES, equal_nan=False).size == onp.unique(HOLES, equal_nan=False).size


def test_unique_of_fixed_size_compiles():
    run = weft.jit(lambda x: np.unique(x, size=7, fill_value=-1, return_counts=True))
    values, counts = run(np.array([3, 1, 3, 9]))
    assert values.tolist() == [1, 3, 9, -1, -1, -1, -1]
    assert counts.tolist() == [1, 2, 1, 0, 0, 0, 0]
    assert np.unique(np.array([3, 1, 3, 9]), size=2).tolist() == [1, 3]
    assert np.unique(np.array([3, 1, 3, 9]), size=5).tolist() == [1, 3, 9, 1, 1]
    with pytest.raises(ConcretizationTypeError, match="size=n"):
        weft.jit(np.unique)(np.arange(3))


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets(name):
    x, y = INTS[0], onp.array([2, 9, 4, 4, 7], onp.int32)
    wanted = agree(name, x, y, compiled=False)
    n = wanted.size + 2
    fixed = weft.jit(lambda x, y: getattr(np, name)(x, y, size=n, fill_value=-7))(x, y)
    assert fixed.tolist() == [*wanted.tolist(), -7, -7]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([onp.nan, 1, onp.nan, 2, 1], [1, onp.nan]),
        ([onp.nan, 1], [1]),
        ([1], [onp.nan, onp.nan]),
        ([2], [2]),
        ([], [onp.nan]),
    ],
)
def test_sets_of_numbers_with_nan(x, y):
    x, y = onp.array(x, "f"), onp.array(y, "f")
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        agree(name, x, y, compiled=False)
    fixed = weft.jit(lambda x, y: np.setxor1d(x, y, size=4, fill_value=-7))(x, y)
    wanted = onp.setxor1d(x, y)
    onp.testing.assert_array_equal(fixed, onp.append(wanted, onp.full(4 - wanted.size, -7)))


def test_intersection_with_indices():
    x, y = onp.array([5, 1, 2, 2], onp.int32), onp.array([2, 5, 5, 8], onp.int32)
    agree("intersect1d", x, y, return_indices=True, compiled=False)


@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search"])
def test_isin(method):
    others = onp.arange(0, 90, 2).astype(onp.int32)
    oracle = lambda x, y, method: onp.isin(x, y)  # noqa: E731
    agree("isin", INTS, others, method=method, oracle=oracle)
    assert not np.isin(np.nan, np.array([np.nan]), method=method)
    assert_close(np.isin(INTS, others, invert=True), onp.isin(INTS, others, invert=True))


# --- quantiles and statistics ---

METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]
QUANTILES = ["quantile", "percentile", "nanquantile", "nanpercentile"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_quantiles(method, axis):
    q = onp.array([0.0, 0.21, 0.77, 1.0], onp.float32)
    agree("quantile", X, q, axis=axis, method=method)
    agree("percentile", INTS, 33.0, axis=axis, method=method, keepdims=True, kinds="f")


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", WEIGHTED)
@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_with_weights(name, case):
    axis, weights = WEIGHTED[case]
    options = {"axis": axis, "method": "inverted_cdf"}
    q = onp.array([0.0, 0.25, 0.6, 1.0]) * (100 if "percentile" in name else 1)
    x = (HOLES if "nan" in name else X).copy()
    x[:1] = x[:1].round()  # some are equal
    over = (axis,) if isinstance(axis, int) else axis or (0, 1)
    # NumPy's functions without NaNs take weights of the shape of the array only
    whole = weights if weights.shape == x.shape else weights.T if len(over) > 1 else (
        onp.broadcast_to(onp.expand_dims(weights, 1 - over[0] % 2), x.shape)
    )  # fmt: skip
    by_numpy = lambda x, q, **given: getattr(onp, name)(x, q, **{**given, "weights": whole})  # noqa: E731
    agree(name, x, q, weights=weights, **options, oracle=by_numpy)
    quantiles = lambda x, w: getattr(np, name)(x, q, weights=w, **options)  # noqa: E731
    expected = onp.asarray(quantiles(x, weights))
    assert_close(weft.jit(quantiles)(x, weights), expected)
    both = weft.vmap(quantiles)(onp.stack([x, x[:, ::-1]]), onp.stack([weights, weights]))
    assert_close(both[0], expected)
    assert_close(both[1], quantiles(x[:, ::-1], weights))
    if "nan" not in name:
        assert_gradient(lambda x: quantiles(x, weights), X)


@pytest.mark.parametrize("name", QUANTILES)
def test_weights_that_numpy_refuses(name):
    for weights, axis, kind, says in (
        (-WEIGHTS, None, ValueError, "finite and not negative"),
        (WEIGHTS * onp.nan, 1, ValueError, "finite and not negative"),
        (WEIGHTS + onp.inf, 1, ValueError, "finite and not negative"),
        (WEIGHTS * 0, 0, ValueError, "not all of them 0"),
        (WEIGHTS[0], None, TypeError, "of the shape of `a`"),
        (WEIGHTS[0], 0, ValueError, "of the shape of `a`"),
        (WEIGHTS * 1j, 0, TypeError, "real numbers"),
    ):

        def compute(m, w, axis=axis):
            return getattr(m, name)(X, 0.5, axis, method="inverted_cdf", weights=w)

        with pytest.raises(kind, match=says):
            compute(np, weights)
        if weights.dtype != complex:
            with pytest.raises((ValueError, TypeError)), onp.errstate(all="ignore"):
                compute(onp, weights)
        if "finite" in says:
            assert onp.isnan(weft.jit(lambda w: compute(np, w))(weights)).all()
    with pytest.raises(ValueError, match="need the method 'inverted_cdf'"):
        getattr(np, name)(X, 0.5, weights=WEIGHTS)
    # what has no element that isn't NaN has no weights either
    rows = onp.array([[onp.nan, onp.nan], [1.0, onp.nan]], onp.float32)
    found = getattr(np, name)(rows, 0.5, 1, method="inverted_cdf", weights=onp.ones((2, 2)))
    assert onp.isnan(found).tolist() == [True, "nan" not in name]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_and_nans():
    agree("median", X, axis=1)
    agree("median", INTS)
    agree("median", HOLES, axis=0)
    x = HOLES.copy()
    x[1] = onp.nan
    agree("nanmedian", x, axis=1)
    agree("nanquantile", x, onp.array([0.3, 0.6]), axis=1)
    agree("nanpercentile", x, 40.0)
    agree("nanquantile", x, onp.array([0.3, 0.6]), axis=1, method="inverted_cdf")
    assert_gradient(lambda v: np.quantile(v, 0.3, axis=1), X)
    with pytest.raises(ValueError, match="method must be one of"):
        np.quantile(X, 0.5, method="weibull")


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "name",
    ["median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"],
)
def test_quantiles_of_64_bits(name, traced):
    x = HOLES.astype("float64")
    args = () if "median" in name else (onp.array([0.3, 0.6]),)
    with weft.enable_x64():
        f = lambda x: getattr(np, name)(x, *args, axis=1)  # noqa: E731
        got = (weft.jit(f) if traced else f)(x)
        assert got.dtype == "float64"
        onp.testing.assert_allclose(got, getattr(onp, name)(x, *args, axis=1), rtol=1e-12)


def test_averages_and_covariances():
    agree("average", X, weights=INTS + 1)
    agree("average", X, axis=1, weights=onp.arange(1.0, 8.0), returned=True)
    weights = {"fweights": onp.arange(1, 8), "aweights": onp.arange(1.0, 8.0)}
    for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, weights, {"y": X[0]}):
        agree("cov", X, **options)
    agree("corrcoef", X)
    agree("corrcoef", COMPLEX, tolerance=1e-4)
    assert_gradient(np.cov, X[:2, :4])


def test_histograms():
    for options in ({}, {"bins": 4}, {"bins": onp.array([-1.0, 0.0, 0.5, 2.0])}, {"range": (-1, 1)},
                    {"weights": abs(X)}, {"density": True}):  # fmt: skip
        ours = np.histogram(X, **options)
        for a, b in zip(ours, onp.histogram(X, **options), strict=True):
            assert_close(a, b.astype(onp.float32), 1e-4)
    agree("histogram_bin_edges", X, 5)
    agree("histogram2d", X[0], X[1], compiled=False, bins=3, tolerance=1e-4, kinds="iff")
    counts, edges = np.histogramdd(X.T, bins=(2, 3, 2))
    wanted, others = onp.histogramdd(X.T, bins=(2, 3, 2))
    assert_close(counts, wanted.astype(onp.int32))
    for a, b in zip(edges, others, strict=True):
        assert_close(a, b.astype(onp.float32))
    assert_close(weft.jit(np.histogram)(X)[0], onp.histogram(X)[0].astype(onp.float32))


def test_counts():
    x = onp.array([1, 2, 2, 5], onp.int32)
    agree("bincount", x, compiled=False)
    agree("bincount", x, compiled=False, minlength=9, weights=onp.array([0.5, 1, 2, 3]))
    assert weft.jit(lambda x: np.bincount(x, length=4))(x).tolist() == [0, 1, 2, 0]
    with pytest.raises(ConcretizationTypeError, match="length"):
        weft.jit(np.bincount)(x)
    for bins in (onp.array([-1.0, 0, 1]), onp.array([1.0, 0, -1])):
        for right in (False, True):
            agree("digitize", X, bins, right=right)


def test_interp():
    xp, fp = onp.array([0.0, 1.0, 2.5, 4.0]), onp.array([1.0, 3.0, 2.0, 5.0])
    x = onp.array([-1.0, 0.0, 0.3, 2.5, 3.9, 4.0, 7.0])
    agree("interp", x, xp, fp)
    agree("interp", x, xp, fp, left=-9.0, right=9.0)
    agree("interp", x, xp, fp, period=3.0)
    assert_close(np.interp(5.0, xp, fp, right="extrapolate"), onp.float32(7))
    assert_gradient(lambda x, fp: np.interp(x, xp, fp), x[[0, 2, 4]], fp)
