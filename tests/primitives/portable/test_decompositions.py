"""The algorithms in plain operations against NumPy: computed step by step, and in one program as a
device without a library of solvers gets it, run on the CPU."""

import numpy as onp
import pytest
import scipy.linalg

import weft
from weft.compiler.disk_cache import compile_or_load
from weft.compiler.lowered import LoweredProgram
from weft.compiler.placing import buffer_on
from weft.core.array import Array, as_value, from_host
from weft.interpreters.stage import stage
from weft.primitives.linalg.cholesky import cholesky
from weft.primitives.linalg.eig import eig
from weft.primitives.linalg.eigh import eigh
from weft.primitives.linalg.lu import lu
from weft.primitives.linalg.lu_solve import factored_inverse, factored_solve
from weft.primitives.linalg.matrix_operations import real_of
from weft.primitives.linalg.qr import qr
from weft.primitives.linalg.schur import hessenberg, schur
from weft.primitives.linalg.svd import svd
from weft.primitives.linalg.tridiagonal import tridiagonal
from weft.primitives.portable.eig import portable_eig
from weft.primitives.portable.eigh import portable_eigh
from weft.primitives.portable.hessenberg import portable_gehrd, portable_sytrd
from weft.primitives.portable.lu import portable_lu
from weft.primitives.portable.qr import portable_geqrf, portable_product
from weft.primitives.portable.schur import portable_schur
from weft.primitives.portable.svd import portable_svd
from weft.runtime import client

