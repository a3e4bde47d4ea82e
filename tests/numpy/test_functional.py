"""Choices, differences, integrals, convolutions, polynomials, windows, functions along axes."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient

import weft
import weft.numpy as np

RNG = onp.random.default_rng(4)
X = RNG.standard_normal((4, 5)).astype(onp.float32)
P, Q = onp.float32([1, -2, 3, 1]), onp.float32([2, 1])


def test_where():
    agree("where", X > 0, X, 0.0)
    agree("where", X > 0, X, X[0])
    agree("where", X[0] > 0, 1, onp.arange(5))
    agree("where", onp.arange(5), X, 2.0)
    assert np.where(X > 0, 1, 2).weak_type
    assert_close(np.where(X > 1)[0], onp.where(X > 1)[0])
    assert_gradient(lambda x: np.where(x > 0, x * x, -x), X)
    with pytest.raises(ValueError, match="x and y go together"):
        np.where(X > 0, X)


def test_gradients_of_pieces_are_not_spoilt_by_others():
    pieces = [lambda v: np.sqrt(v - 1), lambda v: v**2, lambda v: np.log(0 * v)]
    f = lambda x: np.piecewise(x, [x > 0, x == 1], pieces).sum()  # noqa: E731
    x = onp.float32([1.0, 2.0, 5.0])
    for way in (lambda f: f, weft.jit):
        assert_close(way(weft.grad(f))(x), onp.float32([2, 0.5, 0.25]))


def test_select_and_piecewise():
    agree("select", [X < -1, X < 0, X < 1], [X, 2 * X, -X], -7.0, compiled=False)
    conditions = [X < 0, X >= 1]
    assert_close(np.piecewise(X, conditions, [-1, 1]), onp.piecewise(X, conditions, [-1, 1]))
    functions = [lambda v: -v, lambda v: v * v, 7.0]
    ours = weft.jit(lambda x: np.piecewise(x, [x < 0, x >= 1], functions))(X)
    assert_close(ours, onp.piecewise(X, conditions, functions))
    with pytest.raises(ValueError, match="2 conditions need 2 or 3 functions"):
        np.piecewise(X, conditions, [1])


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


def test_functions_along_axes():
    x = RNG.standard_normal((2, 3, 4)).astype(onp.float32)
    for axis in (0, 1, -1):
        for f in (lambda v: v.sum(), lambda v: v[:2] * 2, lambda v: v[None] + v[:, None]):
            assert_close(np.apply_along_axis(f, axis, x), onp.apply_along_axis(f, axis, x))
    assert_close(np.apply_over_axes(np.sum, x, [0, 2]), onp.apply_over_axes(onp.sum, x, [0, 2]))


def test_vectorize():
    add = np.vectorize(lambda x, y: x + y)
    assert_close(add(X, X[0]), X + X[0])
    assert_close(add(X[:, :1], X[:1]), X[:, :1] + X[:1])
    assert_close(add(X, 1.0), X + 1)
    inner = np.vectorize(np.dot, signature="(n),(n)->()")
    assert_close(inner(X, X[0]), X @ X[0])
    assert_close(inner(X[:, None], X[None]), X @ X.T)
    parts = np.vectorize(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)")
    total, twice = parts(X)
    assert_close(total, X.sum(1))
    assert_close(twice, 2 * X)
    outer = np.vectorize(np.outer, signature="(n),(m)->(n,m)")
    assert outer(X, P).shape == (4, 5, 4)
    fixed = np.vectorize(lambda x, n: x * n, excluded={1})
    assert_close(fixed(X, 3), X * 3)
    assert_close(weft.jit(inner)(X, X[0]), X @ X[0])


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
