"""Equal equations are computed once, and only equal ones."""

import numpy as np

import weft
from weft.compiler.common_subexpressions import without_repetition
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import run
from weft.core.trace import current
from weft.primitives.structural import reduce_sum
from weft.primitives.transcendental import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.equations]


def lean(f, *args):
    jaxpr = weft.make_jaxpr(f)(*args)
    result = without_repetition(jaxpr)
    check_jaxpr(result)
    values = [f32(a) for a in args]
    for a, b in zip(
        run(jaxpr, values, current.trace), run(result, values, current.trace), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    return result


def test_repeated_equations():
    assert names(lean(lambda x: sin(x) + sin(x), 0.5)) == ["sin", "add"]
    assert names(lean(lambda x: cos(sin(x)) * cos(sin(x)), 0.5)) == ["sin", "cos", "mul"]


def test_repeated_outputs():
    assert names(lean(lambda x: (sin(x), sin(x)), 0.5)) == ["sin"]


def test_literals_are_compared_by_value_and_type():
    assert names(lean(lambda x: (x + 1.0, x + 1.0), 0.5)) == ["add"]
    assert names(lean(lambda x: (x + 1.0, x + 2.0), 0.5)) == ["add", "add"]
    assert names(lean(lambda x: (x * 0.0, x * -0.0), 0.5)) == ["mul", "mul"]


def test_params_are_compared():
    x = np.ones((2, 2), np.float32)
    f = lambda x: (reduce_sum(x, axes=(0,)), reduce_sum(x, axes=(1,)))  # noqa: E731
    assert names(lean(f, x)) == ["reduce_sum", "reduce_sum"]


def test_operands_in_another_order_are_another_equation():
    assert names(lean(lambda x, y: (x - y, y - x), 0.5, 0.25)) == ["sub", "sub"]


def test_nothing_to_do_gives_the_same_program():
    jaxpr = weft.make_jaxpr(lambda x: cos(sin(x)))(1.0)
    assert without_repetition(jaxpr) is jaxpr


def test_calls_of_one_function():
    f = weft.jit(sin)
    assert names(lean(lambda x: f(x) + f(x), 0.5)) == ["call", "add"]
