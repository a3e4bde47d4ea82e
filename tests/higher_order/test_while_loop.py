"""while_loop agrees with Python's loop, under every nesting of forward-mode transformations."""

import functools

import numpy as np
import pytest
from tests.higher_order.nesting import FORWARD, agree, nestings, str_of

import weft
from weft import lax
from weft.core.array import as_value
from weft.higher_order.while_loop import while_loop as while_primitive
from weft.primitives.comparison import gt, lt
from weft.primitives.selection import stop_gradient
from weft.primitives.structural import convert_element_type, reduce_sum
from weft.primitives.trigonometric import cos, sin

f32 = np.float32
S = f32(0.7)
X1 = np.array([0.5, -0.3, 0.9], f32)


def times(n):
    """A while_loop that is known to make n steps, in Python."""

    def loop(cond_fun, body_fun, val):
        for _ in range(n):
            val = body_fun(val)
        return weft.tree_util.tree_map(as_value, val)

    return loop


# Each program takes a `while_loop` and its arguments; with these it makes 4 steps.


def counter(loop, x, y):
    """A bound that is a constant; a carry that gets its tangent in the second step."""

    def body(state):
        i, a, b, _ = state
        return i + 1, sin(a * x), a + b, b * 1.0

    return loop(lambda s: lt(s[0], 4), body, (0, x, y, 0.0))


def closure(loop, w, xs):
    """Condition and body close over values of the outside."""
    n = reduce_sum(xs * 0.0 + 4.0 / 3.0, axes=(0,)) - 0.01

    def body(state):
        i, c = state
        return i + 1.0, c * cos(w) + xs

    return loop(lambda s: lt(s[0], n), body, (0.0, xs))


def with_scan(loop, w, xs):
    """A scan in the body."""

    def body(state):
        i, c = state
        return i + 1, lax.scan(lambda c, x: (sin(c * w + x), c), c, xs)[0]

    return loop(lambda s: lt(s[0], 4), body, (0, w))


def nested(loop, w, xs):
    """A loop in the body, whose bound is the outer counter."""

    def body(state):
        i, c = state
        inner = lax.while_loop(lambda t: lt(t[0], i), lambda t: (t[0] + 1, t[1] * 1.1 + w), (0, c))
        return i + 1, inner[1] + xs

    return loop(lambda s: lt(s[0], 4), body, (0, xs))


PROGRAMS = {
    counter: (S, f32(0.2)),
    closure: (S, X1),
    with_scan: (S, X1),
    nested: (S, X1),
}


@pytest.mark.parametrize(("program", "name"), nestings(PROGRAMS, counter, FORWARD), ids=str_of)
def test_while_equals_the_loop_written_out(program, name):
    agree(
        functools.partial(program, lax.while_loop),
        functools.partial(program, times(4)),
        PROGRAMS[program],
        name,
    )


def doubled(x):
    """Doubles until above 100: a number of steps that depends on the data."""
    return lax.while_loop(lambda s: gt(100.0, s[0]), lambda s: (s[0] * 2.0, s[1] + 1), (x, 0))


def test_mapped_condition_ends_for_each_on_its_own():
    xs = np.array([1.0, 30.0, 500.0, 64.0], f32)
    for run in (weft.vmap(doubled), weft.jit(weft.vmap(doubled)), weft.vmap(weft.jit(doubled))):
        values, counts = run(xs)
        np.testing.assert_array_equal(values, [128, 120, 500, 128])
        np.testing.assert_array_equal(counts, [7, 2, 0, 1])
    _, (dx, _) = weft.jvp(weft.vmap(doubled), (xs,), (np.ones(4, f32),))
    np.testing.assert_array_equal(dx, [128, 4, 1, 2])
    dx = weft.vmap(lambda x: weft.jvp(doubled, (x,), (1.0,))[1][0])(xs)
    np.testing.assert_array_equal(dx, [128, 4, 1, 2])


def test_mapped_twice():
    xs = np.array([[1.0, 30.0], [500.0, 64.0]], f32)
    values, counts = weft.vmap(weft.vmap(doubled))(xs)
    np.testing.assert_array_equal(values, [[128, 120], [500, 128]])
    np.testing.assert_array_equal(counts, [[7, 2], [0, 1]])


