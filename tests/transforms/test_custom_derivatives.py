"""custom_jvp, custom_vjp, closure_convert, custom_gradient: under every transformation."""

import collections
import functools

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


# A rule that is off by a factor shows that it, and not the function, was differentiated.


def tripled_jvp():
    @weft.custom_jvp
    def f(x, y):
        return sin(x) * y

    @f.defjvp
    def _(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), 3.0 * cos(x) * y * dx + 3.0 * sin(x) * dy

    return f


def tripled_vjp():
    @weft.custom_vjp
    def f(x, y):
        return sin(x) * y

    def fwd(x, y):
        return sin(x) * y, (x, y)

    def bwd(residuals, ct):
        x, y = residuals
        return 3.0 * cos(x) * y * ct, 3.0 * sin(x) * ct

    f.defvjp(fwd, bwd)
    return f


BOTH = pytest.mark.parametrize("make", [tripled_jvp, tripled_vjp])
X, Y = 0.4, 2.0


@BOTH
def test_value_and_gradient(make):
    f = make()
    same(f(X, Y), np.sin(X) * Y)
    gx, gy = weft.grad(f, (0, 1))(X, Y)
    same(gx, 3 * np.cos(X) * Y)
    same(gy, 3 * np.sin(X))
    same(weft.grad(f, 1)(X, Y), 3 * np.sin(X))
    same(f(y=Y, x=X), np.sin(X) * Y)  # by keyword


@BOTH
def test_under_jit_vmap_and_grad_in_all_orders(make):
    f = make()
    xs, ys = f32([0.1, 0.2, 0.3]), f32([1.0, 2.0, 3.0])
    a, b = np.asarray(xs), np.asarray(ys)
    slope = 3 * np.cos(a) * b
    same(weft.jit(f)(X, Y), np.sin(X) * Y)
    same(weft.vmap(f)(xs, ys), np.sin(a) * b)
    same(weft.vmap(f, (0, None))(xs, 2.0), np.sin(a) * 2)
    for g in (
        weft.vmap(weft.grad(f)),
        weft.jit(weft.vmap(weft.grad(f))),
        weft.vmap(weft.jit(weft.grad(f))),
        weft.vmap(weft.grad(weft.jit(f))),
        weft.grad(lambda x, y: total(weft.vmap(f)(x, y))),
        weft.grad(lambda x, y: total(weft.jit(weft.vmap(f))(x, y))),
        weft.grad(lambda x, y: total(weft.vmap(weft.jit(f))(x, y))),
        weft.jit(weft.grad(lambda x, y: total(weft.vmap(weft.jit(f))(x, y)))),
        weft.grad(lambda x, y: total(f(x, y))),
        weft.grad(weft.jit(lambda x, y: total(f(x, y)))),
    ):
        same(g(xs, ys), slope)
    same(weft.grad(lambda x: total(weft.vmap(f, (0, None))(x, 2.0)))(xs), 3 * np.cos(a) * 2)
    same(weft.grad(lambda y: total(weft.vmap(f, (0, None))(xs, y)))(2.0), 3 * np.sum(np.sin(a)))
    same(
        weft.grad(lambda y: total(weft.jit(weft.vmap(f, (0, None)))(xs, y)))(2.0),
        3 * np.sum(np.sin(a)),
    )
    same(weft.vmap(weft.vmap(f, (None, 0)), (0, None))(xs, ys), np.outer(np.sin(a), b))


@BOTH
def test_second_order(make):
    f = make()
    # of 3 cos(x) y dx: the rule itself is differentiated; f inside it again by the rule
    for g in (
        weft.grad(weft.grad(f)),
        weft.jit(weft.grad(weft.grad(f))),
        weft.grad(weft.jit(weft.grad(f))),
        weft.grad(weft.grad(weft.jit(f))),
        weft.jacfwd(weft.grad(f)),
        weft.jacrev(weft.jacrev(f)),
        weft.jacfwd(weft.jit(weft.grad(weft.jit(f)))),
    ):
        same(g(X, Y), -3 * np.sin(X) * Y)
    same(weft.grad(weft.grad(f), 1)(X, Y), 3 * np.cos(X))
    same(weft.vmap(weft.grad(weft.grad(f)))(f32([X, X]), f32([Y, Y])), [-3 * np.sin(X) * Y] * 2)


def test_forward_mode_of_custom_jvp():
    f = tripled_jvp()
    for g in (f, weft.jit(f)):
        y, t = weft.jvp(g, (X, Y), (1.0, 0.0))
        same(y, np.sin(X) * Y)
        same(t, 3 * np.cos(X) * Y)
        same(weft.linearize(g, X, Y)[1](0.0, 1.0), 3 * np.sin(X))
        same(weft.jacfwd(g)(X, Y), 3 * np.cos(X) * Y)
        same(weft.jacfwd(weft.jacfwd(g))(X, Y), -3 * np.sin(X) * Y)
        same(weft.jvp(weft.grad(g), (X, Y), (1.0, 0.0))[1], -3 * np.sin(X) * Y)
        same(
            weft.jvp(weft.vmap(g), (f32([X]), f32([Y])), (f32([1]), f32([0])))[1],
            [3 * np.cos(X) * Y],
        )


