"""What NumPy's own functions do at once is what the primitives do: in each bit, where nothing is
rounded, with the same dtypes, also at the second call and those after it, which run from a plan."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.config import eager_tier, enable_x64

INFINITE = [0.0, -0.0, onp.nan, 1.5, onp.inf, -onp.inf, -1.5, onp.nan, 0.0, 3.0]


def rows(*names):
    """Rows of numbers of several dtypes, with their extremes."""
    for name in names:
        kind = onp.dtype(name).kind if name != "bfloat16" else "f"
        if kind == "f":
            yield onp.array(INFINITE), name
        elif kind == "b":
            yield onp.array([True, False, True]), name
        else:
            info = onp.iinfo(name)
            yield onp.array([3, info.max, 6, info.min, 0, 3, 12, info.min], name), name


DTYPES = ("float32", "bfloat16", "int8", "bool")
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint32", "int64")

ANY = {  # of a row of any dtype, and the row reversed and without its first element
    "unique": lambda x, y: np.unique(x),
    "unique, all": lambda x, y: np.unique(x, True, True, True),
    "unique, counts": lambda x, y: np.unique(x, return_counts=True),
    "unique of a matrix": lambda x, y: np.unique(x[None], return_inverse=True, equal_nan=False),
    "unique along an axis": lambda x, y: np.unique(x[:, None], axis=0),
    "unique_all": lambda x, y: np.unique_all(x),
    "unique_counts": lambda x, y: np.unique_counts(x),
    "unique_inverse": lambda x, y: np.unique_inverse(x),
    "unique of none": lambda x, y: np.unique(x[:0], True, True, True),
    "union1d": np.union1d,
    "setdiff1d": lambda x, y: np.setdiff1d(x, y[:2]),
    "setdiff1d of different ones": lambda x, y: np.setdiff1d(x, y[1:3], assume_unique=True),
    "setdiff1d, less none": lambda x, y: np.setdiff1d(x, y[:0]),
    "setxor1d": lambda x, y: np.setxor1d(x[:4], y),
    "setxor1d of none": lambda x, y: np.setxor1d(x[:0], y[:0]),
    "intersect1d": lambda x, y: np.intersect1d(x, y),
    "intersect1d, indices": lambda x, y: np.intersect1d(x, y, return_indices=True),
    "isin": lambda x, y: np.isin(x[None], y[:3]),
    "isin, inverted": lambda x, y: np.isin(x, y[:3], invert=True),
    "isin, searched, inverted": lambda x, y: np.isin(x, y[:3], invert=True, method="sort"),
    "isin of none": lambda x, y: np.isin(x, y[:0], method="sort"),
    "searchsorted": lambda x, y: np.searchsorted(np.sort(x), y),
    "searchsorted, right": lambda x, y: np.searchsorted(np.sort(x), y[None], side="right"),
    "searchsorted in none": lambda x, y: np.searchsorted(x[:0], y),
    "argsort": lambda x, y: np.argsort(x),
    "argsort of a matrix": lambda x, y: np.argsort(np.stack([x[1:], y]), axis=0),
    "argsort, descending": lambda x, y: np.argsort(x, descending=True),
    "lexsort": lambda x, y: np.lexsort((x[1:], np.isin(x[1:], x[:1]))),
    "repeat": lambda x, y: np.repeat(x, np.arange(x.size)),
    "repeat along an axis": lambda x, y: np.repeat(np.stack([x[1:], y]), np.array([1, 2]), 0),
    "delete": lambda x, y: np.delete(x, np.array([0, 2])),
    "insert": lambda x, y: np.insert(x[None], [0, 2], y[1], axis=1),
    "pad": lambda x, y: np.pad(x, 2, mode="wrap"),
    "split": lambda x, y: np.split(x, np.array([1, -1])),
    "choose": lambda x, y: np.choose(np.array([0, 1]), [x[1:3], y[:2]]),
}
OF_FLOATS = {
    "frexp": lambda x, y: np.frexp(x),
    "copysign": lambda x, y: np.copysign(x[:, None], y),
    "divmod": lambda x, y: np.divmod(x[:, None], y),
    "operator divmod": lambda x, y: divmod(x[:, None], y),
    "spacing": lambda x, y: np.spacing(x[2:8]),
    "polyval": lambda x, y: np.polyval(x[3:5], y),
    "vander": lambda x, y: np.vander(x[3:], 3),
}
OF_INTEGERS = {
    "gcd": lambda x, y: np.gcd(x[:, None], y),
    "gcd with a number": lambda x, y: np.gcd(x, 6),
    "lcm": lambda x, y: np.lcm(x[:, None], y),
    "divmod": lambda x, y: np.divmod(x[:, None], y),
    "packbits": lambda x, y: np.packbits(x),
    "packbits, little": lambda x, y: np.packbits(x[:, None], 0, "little"),
    "bincount": lambda x, y: np.bincount(x & 15),
    "bincount of negative ones": lambda x, y: np.bincount(np.minimum(x, 6), minlength=9),
    "bincount of a length": lambda x, y: np.bincount(x & 15, length=4),
    "bincount of weights": lambda x, y: np.bincount(x & 7, y[:1].repeat(x.size), length=4),
    "bincount of none": lambda x, y: np.bincount(x[:0], minlength=2),
    "vander": lambda x, y: np.vander(x, 3, increasing=True),
}
CASES = [
    (name, row, dtype)
    for table, dtypes in (
        (ANY, DTYPES), (OF_FLOATS, FLOATS), (OF_INTEGERS, INTEGERS))
    for name in table
    for row, dtype in rows(*dtypes)
]  # fmt: skip
TABLES = {"f": {**ANY, **OF_FLOATS}, "iu": {**ANY, **OF_INTEGERS}, "b": ANY}


def described(result):
    """What is compared of arrays: avals, and elements with the signs of zeros."""
    for x in weft.tree.leaves(result):
        host = onp.asarray(x)
        kept = host.astype(onp.float64) if host.dtype.kind == "V" else host
        signs = onp.signbit(kept) & (kept == kept) if kept.dtype.kind == "f" else 0
        yield x.aval, kept, signs


def assert_same(found, expected):
    found, expected = [*described(found)], [*described(expected)]
    assert [aval for aval, *_ in found] == [aval for aval, *_ in expected]
    for (_, x, minus), (_, y, negative) in zip(found, expected, strict=True):
        onp.testing.assert_array_equal(x, y)
        onp.testing.assert_array_equal(minus, negative)


@pytest.mark.parametrize(
    ("name", "row", "dtype"), CASES, ids=[f"{name}-{dtype}" for name, _, dtype in CASES]
)
def test_numpy_and_xla_agree(name, row, dtype):
    kind = "f" if dtype == "bfloat16" else onp.dtype(dtype).kind
    function = next(table for kinds, table in TABLES.items() if kind in kinds)[name]
    with enable_x64("64" in dtype):
        x = np.asarray(row.astype(np.dtype(dtype)))
        y = x[:0:-1]
        with eager_tier("xla"):
            expected = function(x, y)
        for _ in range(3):
            assert_same(function(x, y), expected)
        assert_same(function(*weft.device_put((x, y), weft.devices()[0])), expected)


SIDE, POINTS = onp.linspace(-1, 2, 7), onp.array([-3, -1, -0.5, 0.3, 2, 2.5, onp.nan])
HEIGHTS = onp.array([1.0, 3, -2, 0, 5, 1, 4])
ROUNDED = {  # of arrays, computed in two ways, the second with NumPy
    "interp": lambda np, x, xp, fp: np.interp(x, xp, fp),
    "interp with edges": lambda np, x, xp, fp: np.interp(x, xp, fp, left=-7, right=9.0),
    "interp with the right edge": lambda np, x, xp, fp: np.interp(x, xp, fp, right=9.0),
    "interp of a period": lambda np, x, xp, fp: np.interp(x, xp, fp, period=2.5),
    "interp of one point": lambda np, x, xp, fp: np.interp(x[:-1], xp[:1], fp[:1]),
    "convolve": lambda np, x, xp, fp: np.convolve(xp, fp[:3]),
    "convolve, same": lambda np, x, xp, fp: np.convolve(xp, fp[:4], "same"),
    "convolve with a longer one": lambda np, x, xp, fp: np.convolve(xp[:2], fp, "valid"),
    "correlate": lambda np, x, xp, fp: np.correlate(xp, fp[:3]),
    "correlate, same": lambda np, x, xp, fp: np.correlate(xp, fp[:4], "same"),
    "correlate with a longer one": lambda np, x, xp, fp: np.correlate(xp[:3], fp, "full"),
    "histogram": lambda np, x, xp, fp: np.histogram(fp, 4)[0],
    "histogram, edges": lambda np, x, xp, fp: np.histogram(fp, 4)[1],
    "histogram of a range": lambda np, x, xp, fp: np.histogram(fp, 3, range=(0, 4))[0],
    "histogram of weights": lambda np, x, xp, fp: np.histogram(x[:-1], xp, weights=fp[1:])[0],
    "histogram, density": lambda np, x, xp, fp: np.histogram(fp, 4, density=True)[0],
    "histogram2d": lambda np, x, xp, fp: np.histogram2d(xp, fp, (2, 3))[0],
    "bincount of weights": lambda np, x, xp, fp: np.bincount(np.array([5, 0, 5]), fp[:3]),
    "unwrap": lambda np, x, xp, fp: np.unwrap(3 * fp),
    "unwrap with jumps": lambda np, x, xp, fp: np.unwrap(2 * fp, 3.5, period=3.0),
    "poly": lambda np, x, xp, fp: np.poly(fp[:5]),
    "polymul": lambda np, x, xp, fp: np.polymul(fp, xp),
    "vander": lambda np, x, xp, fp: np.vander(xp, 4),
    "polyval": lambda np, x, xp, fp: np.polyval(fp, x),
    "vecdot": lambda np, x, xp, fp: np.vecdot(
        xp[:6].reshape(1, 2, 3), fp[:6].reshape(2, 3), axis=-2
    ),
    "repeat": lambda np, x, xp, fp: np.repeat(fp[None], np.array([3]), axis=0),
    "split": lambda np, x, xp, fp: np.split(fp[:6], np.array([2, 4]))[1],
}


@pytest.mark.parametrize("name", ROUNDED)
def test_plans_agree_with_numpy(name):
    function = ROUNDED[name]
    hosts = [row.astype("float32") for row in (POINTS, SIDE, HEIGHTS)]
    expected = function(onp, *hosts)
    xs = [np.asarray(row) for row in hosts]
    for _ in range(3):
        onp.testing.assert_allclose(function(np, *xs), expected, rtol=2e-5, atol=1e-6)
    if not name.startswith(("bincount", "repeat", "split")):
        compiled = weft.jit(lambda *xs: function(np, *xs))(*xs)
        onp.testing.assert_allclose(compiled, expected, rtol=2e-5, atol=1e-6)
        assert function(np, *xs).aval == compiled.aval


LARGE = {  # beyond the number of elements up to which NumPy is the faster one
    "isin": lambda np, x, y: np.isin(x, y[:40]),
    "searchsorted": lambda np, x, y: np.searchsorted(np.sort(y), x),
    "gcd": lambda np, x, y: np.gcd(x, y),
    "packbits": lambda np, x, y: np.packbits(x % 2),
    "setxor1d": lambda np, x, y: np.setxor1d(x, y),
    "bincount": lambda np, x, y: np.bincount(x, minlength=9),
}


@pytest.mark.parametrize("name", LARGE)
def test_many_elements(name):
    x, y = (onp.random.default_rng(k).integers(0, 50_000, 31_000, "int32") for k in range(2))
    expected = LARGE[name](onp, x, y)
    for _ in range(3):
        onp.testing.assert_array_equal(LARGE[name](np, np.asarray(x), np.asarray(y)), expected)


SETS = {
    "unique": lambda x: np.unique(x, return_counts=True),
    "union1d": lambda x: np.union1d(x, x),
    "setdiff1d": lambda x: np.setdiff1d(x, x[:1]),
    "setxor1d": lambda x: np.setxor1d(x, x[:1]),
    "intersect1d": lambda x: np.intersect1d(x, x),
}


@pytest.mark.parametrize("name", SETS)
def test_weak_types_stay(name):
    x = np.arange(3) * 2.5
    assert x.weak_type
    with eager_tier("xla"):
        expected = SETS[name](x)
    assert_same(SETS[name](x), expected)
