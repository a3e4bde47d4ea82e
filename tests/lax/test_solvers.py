"""custom_root and custom_linear_solve: values and derivatives of any order, against formulas."""

import numpy as np
import pytest

import weft
import weft.numpy as jnp
from weft import lax

RNG = np.random.default_rng(0)
A = (RNG.normal(size=(2, 2)) + 4 * np.eye(2)).astype("f")
B = RNG.normal(size=2).astype("f")
S = (A @ A.T / 10 + np.eye(2)).astype("f")


def close(got, expected, tolerance=2e-4):
    weft.tree_util.tree_map(
        lambda g, e: np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance), got, expected
    )


def richardson(matvec, b):
    """An iteration that reverse mode can't go through."""
    step = lambda state: (state[0] + 1, state[1] + 0.15 * (b - matvec(state[1])))  # noqa: E731
    return lax.while_loop(lambda state: state[0] < 300, step, (0, jnp.zeros_like(b)))[1]


def by_columns(matvec, b):
    """Cramer's rule for the matrix of a linear function."""
    m = weft.vmap(matvec, out_axes=1)(jnp.eye(2))
    inverse = jnp.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]])
    return inverse @ b / (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])


def general(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, by_columns, by_columns)


def symmetric(a, b):
    a = (a + a.T) / 2
    return lax.custom_linear_solve(lambda x: a @ x, b, richardson, symmetric=True)


def expected_gradients(a, b, weights, average):
    """The implicit rule, written out: of sum(weights * x) in A and b."""
    a = (a + a.T) / 2 if average else a
    adjoint = np.linalg.solve(a.T, weights)
    of_a = -np.outer(adjoint, np.linalg.solve(a, b))
    return (of_a + of_a.T) / 2 if average else of_a, adjoint


SYSTEMS = [pytest.param(general, A, id="general"), pytest.param(symmetric, S, id="symmetric")]
WEIGHTS = np.float32([1.0, -2.0])


@pytest.mark.parametrize(("solve", "a"), SYSTEMS)
@pytest.mark.parametrize("jit", [lambda f: f, weft.jit])
def test_solution_and_first_derivatives(solve, a, jit):
    close(jit(solve)(a, B), np.linalg.solve(a, B))
    loss = lambda a, b: jnp.sum(WEIGHTS * solve(a, b))  # noqa: E731
    expected = expected_gradients(a, B, WEIGHTS, solve is symmetric)
    close(jit(weft.grad(loss, (0, 1)))(a, B), expected)
    da, db = RNG.normal(size=(2, 2)).astype("f"), RNG.normal(size=2).astype("f")
    _, t = jit(lambda *xs: weft.jvp(loss, xs, (da, db)))(a, B)
    close(t, np.sum(expected[0] * da) + expected[1] @ db, 1e-3)
    close(jit(weft.jacfwd(loss))(a, B), expected[0])
    _, linear = weft.linearize(loss, a, B)
    close(linear(da, db), t)


@pytest.mark.parametrize(("solve", "a"), SYSTEMS)
def test_second_derivatives(solve, a):
    direct = lambda b: jnp.sum(WEIGHTS * solve(a, b) ** 2)  # noqa: E731
    whole = (a + a.T) / 2 if solve is symmetric else a
    inverse = np.linalg.inv(whole)
    close(weft.hessian(direct)(B), 2 * inverse.T @ np.diag(WEIGHTS) @ inverse)
    slope = lambda s: jnp.sum(solve(s * a, B))  # noqa: E731
    total = np.linalg.solve(whole, B).sum()
    close(weft.grad(slope)(1.0), -total, 1e-3)
    close(weft.grad(weft.grad(slope))(1.0), 2 * total, 1e-3)
    close(weft.jit(weft.jacfwd(weft.grad(slope)))(1.0), 2 * total, 1e-3)


