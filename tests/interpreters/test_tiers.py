"""The two eager tiers: which one runs, and that they agree; derivatives' plans on both."""

import numpy as np
import pytest

import weft
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.numpy.plans import plan_of
from weft.primitives.arithmetic import max_, mul
from weft.primitives.exponential import exp, log
from weft.primitives.products import dot_general
from weft.primitives.structural import add, reduce_sum
from weft.primitives.trigonometric import sin, tanh

SMALL, LARGE = aval((8,), np.dtype(np.float32)), aval((10**8,), np.dtype(np.float32))


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


@pytest.fixture
def no_accelerator(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)


def on_host(primitive, *avals, **params):
    out = primitive.out(avals, tuple(params.items()))
    return eager_tiers.host_share(primitive, tuple(params.items()), avals, [out]) <= 1


def array(*shape, dtype="float32"):
    return aval(shape, np.dtype(dtype))


def test_size_decides(no_accelerator):
    assert on_host(add, SMALL, SMALL)
    assert not on_host(add, LARGE, LARGE)
    assert on_host(sin, LARGE)  # XLA's sine isn't faster at any size
    assert not on_host(exp, LARGE)


def test_each_class_of_cost_has_its_limit(no_accelerator):
    middle, large = array(1000, 1000), array(2000, 1000)
    for primitive in (add, mul, max_):
        assert on_host(primitive, middle, middle)
        assert on_host(primitive, middle, array(1000, 1))
        assert not on_host(primitive, large, large)
    assert on_host(exp, middle)
    assert not on_host(exp, large)
    assert on_host(reduce_sum, middle, axes=(0,))
    assert not on_host(reduce_sum, large, axes=(0,))
    for primitive in (tanh, log):
        assert on_host(primitive, array(100_000))
        assert not on_host(primitive, middle)


def test_work_is_counted_where_elements_do_not_tell_it(no_accelerator):
    params = {"dims": (((1,), (0,)), ((), ())), "dtype": None, "precision": None}
    few, many = array(100, 100), array(500, 500)
    assert on_host(dot_general, few, few, **params)
    assert not on_host(dot_general, many, many, **params)
    integers = array(100, 100, dtype="int32")
    assert not on_host(dot_general, integers, integers, **params)


def test_the_shares_of_a_program_add_up(no_accelerator):
    """A sum of 1e6 elements is NumPy's, a chain of such operations XLA's."""

    def by_numpy(function, *shape):
        return plan_of(function, [array(*shape)], {}, "f").kernel is not None

    def chain(x):
        return mul(mul(add(x, x), x), x)

    assert by_numpy(lambda x: add(x, x), 1000, 1000)
    assert not by_numpy(chain, 1000, 1000)
    assert by_numpy(chain, 10, 1000)
    for tier in ("host", "xla"):
        with weft.config.temporarily(eager_tier=tier):
            assert by_numpy(chain, 10, 1000) is by_numpy(chain, 1000, 1000) is (tier == "host")


def test_the_switch_pins_a_tier(no_accelerator):
    with weft.config.temporarily(eager_tier="xla"):
        assert not on_host(add, SMALL, SMALL)
    with weft.config.temporarily(eager_tier="host"):
        assert on_host(exp, LARGE)


def test_an_accelerator_does_everything(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", True)
    assert not on_host(add, SMALL, SMALL)


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
