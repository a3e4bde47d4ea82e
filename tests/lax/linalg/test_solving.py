"""Solvers, products with reflectors, updates and polar decompositions, against NumPy and loops."""

import itertools

import matrix_functions as table
import numpy as onp
import pytest
import scipy.linalg

import weft
import weft.numpy as np
from weft import jit, lax, vmap

linalg = lax.linalg
OPTIONS = [
    dict(zip(("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"), f, strict=True))
    for f in itertools.product((False, True), repeat=5)
]


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def all_triangles(a, b):
    """Solutions for every combination of options."""
    turned = np.swapaxes(b, -1, -2)
    return [linalg.triangular_solve(a, b if o["left_side"] else turned, **o) for o in OPTIONS]


@pytest.mark.parametrize("tier", ["host", "xla", "compiled", "batch", "shared matrix"])
def test_triangular_solve(tier):
    dtype = "complex128"
    a = table.numbers((2, 4, 4), dtype, 0) + 3 * onp.eye(4)
    b = table.numbers((2, 4, 3), dtype, 1)
    if tier == "compiled":
        found = jit(all_triangles)(a, b)
    elif tier == "batch":
        found = vmap(all_triangles)(a, b)
    elif tier == "shared matrix":
        found, a = vmap(all_triangles, (None, 0))(a[0], b), a[:1].repeat(2, 0)
    else:
        options = OPTIONS if tier == "host" else OPTIONS[5:8]
        with weft.config.temporarily(eager_tier=tier):
            turned = onp.swapaxes(b, -1, -2)
            found = [
                linalg.triangular_solve(a, b if o["left_side"] else turned, **o) for o in options
            ]
            found = found if tier == "host" else [None] * 5 + found
    for options, x in zip(OPTIONS, found, strict=False):
        for i in range(2) if x is not None else ():
            rhs = b[i] if options["left_side"] else b[i].T
            wanted = table.ORACLE.triangular_solve(a[i], rhs, **options)
            onp.testing.assert_allclose(x[i], wanted, atol=1e-10)


