"""Solvers and dynamics: lineax, optimistix, diffrax, jaxopt, tinygp."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import jaxopt
import lineax
import optimistix
import tinygp

from .registry import numbers, program


@program
def linear_solves() -> Any:
    a, b = numbers(4, 4) + 4 * jnp.eye(4), numbers(4, seed=1)

    def solve(a: Any, b: Any, solver: Any) -> Any:
        return lineax.linear_solve(lineax.MatrixLinearOperator(a), b, solver).value

    def cost(a: Any) -> Any:
        return jnp.sum(solve(a, b, lineax.LU()) ** 2)

    return (
        solve(a, b, lineax.LU()),
        solve(a, b, lineax.QR()),
        jax.grad(cost)(a),
        jax.vmap(lambda b: solve(a, b, lineax.LU()))(numbers(3, 4, seed=2)),
    )


@program
def conjugate_gradients() -> Any:
    half, b = numbers(5, 5), numbers(5, seed=1)
    operator = lineax.MatrixLinearOperator(
        half @ half.T + 5 * jnp.eye(5), lineax.positive_semidefinite_tag
    )
    return lineax.linear_solve(operator, b, lineax.CG(rtol=1e-6, atol=1e-6)).value


@program
def root_and_fixed_point() -> Any:
    def f(y: Any, args: Any) -> Any:
        return jnp.cos(y) - args * y

    def root(a: Any) -> Any:
        return optimistix.root_find(
            f, optimistix.Newton(rtol=1e-6, atol=1e-6), jnp.array(1.0), a
        ).value

    fixed = optimistix.fixed_point(
        lambda y, args: jnp.cos(y),
        optimistix.FixedPointIteration(rtol=1e-6, atol=1e-6),
        jnp.array(0.5),
    )
    return root(jnp.array(1.0)), jax.grad(root)(jnp.array(1.5)), fixed.value


@program
def least_squares() -> Any:
    x = jnp.linspace(0, 1, 20)
    y = 2 * jnp.exp(-1.5 * x)

    def residuals(p: Any, args: Any) -> Any:
        return p[0] * jnp.exp(-p[1] * x) - y

    solver = optimistix.LevenbergMarquardt(rtol=1e-6, atol=1e-6)
    return optimistix.least_squares(residuals, solver, jnp.array([1.0, 1.0])).value


@program
def minimise_rosenbrock() -> Any:
    def f(p: Any, args: Any) -> Any:
        return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    solver = optimistix.BFGS(rtol=1e-6, atol=1e-6)
    return optimistix.minimise(f, solver, jnp.array([-1.0, 1.0]), max_steps=300).value


@program
def differential_equation() -> Any:
    def field(t: Any, y: Any, args: Any) -> Any:
        return jnp.stack([y[1], -args * y[0]])

    def solve(rate: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=2.0,
            dt0=0.1,
            y0=jnp.array([1.0, 0.0]),
            args=rate,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 2, 5)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        ).ys

    return solve(jnp.array(4.0)), jax.grad(lambda r: solve(r)[-1, 0])(jnp.array(4.0))


@program
def differential_equation_by_euler() -> Any:
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: -y * args),
        diffrax.Euler(),
        0.0,
        1.0,
        0.05,
        numbers(3),
        args=jnp.array([1.0, 2.0, 3.0]),
    )
    return solution.ys


@program
def jaxopt_solvers() -> Any:
    x, y = numbers(20, 3), numbers(20, seed=1)

    def loss(w: Any, l2: Any) -> Any:
        return jnp.mean((x @ w - y) ** 2) + l2 * jnp.sum(w**2)

    return jaxopt.LBFGS(fun=loss, maxiter=50).run(jnp.zeros(3), l2=0.1).params


@program
def gaussian_process() -> Any:
    x = jnp.linspace(0, 3, 12)
    y = jnp.sin(x)

    def loss(log: Any) -> Any:
        kernel = jnp.exp(log[0]) * tinygp.kernels.ExpSquared(jnp.exp(log[1]))
        return -tinygp.GaussianProcess(kernel, x, diag=0.01).log_probability(y)

    log = jnp.array([0.1, -0.2])
    kernel = 1.5 * tinygp.kernels.Matern32(0.8)
    conditioned = tinygp.GaussianProcess(kernel, x, diag=0.01).condition(y, jnp.array([0.5, 1.5]))
    return jax.value_and_grad(loss)(log), conditioned.gp.loc, conditioned.gp.variance