def test_forward_mode_of_custom_vjp_is_refused():
    f = tripled_vjp()
    message = r"(?s)f: forward-mode .*custom_vjp.*use custom_jvp"
    for g in (f, weft.jit(f)):
        with pytest.raises(TypeError, match=message):
            weft.jvp(g, (X, Y), (1.0, 0.0))
    xs = f32([X])
    with pytest.raises(TypeError, match=message):
        weft.jvp(weft.vmap(f), (xs, xs), (xs, xs))
    with pytest.raises(TypeError, match="forward-mode"):
        weft.linearize(f, X, Y)[1](1.0, 1.0)
    tangent = weft.jit(lambda x: weft.jvp(f, (x, Y), (1.0, 0.0))[1])
    with pytest.raises(TypeError, match=message):  # nothing else needs the tangent itself
        weft.jit(weft.grad(tangent))(X)


@BOTH
def test_an_argument_that_is_a_function_belongs_into_nondiff_argnums(make):
    with pytest.raises(TypeError, match=r"argument y of f .*\n  fix: .*nondiff_argnums"):
        make()(X, np.sin)


def test_forward_mode_of_a_custom_vjp_that_looks_at_elements_is_refused_as_such():
    f = weft.custom_vjp(lambda x: x if x > 0 else -x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    with pytest.raises(TypeError, match="forward-mode"):
        weft.jvp(f, (X,), (1.0,))


def pushed(f):
    """A custom_jvp function whose rule pushes tangents through `f`, a custom_vjp function."""
    g = weft.custom_jvp(lambda x: f(x, Y) * x)
    g.defjvp(lambda primals, tangents: weft.jvp(lambda x: f(x, Y) * x, primals, tangents))
    return g


PUSHED = {
    "grad": weft.grad,
    "jit of grad": lambda g: weft.jit(weft.grad(g)),
    "grad of jit": lambda g: weft.grad(weft.jit(g)),
    "vmap of grad": lambda g: lambda x: weft.vmap(weft.grad(g))(f32([x, x]))[0],
    "grad of vmap": lambda g: (
        lambda x: weft.grad(lambda xs: weft.vmap(g)(xs).sum())(f32([x, x]))[1]
    ),
    "jacrev": weft.jacrev,
    "checkpoint": lambda g: weft.grad(weft.checkpoint(g)),
    "scan": lambda g: weft.grad(
        lambda x: lax.scan(lambda c, _: (g(x), None), 0.0, None, length=2)[0]
    ),
    "cond": lambda g: weft.grad(lambda x: lax.cond(x > 0, g, lambda x: x, x)),
}


@pytest.mark.parametrize("transform", PUSHED.values(), ids=PUSHED)
def test_tangents_pushed_through_a_custom_vjp_are_transposed_by_its_rule(transform):
    g = transform(pushed(tripled_vjp()))
    same(g(X), 3 * np.cos(X) * Y * X + np.sin(X) * Y)


def test_tangents_pushed_through_a_custom_vjp_that_nothing_needs_are_left_out():
    f = tripled_vjp()
    same(weft.jit(lambda x: weft.jvp(f, (x, Y), (1.0, 0.0))[0])(X), np.sin(X) * Y)
    transposed = weft.linear_transpose(lambda t: weft.jvp(f, (X, Y), (t, 0.0))[1], 1.0)
    same(transposed(2.0)[0], 6 * np.cos(X) * Y)
    # the rules are differentiated: of the forward one comes a cosine, not tripled
    same(weft.grad(weft.grad(pushed(f)))(X), (4 * np.cos(X) - 3 * np.sin(X) * X) * Y)


def test_the_function_itself_runs_where_nothing_is_differentiated():
    calls = []

    @weft.custom_jvp
    def f(x):
        calls.append("f")
        return x * 2

    @f.defjvp
    def _(primals, tangents):
        calls.append("rule")
        return primals[0] * 2, tangents[0] * 2

    f(1.0)
    weft.jit(f)(1.0)
    weft.vmap(f)(f32([1.0]))
    weft.grad(lambda y: f(3.0) * y)(1.0)
    assert "rule" not in calls
    weft.grad(f)(1.0)
    assert calls[-1] == "rule"


# --- defjvps ---


def test_defjvps():
    @weft.custom_jvp
    def f(x, y, z):
        return x * y + z

    f.defjvps(
        lambda dx, out, x, y, z: 10 * dx * y,
        None,
        lambda dz, out, x, y, z: dz * out,
    )
    same(weft.grad(f, 0)(2.0, 3.0, 1.0), 30.0)
    same(weft.grad(f, 1)(2.0, 3.0, 1.0), 0.0)
    same(weft.grad(f, 2)(2.0, 3.0, 1.0), 7.0)
    same(weft.jit(weft.grad(f, 2))(2.0, 3.0, 1.0), 7.0)
    same(weft.vmap(weft.grad(f, 2))(f32([2.0]), f32([3.0]), f32([1.0])), [7.0])
    g = weft.custom_jvp(lambda x, y: x)
    g.defjvps(None, None)
    same(weft.grad(g)(1.0, 2.0), 0.0)
    with pytest.raises(TypeError, match="nondiff_argnums"):
        weft.custom_jvp(lambda n, x: x, nondiff_argnums=(0,)).defjvps(None)


# --- arguments that aren't differentiated ---


def test_nondiff_argnums_of_custom_jvp():
    @functools.partial(weft.custom_jvp, nondiff_argnums=(0, 2))
    def apply(g, x, text, y=1.0):
        return g(x) * y

    @apply.defjvp
    def _(g, text, primals, tangents):
        assert text == "text"
        (x, y), (dx, _dy) = primals, tangents
        return apply(g, x, text, y), 5.0 * dx * y

    for call in (
        lambda x: apply(sin, x, "text"),
        lambda x: apply(sin, x, text="text", y=1.0),
        weft.jit(lambda x: apply(sin, x, "text", 1.0)),
    ):
        same(call(X), np.sin(X))
        same(weft.grad(call)(X), 5.0)
        same(weft.vmap(weft.grad(call))(f32([X])), [5.0])


def test_nondiff_argnums_of_custom_vjp():
    @functools.partial(weft.custom_vjp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n if isinstance(n, float) else functools.reduce(lambda a, b: a * b, [x] * n)

    power.defvjp(lambda x, n: (power(x, n), x), lambda n, x, ct: (100.0 * n * ct,))
    same(power(2.0, 3), 8.0)
    for g in (weft.grad(power), weft.jit(weft.grad(power), static_argnums=1)):
        same(g(2.0, 3), 300.0)
    same(weft.grad(lambda x: weft.jit(power, static_argnums=1)(x, 3))(2.0), 300.0)
    same(weft.vmap(lambda x: power(x, 3))(f32([1.0, 2.0])), [1.0, 8.0])
    same(weft.vmap(weft.grad(lambda x: power(x, 3)))(f32([1.0, 2.0])), [300.0, 300.0])


@pytest.mark.parametrize(
    "options",
    [
        {"nondiff_argnames": ("b", "a")},
        {"nondiff_argnums": (1,), "nondiff_argnames": "b"},
        {"nondiff_argnums": (2,), "nondiff_argnames": ["a"]},
    ],
)
def test_nondiff_argnames(options):
    def scaled(x, a, b):
        assert (a, b) == ("a", "b")
        return x * 2

    pushed = weft.custom_jvp(scaled, **options)
    pushed.defjvp(lambda a, b, p, t: (scaled(*p, a, b), 10 * t[0] if a + b == "ab" else None))
    pulled = weft.custom_vjp(scaled, **options)
    pulled.defvjp(
        lambda x, a, b: (scaled(x, a, b), None), lambda a, b, _, ct: (10 * ct if a < b else None,)
    )
    for f in (pushed, pulled):
        for call in (lambda x, f=f: f(x, "a", "b"), lambda x, f=f: f(x, b="b", a="a")):
            same(call(X), 2 * X)
            same(weft.grad(call)(X), 10.0)
            same(weft.jit(weft.grad(call))(X), 10.0)


def test_nondiff_argnames_that_are_no_positions():
    for make in (weft.custom_jvp, weft.custom_vjp):
        with pytest.raises(ValueError, match="nondiff_argnames='n' is not a parameter"):
            make(lambda x: x, nondiff_argnames=("n",))
        with pytest.raises(ValueError, match="may be passed by position"):
            make(lambda x, *, n: x, nondiff_argnames="n")


def test_nondiff_argnums_out_of_range():
    f = weft.custom_jvp(lambda x: x, nondiff_argnums=(3,))
    f.defjvp(lambda n, p, t: (p[0], t[0]))
    with pytest.raises(TypeError, match=r"nondiff_argnums names position 3.*1 arguments"):
        f(1.0)


# --- trees, integers, zeros ---

Pair = collections.namedtuple("Pair", "a b")


def test_trees_in_and_out():
    @weft.custom_vjp
    def f(p, xs):
        return {"s": p.a * p.b, "t": [xs[0] + p.a]}

    def fwd(p, xs):
        return f(p, xs), {"p": p, "none": None}

    def bwd(residuals, ct):
        p = residuals["p"]
        return Pair(7.0 * ct["s"] * p.b, 7.0 * ct["s"] * p.a), [ct["t"][0], None]

    f.defvjp(fwd, bwd)
    p, xs = Pair(f32(2.0), f32(3.0)), [f32(1.0), f32(4.0)]
    loss = lambda p, xs: (lambda o: o["s"] + o["t"][0])(f(p, xs))  # noqa: E731
    for g in (weft.grad(loss, (0, 1)), weft.jit(weft.grad(weft.jit(loss), (0, 1)))):
        gp, gxs = g(p, xs)
        assert isinstance(gp, Pair)
        same(gp.a, 21.0)
        same(gp.b, 14.0)
        same(gxs[0], 1.0)
        same(gxs[1], 0.0)


def test_trees_of_custom_jvp():
    @weft.custom_jvp
    def f(d):
        return Pair(d["x"] * 2, (d["y"],))

    @f.defjvp
    def _(primals, tangents):
        ((d,), (t,)) = primals, tangents
        return f(d), Pair(t["x"] * 20, (t["y"],))

    _out, t = weft.jvp(f, ({"x": 1.0, "y": 2.0},), ({"x": 1.0, "y": 1.0},))
    same(t.a, 20.0)
    same(t.b[0], 1.0)
    same(weft.grad(lambda d: f(d).a)({"x": 1.0, "y": 2.0})["x"], 20.0)


def test_none_is_a_zero_cotangent_of_a_part():
    """Beside the None of an argument that has no array there."""
    f = weft.custom_vjp(lambda xs: xs[0] * xs[2]["a"] + xs[3])
    f.defvjp(lambda xs: (f(xs), xs), lambda xs, ct: ((ct * 5, None, None, ct * 7),))
    first, nothing, part, last = weft.grad(f)((2.0, None, {"a": 3.0, "b": [1.0]}, 4.0))
    assert (first, nothing, part, last) == (5, None, {"a": 0, "b": [0]}, 7)
    g = weft.custom_vjp(lambda xs: xs["a"][0])
    for wrong in ({"a": (1.0,)}, {"a": 1.0}, {"a": (None, None, 1.0)}, 1.0):
        g.defvjp(lambda xs: (g(xs), None), lambda _, ct, wrong=wrong: (wrong,))
        with pytest.raises(TypeError, match="cotangents of the arguments' structure"):
            weft.grad(g)({"a": (1.0, 2.0)})


def test_a_leaf_is_the_cotangent_of_a_node_around_one_leaf_or_none():
    f = weft.custom_vjp(lambda xs: xs[0]["a"] * xs[2])
    f.defvjp(lambda xs: (f(xs), xs), lambda xs, ct: ((ct * 5, ct, ct * 7),))
    assert weft.grad(f)(({"a": 2.0}, None, 3.0)) == ({"a": 5}, None, 7)


def test_none_is_a_zero_cotangent():
    @weft.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (x * y, y), lambda y, ct: (None, ct * y))
    for g in (weft.grad(f, (0, 1)), weft.jit(weft.grad(f, (0, 1))), weft.grad(weft.jit(f), (0, 1))):
        gx, gy = g(2.0, 3.0)
        same(gx, 0.0)
        same(gy, 3.0)
    gx, gy = weft.vmap(weft.grad(f, (0, 1)))(f32([2.0]), f32([3.0]))
    same(gx, [0.0])


def test_integer_arguments():
    seen = []

    @weft.custom_jvp
    def f(x, n):
        return x * n

    @f.defjvp
    def _(primals, tangents):
        (x, n), (dx, dn) = primals, tangents
        seen.append(dn.dtype)
        return f(x, n), dx * n * 2.0

    for g in (weft.grad(f), weft.jit(weft.grad(f)), weft.grad(weft.jit(f))):
        same(g(2.0, 3), 6.0)
    assert set(seen) == {weft.dtypes.float0}

    @weft.custom_vjp
    def h(x, n):
        return x * n

    h.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n * 2.0, None))
    for g in (weft.grad(h), weft.jit(weft.grad(h)), weft.grad(weft.jit(h))):
        same(g(2.0, 3), 6.0)
    same(weft.vmap(weft.grad(h), (0, None))(f32([1.0, 2.0]), 3), [6.0, 6.0])
    same(weft.vmap(weft.grad(h), (None, 0))(1.0, np.array([3, 4], np.int32)), [6.0, 8.0])


