"""minimize against SciPy's and known minima."""

import numpy as onp
import pytest
import scipy.optimize

import weft
import weft.numpy as np
from weft import lax
from weft.scipy.optimize import OptimizeResults, minimize


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(p):
    x, y = p
    return (x * x + y - 11) ** 2 + (x + y * y - 7) ** 2


def matyas(p):
    x, y = p
    return 0.26 * (x * x + y * y) - 0.48 * x * y


def eggholder(p):
    x, y = p
    return -(y + 47) * np.sin(np.sqrt(np.abs(x / 2 + y + 47))) - x * np.sin(
        np.sqrt(np.abs(x - (y + 47)))
    )


CASES = [(rosenbrock, 0.0), (himmelblau, 1.0), (matyas, 3.0), (eggholder, 100.0)]


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-use-me"])
@pytest.mark.parametrize(("f", "start"), CASES)
def test_minima_are_scipys(f, start, method):
    with weft.enable_x64(True):
        x0 = onp.full(2, start)
        found = minimize(f, x0, method=method)
        slope = weft.jit(weft.grad(f))
        expected = scipy.optimize.minimize(
            lambda x: float(f(x)), x0, method="BFGS", jac=lambda x: onp.asarray(slope(x))
        )
    assert bool(found.success)
    assert int(found.status) in (0, 4)
    onp.testing.assert_allclose(found.x, expected.x, rtol=2e-5, atol=2e-5)
    onp.testing.assert_allclose(found.fun, expected.fun, rtol=1e-7, atol=1e-9)
    with weft.enable_x64(True):
        onp.testing.assert_allclose(found.jac, slope(found.x), atol=1e-9)
    assert int(found.nit) <= 30
    assert int(found.nfev) == int(found.njev) >= int(found.nit)
    assert (found.hess_inv is None) == (method != "BFGS")


def test_mapped_compiled_and_in_float32():
    starts = onp.array([[-1.2, 1.0, 0.5], [0.0, 2.0, -1.0], [1.0, 1.0, 1.0]], "f")

    def run(x0, scale):
        return minimize(lambda x, a: a * rosenbrock(x), x0, (scale,), method="bfgs")

    found = weft.jit(weft.vmap(run, (0, None)))(starts, 0.5)
    assert isinstance(found, OptimizeResults)
    onp.testing.assert_allclose(found.x, onp.ones((3, 3)), atol=2e-3)
    assert found.nit[2] == 0  # it began at the minimum
    assert found.x.dtype == onp.float32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
@pytest.mark.parametrize(
    "scales", [[1, 1e4], [1, 1e4, 1e4], [1e6, 1e6, 1e2], [1, 10, 100, 1e3, 1e4], [1e-3, 1e-3]]
)
def test_badly_scaled_squares(scales, method, dtype):
    with weft.enable_x64(dtype == "float64"):
        c = np.array(scales, dtype)
        x0 = np.arange(1, c.size + 1, dtype=dtype)
        found = minimize(lambda x: np.sum(c * x**2), x0, method=method, options={"gtol": 1e-3})
    assert bool(found.success)
    assert found.fun < 1e-3


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
@pytest.mark.parametrize(
    ("f", "value"),
    [
        (lambda x: np.sum(x * 0) + onp.nan, onp.nan),
        (lambda x: np.sum(x * 0) + onp.inf, onp.inf),
        (lambda x: np.sum(np.log(x)), -onp.inf),
    ],
)
def test_a_value_that_is_not_finite_is_no_minimum(f, value, method):
    found = minimize(f, onp.array([3.0, 2.0], "f"), method=method)
    assert not found.success
    assert int(found.status) == (3 if method == "BFGS" else 5)
    onp.testing.assert_equal(onp.asarray(found.fun), onp.float32(value))


def test_inverse_of_the_hessian_matrix():
    A = onp.array([[3.0, 1.0], [1.0, 2.0]])
    with weft.enable_x64(True):
        found = minimize(lambda x: x @ A @ x / 2, onp.array([1.0, -2.0]), method="BFGS", tol=1e-9)
    onp.testing.assert_allclose(found.hess_inv, onp.linalg.inv(A), rtol=1e-3)
    onp.testing.assert_allclose(found.x, [0, 0], atol=1e-8)