def test_what_has_ended_is_not_touched():
    """Elements that have ended do not see the garbage that further steps would make of them."""

    def f(x):
        return lax.while_loop(lambda v: gt(v, 0.5), lambda v: 1.0 / (v - 0.5) - 1.6, x)

    xs = np.array([0.5, 0.9, 0.75], f32)
    expected = []
    for x in xs:
        v = x
        while v > 0.5:
            v = f32(1.0) / (v - f32(0.5)) - f32(1.6)
        expected.append(v)
    np.testing.assert_allclose(weft.vmap(f)(xs), expected, rtol=1e-5)
    slopes = weft.jvp(weft.vmap(f), (xs,), (np.ones(3, f32),))[1]
    assert np.isfinite(np.asarray(slopes)).all()


def test_only_the_condition_is_mapped():
    f = lambda n: lax.while_loop(lambda i: lt(i, n), lambda i: i + 1, 0)  # noqa: E731
    np.testing.assert_array_equal(weft.vmap(f)(np.array([3, 0, 7])), [3, 0, 7])


def test_unmapped_condition_stays_a_scalar():
    def f(x):
        return lax.while_loop(lambda s: lt(s[0], 3), lambda s: (s[0] + 1, s[1] * 2.0), (0, x))

    jaxpr = weft.make_jaxpr(weft.vmap(f))(X1)
    (equation,) = [e for e in jaxpr.jaxpr.equations if e.primitive is while_primitive]
    assert [v.aval.shape for v in equation.outvars] == [(), (3,)]


def test_reverse_mode_is_refused_with_a_way_out():
    for f in (
        lambda x: lax.while_loop(lambda v: lt(v, 3.0), lambda v: v * 2.0, x),
        weft.jit(
            lambda x: lax.fori_loop(
                0, convert_element_type(x, dtype=np.dtype(np.int32)), lambda _, v: v * 2.0, x
            )
        ),
        lambda x: weft.jit(lambda n: lax.fori_loop(0, n, lambda _, v: v * x, 1.0))(3),
    ):
        with pytest.raises(TypeError, match=r"(?s)reverse-mode.*scan.*fori_loop.*custom_vjp"):
            weft.grad(f)(1.0)


def test_reverse_mode_around_a_loop_that_is_not_differentiated():
    def f(x):
        n = lax.while_loop(lambda n: lt(n, 3), lambda n: n + 1, 0)
        return (
            stop_gradient(doubled(x)[0]) * x * convert_element_type(n, dtype=np.dtype(np.float32))
        )

    np.testing.assert_allclose(weft.grad(f)(3.0), 3 * 192.0)


def test_reverse_over_forward_mode_through_the_loop_is_refused_but_forward_over_forward_works():
    f = lambda x: doubled(x * x)[0]  # noqa: E731
    slope = lambda x: weft.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    np.testing.assert_allclose(weft.jvp(slope, (3.0,), (1.0,)), (96.0, 32.0))
    assert float(weft.jacfwd(weft.jacfwd(f))(3.0)) == 32.0
    with pytest.raises(TypeError, match="reverse-mode"):
        weft.grad(slope)(3.0)


def test_linearize_runs_the_loop_for_any_tangent():
    y, f_jvp = weft.linearize(lambda x: doubled(x)[0], 3.0)
    assert float(y) == 192.0
    assert float(f_jvp(2.0)) == 128.0
    assert float(weft.jit(f_jvp)(3.0)) == 192.0


def test_no_step():
    f = lambda x: lax.while_loop(lambda _: False, lambda v: v * 2.0, x)  # noqa: E731
    assert float(f(3.0)) == 3.0
    assert float(weft.jvp(f, (3.0,), (5.0,))[1]) == 5.0


def test_closure_over_a_big_constant_is_not_copied_by_each_step():
    w = np.ones((200, 200), f32)
    f = weft.jit(
        lambda x: lax.while_loop(lambda s: lt(s[0], 3), lambda s: (s[0] + 1, s[1] * w), (0, x))
    )
    text = f.lower(w).as_text()
    assert "while" in text
    assert text.count("40000") == 0  # nor written into it
