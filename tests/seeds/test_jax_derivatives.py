"""JAX documentation, automatic differentiation: grad … linear_transpose, vjp, jvp."""

import types
from functools import partial

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp
from weft import jvp, vmap


def test_grad():
    grad_tanh = weft.grad(weft.numpy.tanh)
    prints(grad_tanh(0.2), "0.961043")


def test_grad_options():
    f = lambda x, y: (x**2 * y, {"sum": x + y})  # noqa: E731
    gradient, aux = weft.grad(f, has_aux=True)(3.0, 4.0)
    assert (gradient, aux["sum"]) == (24.0, 7.0)
    both, _ = weft.grad(f, argnums=(0, 1), has_aux=True)(3.0, 4.0)
    assert isinstance(both, tuple)
    assert both == (24.0, 9.0)
    assert weft.grad(lambda z: z**2, holomorphic=True)(1.0 + 2j) == 2 + 4j
    whole = weft.grad(lambda i, x: i * x, argnums=0, allow_int=True)(3, 2.0)
    assert whole.dtype == weft.dtypes.float0
    with pytest.raises(TypeError):
        weft.grad(lambda i: i * 1.0)(3)
    for transform in (weft.grad, weft.value_and_grad):
        # a scalar has shape (), not (1,)
        with pytest.raises(TypeError, match=r"must return a scalar .*got float32\[1\]"):
            transform(lambda x: x)(np.ones(1, "f"))
        transform(lambda x: jnp.sum(x))(np.ones(1, "f"))
    with pytest.raises(TypeError, match="holomorphic=True arguments must be complex"):
        weft.grad(lambda z: z**2, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True the output must be complex"):
        weft.grad(lambda z: jnp.real(z * z), holomorphic=True)(1.0 + 2j)


def test_value_and_grad():
    f = lambda x, y: x * jnp.sin(y)  # noqa: E731
    value, gradient = weft.value_and_grad(f)(2.0, 0.5)
    prints(value, f"{2 * np.sin(0.5):.6f}")
    prints(gradient, f"{np.sin(0.5):.6f}")
    value, (dx, dy) = weft.value_and_grad(f, argnums=[0, 1])(2.0, 0.5)
    prints(dx, f"{np.sin(0.5):.6f}")
    prints(dy, f"{2 * np.cos(0.5):.6f}")


JACOBIAN = "[[ 1. 0. 0. ] [ 0. 0. 5. ] [ 0. 16. -2. ] [ 1.6209 0. 0.84147]]"


@pytest.mark.parametrize("jacobian", [weft.jacfwd, weft.jacrev])
def test_jacobians(jacobian):
    def f(x):
        return jnp.asarray([x[0], 5 * x[2], 4 * x[1] ** 2 - 2 * x[2], x[2] * jnp.sin(x[0])])

    prints(jacobian(f)(jnp.array([1.0, 2.0, 3.0])), JACOBIAN)


def test_hessian():
    g = lambda x: x[0] ** 3 - 2 * x[0] * x[1] - x[1] ** 6  # noqa: E731
    prints(weft.hessian(g)(weft.numpy.array([1.0, 2.0])), "[[ 6. -2.] [ -2. -480.]]")


def test_hessian_of_containers():
    f = lambda dct: {"c": jnp.power(dct["a"], dct["b"])}  # noqa: E731
    h = weft.hessian(f)({"a": jnp.arange(2.0) + 1.0, "b": jnp.arange(2.0) + 2.0})
    prints(h["c"]["a"]["a"], "[[[ 2., 0.], [ 0., 0.]], [[ 0., 0.], [ 0., 12.]]]")
    mixed = "[[[ 1. , 0. ], [ 0. , 0. ]], [[ 0. , 0. ], [ 0. , 12.317766]]]"
    prints(h["c"]["a"]["b"], mixed)
    prints(h["c"]["b"]["a"], mixed)
    prints(h["c"]["b"]["b"], "[[[0. , 0. ], [0. , 0. ]], [[0. , 0. ], [0. , 3.843624]]]")
    assert h["c"]["a"]["a"].dtype == np.float32


def test_hessian_is_a_tree_product():
    def fun(x):
        return {"u": jnp.outer(x["a"], x["b"][0]), "v": [jnp.sum(x["a"]) ** 2]}

    x = {"a": jnp.ones((3,)), "b": (jnp.ones((2,)),)}
    h = weft.hessian(fun)(x)
    structure = weft.tree_util.tree_structure
    twice = {"a": {"a": 0, "b": (0,)}, "b": ({"a": 0, "b": (0,)},)}
    assert structure(h) == structure({"u": twice, "v": [twice]})
    # out_1, out_2, …, in_1_1, …, in_2_1, …
    assert h["u"]["a"]["b"][0].shape == (3, 2, 3, 2)
    assert h["u"]["b"][0]["a"].shape == (3, 2, 2, 3)
    assert h["u"]["b"][0]["b"][0].shape == (3, 2, 2, 2)
    assert h["v"][0]["a"]["a"].shape == (3, 3)
    np.testing.assert_array_equal(h["v"][0]["a"]["a"], 2 * np.ones((3, 3)))
    np.testing.assert_array_equal(
        h["u"]["a"]["b"][0], np.einsum("ik,jl->ijkl", np.eye(3), np.eye(2))
    )


def test_jvp():
    y, v = weft.jvp(weft.numpy.sin, (0.1,), (0.2,))
    prints(y, "0.09983342")
    prints(v, "0.19900084")


def f(x):
    return 3.0 * jnp.sin(x) + jnp.cos(x / 2.0)


def test_linearize():
    y, out_tangent = weft.jvp(f, (2.0,), (3.0,))
    prints(y, "3.26819")
    prints(out_tangent, "-5.00753")
    for out in (y, out_tangent):
        assert out.weak_type
        assert out.dtype == np.float32
    y, f_jvp = weft.linearize(f, 2.0)
    prints(y, "3.2681944")
    prints(f_jvp(3.0), "-5.007528")
    prints(f_jvp(4.0), "-6.676704")


def test_linearize_is_a_curried_jvp():
    x, in_tangent = np.float32([0.1, 2.0]), np.float32([1.0, -1.0])
    y, out_tangent = weft.jvp(f, (x,), (in_tangent,))
    z, f_jvp = weft.linearize(f, x)
    np.testing.assert_allclose(z, y, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(in_tangent), out_tangent, rtol=1e-6)


def test_linearize_does_the_work_once():
    runs = []

    def counted(x):
        runs.append(1)
        return jnp.sin(x) * x

    _, f_jvp = weft.linearize(counted, 2.0)
    assert [float(f_jvp(t)) for t in (0.0, 1.0, 2.0)] == pytest.approx(
        [t * (2 * np.cos(2.0) + np.sin(2.0)) for t in (0, 1, 2)], rel=1e-6
    )
    assert len(runs) == 1
    linear = weft.make_jaxpr(f_jvp)(3.0)
    assert {"sin", "cos"}.isdisjoint(e.primitive.name for e in linear.equations)


def test_arguments_of_jvp():
    y, v = weft.jvp(jnp.multiply, [2.0, 3.0], [1.0, 0.5])  # lists do, too
    assert (y, v) == (6.0, 4.0)
    for primals, tangents in (
        (2.0, 3.0),  # no tuples
        ((2.0, 3.0), (1.0,)),  # too few
        ((2.0, np.ones(3, "f")), (1.0, np.ones(2, "f"))),  # another shape
        ((2.0, {"a": 1.0}), (1.0, [1.0])),  # another structure
    ):
        with pytest.raises(TypeError, match="jvp"):
            weft.jvp(lambda x, y: x, primals, tangents)


def test_vectorized_pushforward():
    x, in_tangents = np.float32([0.1, 2.0]), np.eye(2, dtype=np.float32)
    pushfwd = partial(jvp, f, (x,))
    y, out_tangents = vmap(pushfwd, out_axes=(None, 0))((in_tangents,))
    np.testing.assert_allclose(y, f(x), rtol=1e-6)
    np.testing.assert_allclose(out_tangents, weft.jacfwd(f)(x).T, rtol=1e-6)


def test_linear_transpose():
    f = lambda x, y: 0.5 * x - 0.5 * y  # noqa: E731
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    f_transpose = weft.linear_transpose(f, scalar, scalar)
    out = f_transpose(1.0)
    assert isinstance(out, tuple)
    assert out == (0.5, -0.5)
    assert [o.dtype.name for o in out] == ["float32", "float32"]


def test_linear_transpose_gives_the_dtypes_of_the_arguments():
    struct = lambda *shape, dtype="float32": weft.ShapeDtypeStruct(shape, dtype)  # noqa: E731
    widen = lambda x: x.astype(np.complex64) * (2 + 1j)  # noqa: E731
    (out,) = weft.linear_transpose(widen, struct(2))(np.complex64([1 + 2j, 1j]))
    assert out.dtype == np.float32  # what a float can't hold is cut off
    np.testing.assert_allclose(out, [0.0, -1.0], atol=1e-6)
    with weft.enable_x64():
        (out,) = weft.linear_transpose(lambda x: x.astype(np.float64) * 2, struct())(1.0)
        assert out.dtype == np.float32
    f = lambda d: 2 * d["a"] - 3 * d["b"][0]  # noqa: E731
    (out,) = weft.linear_transpose(f, {"a": struct(3), "b": [struct(3)]})(np.ones(3, "f"))
    assert weft.tree_util.tree_map(lambda x: x.tolist(), out) == {"a": [2] * 3, "b": [[-3] * 3]}
    (out,) = weft.linear_transpose(lambda x: 2 * x, struct(dtype="int32"))(3)
    assert (int(out), out.dtype) == (6, np.int32)
    with pytest.raises(TypeError, match="linear"):
        weft.linear_transpose(lambda x: x * x, struct())(1.0)


def test_vjp():
    def f(x, y):
        return weft.numpy.sin(x), weft.numpy.cos(y)

    primals, f_vjp = weft.vjp(f, 0.5, 1.0)
    xbar, ybar = f_vjp((-0.7, 0.3))
    prints(xbar, "-0.61430776")
    prints(ybar, "-0.2524413")
    prints(primals[0], f"{np.sin(0.5):.7f}")


def test_vjp_with_auxiliary_data():
    out, f_vjp, aux = weft.vjp(lambda x: (x * x, {"twice": 2 * x}), 3.0, has_aux=True)
    assert (out, aux["twice"]) == (9.0, 6.0)
    assert f_vjp(1.0) == (6.0,)