@pytest.mark.parametrize(("solve", "a"), SYSTEMS)
def test_batches(solve, a):
    matrices, sides = np.stack([a, a + np.eye(2, dtype="f")]), RNG.normal(size=(2, 2)).astype("f")
    loss = lambda a, b: jnp.sum(WEIGHTS * solve(a, b))  # noqa: E731
    for in_axes in ((0, 0), (0, None), (None, 0)):
        args = (matrices if in_axes[0] == 0 else a, sides if in_axes[1] == 0 else B)
        row = lambda i, args=args, in_axes=in_axes: [  # noqa: E731
            x if axis is None else x[i] for x, axis in zip(args, in_axes, strict=True)
        ]
        for f in (solve, weft.grad(loss), weft.jit(weft.grad(loss, 1))):
            expected = np.stack([f(*row(i)) for i in range(2)])
            close(weft.vmap(f, in_axes)(*args), expected)


def test_trees_and_auxiliary_values():
    def f(scale, b):
        def solve(matvec, b):
            ones = weft.tree_util.tree_map(jnp.ones_like, b)
            divide = lambda x, y: x / y  # noqa: E731
            return weft.tree_util.tree_map(divide, b, matvec(ones)), {"steps": 3, "norm": scale * 1}

        matvec = lambda x: {"u": scale * x["u"], "v": 2 * scale * x["v"]}  # noqa: E731
        return lax.custom_linear_solve(matvec, b, solve, symmetric=True, has_aux=True)

    b = {"u": jnp.ones(2), "v": jnp.ones((2, 2))}
    x, aux = f(4.0, b)
    close(x, {"u": np.full(2, 0.25), "v": np.full((2, 2), 0.125)})
    assert (aux["steps"], aux["norm"]) == (3, 4.0)
    loss = lambda scale, b: jnp.sum(f(scale, b)[0]["v"])  # noqa: E731
    close(weft.grad(loss)(4.0, b), -4 / (2 * 16))
    close(weft.jit(weft.grad(loss, 1))(4.0, b), {"u": np.zeros(2), "v": np.full((2, 2), 0.125)})


@pytest.mark.parametrize("jit", [lambda f: f, weft.jit])
@pytest.mark.parametrize("is_symmetric", [False, True])
def test_the_vjp_of_the_jvp_of_a_solution_with_auxiliary_values(jit, is_symmetric):
    def solve(a, b):
        solver = lambda matvec, b: (by_columns(matvec, b), {"norm": 2.0})  # noqa: E731
        other = None if is_symmetric else solver
        options = {"symmetric": is_symmetric, "has_aux": True}
        return lax.custom_linear_solve(lambda x: a @ x, b, solver, other, **options)

    def slope(a, b):  # of the weighted solution, in the direction (da, db)
        _, (dx, _) = weft.jvp(solve, (a, b), (da, db))
        return jnp.sum(WEIGHTS * dx)

    def expected(a, b):
        return WEIGHTS @ np.linalg.solve(a, db - da @ np.linalg.solve(a, b))

    with weft.enable_x64(True):
        a, b = (S if is_symmetric else A).astype("d"), B.astype("d")
        da, db, ta, tb = (RNG.normal(size=n) for n in ((2, 2), 2, (2, 2), 2))
        got = jit(weft.grad(slope, (0, 1)))(a, b)
        step = 1e-5
        difference = expected(a + step * ta, b + step * tb) - expected(a - step * ta, b - step * tb)
        close(np.sum(got[0] * ta) + np.sum(got[1] * tb), difference / (2 * step), 1e-8)


def test_a_solver_that_closes_over_traced_values():
    @weft.jit
    def f(a, guess):
        def solve(matvec, b):
            step = lambda i, x: x + 0.15 * (b - matvec(x))  # noqa: E731
            return lax.fori_loop(0, 300, step, guess)

        return lax.custom_linear_solve(lambda x: a @ x, B, solve, symmetric=True)

    close(f(S, np.ones(2, "f")), np.linalg.solve(S, B))
    close(weft.vmap(f, (None, 0))(S, np.ones((2, 2), "f")), np.stack([np.linalg.solve(S, B)] * 2))
    loss = lambda a: jnp.sum(WEIGHTS * f(a, np.ones(2, "f")))  # noqa: E731
    close(weft.grad(loss)(S), expected_gradients(S, B, WEIGHTS, False)[0])


