"""JAX documentation: custom_jvp, custom_vjp, closure_convert, checkpoint."""

from functools import partial

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp
from weft import closure_convert, custom_vjp


def expected(x, y):
    """The derivatives of sin(x) y."""
    return np.cos(x) * y, np.sin(x)


def check(f):
    np.testing.assert_allclose(f(0.7, 3.0), np.sin(0.7) * 3, rtol=1e-6)
    np.testing.assert_allclose(weft.grad(f, (0, 1))(0.7, 3.0), expected(0.7, 3.0), rtol=1e-6)
    np.testing.assert_allclose(
        weft.jit(weft.grad(f, (0, 1)))(0.7, 3.0), expected(0.7, 3.0), rtol=1e-6
    )
    xs = np.float32([0.1, 0.7])
    mapped = weft.vmap(weft.grad(f, (0, 1)), (0, None))(xs, 3.0)
    np.testing.assert_allclose(mapped, expected(xs, 3.0 * np.ones(2)), rtol=1e-6)


def test_custom_jvp():
    used = []

    @weft.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        used.append(1)
        x, y = primals
        x_dot, y_dot = tangents
        primal_out = f(x, y)
        tangent_out = jnp.cos(x) * x_dot * y + jnp.sin(x) * y_dot
        return primal_out, tangent_out

    f(0.7, 3.0)
    assert not used
    check(f)
    assert used
    _, t = weft.jvp(f, (0.7, 3.0), (1.0, 2.0))
    np.testing.assert_allclose(t, np.cos(0.7) * 3 + np.sin(0.7) * 2, rtol=1e-6)


def test_defjvps():
    @weft.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    f.defjvps(
        lambda x_dot, primal_out, x, y: jnp.cos(x) * x_dot * y,
        lambda y_dot, primal_out, x, y: jnp.sin(x) * y_dot,
    )
    check(f)


def test_custom_vjp():
    used = []

    @weft.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    def f_fwd(x, y):
        return f(x, y), (jnp.cos(x), jnp.sin(x), y)

    def f_bwd(res, g):
        used.append(1)
        cos_x, sin_x, y = res
        return (cos_x * g * y, sin_x * g)

    f.defvjp(f_fwd, f_bwd)
    check(f)
    assert used
    with pytest.raises(TypeError):  # this decorator precludes forward-mode differentiation
        weft.jvp(f, (0.7, 3.0), (1.0, 2.0))


def test_what_rules_are_given():
    seen = []

    @weft.custom_jvp
    def f(x, y):
        return {"out": x["a"] * y}

    @f.defjvp
    def f_jvp(primals, tangents):
        seen.append((type(primals), len(primals), type(tangents), len(tangents)))
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), {"out": x_dot["a"] * y + x["a"] * y_dot}

    out, t = weft.jvp(f, ({"a": 2.0}, 3.0), ({"a": 1.0}, 10.0))
    assert (out["out"], t["out"]) == (6.0, 23.0)
    assert seen == [(tuple, 2, tuple, 2)]

    @partial(weft.custom_jvp, nondiff_argnums=(0,))
    def g(h, x):
        return h(x)

    with pytest.raises(TypeError, match="nondiff_argnums"):
        g.defjvps(None, lambda t, out, x: t)


@pytest.mark.parametrize("wrong", [lambda g: (g,), lambda g: (g, g, g), lambda g: g])
def test_the_backward_rule_gives_a_tuple_as_long_as_the_arguments(wrong):
    f = weft.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: wrong(g))
    with pytest.raises(TypeError, match="tuple of 2 cotangents, one for each argument"):
        weft.grad(f)(2.0, 3.0)


def test_nondiff_argnums():
    @partial(weft.custom_jvp, nondiff_argnums=(0,))
    def app(f, x):
        return f(x)

    @app.defjvp
    def app_jvp(f, primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), 2.0 * x_dot

    assert weft.grad(lambda x: app(lambda y: y**3, x))(1.0) == 2.0