def test_integer_outputs():
    @weft.custom_vjp
    def f(x):
        return x * 2, 3

    f.defvjp(lambda x: ((x * 2, 3), None), lambda _, ct: (ct[0] * 20,))
    for g in (f, weft.jit(f)):
        same(weft.grad(lambda x, g=g: g(x)[0])(1.0), 20.0)

    @weft.custom_jvp
    def h(x):
        return x * 2, 3

    h.defjvp(lambda p, t: (h(p[0]), (t[0] * 20, np.zeros((), weft.dtypes.float0))))
    for g in (h, weft.jit(h)):
        same(weft.grad(lambda x, g=g: g(x)[0])(1.0), 20.0)


@pytest.mark.parametrize("tangent", [1.0, 0, np.int32(1), np.ones(3, "f")], ids=repr)
def test_a_tangent_of_an_integer_output_must_be_float0(tangent):
    @weft.custom_jvp
    def h(x):
        return x * 2, 3

    h.defjvp(lambda p, t: (h(p[0]), (t[0] * 20, tangent)))
    for g in (h, weft.jit(h)):
        with pytest.raises(TypeError, match=r"dtype float0 for the output int32(.|\n)*fix: "):
            weft.grad(lambda x, g=g: g(x)[0])(1.0)
        with pytest.raises(TypeError, match=r"dtype float0 for the output int32(.|\n)*fix: "):
            weft.jvp(g, (1.0,), (1.0,))


