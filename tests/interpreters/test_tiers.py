"""The two eager tiers: which one runs, and that they agree; derivatives' plans on both."""

import numpy as np
import pytest

import weft
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.primitives.arithmetic import mul
from weft.primitives.structural import add, reduce_sum
from weft.primitives.transcendental import exp, sin, tanh

SMALL, LARGE = aval((8,), np.dtype(np.float32)), aval((10**8,), np.dtype(np.float32))


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


@pytest.fixture
def no_accelerator(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)


def on_host(primitive, a, **params):
    return eager_tiers.runs_on_host(primitive, tuple(params.items()), [a, a], [a])


def test_size_decides(no_accelerator):
    assert on_host(add, SMALL)
    assert not on_host(add, LARGE)
    assert on_host(sin, LARGE)  # XLA's sine isn't faster at any size
    assert not on_host(exp, LARGE)


def test_operands_of_several_shapes_go_to_xla_earlier(no_accelerator):
    square, column, number = [aval(s, np.dtype(np.float32)) for s in ((1000, 1000), (1000, 1), ())]
    for x, host in ((square, True), (number, True), (column, False)):
        assert eager_tiers.runs_on_host(mul, (), [square, x], [square]) is host


def test_the_switch_pins_a_tier(no_accelerator):
    with weft.config.temporarily(eager_tier="xla"):
        assert not on_host(add, SMALL)
    with weft.config.temporarily(eager_tier="host"):
        assert on_host(exp, LARGE)


def test_an_accelerator_does_everything(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", True)
    assert not on_host(add, SMALL)


FUNCTIONS = {
    "chain": lambda x: tanh(sin(x) * 2.0) + exp(x * 0.1),
    "sum": lambda x: reduce_sum(mul(x, x), axes=(0,)) * x,
    "jit": weft.jit(lambda x: sin(x) * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_agree_between_tiers(name):
    f = FUNCTIONS[name]
    x, v = f32([0.1, -0.5, 1.5]), f32([1.0, 2.0, -1.0])
    results = []
    for tier in ("host", "xla"):
        with weft.config.temporarily(eager_tier=tier):
            y, t = weft.jvp(f, (x,), (v,))
            g = [
                weft.vjp(f, x)[1](v)[0] for _ in range(15)
            ]  # plans become functions after some runs
            h = weft.hessian(lambda x: reduce_sum(f(x), axes=(0,)))(x)
            results.append([y, t, g[0], g[-1], h])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=1e-6)


def test_plans_follow_changes_of_precision():
    grad = weft.grad(lambda x: sin(x) * x)
    for _ in range(20):
        assert grad(1.0).dtype == np.float32
    with weft.enable_x64():
        for _ in range(20):
            assert grad(1.0).dtype == np.float64
    assert grad(1.0).dtype == np.float32


def test_results_are_not_written_to_later():
    """A plan's outputs may be views of its inputs: neither changes."""
    x = f32(np.ones(4))
    _, pull = weft.vjp(lambda x: x + 0.0, x)
    ct = f32([1.0, 2.0, 3.0, 4.0])
    g = pull(ct)[0]
    for _ in range(20):
        pull(f32(np.zeros(4)))
    np.testing.assert_array_equal(np.asarray(g), [1.0, 2.0, 3.0, 4.0])


def test_no_warnings_of_numpy():
    x = f32([0.0, np.inf, np.nan, -1.0])
    with np.errstate(all="raise"):
        y = 1.0 / x
        weft.grad(lambda x: reduce_sum(1.0 / x, axes=(0,)))(x)
    assert np.isinf(np.asarray(y)[0])
