"""Options, dtypes, results and refusals of weft.numpy.linalg."""

import ml_dtypes
import numpy as onp
import pytest
from row_names import row_name

import weft
import weft.numpy as np
from weft import jit
from weft.errors import AxisError, ShapeError
from weft.tree_util import tree_leaves, tree_map

linalg = np.linalg
A, TALL, LINE, CUBE = np.eye(3), np.ones((4, 3)), np.ones(3), np.ones((2, 3, 4))

BAD = [
    *[
        (ShapeError, f"{f}: a must be square", lambda f=f: getattr(linalg, f)(TALL))
        for f in ("inv", "det", "slogdet", "cholesky", "eig", "eigh", "eigvals", "eigvalsh")
    ],
    *[
        (ShapeError, f"{f}: .* at least two axes", lambda f=f: getattr(linalg, f)(LINE))
        for f in (
            "inv",
            "det",
            "qr",
            "svd",
            "svdvals",
            "pinv",
            "cond",
            "matrix_norm",
            "matrix_power",
        )
        if f != "matrix_power"
    ],
    (ShapeError, "matrix_power: a must be square", lambda: linalg.matrix_power(TALL, 2)),
    (TypeError, "n must be an int", lambda: linalg.matrix_power(A, 2.5)),
    (ShapeError, "solve: a must be square", lambda: linalg.solve(TALL, LINE)),
    (ShapeError, "solve: b must be", lambda: linalg.solve(A, np.ones(4))),
    (ShapeError, "solve: b must be", lambda: linalg.solve(A, 1.0)),
    (ShapeError, "solve", lambda: linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1)))),
    (ShapeError, "lstsq: expected", lambda: linalg.lstsq(CUBE, LINE)),
    (ShapeError, "lstsq: .*rows", lambda: linalg.lstsq(TALL, LINE)),
    (ShapeError, "tensorinv", lambda: linalg.tensorinv(np.ones((2, 3)), 1)),
    (ValueError, "ind must be positive", lambda: linalg.tensorinv(A, 0)),
    (ShapeError, "tensorsolve", lambda: linalg.tensorsolve(CUBE, LINE)),
    (ShapeError, "twice", lambda: linalg.tensorsolve(A, LINE, (0, 0))),
    (ShapeError, "length 3", lambda: linalg.cross(np.ones(2), np.ones(2))),
    (ShapeError, "one axis", lambda: linalg.outer(A, LINE)),
    (ShapeError, "differ; got", lambda: linalg.multi_dot([A, TALL, LINE])),
    (ShapeError, r"arrays\[1\] must be a matrix", lambda: linalg.multi_dot([A, LINE, A])),
    (ValueError, "at least two", lambda: linalg.multi_dot([A])),
    (ValueError, "ord of vectors", lambda: linalg.norm(LINE, "fro")),
    (ValueError, "ord of vectors", lambda: linalg.vector_norm(LINE, ord="nuc")),
    (ValueError, "ord of matrices", lambda: linalg.norm(A, 3)),
    (ValueError, "ord of matrices", lambda: linalg.matrix_norm(A, ord="nuclear")),
    (ShapeError, "one or two axes", lambda: linalg.norm(CUBE, 2)),
    (ShapeError, "one or two axes", lambda: linalg.norm(CUBE, axis=(0, 1, 2))),
    (ShapeError, "twice", lambda: linalg.norm(CUBE, axis=(1, -2))),
    *[
        (
            ShapeError,
            f"norm: ord={ord} is a minimum",
            lambda x=x, ord=ord: linalg.norm(x, ord),
        )
        for x, ord in [
            (np.zeros(0), -np.inf),
            (np.zeros((3, 0)), -1),
            (np.zeros((3, 0)), -2),
            (np.zeros((0, 3)), -2),
            (np.zeros((0, 3)), -np.inf),
        ]
    ],
    (ShapeError, "vector_norm: ord=-inf", lambda: linalg.vector_norm(np.zeros(0), ord=-np.inf)),
    (ShapeError, "matrix_norm: ord=-2", lambda: linalg.matrix_norm(np.zeros((0, 3)), ord=-2)),
    (ShapeError, "matvec: expected matrices", lambda: np.matvec(LINE, LINE)),
    (ShapeError, "vecmat: expected vectors", lambda: np.vecmat(LINE, LINE)),
    (ShapeError, "vecmat: expected vectors", lambda: np.vecmat(1.0, A)),
    (AxisError, "axis 3", lambda: linalg.norm(CUBE, axis=3)),
    (ShapeError, "empty", lambda: linalg.cond(np.zeros((0, 0)))),
    (ShapeError, "square", lambda: linalg.cond(TALL, 1)),
    (ValueError, "mode", lambda: linalg.qr(A, "full")),
    (ValueError, "UPLO", lambda: linalg.eigh(A, "X")),
    (ValueError, "UPLO", lambda: linalg.eigvalsh(A, "lower")),
    (ValueError, "only one of rtol", lambda: linalg.pinv(A, 0.1, rcond=0.1)),
    (ValueError, "only one of rtol", lambda: linalg.matrix_rank(A, 0.1, tol=0.1)),
    (ValueError, "method", lambda: linalg.slogdet(A, method="svd")),
    (TypeError, "inv: .*list", lambda: linalg.inv([[1.0]])),
    (ShapeError, "poly", lambda: np.poly(TALL)),
    (ShapeError, "roots", lambda: np.roots(TALL)),
    (weft.errors.WeftError, "roots", lambda: jit(np.roots)(LINE)),
    (ValueError, "deg", lambda: np.polyfit(LINE, LINE, -1)),
    (ValueError, "cov", lambda: np.polyfit(LINE, LINE, 1, cov="scaled")),
    (ValueError, "more points", lambda: np.polyfit(LINE, LINE, 2, cov=True)),
    (ShapeError, "polyfit", lambda: np.polyfit(LINE, np.ones(4), 1)),
    (ShapeError, "polyfit: w", lambda: np.polyfit(LINE, LINE, 1, w=np.ones(4))),
]