def test_rule_with_constants():
    w = f32([1.0, 2.0])

    @weft.custom_vjp
    def f(x):
        return x * w

    f.defvjp(lambda x: (x * w, None), lambda _, ct: (ct * w * 10.0,))
    x = f32([3.0, 4.0])
    for g in (
        weft.grad(lambda x: total(f(x))),
        weft.jit(weft.grad(lambda x: total(f(x)))),
        weft.grad(weft.jit(lambda x: total(f(x)))),
    ):
        same(g(x), [10.0, 20.0])


# --- what they close over ---


def closure(kind, y):
    """A custom function of x that closes over y, in function and rule."""
    if kind == "jvp":
        f = weft.custom_jvp(lambda x: x * y)
        f.defjvp(lambda p, t: (f(p[0]), 10.0 * t[0] * y))
        return f
    f = weft.custom_vjp(lambda x: x * y)
    f.defvjp(lambda x: (x * y, None), lambda _, ct: (10.0 * ct * y,))
    return f


KINDS = pytest.mark.parametrize("kind", ["jvp", "vjp"])


@KINDS
def test_closure_over_a_batch(kind):
    xs, ys = f32([1.0, 2.0, 3.0]), f32([10.0, 20.0, 30.0])
    same(weft.vmap(lambda x, y: closure(kind, y)(x))(xs, ys), [10.0, 40.0, 90.0])
    same(weft.vmap(lambda y: closure(kind, y)(2.0))(ys), [20.0, 40.0, 60.0])
    same(weft.jit(weft.vmap(lambda x, y: closure(kind, y)(x)))(xs, ys), [10.0, 40.0, 90.0])
    g = weft.vmap(lambda x, y: weft.grad(closure(kind, y))(x))
    same(g(xs, ys), [100.0, 200.0, 300.0])
    same(weft.jit(g)(xs, ys), [100.0, 200.0, 300.0])
    g = weft.grad(lambda x: total(weft.vmap(lambda x, y: closure(kind, y)(x))(x, ys)))
    same(g(xs), [100.0, 200.0, 300.0])
    same(weft.jit(g)(xs), [100.0, 200.0, 300.0])


