"""The laws of decompositions, for every dtype and shape, on both tiers and where there is no
library; failures, empty stacks, options, 16-bit floats, bad inputs."""

import matrix_functions as table
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import errors, export, jit, lax, vmap

linalg = lax.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
H = table.adjoint


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def matrices(dtype):
    """Stacks: any, tall, wide, Hermitian, definite."""
    any_, tall, wide = (
        table.numbers((2, *s), dtype, i) for i, s in enumerate(((4, 4), (5, 3), (3, 5)))
    )
    return any_, tall, wide, any_ + H(any_), any_ @ H(any_) + onp.eye(4, dtype=dtype)


def decompositions(any_, tall, wide, hermitian, definite):
    """The decompositions that every device has."""
    found = {
        "cholesky": linalg.cholesky(definite),
        "eigh": linalg.eigh(hermitian),
        "upper eigh": linalg.eigh(np.triu(hermitian), lower=False, symmetrize_input=False),
    }
    for name, x in (("any", any_), ("tall", tall), ("wide", wide)):
        found |= {
            f"lu {name}": linalg.lu(x),
            f"qr {name}": linalg.qr(x, full_matrices=False),
            f"full qr {name}": linalg.qr(x),
            f"pivoted qr {name}": linalg.qr(x, pivoting=True, full_matrices=False),
            f"svd {name}": linalg.svd(x, full_matrices=False),
            f"full svd {name}": linalg.svd(x),
            f"values {name}": linalg.svd(x, compute_uv=False),
        }
    return found


def without_derivatives(any_, hermitian):
    """Those of general matrices, and forms that are reached on the way."""
    return {
        "eig": linalg.eig(any_),
        "schur": linalg.schur(any_),
        "tridiagonal": linalg.tridiagonal(hermitian),
    }


def anywhere(function, *args):
    """A function's results by the program for a platform that has no library, run here."""
    exported = export.export(
        jit(function), platforms=["tpu"], disabled_checks=[export.DisabledSafetyCheck.platform()]
    )(*[weft.ShapeDtypeStruct(x.shape, x.dtype) for x in args])
    return exported.call(*args)


def orthonormal(q, tolerance):
    unit = onp.zeros_like(H(q) @ q) + onp.eye(q.shape[-1])
    onp.testing.assert_allclose(H(q) @ q, unit, atol=tolerance)