def test_triangular_solve_takes_vectors():
    a, b = onp.tril(table.numbers((3, 3), "float64", 0)) + 3 * onp.eye(3), onp.arange(3.0)
    x = linalg.triangular_solve(a, b, left_side=True, lower=True)
    onp.testing.assert_allclose(a @ onp.asarray(x), b, atol=1e-12)
    x = linalg.triangular_solve(a, b, lower=True)
    onp.testing.assert_allclose(onp.asarray(x) @ a, b, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_tridiagonal_solve(dtype, m):
    dl, d, du = (table.numbers((2, m), dtype, i) for i in range(3))
    b = table.numbers((2, m, 3), dtype, 3)
    wanted = [table.ORACLE.tridiagonal_solve(*parts) for parts in zip(dl, d, du, b, strict=True)]

    def both(*args):
        return [linalg.tridiagonal_solve(*args, perturb_singular=p) for p in (False, True)]

    batch = vmap(linalg.tridiagonal_solve, (None, None, None, 0))(dl[0], d[0], du[0], b)
    onp.testing.assert_allclose(batch[0], wanted[0], atol=1e-9)
    rest = both(dl, d, du, b) if dtype == "float64" else [linalg.tridiagonal_solve(dl, d, du, b)]
    for x in rest:
        onp.testing.assert_allclose(x, wanted, atol=1e-9)
    vector = linalg.tridiagonal_solve(dl[0], d[0], du[0], b[0, :, 0])
    onp.testing.assert_allclose(vector, wanted[0][:, 0], atol=1e-9)


def test_singular_systems_of_three_diagonals():
    zero, b = onp.zeros(3), onp.ones((3, 1))
    assert onp.isnan(linalg.tridiagonal_solve(zero, zero, zero, b)).any()
    one = onp.array([0.0, 1, 1]), onp.array([1.0, 1, 1]), onp.array([1.0, 0, 0])
    assert onp.isfinite(linalg.tridiagonal_solve(*one, b, perturb_singular=True)).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_with_reflectors(dtype):
    x = table.numbers((5, 5), dtype, 0)
    h, taus = linalg.hessenberg(x)
    packed = h[1:, :-1]
    q = onp.asarray(linalg.householder_product(packed, taus))
    whole = scipy.linalg.block_diag(onp.eye(1), q)
    onp.testing.assert_allclose(whole @ onp.triu(h, -1) @ table.adjoint(whole), x, atol=1e-12)
    for left, turned in itertools.product((False, True), repeat=2):
        c = table.numbers((4, 2) if left else (2, 4), dtype, 1)
        found = linalg.ormqr(packed, taus, c, left=left, transpose=turned)
        factor = table.adjoint(q) if turned else q
        onp.testing.assert_allclose(found, factor @ c if left else c @ factor, atol=1e-12)
    batch = vmap(linalg.householder_product)(onp.stack([packed] * 2), onp.stack([taus] * 2))
    onp.testing.assert_allclose(batch[1], q, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("count", "size"), [(1, 1), (4, 4), (4, 7), (20, 20)])
def test_permutations_of_pivots(batch, count, size):
    rng = onp.random.default_rng(count)
    pivots = onp.array([[rng.integers(i, size) for i in range(count)] for _ in range(batch)])
    pivots[-1] = onp.minimum(onp.arange(count) + 1, size - 1)  # the first row goes all the way
    wanted = onp.stack([onp.arange(size)] * batch)
    for row, swaps in zip(wanted, pivots, strict=True):
        for i, j in enumerate(swaps):
            row[[i, j]] = row[[j, i]]
    f = lambda p: linalg.lu_pivots_to_permutation(p, size)  # noqa: E731
    for dtype in ("int32", "uint8"):
        for found in (f(pivots.astype(dtype)), jit(f)(pivots.astype(dtype))):
            onp.testing.assert_array_equal(found, wanted)
            assert found.dtype == dtype


def test_cholesky_update_and_symmetric_product():
    x, w = table.numbers((5, 4), "float64", 0), table.numbers((4,), "float64", 1)
    a = x.T @ x
    r = onp.linalg.cholesky(a).T
    below = onp.tril(onp.ones((4, 4)), -1)  # isn't read
    for found in (linalg.cholesky_update(r + below, w), jit(linalg.cholesky_update)(r, w)):
        onp.testing.assert_allclose(found, onp.linalg.cholesky(a + onp.outer(w, w)).T, atol=1e-12)
    c = table.numbers((5, 5), "float64", 2)
    product = linalg.symmetric_product(x, c, alpha=2.0, beta=0.5)
    onp.testing.assert_allclose(product, 2 * x @ x.T + c / 2)
    whole = linalg.symmetric_product(x, c, alpha=2.0, beta=0.5, symmetrize_output=True)
    onp.testing.assert_allclose(whole, onp.tril(product) + onp.tril(product, -1).T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_polar_decomposition(dtype):
    x = table.numbers((2, 5, 3), dtype, 0)
    u, h, steps, converged = linalg.qdwh(x)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    assert converged.all()
    assert steps < 9
    for i in range(2):
        for found, wanted in zip((u[i], h[i]), scipy.linalg.polar(x[i]), strict=True):
            onp.testing.assert_allclose(found, wanted, atol=tolerance)
    padded = onp.full((6, 4), 7.0, dtype)
    padded[:5, :3] = x[0]
    found = onp.array(linalg.qdwh(padded, dynamic_shape=(5, 3))[0])
    onp.testing.assert_allclose(found[:5, :3], u[0], atol=tolerance)
    found[:5, :3] = 0
    assert not found.any()
    assert not linalg.qdwh(x, max_iterations=1)[3].any()


def test_the_polar_factor_has_a_derivative():
    x, t = table.numbers((3, 3), "float64", 0), table.numbers((3, 3), "float64", 1)
    f = lambda x: linalg.qdwh(x)[0]  # noqa: E731
    _, found = weft.jvp(f, (x,), (t,))
    step = 1e-6
    wanted = (scipy.linalg.polar(x + step * t)[0] - scipy.linalg.polar(x - step * t)[0]) / (
        2 * step
    )
    onp.testing.assert_allclose(found, wanted, atol=1e-7)
    gradient = weft.grad(lambda x: np.sum(f(x) * t))(x)
    onp.testing.assert_allclose(np.sum(gradient * t), np.sum(found * t), rtol=1e-9)
