"""Decompositions and solvers on a GPU: values and gradients against NumPy and SciPy."""

import matrix_functions as table
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import jit, lax

pytestmark = pytest.mark.gpu

DTYPES = ("float32", "complex64", "float64")


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", table.FUNCTIONS)
def test_values_and_gradients_are_those_of_the_oracle(name, dtype):
    wide = dtype == "float64"
    args = table.arguments(name, dtype)
    double = table.arguments(name, "complex128" if dtype == "complex64" else "float64")
    tangents = [table.numbers(x.shape, x.dtype, 7 + i) for i, x in enumerate(double)]
    shapes = [
        onp.shape(y) for y in listed(table.FUNCTIONS[name].function(table.ORACLE, onp, *double))
    ]
    weights = [table.numbers(s, dtype, 20 + i) for i, s in enumerate(shapes)]

    def function(*args):
        return table.FUNCTIONS[name].function(lax.linalg, np, *args)

    def loss(*args):
        outs = listed(function(*args))
        return sum(np.sum(np.real(w * y)) for w, y in zip(weights, outs, strict=True)), outs

    with weft.config.temporarily(enable_x64=wide):
        gradient, outs = jit(weft.grad(loss, tuple(range(len(args))), has_aux=True))(*args)
        assert all(x.devices().pop().platform != "cpu" for x in outs)
    tolerance = 1e-9 if wide else 2e-3
    wanted = table.expected(name, double)
    scale = max(onp.abs(wanted).max(), 1)
    onp.testing.assert_allclose(table.flat(outs), wanted, atol=tolerance * scale)
    found = (table.flat(gradient) * table.flat(tangents)).sum().real
    change = table.expected_tangent(name, double, tangents)
    wanted = (table.flat(weights) * change).sum().real
    scale = max(onp.abs(change).max(), 1)
    onp.testing.assert_allclose(found, wanted, atol=(1e-5 if wide else 1e-2) * scale)


def rebuilt(name, x):
    """Matrices made again of the parts that a decomposition gave."""
    linalg = lax.linalg
    if name == "cholesky":
        factor = linalg.cholesky(x @ np.swapaxes(x, 1, 2) + np.eye(x.shape[1]))
        return factor @ np.swapaxes(factor, 1, 2) - np.eye(x.shape[1]), x @ np.swapaxes(x, 1, 2)
    if name == "lu":
        factors, _, order = linalg.lu(x)
        lower = np.tril(factors, -1) + np.eye(x.shape[1])
        return lower @ np.triu(factors), np.take_along_axis(x, order[..., None], 1)
    if name.startswith("qr"):
        q, r, *order = linalg.qr(x, pivoting=name == "qr with pivoting", full_matrices=False)
        return q @ r, np.take_along_axis(x, order[0][:, None], 2) if order else x
    if name.startswith("svd"):
        algorithm = getattr(linalg.SvdAlgorithm, name[4:].upper() or "DEFAULT")
        u, s, vh = linalg.svd(x, full_matrices=False, algorithm=algorithm)
        return (u * s[:, None]) @ vh, x
    if name == "eigh":
        x = (x + np.swapaxes(x, 1, 2)) / 2
        v, w = linalg.eigh(x)
        return (v * w[:, None]) @ np.swapaxes(v, 1, 2), x
    w, _, v = linalg.eig(x)
    return x @ v, v * w[:, None]


@pytest.mark.parametrize("n", [8, 64, 200])
@pytest.mark.parametrize(
    "name",
    ["cholesky", "lu", "qr", "qr with pivoting", "svd", "svd qr", "svd jacobi", "eigh", "eig"],
)
def test_batches_of_larger_matrices_are_made_again_of_their_parts(name, n):
    x = table.numbers((3, n, n), "float32", n)
    with weft.default_matmul_precision("highest"):  # by default products round to TF32
        found, wanted = jit(lambda x: rebuilt(name, x))(x)
    assert onp.abs(onp.asarray(found) - onp.asarray(wanted)).max() < 2e-3 * n**0.5


@pytest.mark.parametrize("shape", [(1100, 30), (30, 1100), (70, 40), (40, 70)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_of_oblong_matrices(shape, full):
    x = table.numbers(shape, "float32", 3)
    u, s, vh = (onp.asarray(y) for y in lax.linalg.svd(x, full_matrices=full))
    k = min(shape)
    assert onp.abs((u[:, :k] * s) @ vh[:k] - x).max() < 1e-3
    assert onp.abs(u.T @ u - onp.eye(u.shape[1])).max() < 1e-3
    assert onp.abs(vh @ vh.T - onp.eye(len(vh))).max() < 1e-3
    values = lax.linalg.svd(x, compute_uv=False)
    onp.testing.assert_allclose(values, onp.linalg.svd(x, compute_uv=False), atol=1e-3)


def test_failures_are_nan():
    x = onp.stack([onp.eye(3), -onp.eye(3)]).astype("float32")
    found = onp.asarray(lax.linalg.cholesky(x))
    onp.testing.assert_array_equal(found[0], onp.eye(3))
    assert onp.isnan(found[1, 0, 0])


def test_reduced_forms_and_reflectors():
    x = table.numbers((2, 6, 6), "float32", 1)
    symmetric = x + onp.swapaxes(x, 1, 2)
    _, d, e, _ = (onp.asarray(y) for y in lax.linalg.tridiagonal(symmetric))
    for i in range(2):
        form = onp.diag(d[i]) + onp.diag(e[i], 1) + onp.diag(e[i], -1)
        onp.testing.assert_allclose(
            onp.linalg.eigvalsh(form), onp.linalg.eigvalsh(symmetric[i]), atol=1e-4
        )
    h, taus = lax.linalg.hessenberg(x)
    form = onp.triu(onp.asarray(h), -1)
    onp.testing.assert_allclose(
        onp.trace(form @ form, axis1=1, axis2=2), onp.trace(x @ x, axis1=1, axis2=2), rtol=1e-3
    )
    q = lax.linalg.householder_product(h[:, 1:, :-1], taus)
    c = onp.broadcast_to(onp.eye(5, dtype="float32"), (2, 5, 5))
    for left in (True, False):
        product = lax.linalg.ormqr(h[:, 1:, :-1], taus, c, left=left)
        onp.testing.assert_allclose(product, q, atol=1e-5)


def test_permutations_of_pivots():
    pivots = onp.array([[2, 2, 2], [0, 2, 2]], "int32")
    found = lax.linalg.lu_pivots_to_permutation(pivots, 4)
    onp.testing.assert_array_equal(found, [[2, 0, 1, 3], [0, 2, 1, 3]])