def test_closure_convert():
    def minimize(objective_fn, x0):
        converted_fn, aux_args = closure_convert(objective_fn, x0)
        return _minimize(converted_fn, x0, *aux_args)

    @partial(custom_vjp, nondiff_argnums=(0,))
    def _minimize(objective_fn, x0, *args):
        # the objective is (x - t)**2: one step of Newton's finds the minimizer
        slope = weft.grad(objective_fn)(x0, *args)
        return x0 - slope / 2

    def fwd(objective_fn, x0, *args):
        y = _minimize(objective_fn, x0, *args)
        return y, (y, args)

    def rev(objective_fn, res, g):
        y, args = res
        # implicit function theorem: dy/dargs = -(d²/dy dargs) / (d²/dy²)
        slope = lambda *args: weft.grad(objective_fn)(y, *args)  # noqa: E731
        _, pull = weft.vjp(slope, *args)
        args_bars = pull(-g / 2)
        return (jnp.zeros_like(y), *args_bars)

    _minimize.defvjp(fwd, rev)

    def loss(t):
        target = jnp.sin(t)
        return minimize(lambda x: (x - target) ** 2, 0.0) * 3

    np.testing.assert_allclose(loss(0.5), 3 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(weft.grad(loss)(0.5), 3 * np.cos(0.5), rtol=1e-6)


def test_closure_convert_finds_what_is_met_while_running():
    def outer(t):
        w = jnp.cos(t)

        def inner(x):
            return x * w  # a closure

        def middle(x):
            return inner(x) + jnp.sum(w)  # and one of a function that is called

        converted, hoisted = closure_convert(middle, 1.0)
        assert isinstance(hoisted, list)
        assert len(hoisted) == 1
        return converted(2.0, *hoisted), converted(2.0, *[10.0 for _ in hoisted])

    def first(t):
        return outer(t)[0]

    value, gradient = weft.value_and_grad(first)(0.5)
    np.testing.assert_allclose(value, 3 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(gradient, -3 * np.sin(0.5), rtol=1e-6)
    assert weft.jvp(lambda t: outer(t)[1], (0.5,), (1.0,))[0] == 30.0


def test_checkpoint():
    @weft.checkpoint
    def g(x):
        y = jnp.sin(x)
        z = jnp.sin(y)
        return z

    prints(weft.grad(g)(2.0), "-0.25563914")
    prints(weft.jit(weft.grad(g))(2.0), "-0.25563914")
    assert weft.remat is weft.checkpoint
    assert isinstance(weft.grad(g)(2.0), weft.Array)
    # sin(2.0) is computed twice: on the forward pass, and on the backward pass; else once
    count = lambda f: str(weft.make_jaxpr(weft.grad(f))(2.0)).count("= sin")  # noqa: E731
    assert count(lambda x: jnp.sin(jnp.sin(x))) == 2
    assert count(g) == 3


def test_recursive_checkpoint():
    def recursive_checkpoint(funs):
        if len(funs) == 1:
            return funs[0]
        elif len(funs) == 2:
            f1, f2 = funs
            return lambda x: f1(f2(x))
        else:
            f1 = recursive_checkpoint(funs[: len(funs) // 2])
            f2 = recursive_checkpoint(funs[len(funs) // 2 :])
            return lambda x: f1(weft.checkpoint(f2)(x))

    funs = [jnp.sin, lambda x: 2 * x, jnp.cos, jnp.tanh, lambda x: x**2, jnp.exp]
    plain = lambda x: jnp.sin(2 * jnp.cos(jnp.tanh(jnp.exp(x) ** 2)))  # noqa: E731
    for n in (1, 2, 3, 6):
        assert np.isfinite(weft.grad(recursive_checkpoint(funs[:n]))(0.3))
    np.testing.assert_allclose(
        weft.grad(recursive_checkpoint(funs))(0.3), weft.grad(plain)(0.3), rtol=1e-5
    )


def test_checkpoint_with_a_python_branch():
    @partial(weft.checkpoint, concrete=True)
    def g(x):
        return x**2 if x > 0 else -x

    assert weft.grad(g)(3.0) == 6.0
    assert weft.grad(g)(-3.0) == -1.0


def test_checkpoint_with_a_policy():
    policy = weft.checkpoint_policies.checkpoint_dots
    f = weft.checkpoint(
        lambda w, x: jnp.sum(jnp.tanh(jnp.dot(w, x))), policy=policy, prevent_cse=False
    )
    w, x = np.ones((2, 3), "f"), np.float32([0.1, 0.2, 0.3])
    np.testing.assert_allclose(
        weft.grad(f)(w, x), np.outer(1 - np.tanh(0.6) ** 2 * np.ones(2), x), rtol=1e-5
    )