def check(found, dtype, any_, tall, wide, hermitian, definite):
    tolerance = 1e-4 if onp.dtype(dtype).name in ("float32", "complex64") else 1e-11
    close = lambda a, b: onp.testing.assert_allclose(a, b, atol=tolerance)  # noqa: E731
    found = weft.tree_util.tree_map(onp.asarray, found)
    factor = found["cholesky"]
    assert factor.dtype == dtype
    close(factor @ H(factor), definite)
    close(factor, onp.tril(factor))
    for name in ("eigh", "upper eigh"):
        v, w = found[name]
        close((v * w[..., None, :]) @ H(v), hermitian)
        orthonormal(v, tolerance)
        assert (onp.diff(w) >= 0).all()
    for name, x in (("any", any_), ("tall", tall), ("wide", wide)):
        m, n = x.shape[-2:]
        k = min(m, n)
        factors, pivots, order = found[f"lu {name}"]
        lower = onp.tril(factors[..., :k], -1) + onp.eye(m, k)
        close(lower @ onp.triu(factors[..., :k, :]), onp.take_along_axis(x, order[..., None], -2))
        assert pivots.dtype == order.dtype == "int32"
        assert (onp.abs(lower) <= 1 + tolerance).all()
        for kind, size in (("qr", k), ("full qr", m), ("pivoted qr", k)):
            q, r, *places = found[f"{kind} {name}"]
            assert (q.shape, r.shape) == ((2, m, size), (2, size, n))
            close(q @ r, onp.take_along_axis(x, places[0][:, None], -1) if places else x)
            close(r, onp.triu(r))
            orthonormal(q, tolerance)
            if places:
                sizes = onp.abs(onp.diagonal(r, axis1=1, axis2=2))
                assert (onp.diff(sizes) <= tolerance).all()
                left = onp.sqrt(onp.cumsum((onp.abs(r) ** 2)[:, ::-1], 1)[:, ::-1])
                assert (onp.triu(left) <= sizes[..., None] + tolerance).all()  # none was longer
        for kind in ("svd", "full svd"):
            u, s, vh = found[f"{kind} {name}"]
            close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
            orthonormal(u, tolerance)
            orthonormal(H(vh), tolerance)
            assert (onp.diff(s) <= 0).all()
            assert (s >= 0).all()
            assert u.shape[-1] == (m if kind == "full svd" else k)
        close(found[f"values {name}"], s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_laws_on_the_host(dtype):
    args = matrices(dtype)
    with weft.config.temporarily(eager_tier="host"):
        check(decompositions(*args), dtype, *args)


@pytest.mark.parametrize("dtype", DTYPES)
def test_laws_in_a_compiled_batch(dtype):
    args = matrices(dtype)
    found = jit(vmap(decompositions))(*args)
    check(found, dtype, *args)


def test_laws_where_there_is_no_library():
    any_, tall, _, hermitian, _ = matrices("complex64")
    close = lambda a, b: onp.testing.assert_allclose(a, b, atol=1e-4)  # noqa: E731

    def parts(any_, tall, upper):
        return (
            linalg.lu(any_),
            linalg.qr(tall, pivoting=True, full_matrices=False),
            linalg.eigh(upper, lower=False, symmetrize_input=False),
        )

    found = anywhere(parts, any_, tall, onp.triu(hermitian))
    (factors, _, order), (q, r, places), (v, w) = weft.tree_util.tree_map(onp.asarray, found)
    lower = onp.tril(factors, -1) + onp.eye(4)
    close(lower @ onp.triu(factors), onp.take_along_axis(any_, order[..., None], -2))
    close(q @ r, onp.take_along_axis(tall, places[:, None], -1))
    onp.testing.assert_array_equal(places, linalg.qr(tall, pivoting=True)[2])
    close((v * w[..., None, :]) @ H(v), hermitian)


def test_singular_systems_where_there_is_no_library():
    """Pivots that vanish are moved away from zero if that is asked for."""
    diagonals = onp.array([0.0, 1, 1]), onp.array([1.0, 1, 1]), onp.array([1.0, 0, 0])

    def both(*args):
        return [linalg.tridiagonal_solve(*args, perturb_singular=p) for p in (False, True)]

    plain, perturbed = anywhere(both, *diagonals, onp.ones((3, 1)))
    assert not onp.isfinite(plain).all()
    assert onp.isfinite(perturbed).all()


def test_solvers_where_there_is_no_library():
    a, b = table.numbers((4, 4), "complex64", 0), table.numbers((4, 2), "complex64", 1)
    options = {"left_side": True, "transpose_a": True, "conjugate_a": True}

    def solutions(a, b):
        return [
            linalg.triangular_solve(a, b, **options),
            linalg.tridiagonal_solve(a[0], a[1], a[2], b),
            linalg.ormqr(a[:, :3], a[3, :3], b, transpose=True),
        ]

    for found, wanted in zip(anywhere(solutions, a, b), solutions(a, b), strict=True):
        onp.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("dtype", "library"), [*[(dtype, True) for dtype in DTYPES], ("float32", False)]
)
def test_laws_of_eigenvectors_and_reduced_forms(dtype, library):
    any_, _, _, hermitian, _ = matrices(dtype)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    if library:
        found = jit(without_derivatives)(any_, hermitian)
    else:
        found = anywhere(without_derivatives, any_, hermitian)
    found = weft.tree_util.tree_map(onp.asarray, found)
    w, u, v = found["eig"]
    onp.testing.assert_allclose(any_ @ v, v * w[:, None], atol=tolerance)
    onp.testing.assert_allclose(H(u) @ any_, w[..., None] * H(u), atol=tolerance)
    onp.testing.assert_allclose(onp.linalg.norm(v, axis=1), 1, atol=tolerance)
    t, z = found["schur"]
    onp.testing.assert_allclose(z @ t @ H(z), any_, atol=tolerance)
    orthonormal(z, tolerance)
    assert onp.abs(onp.tril(t, -1 if dtype.startswith("c") else -2)).max() == 0
    _, d, e, _ = found["tridiagonal"]
    pairs = zip(d, e, strict=True)
    form = onp.stack([onp.diag(a) + onp.diag(b, 1) + onp.diag(b, -1) for a, b in pairs])
    onp.testing.assert_allclose(
        onp.linalg.eigvalsh(form), onp.linalg.eigvalsh(hermitian), atol=tolerance
    )


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (0, 3), (3, 0)])
def test_empty_matrices_and_stacks(shape):
    x = onp.zeros(shape, "float32")
    m, n = shape[-2:]
    functions = [
        lambda x: linalg.lu(x),
        lambda x: linalg.qr(x),
        lambda x: linalg.qr(x, pivoting=True),
        lambda x: linalg.svd(x),
        lambda x: [linalg.svd(x, compute_uv=False)],
    ]
    if m == n:
        functions += [
            linalg.eigh, linalg.eig, linalg.schur, linalg.hessenberg, linalg.tridiagonal,
            lambda x: [linalg.cholesky(x)],
        ]  # fmt: skip
    for f in functions:
        for found in (f(x), jit(f)(x)):
            assert all(not onp.isnan(y).any() for y in found)
    q, r = (onp.asarray(y) for y in linalg.qr(x))
    assert (q.shape, r.shape) == ((*shape[:-1], m), shape)
    onp.testing.assert_array_equal(q, onp.broadcast_to(onp.eye(m), q.shape))


