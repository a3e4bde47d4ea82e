"""Jaxprs: interpreting them, opening their constants, finding what is inside."""

import gc
import weakref

import numpy as np
import pytest

import weft
from weft.core.jaxpr import Labels, Var, run, subjaxprs
from weft.core.trace import current
from weft.primitives.elementwise import unary
from weft.primitives.trigonometric import sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def test_run_is_what_the_function_does():
    w = f32([1.0, 2.0])
    jaxpr = weft.make_jaxpr(lambda x, y: (sin(x) * w, y, 3.0))(f32([0.5, 0.6]), 2.0)
    a, b, c = run(jaxpr, [f32([0.1, 0.2]), f32(7.0)], current.trace)
    np.testing.assert_allclose(np.asarray(a), np.sin([0.1, 0.2]) * [1, 2], rtol=1e-6)
    assert float(b) == 7.0
    assert float(c) == 3.0


def test_without_consts():
    w = f32([1.0, 2.0])
    jaxpr = weft.make_jaxpr(lambda x: x * w)(f32([0.5, 0.6]))
    whole = jaxpr.without_consts()
    assert not whole.constvars
    assert len(whole.invars) == 2
    assert jaxpr.without_consts() is whole
    assert whole.without_consts() is whole
    (y,) = run(whole, [f32([10.0, 10.0]), f32([1.0, 2.0])], current.trace)
    np.testing.assert_array_equal(np.asarray(y), [10.0, 20.0])


@pytest.mark.parametrize(
    "part", ["constvars", "consts", "invars", "equations", "outvars", "name", "labels", "new"]
)
def test_a_program_refuses_changes(part):
    jaxpr = weft.make_jaxpr(lambda x: sin(x) * f32([1.0, 2.0]))(1.0)
    with pytest.raises(AttributeError, match=rf"{part}: a program is never changed"):
        setattr(jaxpr, part, ())
    if part not in ("name", "labels", "new"):
        assert isinstance(getattr(jaxpr, part), tuple)


def test_replace_makes_another_program():
    jaxpr = weft.make_jaxpr(lambda x, y: (sin(x), y * f32([1.0, 2.0])))(0.5, f32([3.0, 4.0]))
    turned = jaxpr.replace(invars=jaxpr.invars[::-1], outvars=jaxpr.outvars[:1], name="turned")
    assert (turned.name, turned.consts, turned.equations) == (
        "turned",
        jaxpr.consts,
        jaxpr.equations,
    )
    (y,) = run(turned, [f32([3.0, 4.0]), f32(0.5)], current.trace)
    np.testing.assert_allclose(np.asarray(y), np.sin(0.5), rtol=1e-6)
    assert len(jaxpr.outvars) == 2
    assert turned.cached_results is not jaxpr.cached_results


def test_labels_follow_constants_that_become_inputs():
    jaxpr = weft.make_jaxpr(lambda x: x * f32([1.0, 2.0]))(1.0)
    labelled = jaxpr.replace(labels=Labels(("x",), ("result",)))
    whole = labelled.without_consts()
    assert whole.labels == (("a constant that it closes over", "x"), ("result",))
    assert labelled.replace(outvars=()).labels == ((), ())


def test_an_equation_between_other_variables():
    (e,) = weft.make_jaxpr(lambda x: weft.numpy.sum(x, 0))(f32([1.0, 2.0])).equations
    x, y = Var(e.inputs[0].aval), Var(e.outvars[0].aval)
    same, other = e.replace([x], [y]), e.replace([x], [y], axes=(1,))
    assert (same.inputs, same.outvars, same.params) == ([x], [y], e.params)
    assert (other.primitive, dict(other.params), dict(e.params)) == (
        e.primitive,
        {"axes": (1,)},
        {"axes": (0,)},
    )


def test_one_constant_for_one_array():
    w, v = f32([1.0, 2.0]), f32([1.0, 2.0])
    jaxpr = weft.make_jaxpr(lambda x: x * w + w * v)(f32([0.5, 0.6]))
    assert len(jaxpr.consts) == 2


def test_scalars_are_literals():
    s = f32(3.0)
    jaxpr = weft.make_jaxpr(lambda x: x * s + 2.0)(f32([0.5, 0.6]))
    assert not jaxpr.consts


def test_subjaxprs():
    jaxpr = weft.make_jaxpr(lambda x: weft.lax.cond(x > 0, sin, lambda x: x, x))(1.0)
    inner = [j for e in jaxpr.equations for j in subjaxprs(e.params)]
    assert len(inner) == 2


def test_programs_are_freed_with_their_function():
    def make():
        f = weft.jit(lambda x: sin(x) * 2)
        f(1.0)
        weft.grad(f)(1.0)
        return weakref.ref(f.trace(1.0).jaxpr)

    reference = make()
    gc.collect()  # the function, and with it what jit keeps for it
    gc.collect()  # what was in there
    assert reference() is None


def test_tracing_leaves_no_cycles_that_hold_arrays():
    big = np.ones(1000, np.float32)

    def make():
        x = f32(big)
        weft.grad(lambda w: weft.jit(lambda y: sin(y) * w)(x)[0])(2.0)
        return weakref.ref(x)

    reference = make()
    gc.collect()
    assert reference() is None


def test_a_value_is_freed_after_its_last_use():
    """A chain of twenty steps holds two values at a time, as the same loop in Python does."""
    alive, most = [], 0

    def evaluate(x):
        nonlocal most
        out = x + 1
        alive.append(weakref.ref(out))
        most = max(most, sum(r() is not None for r in alive))
        return out

    step = unary("counted_step", "x + 1", evaluate=evaluate, stablehlo="none", host="always")

    def chain(x):
        for _ in range(20):
            x = step(x)
        return x

    x = f32(np.zeros(8))
    jaxpr = weft.make_jaxpr(chain)(x)
    alive.clear()
    most = 0
    (y,) = run(jaxpr, [x], current.base)
    np.testing.assert_array_equal(np.asarray(y), np.full(8, 20))
    assert len(alive) == 20
    in_run, most = most, 0
    alive.clear()
    chain(x)
    assert in_run == most == 2
