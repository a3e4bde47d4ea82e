"""What nothing needs is not compiled, what has effects is; what is computed twice is so once."""

import numpy as np

import weft
from weft.compiler.simplify import (
    has_effects,
    jaxpr_calls_host,
    jaxpr_has_effects,
    live_equations,
    without_dead_code,
    without_effects,
    without_repetition,
    without_single_calls,
)
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import Var, run
from weft.core.primitive import Effects, Primitive, registry
from weft.core.trace import current
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def names(jaxpr):
    return [e.primitive.name for e in jaxpr.equations]


def test_what_no_output_needs_is_removed():
    big = f32(np.ones(3))

    def f(x, y):
        cos(x)
        sin(cos(big * x))
        return sin(x)

    jaxpr = weft.make_jaxpr(f)(1.0, 2.0)
    assert len(jaxpr.equations) == 5
    lean, used = without_dead_code(jaxpr)
    assert names(lean) == ["sin"]
    assert lean.consts == ()
    assert lean.invars == jaxpr.invars
    assert lean.invars[0] in used
    assert lean.invars[1] not in used


def test_an_input_that_is_only_returned_is_not_used():
    jaxpr = weft.make_jaxpr(lambda x, y: (x, y, sin(y)))(1.0, 2.0)
    _, used = without_dead_code(jaxpr)
    assert jaxpr.invars[0] not in used
    assert jaxpr.invars[1] in used


def test_chains_stay_in_order():
    def f(x):
        for _ in range(5):
            x = sin(cos(x))
        return x

    jaxpr = weft.make_jaxpr(f)(1.0)
    assert names(without_dead_code(jaxpr)[0]) == names(jaxpr)


def test_live_equations_tell_what_they_need():
    jaxpr = weft.make_jaxpr(lambda x, y: (sin(x), cos(y)))(1.0, 2.0)
    wanted = {jaxpr.outvars[1]}
    live = live_equations(jaxpr.equations, wanted)
    assert [e.primitive.name for e in live] == ["cos"]
    assert jaxpr.invars[1] in wanted
    assert jaxpr.invars[0] not in wanted
    assert all(type(v) is Var for v in wanted)


def test_effects_are_kept():
    effect = Primitive("effect_for_dead_code", "Does something.")
    effect.type(lambda x: x)
    effect.effects = Effects(acts=True)
    try:

        def f(x):
            effect(x)
            return x

        jaxpr = weft.make_jaxpr(f)(1.0)
        assert has_effects(jaxpr.equations[0])
        assert names(without_dead_code(jaxpr)[0]) == ["effect_for_dead_code"]
        inside = weft.make_jaxpr(lambda x: (weft.jit(f)(x), x)[1])(1.0)
        assert jaxpr_has_effects(inside)
        assert names(without_dead_code(inside)[0]) == ["call"]
        assert not jaxpr_has_effects(weft.make_jaxpr(sin)(1.0))
    finally:
        del registry["effect_for_dead_code"]


def test_part_of_a_program_inside_is_removed_by_what_follows():
    f = weft.jit(lambda x: (sin(x), cos(x)))
    text = weft.jit(lambda x: f(x)[0]).lower(1.0).compile().as_text()
    assert "cosine" not in text


def test_a_callback_without_effects_goes_and_others_stay():
    shape = weft.ShapeDtypeStruct((), "float32")

    def f(x):
        weft.pure_callback(float, shape, x)
        weft.experimental.io_callback(float, shape, x)
        weft.debug.callback(float, x)
        return x

    jaxpr = weft.make_jaxpr(weft.jit(f))(1.0)
    assert jaxpr_calls_host(jaxpr)
    inner = jaxpr.equations[0].params[0][1]
    assert names(inner) == ["pure_callback", "io_callback", "io_callback"]
    assert names(without_dead_code(inner)[0]) == ["io_callback", "io_callback"]
    assert not jaxpr_calls_host(weft.make_jaxpr(weft.jit(sin))(1.0))


def test_a_second_run_is_without_effects_that_nothing_needs():
    shape = weft.ShapeDtypeStruct((), "float32")

    def step(c, x):
        weft.debug.callback(float, c)
        weft.experimental.io_callback(float, shape, c)
        needed = weft.experimental.io_callback(float, shape, x)
        return c + needed, None

    jaxpr = weft.make_jaxpr(lambda xs: weft.lax.scan(step, 0.0, xs)[0])(weft.numpy.ones(3))
    quiet = without_effects(jaxpr)
    assert quiet is without_effects(jaxpr)
    assert names(quiet) == names(jaxpr)
    body = dict(quiet.equations[-1].params)["jaxpr"]
    assert names(body) == ["io_callback", "add"]
    plain = weft.make_jaxpr(sin)(1.0)
    assert without_effects(plain) is plain


def test_a_solver_stays_one_where_its_effects_are_left_out():
    """A parameter may be a NamedTuple of programs: without effects it is still one."""

    def solve(matvec, b):
        weft.debug.callback(lambda b: None, b)
        return b / 3.0

    def step(c):
        i, x = c
        solved = weft.lax.custom_linear_solve(lambda x: 3.0 * x, x, solve, lambda mv, b: b / 3.0)
        return i + 1, sin(solved)

    def loop(x):
        return weft.lax.while_loop(lambda c: c[0] < 3, step, (0, x))[1]

    def slope(x):
        total = 1.0
        for _ in range(3):
            x, total = np.sin(x / 3), total * np.cos(x / 3) / 3
        return total

    x, h = 1.0, 1e-5
    _, (first, second) = weft.jvp(
        lambda x: (loop(x), weft.linearize(loop, x)[1](1.0)), (x,), (1.0,)
    )
    np.testing.assert_allclose(first, slope(x), rtol=1e-5)
    np.testing.assert_allclose(second, (slope(x + h) - slope(x - h)) / (2 * h), rtol=1e-4)


# --- what is computed twice ---


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


def test_single_calls_are_written_out_at_any_depth():
    twice = weft.jit(lambda x: weft.numpy.sin(x))
    inner = weft.jit(lambda x, y: (twice(x) * y, x))
    outer = weft.jit(lambda x, y: inner(twice(x), 3.0)[0] + y)

    def function(x, y):
        return outer(x, y), x, 2.0

    jaxpr = weft.make_jaxpr(function)(1.0, 2.0)
    flat = without_single_calls(jaxpr, 4)
    assert names(flat) == ["call", "call", "mul", "add"]
    assert without_single_calls(jaxpr, 5) is jaxpr
    results = [v for e in flat.equations for v in e.outvars]
    assert len(set(results)) == len(results)
    args = f32(1), f32(2)
    for a, b in zip(*[run(j, args, current.base) for j in (flat, jaxpr)], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_program_without_calls_is_unchanged():
    jaxpr = weft.make_jaxpr(lambda x: weft.numpy.sin(x) + 1)(1.0)
    assert without_single_calls(jaxpr, 0) is jaxpr


def test_calls_that_name_operations_stay():
    part = weft.named_call(lambda x: weft.numpy.sin(x) + 1, name="part")
    jaxpr = weft.make_jaxpr(part)(1.0)
    assert without_single_calls(jaxpr, 0) is jaxpr
