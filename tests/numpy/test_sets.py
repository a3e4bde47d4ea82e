"""Sets against NumPy: unique elements, unions, membership; fixed sizes under jit."""

import numpy as onp
import pytest
from agreement import agree, assert_close
from tests.numpy.test_sorting import COMPLEX, HOLES, INTS

import weft
import weft.numpy as np
from weft.errors import ConcretizationTypeError

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
