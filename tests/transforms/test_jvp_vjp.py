"""jvp, linearize, vjp: values, structures, what is refused; the functions that they return."""

import numpy as np
import pytest

import weft
from weft import tree_util
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


FLOAT0 = weft.dtypes.float0


def test_jvp():
    y, t = weft.jvp(sin, (0.1,), (0.2,))
    same(y, np.sin(0.1))
    same(t, 0.2 * np.cos(0.1))
    y, t = weft.jvp(lambda x, y: {"p": x * y, "q": [x]}, [2.0, 3.0], [1.0, 10.0])
    same(y["p"], 6.0)
    same(t["p"], 23.0)
    same(t["q"][0], 1.0)
    y, t, aux = weft.jvp(lambda x: (x * x, (x, "s")), (3.0,), (1.0,), has_aux=True)
    same(t, 6.0)
    same(aux[0], 3.0)
    assert aux[1] == "s"


def test_jvp_of_a_constant_and_of_an_integer_output():
    _y, t = weft.jvp(lambda x: (4.0, 3, x), (1.0,), (2.0,))
    same(t[0], 0.0)
    assert t[1].dtype == FLOAT0
    same(t[2], 2.0)


def test_jvp_of_integers_takes_float0():
    _y, t = weft.jvp(lambda x, n: x * n, (2.0, 3), (1.0, np.zeros((), FLOAT0)))
    same(t, 3.0)
    with pytest.raises(
        TypeError, match=r"jvp: n is int32\[\]: its tangent must be of dtype float0"
    ):
        weft.jvp(lambda x, n: x * n, (2.0, 3), (1.0, 1.0))
    with pytest.raises(TypeError, match=r"tangent of x must be like float32\[\]; got float0"):
        weft.jvp(lambda x: x, (2.0,), (np.zeros((), FLOAT0),))