@KINDS
def test_closure_over_what_an_outer_derivative_follows(kind):
    # the inner function is only evaluated, so ordinary differentiation serves y
    same(weft.grad(lambda y: closure(kind, y)(2.0))(3.0), 2.0)
    same(weft.jit(lambda y: closure(kind, y)(2.0))(3.0), 6.0)


@KINDS
@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_derivative_in_argument_and_closure_is_refused(kind, wrap):
    """The rule says nothing of y: a silent answer would be wrong."""
    f = wrap(lambda x, y: closure(kind, y)(x))
    with pytest.raises(TypeError, match="closes over"):
        weft.grad(f, (0, 1))(2.0, 3.0)
    with pytest.raises(TypeError, match="closes over"):
        weft.jit(weft.grad(f, (0, 1)))(2.0, 3.0)
    if kind == "jvp":
        with pytest.raises(TypeError, match="closes over"):
            weft.jvp(f, (2.0, 3.0), (1.0, 1.0))


def test_closure_convert_hoists_what_takes_part_in_derivatives():
    def f(c):
        fixed = np.float32([1.0, 2.0])
        converted, values = weft.closure_convert(lambda x: x * c + fixed, 1.0)
        assert [v.shape for v in values] == [()]
        return converted(3.0, *values).sum()

    same(weft.grad(f)(2.0), 6.0)
    assert weft.closure_convert(lambda x: x * np.float32([1.0]), 1.0)[1] == []


def test_closure_convert():
    @functools.partial(weft.custom_vjp, nondiff_argnums=(0,))
    def apply(f, x, *values):
        return f(x, *values)

    def fwd(f, x, *values):
        y, _pull = weft.vjp(f, x, *values)
        return y, pull_parts(f, x, values)

    def pull_parts(f, x, values):
        return x, values

    def bwd(f, residuals, ct):
        x, values = residuals
        return weft.vjp(f, x, *values)[1](2.0 * ct)

    apply.defvjp(fwd, bwd)

    def loss(x, y):
        converted, values = weft.closure_convert(lambda x: sin(x) * y, x)
        assert len(values) == 1
        return apply(converted, x, *values)

    gx, gy = weft.grad(loss, (0, 1))(X, Y)
    same(gx, 2 * np.cos(X) * Y)
    same(gy, 2 * np.sin(X))
    converted, values = weft.closure_convert(lambda x: {"y": x * 2}, f32([1.0, 2.0]))
    assert values == []
    same(converted(f32([5.0, 6.0]))["y"], [10.0, 12.0])
    with pytest.raises(TypeError, match="closure_convert: converted for arguments"):
        converted((1.0, 2.0))


def test_custom_gradient():
    @weft.custom_gradient
    def f(x, y):
        """The product."""
        return x * y, lambda ct: (ct * y * 10.0, ct * x)

    same(f(2.0, 3.0), 6.0)
    assert f.__doc__ == "The product."
    for g in (weft.grad(f, (0, 1)), weft.jit(weft.grad(f, (0, 1))), weft.grad(weft.jit(f), (0, 1))):
        gx, gy = g(2.0, 3.0)
        same(gx, 30.0)
        same(gy, 2.0)
    same(weft.vmap(weft.grad(f))(f32([2.0, 2.0]), f32([3.0, 4.0])), [30.0, 40.0])
    same(weft.grad(weft.grad(f), 1)(2.0, 3.0), 10.0)
    one = weft.custom_gradient(lambda x: (exp(x), lambda ct: 5.0 * ct))  # not a tuple
    same(weft.grad(one)(1.0), 5.0)


@pytest.mark.parametrize(
    "derivative",
    [
        weft.grad,
        lambda f: weft.jit(weft.grad(f)),
        lambda f: weft.grad(weft.jit(f)),
        lambda f: lambda x: weft.vmap(weft.grad(f))(f32([x]))[0],
        lambda f: lambda x: weft.grad(lambda x: weft.vmap(weft.jit(f))(x).sum())(f32([x]))[0],
    ],
)
def test_pythons_numbers_among_residuals_stay_as_they_are(derivative):
    f = weft.custom_vjp(lambda x: x * x)
    seen = []

    def backward(residuals, ct):
        flag, (x, count), rate = residuals["flag"], residuals["x"], residuals["rate"]
        seen.append((flag, count, rate))
        return ((2.0 if flag else 5.0) * rate * ct * x * len(range(count)),)

    f.defvjp(lambda x: (x * x, {"flag": True, "x": (x, 3), "rate": 0.5}), backward)
    same(derivative(f)(4.0), 2.0 * 0.5 * 4.0 * 3)
    ((flag, count, rate),) = seen
    assert flag is True
    assert (type(count), count, type(rate), rate) == (int, 3, float, 0.5)


