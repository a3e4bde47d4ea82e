"""jit inside and around other transformations, and functions that close over values."""

import functools
import threading

import numpy as np
import pytest

import weft
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance)


def primitives(jaxpr):
    return [e.primitive.name for e in jaxpr.equations]


def test_nested_jit_is_one_call_equation():
    inner = weft.jit(lambda x: sin(x) * 2)
    jaxpr = weft.make_jaxpr(lambda x: inner(x) + inner(x))(1.0)
    assert primitives(jaxpr) == ["call", "call", "add"]
    first, second = (dict(e.params)["jaxpr"] for e in jaxpr.equations[:2])
    assert first is second  # lowered once
    text = weft.jit(lambda x: inner(x) + inner(x)).lower(1.0).as_text()
    assert text.count("stablehlo.sine") == 1


def test_inline_leaves_no_function_in_the_program():
    inner = weft.jit(lambda x: sin(x) * 2, inline=True)
    text = weft.jit(lambda x: inner(x) + 1).lower(1.0).as_text()
    assert text.count("func.func") == 1
    same(weft.jit(lambda x: inner(x) + 1)(1.0), 2 * np.sin(1.0) + 1)
    same(weft.grad(lambda x: inner(x) + 1)(1.0), 2 * np.cos(1.0))


def test_deep_nesting_of_jit():
    def f(x):
        return x * 2

    for _ in range(10):
        f = weft.jit(functools.partial(lambda g, x: g(x) + 1, f))
    same(f(1.0), 12.0)
    same(weft.grad(f)(1.0), 2.0)


def test_jit_closes_over_an_array():
    w = f32([1.0, 2.0])
    f = weft.jit(lambda x: x * w)
    for _ in range(3):
        same(f(f32([3.0, 4.0])), [3.0, 8.0])
    g = weft.grad(lambda x: reduce_sum(f(x), axes=(0,)))
    same(g(f32([3.0, 4.0])), [1.0, 2.0])


def test_jit_closes_over_a_numpy_array_and_a_scalar():
    w = np.array([1.0, 2.0], np.float32)
    f = weft.jit(lambda x: x * w * 3)
    same(f(f32([1.0, 1.0])), [3.0, 6.0])


def test_two_arrays_that_are_equal_constants():
    a, b = f32(np.arange(5)), f32(np.arange(5))
    f = weft.jit(lambda x: (x + a) * (x + b))
    same(f(1.0), (1.0 + np.arange(5)) ** 2)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_derivative_in_what_a_jitted_function_closes_over(depth):
    def f(x):
        g = lambda y: sin(x) * y  # noqa: E731
        for _ in range(depth):
            g = weft.jit(functools.partial(lambda h, y: h(y) * x, g))
        return g(3.0)

    x = 0.7
    value = np.sin(x) * 3 * x**depth
    slope = 3 * (np.cos(x) * x**depth + depth * np.sin(x) * x ** (depth - 1))
    same(f(x), value)
    same(weft.grad(f)(x), slope)
    same(weft.jit(weft.grad(f))(x), slope)
    same(weft.grad(weft.jit(f))(x), slope)
    same(weft.jvp(f, (x,), (1.0,))[1], slope)
    same(weft.linearize(f, x)[1](1.0), slope)
    same(weft.vmap(weft.grad(f))(f32([x, x])), [slope, slope])
    same(weft.vmap(f)(f32([x, 2 * x]))[0], value)
    second = weft.grad(weft.grad(f))(x)
    same(weft.jacfwd(weft.jacfwd(f))(x), second)
    same(weft.jacfwd(weft.jacrev(f))(x), second)


def test_closure_over_tracers_of_several_levels():
    def f(x, y):
        def inner(z):
            return weft.jit(lambda w: sin(x) * y * z * w)(z)

        return weft.grad(inner)(2.0)  # 4 sin(x) y

    same(weft.grad(f)(0.5, 3.0), 12 * np.cos(0.5))
    same(weft.grad(f, 1)(0.5, 3.0), 4 * np.sin(0.5))
    same(weft.jit(weft.grad(f))(0.5, 3.0), 12 * np.cos(0.5))
    same(weft.vmap(f)(f32([0.5, 1.0]), f32([3.0, 2.0])), [12 * np.sin(0.5), 8 * np.sin(1.0)])


