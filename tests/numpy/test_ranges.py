"""linspace, logspace, geomspace, r_ and c_: dtypes, axes, traced ends, the same bits everywhere."""

import functools
import warnings

import numpy as onp
import pytest

import weft
import weft.numpy as np

SPACES = ("linspace", "logspace", "geomspace")
LOW, HIGH = onp.linspace(0.1, 1, 20, dtype="f"), onp.linspace(2, 3.7, 20, dtype="f")


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("jit", [False, True])
def test_a_vector_of_ends_gives_what_each_pair_gives_to_the_bit(name, jit):
    f = functools.partial(getattr(np, name), num=5)
    f = weft.jit(f) if jit else f
    each = [f(a, b) for a, b in zip(LOW, HIGH, strict=True)]
    assert onp.array_equal(f(LOW, HIGH), onp.stack(each, 1))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("options", [{}, {"endpoint": False}, {"num": 1}, {"num": 0}], ids=str)
def test_traced_ends_as_numpy(name, axis, options):
    options = {"num": 4, "axis": axis, **options}
    expected = getattr(onp, name)(LOW.astype(float), HIGH.astype(float), **options)
    found = weft.jit(lambda a, b: getattr(np, name)(a, b, **options))(LOW, HIGH)
    assert found.shape == expected.shape
    onp.testing.assert_allclose(found, expected, rtol=2e-5)


def test_traced_ends_are_exact():
    for f in (np.linspace, np.geomspace):
        found = weft.jit(functools.partial(f, num=7))(LOW, HIGH)
        assert onp.array_equal(found[0], LOW)
        assert onp.array_equal(found[-1], HIGH)


def test_an_array_of_bases():
    bases = onp.array([2.0, 3.0], "f")
    expected = onp.logspace(1, 3, 4, base=bases)
    onp.testing.assert_allclose(np.logspace(1, 3, 4, base=bases), expected, rtol=1e-6)
    traced = weft.jit(lambda b: np.logspace(1.0, 3.0, 4, base=b))(bases)
    onp.testing.assert_allclose(traced, expected, rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("ends", [(-1, 1), (1j, -4j), (-2, -8), (1 + 1j, 3)])
def test_complex_geometric_ranges(ends, jit):
    expected = onp.geomspace(*ends, 5, dtype="complex64")
    f = lambda a, b: np.geomspace(a, b, 5, dtype="complex64")  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = (weft.jit(f) if jit else f)(*map(onp.asarray, ends))
    onp.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_geometric_range_has_no_zero():
    with pytest.raises(ValueError, match="must not be 0"):
        np.geomspace(0, 1, 3)


def test_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(np.logspace(0, 100, 3)[-1])
        assert np.isnan(np.geomspace(-1.0, 1.0, 3)[1])


BF16 = np.bfloat16
TWO = np.ones(2, BF16)
NARROW = {
    "arange": lambda: np.arange(1, 5, dtype=BF16),
    "arange of scalars": lambda: np.arange(TWO[0], 5 * TWO[0], TWO[0]),
    "linspace": lambda: np.linspace(TWO, 4 * TWO, 4)[:, 0],
    "linspace dtype": lambda: np.linspace(TWO, 4 * TWO, 4, dtype=BF16)[:, 0],
    "linspace traced": lambda: weft.jit(lambda a: np.linspace(a, 4 * a, 4))(TWO)[:, 0],
    "r_": lambda: np.r_[TWO[:1], 2 * TWO[:1], 3 * TWO[0] : 5 * TWO[0]],
    "mgrid": lambda: np.mgrid[TWO[0] : 5 * TWO[0] : TWO[0]],
}
DOUBLING = {
    "logspace": lambda: np.logspace(0 * TWO, 3 * TWO, 4, base=2 * TWO[0])[:, 0],
    "logspace traced": lambda: weft.jit(lambda a: np.logspace(a - 1, 3 * a, 4, base=2))(TWO)[:, 0],
    "geomspace": lambda: np.geomspace(TWO, 8 * TWO, 4, dtype=BF16)[:, 0],
    "geomspace traced": lambda: weft.jit(lambda a: np.geomspace(a, 8 * a, 4))(TWO)[:, 0],
}


@pytest.mark.parametrize("name", [*NARROW, *DOUBLING])
def test_bfloat16(name):
    found = {**NARROW, **DOUBLING}[name]()
    assert found.dtype == BF16
    expected = [1, 2, 3, 4] if name in NARROW else [1, 2, 4, 8]
    onp.testing.assert_allclose(found.astype("f"), expected, rtol=0.01)


PARTS = ([1, 2], [3, 4])


@pytest.mark.parametrize(
    ("grid", "key"),
    [
        ("r_", ("r", *PARTS)),
        ("r_", ("c", *PARTS)),
        ("c_", ("r", *PARTS)),
        ("c_", ("c", *PARTS)),
        ("r_", ("c", slice(1, 3), 5)),
        ("r_", ("c", [[1, 2]], [[3, 4]])),
        ("r_", (onp.ones(2), slice(1, 3))),
        ("r_", ("0,2", *PARTS)),
    ],
)
def test_rows_and_columns_as_numpy(grid, key):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's: "the matrix subclass is not the recommended way"
        expected = onp.asarray(getattr(onp, grid)[key])
    assert onp.array_equal(getattr(np, grid)[key], expected)


def test_a_directive_that_is_none():
    with pytest.raises(ValueError, match="expected 'r', 'c', or up to three numbers"):
        np.r_["x", [1]]
    with pytest.raises(ValueError, match="a matrix has two axes"):
        np.r_["r", np.ones((2, 2, 2))]
