"""Staging: what is recorded, what is captured, and what is left when a function fails."""

import gc

import numpy as np
import pytest

import weft
from weft.core.aval import aval
from weft.core.trace import current
from weft.interpreters.stage import StageTrace, stage
from weft.primitives.trigonometric import cos, sin

F32 = aval((3,), np.dtype(np.float32))


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def test_records_equations_in_order():
    jaxpr = stage(lambda x, y: [cos(sin(x)) * y], [F32, F32])
    assert [e.primitive.name for e in jaxpr.equations] == ["sin", "cos", "mul"]
    assert jaxpr.in_avals == [F32, F32]
    assert jaxpr.out_avals == [F32]


def test_outputs_of_every_kind():
    w = f32([1.0, 2.0, 3.0])
    jaxpr = stage(lambda x: [x, w, f32(2.0), x], [F32])
    assert jaxpr.outvars[0] is jaxpr.invars[0] is jaxpr.outvars[3]
    assert jaxpr.outvars[1] is jaxpr.constvars[0]
    assert float(jaxpr.outvars[2]) == 2.0


def test_operations_on_known_values_are_recorded_too():
    w = f32([1.0, 2.0, 3.0])
    jaxpr = stage(lambda x: [x * sin(w)], [F32])
    assert [e.primitive.name for e in jaxpr.equations] == ["sin", "mul"]


def test_the_trace_outside_comes_back_after_an_error():
    before, collecting = current.trace, gc.isenabled()

    def fail(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stage(fail, [F32])
    assert current.trace is before
    assert gc.isenabled() == collecting


def test_nested_traces_capture_outer_values_once():
    inner = []

    def outer(x):
        inner.append(stage(lambda y: [y * x + x], [F32]))
        return [x]

    stage(outer, [F32])
    (jaxpr,) = inner
    assert len(jaxpr.consts) == 1
    assert [e.primitive.name for e in jaxpr.equations] == ["mul", "add"]


def test_a_closed_trace_refuses_operations():
    trace = StageTrace("jit", None)
    (x,) = trace.add_inputs([F32])
    assert not trace.closed
    trace.finish([x])
    assert trace.closed
    with pytest.raises(weft.errors.UnexpectedTracerError):
        trace.bind(sin, [x], ())


def test_a_value_of_an_inner_trace_is_refused_by_the_outer_one():
    kept = []

    def outer(x):
        stage(lambda y: [kept.append(y * 2.0) or y], [F32])
        return [x * kept[0]]

    with pytest.raises(
        weft.errors.UnexpectedTracerError, match=r"mul: .*after that trace has ended"
    ):
        stage(outer, [F32])


def test_names_of_the_arguments_that_a_value_depends_on():
    def f(x, unused, pair):
        return bool(sin(x) * pair["b"])

    with pytest.raises(weft.errors.TracerBoolConversionError) as error:
        weft.jit(f)(1.0, 2.0, {"a": 3.0, "b": 4.0})
    assert "arguments x, pair['b']\n" in str(error.value)


def test_leaks_are_found_where_they_happen():
    kept = []

    @weft.jit
    def f(x):
        y = sin(x)
        kept.append(y)
        return y * 2

    @weft.jit
    def clean(x):
        return weft.jit(lambda y: cos(y) * x)(x)

    with weft.config.temporarily(check_tracer_leaks=True):
        assert float(clean(0.0)) == 0.0
        assert float(weft.grad(clean)(0.0)) == 1.0
        with pytest.raises(weft.errors.UnexpectedTracerError, match=r"(?s)is kept.*made by sin at"):
            f(1.0)