def test_what_a_linear_solve_refuses():
    solve = lax.custom_linear_solve
    forward_only = lambda b: jnp.sum(solve(lambda x: A @ x, b, by_columns))  # noqa: E731
    close(weft.jvp(forward_only, (B,), (B,))[1], np.linalg.solve(A, B).sum())
    with pytest.raises(
        TypeError, match=r"(?s)custom_linear_solve: reverse-mode .* transpose_solve"
    ):
        weft.grad(forward_only)(B)
    with pytest.raises(
        TypeError, match=r"A x, .* must be like b.*float32\[2\].*got .*float32\[1\]"
    ):
        solve(lambda x: x[:1], B, by_columns)
    with pytest.raises(TypeError, match=r"x, .*must be like b"):
        solve(lambda x: x, B, lambda matvec, b: (b, b))
    with pytest.raises(TypeError, match="b must be floating-point or complex"):
        solve(lambda x: x, 3, lambda matvec, b: b)
    with pytest.raises(TypeError, match=r"has_aux=True .* must return a pair"):
        solve(lambda x: x, B, lambda matvec, b: b, has_aux=True)
    with pytest.raises(TypeError, match="custom_linear_solve: solve: expected a function"):
        solve(lambda x: x, B, 3)


# --- roots ---


def newton(f, x):
    return lax.fori_loop(0, 12, lambda i, x: x - f(x) / weft.grad(f)(x), x)


def cube_root(p):
    return lax.custom_root(lambda x: x**3 - p, 1.0, newton, lambda g, y: y / g(1.0))


@pytest.mark.parametrize("jit", [lambda f: f, weft.jit])
def test_roots_and_their_derivatives(jit):
    p = 5.0
    close(jit(cube_root)(p), p ** (1 / 3))
    close(jit(weft.grad(cube_root))(p), p ** (-2 / 3) / 3)
    close(jit(weft.jacfwd(cube_root))(p), p ** (-2 / 3) / 3)
    close(jit(weft.grad(weft.grad(cube_root)))(p), -2 / 9 * p ** (-5 / 3))
    ps = np.float32([2.0, 5.0])
    close(jit(weft.vmap(weft.grad(cube_root)))(ps), ps ** (-2 / 3) / 3)


def test_roots_of_systems_in_containers():
    def solve_with(p):
        f = lambda x: {"a": x["a"] ** 2 - p[0] * p[1], "b": x["b"] * x["a"] - p[1]}  # noqa: E731

        def guessed(f, guess):  # what a solver closes over is not differentiated
            a = jnp.sqrt(p[0] * p[1])
            return {"a": a, "b": p[1] / a}

        def tangent_solve(g, y):
            flat, unflatten = weft.flatten_util.ravel_pytree(y)
            jacobian = weft.jacfwd(lambda v: weft.flatten_util.ravel_pytree(g(unflatten(v)))[0])
            m = jacobian(lax.stop_gradient(jnp.zeros_like(flat)))
            inverse = jnp.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]])
            return unflatten(inverse @ flat / (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]))

        guess = {"a": jnp.float32(1.0), "b": jnp.float32(1.0)}
        return lax.custom_root(f, guess, guessed, tangent_solve)

    p = np.float32([2.0, 3.0])
    root = solve_with(p)
    close(root, {"a": np.sqrt(6), "b": 3 / np.sqrt(6)})
    explicit = lambda p: {"a": jnp.sqrt(p[0] * p[1]), "b": jnp.sqrt(p[1] / p[0])}  # noqa: E731
    close(weft.jacfwd(solve_with)(p), weft.jacfwd(explicit)(p))


def by_root(solver, tangent_solver, a, b):
    """A x = b as a root, by solvers that may close over a and b."""
    solve = lambda f, x: solver(a, b)  # noqa: E731
    return lax.custom_root(
        lambda x: a @ x - b, jnp.zeros(2), solve, lambda g, y: tangent_solver(a, y)
    )


