"""What the documentation of lineax, optimistix, diffrax and equinox describe, solver by solver.

The source archives of these libraries have no tests, so these programs stand in for them.
"""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import optimistix

from .registry import numbers, program, refusals


def spd(n: int) -> Any:
    """A positive definite matrix."""
    half = numbers(n, n, seed=n)
    return half @ half.T + n * jnp.eye(n)


# --- lineax ---


@program
def direct_solvers() -> Any:
    a, b = spd(4), numbers(4, seed=1)
    lower, upper = jnp.tril(a), jnp.triu(a)
    band = lineax.TridiagonalLinearOperator(jnp.diag(a), numbers(3, seed=2), numbers(3, seed=3))
    cases = [
        (lineax.MatrixLinearOperator(a), lineax.SVD()),
        (lineax.MatrixLinearOperator(a, lineax.positive_semidefinite_tag), lineax.Cholesky()),
        (lineax.MatrixLinearOperator(lower, lineax.lower_triangular_tag), lineax.Triangular()),
        (lineax.MatrixLinearOperator(upper, lineax.upper_triangular_tag), lineax.Triangular()),
        (lineax.DiagonalLinearOperator(jnp.diag(a)), lineax.Diagonal()),
        (band, lineax.Tridiagonal()),
        (lineax.MatrixLinearOperator(a), lineax.AutoLinearSolver(well_posed=True)),
    ]
    return [lineax.linear_solve(operator, b, solver).value for operator, solver in cases]


@program
def iterative_solvers() -> Any:
    a, b = spd(5), numbers(5, seed=1)
    operator = lineax.MatrixLinearOperator(a, lineax.positive_semidefinite_tag)
    solvers = [lineax.CG(1e-6, 1e-6), lineax.BiCGStab(1e-6, 1e-6)]
    return [lineax.linear_solve(operator, b, solver).value for solver in solvers]


@program
def solves_of_other_shapes() -> Any:
    tall, wide = numbers(6, 3), numbers(3, 6)
    solver = lineax.AutoLinearSolver(well_posed=None)

    def least(a: Any, b: Any) -> Any:
        return lineax.linear_solve(lineax.MatrixLinearOperator(a), b, solver).value

    cost = lambda a: jnp.sum(least(a, numbers(6, seed=2)) ** 2)  # noqa: E731
    return (
        least(tall, numbers(6, seed=2)),
        least(wide, numbers(3, seed=3)),
        jax.grad(cost)(tall),
        jax.jvp(cost, (tall,), (numbers(6, 3, seed=4),)),
        jax.jit(jax.vmap(lambda b: least(tall, b)))(numbers(2, 6, seed=5)),
    )


@program
def operators() -> Any:
    a, x = numbers(3, 3), numbers(3, seed=1)
    matrix = lineax.MatrixLinearOperator(a)
    jacobian = lineax.JacobianLinearOperator(lambda y, args: jnp.sin(a @ y), x)
    function = lineax.FunctionLinearOperator(
        lambda y: a @ y, jax.ShapeDtypeStruct((3,), jnp.float32)
    )
    combined = 2 * matrix + lineax.IdentityLinearOperator(matrix.in_structure()) @ matrix
    return (
        jacobian.mv(x),
        jacobian.as_matrix(),
        function.T.mv(x),
        combined.as_matrix(),
        lineax.materialise(jacobian).as_matrix(),
        lineax.diagonal(matrix),
        lineax.linearise(jacobian).mv(x),
    )


@program
def a_failed_solve_is_told() -> Any:
    singular = lineax.MatrixLinearOperator(jnp.zeros((2, 2)))
    out = lineax.linear_solve(singular, jnp.ones(2), lineax.LU(), throw=False)
    fails = lambda: lineax.linear_solve(singular, jnp.ones(2), lineax.LU())  # noqa: E731
    return jnp.asarray(out.result == lineax.RESULTS.successful), refusals(fails, error=Exception)


# --- optimistix ---