# --- what is traced, and how often ---


def nested_rules(depth, calls):
    """x², in functions with rules; each rule differentiates the function inside, twice."""
    if depth == 0:
        return lambda x: x * x

    def f(x):
        inside = nested_rules(depth - 1, calls)
        g = weft.custom_vjp(lambda x: inside(x))

        def backward(x, ct):
            calls.append(depth)
            weft.linearize(weft.jit(inside), x)  # to see what it returns, say
            return weft.vjp(weft.jit(inside), x)[1](ct)

        g.defvjp(lambda x: (inside(x), x), backward)
        return g(x)

    return f


@pytest.mark.parametrize(
    "derivative",
    [
        weft.grad,
        lambda f: weft.grad(weft.jit(f)),
        lambda f: lambda x: weft.vmap(weft.grad(weft.jit(f)))(f32([x]))[0],
        lambda f: lambda x: weft.grad(lambda x: weft.vmap(weft.jit(f))(x).sum())(f32([x]))[0],
    ],
)
def test_each_of_nested_backward_rules_is_traced_once(derivative):
    calls = []
    same(derivative(nested_rules(4, calls))(3.0), 6.0)
    assert sorted(calls) == [1, 2, 3, 4]


def test_a_derivative_that_nothing_transposes_traces_no_backward_rule():
    calls = []
    y, _ = weft.linearize(weft.jit(nested_rules(4, calls)), 3.0)
    same(y, 9.0)
    assert calls == []


def test_a_backward_rule_refers_to_an_axis_that_is_gone_when_it_is_traced():
    f = weft.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (10.0 * x * lax.psum(ct, "i"),))
    _, push = weft.linearize(weft.vmap(weft.jit(f), axis_name="i"), f32([1.0, 2.0]))
    (got,) = weft.linear_transpose(push, f32([0.0, 0.0]))(f32([1.0, 3.0]))
    same(got, [40.0, 80.0])  # each gets the sum of both cotangents, 4

    def pushed(t):  # the linear map itself is mapped, and transposed outside
        return weft.linearize(weft.jit(f), 3.0)[1](t)

    mapped = weft.vmap(pushed, axis_name="i")
    (got,) = weft.linear_transpose(mapped, f32([0.0, 0.0]))(f32([1.0, 3.0]))
    same(got, [120.0, 120.0])


# --- what is refused ---


def test_a_missing_rule():
    @weft.custom_jvp
    def f(x):
        return x

    with pytest.raises(AttributeError, match=r"(?s)custom_jvp: no rule is defined for f .*defjvp"):
        f(1.0)
    with pytest.raises(AttributeError, match=r"(?s)custom_vjp: no rules are defined.*defvjp"):
        weft.custom_vjp(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="custom_jvp: expected a function; got int"):
        weft.custom_jvp(3)
    with pytest.raises(TypeError, match=r"custom_vjp.defvjp: expected a function"):
        weft.custom_vjp(lambda x: x).defvjp(lambda x: (x, x), None)


def broken_jvp(rule):
    f = weft.custom_jvp(lambda x: x * 2)
    f.defjvp(rule)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda p, t: p[0], "must return a pair .output, output tangent."),
        (lambda p, t: (p[0], (t[0],)), "one structure"),
        (
            lambda p, t: (p[0], f32([1.0, 2.0]) * t[0]),
            r"tangent like the output, float32\[\]; got float32\[2\]",
        ),
        (lambda p, t: (p[0], t[0] * t[0]), "must be linear"),
        (lambda p, t: (p[0], sin(t[0])), "sin.*linear|linear in the tangents; sin isn't"),
    ],
)
def test_broken_jvp_rules(rule, message, wrap):
    with pytest.raises((TypeError, weft.errors.MissingRuleError), match=message):
        weft.grad(wrap(broken_jvp(rule)))(1.0)


def broken_vjp(fwd, bwd):
    f = weft.custom_vjp(lambda x: x * 2)
    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("fwd", "bwd", "message"),
    [
        (lambda x: x, lambda r, ct: (ct,), "forward rule .* must return a pair"),
        (lambda x: (x, None), lambda r, ct: ct, "tuple of 1 cotangents"),
        (lambda x: (x, None), lambda r, ct: (ct, ct), "tuple of 1 cotangents.*got 2"),
        (
            lambda x: (x, None),
            lambda r, ct: (f32([1.0, 2.0]),),
            r"shapes; got float32\[2\] for float32\[\]",
        ),
        (lambda x: (x, None), lambda r, ct: ({"a": ct, "b": ct},), "structure"),
    ],
)
def test_broken_vjp_rules(fwd, bwd, message, wrap):
    with pytest.raises(TypeError, match=message):
        weft.grad(wrap(broken_vjp(fwd, bwd)))(1.0)


def test_structures_of_function_and_rule_differ():
    # without jit the function isn't run, and so its structure isn't known
    with pytest.raises(TypeError, match="function's structure"):
        weft.grad(weft.jit(broken_jvp(lambda p, t: ((p[0],), (t[0],)))))(1.0)
    with pytest.raises(TypeError, match="function's structure"):
        weft.grad(weft.jit(broken_vjp(lambda x: ((x,), None), lambda r, ct: (ct,))))(1.0)