def test_what_fails_is_nan_and_the_rest_of_the_stack_is_not():
    x = onp.stack([onp.full((3, 3), onp.nan), onp.eye(3)]).astype("float32")
    functions = [
        lambda x: [linalg.cholesky(x)],
        linalg.eigh,
        linalg.svd,
        lambda x: [linalg.svd(x, compute_uv=False)],
        linalg.eig,
    ]
    for f in functions:
        for found in (f(x), jit(f)(x)):
            for y in map(onp.asarray, found):
                assert [onp.isnan(part).any() for part in y] == [True, False]
    for found in (linalg.cholesky(-onp.eye(2)), jit(linalg.cholesky)(-onp.eye(2))):
        assert onp.isnan(onp.asarray(found)[onp.tril_indices(2)]).all()
        assert found[0, 1] == 0
    singular = linalg.triangular_solve(onp.zeros((2, 2)), onp.ones((2, 1)), left_side=True)
    assert not onp.isfinite(singular).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_computed_in_float32(dtype):
    x = np.asarray(matrices("float32")[4][0]).astype(dtype)
    wide = x.astype("float32")
    functions = [
        lambda x: [linalg.cholesky(x)],
        lambda x: linalg.lu(x)[:1],
        linalg.qr,
        linalg.eigh,
        linalg.svd,
        lambda x: [linalg.triangular_solve(x, x)],
        lambda x: [linalg.qdwh(x)[0]],
    ]
    for f in functions:
        for narrow, full in zip(f(x), f(wide), strict=True):
            assert narrow.dtype == dtype
            onp.testing.assert_array_equal(
                onp.asarray(narrow, "float32"), onp.asarray(full.astype(dtype), "float32")
            )
    assert linalg.eig(x)[0].dtype == "complex64"
    assert [a.dtype for a in linalg.lu(x)[1:]] == ["int32"] * 2
    assert weft.grad(lambda x: np.sum(linalg.cholesky(x)))(x).dtype == dtype


