"""weft.scipy.linalg against SciPy: values, at once and compiled, derivatives, stacks."""

import mpmath
import numpy as onp
import pytest
import scipy.linalg as oracle
from row_names import row_name

import weft
import weft.numpy as np
import weft.scipy.linalg as ours
from weft import grad, jit, jvp, vmap
from weft.compiler import compiled as programs
from weft.tree_util import tree_leaves

RNG = onp.random.default_rng(13)


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def numbers(*shape, compound=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if compound else x


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def positive(n):
    x = numbers(n, n)
    return x @ x.T / n + onp.triu(numbers(n, n)) / n + 2 * onp.eye(n)


A, B, C, Z = numbers(4, 4), numbers(3, 3), numbers(4, 3), numbers(4, 4, compound=True)
TALL, WIDE = numbers(5, 3), numbers(3, 5, compound=True)
POSITIVE, POSITIVE_Z = A @ A.T + onp.eye(4), Z @ adjoint(Z) + onp.eye(4)
SMALL = Z / onp.linalg.norm(Z, 1)  # so that norms reach each degree of expm
LINE, COMPLEX_LINE = numbers(4), numbers(4, compound=True)
INTS = onp.array([1, -2, 3, 5])
TURN = onp.array([[0.0, 2.0, 1.0], [-1.0, 0.0, 3.0], [0.0, 0.0, 4.0]])
BAND = numbers(4, 5)


def plain(name):
    def run(lib, *args, **options):
        return getattr(lib, name)(*args, **options)

    run.__name__ = name
    return run


def by_factors(lib, a, b, **options):
    return lib.lu_solve(lib.lu_factor(a), b, **options)


def by_cholesky(lib, a, b, lower):
    return lib.cho_solve(lib.cho_factor(a, lower), b)


def cho_factor(lib, a, lower):
    c, flag = lib.cho_factor(a, lower)
    assert bool(flag) is lower
    return (c.T if lower else c) * onp.triu(onp.ones(a.shape))


def product(name, *parts):
    """The matrices that a decomposition multiplies to, and those that are the same for all."""

    def run(lib, a, *args, **options):
        found = getattr(lib, name)(a, *args, **options)
        return parts[0](*found)

    run.__name__ = name
    return run


def unitary_pair(t, z):
    return z @ t @ adjoint(z), abs(z @ adjoint(z))


def qr_parts(q, r, *order):
    return q @ r, abs(r), *order


def qr_without_q(lib, a, mode):
    return abs(lib.qr(a, mode=mode)[-1])


def qr_multiply(lib, a, c, **options):
    return [abs(x) for x in lib.qr_multiply(a, c, **options)]


def singular_values(lib, a, **options):
    return lib.svd(a, **options)[1]


def pairs(lib, *args, **options):
    w, v = lib.eigh(*args, **options)
    return w, abs(v)


def complex_form(lib, a):
    t, z = lib.rsf2csf(*lib.schur(a))
    return z @ t @ adjoint(z), abs(t * onp.tril(onp.ones(t.shape), -1))


def hermitian_line(lib, d, e, **options):
    found = lib.eigh_tridiagonal(d, e, **options)
    return (found[0], abs(found[1])) if isinstance(found, tuple) else found


TABLE = [
    *[
        (plain("toeplitz"), args, {})
        for args in [(LINE,), (LINE, numbers(3)), (COMPLEX_LINE,), (INTS, INTS[:2]), (2.0, LINE)]
    ],
    *[(plain("hankel"), args, {}) for args in [(LINE,), (INTS, INTS[:3])]],
    (plain("circulant"), (INTS,), {}),
    (plain("companion"), (LINE,), {}),
    (plain("fiedler"), (LINE,), {}),
    *[(plain("fiedler_companion"), (numbers(n),), {}) for n in (2, 3, 4, 5, 7)],
    (plain("leslie"), (LINE, numbers(3)), {}),
    *[
        (plain("convolution_matrix"), (numbers(k), n, mode), {})
        for k, n in ((3, 5), (5, 3), (4, 1))
        for mode in ("full", "same", "valid")
    ],
    *[(plain("block_diag"), xs, {}) for xs in [(A, TALL), (LINE, 2.0, INTS), (numbers(2, 0), A)]],
    *[(plain(f), (n,), {}) for f in ("hilbert", "invhilbert") for n in (1, 4)],
    *[
        (plain(f), (n, kind), {})
        for f in ("pascal", "invpascal")
        for n in (1, 4)
        for kind in ("symmetric", "lower", "upper")
    ],
    (plain("hadamard"), (4,), {}),
    (plain("helmert"), (4,), {}),
    (plain("helmert"), (3,), {"full": True}),
    *[(plain("dft"), (5, s), {}) for s in (None, "sqrtn", "n")],
    *[(plain("cholesky"), (x, low), {}) for x in (POSITIVE, POSITIVE_Z) for low in (False, True)],
    (cho_factor, (POSITIVE, True), {}),
    (cho_factor, (POSITIVE, False), {}),
    *[(by_cholesky, (POSITIVE_Z, b, low), {}) for b in (COMPLEX_LINE, C) for low in (False, True)],
    *[
        (plain("lu"), (x,), o)
        for x in (A, TALL, WIDE, Z)
        for o in ({}, {"permute_l": True}, {"p_indices": True})
    ],
    (plain("lu_factor"), (Z,), {}),
    *[(by_factors, (Z, b), {"trans": t}) for b in (COMPLEX_LINE, C) for t in (0, 1, 2)],
    *[
        (product("qr", qr_parts), (x,), {"mode": m, "pivoting": p})
        for x in (A, TALL, WIDE)
        for m in ("full", "economic")
        for p in (False, True)
    ],
    (qr_without_q, (TALL,), {"mode": "r"}),
    (qr_without_q, (TALL,), {"mode": "raw"}),
    *[
        (qr_multiply, args, o)
        for args, o in [
            ((TALL, numbers(2, 5)), {}),
            ((TALL, numbers(5)), {"pivoting": True}),
            ((TALL, C[:3]), {"mode": "left"}),
            ((WIDE.T, numbers(3)), {"mode": "left", "conjugate": True}),
        ]
    ],
    (plain("det"), (A,), {}),
    (plain("inv"), (Z,), {}),
    *[(pairs, (x,), o) for x in (POSITIVE, POSITIVE_Z) for o in ({}, {"subset_by_index": (1, 2)})],
    *[(pairs, (A + A.T, POSITIVE), {"type": k}) for k in (1, 2, 3)],
    (pairs, (Z + adjoint(Z), POSITIVE_Z), {}),
    (plain("eigh"), (A + A.T,), {"eigvals_only": True}),
    *[(singular_values, (TALL,), {"lapack_driver": d}) for d in ("gesdd", "gesvd")],
    (plain("svd"), (WIDE,), {"compute_uv": False}),
    *[(plain("polar"), (x,), {"side": s}) for x in (A, TALL, WIDE) for s in ("left", "right")],
    (plain("hessenberg"), (A,), {}),
    (plain("hessenberg"), (Z,), {"calc_q": True}),
    (plain("hessenberg"), (A[:1, :1],), {"calc_q": True}),
    *[
        (plain("solve_triangular"), (x, b), o)
        for x, b in [(A, LINE), (Z, C)]
        for o in [{}, {"trans": 1}, {"trans": "C", "lower": True}, {"unit_diagonal": True}]
    ],
    *[
        (plain("solve"), (x, b), {"assume_a": f})
        for x, b in [(POSITIVE, LINE), (POSITIVE_Z, C)]
        for f in ("gen", "her", "pos", None)
    ],
    *[
        (plain("solve"), (A, LINE), {"assume_a": f, "lower": low})
        for f in ("sym", "upper triangular")
        for low in (False, True)
    ],
    (plain("solve"), (onp.diag(LINE), LINE), {"assume_a": "diagonal"}),
    (plain("solve"), (onp.triu(onp.tril(A, 1), -1), C), {"assume_a": "tridiagonal"}),
    (plain("solve"), (A, LINE), {"transposed": True}),
    (plain("solve_banded"), ((1, 2), BAND, numbers(5)), {}),
    (plain("solve_banded"), ((1, 1), BAND[:3], numbers(5, 2)), {}),
    (plain("solveh_banded"), (onp.array([[0, 1, 2.0], [8, 9, 7]]), LINE[:3]), {}),
    (plain("solveh_banded"), (onp.array([[8, 9, 7.0], [1, 2, 0]]), LINE[:3]), {"lower": True}),
    (plain("solve_sylvester"), (A, B, C), {}),
    (plain("solve_sylvester"), (Z, B + 0.5j, C), {}),
    *[(plain("expm"), (x * s,), {}) for x in (A, Z) for s in (0.01, 1, 8)],
    (plain("expm"), (onp.stack([A, A * 9]),), {}),
    (plain("expm"), (onp.zeros((3, 3)),), {}),
    (plain("expm"), (onp.array([[1, 1e5], [0, -1.0]]),), {}),
    (plain("expm_frechet"), (A, A.T), {}),
    (plain("expm_frechet"), (A * 5, Z.real), {"compute_expm": False}),
    *[(plain("expm"), (SMALL * s,), {}) for s in (1e-3, 0.03, 0.5, 1.2, 3.0, 60.0)],
    *[(plain("sqrtm"), (x,), {}) for x in (POSITIVE, Z, onp.zeros((2, 2)))],
    *[(plain("sqrtm"), (positive(n),), {}) for n in (7, 8, 9, 17, 35)],
    *[(plain("logm"), (x,), {}) for x in (POSITIVE, Z, onp.eye(2) * 1e-8)],
    *[(plain("funm"), (x, lambda w: w * w), {}) for x in (A, Z)],
    *[(product("schur", unitary_pair), (x, o), {}) for x in (A, TURN) for o in ("real", "complex")],
    (complex_form, (TURN,), {}),
    (complex_form, (A,), {}),
    *[
        (hermitian_line, (LINE, numbers(3)), o)
        for o in ({}, {"eigvals_only": True}, {"select": "i", "select_range": (1, 2)})
    ],
    (
        hermitian_line,
        (INTS * 1.0, LINE[:3]),
        {"select": "v", "select_range": (0.0, 4.0), "eigvals_only": True},
    ),
]


def as_ours(args):
    return [np.asarray(a) if isinstance(a, onp.ndarray) else a for a in args]


def close(got, wanted):
    got, wanted = tree_leaves(got), tree_leaves(wanted)
    assert len(got) == len(wanted)
    for x, y in zip(got, wanted, strict=True):
        onp.testing.assert_allclose(onp.asarray(x), onp.asarray(y), rtol=1e-9, atol=1e-9)
        assert onp.shape(x) == onp.shape(y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", TABLE, ids=row_name)
def test_values(row):
    function, args, options = row
    close(function(ours, *as_ours(args), **options), function(oracle, *args, **options))


@pytest.mark.filterwarnings("ignore")
def test_values_in_one_compiled_program():
    rows = [r for r in TABLE[::8] if r[2].get("select") != "v"]
    traced = [[i for i, a in enumerate(args) if isinstance(a, onp.ndarray)] for _, args, _ in rows]

    def run(data):
        results = []
        for (function, args, options), places, arrays in zip(rows, traced, data, strict=True):
            every = list(args)
            for i, x in zip(places, arrays, strict=True):
                every[i] = x
            results.append(function(ours, *every, **options))
        return results

    data = [[np.asarray(r[1][i]) for i in places] for r, places in zip(rows, traced, strict=True)]
    for got, (function, args, options) in zip(jit(run)(data), rows, strict=True):
        close(got, function(oracle, *args, **options))


DIFFERENTIABLE = [
    (ours.expm, [A], 2),
    (ours.expm, [Z * 3], 1),
    (ours.sqrtm, [POSITIVE], 2),
    (ours.sqrtm, [Z], 1),
    (ours.sqrtm, [onp.eye(3)], 2),
    (ours.logm, [POSITIVE], 1),
    (ours.solve_sylvester, [A, B, C], 2),
    (lambda a, b, c: ours.solve_sylvester(a, b, c, method="eigen"), [A, B, C], 1),
    (lambda a, b: ours.solve(a @ a.mT, b, assume_a="pos"), [A, LINE], 2),
    (lambda a, b: by_factors(ours, a, b), [Z, C], 1),
    (lambda a, b: ours.eigh(a + a.mT, b @ b.mT, eigvals_only=True), [A, POSITIVE], 1),
    (lambda a: ours.polar(a)[1], [TALL], 2),
    (lambda d, e: ours.eigh_tridiagonal(d, e, eigvals_only=True), [LINE, numbers(3)], 2),
    (lambda d, e: ours.eigh_tridiagonal(d, e, eigvals_only=True), [numbers(70), numbers(69)], 1),
    (lambda c, r: ours.toeplitz(c, r) ** 2, [LINE, numbers(3)], 1),
    (lambda ab, b: ours.solve_banded((1, 2), ab, b), [BAND, numbers(5)], 1),
]


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=row_name)
def test_both_modes_against_finite_differences(row):
    function, args, order = row
    args = as_ours(args)
    places = tuple(range(len(args)))
    for _ in range(order):
        shape = np.shape(function(*args))
        weights = numbers(*shape, compound=True)
        f = lambda *xs, g=function, w=weights: (g(*xs) * w).real.sum()  # noqa: E731
        tangents = [np.asarray(numbers(*a.shape, compound=np.iscomplexobj(a))) for a in args]
        ends = [f(*[a + s * t for a, t in zip(args, tangents, strict=True)]) for s in (1e-5, -1e-5)]
        wanted = float(ends[0] - ends[1]) / 2e-5
        _, pushed = jvp(f, tuple(args), tuple(tangents))
        gradient = grad(f, places)(*args)
        pulled = sum(float((g * t).real.sum()) for g, t in zip(gradient, tangents, strict=True))
        scale = max(1.0, abs(wanted))
        assert abs(float(pushed) - wanted) < 1e-4 * scale
        assert abs(pulled - float(pushed)) < 1e-8 * scale
        function = lambda *xs, f=f: np.concatenate(  # noqa: E731
            [g.ravel() for g in grad(f, places)(*xs)]
        )


@pytest.mark.parametrize("size", [1e-30, 1.0, 3e37])
@pytest.mark.parametrize("kind", ["random", "alike", "apart", "graded", "complex"])
def test_bisected_eigenvalues_are_exact_to_the_last_place_of_the_largest(kind, size):
    n = 80
    d, e = numbers(2, n), numbers(2, n - 1)
    if kind == "alike":  # a cluster of equal eigenvalues, and quotients of 0
        d, e = onp.zeros((2, n)), onp.where(onp.arange(n - 1) % 7 == 0, 0.0, 1.0) * [[1.0], [1e-9]]
    elif kind == "apart":
        e[:, ::5] = 0
    elif kind == "graded":
        d, e = d * 10.0 ** -onp.arange(n), e * 10.0 ** -onp.arange(n - 1)
    elif kind == "complex":
        e = numbers(2, n - 1, compound=True)
    # NumPy's are off by 12 units in float64
    for dtype, error in (("float64", 40 * 2.0**-52), ("float32", 2.0**-23)):
        line = (d * size).astype(dtype)
        off = (e * size).astype(onp.result_type(e.dtype, dtype) if dtype == "float64" else
                                "complex64" if kind == "complex" else dtype)  # fmt: skip
        wide = line[0].astype("float64"), off[0].astype(onp.result_type(off.dtype, "float64"))
        wanted = onp.linalg.eigvalsh(onp.diag(wide[0]) + onp.diag(wide[1], -1))
        found = ours.eigh_tridiagonal(line, off, eigvals_only=True)
        assert found.dtype == dtype
        onp.testing.assert_allclose(found[0], wanted, rtol=0, atol=error * abs(wanted).max())
        onp.testing.assert_array_equal(
            ours.eigh_tridiagonal(line[0], off[0], eigvals_only=True, select="i",
                                  select_range=(3, 5)), found[0][3:6])  # fmt: skip


@pytest.mark.parametrize("norm", [0.01, 0.1, 0.24, 0.9, 1.8, 6.0])
def test_each_degree_of_expm_is_exact_where_it_is_taken(norm):
    x = abs(SMALL) * norm
    with mpmath.workdps(40):
        wanted = onp.array(mpmath.expm(mpmath.matrix(x.tolist())).tolist(), dtype=float)
    # SciPy's is off by 4e-14 of the largest element for a norm of 4
    onp.testing.assert_allclose(ours.expm(x), wanted, rtol=0, atol=4e-15 * wanted.max())


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("compound", [False, True])
def test_positive_definite_systems_depend_on_one_triangle(compound, lower, transposed):
    part, rest = (onp.tril, onp.triu) if lower else (onp.triu, onp.tril)
    a = (POSITIVE_Z if compound else POSITIVE) + rest(A, 1 if lower else -1)
    w, b, db = numbers(4, 2), numbers(4, 2), numbers(4, 2)
    da = numbers(4, 4, compound=compound)

    def f(a, b):
        x = ours.solve(a, b, assume_a="pos", lower=lower, transposed=transposed)
        return np.sum(np.real(w * x))

    whole = POSITIVE_Z if compound else POSITIVE
    wanted = onp.linalg.solve(whole.T if transposed else whole, b)
    onp.testing.assert_allclose(f(a, b), onp.sum((w * wanted).real))
    step = 1e-6
    slope = (f(a + step * da, b + step * db) - f(a - step * da, b - step * db)) / (2 * step)
    onp.testing.assert_allclose(jvp(f, (a, b), (da, db))[1], slope, rtol=1e-6)
    to_a, to_b = grad(f, (0, 1))(a, b)
    onp.testing.assert_allclose(np.sum((to_a * da).real) + np.sum(to_b * db), slope, rtol=1e-6)
    assert not onp.any(to_a - part(to_a))
    text = jit(grad(f)).lower(a, b).as_text()
    assert (text.count("potrf"), text.count("trsm")) == (1, 4)


def test_batches_are_loops():
    stack, right = np.asarray(numbers(3, 2, 2)), np.asarray(numbers(3, 2))

    def everything(a, b):
        positive = a @ a.mT + np.eye(2)
        lu, piv = ours.lu_factor(a)
        return [
            ours.expm(a), ours.sqrtm(positive), ours.solve(a, b),
            ours.lu_solve((lu, piv), b), ours.cho_solve(ours.cho_factor(positive), b),
            ours.toeplitz(b), ours.solve_sylvester(a, positive, a),
        ]  # fmt: skip

    mapped = jit(vmap(everything))(stack, right)
    for i in range(3):
        close([x[i] for x in mapped], everything(stack[i], right[i]))
    close(ours.expm(stack), mapped[0])  # stacks, without vmap
    close(ours.sqrtm(stack @ stack.mT + np.eye(2)), mapped[1])
    close(ours.solve(stack, right[..., None])[..., 0], mapped[2])
    close(ours.toeplitz(right), mapped[5])


def test_what_has_no_result_is_nan():
    assert np.isnan(ours.expm(np.eye(2) * 1e6, max_squarings=3)).all()
    assert np.isnan(ours.expm(np.full((2, 2), np.inf))).all()
    assert np.isnan(ours.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))).any()  # it has no root
    assert np.isnan(ours.cholesky(-np.eye(2))).any()
    assert np.isnan(ours.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2)))).all()
    assert not np.isfinite(ours.solve(np.zeros((2, 2)), np.ones(2))).any()