def test_a_jitted_function_that_is_kept_meets_new_tracers():
    """What it closes over changes from one outer trace to the next: it must not be remembered."""

    class Model:
        w = None

        def __init__(self):
            self.apply = weft.jit(lambda x: x * self.w)

    model = Model()

    def loss(w, x):
        model.w = w
        return model.apply(x)

    for x in (2.0, 3.0):
        same(weft.grad(loss)(1.5, x), x)
        same(weft.jit(weft.grad(loss))(1.5, x), x)
        same(weft.vmap(loss)(f32([1.0, 2.0]), f32([x, x])), [x, 2 * x])


def test_grad_of_a_closure_jitted_once_for_two_calls():
    def f(x):
        g = weft.jit(lambda y: x * y)
        return g(2.0) * g(3.0)

    same(weft.grad(f)(1.5), 2 * 1.5 * 6)


def test_jit_of_transformations():
    f = lambda x: reduce_sum(sin(x) * x, axes=(0,))  # noqa: E731
    x = f32([0.1, 0.2, 0.3])
    v = np.asarray(x)
    slope = np.cos(v) * v + np.sin(v)
    same(weft.jit(weft.grad(f))(x), slope)
    same(weft.grad(weft.jit(f))(x), slope)
    same(weft.jit(weft.grad(weft.jit(f)))(x), slope)
    same(weft.jit(weft.vmap(weft.grad(lambda x: sin(x) * x)))(x), slope)
    same(weft.vmap(weft.jit(weft.grad(weft.jit(lambda x: sin(x) * x))))(x), slope)


def test_gradient_through_an_argument_used_twice_and_one_unused():
    f = weft.jit(lambda x, y, z: (x * x, y))
    (gx, gy), gz = (
        weft.grad(lambda x, y, z: f(x, y, z)[0] + f(x, y, z)[1], (0, 1))(3.0, 2.0, 1.0),
        0,
    )
    same(gx, 6.0)
    same(gy, 1.0)
    same(weft.grad(lambda x, y, z: f(x, y, z)[0], 2)(3.0, 2.0, 1.0), gz)


def test_jit_with_integer_arguments_under_grad():
    f = weft.jit(lambda x, n: x * n)
    same(weft.grad(f)(2.0, 3), 3.0)
    _value, pull = weft.vjp(f, 2.0, 3)
    gx, gn = pull(1.0)
    same(gx, 3.0)
    assert gn.dtype == weft.dtypes.float0


def test_jit_of_a_function_with_an_integer_output_under_grad():
    f = weft.jit(lambda x: (x * 2, 3))
    same(weft.grad(lambda x: f(x)[0] * f(x)[1])(1.0), 6.0)


def test_constant_output_of_jit_under_grad_and_vmap():
    f = weft.jit(lambda x: 5.0)
    same(weft.grad(f)(1.0), 0.0)
    same(weft.vmap(f)(f32([1.0, 2.0])), [5.0, 5.0])
    y, t = weft.jvp(f, (1.0,), (1.0,))
    same(y, 5.0)
    same(t, 0.0)


def test_jit_output_that_is_its_input_under_transformations():
    f = weft.jit(lambda x, y: (y, x))
    same(weft.grad(lambda x: f(x, 2.0)[1])(1.0), 1.0)
    a, b = weft.vmap(f, (0, None))(f32([1.0, 2.0]), 3.0)
    same(a, [3.0, 3.0])
    same(b, [1.0, 2.0])


def test_unused_captured_values_are_not_passed():
    big = f32(np.ones(1000))

    @weft.jit
    def f(x):
        sin(big)  # dead
        return x * 2

    assert "1000" not in f.lower(1.0).as_text()


# --- donation ---


