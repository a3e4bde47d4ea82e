"""Decompositions and solvers against NumPy and SciPy: values, both modes of derivatives, second
order, batches, compiled; and derivatives where values are equal."""

import matrix_functions as table
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import jit, lax, vmap

DTYPES = ("float64", "complex128")


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def bound(name):
    """The function, of weft's arrays."""
    return lambda *args: table.FUNCTIONS[name].function(lax.linalg, np, *args)


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def everything(name, args, tangents, weights):
    """Values, their tangents, a gradient, and the gradient's tangent."""
    f = bound(name)

    def loss(*args):
        return sum(np.sum(np.real(w * y)) for w, y in zip(weights, listed(f(*args)), strict=True))

    places = tuple(range(len(args)))
    outs, tangents_out = weft.jvp(f, tuple(args), tuple(tangents))
    gradient, change = weft.jvp(weft.grad(loss, places), tuple(args), tuple(tangents))
    return listed(outs), listed(tangents_out), gradient, change


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", table.FUNCTIONS)
def test_values_and_derivatives_are_those_of_the_oracle(name, dtype):
    args = table.arguments(name, dtype)
    tangents = [table.numbers(x.shape, dtype, 7 + i) for i, x in enumerate(args)]
    shapes = [
        onp.shape(y) for y in listed(table.FUNCTIONS[name].function(table.ORACLE, onp, *args))
    ]
    weights = [table.numbers(s, dtype, 20 + i) for i, s in enumerate(shapes)]
    outs, out_tangents, gradient, change = everything(name, args, tangents, weights)
    onp.testing.assert_allclose(table.flat(outs), table.expected(name, args), atol=1e-10)
    wanted = table.expected_tangent(name, args, tangents)
    onp.testing.assert_allclose(table.flat(out_tangents), wanted, rtol=1e-5, atol=1e-6)
    # reverse mode is the adjoint of forward mode
    w, t = table.flat(weights), table.flat(tangents)
    onp.testing.assert_allclose(
        (table.flat(gradient) * t).sum().real, (w * table.flat(out_tangents)).sum().real, atol=1e-9
    )
    step = 1e-6
    above, below = (
        table.flat(
            everything(
                name,
                [x + sign * step * d for x, d in zip(args, tangents, strict=True)],
                tangents,
                weights,
            )[2]
        )
        for sign in (1, -1)
    )
    numeric = (above - below) / (2 * step)
    scale = onp.abs(numeric).max()
    onp.testing.assert_allclose(table.flat(change), numeric, rtol=1e-5, atol=1e-6 * max(scale, 1))


def test_compiled_and_batched_derivatives_are_the_eager_ones():
    # one program for all functions: a batch of each one's gradient
    dtype = "complex128"
    names = ["cholesky", "lu, square", "qr, tall", "eigh", "svd, wide", "triangular_solve 10110"]

    def gradients(batches):
        found = []
        for name, args in zip(names, batches, strict=True):
            f = bound(name)

            def loss(*args, f=f):
                return sum(np.sum(np.abs(y) ** 2) for y in listed(f(*args)))

            found.append(vmap(weft.grad(loss, tuple(range(len(args)))))(*args))
        return found

    batches = [
        [onp.stack([x, x + onp.asarray(0.1, dtype)]) for x in table.arguments(name, dtype)]
        for name in names
    ]
    compiled = jit(gradients)(batches)
    for name, args, found in zip(names, batches, compiled, strict=True):
        f = bound(name)
        for i in range(2):
            loss = lambda *args, f=f: sum(np.sum(np.abs(y) ** 2) for y in listed(f(*args)))  # noqa: E731
            one = weft.grad(loss, tuple(range(len(args))))(*[x[i] for x in args])
            scale = max(onp.abs(table.flat(one)).max(), 1)
            onp.testing.assert_allclose(
                table.flat([g[i] for g in found]), table.flat(one), atol=1e-9 * scale, err_msg=name
            )


def space(count):
    """The projection on the space of the first eigenvectors."""

    def function(x):
        v = lax.linalg.eigh(x)[0][:, :count]
        return v @ np.conj(v).T

    return function


def unitary(x):
    u, _, vh = lax.linalg.svd(x, full_matrices=False)
    return u @ vh


def exponentials(x):
    return np.sum(np.exp(lax.linalg.eigh(x)[1]))


def column_space(x):
    u = lax.linalg.svd(x)[0][:, :2]
    return u @ u.T


EQUAL_VALUES = {
    "sums of eigenvalues' functions": (exponentials, onp.eye(3)),
    "of zero": (exponentials, onp.zeros((3, 3))),
    "of two equal ones": (exponentials, onp.diag([1.0, 2.0, 1.0])),
    "space of two equal ones": (space(2), onp.diag([1.0, 2.0, 1.0])),
    "whole space": (space(3), onp.eye(3)),
    "unitary factor of the identity": (unitary, onp.eye(3)),
    "unitary factor": (unitary, onp.diag([1.0, -1.0, 2.0, 2.0])[:, :3]),
    "column space of equal columns": (column_space, onp.diag([1.0, 1.0, 0.5])[:, :2]),
}


@pytest.mark.parametrize("name", EQUAL_VALUES)
def test_derivatives_where_values_are_equal(name):
    function, x = EQUAL_VALUES[name]
    t = table.numbers(x.shape, "float64", 5)
    t = t + t.T if x.shape == (3, 3) and function is not unitary else t
    _, found = weft.jvp(function, (x,), (t,))
    step = 1e-5
    wanted = (onp.asarray(function(x + step * t)) - onp.asarray(function(x - step * t))) / step / 2
    onp.testing.assert_allclose(found, wanted, atol=1e-6)
    weights = table.numbers(onp.shape(found), "float64", 6)
    gradient = weft.grad(lambda x: np.sum(function(x) * weights))(x)
    onp.testing.assert_allclose(np.sum(gradient * t), np.sum(found * weights), atol=1e-9)


def test_singular_values_have_derivatives_where_they_are_equal():
    # their sum is the nuclear norm, whose gradient is U Vᴴ
    gradient = weft.grad(lambda x: np.sum(lax.linalg.svd(x, compute_uv=False)))(2 * onp.eye(3))
    onp.testing.assert_allclose(gradient, onp.eye(3), atol=1e-12)


def test_lengths_of_completing_vectors_and_phases_are_kept():
    x, t = (table.numbers((4, 2), "complex128", i) for i in range(2))
    for parts in (lax.linalg.svd, lax.linalg.qr):
        outs, tangents = weft.jvp(parts, (x,), (t,))
        u, du = onp.asarray(outs[0]), onp.asarray(tangents[0])
        skew = u.conj().T @ du
        onp.testing.assert_allclose(skew, -skew.conj().T, atol=1e-10)
        onp.testing.assert_allclose(skew[2:, 2:], 0, atol=1e-10)
    onp.testing.assert_allclose(np.diagonal(tangents[1]).imag, 0, atol=1e-10)  # as R's own
