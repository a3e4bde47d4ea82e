"""The two eager tiers: which one runs, and that they agree; derivatives' plans on both."""

import os

import numpy as np
import pytest

import weft
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.primitives import processor
from weft.primitives.arithmetic import max_, mul, sqrt
from weft.primitives.reduction import reduce_max
from weft.primitives.structural import add, reduce_sum
from weft.primitives.transcendental import exp, log, sin, tanh

SMALL, LARGE = aval((8,), np.dtype(np.float32)), aval((10**8,), np.dtype(np.float32))


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


@pytest.fixture
def no_accelerator(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)


def on_host(primitive, *avals, **params):
    out = primitive.out(avals, tuple(params.items()))
    return eager_tiers.runs_on_host(primitive, tuple(params.items()), avals, [out])


def array(*shape, dtype="float32"):
    return aval(shape, np.dtype(dtype))


def test_size_decides(no_accelerator):
    assert on_host(add, SMALL, SMALL)
    assert not on_host(add, LARGE, LARGE)
    assert on_host(sin, LARGE)  # XLA's sine isn't faster at any size
    assert not on_host(exp, LARGE)


# operands, and the length of the rows in which each of them goes on or stays the same
ROWS = {
    "column": ([(1000, 1000), (1000, 1)], 1000),
    "row": ([(1000, 1000), (1000,)], 1000),
    "column and row": ([(1000, 1), (1, 1000)], 1000),
    "short rows": ([(10_000, 100), (10_000, 1)], 100),
    "of several axes": ([(40, 50, 20, 25), (40, 50, 1, 1)], 500),
    "of axes of one element": ([(40, 1, 50, 1, 500), (40, 1, 1, 1, 1)], 25_000),
    "in the midst": ([(40, 50, 500), (1, 50, 1)], 500),
    "three operands": ([(40, 50, 500), (50, 1), (500,)], 500),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_length_of_rows(name):
    shapes, length = ROWS[name]
    assert eager_tiers.row_length([array(*s) for s in shapes]) == length


def test_operands_of_several_shapes_go_to_xla_earlier(no_accelerator):
    square, column, number = array(1000, 1000), array(1000, 1), array()
    assert on_host(mul, square, square)
    assert on_host(mul, square, number)
    assert on_host(mul, square, column)
    assert on_host(max_, square, square)
    assert not on_host(max_, square, column)  # NumPy's isn't faster with a number
    assert not on_host(mul, array(4000, 250), array(4000, 1))  # short rows


@pytest.mark.parametrize("shape", [(40, 1000), (40, 500), (40, 8191), (5, 10_000), (3, 1000)])
def test_arithmetic_on_rows_of_any_length(no_accelerator, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    a, b = weft.numpy.array(x), x[:1] + 3
    for other in (x[:, :1] + 3, b, b[0]):
        for _ in range(2):
            np.testing.assert_array_equal(a - other, x - other)
            np.testing.assert_array_equal(other / a, other / x)
    assert np.getbufsize() == 8192


def test_reductions_of_long_rows_stay_on_the_host(no_accelerator):
    square, few = array(1000, 1000), array(10, 100_000)
    for x in (square, few):
        for axes in ((0,), (1,), (0, 1)):
            assert on_host(reduce_max, x, axes=axes)
            assert on_host(reduce_sum, x, axes=axes)
    short = array(10_000, 100)
    assert not on_host(reduce_max, short, axes=(1,))
    assert not on_host(reduce_max, short, axes=(0,))
    assert on_host(reduce_max, short, axes=(0, 1))
    assert on_host(reduce_sum, short, axes=(1,))
    assert not on_host(reduce_sum, array(100, 100, 100), axes=(1,))
    for dtype in ("float16", "complex64"):
        assert not on_host(reduce_max, array(1000, 1000, dtype=dtype), axes=(1,))
        assert not on_host(reduce_sum, array(1000, 1000, dtype=dtype), axes=(1,))
    for axes in ((0,), (1,)):
        assert not on_host(reduce_sum, array(2000, 1000), axes=axes)
        assert not on_host(reduce_max, array(2000, 1000), axes=axes)


@pytest.mark.parametrize(("few", "wide"), [(True, True), (True, False), (False, True)])
def test_what_numpy_has_wide_vectors_for(no_accelerator, monkeypatch, few, wide):
    monkeypatch.setattr(processor, "few_threads", lambda: few)
    monkeypatch.setattr(processor, "has_wide_vectors", lambda name: wide)
    small, middle = array(100_000), array(1000, 1000)
    for function in (exp, tanh, log):
        assert on_host(function, small)
        assert on_host(function, middle) is (few and wide)
        assert not on_host(function, array(2000, 1000))
        assert not on_host(function, array(1000, 1000, dtype="float64"))
    assert on_host(sqrt, middle) is few
    assert not on_host(sqrt, array(1000, 1000, dtype="float64"))


def test_what_the_processor_has():
    targets = np.lib.introspect.opt_func_info(func_name="^exp$", signature="float32")
    text = str([t["current"] for t in targets.get("exp", {}).values()])
    assert processor.has_wide_vectors("exp") is ("AVX512" in text or "X86_V4" in text)
    assert processor.has_wide_vectors("no such function") is False


@pytest.mark.parametrize(("usable", "few"), [({0, 1}, True), (set(range(16)), False)])
def test_how_many_threads_are_few(monkeypatch, usable, few):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: usable, raising=False)
    assert processor.few_threads.__wrapped__() is few


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