@pytest.mark.parametrize("jit", [lambda f: f, weft.jit])
def test_solvers_of_a_root_close_over_what_is_differentiated(jit):
    f = jit(lambda a, b: by_root(general, general, a, b))
    loss = lambda a, b: jnp.sum(WEIGHTS * f(a, b))  # noqa: E731
    close(f(A, B), np.linalg.solve(A, B))
    close(weft.grad(loss, (0, 1))(A, B), expected_gradients(A, B, WEIGHTS, False))
    close(weft.grad(loss)(A, B), expected_gradients(A, B, WEIGHTS, False)[0])
    da, db = RNG.normal(size=(2, 2)).astype("f"), RNG.normal(size=2).astype("f")
    _, dx = weft.jvp(f, (A, B), (da, db))
    close(dx, np.linalg.solve(A, db - da @ np.linalg.solve(A, B)))
    bs = np.stack([B, 2 * B])
    of_a = np.stack([expected_gradients(A, b, WEIGHTS, False)[0] for b in bs])
    close(weft.vmap(weft.grad(loss), (None, 0))(A, bs), of_a)
    explicit = lambda a, b: jnp.sum(WEIGHTS * jnp.linalg.solve(a, b))  # noqa: E731
    close(weft.hessian(loss)(A, B), weft.hessian(explicit)(A, B), 1e-3)


@pytest.mark.parametrize("derivative", [lambda f: weft.grad(weft.jit(f)), weft.grad])
def test_functions_of_a_root_close_over_traced_integers_and_keys(derivative):
    def f(p, n, key):
        zero = 0 * weft.random.normal(key)
        steps = lambda f, x: lax.fori_loop(  # noqa: E731
            0, 4 * n, lambda i, x: x - f(x) / weft.grad(f)(x), x + zero
        )
        return lax.custom_root(
            lambda x: x**n - p, 1.5, steps, lambda g, y: jnp.where(n > 2, y / g(1.0), 0)
        )

    close(derivative(f)(8.0, 3, weft.random.key(0)), 1 / 12)


def test_roots_with_auxiliary_values():
    def f(p):
        solve = lambda f, x: (newton(f, x), {"steps": 12, "guess": x})  # noqa: E731
        return lax.custom_root(
            lambda x: x**3 - p, 1.0, solve, lambda g, y: y / g(1.0), has_aux=True
        )

    root, aux = f(8.0)
    close(root, 2.0)
    assert (aux["steps"], aux["guess"]) == (12, 1.0)
    (_, aux), g = weft.value_and_grad(f, has_aux=True)(8.0)
    close(g, 1 / 12)
    assert aux["steps"] == 12


def test_what_a_root_refuses():
    with pytest.raises(
        TypeError, match=r"custom_root: the value of f, .* must be like its argument"
    ):
        lax.custom_root(lambda x: (x, x), 1.0, newton, lambda g, y: y)
    with pytest.raises(TypeError, match="custom_root: tangent_solve: expected a function"):
        lax.custom_root(lambda x: x, 1.0, newton, None)


# --- what solvers give ---


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize(
    ("solve", "tangent_solve", "has_aux", "message"),
    [
        (lambda f, x: (x, x), None, False, r"the root, .*initial_guess, .*float32\[\]; got .*\("),
        (lambda f, x: jnp.stack([x, x]), None, False, r"the root, .*; got .*float32\[2\]"),
        (lambda f, x: 1, None, False, r"the root, .*; got .*int32\[\]"),
        (lambda f, x: x, None, True, r"with has_aux=True .* a pair \(root, auxiliary data\)"),
        (lambda f, x: x, lambda g, y: (y, y), False, r"the solution x of g\(x\) = y, .*; got .*\("),
        (
            lambda f, x: x,
            lambda g, y: jnp.ones(2),
            False,
            r"the solution x .*float32\[\]; got .*float32\[2\]",
        ),
    ],
)
def test_custom_root_refuses_what_is_not_like_the_guess(
    wrap, solve, tangent_solve, has_aux, message
):
    def root(p):
        return lax.custom_root(
            lambda x: x - p, 0.0, solve, tangent_solve or (lambda g, y: y), has_aux=has_aux
        )

    with pytest.raises(TypeError, match=f"custom_root: {message}"):
        weft.grad(lambda p: wrap(root)(p))(1.0) if tangent_solve else wrap(root)(1.0)


def test_custom_linear_solve_refuses_what_is_not_like_b():
    for solve in (lambda m, b: (b, b), lambda m, b: jnp.stack([b, b])):
        with pytest.raises(TypeError, match=r"custom_linear_solve: x, from .* must be like b"):
            lax.custom_linear_solve(lambda x: 2 * x, 1.0, solve, symmetric=True)
