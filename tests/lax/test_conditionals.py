"""cond, switch: forms of the call, trees, types, errors, disable_jit."""

import collections
import gc
import operator
import types
import weakref

import numpy as np
import pytest

import weft
from weft import lax, tree_util
from weft.core.array import as_value
from weft.primitives.comparison import gt
from weft.primitives.trigonometric import cos, sin

f32 = np.float32
V = np.array([0.4, -0.9], f32)


def aval(x):
    return as_value(x).aval


# --- forms ---


def test_forms_of_cond():
    up, down = lambda x: x + 1, lambda x: x - 1
    assert int(lax.cond(True, up, down, 5)) == 6
    assert int(lax.cond(False, up, down, 5)) == 4
    assert int(lax.cond(True, up, down, operand=5)) == 6
    assert int(lax.cond(True, 5, up, 50, down)) == 6
    assert int(lax.cond(False, 5, up, 50, down)) == 49
    keywords = {"true_operand": 5, "true_fun": up, "false_operand": 50, "false_fun": down}
    assert int(lax.cond(False, **keywords)) == 49
    assert int(lax.cond(True, lambda: 1, lambda: 2)) == 1
    assert int(lax.cond(True, lambda x, y: x, lambda x, y: y, 3, 4)) == 3
    assert int(lax.cond(True, lambda _: 1, lambda _: 2, operand=None)) == 1
    a, b = lax.cond(False, (1, 2), lambda t: t, [3, 4], lambda t: (t[1], t[0]))
    assert (int(a), int(b)) == (4, 3)


def test_forms_of_switch():
    branches = [lambda x: x, lambda x: -x]
    assert int(lax.switch(1, branches, 5)) == -5
    assert int(lax.switch(1, tuple(branches), operand=5)) == -5
    assert int(lax.switch(7, branches[:1], 5)) == 5
    assert int(lax.switch(as_value(1), [lambda: 3, lambda: 4])) == 4


@pytest.mark.parametrize("pred", [True, 1, 2.5, np.bool_(True), np.int8(-3), np.float16(0.5)])
def test_what_counts_as_true(pred):
    zero = type(pred)(0)
    assert int(lax.cond(pred, lambda: 1, lambda: 2)) == 1
    assert int(lax.cond(zero, lambda: 1, lambda: 2)) == 2
    f = weft.jit(lambda p: lax.cond(p, lambda: 1, lambda: 2))
    assert int(f(pred)) == 1
    assert int(f(zero)) == 2


def test_nan_counts_as_true():
    assert int(lax.cond(float("nan"), lambda: 1, lambda: 2)) == 1


Point = collections.namedtuple("Point", "x y")


def test_trees():
    def f(p):
        return lax.cond(
            p,
            lambda t: {"a": Point(t["x"] * 2, None), "b": [t["y"]]},
            lambda t: {"a": Point(t["x"], None), "b": [t["y"] + 1]},
            {"x": V, "y": 3},
        )

    for run in (f, weft.jit(f)):
        got = run(False)
        assert isinstance(got["a"], Point)
        assert got["a"].y is None
        np.testing.assert_array_equal(got["a"].x, V)
        assert int(got["b"][0]) == 4


def test_no_outputs():
    assert lax.cond(True, lambda: None, lambda: None) is None
    assert weft.jit(lambda p: lax.cond(p, lambda: (), lambda: ()))(True) == ()


def test_results_that_are_operands_or_numbers():
    f = weft.jit(lambda p, x, y: lax.cond(p, lambda x, y: (x, 1), lambda x, y: (y, 2), x, y))
    a, b = f(True, 3.0, 4.0)
    assert (float(a), int(b)) == (3.0, 1)
    a, b = f(False, 3.0, 4.0)
    assert (float(a), int(b)) == (4.0, 2)


def test_weak_types():
    strong = as_value(f32(2.0))
    for f in (lambda f: f, weft.jit):
        for p in (True, False):
            one = f(lambda p: lax.cond(p, lambda x: 1.0, lambda x: x, strong))
            assert aval(one(p)) == strong.aval
            both = f(lambda p: lax.cond(p, lambda x: 1.0, lambda x: 2.0, strong))
            assert aval(both(p)).weak_type