def test_a_donated_argument_is_gone():
    f = weft.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(3):
        x, y = f32(np.ones(8)), f32(np.ones(8))
        z = f(x, y)
        same(z, np.full(8, 2.0))
        same(y, np.ones(8))
        assert x.is_deleted()
        assert not y.is_deleted()
        with pytest.raises(weft.errors.DeletedArrayError, match=r"float32\[8\].*donated"):
            x + 1.0
        with pytest.raises(weft.errors.DeletedArrayError):
            np.asarray(x)
        with pytest.raises(weft.errors.DeletedArrayError):
            f(x, y)
        with pytest.raises(weft.errors.DeletedArrayError):
            weft.jit(lambda x: x * 2)(x)


def test_a_chain_of_donations():
    step = weft.jit(lambda s: {"w": s["w"] * 2, "n": s["n"] + 1}, donate_argnums=(0,))
    state = {"w": f32(np.ones(4)), "n": f32(0.0)}
    for _ in range(5):
        state = step(state)
    same(state["w"], np.full(4, 32.0))
    same(state["n"], 5.0)


def test_donation_by_name_and_of_keywords():
    f = weft.jit(lambda x, state: state + x, donate_argnames="state")
    for call in (lambda x, s: f(x, s), lambda x, s: f(x, state=s)):
        x, s = f32(np.ones(4)), f32(np.ones(4))
        same(call(x, s), np.full(4, 2.0))
        assert s.is_deleted()
        assert not x.is_deleted()


def test_donated_and_unused_or_returned_as_it_is():
    f = weft.jit(lambda x, y: (x, y * 2), donate_argnums=(0, 1))
    x, y = f32(np.ones(4)), f32(np.ones(4))
    a, b = f(x, y)
    same(a, np.ones(4))
    same(b, np.full(4, 2.0))
    assert y.is_deleted()


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_donating_one_array_twice_is_refused():
    f = weft.jit(lambda x, y: x + y, donate_argnums=(0, 1))
    x = f32(np.ones(4))
    with pytest.raises(ValueError, match="donate"):
        f(x, x)
    g = weft.jit(lambda x, y: x + y, donate_argnums=0)
    with pytest.raises(ValueError, match="donate"):
        g(x, x)
    same(x, np.ones(4))


def test_numpy_arguments_can_be_donated_without_harm():
    f = weft.jit(lambda x: x * 2, donate_argnums=0)
    x = np.ones(1000, np.float32)
    for _ in range(3):
        same(f(x), np.full(1000, 2.0))
    same(x, np.ones(1000))


def test_static_and_donated_is_refused():
    with pytest.raises(ValueError, match="both static and donated"):
        weft.jit(lambda x: x, static_argnums=0, donate_argnums=0)
    with pytest.raises(ValueError, match="donate_argnums=3 is out of range"):
        weft.jit(lambda x: x, donate_argnums=3)


def test_donation_is_ignored_inside_another_trace():
    f = weft.jit(lambda x: x * 2, donate_argnums=0)
    x = f32(3.0)
    same(weft.grad(f)(x), 2.0)
    same(weft.jit(lambda x: f(x) + x)(x), 9.0)
    assert not x.is_deleted()


# --- devices ---


def test_device_and_backend():
    (cpu, *_) = weft.devices("cpu")
    f = weft.jit(lambda x: x * 2, device=cpu)
    y = f(1.0)
    same(y, 2.0)
    assert y.device is cpu
    assert y.committed
    same(weft.jit(lambda x: x * 2, backend="cpu")(1.0), 2.0)
    with pytest.raises(RuntimeError, match="no platform 'xpu'"):
        weft.jit(lambda x: x, backend="xpu")(1.0)


def test_placed_arguments_stay_placed():
    (cpu, *_) = weft.devices("cpu")
    x = weft.device_put(np.ones(2, np.float32), cpu)
    f = weft.jit(lambda x, y: x + y)
    for _ in range(3):
        y = f(x, 1.0)
        assert y.committed
        assert y.device is cpu
    assert not f(f32([1.0, 2.0]), 1.0).committed


# --- threads ---


def test_transformations_in_threads_do_not_mix():
    failures = []

    def work(k):
        try:
            for _ in range(10):
                g = weft.jit(weft.grad(lambda x: exp(x * k) * cos(x)))
                expected = np.exp(0.3 * k) * (k * np.cos(0.3) - np.sin(0.3))
                same(g(0.3), expected, 1e-4)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