def test_jvp_checks_its_arguments():
    with pytest.raises(TypeError, match=r"(?s)primals must be a tuple or a list.*jvp\(f, \(x,\)"):
        weft.jvp(sin, 1.0, 1.0)
    with pytest.raises(TypeError, match="one structure"):
        weft.jvp(lambda x, y: x, (1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match=r"tangent of x\['a'\].*float32\[2\]; got float32\[3\]"):
        weft.jvp(lambda x: x["a"], ({"a": f32([1, 2])},), ({"a": f32([1, 2, 3])},))
    with pytest.raises(TypeError, match=r"tangent of x .*float32\[\]; got int32\[\]"):
        weft.jvp(lambda x: x, (f32(1.0),), (np.int32(1),))


def test_linearize():
    y, f_jvp = weft.linearize(lambda x, y: x * sin(y), 2.0, 0.5)
    same(y, 2 * np.sin(0.5))
    same(f_jvp(1.0, 0.0), np.sin(0.5))
    same(f_jvp(0.0, 1.0), 2 * np.cos(0.5))
    same(weft.vmap(f_jvp)(f32([1, 0]), f32([0, 1])), [np.sin(0.5), 2 * np.cos(0.5)])
    same(weft.jit(f_jvp)(1.0, 1.0), np.sin(0.5) + 2 * np.cos(0.5))
    y, f_jvp, aux = weft.linearize(lambda x: (x * x, {"a": x}), 3.0, has_aux=True)
    same(f_jvp(1.0), 6.0)
    same(aux["a"], 3.0)
    with pytest.raises(TypeError, match="structure"):
        f_jvp(1.0, 2.0)
    with pytest.raises(TypeError, match=r"got float32\[2\]"):
        f_jvp(f32([1.0, 2.0]))


def test_the_linear_function_of_linearize_is_differentiable():
    _, f_jvp = weft.linearize(lambda x: x * x * x, 2.0)
    same(weft.grad(f_jvp)(5.0), 12.0)

    def g(x):
        return weft.linearize(sin, x)[1](1.0)  # cos

    same(weft.grad(g)(0.3), -np.sin(0.3))
    same(weft.jvp(g, (0.3,), (1.0,))[1], -np.sin(0.3))


def test_vjp():
    (y, _z), pull = weft.vjp(lambda x, y: (sin(x) * y, y), 0.5, 2.0)
    same(y, 2 * np.sin(0.5))
    gx, gy = pull((1.0, 10.0))
    same(gx, 2 * np.cos(0.5))
    same(gy, np.sin(0.5) + 10)
    gx, gy = pull((0.0, 1.0))  # again
    same(gx, 0.0)
    same(gy, 1.0)
    y, pull, aux = weft.vjp(lambda x: (x * x, "aux"), 3.0, has_aux=True)
    assert aux == "aux"
    same(pull(1.0)[0], 6.0)


def test_vjp_checks_cotangents():
    _y, pull = weft.vjp(lambda x: {"a": x * 2, "b": x}, f32([1.0, 2.0]))
    with pytest.raises(TypeError, match="structure of the output"):
        pull(1.0)
    with pytest.raises(
        TypeError, match=r"cotangent of output\['a'\].*float32\[2\]; got float32\[\]"
    ):
        pull({"a": f32(1.0), "b": f32([1.0, 1.0])})
    with pytest.raises(TypeError, match="takes one argument"):
        pull(1.0, 2.0)


def test_vjp_of_integers():
    _y, pull = weft.vjp(lambda x, n: (x * n, n), 2.0, 3)
    gx, gn = pull((1.0, np.zeros((), FLOAT0)))
    same(gx, 3.0)
    assert gn.dtype == FLOAT0
    with pytest.raises(
        TypeError, match=r"output\[1\] is int32\[\]: its cotangent must be of dtype float0"
    ):
        pull((1.0, 1.0))
    gx, gn = pull((1.0, 1))  # an integer says as much as float0 does
    same(gx, 3.0)
    assert gn.dtype == FLOAT0
    assert [g.dtype for g in weft.vjp(lambda m, n: m + n, 2, 1)[1](1)] == [FLOAT0, FLOAT0]


def test_vjp_inside_vmap_and_jit():
    x = f32([[0.1, 0.2], [0.3, 0.4]])

    def f(x):
        _, pull = weft.vjp(lambda x: sin(x) * x, x)
        return pull(f32([1.0, 2.0]))[0]

    v = np.asarray(x)
    expected = (np.cos(v) * v + np.sin(v)) * [1.0, 2.0]
    same(weft.vmap(f)(x), expected)
    same(weft.jit(weft.vmap(f))(x), expected)
    _, pull = weft.vjp(sin, f32(0.3))
    same(weft.jit(pull)(1.0)[0], np.cos(0.3))


def test_a_pullback_mapped_over_a_basis_is_the_jacobian():
    x = f32([0.1, 0.2, 0.3])
    _y, pull = weft.vjp(lambda x: sin(x) * x, x)
    (rows,) = weft.vmap(pull)(f32(np.eye(3)))
    same(rows, weft.jacfwd(lambda x: sin(x) * x)(x))


def test_a_pullback_outlives_its_function():
    def make():
        x = f32(np.arange(4.0))
        return weft.vjp(lambda y: x * y * y, f32(2.0))[1]

    same(make()(f32([1.0, 1.0, 1.0, 1.0]))[0], 4 * 6.0)


def test_pullback_is_differentiable_in_cotangent_and_point():
    def g(x, ct):
        return weft.vjp(lambda x: x * x * x, x)[1](ct)[0]

    same(g(2.0, 5.0), 60.0)
    same(weft.grad(g, 0)(2.0, 5.0), 60.0)
    same(weft.grad(g, 1)(2.0, 5.0), 12.0)
    same(weft.jit(weft.grad(g, 0))(2.0, 5.0), 60.0)


def test_forward_and_reverse_agree():
    with weft.enable_x64():
        rng = np.random.default_rng(1)
        x, v, u = rng.normal(size=5), rng.normal(size=5), rng.normal(size=5)
        f = lambda x: sin(x) * cos(x * x) + reduce_sum(x, axes=(0,))  # noqa: E731
        _, t = weft.jvp(f, (x,), (v,))
        _, pull = weft.vjp(f, x)
        _, push = weft.linearize(f, x)
        same(np.dot(np.asarray(t), u), np.dot(v, np.asarray(pull(u)[0])), 1e-12)
        same(push(v), np.asarray(t), 1e-12)


# --- what is real stays real ---


def directions(t):
    """Ways to pass `t` as a tangent, or cotangent, of a float32 scalar."""
    double = lambda x: 2 * x  # noqa: E731
    return {
        "jvp": lambda: weft.jvp(double, (1.0,), (t,)),
        "linearize": lambda: weft.linearize(double, 1.0)[1](t),
        "vjp": lambda: weft.vjp(double, 1.0)[1](t),
        "linear_transpose": lambda: weft.linear_transpose(double, 1.0)(t),
    }


@pytest.mark.parametrize("t", [1j, np.complex64(1j), weft.jit(lambda: 1j)()])
@pytest.mark.parametrize("transform", ["jvp", "linearize", "vjp", "linear_transpose"])
def test_complex_tangents_of_real_values_are_refused(transform, t):
    with pytest.raises(TypeError, match=rf"{transform}: .*float32\[\]; got complex64\[\]"):
        directions(t)[transform]()


def test_rules_that_return_complex_for_real_are_refused():
    f = weft.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], 1j))
    with pytest.raises(TypeError, match="tangent like the output"):
        weft.jvp(f, (1.0,), (1.0,))
    g = weft.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, None), lambda r, ct: (ct * 1j,))
    with pytest.raises(TypeError, match="real for real ones"):
        weft.grad(g)(1.0)


