"""The checker of jaxprs: accepts what weft makes, names what is wrong in others."""

import numpy as np
import pytest

import weft
from weft.core.array import literal
from weft.core.aval import aval
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import Equation, Jaxpr, Var
from weft.errors import InvalidJaxprError
from weft.primitives.arithmetic import mul
from weft.primitives.structural import add, reduce_sum
from weft.primitives.transcendental import sin

F32 = aval((), np.dtype(np.float32))
VECTOR = aval((3,), np.dtype(np.float32))
I32 = aval((), np.dtype(np.int32))


def var(a=F32):
    return Var(a)


def refused(jaxpr, message):
    with pytest.raises(InvalidJaxprError, match=message) as caught:
        check_jaxpr(jaxpr)
    assert "{ lambda" in str(caught.value)


def test_accepts_what_tracing_makes():
    inner = weft.jit(lambda x: sin(x) * x)
    constant = weft.device_put(np.ones(3, np.float32))
    f = lambda x: reduce_sum(inner(x) * constant, axes=(0,)) + 1.0  # noqa: E731
    for g in (f, weft.grad(f), weft.hessian(f), weft.vmap(lambda x: x * 2)):
        check_jaxpr(weft.make_jaxpr(g)(np.ones(3, np.float32)))
    check_jaxpr(Jaxpr([], [], [], [], []))


def test_use_before_definition():
    x, y, z = var(), var(), var()
    first, second = Equation(sin, [x], (), [y]), Equation(sin, [y], (), [z])
    check_jaxpr(Jaxpr([], [], [x], [first, second], [z]))
    refused(Jaxpr([], [], [x], [second, first], [z]), "equation 0, sin: .* used and not defined")
    refused(Jaxpr([], [], [x], [], [z]), "the results: .* not defined")
    refused(Jaxpr([], [], [], [first], [y]), "equation 0, sin: .* not defined")


def test_double_definition():
    x, y = var(), var()
    e = Equation(sin, [x], (), [y])
    refused(Jaxpr([], [], [x], [e, e], [y]), "equation 1, sin: .* defined twice")
    refused(Jaxpr([], [], [x, x], [], [x]), "the inputs: .* defined twice")
    refused(Jaxpr([], [], [x], [Equation(sin, [x], (), [x])], [x]), "defined twice")


def test_types():
    x, i, v = var(), var(I32), var(VECTOR)
    refused(
        Jaxpr([], [], [x], [Equation(sin, [x], (), [v])], [v]), r"type float32\[\] .*float32\[3\]"
    )
    wrong = Equation(add, [x, i], (), [var()])
    refused(Jaxpr([], [], [x, i], [wrong], []), "equation 0, add: its type rule refuses")
    two = Equation(mul, [x, x], (), [var(), var()])
    with pytest.raises(InvalidJaxprError):
        check_jaxpr(Jaxpr([], [], [x], [two], []))


def test_literals_and_constants():
    x, y = var(), var()
    one = literal(1.0, np.dtype(np.float32))
    check_jaxpr(Jaxpr([], [], [x], [Equation(add, [x, one], (), [y])], [y, one]))
    big = weft.device_put(np.ones(3, np.float32))
    refused(Jaxpr([], [], [x], [], [big]), "neither a variable nor a literal")
    refused(Jaxpr([], [], [x], [], [3.0]), "neither a variable nor a literal")
    refused(Jaxpr([x], [], [], [], []), "1 constant variables have 0 values")
    refused(
        Jaxpr([x], [big], [], [], []), r"constant variable of type float32\[\] has .*float32\[3\]"
    )


def test_programs_inside_are_checked():
    jaxpr = weft.make_jaxpr(weft.jit(lambda x: sin(x) * x))(1.0)
    (equation,) = jaxpr.equations
    inner = dict(equation.params)["jaxpr"]
    kept, inner.equations = inner.equations, inner.equations[1:]
    refused(jaxpr, "equation 0, mul: .* not defined")
    inner.equations = kept
    check_jaxpr(jaxpr)


def test_the_switch_checks_each_stage():
    @weft.jit
    def f(x):
        return sin(x)

    broken = weft.core.primitive.Primitive(
        "broken_for_checking", "A type rule that changes its mind."
    )
    turns = iter([F32, VECTOR, VECTOR, VECTOR])

    @broken.type
    def _(x):
        return next(turns)

    def run():
        broken.types.clear()
        return weft.make_jaxpr(lambda x: (broken(x), broken.types.clear()))(np.float32(1.0))

    run()
    turns = iter([F32, VECTOR, VECTOR, VECTOR])
    with (
        weft.config.temporarily(enable_checks=True),
        pytest.raises(InvalidJaxprError, match="broken"),
    ):
        run()
    del weft.core.primitive.registry["broken_for_checking"]
    with weft.config.temporarily(enable_checks=True):
        assert float(weft.grad(f)(0.0)) == 1.0
