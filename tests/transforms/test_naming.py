"""named_call and named_scope: where the names are seen, and that nothing else changes."""

import re

import numpy as np
import pytest

import weft
import weft.numpy as jnp


def layer(w, x):
    return jnp.tanh(w @ x)


def model(layer):
    def loss(w, x):
        for _ in range(3):
            x = layer(w, x)
        return jnp.sum(x)

    return loss


W, X = np.float32([[0.5, 0.1], [0.2, 0.3]]), np.float32([1.0, -1.0])
named = weft.named_call(layer, name="attention")


def op_names(f, *args):
    """The names that XLA keeps of the operations of a compiled function."""
    text = weft.jit(f).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', text))


def test_names_in_the_jaxpr():
    jaxpr = weft.make_jaxpr(model(named))(W, X)
    assert [e.primitive.name for e in jaxpr.equations] == ["call"] * 3 + ["reduce_sum"]
    assert str(jaxpr).count("name=attention") == 3
    inner = {dict(e.params)["jaxpr"] for e in jaxpr.equations[:3]}
    assert len(inner) == 1  # equal calls are one program: transformed once, lowered once


def test_names_in_stablehlo():
    text = weft.jit(model(named)).lower(W, X).as_text()
    assert text.count("func.func private @attention(") == 1
    assert text.count('loc("attention")') == 3


def test_names_in_xlas_program_and_of_the_backward_pass():
    assert op_names(model(named), W, X) == {"attention"}
    names = op_names(weft.grad(model(named)), W, X)
    assert "attention" in names
    assert any(re.fullmatch("attention_linear_t", name) for name in names)
    assert op_names(weft.vmap(model(named), (None, 0)), W, X[None]) == {"attention"}


def test_names_nest():
    inner = weft.named_call(jnp.sin, name="inner")
    outer = weft.named_call(lambda x: inner(x) * 2, name="outer")
    names = op_names(outer, X)
    assert "outer/inner" in names
    assert names <= {"outer", "outer/inner"}


def test_names_inside_loops():
    def f(x):
        return weft.lax.fori_loop(0, 3, lambda i, x: named(W, x), x)

    assert any("attention" in name for name in op_names(f, X))


def test_names_are_the_functions_by_default():
    assert "name=layer" in str(weft.make_jaxpr(weft.named_call(layer))(W, X))
    assert weft.named_call(layer).__name__ == "layer"


def test_a_program_without_names_has_no_locations():
    assert "loc(" not in weft.jit(model(weft.jit(layer))).lower(W, X).as_text()
    assert op_names(model(weft.jit(layer)), W, X) == set()


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        weft.jit,
        weft.grad,
        lambda f: weft.jit(weft.grad(f)),
        lambda f: weft.grad(weft.jit(f)),
        lambda f: weft.jit(weft.hessian(f)),
        weft.jacfwd,
        lambda f: weft.jit(weft.checkpoint(f)),
        lambda f: weft.jit(weft.grad(weft.checkpoint(f))),
        lambda f: lambda w, x: weft.linearize(weft.jit(f), w, x)[1](w, x),
    ],
)
@pytest.mark.parametrize("name", ["call", "scope"])
def test_results_are_those_of_the_function(transform, name):
    def scoped(w, x):
        with weft.named_scope("block"):
            return layer(w, x)

    f = named if name == "call" else scoped
    got, expected = transform(model(f))(W, X), transform(model(layer))(W, X)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_python_values_reach_the_function_as_they_are():
    seen = []

    @weft.named_call
    def f(x, n, how="up", *, table):
        seen.append((n, how, table["k"]))
        return (x * n if n > 2 else x), how, None, 7

    g = lambda x: f(x, 3, how="down", table={"k": np.arange(2)})  # noqa: E731
    assert g(2.0) == (6.0, "down", None, 7)
    out = weft.jit(lambda x: g(x)[0])(2.0)
    assert out == 6.0
    assert weft.jit(lambda x: g(x)[3])(2.0) == 7
    assert all(s[:2] == (3, "down") and isinstance(s[2], np.ndarray) for s in seen)


def test_outside_programs_the_function_just_runs():
    seen = []
    f = weft.named_call(lambda x: seen.append(x) or (x if x > 0 else -x))
    assert f(-2.0) == 2.0
    assert seen == [-2.0]
    assert weft.grad(f)(-2.0) == -1.0  # Python may branch: nothing is traced to a program here


