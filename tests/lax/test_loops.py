"""scan, map, fori_loop, while_loop, associative_scan: trees, types, errors, disable_jit."""

import collections
import functools
import itertools

import numpy as np
import pytest

import weft
from weft import lax
from weft.core.array import as_value
from weft.lax.body_functions import traced
from weft.primitives.comparison import gt, lt
from weft.primitives.products import dot_general
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import sin

f32 = np.float32
XS = np.array([1.0, -2.0, 3.0], f32)
C = {"a": 0.0, "b": 0.0}


def aval(x):
    return as_value(x).aval


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def summed(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


# --- trees ---

State = collections.namedtuple("State", "count mean")


def test_trees_of_scan():
    def step(state, x):
        new = State(state.count + 1, {"m": state.mean["m"] + x["a"][0], "none": None})
        return new, [x["a"][1], None, (state.count,)]

    init = State(0, {"m": 0.0, "none": None})
    xs = {"a": (XS, np.arange(6).reshape(3, 2)), "none": None}
    for scan in (lax.scan, weft.jit(lambda *a: lax.scan(step, *a[1:]))):
        last, ys = scan(step, init, xs) if scan is lax.scan else scan(0, init, xs)
        assert isinstance(last, State)
        assert int(last.count) == 3
        assert float(last.mean["m"]) == 2.0
        assert last.mean["none"] is ys[1] is None
        np.testing.assert_array_equal(ys[0], xs["a"][1])
        np.testing.assert_array_equal(ys[2][0], [0, 1, 2])


def test_empty_trees():
    assert lax.scan(lambda c, x: (c, None), (), XS) == ((), None)
    assert lax.scan(lambda c, _: (c, None), None, None, length=3) == (None, None)
    assert lax.fori_loop(0, 3, lambda i, _: None, None) is None
    carry, ys = lax.scan(lambda c, x: [c, x], 1, XS)  # a list will do for the pair
    assert int(carry) == 1
    np.testing.assert_array_equal(ys, XS)


def test_trees_of_the_other_loops():
    out = lax.while_loop(
        lambda s: lt(s["i"], 3),
        lambda s: {"i": s["i"] + 1, "x": [s["x"][0] * 2.0]},
        {"i": 0, "x": [1.0]},
    )
    assert (int(out["i"]), float(out["x"][0])) == (3, 8.0)
    out = lax.fori_loop(0, 3, lambda i, s: (s[1], s[0] + i), (1, 2))
    assert [int(x) for x in out] == [3, 3]
    out = lax.map(lambda x: {"y": x["a"] * 2, "z": (x["b"],)}, {"a": XS, "b": np.arange(3)})
    np.testing.assert_array_equal(out["y"], XS * 2)
    np.testing.assert_array_equal(out["z"][0], [0, 1, 2])


# --- weak types ---


def test_a_number_takes_the_dtype_that_the_body_gives_it():
    c, ys = lax.scan(lambda c, x: (c + x, c), 0, XS)
    assert aval(c).dtype == ys.dtype == np.float32
    assert not aval(c).weak_type
    half = np.array([1, 2], np.float16)
    c, ys = lax.scan(lambda c, x: (c + x, c), 0.0, half)
    assert aval(c).dtype == ys.dtype == np.float16
    c = lax.fori_loop(0, 3, lambda i, c: c + np.float16(1), 0)
    assert aval(c).dtype == np.float16
    c = lax.while_loop(lambda c: lt(c, 3.0), lambda c: c + f32(1), 0)
    assert aval(c).dtype == np.float32
    # one after the other: a becomes a float in the second try, b in the third
    (a, b, _), _ = lax.scan(lambda c, x: ((c[1], c[2], c[2]), None), (0, 0, 0.5), XS)
    assert aval(a).dtype == aval(b).dtype == np.float32


def test_weak_types_stay_weak():
    assert aval(lax.scan(lambda c, _: (c + 1, c), 0.0, None, length=3)[0]).weak_type
    assert aval(lax.fori_loop(0, 3, lambda i, c: c + i, 0)).weak_type
    assert aval(lax.while_loop(lambda c: lt(c, 3), lambda c: c + 1, 0)).weak_type


# --- scan: errors ---


def test_scan_refuses_a_carry_that_changes_its_type():
    with refused(
        TypeError,
        r"^scan: the body <lambda> \(test_loops.py:\d+\) must return the carry in the types",
        r"\n  carry\['a'\]\[1\]: takes float32\[3\], returns float32\[\]",
        r"\n  carry\['b'\]: takes float32\[\], returns int32\[\]",
        r"\n  fix: convert with .astype",
        "broadcast_to",
    ):
        lax.scan(
            lambda c, x: ({"a": (1.0, summed(c["a"][1])), "b": as_value(np.int32(1))}, None),
            {"a": (1.0, XS), "b": f32(2.0)},
            XS,
        )


def test_scan_refuses_a_carry_that_changes_its_structure():
    with refused(
        TypeError,
        "^scan: the body .* must return the carry in the structure in which it takes it",
        r"\{'a': \*, 'b': \*\}; got \{'a': \*\}\n  fix: ",
    ):
        lax.scan(lambda c, x: ({"a": c["a"]}, x), {"a": 1, "b": 2}, XS)
    with refused(TypeError, r"takes it, \*; got \(\*, \*\)"):
        lax.scan(lambda c, x: ((c, c), x), 1.0, XS)


def test_scan_refuses_what_is_no_pair():
    for body in (lambda c, x: c, lambda c, x: (c, x, x), lambda c, x: {"c": c, "x": x}):
        with refused(TypeError, r"^scan: the body .* must return a pair \(carry, y\); got "):
            lax.scan(body, 1.0, XS)


def test_a_length_may_be_a_whole_float():
    assert lax.scan(lambda c, _: (c + 1, None), 0, None, length=10 / 2)[0] == 5
    with refused(TypeError, "^scan: length must be an integer; got float 2.5"):
        lax.scan(lambda c, _: (c + 1, None), 0, None, length=5 / 2)


def test_scan_refuses_lengths_that_disagree():
    with refused(
        ValueError,
        "^scan: all of xs must have one length along axis 0; got",
        r"\n  xs\['a'\]: float32\[3\], length 3",
        r"\n  xs\['b'\]\[0\]: float32\[4,2\], length 4",
    ):
        lax.scan(lambda c, x: (c, None), 0, {"a": XS, "b": [np.zeros((4, 2), f32)]})
    with refused(ValueError, "^scan: all of xs and length must", r"length 3", r"\n  length: 2"):
        lax.scan(lambda c, x: (c, None), 0, XS, length=2)
    with refused(ValueError, "^scan: expected xs with an array, or length; got neither"):
        lax.scan(lambda c, x: (c, None), 0, None)
    with refused(ValueError, "^scan: length must not be negative; got -1"):
        lax.scan(lambda c, x: (c, None), 0, None, length=-1)
    with refused(TypeError, "^scan: length must be an integer; got list"):
        lax.scan(lambda c, x: (c, None), 0, None, length=[3])
    with refused(ValueError, r"^scan: xs must be arrays with an axis.* float32\[\] at xs\[1\]"):
        lax.scan(lambda c, x: (c, None), 0, (XS, 2.0))


def test_scan_refuses_what_is_no_array():
    with refused(TypeError, r"^scan: expected arrays or scalars; got a str, 'a', at init\[1\]"):
        lax.scan(lambda c, x: (c, None), (1, "a"), XS)
    with refused(TypeError, r"^scan: expected arrays or scalars; got a object, .* at xs\['k'\]"):
        lax.scan(lambda c, x: (c, None), 1, {"k": object()})
    with refused(
        TypeError, r"^scan: the body .* must return arrays.* got a str, 'y', at result\[1\]"
    ):
        lax.scan(lambda c, x: (c, "y"), 1, XS)
    with refused(TypeError, "^scan: the body must be a function; got a int"):
        lax.scan(3, 1, XS)
    for unroll in (-1, 1.5, "x"):
        with refused(ValueError, "^scan: unroll must be"):
            lax.scan(lambda c, x: (c, None), 1, XS, unroll=unroll)


def test_errors_name_the_users_line():
    with pytest.raises(TypeError) as caught:
        lax.scan(lambda c, x: ((c, c), x), 1.0, XS)
    assert any("test_loops.py" in note for note in caught.value.__notes__)


def test_a_tracer_of_the_body_must_not_leak():
    kept = []
    lax.scan(lambda c, x: (kept.append(x) or c, x), 0.0, XS)
    with pytest.raises(weft.errors.UnexpectedTracerError, match="scan"):
        sin(kept[0])


def test_python_if_on_a_traced_value_is_explained():
    with refused(weft.errors.TracerBoolConversionError, "by scan", r"depends on .*carry\['a'\]"):
        lax.scan(lambda c, x: ({"a": x, "b": 0.0 if gt(c["a"], 0.0) else x}, x), C, XS)


# --- while_loop and fori_loop: errors ---


def test_while_loop_refuses():
    up = lambda x: x + 1  # noqa: E731
    for cond_fun, came in [
        (lambda x: x, r"int32\[\]"),
        (lambda x: gt(XS, 0.0), r"bool\[3\]"),
        (lambda x: (True,), r"\(\*,\)"),
        (lambda x: None, "None"),
    ]:
        with refused(TypeError, f"^while_loop: the condition .* boolean scalar; got {came}\n  fix"):
            lax.while_loop(cond_fun, up, 0)
    below = lambda x: lt(x, 3)  # noqa: E731
    with refused(TypeError, "^while_loop: the body .* structure", r"takes it, \*; got \(\*, \*\)"):
        lax.while_loop(below, lambda x: (x, x), 0)
    with refused(TypeError, r"\n  value: takes int32\[\], returns float32\[\]"):
        lax.while_loop(below, lambda x: x * 1.5, np.int32(0))
    with refused(TypeError, r"\n  value: takes int32\[\], returns float32\[3\]"):
        lax.while_loop(below, lambda x: XS, np.int32(0))
    with refused(TypeError, "^while_loop: the condition must be a function"):
        lax.while_loop(True, up, 0)
    with refused(TypeError, r"^while_loop: expected arrays.* at init_val\[0\]"):
        lax.while_loop(below, up, ["a"])


def test_fori_loop_refuses():
    body = lambda i, x: x  # noqa: E731
    with refused(TypeError, r"^fori_loop: lower must be an integer scalar; got complex64\[\]"):
        lax.fori_loop(0j, 3, body, 0)
    with refused(TypeError, r"^fori_loop: lower must be an integer scalar; got a str"):
        lax.fori_loop("0", 3, body, 0)
    with refused(ValueError, "^fori_loop: from 0.0 to inf the steps never end"):
        lax.fori_loop(0.0, np.inf, body, 0)
    with refused(TypeError, r"^fori_loop: upper must be an integer scalar; got float32\[3\]"):
        lax.fori_loop(0, XS, body, 0)
    with refused(
        TypeError, r"^fori_loop: lower and upper must have one dtype; got int8\[\] and int32"
    ):
        lax.fori_loop(np.int8(0), np.int32(3), body, 0)
    with refused(
        TypeError, r"^fori_loop: the body .*\n  value: takes float32\[3\], returns float32\[\]"
    ):
        lax.fori_loop(0, 3, lambda i, x: summed(x), XS)
    with refused(ValueError, "^fori_loop: unroll needs bounds that are known"):
        weft.jit(lambda n: lax.fori_loop(0, n, body, 0, unroll=2))(3)


# --- fori_loop ---


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, lambda f: weft.jit(f, static_argnums=())])
@pytest.mark.parametrize("bounds", [(0.0, 2.0), (0.5, 3.0), (1, 2.5), (2.0, 0.0), (np.nan, 1.0)])
def test_fori_loop_between_real_numbers(wrap, bounds):
    low, high = bounds
    i, expected = float(low), 1.0
    while i < high:
        expected, i = expected + i, i + 1
    loop = lambda low, high: lax.fori_loop(low, high, lambda i, c: c + i, 1.0)  # noqa: E731
    assert wrap(loop)(low, high) == expected
    assert loop(low, high) == expected


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0, 5), (2, 5), (-3, 2), (5, 5), (5, 2), (np.int8(-2), np.int8(3)), (np.uint8(1), 4)],
)
def test_fori_loop_visits_the_range(lower, upper):
    expected = 0
    for i in range(int(lower), int(upper)):
        expected = expected * 7 + i
    body = lambda i, x: x * 7 + to_int(i)  # noqa: E731
    known = lax.fori_loop(lower, upper, body, np.int32(0))
    traced = weft.jit(lambda a, b: lax.fori_loop(a, b, body, np.int32(0)))(lower, upper)
    half = weft.jit(lambda b: lax.fori_loop(lower, b, body, np.int32(0)))(upper)
    assert int(known) == int(traced) == int(half) == expected


