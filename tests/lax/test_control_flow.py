"""cond, switch: forms of the call, trees, types, errors, disable_jit."""

import collections

import numpy as np
import pytest

import weft
from weft import lax
from weft.core.array import as_value
from weft.primitives.comparison import gt
from weft.primitives.transcendental import cos, sin

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
        "^cond: the branches must return the same structure; got from true_fun, .*test_contro",
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
    assert any("test_control_flow.py" in note for note in caught.value.__notes__)


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