def test_options_end_it():
    x0 = onp.array([-1.2, 1.0], "f")
    for method, options, status in (
        ("BFGS", {"maxiter": 3}, 1),
        ("L-BFGS", {"maxfun": 4}, 2),
        ("L-BFGS", {"maxfun": 4, "maxgrad": 99}, 2),
        ("L-BFGS", {"maxgrad": 4}, 2),
        ("L-BFGS", {"ftol": 0.9}, 4),
        ("BFGS", {"gtol": 40.0, "norm": 2}, 0),
        ("BFGS", {"line_search_maxiter": 1}, 3),
    ):
        found = minimize(rosenbrock, x0, method=method, options=options)
        assert int(found.status) == status, (method, options)
        assert bool(found.success) == (status in (0, 4))
    # at 10 the slope is 0.4 in each of 3 places: its norms are 0.4, 0.58, 0.69 and 1.2
    for order, size in ((onp.inf, 0.4), (3, 0.4 * 3 ** (1 / 3)), (2, 0.4 * 3**0.5), (1, 1.2)):
        for gtol, steps in ((size * 1.01, 0), (size * 0.99, 1)):
            found = minimize(
                lambda x: np.sum((x - 10.2) ** 2),
                onp.full(3, 10.0, "f"),
                method="BFGS",
                options={"gtol": gtol, "norm": order, "maxiter": 1},
            )
            assert int(found.nit) == steps, (order, gtol)
    found = minimize(rosenbrock, x0, method="L-BFGS", tol=0.9, options={"gtol": 1e-9})
    assert (int(found.status), int(found.nit)) == (4, 1)  # the tolerance of values too


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "newton"}, "method must be 'BFGS' or 'L-BFGS'"),
        ({"options": {"disp": True}}, "unknown options disp"),
        ({"options": {"maxiter": 0}}, "maxiter must be positive"),
        ({"options": {"maxiter": 1.5}}, "maxiter must be an int"),
        ({"options": {"norm": "fro"}}, "norm must be a number"),
        ({"args": 3.0}, "args must be a tuple"),
        ({"x0": onp.ones((2, 2))}, "x0 must be a vector"),
        ({"x0": onp.ones(2) * 1j, "fun": lambda x: x[0].real + 0j}, "must return a real scalar"),
        ({"fun": lambda x: x}, "fun must return a real scalar"),
        ({"fun": 3}, "fun"),
    ],
)
def test_refusals(change, message):
    given = {"fun": matyas, "x0": onp.ones(2, "f"), "method": "BFGS"} | change
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(**given)


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_functions_of_complex_numbers(method):
    target = onp.array([1 + 2j, -3 + 0.5j], "complex64")

    def f(z):
        return np.sum(np.abs(z - target) ** 2 * np.array([1.0, 2.0])) + 4.0

    start = onp.array([0.5j, 1.0], "complex64")
    for run in (minimize, weft.jit(minimize, static_argnames=("fun", "method"))):
        result = run(f, start, method=method)
        assert bool(result.success)
        assert result.x.dtype == "complex64"
        onp.testing.assert_allclose(result.x, target, atol=1e-4)
        onp.testing.assert_allclose(result.fun, 4.0, rtol=1e-5)
    early = minimize(f, start, method=method, options={"maxiter": 1})
    onp.testing.assert_allclose(early.jac, weft.grad(f)(early.x), rtol=1e-4, atol=1e-4)
    assert abs(early.x - target).max() > 0.1
    if method == "BFGS":  # of the real parts, then of the imaginary ones
        parts = onp.concatenate([start.real, start.imag])
        of_parts = minimize(lambda v: f(lax.complex(v[:2], v[2:])), parts, method=method)
        assert of_parts.nit > 1
        onp.testing.assert_allclose(result.hess_inv, of_parts.hess_inv, rtol=1e-3, atol=1e-4)