@pytest.mark.parametrize("row", BAD, ids=row_name)
def test_bad_inputs_are_refused_at_the_users_line(row):
    kind, message, call = row
    with pytest.raises(kind, match=message) as caught:
        call()
    assert "test_arguments.py" in "".join(caught.value.__notes__)


def test_results_have_names_and_are_pytrees():
    results = {
        "EigResult": (linalg.eig(A), ("eigenvalues", "eigenvectors")),
        "EighResult": (linalg.eigh(A), ("eigenvalues", "eigenvectors")),
        "QRResult": (linalg.qr(A), ("Q", "R")),
        "SVDResult": (linalg.svd(A), ("U", "S", "Vh")),
        "SlogdetResult": (linalg.slogdet(A), ("sign", "logabsdet")),
    }
    for name, (result, fields) in results.items():
        assert type(result).__name__ == name
        assert result._fields == fields
        assert type(tree_map(lambda x: x, result)) is type(result)
        assert type(jit(lambda r: r)(result)) is type(result)


@pytest.mark.parametrize("dtype", [onp.float16, ml_dtypes.bfloat16])
def test_small_floats_are_computed_in_float32_and_rounded(dtype):
    a = onp.random.default_rng(0).standard_normal((4, 4)).astype(dtype)
    small, wide = np.asarray(a), a.astype(onp.float32)
    functions = [
        "inv",
        "det",
        "slogdet",
        "pinv",
        "norm",
        "svdvals",
        "eigvalsh",
        "matrix_norm",
        "cond",
        "vector_norm",
        "eigvals",
    ]
    for name in functions:
        mine, wanted = getattr(linalg, name)(small), getattr(linalg, name)(np.asarray(wide))
        for got, full in zip(tree_leaves(mine), tree_leaves(wanted), strict=True):
            assert got.dtype == (np.complex64 if np.iscomplexobj(got) else dtype)
            near = float(np.finfo(got.dtype).eps)  # float32 may round the one way or the other
            x, y = (onp.asarray(v).astype(onp.complex64) for v in (got, full))
            onp.testing.assert_allclose(x, y, rtol=10 * near, atol=near)
    big = np.full(4, 300, dtype)  # its square is infinite in float16
    assert linalg.norm(big) == 600
    assert linalg.solve(small, small[0]).dtype == linalg.lstsq(small, small[0])[0].dtype == dtype
    assert linalg.qr(small).Q.dtype == linalg.cholesky(np.eye(2, dtype=dtype)).dtype == dtype


def test_integers_become_floats_and_weak_types_go():
    ints = np.asarray([[2, 1], [1, 3]])
    for name in ["inv", "det", "pinv", "norm", "svdvals", "eigvalsh", "cholesky", "cond"]:
        result = getattr(linalg, name)(ints)
        assert result.dtype == np.float32
        assert not result.weak_type
    assert linalg.solve(ints, ints).dtype == np.float32
    assert linalg.matrix_power(ints, 3).dtype == np.int32
    assert linalg.norm(3.0).weak_type is False
    assert linalg.matrix_rank(ints).dtype == np.int32
    assert linalg.eigvals(ints).dtype == np.complex64
    with weft.config.temporarily(enable_x64=True):
        assert linalg.inv(np.asarray([[2, 1], [1, 3]])).dtype == np.float64


