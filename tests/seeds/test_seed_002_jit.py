"""Seed 002, just-in-time compilation: jit, make_jaxpr, eval_shape, devices and others."""

import types

import numpy as np
import pytest
from printed import prints

import weft
import weft.numpy as jnp


def test_selu():
    @weft.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * weft.numpy.where(x > 0, x, alpha * weft.numpy.exp(x) - alpha)

    key = weft.random.PRNGKey(0)
    x = weft.random.normal(key, (10,))
    prints(
        selu(x),
        "[-0.54485 0.27744 -0.29255 -0.91421 -0.62452 -0.24748 -0.85743 -0.78232 0.76827 0.59566 ]",
        cut=True,
    )


def test_static_arguments():
    calls = []

    def f(x, n, flag=False):
        calls.append((n, flag))
        return x * n if flag else x + n  # a Python branch on a static argument

    for options in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "flag")}):
        weft.jit(f, **options).clear_cache()  # both say the same of f, and would share programs
        g = weft.jit(f, **options)
        calls.clear()
        assert g(2.0, 3) == 5.0
        assert g(7.0, 3) == 10.0
        assert len(calls) == 1
        assert g(2.0, 4) == 6.0
        assert len(calls) == 2  # another value: traced again
    assert (
        weft.jit(f, static_argnums=(1, 2), static_argnames=("n", "flag"))(2.0, 3, flag=True) == 6.0
    )
    with pytest.raises(ValueError, match="hashable"):
        weft.jit(f, static_argnums=1)(2.0, [3])


def test_donated_arguments_are_gone():
    x = jnp.ones(4)
    y = weft.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert y.tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="donated"):
        x + 1


def test_device_backend_and_inline():
    device = weft.devices()[0]
    assert weft.jit(lambda x: x * 2, device=device)(3.0) == 6.0
    assert weft.jit(lambda x: x * 2, backend="cpu")(3.0) == 6.0
    assert weft.jit(lambda x: x * 2, inline=True)(3.0) == 6.0


def test_print_in_a_compiled_function_shows_a_tracer(capsys):
    @weft.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    print(f(weft.numpy.array([1, 2, 3])))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Value of y is Traced<")
    assert "int32[3]" in first
    assert second == "[5 7 9]"


def test_disable_jit(capsys):
    @weft.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    with weft.disable_jit():
        print(f(weft.numpy.array([1, 2, 3])))
    assert capsys.readouterr().out == "Value of y is [2 4 6]\n[5 7 9]\n"


def test_make_jaxpr():
    def f(x):
        return weft.numpy.sin(weft.numpy.cos(x))

    prints(f(3.0), "-0.83602")
    jaxpr = weft.make_jaxpr(f)(3.0)
    assert [e.primitive.name for e in jaxpr.equations] == ["cos", "sin"]
    text = str(jaxpr)
    assert "cos a" in text
    assert "sin b" in text
    used = [e.primitive.name for e in weft.make_jaxpr(weft.grad(f))(3.0).equations]
    assert sorted(set(used)) == ["cos", "mul", "neg", "sin"]
    assert used.count("mul") <= 2


def test_make_jaxpr_return_shape():
    jaxpr, shape = weft.make_jaxpr(lambda x: {"y": x[None]}, return_shape=True)(np.ones(3, "f"))
    assert jaxpr.in_avals[0].shape == (3,)
    assert (shape["y"].shape, shape["y"].dtype) == ((1, 3), np.float32)


def test_eval_shape():
    f = lambda A, x: jnp.tanh(jnp.dot(A, x))  # noqa: E731

    class MyArgArray:
        def __init__(self, shape, dtype):
            self.shape = shape
            self.dtype = jnp.dtype(dtype)

    A = MyArgArray((2000, 3000), jnp.float32)
    x = MyArgArray((3000, 1000), jnp.float32)
    out = weft.eval_shape(f, A, x)  # no FLOPs performed
    assert out.shape == (2000, 1000)
    assert out.dtype == np.float32
    with pytest.raises(TypeError):
        weft.eval_shape(f, x, A.__class__((7,), "float32"))


def test_eval_shape_of_duck_typed_arguments_in_containers():
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    out = weft.eval_shape(lambda d: [d["a"] + 1, d["a"] > 0], {"a": scalar})
    assert [(o.shape, o.dtype.name) for o in out] == [((), "float32"), ((), "bool")]


def test_device_get():
    x = weft.numpy.array([1.0, 2.0, 3.0])
    host = weft.device_get(x)
    assert type(host) is np.ndarray
    assert repr(host) == "array([1., 2., 3.], dtype=float32)"
    assert weft.device_get(1) == 1  # a scalar: no effect
    nested = weft.device_get({"a": (x, 2.0)})
    assert type(nested["a"][0]) is np.ndarray
    assert nested["a"][1] == 2.0


def test_device_put():
    x = weft.device_put({"a": np.arange(3), "b": 2.0})
    assert x["a"].tolist() == [0, 1, 2]
    device = weft.devices()[0]
    y = weft.device_put(x["a"], device)
    assert y.device == device
    assert weft.device_put(y).tolist() == [0, 1, 2]


def test_devices():
    assert weft.devices() == weft.devices(None)
    assert weft.device_count() == len(weft.devices())
    assert weft.local_device_count() == len(weft.local_devices()) >= 1
    assert weft.process_index() == 0
    assert weft.process_count() == 1
    assert weft.default_backend() == weft.devices()[0].platform
