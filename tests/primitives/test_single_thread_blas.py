"""Long sums and products with vectors: exact, and in parts that BLAS leaves to one thread."""

import types

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.primitives import single_thread_blas

RNG = onp.random.default_rng(0)
COUNTS = [9_999, 10_001, 10_240, 262_145, 1_000_003]
SHAPES = [(400, 400), (1000, 999), (3, 200_000), (200_000, 3), (1, 300_000), (131_073, 1)]


@pytest.fixture(autouse=True)
def on_the_host():
    with weft.config.temporarily(eager_tier="host", enable_x64=True):
        yield


def near(got, terms, axis):
    """Compares with the sum of float64 terms, to the rounding of their magnitudes."""
    got, size = onp.asarray(got), onp.abs(terms).sum(axis)
    assert (onp.abs(got - terms.sum(axis)) <= 8 * onp.finfo(got.dtype).eps * size).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", COUNTS)
def test_long_sums_and_inner_products(count, dtype):
    x, y = (RNG.standard_normal(count).astype(dtype) for _ in range(2))
    near(np.sum(np.array(x)), x.astype("f8"), 0)
    near(np.dot(np.array(x), np.array(y)), x.astype("f8") * y.astype("f8"), 0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_matrix_vector_products_of_every_layout(shape, dtype):
    a = RNG.standard_normal(shape).astype(dtype)
    v, u = (RNG.standard_normal(n).astype(dtype) for n in shape[::-1])
    for x in np.array(a), np.array(a.T.copy()).T:
        near(np.dot(x, v), a.astype("f8") * v, 1)
        near(np.dot(v, x.T), a.astype("f8") * v, 1)
        near(np.dot(u, x), a.astype("f8") * u[:, None], 0)
        near(np.dot(x.T, u), a.astype("f8") * u[:, None], 0)


SUMS = [(1000, 999), (9, 20_001), (20_001, 9), (1, 300_000), (70, 20, 30, 7), (140_000, 1)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SUMS)
def test_sums_over_the_first_and_the_last_axes(shape, dtype):
    a = RNG.standard_normal(shape).astype(dtype)
    for x, b in ((np.array(a), a), (np.array(a.T.copy()).T, a), (np.array(a).T, a.T)):
        for n in range(1, a.ndim):
            for axes in (tuple(range(n)), tuple(range(n, a.ndim)), tuple(range(n))[::-1]):
                near(np.sum(x, axes), b.astype("f8"), axes)


def test_complex_matrix_vector_products():
    a = RNG.standard_normal((500, 500)) + 1j * RNG.standard_normal((500, 500))
    v = RNG.standard_normal(500) + 1j
    onp.testing.assert_allclose(np.dot(np.array(a), v), a @ v, rtol=1e-12)


def test_an_infinity_stays_one():
    x = onp.ones(100_000, "f4")
    x[5] = onp.inf
    assert np.sum(np.array(x)) == np.dot(np.array(x), np.array(x)) == onp.inf


def test_no_part_is_long_enough_for_two_threads(monkeypatch):
    sizes = []

    def dot(x, y, out=None):
        sizes.append(max(x.size, y.size))
        return onp.dot(x, y, out=out)

    def vecdot(x, y):
        assert x.shape[-1] <= single_thread_blas.MIN_SPLIT_ELEMENTS
        return onp.vecdot(x, y)

    replaced = types.SimpleNamespace(**vars(onp) | {"dot": dot, "vecdot": vecdot})
    monkeypatch.setattr(single_thread_blas, "np", replaced)
    x, v = onp.ones((1001, 999), "f4"), onp.ones(999, "f4")
    assert (single_thread_blas.matrix_vector(x, v) == 999).all()
    assert single_thread_blas.inner(onp.ones(100_001), onp.ones(100_001)) == 100_001
    assert single_thread_blas.long_sum(100_001, onp.dtype("f4"))(onp.ones(100_001, "f4")) == 100_001
    assert (single_thread_blas.row_sums(999, x.dtype)(x) == 999).all()
    assert (single_thread_blas.column_sums(1001, 999, x.dtype)(x) == 1001).all()
    assert sum(sizes) == 3 * x.size
    long = onp.ones((9, 20_001), "f4")
    assert (single_thread_blas.row_sums(20_001, long.dtype)(long) == 20_001).all()
    assert (single_thread_blas.column_sums(9, 20_001, long.dtype)(long) == 9).all()
    assert max(sizes) <= single_thread_blas.BLOCK_ELEMENTS
