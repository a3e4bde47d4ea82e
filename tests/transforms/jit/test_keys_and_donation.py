"""What must be a part of a kept program's key, and which argument is given up."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax


def f32(*shape):
    """An array in a device's memory, which can be donated."""
    return np.dot(np.ones(shape), np.eye(shape[-1]))


def test_a_positional_only_parameter_leaves_its_name_to_keywords():
    f = weft.jit(lambda n, /, **rest: n * rest["n"], static_argnums=0)
    onp.testing.assert_array_equal(f(3, n=np.array([1.0, 2.0])), [3, 6])
    onp.testing.assert_array_equal(f(2, n=np.array([1.0, 2.0])), [2, 4])


def test_the_donated_argument_is_the_one_that_goes_where_others_are_unused():
    f = weft.jit(lambda unused, x, y: (x + 1, y.sum()), donate_argnums=1)
    for _ in range(3):
        unused, x, y = f32(4, 4), f32(4, 4), f32(4, 4) * 2
        out, total = f(unused, x, y)
        onp.testing.assert_array_equal(out, onp.full((4, 4), 2.0))
        assert float(total) == 32
        assert [a.is_deleted() for a in (unused, x, y)] == [False, True, False]
        onp.testing.assert_array_equal(y + f32(4, 4), onp.full((4, 4), 3.0))
        onp.testing.assert_array_equal(weft.jit(lambda y: y * 2)(y), onp.full((4, 4), 4.0))


WAYS = {
    "call": lambda f: f,
    "jit": weft.jit,
    "cond": lambda f: lambda x, y: lax.cond(True, f, lambda x, y: x - y, x, y),
    "while": lambda f: lambda x, y: lax.fori_loop(0, 1, lambda i, c: (f(*c), c[1]), (x, y))[0],
    "scan": lambda f: lambda x, y: lax.scan(lambda c, _: (f(c, y), c), x, None, length=1)[0],
    "checkpoint": weft.checkpoint,
}


@pytest.mark.parametrize("mode", ["jvp", "grad", "linearize", "jit of jvp"])
@pytest.mark.parametrize("way", WAYS)
def test_one_function_is_differentiated_in_one_argument_and_then_the_other(way, mode):
    f = WAYS[way](lambda x, y: x * x * y)
    x, y = onp.float32(3), onp.float32(5)

    def slope(g, at):
        if mode == "grad":
            return weft.grad(g)(at)
        if mode == "linearize":
            return weft.linearize(g, at)[1](onp.float32(1))
        forward = lambda at: weft.jvp(g, (at,), (np.ones_like(at),))[1]  # noqa: E731
        return (weft.jit(forward) if mode == "jit of jvp" else forward)(at)

    for _ in range(2):
        assert float(slope(lambda x: f(x, y), x)) == 30
        assert float(slope(lambda y: f(x, y), y)) == 9
        assert float(slope(lambda z: f(z, z), x)) == 27