def to_int(i):
    return weft.primitives.structural.convert_element_type(i, dtype=np.dtype(np.int32))


def test_the_index_has_the_dtype_of_the_bounds():
    seen = []
    lax.fori_loop(np.int8(0), np.int8(3), lambda i, x: seen.append(i.aval) or x, 0)
    lax.fori_loop(0, 3, lambda i, x: seen.append(i.aval) or x, 0)
    assert [str(a) for a in seen] == ["int8[]", "int32[]"]
    assert [a.weak_type for a in seen] == [False, True]


def test_fori_loop_is_differentiable_with_known_bounds():
    f = lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i * 1.0, 1.0)  # noqa: E731
    x = 1.5
    # x^4 + 0 x^3 + 1 x^2 + 2 x + 3
    np.testing.assert_allclose(f(x), x**4 + x**2 + 2 * x + 3, rtol=1e-6)
    np.testing.assert_allclose(weft.grad(f)(x), 4 * x**3 + 2 * x + 2, rtol=1e-6)
    np.testing.assert_allclose(weft.jit(weft.grad(f))(x), 4 * x**3 + 2 * x + 2, rtol=1e-6)
    np.testing.assert_allclose(weft.grad(weft.grad(f))(x), 12 * x**2 + 2, rtol=1e-6)


