"""scan agrees with the same loop written out, under every nesting of transformations."""

import functools

import numpy as np
import pytest
from tests.higher_order.nesting import agree, nestings, str_of, total

import weft
from weft import lax
from weft.core.array import as_value
from weft.higher_order.scan import scan as scan_primitive
from weft.lax.axes import along_new_axis, row
from weft.primitives.comparison import gt
from weft.primitives.exponential import exp
from weft.primitives.products import dot_general
from weft.primitives.selection import select_n, stop_gradient
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin, tanh

f32 = np.float32


def python_scan(f, init, xs, length=None, reverse=False, unroll=1):
    """What scan is, in Python."""
    tree = weft.tree_util
    leaves = tree.tree_leaves(xs)
    n = length if length is not None else leaves[0].shape[0]
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree.tree_map(lambda x, i=i: row(x, i), xs))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return tree.tree_map(as_value, carry), tree.tree_map(lambda *parts: along_new_axis(parts), *ys)


def matmul(a, b):
    """A matrix times a vector."""
    return dot_general(a, b, dims=(((a.ndim - 1,), (0,)), ((), ())))


# Each program takes a `scan` and its arguments.


def recurrent(scan, w, x0, xs):
    """A recurrent layer: a constant that is differentiated, a carry and stacked outputs."""

    def step(h, x):
        h = tanh(matmul(w, h) + x)
        return h, h * x

    return scan(step, x0, xs)


def recurrent_reversed(scan, w, x0, xs):
    return recurrent(functools.partial(scan, reverse=True, unroll=2), w, x0, xs)


def counting(scan, x, xs):
    """An integer in the carry, which chooses what is done."""

    def step(carry, x):
        i, total = carry
        total = total + select_n(gt(i, 1), x, x * x) * 0.5
        return (i + 1, total), (i * 2, sin(total))

    return scan(step, (0, x), xs)


def nested(scan, x, xs):
    """A scan in a scan, over an array that the outer one closes over."""

    def outer(c, x):
        def inner(d, z):
            d = d + sin(z * x) * c
            return d, d

        d, ys = scan(inner, c * 0.3, xs)
        return tanh(d), reduce_sum(ys, axes=(0,))

    return scan(outer, x, xs)


def steady(scan, w, xs):
    """A carry that no step changes, a slice that is passed on, and a carry that ends unused."""

    def step(carry, x):
        w, c, _ = carry
        c = c * cos(w) + x
        return (w, c, x), (x, c, w)

    return scan(step, (w, 0.5, 0.0), xs)


def no_inputs(scan, w, x):
    """No xs, no ys; a closure over two values that are differentiated."""
    return scan(lambda c, _: (sin(c * w) + exp(-w), None), x, None, length=4)


def with_jit(scan, w, x, xs):
    """jit in the body, closing over a value of the outside."""
    inner = weft.jit(lambda c, x: (tanh(c * w + x), c))
    return scan(lambda c, x: inner(c, x), x, xs)


def with_vmap(scan, w, xs):
    """vmap in the body, closing over a value of the outside."""

    def step(c, x):
        c = weft.vmap(lambda ci, wi: tanh(ci * wi + x))(c, w)
        return c, total(c)

    return scan(step, w * 0.5, xs)


def with_grad(scan, w, xs):
    """A gradient in the body."""

    def step(c, x):
        g = weft.grad(lambda c: sin(c * w * x))(c)
        return c - 0.1 * g, g

    return scan(step, w, xs)


def not_differentiated(scan, w, xs):
    """Outputs with no derivative beside such that have one."""

    def step(c, x):
        return c + 1.0, (sin(w * x), c)

    return scan(step, 0.0, xs)


def exchanged(scan, x, y, xs):
    """Carries that change places: the derivative reaches the second in the second step."""

    def step(carry, x):
        a, b, c = carry
        return (b, c, a + x), a * b

    return scan(step, (x, y, 0.0), xs)


W = np.array([[0.3, -0.5], [0.7, 0.2]], f32)
V = np.array([0.4, -0.9], f32)
S = f32(0.7)
XS = np.array([[0.1, 0.6], [-0.5, 0.3], [0.8, -0.2]], f32)
X1 = np.array([0.5, -0.3, 0.9], f32)

