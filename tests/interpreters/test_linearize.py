"""Linearize and transpose: the tape, and what is kept on it."""

import numpy as np
import pytest

import weft
from weft.interpreters.linearize import linearize
from weft.interpreters.transpose import transpose
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin, tanh


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5)


def test_push_and_pull():
    outs, linear = linearize(lambda x, y: [sin(x) * y, y], [f32(0.5), f32(2.0)])
    same(outs[0], 2 * np.sin(0.5))
    t = linear.push([f32(1.0), f32(0.0)])
    same(t[0], 2 * np.cos(0.5))
    ct = linear.pull([f32(1.0), None])
    same(ct[0], 2 * np.cos(0.5))
    same(ct[1], np.sin(0.5))


def test_zero_is_none():
    _outs, linear = linearize(lambda x, y: [x * 2.0, f32(3.0)], [f32(1.0), f32(1.0)])
    assert linear.outputs[1] is None
    assert linear.push([f32(1.0), f32(1.0)])[1] is None
    assert linear.pull([f32(1.0), None])[1] is None
    assert linear.pull([None, None]) == [None, None]


def test_only_active_operations_are_on_the_tape():
    def f(x, y):
        z = cos(exp(y))  # not of what is differentiated
        return [x * z]

    _, linear = linearize(lambda x: f(x, f32(2.0)), [f32(1.0)])
    assert len(linear.tape) == 1


def test_residuals_of_tanh_are_one_array():
    x = f32(np.linspace(0, 1, 10))
    _, linear = linearize(lambda x: [tanh(x)], [x])
    (node,) = linear.tape
    assert sum(r.size for r in node.residuals if r.ndim) == 10


def test_concrete_values_are_known_while_linearizing():
    seen = []

    def f(x):
        seen.append(x.item())
        return [x * 2.0 if x > 0 else x]

    linearize(f, [f32(1.5)])
    assert seen == [1.5]


def test_transpose_of_a_program():
    jaxpr = weft.make_jaxpr(lambda w, x: reduce_sum(w * x, axes=(0,)) * 2.0)(
        f32([1, 2]), f32([3, 4])
    )
    back, nonzero = transpose(jaxpr, 1, (True,))
    assert nonzero == (True,)
    from weft.core.jaxpr import run
    from weft.core.trace import current

    same(run(back, [f32([1.0, 2.0]), f32(1.0)], current.trace)[0], [2.0, 4.0])


def test_transpose_of_what_is_not_linear():
    jaxpr = weft.make_jaxpr(sin)(1.0)
    with pytest.raises(weft.errors.MissingRuleError, match=r"sin: .*not linear"):
        transpose(jaxpr, 0, (True,))
    jaxpr = weft.make_jaxpr(lambda x: x * x)(1.0)
    with pytest.raises(TypeError, match="must be linear"):
        transpose(jaxpr, 0, (True,))


def test_a_sum_of_many_cotangents():
    def f(x):
        total = x
        for k in range(50):
            total = total + x * float(k)
        return [total]

    _, linear = linearize(f, [f32(1.0)])
    same(linear.pull([f32(1.0)])[0], 1.0 + sum(range(50)))