def test_fori_loop_with_mapped_bounds():
    f = lambda a, b: lax.fori_loop(a, b, lambda i, c: c + i, 0)  # noqa: E731
    got = weft.vmap(f)(np.array([0, 3, 5]), np.array([4, 5, 2]))
    np.testing.assert_array_equal(got, [6, 7, 0])
    np.testing.assert_array_equal(weft.vmap(f, (None, 0))(1, np.array([4, 1])), [6, 0])


@pytest.mark.parametrize("unroll", [1, 2, 3, 50, True, False])
def test_unroll_of_fori_loop(unroll):
    got = lax.fori_loop(3, 10, lambda i, c: c * 2 + i, 0, unroll=unroll)
    expected = 0
    for i in range(3, 10):
        expected = expected * 2 + i
    assert int(got) == expected


# --- map ---


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("n", [0, 1, 7, 8])
def test_map(n, batch_size):
    xs = np.arange(2 * n, dtype=f32).reshape(n, 2)
    f = lambda x: (summed(x), {"twice": x * 2.0})  # noqa: E731
    for run in (lax.map, weft.jit(lax.map, static_argnums=0, static_argnames="batch_size")):
        sums, rest = run(f, xs, batch_size=batch_size)
        np.testing.assert_array_equal(sums, xs.sum(1))
        np.testing.assert_array_equal(rest["twice"], xs * 2)