# --- weak types ---


@pytest.mark.parametrize("x", [1.0, 1j])
def test_gradients_of_python_scalars_are_weak(x):
    holomorphic = isinstance(x, complex)
    f = lambda x: x * x  # noqa: E731
    found = [
        weft.grad(f, holomorphic=holomorphic)(x),
        weft.value_and_grad(f, holomorphic=holomorphic)(x)[1],
        weft.jit(weft.grad(f, holomorphic=holomorphic))(x),
        weft.grad(lambda x: (x * 0).real if holomorphic else x * 0)(x),
        weft.jacrev(f, holomorphic=holomorphic)(x),
        weft.jacfwd(f, holomorphic=holomorphic)(x),
        *weft.vjp(f, x)[1](np.zeros_like(x, np.complex64 if holomorphic else np.float32)),
    ]
    assert [g.weak_type for g in found] == [True] * len(found)
    strong = weft.grad(lambda y, x: (x * y).real, 0)(np.float32(2), x)
    assert not strong.weak_type
    assert (weft.grad(lambda x: x)(1.0) + weft.numpy.ones(2, weft.numpy.bfloat16)).dtype.name == (
        "bfloat16"
    )


# --- linear functions are trees ---


def test_linear_functions_are_partials_with_their_residuals_for_leaves():
    x = f32([0.5, 1.0])
    y, pull = weft.vjp(lambda x: sin(x) * x, x)
    _, push = weft.linearize(lambda x: sin(x) * x, x)
    back = weft.linear_transpose(lambda t: t * x, x)
    for function in (pull, push, back):
        assert isinstance(function, tree_util.Partial)
        leaves, tree = tree_util.tree_flatten(function)
        assert leaves
        assert all(isinstance(leaf, weft.Array) for leaf in leaves)
        again = tree.unflatten(leaves)
        same(tree_util.tree_leaves(again(y))[0], tree_util.tree_leaves(function(y))[0])
        doubled = tree_util.tree_map(lambda r: 2 * r, back)
    same(doubled(y)[0], 2 * back(y)[0])


def test_pullbacks_go_through_transformations():
    x = f32([0.5, 1.0, 2.0])
    slope = np.cos(x)
    same(weft.jit(lambda x: weft.vjp(sin, x)[1])(x)(np.ones_like(x))[0], slope)
    pull = weft.vjp(sin, x)[1]
    same(weft.jit(lambda f, ct: f(ct)[0])(pull, 2 * x), 2 * x * slope)
    same(weft.vmap(lambda f, ct: f(ct)[0], (None, 0))(pull, np.stack([x, x])), [x * slope] * 2)
    pulls = weft.vmap(lambda x: weft.vjp(sin, x)[1])(x)
    same(weft.vmap(lambda f: f(1.0)[0])(pulls), slope)
    same(weft.lax.scan(lambda c, f: (c, f(1.0)[0]), 0, pulls)[1], slope)
    push = weft.linearize(sin, x)[1]
    same(weft.jit(lambda f: f(x))(push), x * slope)
    same(weft.grad(lambda x: weft.jit(lambda f: f(1.0)[0])(weft.vjp(sin, x)[1]))(0.5), -np.sin(0.5))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: lambda xs: np.stack([f(x) for x in xs]),
        lambda f: lambda xs: np.stack([weft.jit(f)(x) for x in xs]),
        weft.vmap,
        lambda f: lambda xs: weft.lax.map(f, xs),
    ],
)
def test_a_pullback_is_a_residual(wrap):
    f = weft.custom_vjp(sin)
    f.defvjp(lambda x: weft.vjp(sin, x), lambda pull, ct: pull(2 * ct))
    x = f32([0.5, 1.0])
    same(wrap(weft.grad(f))(x), 2 * np.cos(x))


def test_jit_traces_once_for_pullbacks_of_one_function():
    traces = []

    @weft.jit
    def apply(pull, ct):
        traces.append(ct)
        return pull(ct)[0]

    def loss(x, y):
        return sin(x * y) / y

    for x in (0.5, 0.7, 0.9):
        pull = weft.vjp(loss, np.float32(x), np.float32(2.0))[1]
        same(apply(pull, np.float32(1.0)), np.cos(2 * x))
    assert len(traces) == 1


def test_pullbacks_with_reduced_axes_are_trees():
    def f(x):
        pull = weft.vjp(lambda w: w * x, 2.0, reduce_axes=("i",))[1]
        leaves, tree = tree_util.tree_flatten(pull)
        return tree.unflatten(leaves)(1.0)[0]

    same(weft.vmap(f, axis_name="i")(f32([1.0, 2.0])), [3.0, 3.0])
