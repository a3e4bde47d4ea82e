"""NumPy's LAPACK without its checks, compared with its public functions; and those in its place."""

import importlib

import numpy as onp
import pytest

from weft.core.kernels import kernel_runner
from weft.primitives.linalg import numpy_lapack


def reversed_columns(x):
    return x[..., ::-1]


# name: (ours, of the module; NumPy's)
SQUARE = {
    "inv": (lambda m, x: m.inv(x), onp.linalg.inv),
    "det": (lambda m, x: m.det(x), onp.linalg.det),
    "slogdet": (lambda m, x: m.slogdet(x), onp.linalg.slogdet),
    "cholesky": (lambda m, x: m.cholesky(x), onp.linalg.cholesky),
    "eigh, lower": (lambda m, x: m.eigh_of_lower(x), onp.linalg.eigh),
    "eigh, upper": (lambda m, x: m.eigh_of_upper(x), lambda x: onp.linalg.eigh(x, UPLO="U")),
    "solve": (
        lambda m, x: m.solve(x, reversed_columns(x)),
        lambda x: onp.linalg.solve(x, reversed_columns(x)),
    ),
}
OBLONG = {
    "svd": (lambda m, x: m.svd_full(x), onp.linalg.svd),
    "svd, reduced": (lambda m, x: m.svd_reduced(x), lambda x: onp.linalg.svd(x, False)),
    "singular values": (
        lambda m, x: m.singular_values(x),
        lambda x: onp.linalg.svd(x, compute_uv=False),
    ),
    "qr": (lambda m, x: m.qr(x, False), onp.linalg.qr),
    "qr, complete": (lambda m, x: m.qr(x, True), lambda x: onp.linalg.qr(x, "complete")),
}
DTYPES = ["float32", "float64", "complex64", "complex128"]


def matrices(dtype, *shape):
    """Nearly diagonal; what is above the diagonal is no adjoint of what is below."""
    parts = onp.random.default_rng(0).standard_normal((2, *shape))
    x = parts[0] + 1j * parts[1] if onp.dtype(dtype).kind == "c" else parts[0]
    return (x + 6 * onp.eye(*shape[-2:])).astype(dtype)


def check(ours, public, x, module=numpy_lapack):
    results = ours(module, x), public(x)
    found, wanted = (list(y) if isinstance(y, (tuple, list)) else [y] for y in results)
    assert [y.dtype for y in found] == [y.dtype for y in wanted]
    for y, z in zip(found, wanted, strict=True):
        onp.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*SQUARE, *OBLONG])
def test_bits_are_those_of_the_public_function(name, dtype):
    pair = (SQUARE | OBLONG)[name]
    for x in (matrices(dtype, 3, 3), matrices(dtype, 2, 3, 3), matrices(dtype, 3, 3)[::-1, ::-1].T):
        check(*pair, x)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("name", OBLONG)
def test_oblong_matrices(name, shape):
    check(*OBLONG[name], matrices("float32", *shape))


@pytest.mark.parametrize("name", ["inv", "cholesky", "solve"])
def test_a_matrix_without_a_result_gives_nan_alone(name):
    x = onp.stack([onp.eye(3), onp.zeros((3, 3))])
    good, bad = kernel_runner()(SQUARE[name][0], numpy_lapack, x)
    assert onp.isfinite(good).all()
    assert onp.isnan(bad).any()


def test_public_functions_take_the_place_of_missing_ones(monkeypatch):
    monkeypatch.setattr(onp.linalg, "_umath_linalg", None)
    try:
        module = importlib.reload(numpy_lapack)
        assert module.inv is onp.linalg.inv
        for ours, public in (SQUARE | OBLONG).values():
            check(ours, public, matrices("float32", 2, 3, 3), module)
    finally:
        monkeypatch.undo()
        importlib.reload(numpy_lapack)
