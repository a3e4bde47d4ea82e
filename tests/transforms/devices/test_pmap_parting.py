"""Control flow in pmap where devices go different ways, and meet in a collective all the same.

What is expected is what `vmap` means by it: an element that has ended keeps its value, and those
that take another branch lend theirs to its collectives.
"""

import functools
import threading

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import grad, jit, jvp, lax, pmap, vmap

pytestmark = pytest.mark.devices(4)

over_i = functools.partial(pmap, axis_name="i")


def same(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)


# fmt: off
PARTING = {  # a function of a number, with what it does to the numbers of all devices
    "a collective in one branch": (
        lambda x: lax.cond(x > 2, lambda x: lax.psum(x, "i"), lambda x: -x, x),
        lambda x: np.where(x > 2, x.sum(), -x),
    ),
    "another in each branch": (
        lambda x: lax.switch(x, [
            lambda x: lax.psum(x, "i"), lambda x: lax.ppermute(x, "i", [(0, 2)]),
            lambda x: lax.all_gather(x, "i")[::-1][0], lambda x: x * 10,
        ], x),
        lambda x: np.choose(x, [x.sum() + 0 * x, np.array([0, 0, x[0], 0]), x[-1] + 0 * x, x * 10]),
    ),
    "in a branch of a branch": (
        lambda x: lax.cond(
            x > 0, lambda x: lax.cond(x > 1, lambda x: lax.pmax(x, "i"), lambda x: 7, x),
            lambda x: 8, x),
        lambda x: np.where(x > 0, np.where(x > 1, x.max(), 7), 8),
    ),
    "in a jitted function in a branch": (
        lambda x: lax.cond(x > 1, jit(lambda x: x + lax.psum(x, "i")), lambda x: x, x),
        lambda x: np.where(x > 1, x + x.sum(), x),
    ),
    "a loop in which all meet": (
        lambda x: lax.while_loop(
            lambda c: c[1] > 0, lambda c: (c[0] + lax.psum(c[0] * 0 + 1, "i"), c[1] - 1), (x, x)
        )[0],
        lambda x: x + 4 * x,
    ),
    "a loop whose condition they decide together": (
        lambda x: lax.while_loop(lambda c: lax.psum(c, "i") < 50, lambda c: c * 2, x),
        lambda x: x * 16,
    ),
    "a loop whose length is the number of the device": (
        lambda x: lax.fori_loop(
            0, lax.axis_index("i"), lambda k, c: c + lax.axis_size("i") * lax.pmax(k, "i"), x),
        lambda x: x + 4 * np.array([0, 0, 1, 3]),
    ),
    "in a loop in a scan": (
        lambda x: lax.scan(
            lambda c, k: (lax.while_loop(
                lambda d: d < 5, lambda d: d + 1 + 0 * lax.psum(d, "i"), c) - k, c),
            x, np.arange(3))[0],
        lambda x: np.maximum(np.maximum(np.maximum(x, 5), 5) - 1, 5) - 2,
    ),
    "none of them": (
        lambda x: lax.while_loop(lambda c: c < 10, lambda c: c + x + 1, x), None,
    ),
}
# fmt: on


@pytest.mark.parametrize("name", PARTING)
def test_devices_that_go_different_ways_meet_where_they_must(name):
    g, model = PARTING[name]
    x = np.int32([0, 1, 2, 3])
    expected = vmap(g, axis_name="i")(x) if model is None else model(x)
    for h in (over_i(g), jit(over_i(g)), over_i(weft.checkpoint(g))):
        np.testing.assert_array_equal(h(x), expected)


def test_loops_that_all_leave_together_need_no_more_communication():
    """What decides isn't made different by what is beside it in the carry."""

    def g(x):
        body = lambda c: (c[0] + 1, c[1] + lax.psum(c[1], "i"), lax.axis_index("i"))  # noqa: E731
        k, y, _ = lax.while_loop(lambda c: c[0] < 3, body, (0, x, 0))
        return lax.cond(lax.psum(x, "i") > 0, lambda: y * k, lambda: lax.pmin(y, "i"))

    x = np.float32([1, 2, 3])
    total = x.sum()
    same(over_i(g)(x), 3 * (x + total + 4 * total + 16 * total))
    text = jit(over_i(g)).lower(x).as_text()
    assert text.count("stablehlo.all_reduce") == 3  # as many as are written above
    assert "stablehlo.case" in text


@pytest.mark.parametrize("over", [vmap, pmap])
def test_gradients_where_elements_go_different_ways(over):
    """Those that take another branch have lent their values to its collectives."""

    def g(x):
        y = lax.cond(x > 0, lambda x: x * lax.psum(wnp.sin(x), "i"), lambda x: x**3, x)
        return lax.cond(x > 1, lambda y: wnp.sin(y) + lax.pmean(y, "i"), lambda y: y, y)

    def whole(x):
        y = np.where(x > 0, x * np.sin(x).sum(), x**3)
        return np.where(x > 1, np.sin(y) + y.mean(), y).sum()

    x, eps = np.float32([0.5, 1.5, -0.7, 2.0]), 1e-6
    steps = [whole(x + eps * e) - whole(x - eps * e) for e in np.eye(4)]
    expected = np.asarray(steps) / (2 * eps)
    for f in (g, jit(g)):
        mapped = over(f, axis_name="i")
        np.testing.assert_allclose(mapped(x).sum(), whole(x.astype(float)), rtol=1e-5)
        same(grad(lambda x, mapped=mapped: mapped(x).sum())(x), expected)
        same(over(grad(f), axis_name="i")(x), expected)
        pushed = over(lambda x, t, f=f: jvp(f, (x,), (t,))[1], axis_name="i")
        t = np.float32([1, -2, 3, 0.5])
        np.testing.assert_allclose(pushed(x, t).sum(), expected @ t, rtol=1e-4)


def test_calls_of_the_host_by_the_devices_that_come_to_them():
    seen, lock = [], threading.Lock()

    def note(x):
        with lock:
            seen.append(float(x))

    def g(x):
        lax.cond(x > 2, lambda x: weft.debug.callback(note, x), lambda x: None, x)
        return x

    over_i(g)(np.float32([1, 2, 3, 4])).block_until_ready()
    assert sorted(seen) == [3, 4]

    def both(x):
        weft.debug.callback(note, x)
        return lax.psum(x, "i")

    with pytest.raises(ValueError, match=r"cond: .*different branches.*host or use collectives"):
        over_i(lambda x: lax.cond(x > 2, both, lambda x: x, x))(np.float32([1, 2, 3, 4]))