PROGRAMS = {
    recurrent: (W, V, XS),
    recurrent_reversed: (W, V, XS),
    counting: (S, X1),
    nested: (S, X1),
    steady: (S, X1),
    no_inputs: (S, f32(0.2)),
    with_jit: (S, f32(0.2), X1),
    with_vmap: (V, X1),
    with_grad: (S, X1),
    not_differentiated: (S, X1),
    exchanged: (S, f32(0.2), X1),
}


@pytest.mark.parametrize(("program", "name"), nestings(PROGRAMS, recurrent), ids=str_of)
def test_scan_equals_the_loop_written_out(program, name):
    agree(
        functools.partial(program, lax.scan),
        functools.partial(program, python_scan),
        PROGRAMS[program],
        name,
    )


def test_gradient_equals_finite_differences():
    f = lambda w: total(recurrent(lax.scan, w, V, XS))  # noqa: E731
    g = np.asarray(weft.grad(f)(W))
    for i in range(2):
        for j in range(2):
            d = np.zeros_like(W)
            d[i, j] = 1e-2
            slope = (np.asarray(f(W + d)) - np.asarray(f(W - d))) / 2e-2
            np.testing.assert_allclose(g[i, j], slope, rtol=2e-3, atol=1e-3)


def scans(jaxpr):
    """The scan equations of a program, with what is inside."""
    return [e for e in jaxpr.equations if e.primitive is scan_primitive]


def params(equation):
    return dict(equation.params)


def test_length_is_not_in_the_size_of_the_program():
    def text(n):
        def f(x):
            return lax.scan(lambda c, x: (sin(c) + x, c), 0.0, x)[1]

        back = weft.grad(lambda x: reduce_sum(f(x), axes=(0,)))
        return weft.jit(back).lower(np.zeros(n, f32)).as_text()

    assert abs(len(text(10)) - len(text(10_000))) < 400


def test_jvp_is_one_scan():
    f = lambda x: lax.scan(lambda c, x: (sin(c) + x, c), 0.0, x)  # noqa: E731
    jaxpr = weft.make_jaxpr(lambda x, t: weft.jvp(f, (x,), (t,)))(X1, X1)
    assert len(scans(jaxpr.jaxpr)) == 1


def test_residuals_that_follow_from_constants_are_not_stacked():
    def f(w, xs):  # exp(w) needs no stack, nor does w, nor x; tanh's derivative does
        return lax.scan(lambda c, x: (tanh(c * exp(w) + x * w), None), 0.0, xs)[0]

    jaxpr = weft.make_jaxpr(weft.grad(f))(S, np.zeros(50, f32))
    forward, back = scans(jaxpr.jaxpr)
    stacks = [v.aval.shape for v in forward.outvars if v.aval.shape]
    assert stacks == [(50,), (50,)]  # the carry (for the derivative in w), and that of tanh
    assert params(back)["reverse"]


def test_an_output_serves_as_residual():
    def f(xs):
        return total(lax.scan(lambda c, x: (exp(c * x),) * 2, S, xs)[1])

    forward, _ = scans(weft.make_jaxpr(weft.grad(f))(X1).jaxpr)
    stacks = [v for v in forward.outvars if v.aval.shape]
    assert len(stacks) == 2  # exp is its own derivative; and the carry


def test_a_carry_that_does_not_change_is_a_constant():
    def f(w, xs):
        return lax.scan(lambda c, x: ((c[0], c[1] * c[0] + x), x), (w, 0.0), xs)

    (equation,) = scans(weft.make_jaxpr(f)(S, X1).jaxpr)
    assert params(equation)["num_carry"] == 1
    assert len(equation.outvars) == 1  # the xs that are passed on are not stacked again


def test_carry_that_is_the_same_for_all_stays_so_under_vmap():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, c: c * 1.5 + i, x)

    (equation,) = scans(weft.make_jaxpr(weft.vmap(f))(X1).jaxpr)
    assert [v.aval.shape for v in equation.outvars] == [(), (3,)]


