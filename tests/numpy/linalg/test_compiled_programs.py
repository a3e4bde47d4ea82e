"""What compiled linear algebra is made of, and that this changes no result."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import grad, jit, lax

RNG = onp.random.default_rng(3)


def loss(function):
    return lambda x: np.sum(np.abs(function(x)) ** 2)


@pytest.mark.parametrize(
    ("function", "routine"),
    [
        (np.linalg.svdvals, "sgesdd"),
        (lambda x: np.linalg.svd(x, compute_uv=False), "sgesdd"),
        (lambda x: np.linalg.norm(x, 2), "sgesdd"),
        (np.linalg.eigvals, "sgeev"),
    ],
)
def test_gradients_of_values_decompose_once(function, routine):
    text = jit(grad(loss(function))).lower(onp.eye(3, dtype="float32")).as_text()
    assert text.count(f"lapack_{routine}_ffi") == 1


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_second_derivatives_of_singular_values(shape):
    x, d = RNG.standard_normal((2, *shape))

    def slope(x):
        return np.sum(grad(lambda x: np.sum(np.linalg.svdvals(x) ** 3))(x) * d)

    with weft.config.temporarily(enable_x64=True):
        found = np.sum(grad(slope)(x) * d)
        step = 1e-5
        wanted = (slope(x + step * d) - slope(x - step * d)) / (2 * step)
    onp.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("left", [1, 2])
@pytest.mark.parametrize("right", [1, 2])
@pytest.mark.parametrize("lengths", [(8, 8, 8), (4, 8, 9), (16, 3, 8), (40, 8, 40)])
def test_many_products_of_small_matrices(lengths, left, right):
    k, m, n = lengths
    x = RNG.standard_normal((9, k, m) if left == 1 else (9, m, k)).astype("float32")
    y = RNG.standard_normal((9, k, n) if right == 1 else (9, n, k)).astype("float32")
    dims = (((left,), (right,)), ((0,), (0,)))
    found = jit(lambda x, y: lax.dot_general(x, y, dims))(x, y)
    x, y = (x.mT if left == 1 else x), (y.mT if right == 2 else y)
    onp.testing.assert_allclose(found, x.astype(float) @ y, atol=1e-4)


@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("shape", [(60, 5), (5, 60), (12, 12)])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_least_squares_are_the_same_at_once_and_compiled(dtype, shape, columns):
    a = RNG.standard_normal(shape).astype(dtype)
    b = RNG.standard_normal((shape[0], *columns)).astype(dtype)
    if dtype == "complex64":
        a, b = a + 1j * a[::-1], b - 2j * b[::-1]
    a[:, 1] = a[:, 0]
    compiled = jit(np.linalg.lstsq)(a, b)
    for _ in range(3):  # by operations, and then by a plan
        found = np.linalg.lstsq(np.asarray(a), np.asarray(b))
        for x, y in zip(found, compiled, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            onp.testing.assert_allclose(x, y, atol=1e-4)
    solution, _, rank, _ = onp.linalg.lstsq(a, b, rcond=1e-5)
    onp.testing.assert_allclose(found[0], solution, atol=1e-4)
    assert found[2] == rank


def test_least_squares_of_nan_are_nan():
    a, b = np.full((60, 5), onp.nan), np.ones(60)
    for _ in range(3):
        x, _, rank, _ = np.linalg.lstsq(a, b)
        assert np.isnan(x).all()
        assert rank == 0
