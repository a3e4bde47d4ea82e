"""io_callback: Python functions that have effects and give something back."""

import functools

import numpy
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import io_callback

I32 = weft.ShapeDtypeStruct((), "int32")
F32 = weft.ShapeDtypeStruct((), "float32")


class Counter:
    """Gives 0, 1, 2, …: what was called, and when, is seen by the numbers."""

    def __init__(self):
        self.count = 0

    def __call__(self, x=None):
        self.count += 1
        return numpy.int32(self.count - 1)


@pytest.fixture
def counter():
    return Counter()


def drawn(counter, x):
    return io_callback(counter, I32, x)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, lambda f: weft.jit(weft.jit(f))])
def test_once_each_time_in_order(wrap, counter):
    def f(x):
        first = drawn(counter, x)
        second = drawn(counter, x)
        drawn(counter, x)  # its result is not needed
        return first, second, drawn(counter, x)

    assert wrap(f)(1.0) == (0, 1, 3)
    assert wrap(f)(1.0) == (4, 5, 7)


@pytest.mark.parametrize("ordered", [False, True])
def test_in_loops_and_branches(counter, ordered):
    draw = functools.partial(io_callback, counter, I32, ordered=ordered)

    @weft.jit
    def f(n):
        begin = draw()
        _, numbers = lax.scan(lambda c, _: (c, draw(c)), begin, None, length=3)
        last = lax.while_loop(lambda c: c < 7, lambda c: draw(c), begin)
        either = lax.cond(last > 0, lambda x: draw(x), lambda x: x, last)
        return begin, numbers, last, either, lax.fori_loop(0, n, lambda i, c: draw(c), either)

    begin, numbers, last, either, end = f(3)
    assert (begin, last, either, end) == (0, 7, 8, 11)
    assert numbers.tolist() == [1, 2, 3]


def test_a_loop_may_ask_whether_to_go_on(counter):
    def go_on(x):
        return bool(counter() < 3)

    f = weft.jit(
        lambda x: lax.while_loop(
            lambda x: io_callback(go_on, weft.ShapeDtypeStruct((), bool), x), lambda x: x * 2, x
        )
    )
    assert f(1.0) == 8
    counter.count = 0
    with weft.disable_jit():
        assert f(1.0) == 8


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_under_vmap_for_each_element_in_order(wrap, counter):
    f = wrap(weft.vmap(lambda x: drawn(counter, x) * 10 + x))
    assert f(np.arange(3.0)).tolist() == [0, 11, 22]
    twice = wrap(weft.vmap(weft.vmap(lambda x: drawn(counter, x))))
    assert twice(np.zeros((2, 2))).tolist() == [[3, 4], [5, 6]]
    assert wrap(weft.vmap(lambda x: drawn(counter, 1.0)))(np.zeros(2)).tolist() == [7, 7]


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_under_vmap_branches_that_are_not_taken_do_nothing(wrap, counter):
    def f(p, x):
        y = lax.cond(p, lambda x: drawn(counter, x) + 100, lambda x: np.int32(-1), x)
        return y, counter_after(p)

    def counter_after(p):
        return io_callback(lambda p: numpy.int32(counter.count), I32, p)

    got, after = wrap(weft.vmap(f))(np.array([True, False, True]), np.arange(3.0))
    assert got.tolist() == [100, -1, 101]
    assert after.tolist() == [2, 2, 2]


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_under_vmap_a_loop_that_has_ended_does_nothing(wrap, counter):
    def f(n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, drawn(counter, n)), (0, -1))

    steps, last = wrap(weft.vmap(f))(np.array([2, 0, 3]))
    assert steps.tolist() == [2, 0, 3]
    assert last.tolist() == [1, -1, 4]
    assert counter.count == 5


def test_under_vmap_a_switch_is_differentiated_too(counter):
    """What each element's turn is made of is a scan, which has derivatives."""

    def f(i, x):
        def noting(power):
            def branch(x):
                io_callback(counter, I32, x)
                return x**power

            return branch

        return lax.switch(i, [noting(1), noting(2), noting(3)], x)

    i, x = np.array([2, 0, 1]), np.array([2.0, 3.0, 4.0])
    for g in (weft.vmap(weft.grad(f, 1)), weft.jit(weft.vmap(weft.grad(f, 1)))):
        counter.count = 0
        numpy.testing.assert_allclose(g(i, x), [12, 1, 8], rtol=1e-6)
        assert counter.count == 3
    both = weft.grad(lambda x: np.sum(weft.vmap(f, (0, 0))(i, x)))
    numpy.testing.assert_allclose(both(x), [12, 1, 8], rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_with_derivatives_once_in_the_forward_pass(wrap, counter):
    def f(x):
        scale = drawn(counter, lax.stop_gradient(x)) + 2.0
        return scale * x * x

    assert wrap(weft.grad(f))(3.0) == 12  # 2 x scale
    assert wrap(weft.grad(f))(3.0) == 18
    assert wrap(lambda x: weft.jvp(f, (x,), (1.0,)))(3.0) == (36, 24)
    assert wrap(weft.grad(weft.checkpoint(f)))(3.0) == 30  # the number that was drawn is kept
    assert counter.count == 4


def test_inside_checkpoint_in_a_scan_once(counter):
    @weft.checkpoint
    def layer(x, _):
        return np.sin(x) * (drawn(counter, lax.stop_gradient(x)) + 1.0), None

    f = weft.jit(weft.grad(lambda x: lax.scan(layer, x, None, length=3)[0]))
    x, slope = 0.5, 1.0
    for k in range(3):
        slope *= numpy.cos(x) * (k + 1)
        x = numpy.sin(x) * (k + 1)
    numpy.testing.assert_allclose(f(0.5), slope, rtol=1e-6)
    assert counter.count == 3


def test_trees_and_nothing(capsys):
    f = weft.jit(lambda x: io_callback(lambda x: print("x", x["a"]), None, {"a": x}))
    assert f(2.0) is None
    assert capsys.readouterr().out == "x 2.0\n"
    g = weft.jit(lambda x: io_callback(lambda x: {"y": (x, x)}, {"y": (x, x)}, x))
    assert g(2.0) == {"y": (2.0, 2.0)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: io_callback(None, None), TypeError, "io_callback: expected a function"),
        (lambda: io_callback(abs, None, 1.0), TypeError, "the given structure, None; it returned"),
        (lambda: io_callback(abs, F32, 1.0, sharding=3), ValueError, "sharding must be None"),
        (lambda: io_callback(abs, F32, "a"), TypeError, "must be an array or a number; got str"),
        (
            lambda: weft.grad(lambda x: io_callback(abs, F32, x))(1.0),
            weft.errors.MissingRuleError,
            "(?s)abs: a callback can't be differentiated.*custom_jvp",
        ),
        (
            lambda: weft.vmap(
                lambda p, x: lax.cond(p, lambda x: io_callback(abs, F32, lax.psum(x, "i")), abs, x),
                axis_name="i",
            )(np.array([True, False]), np.ones(2)),
            TypeError,
            "(?s)cond: under vmap, .*effects or use collectives over 'i', not both",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_jaxpr():
    text = str(weft.make_jaxpr(lambda x: io_callback(abs, F32, x))(1.0))
    assert "b:f32[] = io_callback[function=abs] a" in text