def test_a_carry_whose_derivative_is_zero_has_no_tangent():
    """Dependence says that it may have one; differentiating the body says that it hasn't."""

    def f(w, xs):
        def step(carry, x):
            a, b = carry
            return (sin(a * w), stop_gradient(b * w) + x), None

        return lax.scan(step, (w, 1.0), xs)[0]

    jaxpr = weft.make_jaxpr(lambda w, xs: weft.jvp(lambda w: f(w, xs), (w,), (w,)))(S, X1)
    (equation,) = scans(jaxpr.jaxpr)
    assert params(equation)["num_carry"] == 3
    _, (da, db) = weft.jvp(lambda w: f(w, X1), (S,), (f32(1.0),))
    assert float(db) == 0.0
    assert float(da) != 0.0
    _, back = scans(weft.make_jaxpr(weft.grad(lambda w, xs: f(w, xs)[0]))(S, X1).jaxpr)
    assert params(back)["num_carry"] == 2  # the cotangents of a and of w


def test_counter_stays_unbatched_through_an_inner_loop():
    def f(x):
        def body(carry, _):
            inner = lax.scan(lambda c, _: ((c[0] + 1, c[1] * x), None), carry, None, length=2)[0]
            return inner, None

        return lax.scan(body, (0, x), None, length=2)[0]

    (equation,) = scans(weft.make_jaxpr(weft.vmap(f))(X1).jaxpr)
    assert sorted(v.aval.shape for v in equation.outvars) == [(), (3,)]


