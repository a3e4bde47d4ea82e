"""cg, gmres and bicgstab against NumPy's solutions."""

import functools
import itertools

import numpy as onp
import pytest
import sampling

import weft
import weft.numpy as np
from weft.scipy.sparse import linalg

RNG = onp.random.default_rng(5)
N = 5
incremental = functools.partial(linalg.gmres, solve_method="incremental")
METHODS = {
    "bicgstab": linalg.bicgstab,
    "cg": linalg.cg,
    "gmres": linalg.gmres,
    "incremental": incremental,
    "restarted": functools.partial(incremental, restart=3),
}


@pytest.fixture(autouse=True)
def x64():
    with weft.enable_x64(True):
        yield


def system(name, complex_numbers=False):
    """A matrix, for cg a Hermitian one, a preconditioner, and two right-hand sides."""
    root = RNG.normal(size=(N, N))
    if complex_numbers:
        root = root + 1j * RNG.normal(size=(N, N))
    A = root @ root.conj().T + N * onp.eye(N) if name == "cg" else root + 6 * onp.eye(N)
    M = onp.diag(1 / onp.diag(A))
    b = RNG.normal(size=(2, N)) + (1j * RNG.normal(size=(2, N)) if complex_numbers else 0)
    return A, M, b


@pytest.mark.parametrize(
    ("name", "complex_numbers"),
    [
        *sampling.some([("bicgstab", False), ("bicgstab", True)], 1, "bicgstab"),
        ("cg", True),  # a complex Hermitian matrix is not its own transpose
        *sampling.some([("gmres", False), ("incremental", True)], 1, "gmres"),
    ],
)
def test_solutions_and_their_derivatives(name, complex_numbers):
    """In one program: mapped over right-hand sides, with a preconditioner and derivatives."""
    A, M, b = system(name, complex_numbers)
    solve = METHODS[name]

    def total(A, b):
        x, info = solve(A, b, tol=1e-13, M=M)
        assert info is None
        return np.sum(np.abs(x) ** 2), x

    mapped = weft.vmap(weft.value_and_grad(total, (0, 1), has_aux=True), (None, 0))
    (_, x), (dA, db) = weft.jit(mapped)(A, b)
    exact = onp.linalg.solve(A, b.T).T
    onp.testing.assert_allclose(x, exact, rtol=1e-9)
    # of |x|²: conj(db) solves Aᴴ y = 2 x, and dA = - db xᵀ
    y = 2 * onp.linalg.solve(A.conj().T, exact.T).T
    onp.testing.assert_allclose(db, y.conj(), rtol=1e-7, atol=1e-10)
    expected = -y.conj()[:, :, None] * exact[:, None, :]
    onp.testing.assert_allclose(dA, expected, rtol=1e-7, atol=1e-10)


def test_as_many_directions_as_unknowns_are_enough():
    """One cycle, which so isn't made good by the next one."""
    A, _, b = system("gmres", complex_numbers=True)
    x, _ = linalg.gmres(A, b[0], tol=1e-13, maxiter=1)
    onp.testing.assert_allclose(x, onp.linalg.solve(A, b[0]), rtol=1e-10)


@pytest.mark.parametrize("name", sampling.some(["bicgstab", "cg", "restarted"], 2, "starts"))
def test_trees_functions_starts_and_limits(name):
    A, _, b = system(name)
    solve = METHODS[name]
    tree = {"x": b[0, :2].reshape(2, 1), "y": b[0, 2:]}

    def product(t):
        whole = np.dot(A, np.concatenate([t["x"].ravel(), t["y"]]))
        return {"x": whole[:2].reshape(2, 1), "y": whole[2:]}

    exact = onp.linalg.solve(A, b[0])
    if name == "restarted":
        solve = functools.partial(solve, restart=2)
    found, _ = solve(product, tree, tol=1e-12)
    onp.testing.assert_allclose(onp.ravel(found["x"]), exact[:2], rtol=1e-9)
    onp.testing.assert_allclose(found["y"], exact[2:], rtol=1e-9)
    # one who begins at the solution doesn't move; one step of many isn't enough
    start = {"x": exact[:2].reshape(2, 1), "y": exact[2:]}
    again, _ = solve(product, tree, start, tol=1e-8)
    onp.testing.assert_array_equal(again["y"], start["y"])
    rough, _ = solve(product, tree, tol=1e-12, maxiter=1)
    assert onp.abs(onp.asarray(rough["y"]) - exact[2:]).max() > 1e-6
    if name == "restarted":
        return
    loose, _ = solve(product, tree, tol=0.0, atol=1e3)
    assert not onp.asarray(loose["y"]).any()  # the start, zero, is as near as was asked for
    none, _ = solve(product, weft.tree_util.tree_map(lambda v: 0 * v, tree))
    assert not onp.asarray(none["y"]).any()