RNG = onp.random.default_rng(3)
SHAPES = [(5, 5), (40, 37), (3, 6), (6, 1), (1, 1), (0, 0), (3, 0), (0, 2)]


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def normal(m, n, dtype):
    x = RNG.standard_normal((2, m, n))
    return (x + 1j * RNG.standard_normal(x.shape) if dtype[0] == "c" else x).astype(dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def near(x, y, tolerance=1e-12):
    onp.testing.assert_allclose(x, onp.broadcast_to(y, x.shape), rtol=tolerance, atol=tolerance)


def orthonormal(x):
    near(adjoint(x) @ x, onp.eye(x.shape[-1]))


def run(algorithm, *hosts, **options):
    return [onp.asarray(r) for r in algorithm(*map(as_value, hosts), **options)]


@pytest.fixture(params=["float64", "complex128"])
def dtype(request):
    return request.param


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_lu(m, n, dtype):
    a = normal(m, n, dtype)
    factors, pivots, order = run(portable_lu, a)
    k = min(m, n)
    low, up = onp.tril(factors[..., :k], -1) + onp.eye(m, k), onp.triu(factors[:, :k])
    near(low @ up, onp.take_along_axis(a, order[..., None], 1))
    for i in range(2 if k else 0):
        expected = scipy.linalg.lu_factor(a[i])
        near(factors[i], expected[0], 1e-10)
        onp.testing.assert_array_equal(pivots[i], expected[1])


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_qr(m, n, dtype):
    a = normal(m, n, dtype)
    packed, taus = run(portable_geqrf, a)
    k = min(m, n)
    for width in (k, m) if n else (k,):
        columns = onp.zeros((2, m, width), a.dtype)
        columns[..., :k] = packed[..., :k]
        (q,) = run(portable_product, columns, taus)
        orthonormal(q)
        near(q[..., :k] @ onp.triu(packed)[:, :k], a)


@pytest.mark.parametrize("n", [5, 12, 1, 2, 0])
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_eigenvalues_of_hermitian_matrices(n, size, dtype):
    a = normal(n, n, dtype)
    a = a + adjoint(a)
    v, w = run(portable_eigh, a * size)
    orthonormal(v)
    near(w / size, onp.linalg.eigvalsh(a))
    near((a @ v - v * (w / size)[:, None, :]), 0.0)


def test_equal_eigenvalues_and_infinities():
    a = onp.stack([onp.eye(4), onp.ones((4, 4)), onp.zeros((4, 4)), onp.full((4, 4), onp.inf)])
    v, w = run(portable_eigh, a)
    near(w[:3], [[1, 1, 1, 1], [0, 0, 0, 4], [0, 0, 0, 0]])
    orthonormal(v[:3])
    assert onp.isnan(w[3]).all()


@pytest.mark.parametrize(("m", "n"), [*SHAPES[2:], (12, 9), (9, 12)])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values(m, n, full, dtype):
    a = normal(m, n, dtype)
    k = min(m, n)
    a[1] *= onp.arange(n) % 2  # columns of zeros
    s, u, vh = run(portable_svd, a, full_matrices=full, compute_uv=True)
    assert u.shape[1:] == (m, m if full else k)
    assert vh.shape[1:] == (n if full else k, n)
    orthonormal(u)
    orthonormal(adjoint(vh))
    near(s, onp.linalg.svd(a, compute_uv=False))
    near(u[..., :k] * s[:, None, :] @ vh[:, :k], a)
    near(run(portable_svd, a, full_matrices=full, compute_uv=False)[0], s)


@pytest.mark.parametrize("n", [6, 1, 2, 0])
def test_hessenberg(n, dtype):
    a = normal(n, n, dtype)
    packed, taus = run(portable_gehrd, a)
    q = onp.zeros_like(a) + onp.eye(n)
    if n > 1:
        (q[:, 1:, 1:],) = run(portable_product, packed[:, 1:, :-1], taus)
    orthonormal(q)
    near(q @ onp.triu(packed, -1) @ adjoint(q), a)


@pytest.mark.parametrize("n", [6, 1, 2, 0])
def test_schur_and_eigenvectors(n):
    a = normal(n, n, "complex128")
    t, z = run(portable_schur, a)
    orthonormal(z)
    near(onp.tril(t, -1), 0.0)
    near(z @ t @ adjoint(z), a)
    w, left, right = run(portable_eig, a)
    near(onp.sort_complex(w), onp.sort_complex(onp.linalg.eigvals(a)))
    near(a @ right - right * w[:, None, :], 0.0)
    near(adjoint(left) @ a - w[..., None] * adjoint(left), 0.0)
    for v in (left, right):
        near(onp.linalg.norm(v, axis=1), 1.0)


def test_schur_of_elements_whose_squares_vanish():
    a = REAL["graded"](normal(30, 30, "complex64"))
    t, z = run(portable_schur, a)
    near(adjoint(z) @ z, onp.eye(30), 1e-5)
    near(z @ t @ adjoint(z), a, 1e-5)


def test_schur_of_matrices_that_take_shifts():
    a = onp.zeros((3, 4, 4), complex)
    a[0] = onp.roll(onp.eye(4), 1, 0)  # the eigenvalues of a cycle have one size
    a[1] = onp.eye(4, k=1)  # one vector for all
    t, z = run(portable_schur, a)
    near(z @ t @ adjoint(z), a)
    near(onp.sort_complex(onp.round(onp.diagonal(t[0]), 8)), [-1, -1j, 1j, 1])


REAL = {
    "any": lambda x: x,
    "skew": lambda x: x - adjoint(x),
    "orthogonal": lambda x: onp.linalg.qr(x)[0],
    "real eigenvalues": lambda x: x + adjoint(x) + onp.triu(x),
    "large": lambda x: x * 1e300,
    "small": lambda x: x * 1e-300,
    "cycles": lambda x: onp.stack([onp.roll(onp.eye(x.shape[1]), i, 0) for i in (1, 2)]),
    "nilpotent": lambda x: x * 0 + onp.eye(x.shape[1], k=1) * 3,
    "equal eigenvalues": lambda x: onp.linalg.qr(x)[0] @ onp.triu(x, 1) @ onp.linalg.qr(x)[0].mT,
    "zeros": lambda x: x * 0,
    "close eigenvalues": lambda x: onp.eye(x.shape[1]) + 1e-10 * x,
    "graded": lambda x: 10.0 ** (-1 * onp.arange(x.shape[1]))[:, None].astype(x.real.dtype) * x,
}


@pytest.mark.parametrize("n", [6, 2, 1, 0])
@pytest.mark.parametrize("form", REAL)
def test_real_schur(form, n):
    """Reconstructed, with blocks of two rows for complex pairs alone, which are standard."""
    a = REAL[form](normal(n, n, "float64"))
    size = max(onp.abs(a).max(initial=0), 1e-300)
    t, z = run(portable_schur, a)
    orthonormal(z)
    near(z @ (t / size) @ adjoint(z), a / size)
    near(onp.tril(t, -2), 0.0)
    for part in t / size:
        below, above = onp.diagonal(part, -1), onp.diagonal(part, 1)
        (pairs,) = onp.nonzero(below)
        assert (onp.diff(pairs) > 1).all()
        assert (onp.sign(below[pairs]) == -onp.sign(above[pairs])).all()
        onp.testing.assert_array_equal(onp.diag(part)[pairs], onp.diag(part)[pairs + 1])
    (alone,) = run(portable_schur, a, vectors=False)
    onp.testing.assert_array_equal(alone, t)


def test_real_schur_of_what_is_not_finite():
    a = normal(3, 3, "float64")
    a[0, 1, 1] = onp.nan
    for found in run(portable_schur, a):
        assert onp.isnan(found[0]).all()
        assert onp.isfinite(found[1]).all()


@pytest.mark.parametrize("n", [5, 2, 1, 0])
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal_is_that_of_lapack(n, lower, dtype):
    a = normal(n, n, dtype)
    found = run(portable_sytrd, a, lower=lower)
    routine = scipy.linalg.lapack.zhetrd if a.dtype == complex else scipy.linalg.lapack.dsytrd
    for i in range(2 if n else 0):
        for mine, wanted in zip(found, routine(a[i], lower=int(lower))[:4], strict=True):
            near(mine[i], wanted)
    assert [x.shape for x in found] == [a.shape, (2, n), *[(2, max(n - 1, 0))] * 2]


def test_in_a_program_for_a_device_without_a_library(least_effort):
    a = normal(5, 4, "complex128")
    square = normal(4, 4, "complex128")
    positive = square @ adjoint(square) + onp.eye(4)
    args = [from_host(x) for x in (a, square, positive)]

    def everything(a, square, positive):
        factors, _, order = lu(square)
        real = real_of(square)
        options = {"full_matrices": True}
        return [
            *qr(a, pivoting=False, **options),
            *svd(a, compute_uv=True, algorithm="default", **options),
            *eigh(positive, lower=True),
            cholesky(positive, lower=True, hermitian=True),
            cholesky(positive, lower=False, hermitian=False),
            *hessenberg(square),
            *schur(square, vectors=True),
            *schur(real, vectors=True),
            *tridiagonal(real, lower=False)[1:3],
            *eig(square, left=False, right=True),
            factored_solve(factors, order, square, positive, transposed=False),
            factored_solve(factors, order, square, positive, transposed=True),
            factored_inverse(factors, order, square),
        ]

    program = LoweredProgram(stage(everything, [x.aval for x in args]))
    device = client.default_device()
    text, _ = program.text("tpu")
    assert "lapack" not in text
    executable = compile_or_load(text, program.result_types, device, least_effort)
    results = executable.execute([buffer_on(args[i], device) for i in program.live])
    found = [
        onp.asarray(Array(None, v.aval, r))
        for v, r in zip(program.body.outvars, results, strict=True)
    ]
    *found, inverse = found
    q, r, s, u, vh, v, w, low, up, packed, _, t, z, real_t, real_z, *rest = found
    *lines, values, right, x, y = rest
    near(q @ r, a)
    near(u[..., :4] * s[:, None, :] @ vh, a)
    near(v * w[:, None, :] @ adjoint(v), positive, 1e-11)
    near(low @ adjoint(low), positive, 1e-11)
    near(up, adjoint(low), 1e-11)
    near(onp.abs(onp.linalg.det(onp.triu(packed, -1))), onp.abs(onp.linalg.det(square)), 1e-10)
    near(z @ t @ adjoint(z), square)
    near(real_z @ real_t @ adjoint(real_z), square.real)
    for matrix, line, beside in zip(square.real, *lines, strict=True):
        wanted = scipy.linalg.eigvalsh(onp.triu(matrix) + onp.triu(matrix, 1).T)
        near(scipy.linalg.eigvalsh_tridiagonal(line, beside), wanted)
    near(square @ right - right * values[:, None, :], 0.0)
    near(square @ x, positive, 1e-10)
    near(square.swapaxes(-1, -2) @ y, positive, 1e-10)
    near(inverse, onp.linalg.inv(square), 1e-10)