def test_linear_transpose_with_a_counter_in_the_carry():
    def f(x):
        def step(carry, x):
            i, c = carry
            return (i + 1, c * 0.5 + x * (i * 1.0)), c * 2.0

        (_, c), ys = lax.scan(step, (0, 0.0), x)
        return c, ys

    matrix = np.concatenate(
        [
            np.stack([np.asarray(f(e)[0]) for e in np.eye(3, dtype=f32)])[:, None],
            np.stack([np.asarray(f(e)[1]) for e in np.eye(3, dtype=f32)]),
        ],
        axis=1,
    )
    ct = (f32(2.0), np.array([1.0, -1.0, 3.0], f32))
    (got,) = weft.linear_transpose(f, X1)(ct)
    np.testing.assert_allclose(np.asarray(got), matrix @ [2.0, 1.0, -1.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("unroll", [1, 2, 3, 7, 100, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_unroll(unroll, reverse):
    xs = np.arange(1, 8, dtype=f32)
    f = lambda xs: lax.scan(  # noqa: E731
        lambda c, x: (c * 0.5 + x, c), 0.0, xs, reverse=reverse, unroll=unroll
    )
    expected = python_scan(
        lambda c, x: (c * 0.5 + x, c), as_value(0.0), as_value(xs), None, reverse
    )
    for run in (f, weft.jit(f)):
        carry, ys = run(xs)
        np.testing.assert_array_equal(carry, expected[0])
        np.testing.assert_array_equal(ys, expected[1])
    g = weft.grad(lambda xs: total(f(xs)))(xs)
    h = weft.grad(
        lambda xs: total(lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs, reverse=reverse))
    )
    np.testing.assert_allclose(np.asarray(g), np.asarray(h(xs)), rtol=1e-6)


def test_unroll_is_in_the_program():
    def f(xs, unroll):
        return lax.scan(lambda c, x: (sin(c) + x, None), 0.0, xs, unroll=unroll)[0]

    def text(unroll):
        return weft.jit(f, static_argnums=1).lower(np.zeros(6, f32), unroll).as_text()

    assert "while" in text(1)
    assert text(2).count("dynamic_slice") == 2
    assert "while" not in text(True)
    assert "while" not in text(6)


@pytest.mark.parametrize("unroll", [1, 3, True])
def test_no_steps(unroll):
    def f(c, xs):
        return lax.scan(lambda c, x: (c * x, (c + x, x)), c, xs, unroll=unroll)

    empty = np.zeros((0, 2), f32)
    for run in (f, weft.jit(f)):
        carry, (ys, zs) = run(V, empty)
        np.testing.assert_array_equal(carry, V)
        assert ys.shape == zs.shape == (0, 2)
    got = weft.grad(lambda c, xs: total(f(c, xs)[0]), argnums=(0, 1))(V, empty)
    np.testing.assert_array_equal(got[0], np.ones(2))
    assert got[1].shape == (0, 2)
    assert weft.vmap(f, (0, None))(np.stack([V, V]), empty)[1][0].shape == (2, 0, 2)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "complex64"]
)
def test_dtypes_pass_through(dtype):
    xs = np.array([1, 0, 1, 1]).astype(weft.dtypes.canonicalize_dtype(dtype))
    carry, ys = lax.scan(lambda c, x: (x, c), xs[1], xs)
    assert carry.dtype == ys.dtype == xs.dtype
    np.testing.assert_array_equal(carry, xs[3])
    np.testing.assert_array_equal(ys, [xs[1], xs[0], xs[1], xs[2]])


def test_large_length():
    n = 10_000
    xs = np.full(n, 1e-4, f32)
    f = weft.jit(lambda x, xs: lax.scan(lambda c, x: (c + x * c, None), x, xs)[0])
    np.testing.assert_allclose(f(1.0, xs), (1 + 1e-4) ** n, rtol=1e-3)
    np.testing.assert_allclose(weft.grad(f)(1.0, xs), (1 + 1e-4) ** n, rtol=1e-3)


def test_memory_of_the_gradient_is_one_stack_for_each_residual():
    n, m = 1000, 256

    def f(w, xs):
        return total(lax.scan(lambda c, x: (sin(c * w) + x, None), w, xs)[0])

    compiled = weft.jit(weft.grad(f)).lower(np.ones(m, f32), np.ones((n, m), f32)).compile()
    analysis = compiled.memory_analysis()
    assert analysis.temp_bytes < 3.5 * n * m * 4  # c, cos(c * w), and some


def test_closure_over_an_array_that_changes_between_calls():
    box = {"w": np.array([1.0, 2.0], f32)}
    f = lambda: lax.scan(lambda c, _: (c * box["w"], None), V, None, length=2)[0]  # noqa: E731
    np.testing.assert_allclose(f(), V * [1, 4], rtol=1e-6)
    box["w"] = np.array([3.0, 1.0], f32)
    np.testing.assert_allclose(f(), V * [9, 1], rtol=1e-6)


def test_equal_bodies_are_compiled_once():
    programs = set()
    for _ in range(3):
        jaxpr = weft.make_jaxpr(lambda x: lax.scan(lambda c, x: (c * x, c), 1.0, x))(X1)
        programs.add(id(params(scans(jaxpr.jaxpr)[0])["jaxpr"]))
    assert len(programs) == 1


def test_custom_derivative_in_the_body():
    @weft.custom_vjp
    def f(x):
        return sin(x)

    f.defvjp(lambda x: (sin(x), cos(x)), lambda c, ct: (ct * c * 10.0,))
    g = weft.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])
    expected = 100.0 * np.cos(0.5) * np.cos(np.sin(0.5))
    np.testing.assert_allclose(g(0.5), expected, rtol=1e-5)
    np.testing.assert_allclose(weft.jit(g)(0.5), expected, rtol=1e-5)
    np.testing.assert_allclose(weft.vmap(g)(np.array([0.5], f32)), [expected], rtol=1e-5)


def test_custom_jvp_in_the_body():
    @weft.custom_jvp
    def f(x):
        return sin(x)

    f.defjvp(lambda primals, tangents: (sin(primals[0]), tangents[0] * cos(primals[0]) * 10.0))
    g = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]  # noqa: E731
    expected = 100.0 * np.cos(0.5) * np.cos(np.sin(0.5))
    np.testing.assert_allclose(weft.grad(g)(0.5), expected, rtol=1e-5)
    np.testing.assert_allclose(weft.jvp(g, (0.5,), (1.0,))[1], expected, rtol=1e-5)


def test_checkpointed_body_keeps_the_carry_only():
    def step(c, x):
        return sin(cos(sin(c * x))), None

    def f(step, x, xs):
        return lax.scan(step, x, xs)[0]

    plain = functools.partial(f, step)
    saved = functools.partial(f, weft.checkpoint(step))
    np.testing.assert_allclose(weft.grad(saved)(S, X1), weft.grad(plain)(S, X1), rtol=1e-5)
    forward = scans(weft.make_jaxpr(weft.grad(saved))(S, X1).jaxpr)[0]
    assert len([v for v in forward.outvars if v.aval.shape]) == 1