def test_map_refuses():
    with refused(ValueError, "^map: batch_size must be a positive integer; got 0"):
        lax.map(sin, XS, batch_size=0)
    with refused(TypeError, "^map: the function must be a function"):
        lax.map(3, XS)


def test_gradient_of_map():
    for batch_size in (None, 2):
        f = functools.partial(lax.map, lambda x: x * x, batch_size=batch_size)
        g = weft.grad(lambda xs, f=f: summed(f(xs)))
        np.testing.assert_allclose(g(XS), 2 * XS)


# --- associative_scan ---


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 13, 16])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse):
    xs = np.arange(1, n + 1)
    got = lax.associative_scan(lambda a, b: a + b, xs, reverse=reverse)
    line = xs[::-1] if reverse else xs
    expected = np.array(list(itertools.accumulate(line)), np.int32)
    np.testing.assert_array_equal(got, expected[::-1] if reverse else expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_associative_scan_along_an_axis(axis):
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(f32)
    got = lax.associative_scan(lambda a, b: a + b, x, axis=axis)
    np.testing.assert_allclose(got, np.cumsum(x, axis), rtol=1e-5, atol=1e-6)


def test_associative_scan_of_what_does_not_commute():
    rng = np.random.default_rng(1)
    ms = rng.normal(size=(7, 2, 2)).astype(f32)
    product = lambda a, b: dot_general(a, b, dims=(((2,), (1,)), ((0,), (0,))))  # noqa: E731
    expected = list(itertools.accumulate(ms, np.matmul))
    for run in (lax.associative_scan, weft.jit(lax.associative_scan, static_argnums=0)):
        np.testing.assert_allclose(run(product, ms), expected, rtol=1e-4, atol=1e-5)


def test_associative_scan_of_a_tree_and_its_gradient():
    """A linear recurrence c' = a c + b, against scan."""
    a = np.array([0.5, -1.0, 2.0, 0.3, 1.1], f32)
    b = np.array([1.0, 2.0, -1.0, 0.5, 0.1], f32)

    def fast(a, b):
        combine = lambda p, q: {"a": p["a"] * q["a"], "b": q["a"] * p["b"] + q["b"]}  # noqa: E731
        return lax.associative_scan(combine, {"a": a, "b": b})["b"]

    def slow(a, b):
        return lax.scan(lambda c, x: (x[0] * c + x[1],) * 2, 0.0, (a, b))[1]

    np.testing.assert_allclose(fast(a, b), slow(a, b), rtol=1e-5)
    grads = [
        weft.grad(lambda a, b, f=f: summed(sin(f(a, b))), argnums=(0, 1)) for f in (fast, slow)
    ]
    for x, y in zip(grads[0](a, b), grads[1](a, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)


def test_associative_scan_keeps_negative_zero_and_nan():
    xs = np.array([-0.0, np.nan, -0.0, 1.0], f32)
    got = np.asarray(lax.associative_scan(lambda a, b: b, xs))
    np.testing.assert_array_equal(got, xs)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(xs))


def test_associative_scan_refuses():
    add = lambda a, b: a + b  # noqa: E731
    with refused(ValueError, r"^associative_scan: all elems must.*elems\[0\]: float32\[3\]"):
        lax.associative_scan(add, (XS, np.zeros(4, f32)))
    with refused(ValueError, "^associative_scan: axis 1 is out of range"):
        lax.associative_scan(add, XS, axis=1)
    with refused(TypeError, "^associative_scan: .* must return the structure"):
        lax.associative_scan(lambda a, b: (a, b), XS)


# --- disable_jit ---


def test_disable_jit_runs_python():
    seen = []

    def step(c, x):
        seen.append(float(x))  # a number, not a tracer
        return c + x, {"y": c * x}

    expected = lax.scan(lambda c, x: (c + x, {"y": c * x}), 0.0, XS, reverse=True)
    with weft.disable_jit():
        carry, ys = lax.scan(step, 0.0, XS, reverse=True)
        assert seen == [3.0, -2.0, 1.0]
        np.testing.assert_array_equal(carry, expected[0])
        np.testing.assert_array_equal(ys["y"], expected[1]["y"])
        g = weft.grad(lambda xs: lax.scan(lambda c, x: (c * x, None), 2.0, xs)[0])(XS)
        np.testing.assert_allclose(g, [-12.0, 6.0, -4.0])
        f = lambda x: lax.while_loop(lambda c: lt(c, 100.0), lambda c: c * 2.0, x)  # noqa: E731
        assert float(weft.grad(f)(3.0)) == 64.0  # as plain Python: in reverse mode too
        assert int(lax.fori_loop(0, 4, lambda i, c: c + int(i), 0)) == 6
        np.testing.assert_array_equal(lax.map(lambda x: x * 2, XS), XS * 2)
        np.testing.assert_array_equal(weft.vmap(f)(np.array([3.0, 70.0], f32)), [192, 140])
        empty = lax.scan(lambda c, x: (c, {"y": c * x}), 0.0, np.zeros((0,), f32))
        assert empty[1]["y"].shape == (0,)


# --- numbers closed over ---


def test_a_number_closed_over_is_compiled_once():
    programs = []  # kept, so that no two have one id
    for i in range(8):
        rate = 0.1 * i

        def f(xs, rate=rate):
            return lax.scan(lambda c, x: (c * rate + x, None), 1.0, xs)[0]

        expected = 1.0
        for z in XS:
            expected = expected * rate + z
        np.testing.assert_allclose(f(XS), expected, rtol=1e-5, atol=1e-6)
        jaxpr = weft.make_jaxpr(f)(XS)
        (equation,) = jaxpr.jaxpr.equations
        programs.append(dict(equation.params)["jaxpr"])
    assert len(set(map(id, programs))) == 8  # traced, a number stays a number

    def body(rate):
        return traced(
            "scan",
            "body",
            lambda c: sin(c * rate) - c,
            {"c": weft.tree_util.tree_structure(0)},
            [aval(f32(0))],
        )

    eager = [body(0.01 * i).jaxpr for i in range(10)]
    assert len(set(map(id, eager))) == 1  # outside jit it is an input
    assert [float(x) for x in body(7.0).consts] == [7.0]