@pytest.mark.parametrize("name", ["bicgstab", "cg", "gmres"])
def test_a_traced_tolerance_below_zero_is_zero(name):
    A, _, (b, _) = system(name)
    x, _ = weft.jit(lambda tol, atol: METHODS[name](A, b, tol=tol, atol=atol))(-1.0, -2.0)
    onp.testing.assert_allclose(x, onp.linalg.solve(A, b), rtol=1e-9)


def test_dtypes_follow_the_system_and_nothing_hangs():
    A = onp.array([[2.0, 0.0], [0.0, 4.0]], "float32")
    assert linalg.cg(A, onp.array([2, 4]))[0].dtype == onp.float64
    with weft.enable_x64(False):
        x, _ = linalg.cg(A, onp.array([2, 4]))
        assert x.dtype == onp.float32
        onp.testing.assert_allclose(x, [1, 1], rtol=1e-6)
    singular = onp.array([[1.0, 0.0], [0.0, 0.0]])
    for name in ("bicgstab", "cg", "gmres"):
        METHODS[name](singular, onp.array([1.0, 1.0]))  # has no solution


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A, b: linalg.cg("A", b), "A must be a square matrix or a function"),
        (lambda A, b: linalg.cg(A[:2], b), "A must be a square matrix"),
        (lambda A, b: linalg.cg(A, b, M=3.0), "M must be a square matrix"),
        (lambda A, b: linalg.cg(A, b[:2]), "dot|must be like b"),
        (lambda A, b: linalg.bicgstab(lambda x: x[:1], b), "A x must be like b"),
        (lambda A, b: linalg.gmres(A, b, x0=b[:2]), "x0 must be like b"),
        (lambda A, b: linalg.gmres(A, b, solve_method="other"), "solve_method"),
        (lambda A, b: linalg.gmres(A, b, restart=0), "restart must be a positive int"),
        (lambda A, b: linalg.cg(A, b, maxiter=1.5), "maxiter must be an int"),
        (lambda A, b: linalg.cg(A, b, maxiter=0), "maxiter must be a positive int"),
        (lambda A, b: linalg.cg(A, b, tol=-1), "cg: tol must be 0 or more; got -1"),
        (lambda A, b: linalg.bicgstab(A, b, atol=-1.0), "bicgstab: atol must be 0 or more"),
        (lambda A, b: linalg.gmres(A, b, tol=float("nan")), "gmres: tol must be 0 or more"),
    ],
)
def test_refusals(call, message):
    A, _, b = system("cg")
    with pytest.raises((TypeError, ValueError), match=message):
        call(A, b[0])


@pytest.mark.parametrize("solve", [linalg.cg, linalg.gmres, linalg.bicgstab])
def test_results_are_weak_where_all_that_they_come_from_is(solve):
    for b, A, x0, weak in [
        (6.0, lambda x: 2 * x, None, True),
        (6, lambda x: 2 * x, 1.0, True),
        (np.float32(6), lambda x: 2 * x, None, False),
        (6.0, lambda x: np.float32(2) * x, None, False),
        (6.0, lambda x: 2 * x, np.float32(1), False),
    ]:
        x, _ = solve(A, b, x0)
        assert x.weak_type == weak
        onp.testing.assert_allclose(x, 3.0, rtol=1e-5)
    x, _ = solve(
        lambda x: {k: 2 * v for k, v in x.items()}, {"u": 2.0, "v": np.asarray(4.0, float)}
    )
    assert (x["u"].weak_type, x["v"].weak_type) == (True, False)


MIXED = list(itertools.product(
    ("gmres", "bicgstab", "cg"), ("bfloat16", "float32", "complex64"), ("float32", "complex64"),
    (False, True),
))  # fmt: skip


@pytest.mark.parametrize(("name", "one", "other", "preconditioned"), MIXED)
def test_leaves_of_several_dtypes_are_one_vector(name, one, other, preconditioned):
    def scaled(tree):
        return {"a": 2 * tree["a"], "b": 3 * tree["b"]}

    def wide(tree):
        return {"a": tree["a"] * onp.float32(0.5), "b": tree["b"]}

    b = {"a": np.ones(2, one), "b": np.full(3, 2.0, other)}
    for x0 in (None, {"a": onp.zeros(2, "float32"), "b": onp.zeros(3, "float32")}):
        options = {"M": wide} if preconditioned else {}
        x, _ = getattr(linalg, name)(scaled, b, x0, **options)
        onp.testing.assert_allclose(onp.asarray(x["a"], "complex64"), 1 / 2, atol=1e-2)
        onp.testing.assert_allclose(onp.asarray(x["b"], "complex64"), 2 / 3, atol=1e-4)


@pytest.mark.parametrize("name", ["gmres", "bicgstab", "cg"])
def test_complex_systems_are_solved_under_strict_promotion(name):
    a, b = onp.array([[4, 1j], [-1j, 3]], "complex64"), onp.array([1, 2j], "complex64")
    with weft.numpy_dtype_promotion("strict"):
        x, _ = getattr(linalg, name)(a, b)
    onp.testing.assert_allclose(x, onp.linalg.solve(a, b), atol=1e-5)