def test_small_floats_and_integers():
    half = np.asarray(A, np.float16)
    for f in (ours.expm, ours.inv, ours.det, lambda a: ours.lu(a)[2], lambda a: ours.polar(a)[0]):
        assert f(half).dtype == np.float16
        assert f(np.arange(4).reshape(2, 2) + np.eye(2, dtype=int)).dtype == np.float64
    with weft.config.temporarily(enable_x64=False):
        assert ours.expm(np.eye(2, dtype=int)).dtype == np.float32
        close(
            np.asarray(ours.expm(np.asarray(A, np.float32)) - oracle.expm(A)) / 1e5,
            onp.zeros((4, 4)),
        )


def test_estimates_of_errors():
    _, error = ours.funm(np.asarray(Z), np.exp, disp=False)
    assert 0 < float(error) < 1e-12
    _, error = ours.logm(np.asarray(Z), disp=False)
    assert float(error) < 1e-12


BAD = [
    (ValueError, "side", lambda: ours.polar(A, "up")),
    (ValueError, "mode", lambda: ours.qr(A, mode="all")),
    (ValueError, "pivoting", lambda: ours.qr(A, mode="raw", pivoting=True)),
    (ValueError, "lapack_driver", lambda: ours.svd(A, lapack_driver="best")),
    (ValueError, "type", lambda: ours.eigh(A, A, type=4)),
    (ValueError, "eigvals", lambda: ours.eigh(A, eigvals=(0, 1))),
    (ValueError, "subset_by_index", lambda: ours.eigh(A, subset_by_index=(2, 9))),
    (ValueError, "trans", lambda: ours.solve_triangular(A, LINE, trans=3)),
    (ValueError, "assume_a", lambda: ours.solve(A, LINE, assume_a="nice")),
    (ValueError, "method", lambda: ours.solve_sylvester(A, B, C, method="guess")),
    (ValueError, "output", lambda: ours.schur(A, "imaginary")),
    (ValueError, "max_squarings", lambda: ours.expm(A, max_squarings=-1)),
    (ValueError, "blocksize", lambda: ours.sqrtm(A, blocksize=2)),
    (ValueError, "select", lambda: ours.eigh_tridiagonal(LINE, LINE[1:], select="x")),
    (ValueError, "select_range", lambda: ours.eigh_tridiagonal(LINE, LINE[1:], select="i")),
    (ValueError, "mode", lambda: ours.convolution_matrix(LINE, 2, "round")),
    (ValueError, "power of two", lambda: ours.hadamard(3)),
    (ValueError, "kind", lambda: ours.pascal(3, "round")),
    (ValueError, "scale", lambda: ours.dft(3, "m")),
    (ValueError, "n must not be negative", lambda: ours.hilbert(-1)),
    (TypeError, "n must be an int", lambda: ours.hilbert(2.5)),
    (weft.errors.ShapeError, "square", lambda: ours.expm(TALL)),
    (weft.errors.ShapeError, "square", lambda: ours.cho_factor(TALL)),
    (weft.errors.ShapeError, "b must be", lambda: ours.solve_triangular(A, LINE[:2])),
    (weft.errors.ShapeError, "one shape", lambda: ours.expm_frechet(A, B)),
    (weft.errors.ShapeError, "C ", lambda: ours.solve_sylvester(A, B, A)),
    (weft.errors.ShapeError, "one element fewer", lambda: ours.leslie(LINE, LINE)),
    (weft.errors.ShapeError, "vector", lambda: ours.companion(A)),
    (weft.errors.ShapeError, "two axes", lambda: ours.block_diag(onp.zeros((2, 2, 2)))),
    (weft.errors.ShapeError, "ab", lambda: ours.solve_banded((1, 1), A, LINE)),
]


