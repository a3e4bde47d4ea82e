"""log_compiles: one line a compilation, and the reason of each retrace."""

import functools
import logging
import re

import pytest

import weft
import weft.numpy as np


@pytest.fixture
def logged(caplog):
    """Gives what was logged since the last call."""

    def take():
        texts = [r.getMessage() for r in caplog.records]
        caplog.clear()
        return texts

    with weft.log_compiles(), caplog.at_level(logging.WARNING, "weft"):
        yield take


def reasons(texts):
    """The lines below the heads of what was said of tracing."""
    return [line.strip() for t in texts if "tracing" in t for line in t.splitlines()[1:]]


def test_a_line_a_compilation(logged):
    f = weft.jit(lambda x, n: x * n, static_argnums=1)
    f(np.ones(3), 2)
    first, second = logged()
    head, end = r"jit: tracing <lambda> \(test_retrace.py:\d+\), called at ", ": for the first time"
    assert re.match(f"{head}.*{end}", first)
    types = re.escape("(float32[3]) -> (float32[3])")
    assert re.match(rf"compiled <lambda>: {types}, 1 equations, for cpu:0 in [\d.]+ ms", second)
    f(np.ones(3), 2)
    assert logged() == []


CALLS = [
    ((np.ones(3), {"a": 1.0}), "argument x was float32[], is float32[3] (shape and weak type"),
    ((np.float32(1), {"a": 1.0}), "weak type: it is an array now"),
    ((2, {"a": 1.0}), "argument x was float32[], is int32[] (dtype)"),
    ((1.0, {"a": 1.0, "b": 2.0}), "argument structure: y['b'] is new"),
    ((1.0, {"b": 2.0}), "argument structure: y['a'] is gone"),
    ((1.0, {"a": (1.0, [2.0])}), "argument structure: y['a'][0], y['a'][1][0] are new"),
    ((1.0, None), "argument structure: y['a'] is gone"),
]


@pytest.mark.parametrize(("args", "expected"), CALLS)
def test_what_changed_is_said_by_path(logged, args, expected):
    f = weft.jit(lambda x, y: x)
    f(1.0, {"a": 1.0})
    logged()
    f(*args)
    assert expected in "\n".join(reasons(logged()))


def test_the_nearest_earlier_call_counts(logged):
    f = weft.jit(lambda x, y: x)
    f(np.ones(3), np.ones(4))
    f(np.ones((2, 3)), 1.0)
    logged()
    f(np.ones(3), np.ones(5))
    assert reasons(logged()) == ["argument y was float32[4], is float32[5] (shape)"]


def test_switches_axes_and_devices(logged):
    f = weft.jit(lambda x: x * 2)
    f(np.float32(1))
    logged()
    with weft.default_matmul_precision("highest"):
        f(np.float32(1))
    assert reasons(logged()) == ["the switch default_matmul_precision was None, is 'highest'"]
    weft.vmap(lambda x: f(x), axis_name="i")(np.ones(2))
    assert "the named axes in scope were {}, are {'i': 2}" in reasons(logged())
    with weft.default_device(weft.devices()[0]):
        f(np.float32(1))
    assert "the switch default_device was None, is CpuDevice(id=0)" in reasons(logged())


def test_a_static_argument_that_is_left_out(logged):
    f = weft.jit(lambda x, n=1: x * n, static_argnames="n")
    f(2.0)
    logged()
    f(2.0, n=7)
    assert reasons(logged()) == ["static argument n is new: 7"]
    g = weft.jit(lambda x, n=1: x * n, static_argnames="n")
    g(2.0, n=7)
    logged()
    g(2.0)
    assert reasons(logged()) == ["static argument n is gone"]


def test_static_arguments(logged):
    class Option:
        def __repr__(self):
            return "Option()"

    f = weft.jit(lambda x, option: x, static_argnames="option")
    f(1.0, option="a")
    logged()
    f(1.0, option="b")
    assert reasons(logged()) == ["static argument option was 'a', is 'b'"]
    f(1.0, "c")
    logged()
    f(1.0, "d")
    assert reasons(logged()) == ["static argument option was 'c', is 'd'"]
    f(1.0, option=Option())
    logged()
    f(1.0, option=Option())
    alike = "they look alike but are not equal: the class needs __eq__ and __hash__"
    assert alike in reasons(logged())
    for _ in range(2):
        f(1.0, option=lambda x: x)
    assert "a new function object: <lambda> (test_retrace.py:" in reasons(logged())[-1]


def test_a_function_that_is_made_again(logged):
    for rate in (0.1, 0.2):
        weft.jit(lambda x, rate=rate: x * 2)(1.0)
    said = reasons(logged())
    assert said[0].startswith("a new function object (the 2nd): <lambda> (test_retrace.py:")
    assert "define it, and jit it, once outside the loop" in said[0]


def test_what_a_new_function_closes_over_is_compared(logged):
    def make(rate):
        return weft.jit(lambda x: x * rate)

    make(0.1)(1.0)
    make(0.2)(1.0)
    said = reasons(logged())
    assert "it closes over rate, which was 0.1, is 0.2" in said
    assert "fix: pass the changing value as an argument" in said


def test_partials_and_methods_made_again(logged):
    def scaled(x, a):
        return x * a

    for a in (1, 2):
        weft.jit(functools.partial(scaled, a=a))(1.0)
    said = reasons(logged())
    assert "scaled (test_retrace.py:" in said[0]
    assert "(in a partial)" in said[0]
    assert "it closes over a, which was 1, is 2" in said

    class Model:
        def apply(self, x):
            return x

    for _ in range(2):
        weft.jit(Model().apply)(1.0)
    assert "apply (test_retrace.py:" in reasons(logged())[0]


def test_a_program_that_was_forgotten(logged):
    f = weft.jit(lambda x: x + 1)
    f(1.0)
    f.clear_cache()
    f(1.0)
    assert reasons(logged())[0].startswith("nothing changed: the program was dropped")
