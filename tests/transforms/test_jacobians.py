"""jacfwd, jacrev, hessian: options, trees, and finite differences."""

import numpy as np
import pytest

import weft
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum, reshape
from weft.primitives.trigonometric import cos, sin, tanh


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


def f_vector(x):
    return sin(x) * total(x * x)


def jacobian(x):
    return np.diag(np.cos(x) * np.sum(x * x)) + np.outer(np.sin(x), 2 * x)


@pytest.mark.parametrize("transform", [weft.jacfwd, weft.jacrev])
def test_jacobian(transform):
    x = np.array([0.1, 0.5, 0.9], np.float32)
    same(transform(f_vector)(x), jacobian(x))
    same(weft.jit(transform(f_vector))(x), jacobian(x))
    assert transform(lambda x: x * 2)(1.0).shape == ()
    assert transform(lambda x: x * f32(np.ones((2, 3))))(f32(np.ones(3))).shape == (2, 3, 3)
    assert transform(lambda x: x * 1)(f32(np.ones((0,)))).shape == (0, 0)


@pytest.mark.parametrize("transform", [weft.jacfwd, weft.jacrev])
def test_jacobian_of_trees(transform):
    f = lambda p, y: {"u": p["a"] * y, "v": (p["b"],)}  # noqa: E731
    p, y = {"a": f32([1.0, 2.0]), "b": f32(3.0)}, f32(5.0)
    j = transform(f)(p, y)
    same(j["u"]["a"], 5 * np.eye(2))
    same(j["u"]["b"], [0.0, 0.0])
    same(j["v"][0]["a"], [0.0, 0.0])
    same(j["v"][0]["b"], 1.0)
    j = transform(f, (1, 0))(p, y)
    same(j["u"][0], [1.0, 2.0])
    same(j["u"][1]["a"], 5 * np.eye(2))
    j = transform(f, argnums=1)(p, y)
    same(j["u"], [1.0, 2.0])


@pytest.mark.parametrize("transform", [weft.jacfwd, weft.jacrev])
def test_jacobian_options(transform):
    j, aux = transform(lambda x: (x * x, {"s": sin(x), "t": "text"}), has_aux=True)(f32([1.0, 2.0]))
    same(j, np.diag([2.0, 4.0]))
    same(aux["s"], np.sin([1.0, 2.0]))
    assert aux["t"] == "text"
    z = weft.device_put(np.array([1 + 2j, 3 - 1j], np.complex64))
    same(transform(lambda z: z * z, holomorphic=True)(z), np.diag([2 + 4j, 6 - 2j]))
    with pytest.raises(TypeError, match=r"got complex64\[2\].*\n.*holomorphic=True"):
        transform(lambda z: z * z)(z)
    with pytest.raises(
        TypeError, match=r"floating-point or complex arguments only; got int32\[\] for n"
    ):
        transform(lambda n: n * 1.0)(3)


def test_jacrev_of_real_outputs_takes_complex_arguments():
    z = np.complex64([1 + 1j, 2 - 3j])
    got = weft.jacrev(weft.numpy.abs)(z)
    rows = [weft.grad(lambda z, i=i: weft.numpy.abs(z)[i])(z) for i in range(2)]
    same(got, np.stack([np.asarray(r) for r in rows]))
    step = 1e-3  # of a real function of z: df = Re(J dz)
    for dz in (step, 1j * step):
        expected = (np.abs(z + dz) - np.abs(z - dz)) / 2
        np.testing.assert_allclose(np.real(np.asarray(got) @ np.full(2, dz)), expected, rtol=1e-3)


def test_jacrev_of_integers_gives_float0():
    j = weft.jacrev(lambda x, n: x * n, (0, 1), allow_int=True)(f32([1.0, 2.0]), 3)
    same(j[0], 3 * np.eye(2))
    assert j[1].dtype == weft.dtypes.float0
    assert j[1].shape == (2,)


def test_hessian():
    f = lambda x: total(sin(x)) * total(x * x)  # noqa: E731
    x = np.array([0.1, 0.5, 0.9], np.float32)
    s, c = np.sin(x), np.cos(x)
    expected = -np.diag(s) * np.sum(x * x) + np.outer(c, 2 * x) + np.outer(2 * x, c)
    expected += 2 * np.eye(3) * np.sum(s)
    for h in (
        weft.hessian(f), weft.jit(weft.hessian(f)), weft.jacfwd(weft.jacfwd(f)),
        weft.jacrev(weft.jacrev(f)), weft.jacrev(weft.jacfwd(f)), weft.jacfwd(weft.grad(f)),
    ):  # fmt: skip
        same(h(x), expected, 1e-4)


def test_hessian_of_trees_and_argnums():
    f = lambda p, y: p["a"] * p["a"] * p["b"] * y  # noqa: E731
    p = {"a": f32(2.0), "b": f32(3.0)}
    h = weft.hessian(f)(p, 5.0)
    same(h["a"]["a"], 30.0)
    same(h["a"]["b"], 20.0)
    same(h["b"]["a"], 20.0)
    same(h["b"]["b"], 0.0)
    h = weft.hessian(f, (0, 1))(p, 5.0)
    same(h[0]["a"][1], 12.0)
    same(h[1][0]["b"], 4.0)
    h, _aux = weft.hessian(lambda x: (x * x * x, cos(x)), has_aux=True)(2.0)
    same(h, 12.0)


# --- vectors of derivatives agree with finite differences ---


def test_against_finite_differences_in_double_precision():
    def f(x):
        a = reshape(sin(x) * exp(x * 0.3), shape=(2, 3))
        b = tanh(reduce_sum(a * a, axes=(0,)))
        return total(b / (1.0 + cos(b)))

    with weft.enable_x64():
        rng = np.random.default_rng(0)
        x, v = rng.normal(size=6), rng.normal(size=6)
        e = 1e-6
        slope = (float(f(x + e * v)) - float(f(x - e * v))) / (2 * e)
        same(total(weft.grad(f)(x) * v), slope, 1e-7)
        same(weft.jvp(f, (x,), (v,))[1], slope, 1e-7)
        curve = (np.asarray(weft.grad(f)(x + e * v)) - np.asarray(weft.grad(f)(x - e * v))) / (
            2 * e
        )
        same(weft.jvp(weft.grad(f), (x,), (v,))[1], curve, 1e-6)
        same(np.asarray(weft.hessian(f)(x)) @ v, curve, 1e-6)