def test_the_smallest_sum_of_rows_without_elements_is_zero():
    assert linalg.norm(np.zeros((0, 3)), -1) == 0 == linalg.norm(np.zeros((3, 0)), -np.inf)


def test_ranks_at_several_tolerances():
    x = np.diag(np.array([4.0, 2.0, 1.0, 0.1]))
    for hermitian in (False, True):
        assert linalg.matrix_rank(x, np.array([0.01, 0.3, 0.6]), hermitian).tolist() == [4, 2, 1]
    assert linalg.matrix_rank(x[None, :3], np.array([[0.01], [0.3]])).tolist() == [[3], [2]]


@pytest.mark.parametrize("name", ["inv", "solve", "det", "slogdet", "cond", "cholesky", "pinv"])
def test_singular_matrices_raise_nothing(name):
    stack = np.stack([np.eye(3), np.zeros((3, 3))])
    args = (stack, np.ones((2, 3, 1))) if name == "solve" else (stack,)
    function = getattr(linalg, name)
    for _ in range(3):  # at once, and from a plan
        results = tree_leaves(function(*args))
    compiled = tree_leaves(jit(function)(*args))
    for x, y in zip(results, compiled, strict=True):
        assert np.isfinite(x[0]).all()
        onp.testing.assert_array_equal(np.isfinite(x), np.isfinite(y))
    if name in ("inv", "solve", "cholesky"):
        assert not np.isfinite(results[0][1]).all()
    if name == "slogdet":
        assert (results[0][1], results[1][1]) == (0, -np.inf)
    if name == "cond":
        assert results[0][1] == np.inf


def test_nan_stays():
    a = np.full((2, 2), np.nan)
    for name in ["inv", "det", "norm", "cond", "svdvals", "eigvalsh", "pinv"]:
        assert np.isnan(getattr(linalg, name)(a)).all(), name


def test_norms_of_infinite_numbers():
    for order in (-3, -1, 1, 2, 3):
        assert linalg.norm(np.array([-np.inf, np.inf]), order) == np.inf, order
    assert linalg.norm(np.array([-np.inf, 2.0]), -1) == 2


def test_the_triangle_that_is_read():
    a = np.asarray([[2.0, 9.0], [1.0, 3.0]])
    for uplo, other in (("L", 1.0), ("U", 9.0)):
        wanted = onp.linalg.eigvalsh([[2.0, other], [other, 3.0]])
        got = linalg.eigh(a, uplo, symmetrize_input=False).eigenvalues
        onp.testing.assert_allclose(got, wanted, rtol=1e-5)
        got = linalg.eigvalsh(a, uplo, symmetrize_input=False)
        onp.testing.assert_allclose(got, wanted, rtol=1e-5)
    upper = linalg.cholesky(
        np.asarray([[4.0, 2.0], [9.0, 5.0]]), upper=True, symmetrize_input=False
    )
    onp.testing.assert_allclose(upper, [[2, 1], [0, 2]])


def test_some_singular_values():
    a = onp.random.default_rng(1).standard_normal((5, 3)).astype("f")
    u, s, vh = linalg.svd(np.asarray(a), full_matrices=False, subset_by_index=(0, 2))
    assert (u.shape, s.shape, vh.shape) == ((5, 2), (2,), (2, 3))
    onp.testing.assert_allclose(s, onp.linalg.svd(a, compute_uv=False)[:2], rtol=1e-5)


def test_residuals_of_least_squares_as_in_numpy():
    a, b = onp.random.default_rng(2).standard_normal((2, 5, 3))
    for x, y in ((a, b), (a, b[:, 0]), (a[:2], b[:2]), (a * 0, b), (a[:0], b[:0]), (a[:3], b[:3])):
        wanted = onp.linalg.lstsq(x, y)
        got = linalg.lstsq(np.asarray(x), np.asarray(y), numpy_resid=True)
        for p, q in zip(got, wanted, strict=True):
            onp.testing.assert_allclose(p, q, rtol=1e-3, atol=1e-5)
            assert p.shape == onp.shape(q)


def test_raw_factors_are_those_of_numpy():
    a = onp.random.default_rng(3).standard_normal((4, 3)).astype("f")
    for x, y in zip(linalg.qr(np.asarray(a), "raw"), onp.linalg.qr(a, "raw"), strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_singular_vectors_of_hermitian_matrices_are_whole():
    u, s, vh = linalg.svd(np.asarray([[1.0, 0.0], [0.0, 0.0]]), hermitian=True)
    onp.testing.assert_allclose(s, [1, 0])
    for x in (u, vh):  # the vector of the singular value zero too
        onp.testing.assert_allclose(x @ x.T, onp.eye(2), atol=1e-6)