@program
def root_finders() -> Any:
    def f(y: Any, args: Any) -> Any:
        return {"a": y["a"] ** 2 + y["b"] - args, "b": y["b"] ** 2 - y["a"]}

    start = {"a": jnp.array(1.0), "b": jnp.array(0.8)}
    found = [
        optimistix.root_find(f, solver, start, jnp.array(1.5)).value
        for solver in (optimistix.Newton(1e-6, 1e-6), optimistix.Chord(1e-6, 1e-6))
    ]
    bisection = optimistix.Bisection(rtol=1e-6, atol=1e-6)
    line = lambda y, args: jnp.tanh(y - args)  # noqa: E731
    options = {"lower": -2.0, "upper": 3.0}
    middle = optimistix.root_find(line, bisection, jnp.array(0.0), 0.7, options=options)
    return found, middle.value


@program
def least_squares_solvers() -> Any:
    ts = jnp.linspace(0.0, 2.0, 12)
    ys = 2.0 * jnp.exp(-1.3 * ts) + 0.01 * numbers(12)

    def residuals(p: Any, args: Any) -> Any:
        return p[0] * jnp.exp(-p[1] * ts) - ys

    solvers = [
        optimistix.LevenbergMarquardt(1e-6, 1e-6),
        optimistix.GaussNewton(1e-6, 1e-6),
        optimistix.Dogleg(1e-6, 1e-6),
    ]
    start = jnp.array([1.0, 1.0])
    return [optimistix.least_squares(residuals, solver, start).value for solver in solvers]


@program
def minimisers() -> Any:
    def bowl(y: Any, args: Any) -> Any:
        return jnp.sum((y - args) ** 2 * jnp.array([1.0, 3.0])) + 0.1 * jnp.sum(y**4)

    start, centre = jnp.array([2.0, -1.0]), jnp.array([0.5, 1.0])
    solvers = [optimistix.BFGS(1e-6, 1e-6), optimistix.NonlinearCG(1e-6, 1e-6)]

    def minimum(centre: Any, solver: Any) -> Any:
        return optimistix.minimise(bowl, solver, start, centre, max_steps=2000).value

    total = lambda c: jnp.sum(minimum(c, solvers[0]))  # noqa: E731
    return [minimum(centre, solver) for solver in solvers], jax.grad(total)(centre)


@program
def fixed_points_have_derivatives() -> Any:
    def point(a: Any) -> Any:
        return optimistix.fixed_point(
            lambda y, args: 0.5 * jnp.tanh(args @ y) + 0.1,
            optimistix.FixedPointIteration(1e-7, 1e-7),
            jnp.ones(3),
            a,
        ).value

    a = numbers(3, 3)
    return point(a), jax.jacfwd(point)(a), jax.jacrev(point)(a), jax.vmap(point)(numbers(2, 3, 3))


# --- diffrax ---


def decay(t: Any, y: Any, args: Any) -> Any:
    """A damped oscillator."""
    return jnp.stack([y[1], -args * y[0] - 0.2 * y[1]])


START = (1.0, 0.0)


@program
def explicit_and_implicit_steps() -> Any:
    solvers = [diffrax.Heun(), diffrax.Midpoint(), diffrax.Ralston(), diffrax.Bosh3()]
    solvers += [diffrax.Dopri5(), diffrax.Tsit5(), diffrax.Dopri8()]
    finder = diffrax.VeryChord(rtol=1e-5, atol=1e-6)
    solvers += [diffrax.ImplicitEuler(root_finder=finder), diffrax.Kvaerno3(root_finder=finder)]
    return [
        diffrax.diffeqsolve(
            diffrax.ODETerm(decay), solver, 0.0, 1.0, 0.1, jnp.array(START), args=jnp.array(2.0)
        ).ys
        for solver in solvers
    ]


@program
def steps_saved_densely() -> Any:
    saveat = diffrax.SaveAt(t0=True, t1=True, ts=jnp.linspace(0.2, 1.8, 5), dense=True)
    out = diffrax.diffeqsolve(
        diffrax.ODETerm(decay),
        diffrax.Tsit5(),
        0.0,
        2.0,
        0.05,
        jnp.array(START),
        args=jnp.array(3.0),
        saveat=saveat,
    )
    return out.ts, out.ys, out.evaluate(0.77), out.derivative(0.5), out.stats["num_accepted_steps"]


