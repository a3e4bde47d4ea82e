"""Differences, integrals, convolutions, polynomials and windows against NumPy."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np

RNG = onp.random.default_rng(4)
X = RNG.standard_normal((4, 5)).astype(onp.float32)
P, Q = onp.float32([1, -2, 3, 1]), onp.float32([2, 1])


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("diff", (X,), {}),
        ("diff", (X,), {"n": 2, "axis": 0}),
        ("diff", (X,), {"prepend": 0.0, "append": X[:, :1]}),
        ("diff", (X > 0,), {}),
        ("ediff1d", (X,), {}),
        ("gradient", (X,), {}),
        ("gradient", (X, 2.0), {"axis": 1}),
        ("gradient", (X, onp.array([0.0, 1, 3, 4]), 0.5), {}),
        ("trapezoid", (X,), {}),
        ("trapezoid", (X,), {"dx": 0.5, "axis": 0}),
        ("trapezoid", (X,), {"x": onp.array([0.0, 1, 3, 4, 6])}),
        ("unwrap", (onp.zeros((2, 0), onp.float32),), {}),
        ("unwrap", (X * 6,), {}),
        ("unwrap", (onp.array([0, 3, 7, 2, 9, 4]),), {"period": 6}),
        ("unwrap", (X * 6,), {"axis": 0, "discont": 4.0}),
        *[("convolve", (P, X[0], mode), {}) for mode in ("full", "same", "valid")],
        *[("correlate", (X[0], P, mode), {}) for mode in ("full", "same", "valid")],
        *[("correlate", (P, X[0], mode), {}) for mode in ("full", "same", "valid")],
        ("correlate", (1j * X[0], 2j * P[:2], "full"), {}),
        ("polyval", (P, X), {}),
        ("polyadd", (P, Q), {}),
        ("polysub", (Q, P), {}),
        ("polymul", (P, Q), {}),
        ("polydiv", (P, Q), {}),
        ("polydiv", (onp.array([0.5445, 3.4939, -2.6142, 1.0]), onp.array([-3.0])), {}),
        ("polyder", (P,), {}),
        ("polyder", (P, 2), {}),
        ("polyint", (P,), {}),
        ("polyint", (P, 2, onp.array([1.0, 2.0])), {}),
        ("trim_zeros", (onp.array([0, 0, 1, 0, 2, 0]),), {}),
        *[
            (name, (n,), {})
            for name in ("bartlett", "blackman", "hamming", "hanning")
            for n in (0, 1, 7)
        ],
        ("kaiser", (7, 2.5), {}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_agreement_with_numpy(name, args, options):
    if name == "polydiv":  # NumPy drops zeros in front of the remainder
        quotient, remainder = np.polydiv(*args)
        assert_close(quotient, onp.polydiv(*args)[0])
        assert_close(np.polyadd(np.polymul(quotient, args[1]), remainder), args[0])
        assert not onp.any(remainder[: len(quotient)])  # what cancels is no rounding error
        return
    compiled = name != "trim_zeros"
    agree(name, *args, compiled=compiled, tolerance=1e-5 if "int" not in name else None, **options)


def test_kaiser_of_a_traced_shape():
    assert_close(weft.jit(lambda b: np.kaiser(9, b))(2.5), onp.kaiser(9, 2.5).astype(onp.float32))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.diff(x, 2),
        np.trapezoid,
        lambda x: np.convolve(x[0], x[1]),
        lambda x: np.polyval(x[0], x[1]),
        lambda x: np.gradient(x, axis=0),
        lambda x: np.unwrap(x),
        lambda x: np.apply_along_axis(lambda v: v * v[0], 0, x),
    ],
)
def test_gradients(function):
    assert_gradient(function, X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: np.vectorize(np.dot, signature="n,n->"), "signature must be as in"),
        (lambda: np.vectorize(np.dot, signature="(n),(n)->()")(X), "has 2 arguments; got 1"),
        (lambda: np.vectorize(np.dot, signature="(n),(n)->()")(X, P), "has lengths 5 and 4"),
        (lambda: np.convolve(X, P), "expected arrays of one axis"),
        (lambda: np.convolve(P, P, "other"), "mode must be"),
        (lambda: np.gradient(X[:1]), "fewer than two elements"),
        (lambda: np.diff(X, -1), "must not be negative"),
        (lambda: np.trapezoid(np.ones(3), np.ones(4)), "trapezoid: x must be as long as y"),
        (lambda: np.trapezoid(np.ones((2, 3)), np.ones((1, 3)), axis=0), "x must be as long as y"),
        (lambda: np.polyadd(X, P), "coefficients have one axis"),
    ],
)
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("axis", [-2, -1])
def test_trapezoid_along_an_axis_of_coordinates_of_fewer_axes(axis):
    y, x = RNG.random((2, 3, 3)).astype("f"), RNG.random((3, 3)).cumsum(axis).astype("f")
    agree("trapezoid", y, x, axis=axis)
    assert_close(np.trapezoid(y, x, axis=axis + 3), onp.trapezoid(y, x, axis=axis))


def test_polyval_of_several_polynomials():
    several = RNG.random((3, 5)).astype("f")
    agree("polyval", several, X)
    agree("polyval", several, onp.float32(2))
    agree("polyval", several[:, :1], X[0])
