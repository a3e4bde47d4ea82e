"""check_grads and its siblings find wrong derivatives, and accept right ones."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import test_util

X = onp.linspace(-1, 1, 4, dtype="float32")


def wrong_forwards(f, tangent):
    g = weft.custom_jvp(f)
    g.defjvps(tangent)
    return g


def wrong_backwards(f, cotangent):
    g = weft.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (cotangent(ct, x),))
    return g


RIGHT = {
    "array": (np.sin, (X,), 3),
    "trees": (lambda d, y: {"a": d["x"] * y, "b": d["x"].sum()}, ({"x": X}, 2.0), 2),
    "complex": (lambda z: np.exp(z) * z, (X + 1j * X[::-1],), 2),
    "complex of real": (lambda x: np.exp(1j * x), (X,), 2),
    "integers": (lambda x, i: x[i] ** 2, (X, 1), 2),
    "integer results": (lambda x: (x * 2, (x > 0).astype(int)), (X,), 1),
    "at": (lambda x: x.at[0].set(3.0) ** 2, (X,), 2),
    "no leaves": (lambda: (), (), 1),
    "jit": (weft.jit(np.tanh), (X,), 2),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name):
    f, args, order = RIGHT[name]
    test_util.check_grads(f, args, order)


WRONG = {
    "tangent": (wrong_forwards(np.sin, lambda t, out, x: t * np.sin(x)), ["fwd"], 1, "jvp"),
    "tangent by vjp": (wrong_forwards(np.sin, lambda t, out, x: t * out), ["rev"], 1, "vjp"),
    "cotangent": (wrong_backwards(np.sin, lambda ct, x: ct * np.sin(x)), ["rev"], 1, "vjp"),
    "half": (wrong_forwards(np.sin, lambda t, out, x: t * np.cos(x) * 0.99), ["fwd"], 1, "jvp"),
    "second order": (
        wrong_forwards(np.sin, lambda t, out, x: t * weft.lax.stop_gradient(np.cos(x))),
        ["fwd", "rev"],
        2,
        "jvp of jvp",
    ),
    "second order by vjp": (
        wrong_forwards(np.sin, lambda t, out, x: t * weft.lax.stop_gradient(np.cos(x))),
        ["rev"],
        2,
        "vjp of vjp",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_derivatives_are_found(name):
    f, modes, order, message = WRONG[name]
    with pytest.raises(AssertionError, match=rf"check_grads \({message}\): leaf 0"):
        test_util.check_grads(f, (X,), order, modes)
    if order > 1:
        test_util.check_grads(f, (X,), order - 1, modes)


def test_tolerances_and_steps_are_those_asked_for():
    half = wrong_forwards(np.sin, lambda t, out, x: t * np.cos(x) * 0.99)
    test_util.check_grads(half, (X,), 1, ["fwd"], atol=0.1, rtol=0.1)
    with pytest.raises(AssertionError):
        test_util.check_grads(np.sin, (X,), 1, atol=1e-9, rtol=1e-9)
    with pytest.raises(AssertionError):
        test_util.check_grads(lambda x: np.sin(50 * x), (X,), 1, eps=0.5)


def test_in_double_precision_smaller_errors_are_found():
    slightly = wrong_forwards(np.sin, lambda t, out, x: t * np.cos(x) * 1.001)
    test_util.check_grads(slightly, (X,), 1, ["fwd"])
    with weft.enable_x64(True), pytest.raises(AssertionError):
        test_util.check_grads(slightly, (X.astype("float64"),), 1, ["fwd"])


def test_primal_results_are_compared_too():
    with pytest.raises(AssertionError, match="check_jvp: primal: leaf 0"):
        test_util.check_jvp(np.sin, lambda xs, ts: weft.jvp(np.cos, xs, ts), (X,))
    with pytest.raises(AssertionError, match="here: primal"):
        test_util.check_vjp(np.sin, lambda x: weft.vjp(np.cos, x), (X,), err_msg="here")
    test_util.check_jvp(np.sin, lambda xs, ts: weft.jvp(np.sin, xs, ts), (X,))
    test_util.check_vjp(np.sin, lambda x: weft.vjp(np.sin, x), (X,))


@pytest.mark.parametrize("modes", ["fwd", ["forward"]])
def test_modes_are_a_list_of_known_ones(modes):
    with pytest.raises(ValueError, match="modes must be a list of 'fwd' and 'rev'"):
        test_util.check_grads(np.sin, (X,), 1, modes)