def test_subsets_and_algorithms():
    any_, tall, *_, definite = (x[0] for x in matrices("float64"))
    v, w = linalg.eigh(definite)
    part_v, part_w = linalg.eigh(definite, subset_by_index=(1, 3))
    onp.testing.assert_array_equal(part_w, w[1:3])
    onp.testing.assert_array_equal(part_v, v[:, 1:3])
    u, s, vh = linalg.svd(tall, full_matrices=False)
    parts = linalg.svd(tall, full_matrices=False, subset_by_index=(0, 2))
    for part, whole in zip(parts, (u[:, :2], s[:2], vh[:2]), strict=True):
        onp.testing.assert_array_equal(part, whole)
    for algorithm in linalg.SvdAlgorithm:
        found = linalg.svd(any_, compute_uv=False, algorithm=algorithm)
        onp.testing.assert_allclose(found, onp.linalg.svd(any_, compute_uv=False))
    for implementation in linalg.EighImplementation:
        found = linalg.eigh(definite, implementation=implementation)
        onp.testing.assert_array_equal(found[1], w)
    lower = linalg.eigh(onp.tril(definite), symmetrize_input=False)
    onp.testing.assert_allclose(lower[1], w, atol=1e-12)


SHAPE, KIND, VALUE = errors.ShapeError, TypeError, ValueError
BAD = [
    (lambda x: linalg.cholesky(x[0]), SHAPE, "cholesky: x must be square"),
    (lambda x: linalg.cholesky(x[:2]), SHAPE, "square matrices"),
    (lambda x: linalg.lu(x[0]), SHAPE, "lu: x must be matrices"),
    (lambda x: linalg.qr(x.astype("int32")), SHAPE, "float32.*fix: convert"),
    (lambda x: linalg.eigh(x[:2]), SHAPE, "eigh: x must be square"),
    (lambda x: linalg.eigh(x, subset_by_index=(2, 9)), VALUE, "subset_by_index"),
    (lambda x: linalg.eigh(x, implementation="qr"), KIND, "EighImplementation"),
    (lambda x: linalg.eig(x[:2]), SHAPE, "eig: x must be square"),
    (lambda x: linalg.svd(x, algorithm="qr"), KIND, "SvdAlgorithm"),
    (lambda x: linalg.svd(x, subset_by_index=(0, 1)), VALUE, "full_matrices=False"),
    (lambda x: linalg.schur(x, sort_eig_vals=True), VALUE, "sort_eig_vals"),
    (lambda x: linalg.hessenberg(x[:2]), SHAPE, "hessenberg: a must be square"),
    (lambda x: linalg.triangular_solve(x, x[:, :2]), SHAPE, "as many columns as a"),
    (lambda x: linalg.triangular_solve(x, x.astype("float32")), SHAPE, "one dtype"),
    (lambda x: linalg.tridiagonal_solve(x[0], x[0], x[0], x[0, :2]), SHAPE, "expected dl, d, du"),
    (lambda x: linalg.householder_product(x, x), SHAPE, "taus"),
    (lambda x: linalg.householder_product(x[:2], x[0, :1]), SHAPE, "at least as many rows"),
    (lambda x: linalg.ormqr(x, x[0], x[:2]), SHAPE, "as many rows as a"),
    (lambda x: linalg.lu_pivots_to_permutation(x, 3), SHAPE, "integer vectors"),
    (lambda x: linalg.lu_pivots_to_permutation(onp.zeros(4, "int32"), 3), SHAPE, "at least"),
    (lambda x: linalg.qdwh(x[:2]), SHAPE, "at least as many rows"),
    (lambda x: linalg.qdwh(x, max_iterations=0), VALUE, "max_iterations"),
    (lambda x: linalg.cholesky_update(x, x), SHAPE, r"a vector \[n\]"),
    (lambda x: linalg.symmetric_product(x, x[:2, :2]), SHAPE, r"\[\.\.\., m, m\]"),
    (lambda x: weft.grad(lambda x: np.sum(linalg.schur(x)[0]))(x), errors.WeftError, "schur"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_inputs_are_named(call, error, message):
    x = np.asarray(matrices("float64")[4][0][:3, :3])
    with pytest.raises(error, match=f"(?s){message}"):
        call(x)
