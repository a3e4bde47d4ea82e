"""Compiled decompositions of matrices that LAPACK is given by transposes of their own."""

import itertools

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.lax import linalg

SHAPES = [(256, 256), (512, 256), (256, 512), (2, 256, 256), (300, 256)]


def random(shape, dtype):
    r = onp.random.RandomState(len(shape))
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape) if dtype == "complex128" else x).astype(dtype)


def adjoint(x):
    return onp.conj(onp.swapaxes(x, -1, -2))


def near(got, expected):
    onp.testing.assert_allclose(got, expected, atol=1e-9 * max(1, float(onp.abs(expected).max())))


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def parts(x):
    """Results of the decompositions of any matrix."""
    factors, _, order = linalg.lu(x)
    q, r = linalg.qr(x, full_matrices=False)
    u, s, vt = linalg.svd(x, full_matrices=False)
    return factors, order, q, r, s, u, vt


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_multiply_to_the_matrix(shape, dtype):
    x = random(shape, dtype)
    factors, order, q, r, s, u, vt = map(onp.asarray, weft.jit(parts)(x))
    k = min(shape[-2:])
    low = onp.tril(factors[..., :k], -1) + onp.eye(shape[-2], k)
    near(low @ onp.triu(factors[..., :k, :]), onp.take_along_axis(x, order[..., None], -2))
    near(q @ r, x)
    near(adjoint(q) @ q, onp.broadcast_to(onp.eye(k), (*shape[:-2], k, k)))
    near(r, onp.triu(r))
    near((u * s[..., None, :]) @ vt, x)
    near(s, onp.linalg.svd(x, compute_uv=False))


def square_parts(x, definite):
    """Results of those of square and of definite matrices."""
    triangle = np.tril(definite)  # what is above isn't read
    return {
        "eigh": linalg.eigh(definite),
        "cholesky": (
            linalg.cholesky(definite),
            linalg.cholesky(triangle, symmetrize_input=False),
            np.linalg.cholesky(np.triu(definite), upper=True, symmetrize_input=False).mT.conj(),
        ),
        "schur": linalg.schur(x),
        "solutions": (np.linalg.solve(x, definite), np.linalg.inv(x)),
        "half": linalg.triangular_solve(triangle, x, left_side=False, lower=True, transpose_a=True),
    }


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_those_of_square_matrices(dtype):
    x = random((256, 256), dtype)
    definite = x @ adjoint(x) / 256 + onp.eye(256)
    found = weft.tree_util.tree_map(onp.asarray, weft.jit(square_parts)(x, definite))
    v, w = found["eigh"]
    near((v * w) @ adjoint(v), definite)
    for low in found["cholesky"]:
        near(low, onp.linalg.cholesky(definite))
    t, z = found["schur"]
    near(z @ t @ adjoint(z), x)
    near(x @ found["solutions"][0], definite)
    near(x @ found["solutions"][1], onp.eye(256))
    near(found["half"] @ onp.tril(definite).T, x)


def test_nan_takes_the_place_of_what_fails():
    x = onp.stack([onp.eye(256), -onp.eye(256)])
    low = onp.asarray(weft.jit(linalg.cholesky)(x))
    onp.testing.assert_array_equal(low[0], x[0])
    onp.testing.assert_array_equal(low[1], onp.where(onp.tri(256), onp.nan, 0))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_triangles_as_lapack_made_them_are_read_as_any_others(dtype):
    x, b = random((5, 5), dtype), random((2, 5, 5), dtype)[0]
    options = [
        {"left_side": side, "lower": lower, "transpose_a": turned, "conjugate_a": conjugate}
        for side, lower, turned, conjugate in itertools.product([True, False], repeat=4)
    ]

    def solved(x, b):
        factors = linalg.lu(x)[0]  # column by column, as it comes
        return factors, [linalg.triangular_solve(factors, b, **o) for o in options]

    factors, found = weft.jit(solved)(x, b)
    for o, y in zip(options, map(onp.asarray, found), strict=True):
        a = (onp.tril if o["lower"] else onp.triu)(factors)
        a = a.conj() if o["conjugate_a"] else a
        a = a.T if o["transpose_a"] else a
        near(a @ y if o["left_side"] else y @ a, b)
