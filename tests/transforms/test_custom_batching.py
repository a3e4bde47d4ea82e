"""custom_vmap: the rule under vmap, in every order of transformations; the function otherwise."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.custom_batching import custom_vmap, sequential_vmap

X, Y = onp.arange(3, dtype="float32"), onp.arange(3, 6, dtype="float32")


def plain(x, y):
    return {"z": np.sin(x) * y}


def ruled(f=plain, calls=None, said=True):
    """A function whose rule computes the same, and notes its calls."""
    g = custom_vmap(f)

    @g.def_vmap
    def rule(size, batched, x, y):
        (calls if calls is not None else []).append((size, batched))
        axes = [0 if b else None for b in batched]
        return weft.vmap(f, axes, axis_size=size)(x, y), said

    return g


USES = {  # and whether the rule is called
    "eager": (lambda f: f(2.0, 3.0), False),
    "jit": (lambda f: weft.jit(f)(2.0, 3.0), False),
    "grad": (lambda f: weft.grad(lambda x, y: f(x, y)["z"])(2.0, 3.0), False),
    "jvp": (lambda f: weft.jvp(f, (2.0, 3.0), (1.0, 0.5)), False),
    "vmap": (lambda f: weft.vmap(f)(X, Y), True),
    "vmap of one": (lambda f: weft.vmap(f, (0, None))(X, 2.0), True),
    "vmap of jit": (lambda f: weft.vmap(weft.jit(f))(X, Y), True),
    "jit of vmap": (lambda f: weft.jit(weft.vmap(f))(X, Y), True),
    "vmap of vmap": (lambda f: weft.vmap(weft.vmap(f, (None, 0)), (0, None))(X, Y), True),
    "vmap of jvp": (
        lambda f: weft.vmap(lambda x, y: weft.jvp(f, (x, y), (y, x)))(X, Y), True),
    "vmap of jvp of one": (
        lambda f: weft.vmap(lambda x, t: weft.jvp(lambda x: f(x, 2.0), (1.0,), (t,)))(X, Y), True),
    "jvp of vmap": (lambda f: weft.jvp(weft.vmap(f), (X, Y), (Y, X)), True),
    "vmap of jvp of jvp": (
        lambda f: weft.vmap(lambda x, y: weft.jvp(
            lambda x: weft.jvp(lambda x: f(x, y), (x,), (y,))[1], (x,), (x,)))(X, Y), True),
    "grad of vmap": (lambda f: weft.grad(lambda x: weft.vmap(f)(x, Y)["z"].sum())(X), True),
    "vmap of grad": (
        lambda f: weft.vmap(weft.grad(lambda x, y: f(x, y)["z"]))(X, Y), False),
    "scan of vmap": (
        lambda f: lax.scan(lambda c, x: (c, weft.vmap(f, (None, 0))(x, Y)), 0, X)[1], True),
    "vmap of scan": (
        lambda f: weft.vmap(lambda x: lax.scan(lambda c, y: (c, f(x, y)), 0, Y)[1])(X), True),
    "vmap of checkpoint": (lambda f: weft.vmap(weft.checkpoint(f))(X, Y), True),
    "grad of vmap of checkpoint": (
        lambda f: weft.grad(lambda x: weft.vmap(weft.checkpoint(f))(x, Y)["z"].sum())(X), True),
    "vmap of cond": (
        lambda f: weft.vmap(lambda x, y: lax.cond(x > 1, f, lambda x, y: {"z": x}, x, y))(X, Y),
        True),
    "linear transpose": (
        lambda f: weft.linear_transpose(lambda y: f(2.0, y)["z"], 1.0)(3.0), False),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_the_rule_is_called_under_vmap_and_the_values_are_the_function_s(name):
    use, is_called = USES[name]
    calls = []
    found, expected = use(ruled(calls=calls)), use(plain)
    assert weft.tree.structure(found) == weft.tree.structure(expected)
    for x, y in zip(weft.tree.leaves(found), weft.tree.leaves(expected), strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-5)
    assert bool(calls) is is_called


def test_the_rule_of_a_function_that_closes_over_a_traced_value():
    calls = []

    def slope(make):
        def mapped(a):
            f = make(lambda x, y: {"z": plain(x, y)["z"] * a})
            return weft.vmap(f)(X, Y)["z"].sum()

        return weft.grad(mapped)(2.0)

    found = slope(lambda f: ruled(f, calls))
    onp.testing.assert_allclose(found, slope(lambda f: f), rtol=1e-5)
    assert calls


def test_the_rule_decides_what_comes_out():
    f = ruled()
    f.def_vmap(lambda size, batched, x, y: ({"z": x * 0 + size}, {"z": True}))
    onp.testing.assert_array_equal(weft.vmap(f)(X, Y)["z"], [3, 3, 3])
    f.def_vmap(lambda size, batched, x, y: ({"z": np.float32(7)}, False))
    onp.testing.assert_array_equal(weft.vmap(f)(X, Y)["z"], [7, 7, 7])
    assert weft.vmap(f, out_axes=None)(X, Y)["z"] == 7


def test_the_rule_is_told_what_is_batched_in_the_structure_of_the_arguments():
    told = []
    f = custom_vmap(lambda d, y: d["a"] + d["b"] + y)

    @f.def_vmap
    def rule(size, batched, d, y):
        told.append((size, batched))
        return d["a"] + d["b"] + y, True

    weft.vmap(f, ({"a": 0, "b": None}, None))({"a": X, "b": 1.0}, 2.0)
    weft.vmap(f, (None, 0))({"a": 1.0, "b": 1.0}, y := X)
    assert told == [(3, [{"a": True, "b": False}, False]), (3, [{"a": False, "b": False}, True])]
    assert y.shape == (3,)


def test_python_sees_values_where_nothing_is_traced():
    f = custom_vmap(lambda x: x if x > 0 else -x)
    f.def_vmap(lambda size, batched, x: (np.abs(x), True))
    assert f(-2.0) == 2.0
    onp.testing.assert_array_equal(f(x=-2.0), 2.0)


def test_a_method_has_a_rule():
    class Scaled:
        @custom_vmap
        def times(self, x):
            return x * 2

    Scaled.times.def_vmap(lambda size, batched, self, x: (x, True))
    assert Scaled().times(3.0) == 6.0


def mapped(f, *args):
    return lambda: weft.vmap(f)(*args)


def with_rule(rule):
    f = custom_vmap(plain)
    f.def_vmap(rule)
    return f


def closing(x):
    f = custom_vmap(lambda y: x * y)
    f.def_vmap(lambda size, batched, y: (y, True))
    return f(2.0)


WRONG = {
    "no rule": (lambda: custom_vmap(plain)(1.0, 2.0), AttributeError, "no rule is defined"),
    "no pair": (mapped(with_rule(lambda n, b, x, y: x), X, Y), TypeError, "must return a pair"),
    "structure": (
        mapped(with_rule(lambda n, b, x, y: (x, True)), X, Y), TypeError, "of the function's str"),
    "no booleans": (
        mapped(with_rule(lambda n, b, x, y: ({"z": x}, {"z": 0})), X, Y), TypeError,
        "a boolean for each result"),
    "batched": (
        mapped(with_rule(lambda n, b, x, y: ({"z": np.float32(0)}, True)), X, Y), TypeError,
        r"must return float32\[3\] as leaf 0"),
    "not batched": (
        mapped(with_rule(lambda n, b, x, y: ({"z": x}, False)), X, Y), TypeError,
        "marks as not batched; got float32"),
    "dtype": (
        mapped(with_rule(lambda n, b, x, y: ({"z": x.astype(int)}, True)), X, Y), TypeError,
        "got int32"),
    "closure": (mapped(closing, X), TypeError, "closes over a value that is mapped"),
    "no function": (lambda: custom_vmap(3), TypeError, "custom_vmap: expected a function"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules(name):
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        function()


SEQUENTIAL = {
    "vmap": lambda f: weft.vmap(f)(X, Y),
    "jit of vmap": lambda f: weft.jit(weft.vmap(f))(X, Y),
    "in_axes": lambda f: weft.vmap(f, (None, 0))(2.0, Y),
    "grad of vmap": lambda f: weft.grad(lambda x: weft.vmap(f)(x, Y)["z"].sum())(X),
    "closure": lambda f: weft.vmap(lambda x: f(x, onp.float32(3)))(X),
}


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_one_after_the_other(name):
    use = SEQUENTIAL[name]
    told = []

    def f(x, y):
        weft.debug.callback(lambda x, y: told.append((float(x), float(y))), x, y, ordered=True)
        return plain(x, y)

    found, expected = use(sequential_vmap(f)), use(plain)
    for x, y in zip(weft.tree.leaves(found), weft.tree.leaves(expected), strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-5)
    assert len(told) == 3
    assert told == sorted(told)


def test_equal_calls_are_one_program():
    f = ruled()
    made = [weft.make_jaxpr(f)(1.0, 2.0).equations[0].params for _ in range(2)]
    assert made[0] == made[1]