def test_a_branch_that_raises_tells():
    def bad(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        lax.cond(False, bad, lambda x: x, 1)


# --- errors ---


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def test_errors_of_cond():
    same = lambda x: x  # noqa: E731
    with refused(TypeError, r"^cond: pred must be a scalar; got bool\[2\]", "numpy.where"):
        lax.cond(V > 0, same, same, 1.0)
    with refused(TypeError, "^cond: pred must be a scalar; got a list"):
        lax.cond([True], same, same, 1.0)
    with refused(TypeError, "^cond: pred must be a boolean or a real number; got complex64"):
        lax.cond(1j, same, same, 1.0)
    with refused(TypeError, "^cond: the true_fun must be a function; got a int, 3"):
        lax.cond(True, 3, same, 1.0)
    with refused(TypeError, "^cond: expected true_fun and false_fun; got no false_fun"):
        lax.cond(True, same)
    with refused(TypeError, "^cond: expected operands by position or operand=; got both"):
        lax.cond(True, same, same, 1.0, operand=2.0)
    with refused(TypeError, "^cond: expected arrays or scalars; got a str, 'a', at operands"):
        lax.cond(True, same, same, {"k": "a"})


def test_errors_of_results():
    with refused(
        TypeError,
        "^cond: the branches must return the same structure; got from true_fun, .*test_condit",
        r"\n  true_fun: \(\*,\)",
        r"\n  false_fun: \*",
    ):
        lax.cond(True, lambda x: (x,), lambda x: x, 1.0)
    with refused(
        TypeError,
        "^cond: the branches must return the same types",
        r"\n  result\['a'\]: int32\[\] from true_fun, float32\[2\] from false_fun\n  fix: ",
    ):
        lax.cond(True, lambda x: {"a": 1, "b": x}, lambda x: {"a": x, "b": x}, V)
    with refused(TypeError, r"^switch: .*branches\[0\]: \*", r"branches\[2\]: None"):
        lax.switch(1, [lambda: 1, lambda: 2, lambda: None])
    with refused(TypeError, "^switch: the branches.* must return arrays|^switch: the branches"):
        lax.switch(1, [lambda: "a", lambda: "b"])


def test_errors_of_switch():
    with refused(ValueError, "^switch: expected at least one branch; got none"):
        lax.switch(1, [], 2)
    for index, came in [
        (1.0, r"float32\[\]"),
        (True, r"bool\[\]"),
        (np.array([1, 2]), r"int32\[2\]"),
        ("a", "a str"),
        (None, "a NoneType"),
    ]:
        with refused(TypeError, f"^switch: the index must be an integer scalar; got {came}"):
            lax.switch(index, [sin, cos], 1.0)
    with refused(TypeError, "^switch: the branch 1 must be a function"):
        lax.switch(0, [sin, 3], 1.0)


def test_errors_name_the_users_line():
    with pytest.raises(TypeError) as caught:
        lax.cond(True, lambda x: (x,), lambda x: x, 1.0)
    assert any("test_conditionals.py" in note for note in caught.value.__notes__)


# --- disable_jit ---


def test_disable_jit_runs_one_branch_in_python():
    with weft.disable_jit():
        ran = []

        def branch(x):
            ran.append(float(x))
            return x * 2

        def other(x):
            raise AssertionError

        assert float(lax.cond(True, branch, other, 2.0)) == 4.0
        assert float(lax.switch(0, [branch, other], 3.0)) == 6.0
        assert ran == [2.0, 3.0]
        assert (
            float(weft.grad(lambda x: lax.cond(gt(x, 1.0), lambda x: x * x, other, x))(3.0)) == 6.0
        )
        np.testing.assert_array_equal(  # a mapped predicate is not known: both, and select
            weft.vmap(lambda x: lax.cond(gt(x, 0.0), lambda x: x * 2, lambda x: x, x))(V),
            np.where(V > 0, V * 2, V),
        )


# --- functions that come again ---


def test_a_branch_that_comes_twice_is_traced_once_under_jit():
    traces = []
    branch = lambda x: traces.append(x) or x + 1  # noqa: E731
    f = weft.jit(lambda i, x: lax.switch(i, [branch, lambda x: x, branch], x))
    assert [int(f(i, 5)) for i in range(3)] == [6, 5, 6]
    assert len(traces) == 1


SCALE = 1.0


def test_what_a_function_closes_over_may_change(monkeypatch):
    number, array, table, holder = 1.0, weft.numpy.float32(1.0), {"w": 1.0}, type("H", (), {})()
    host = np.ones((), f32)
    holder.w = weft.numpy.float32(1.0)
    flags, count, module = {"n": 1}, 0, types.ModuleType("settings")
    module.w = 1.0
    helper = lambda x: x * number  # noqa: E731

    def counting(_, x):
        nonlocal count
        count += 1
        return x * number

    bodies = {
        "number": lambda _, x: x * number,
        "array": lambda _, x: x * array,
        "table": lambda _, x: x * table["w"],
        "object": lambda _, x: x * holder.w,
        "helper": lambda _, x: helper(x),
        "global": lambda _, x: x * SCALE,
        "NumPy": lambda _, x: x * host,
        "an integer in a table": lambda _, x: x * flags["n"],
        "a module": lambda _, x: x * module.w,
        "a method": lambda _, x: x * flags.get("n"),
        "a variable that it assigns": counting,
    }
    run = lambda: {k: float(lax.fori_loop(0, 1, b, 1.0)) for k, b in bodies.items()}  # noqa: E731
    assert run() == dict.fromkeys(bodies, 1.0)
    number, array, table["w"], holder.w = 2.0, array * 2, 2.0, holder.w * 2
    flags["n"], module.w = 2, 2.0
    host *= 2
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert run() == dict.fromkeys(bodies, 2.0)
    assert run() == dict.fromkeys(bodies, 2.0)


@pytest.mark.parametrize("call", ["scan", "cond", "fori_loop", "while_loop", "map", "checkpoint"])
@pytest.mark.parametrize("where", ["itself", "a helper"])
def test_attributes_of_functions_may_change(call, where):
    helper = lambda x: x * helper.k  # noqa: E731

    def body(x):
        return helper(x) if where == "a helper" else x * body.k

    calls = {
        "scan": lambda: lax.scan(lambda c, x: (body(c), x), 1.0, None, length=2)[0],
        "cond": lambda: lax.cond(True, body, lambda x: x, 1.0),
        "fori_loop": lambda: lax.fori_loop(0, 2, lambda i, x: body(x), 1.0),
        "while_loop": lambda: lax.while_loop(lambda x: x < 4.0, body, 1.0),
        "map": lambda: lax.map(body, np.ones(2, f32))[0],
        "checkpoint": lambda: checkpointed(1.0),
    }
    checkpointed = weft.checkpoint(body)
    expected = {
        "scan": [4.0, 9.0],
        "cond": [2.0, 3.0],
        "fori_loop": [4.0, 9.0],
        "while_loop": [4.0, 9.0],
        "map": [2.0, 3.0],
        "checkpoint": [2.0, 3.0],
    }
    results = []
    for k in (2.0, 3.0):
        body.k = helper.k = k
        results.append(float(calls[call]()))
    assert results == expected[call]


def test_functions_that_close_over_traced_values_are_traced_again():
    def f(a):
        body = lambda _, x: x * a  # noqa: E731
        return lax.fori_loop(0, 2, body, 1.0) + lax.fori_loop(0, 2, body, 2.0)

    assert weft.grad(f)(3.0) == 18.0
    assert weft.vmap(f)(f32([1.0, 2.0])).tolist() == [3.0, 12.0]
    body = lambda _, x: x * 2  # noqa: E731
    g = lambda x: lax.fori_loop(0, 2, body, x)  # noqa: E731
    assert (g(1.0), weft.grad(g)(1.0), weft.jit(g)(1.0)) == (4.0, 4.0, 4.0)


def test_what_functions_close_over_dies_with_them():
    def make():
        big = weft.numpy.ones(3)
        body = lambda _, x: x + big.sum()  # noqa: E731
        for n in range(40):
            lax.fori_loop(0, 1, body, np.zeros(n, f32))
        assert not vars(body)
        return weakref.ref(body), weakref.ref(big)

    for ref in make():
        gc.collect()
        assert ref() is None


@pytest.mark.parametrize("around", [lambda f: f, weft.jit])
def test_functions_that_are_trees_may_be_followed_by_functions(around):
    """Five arguments are the oldest form only if the second is no function."""
    add, mul = tree_util.Partial(operator.add), tree_util.Partial(operator.mul)
    call = around(lambda pred: lax.cond(pred, lambda f, g: f(3, 4), lambda f, g: g(3, 4), add, mul))
    assert [int(call(True)), int(call(False))] == [7, 12]