def test_positional_arguments_are_checked():
    f = tripled_jvp()
    with pytest.raises(TypeError, match="missing the argument 'y'"):
        f(1.0)
    with pytest.raises(TypeError, match=r"unexpected keyword arguments .'z'."):
        f(1.0, 2.0, z=3.0)


def test_as_a_method_and_its_name():
    class Layer:
        @functools.partial(weft.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x):
            """Doubles."""
            return x * 2

        @apply.defjvp
        def _(self, primals, tangents):
            return self.apply(*primals), 20.0 * tangents[0]

    layer = Layer()
    same(layer.apply(1.0), 2.0)
    same(weft.grad(layer.apply)(1.0), 20.0)
    assert Layer.apply.__name__ == "apply"
    assert Layer.apply.__doc__ == "Doubles."


# --- closure_convert, as in its documentation ---


def test_closure_convert_of_a_minimization():
    """Newton's method; the derivative of the minimum follows from the implicit function theorem."""

    def minimize(objective_fn, x0):
        converted_fn, aux_args = weft.closure_convert(objective_fn, x0)
        return _minimize(converted_fn, x0, *aux_args)

    @functools.partial(weft.custom_vjp, nondiff_argnums=(0,))
    def _minimize(objective_fn, x0, *args):
        x = x0
        for _ in range(8):
            slope = weft.grad(objective_fn)(x, *args)
            x = x - slope / weft.hessian(objective_fn)(x, *args)
        return x

    def fwd(objective_fn, x0, *args):
        y = _minimize(objective_fn, x0, *args)
        return y, (y, args)

    def rev(objective_fn, res, g):
        y, args = res
        curvature = weft.hessian(objective_fn)(y, *args)
        _, pull = weft.vjp(lambda *args: weft.grad(objective_fn)(y, *args), *args)
        return (wnp.zeros_like(y), *pull(-g / curvature))

    _minimize.defvjp(fwd, rev)

    def lowest(t):
        target, tilt = wnp.sin(t), t * t
        return minimize(lambda x: wnp.cosh(x - target) + tilt * x, 0.0)

    # sinh(x - sin t) = -t², so x = sin t - arcsinh t²
    for t in (0.3, 0.7):
        slope = np.cos(t) - 2 * t / np.sqrt(1 + t**4)
        np.testing.assert_allclose(lowest(t), np.sin(t) - np.arcsinh(t * t), rtol=1e-5)
        np.testing.assert_allclose(weft.grad(lowest)(t), slope, rtol=1e-4)
        np.testing.assert_allclose(weft.jit(weft.grad(lowest))(t), slope, rtol=1e-4)


# --- a rule applies its own function to a tangent ---


def in_a_scan(f):
    return lambda x: weft.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, in_a_scan])
def test_a_function_applied_to_a_tangent_is_transposed_through_its_program(wrap):
    f = weft.custom_jvp(lambda x: -2 * x)
    f.defjvp(lambda p, t: (f(p[0]), f(t[0])))
    for g in (wrap(f), wrap(lambda x: f(f(x) * x))):
        values = [g(3.0 + h) for h in (-1e-2, 1e-2)]
        slope = (values[1] - values[0]) / 2e-2
        same(weft.grad(g)(3.0), slope, 1e-3)
        same(weft.jvp(g, (3.0,), (1.0,))[1], slope, 1e-3)
    same(weft.grad(weft.grad(lambda x: wrap(f)(x) * x))(3.0), -4.0)
    same(weft.vmap(weft.grad(wrap(f)))(f32([1.0, 2.0])), [-2.0, -2.0])


def test_a_custom_vjp_function_is_not_for_tangents():
    g = weft.custom_vjp(lambda x: -x)
    g.defvjp(lambda x: (g(x), None), lambda r, ct: (-ct,))
    f = weft.custom_jvp(lambda x: -x)
    f.defjvp(lambda p, t: (f(p[0]), g(t[0])))
    with pytest.raises(
        TypeError, match=r"custom_vjp function is applied to a tangent.*\n.*custom_jvp"
    ):
        weft.grad(f)(1.0)


# --- rules that close over a mapped value ---


def closing_jvp(x, y):
    f = weft.custom_jvp(lambda y: 2.0 * y)
    f.defjvp(lambda p, t: (f(p[0]), 2.0 * t[0] + 0.0 * x))
    return f(y) * x


def closing_vjp(x, y):
    f = weft.custom_vjp(lambda y: 2.0 * y)
    f.defvjp(lambda y: (f(y), None), lambda r, ct: (2.0 * ct + 0.0 * x,))
    return f(y) * x


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize("f", [closing_jvp, closing_vjp])
def test_a_rule_closes_over_a_mapped_value(f, wrap):
    xs, y = f32([1.0, 2.0, 3.0]), np.float32(4.0)
    whole = weft.vmap(f, (0, None))
    same(wrap(weft.grad(lambda xs, y: whole(xs, y).sum(), 1))(xs, y), 12.0)
    same(wrap(weft.grad(lambda xs, y: whole(xs, y).sum()))(xs, y), [8.0] * 3)
    if f is closing_jvp:
        same(wrap(lambda y: weft.jvp(lambda y: whole(xs, y), (y,), (1.0,))[1])(y), [2.0, 4.0, 6.0])
        same(wrap(weft.jacfwd(whole, 1))(xs, y), [2.0, 4.0, 6.0])