def test_a_function_that_closes_over_traced_values():
    def f(x):
        return weft.named_call(lambda y: y * x, name="scaled")(x)

    assert weft.jit(f)(3.0) == 9.0
    assert weft.jit(weft.grad(f))(3.0) == 6.0
    assert weft.grad(weft.jit(f))(3.0) == 6.0


def test_scope_names_what_is_traced_within():
    @weft.jit
    def f(x):
        with weft.named_scope("scale"):
            y = x * 3
            with weft.named_scope("deep"):
                z = jnp.sin(y)
        return z + 1, y

    text = f.lower(X).as_text()
    assert 'loc("scale")' in text
    assert 'loc("deep")' in text
    assert {"scale/deep"} <= op_names(f, X) <= {"scale", "scale/deep"}
    for _ in range(2):
        np.testing.assert_allclose(f(X)[0], np.sin(3 * X) + 1, rtol=1e-6)
        np.testing.assert_allclose(f(X)[1], 3 * X, rtol=1e-6)


def test_scope_as_a_decorator_and_empty_and_left_by_an_error():
    @weft.named_scope("decorated")
    def f(x):
        return x * 2

    assert "name=decorated" in str(weft.make_jaxpr(f)(1.0))

    def g(x):
        with weft.named_scope("nothing"):
            pass
        try:
            with weft.named_scope("broken"):
                y = x + 1
                raise KeyError
        except KeyError:
            return y * 2

    assert [e.primitive.name for e in weft.make_jaxpr(g)(1.0).equations] == ["add", "mul"]
    assert weft.jit(g)(1.0) == 4.0


def test_scopes_pass_the_checks():
    with weft.enable_checks():
        scoped = weft.named_scope("s")(layer)
        np.testing.assert_allclose(
            weft.jit(weft.grad(model(scoped)))(W, X), weft.grad(model(layer))(W, X), rtol=1e-5
        )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ('a "b"\\\nc', "a _b___c"),
        ("größe", r"gr\303\266\303\237e"),
        ("3rd layer", "3rd layer"),
        ("7", "7"),
    ],
)
def test_names_with_any_character(name, kept):
    f = weft.named_call(jnp.sin, name=name)
    assert op_names(f, X) == {kept}
    np.testing.assert_allclose(weft.jit(f)(X), np.sin(X), rtol=1e-6)


def test_functions_with_names_beyond_ascii():
    @weft.jit
    def größe(x):
        return x * 2

    assert weft.jit(lambda x: größe(x) + 1)(3.0) == 7.0


def test_what_is_no_name_is_refused():
    with pytest.raises(TypeError, match=r"named_call: name must be a non-empty string; got int 3"):
        weft.named_call(jnp.sin, name=3)
    with (
        pytest.raises(TypeError, match=r"named_scope: name must be a non-empty string; got str ''"),
        weft.named_scope(""),
    ):
        pass
    with pytest.raises(TypeError, match="named_call: expected a function; got int"):
        weft.named_call(3)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: f,
        weft.jit,
        lambda f: weft.jit(weft.grad(f)),
        lambda f: weft.grad(weft.jit(f)),
        lambda f: weft.jit(weft.jacfwd(f)),
        lambda f: weft.jit(lambda x: weft.vmap(f)(x[None])[0]),
        lambda f: weft.jit(weft.checkpoint(f)),
    ],
)
def test_values_from_within_can_be_used_outside(wrap):
    def f(x):
        box = []
        inner = weft.named_call(lambda x: box.append(jnp.sin(x)) or 2 * x)
        return inner(x) * box.pop()

    np.testing.assert_allclose(
        wrap(f)(np.float32(0.5)), wrap(lambda x: 2 * x * jnp.sin(x))(np.float32(0.5)), rtol=1e-6
    )


def test_a_backward_pass_is_one_block_of_its_name():
    def loss(w, x):
        return weft.named_call(lambda x: jnp.exp(jnp.sin(w * x) * x), name="block")(x)

    equations = weft.make_jaxpr(weft.grad(loss))(2.0, 3.0).equations
    names = [dict(e.params)["jaxpr"].name for e in equations if e.primitive.name == "call"]
    assert names == ["block", "block_linear_t"]