@program
def adjoints() -> Any:
    def end(args: Any, adjoint: Any) -> Any:
        out = diffrax.diffeqsolve(
            diffrax.ODETerm(decay),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            jnp.array(START),
            args=args,
            adjoint=adjoint,
            max_steps=64,
        )
        return jnp.sum(out.ys)

    kinds = [
        diffrax.RecursiveCheckpointAdjoint(),
        diffrax.BacksolveAdjoint(),
        diffrax.DirectAdjoint(),
    ]
    args = jnp.array(2.0)
    return [jax.jit(jax.grad(lambda args, kind=kind: end(args, kind)))(args) for kind in kinds]


@program
def control_and_splines() -> Any:
    ts = jnp.linspace(0.0, 1.0, 7)
    xs = numbers(7, 2)
    coefficients = diffrax.backward_hermite_coefficients(ts, xs)
    cubic = diffrax.CubicInterpolation(ts, coefficients)
    linear = diffrax.LinearInterpolation(ts, xs)
    matrix = numbers(3, 2, seed=1)
    term = diffrax.ControlTerm(lambda t, y, args: jnp.tanh(y)[:, None] * matrix, cubic).to_ode()
    out = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, jnp.ones(3))
    return cubic.evaluate(0.33), cubic.derivative(0.5), linear.evaluate(0.1, 0.7), out.ys


@program
def brownian_paths() -> Any:
    path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(2,), key=jax.random.PRNGKey(3))
    drift = diffrax.ODETerm(lambda t, y, args: -y)
    noise = diffrax.ControlTerm(lambda t, y, args: 0.3 * jnp.eye(2), path)
    terms = diffrax.MultiTerm(drift, noise)
    out = diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.05, jnp.ones(2))
    return out.ys.shape, jnp.isfinite(out.ys)


# --- equinox ---


@program
def loops_that_are_differentiated() -> Any:
    def cost(x: Any, kind: str) -> Any:
        def body(carry: Any) -> Any:
            i, y = carry
            return i + 1, jnp.sin(y) + 0.1 * x

        _, y = eqx.internal.while_loop(
            lambda carry: carry[0] < 9, body, (0, x), kind=kind, max_steps=16
        )
        return jnp.sum(y)

    x = numbers(3)
    return [jax.jit(jax.grad(cost), static_argnums=1)(x, k) for k in ("checkpointed", "bounded")]


@program
def modules_as_trees() -> Any:
    model = eqx.nn.MLP(2, 1, 4, 2, key=jax.random.PRNGKey(0))
    where = lambda m: m.layers[0].weight  # noqa: E731
    changed = eqx.tree_at(where, model, jnp.ones((4, 2)))
    arrays, rest = eqx.partition(changed, eqx.is_array)
    summed = jax.tree_util.tree_map(jnp.sum, arrays)
    same = eqx.tree_equal(eqx.combine(arrays, rest), changed)
    inference = eqx.tree_inference(eqx.nn.Dropout(0.5), True)
    return where(changed), summed, jnp.asarray(same), inference(numbers(4))


@program
def closures_and_conditions() -> Any:
    w = numbers(3)
    closed = eqx.filter_closure_convert(lambda x: jnp.dot(w, x), jnp.zeros(3))
    checked = eqx.filter_jit(lambda x: eqx.error_if(x, x.sum() < 0, "negative") * 2)
    fails = lambda: jax.block_until_ready(checked(-jnp.ones(3)))  # noqa: E731
    shapes = eqx.filter_eval_shape(lambda m: m(jnp.ones(3)), eqx.nn.Linear(
        3, 2, key=jax.random.PRNGKey(0)
    ))  # fmt: skip
    return (
        closed(jnp.arange(3.0)),
        checked(jnp.ones(3)),
        refusals(fails, error=Exception),
        shapes.shape,
    )