HELD = []


def test_a_tangent_that_cannot_be_followed_is_refused():
    f = weft.custom_jvp(lambda y: 2.0 * y)
    f.defjvp(lambda p, t: (f(p[0]), t[0] * HELD[-1]))  # found nowhere in what the rule closes over

    def g(x, y):
        HELD.append(x)
        return f(y) * x

    with pytest.raises(weft.errors.UnexpectedTracerError, match="from vmap of g"):
        weft.grad(lambda xs, y: weft.vmap(g, (0, None))(xs, y).sum(), 1)(f32([1.0, 2.0]), 3.0)


# --- rules that give another output than the function ---


def with_jvp(out):
    f = weft.custom_jvp(lambda x: 2 * x)
    f.defjvp(lambda p, t: (out(p[0]), out(t[0])))
    return f


def with_vjp(out):
    f = weft.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (out(x), None), lambda r, ct: (np.float32(1.0),))
    return f


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, in_a_scan])
@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda x: (x, x), r"structure PyTreeDef\(\*\); got PyTreeDef\(\(\*, \*\)\)"),
        (lambda x: wnp.stack([x, x]), r"got float32\[2\] for output, .* as float32\[\]"),
        (lambda x: x.astype(wnp.bfloat16), r"got bfloat16\[\] for output, .* as float32\[\]"),
    ],
)
def test_a_rule_that_gives_another_output_is_refused(make, wrap, out, message):
    f = make(out)
    with pytest.raises(
        TypeError, match=rf"custom_.* rule .*custom_derivatives.py:\d+\).*{message}"
    ):
        weft.grad(wrap(f))(1.0)


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
def test_a_rule_that_gives_another_value_is_refused_under_checks(make):
    f = make(lambda x: 2.1 * x)
    assert weft.value_and_grad(f)(1.0)[0] == np.float32(2.1)
    with (
        weft.enable_checks(),
        pytest.raises(
            ValueError, match=r"must return the function's output; got 2.1.* gives as 2.0"
        ),
    ):
        weft.grad(f)(1.0)
    with weft.enable_checks():
        weft.grad(make(lambda x: x + x))(1.0)


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
@pytest.mark.parametrize(
    "looks",
    [
        lambda x: 2 * x if x > 0 else x,
        lambda x: sum([x for _ in range(x.astype(int))], x),
        lambda x: wnp.asarray(np.asarray(x) * 2),
        lambda x: x.item() * 2,
        lambda x: wnp.stack([x, x])[wnp.stack([x, x]) > 0].sum(),
    ],
)
def test_functions_that_look_at_values_have_rules_too(make, looks):
    f = make(lambda x: 2 * x)
    f.fun = looks
    assert weft.grad(f)(1.0) in (1.0, 2.0)
    assert f(1.0) == 2.0


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda x: x.no_such_method(), AttributeError),
        (lambda x: wnp.dot(x, wnp.ones((2, 3)), wnp.ones(2)), TypeError),
        (lambda x: wnp.reshape(x, (2,)), ValueError),
        (lambda x: {}["key"], KeyError),
    ],
)
def test_errors_of_a_function_with_rules_are_not_hidden(make, wrong, error):
    f = make(lambda x: 2 * x)
    f.fun = wrong
    with pytest.raises(error):
        weft.grad(f)(1.0)


# --- nondiff_argnums of custom_vjp ---


@pytest.mark.parametrize("transform", [weft.jit, weft.grad, weft.vmap])
def test_tracers_are_refused_in_nondiff_argnums_of_custom_vjp(transform):
    f = weft.custom_vjp(lambda n, x: n * x, nondiff_argnums=(-2,))
    f.defvjp(lambda n, x: (n * x, None), lambda n, r, ct: (n * ct,))
    with pytest.raises(
        weft.errors.UnexpectedTracerError, match=r"argument 'n' of .* named in nondiff_argnums"
    ):
        transform(lambda x: f(x, 1.0).sum())(f32([1.0]))
    same(weft.grad(lambda x: f(3.0, x))(1.0), 3.0)


def test_the_output_may_have_another_structure_outside_traces():
    """Solvers return what they counted, where the loop runs eagerly and not while it is traced."""

    def solve(x):
        return x * 2, {} if isinstance(x, weft.core.Tracer) else {"steps": wnp.ones(())}

    f = weft.custom_vjp(solve)
    f.defvjp(lambda x: (solve(x), (x, solve(x))), lambda res, ct: (3 * ct[0],))
    assert weft.grad(lambda x: f(x)[0])(1.0) == 3
    assert weft.jit(weft.grad(lambda x: f(x)[0]))(1.0) == 3
    assert weft.grad(lambda x: f(x)[0])(1.0) == 3
    assert f(1.0)[1] == {"steps": 1}


def test_a_wrong_structure_is_an_error_every_time():
    f = weft.custom_vjp(lambda x: (x, x))
    f.defvjp(lambda x: (x, None), lambda res, ct: (ct,))
    for _ in range(2):
        with pytest.raises(ValueError, match="must return an output of the function's structure"):
            weft.grad(lambda x: f(x)[0])(1.0)