@pytest.mark.parametrize("row", BAD, ids=row_name)
def test_bad_inputs_are_refused(row):
    kind, message, call = row
    with pytest.raises(kind, match=message):
        call()


def test_permutations_of_complex_matrices_are_real():
    permutation, lower, _ = ours.lu(Z.astype("complex64"))
    assert permutation.dtype == onp.float32
    assert lower.dtype == onp.complex64


@pytest.mark.parametrize(
    "function",
    [
        ours.expm,
        ours.logm,
        ours.sqrtm,
        ours.schur,
        ours.polar,
        lambda x: ours.expm_frechet(x, x),
        lambda x: ours.cho_solve((x, True), x[0]),
    ],
)
def test_eager_calls_compile_nothing_anew(function, monkeypatch):
    x = np.array(onp.eye(8) * 2 + 0.3 * RNG.random((8, 8)), "float32")
    for _ in range(3):
        function(x)
    compiled = []
    monkeypatch.setattr(programs, "compile_program", lambda *args: compiled.append(args))
    function(x)
    assert not compiled


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_expm_mixes_no_dtypes(dtype):
    a = onp.array([[0.0, 1.0], [-1.0, 0.5]], dtype)
    with weft.numpy_dtype_promotion("strict"):
        found = [f(a) for f in (ours.expm, jit(ours.expm))]
    for x in found:
        onp.testing.assert_allclose(x, oracle.expm(a), rtol=1e-5, atol=1e-6)
