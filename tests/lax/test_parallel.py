"""Collectives against a model in NumPy that has all elements' values in one array.

The model of one is a function on the stack [elements, …]. Under a name of two axes the elements
are counted row by row.
"""

import numpy as np
import pytest
from collective_models import CASES, TWO, Case, N, stack_for

import weft
import weft.numpy as wnp
from weft import errors, grad, jit, jvp, lax, pmap, vjp, vmap

BY_NAME = {case.name: case for case in CASES}
DIFFERENTIABLE = [case for case in CASES if case.smooth]


# What brings names into scope: an axis of arrays, or one of devices. Laws are held for both.
ON_DEVICES = pytest.mark.devices(N)
over_each = pytest.mark.parametrize(
    "over", [pytest.param(vmap, id="vmap"), pytest.param(pmap, id="pmap", marks=ON_DEVICES)]
)


def named(function, axes="i", over=vmap):
    """`function` over the leading axis, or the leading two, of its arguments."""
    for axis in reversed(axes):
        function = over(function, axis_name=axis)
    return function


def in_scan(f):
    return lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1]


def in_cond(f):
    return lambda x: lax.cond(True, f, f, x)


def in_batched_cond(f):
    return lambda x: lax.cond(x.ravel()[0] > 0, f, lambda y: f(y) * 1, x)


def in_while(f):
    def body(carry):
        n, _ = carry
        return n + 1, f(x_of[0])

    x_of = []

    def loop(x):
        x_of[:] = [x]
        return lax.while_loop(lambda c: c[0] < 2, body, (0, wnp.zeros_like(f(x))))[1]

    return loop


def in_custom_jvp(f):
    g = weft.custom_jvp(f)
    g.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return g


def in_custom_vjp(f):
    g = weft.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: vjp(f, x)[1](ct))
    return g


def beside_an_unrelated_axis(f):
    """Computed for a batch of the value and its double, mapped inside; the first is kept."""
    return lambda x: vmap(f)(wnp.stack([x, x * 2]))[0]


INSIDE = {
    "as it is": lambda f: f,
    "jit": jit,
    "scan": in_scan,
    "cond": in_cond,
    "batched cond": in_batched_cond,
    "while": in_while,
    "checkpoint": weft.checkpoint,
    "custom_jvp": in_custom_jvp,
    "custom_vjp": in_custom_vjp,
    "custom_jvp in jit": lambda f: jit(in_custom_jvp(f)),
    "unrelated axis": beside_an_unrelated_axis,
    "unrelated axis around jit": lambda f: beside_an_unrelated_axis(jit(f)),
}


@over_each
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_model(case: Case, over):
    x = stack_for(case)
    expected = case.model(x)
    f = named(case.function, over=over)
    np.testing.assert_allclose(f(x), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jit(f)(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        pytest.param(vmap, vmap, id="vmap-vmap"),
        pytest.param(pmap, pmap, id="pmap-pmap", marks=ON_DEVICES),
        pytest.param(pmap, vmap, id="pmap-vmap", marks=ON_DEVICES),
        pytest.param(vmap, pmap, id="vmap-pmap", marks=ON_DEVICES),
    ],
)
@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_over_two_names_the_elements_are_counted_row_by_row(case: Case, outer, inner):
    x = stack_for(case)
    expected = np.asarray(case.model(x))
    f = lambda y: case.over(y, ("i", "j"))  # noqa: E731
    pair = x.reshape(*TWO, *x.shape[1:])
    # a jitted function says nothing new where every program is compiled anyhow
    for g in (f, jit(f)) if outer is inner is vmap else (f,):
        found = np.asarray(outer(inner(g, axis_name="j"), axis_name="i")(pair))
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
        inverted = outer(inner(g, axis_name="i"), in_axes=1, out_axes=1, axis_name="j")
        found = np.asarray(inverted(pair))
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.combinations
@over_each
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("name", ["psum", "pmax", "all_gather", "all_to_all", "ppermute", "index"])
def test_inside_other_constructs(name, inside, over):
    case = BY_NAME[name]
    x = stack_for(case)
    f = named(INSIDE[inside](case.function), over=over)
    np.testing.assert_allclose(f(x), case.model(x), rtol=1e-5, atol=1e-6)
    if over is vmap:
        np.testing.assert_allclose(jit(f)(x), case.model(x), rtol=1e-5, atol=1e-6)


@over_each
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_that_is_the_same_for_all(case: Case, over):
    x = stack_for(case)[0]
    expected = case.model(np.stack([x] * N))
    for f in (case.function, jit(case.function)) if over is vmap else (case.function,):
        found = over(f, in_axes=None, axis_size=N, axis_name="i")(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@over_each
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_derivatives(case: Case, over):
    x, t = stack_for(case), stack_for(case, seed=1)
    f = named(case.function, over=over)
    out, t_out = jvp(f, (x,), (t,))
    eps = 1e-2
    differences = (case.model(x + eps * t) - case.model(x - eps * t)) / (2 * eps)
    np.testing.assert_allclose(t_out, differences, rtol=2e-3, atol=2e-3)
    ct = np.random.default_rng(2).normal(size=out.shape).astype(np.float32)
    (x_ct,) = vjp(f, x)[1](ct)
    np.testing.assert_allclose(np.vdot(x_ct, t), np.vdot(ct, t_out), rtol=1e-4)
    # derivatives inside are those outside: of the sum of all elements' results
    forms = (case.function, jit(case.function), weft.checkpoint(case.function))
    for g in forms if over is vmap else forms[:1]:
        inside = named(lambda y, s, g=g: jvp(g, (y,), (s,))[1], over=over)(x, t)
        np.testing.assert_allclose(inside, t_out, rtol=1e-5, atol=1e-6)
        inside = named(lambda y, s, g=g: vjp(g, y)[1](s)[0], over=over)(x, ct)
        np.testing.assert_allclose(inside, x_ct, rtol=1e-5, atol=1e-6)


@ON_DEVICES
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_batch_on_devices(case: Case):
    """One more axis, mapped around the devices or on each of them, for one argument or for all."""
    stacks = np.stack([stack_for(case), stack_for(case, seed=1)])
    expected = np.stack([case.model(x) for x in stacks])
    on_devices = pmap(case.function, axis_name="i")
    np.testing.assert_allclose(vmap(on_devices)(stacks), expected, rtol=1e-5, atol=1e-6)
    on_each = pmap(vmap(case.function), in_axes=1, out_axes=1, axis_name="i")
    np.testing.assert_allclose(on_each(stacks), expected, rtol=1e-5, atol=1e-6)


@over_each
@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_derivatives_over_two_names_of_which_one_is_mapped_at_a_time(case: Case, over):
    x = stack_for(case)
    pair = x.reshape(*TWO, *x.shape[1:])
    f = lambda y: wnp.sum(wnp.sin(case.over(y, ("i", "j"))))  # noqa: E731
    alone = lambda y: wnp.sum(wnp.sin(case.function(y)))  # noqa: E731
    expected = np.asarray(grad(lambda y: wnp.sum(named(alone)(y)))(x))
    found = np.asarray(named(grad(f), "ij", over)(pair)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    if over is vmap:
        found = np.asarray(jit(named(jit(grad(jit(f))), "ij"))(pair)).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@over_each
def test_second_order(over):
    def f(x):
        return wnp.sin(x) * lax.psum(x**2, "i")

    x = np.float32([0.3, -1.0, 0.7])
    whole = lambda x: wnp.sum(wnp.sin(x) * wnp.sum(x**2))  # noqa: E731
    hessian = np.asarray(weft.hessian(whole)(x))
    # inside: a derivative of each element's gradient, by all elements' values together
    t = np.float32([1.0, 2.0, -1.0])
    pushed = lambda y, s: jvp(grad(f), (y,), (s,))[1]  # noqa: E731
    np.testing.assert_allclose(named(pushed, over=over)(x, t), hessian @ t, rtol=1e-5)
    np.testing.assert_allclose(named(jit(pushed), over=over)(x, t), hessian @ t, rtol=1e-5)


# --- what a number is, and where names are in scope ---


@over_each
def test_python_numbers_stay_python_numbers(over):
    seen = []

    def f(x):
        seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.pmean(3, "i"), lax.axis_size("i")))
        seen.append((lax.psum(True, "i"), lax.pmax(7, "i"), lax.axis_size(("i",))))
        return x.reshape((lax.psum(1, "i"), -1)).sum(0)

    assert named(f, over=over)(np.ones((3, 6))).shape == (3, 2)
    assert seen == [(3, 7.5, 3.0, 3), (3, 7, 3)]
    assert [type(v) for v in seen[0]] == [int, float, float, int]


@over_each
def test_booleans_are_counted_and_trees_kept(over):
    x = np.array([True, False, True])
    out = named(lambda x: lax.psum({"a": x, "b": (1, x)}, "i"), over=over)(x)
    assert out["a"].tolist() == [2, 2, 2]
    assert out["b"][0].tolist() == [3, 3, 3]
    assert out["a"].dtype == np.int32


@over_each
def test_a_result_that_is_the_same_for_all_needs_no_axis(over):
    f = over(lambda x: (lax.psum(x, "i"), x), axis_name="i", out_axes=(None, 0))
    total, _ = f(np.float32([1, 2, 3]))
    assert total.shape == ()
    assert total == 6
    g = over(jit(lambda x: lax.all_gather(x, "i")), axis_name="i", out_axes=None)
    assert g(np.float32([1, 2])).tolist() == [1, 2]


@over_each
def test_an_inner_axis_hides_an_outer_one_of_its_name(over):
    f = over(over(lambda x: lax.psum(x, "i"), axis_name="i"), axis_name="i")
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(f(x), np.repeat(x.sum(1, keepdims=True), 3, 1))
    g = over(
        lambda x: (over(lambda y: lax.psum(y, "i"), axis_name="i")(x), lax.psum(x, "i")),
        axis_name="i",
    )
    inner, outer = g(x)
    np.testing.assert_array_equal(inner, np.repeat(x.sum(1, keepdims=True), 3, 1))
    np.testing.assert_array_equal(outer, np.stack([x.sum(0)] * 2))


def test_a_name_can_be_any_hashable_object():
    name = ("batch",), frozenset("x")
    key = object()
    f = vmap(lambda x: lax.psum(x, key), axis_name=key)
    assert f(np.float32([1, 2])).tolist() == [3, 3]
    with pytest.raises(TypeError, match=r"vmap: axis_name must be hashable.*got \['i'\]"):
        vmap(lambda x: x, axis_name=["i"])(np.ones(2))
    g = vmap(lambda x: lax.axis_index(name[1]), axis_name=name[1])
    assert g(np.ones(2)).tolist() == [0, 1]


@over_each
def test_a_jitted_function_is_traced_once_for_each_environment(over):
    traces = []

    @jit
    def f(x):
        traces.append(lax.axis_size("i"))
        return x / lax.psum(x, "i")

    for size in (2, 3, 2, 3):
        np.testing.assert_allclose(named(f, over=over)(np.ones(size)), np.full(size, 1 / size))
    assert traces == [2, 3]
    with pytest.raises(errors.UnboundAxisError):
        f(1.0)


@over_each
def test_random_keys_by_element(over):
    key = weft.random.PRNGKey(0)

    def draw(x):
        return x + weft.random.normal(weft.random.fold_in(key, lax.axis_index("i")))

    expected = [weft.random.normal(weft.random.fold_in(key, i)) for i in range(3)]
    np.testing.assert_allclose(named(draw, over=over)(np.zeros(3, np.float32)), expected, rtol=1e-6)


# --- loops ---


@over_each
def test_a_while_loop_goes_on_for_all_elements_until_the_last_has_ended(over):
    # Elements that have ended keep their value, and others may still ask for it.
    def f(x):
        return lax.while_loop(lambda c: c < 10, lambda c: 2 * c + lax.psum(c, "i") // 10, x)

    def model(x):
        going = x < 10
        while going.any():
            x = np.where(going, 2 * x + x.sum() // 10, x)
            going = x < 10
        return x

    x = np.int32([1, 9, 4])
    for g in (f, jit(f)):
        np.testing.assert_array_equal(named(g, over=over)(x), model(x))
        np.testing.assert_array_equal(jit(named(g, over=over))(x), model(x))


@over_each
def test_a_while_loop_whose_condition_all_decide_together(over):
    def f(x):
        return lax.while_loop(lambda c: lax.pmax(c, "i") < 100, lambda c: c * 2, x)

    np.testing.assert_array_equal(named(f, over=over)(np.int32([1, 3])), [64, 192])
    np.testing.assert_array_equal(jit(named(f, over=over))(np.int32([1, 3])), [64, 192])


@over_each
def test_a_carry_that_only_the_number_of_the_element_makes_different(over):
    def f(n):
        step = lambda c, _: (c + lax.axis_index("i"), c)  # noqa: E731
        return lax.scan(step, n, None, length=3)

    last, each = over(f, in_axes=None, axis_size=3, axis_name="i")(np.int32(10))
    np.testing.assert_array_equal(last, [10, 13, 16])
    np.testing.assert_array_equal(each, [[10, 10, 10], [10, 11, 12], [10, 12, 14]])
    g = lambda n: lax.fori_loop(0, n, lambda i, c: c + lax.axis_index("i"), 0)  # noqa: E731
    found = over(jit(g), in_axes=None, axis_size=3, axis_name="i")(np.int32(4))
    np.testing.assert_array_equal(found, [0, 4, 8])


@over_each
def test_a_branch_by_the_number_of_the_element(over):
    def f(x):
        return lax.cond(lax.axis_index("i") == 0, lambda: lax.psum(x, "i"), lambda: -x)

    for g in (f, jit(f)):
        np.testing.assert_array_equal(named(g, over=over)(np.int32([1, 2, 3])), [6, -2, -3])


@over_each
def test_gradients_through_a_scan(over):
    def f(x):
        step = lambda c, y: (wnp.tanh(c + lax.pmean(y * c, "i")), c)  # noqa: E731
        c, ys = lax.scan(step, x[0], x)
        return c + wnp.sum(ys)

    def whole(x):
        c, total = x[:, 0], 0.0
        for k in range(x.shape[1]):
            total = total + c
            c = wnp.tanh(c + wnp.mean(x[:, k] * c))
        return wnp.sum(c + total)

    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    expected = grad(whole)(x)
    np.testing.assert_allclose(named(grad(f), over=over)(x), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(named(grad(jit(f)), over=over)(x), expected, rtol=1e-4, atol=1e-6)
    outside = grad(lambda x: wnp.sum(named(jit(f), over=over)(x)))(x)
    np.testing.assert_allclose(outside, expected, rtol=1e-4, atol=1e-6)


# --- rules of the user's that use a name ---


@over_each
def test_rules_that_use_a_name_their_function_does_not(over):
    @weft.custom_vjp
    def shared(x):
        return x * 1

    shared.defvjp(lambda x: (x * 1, None), lambda _, ct: (lax.psum(ct, "i"),))

    def loss(w, x):
        return shared(w) * x

    w, x = np.float32(2.0), np.float32([1, 10, 100])
    for f in (loss, jit(loss)):
        per_element = over(grad(f), in_axes=(None, 0), axis_name="i")(w, x)
        np.testing.assert_allclose(per_element, [111, 111, 111])
        outside = grad(lambda w, f=f: wnp.sum(over(f, in_axes=(None, 0), axis_name="i")(w, x)))(w)
        np.testing.assert_allclose(outside, 333)
        mapped_w = grad(lambda w, f=f: wnp.sum(over(f, axis_name="i")(w, x)))
        np.testing.assert_allclose(mapped_w(np.full(3, w)), [111, 111, 111])

    @weft.custom_jvp
    def scaled(x):
        return x * 1

    @scaled.defjvp
    def _(primals, tangents):
        return primals[0], tangents[0] * (lax.axis_index("i") + lax.axis_size("i"))

    for f in (scaled, jit(scaled)):
        found = over(grad(f), axis_name="i")(np.ones(3, np.float32))
        np.testing.assert_allclose(found, [3, 4, 5])
        found = grad(lambda y, f=f: wnp.sum(over(f, axis_name="i")(y)))(np.ones(3, np.float32))
        np.testing.assert_allclose(found, [3, 4, 5])


# --- errors ---


@over_each
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: lax.psum(x, "j"),
            errors.UnboundAxisError,
            r"psum: expected the name of an axis in scope; got 'j'; in scope: 'i' \(of length 3\)",
        ),
        (lambda x: lax.axis_index("k"), NameError, r"axis_index: .*got 'k'"),
        (lambda x: lax.psum(x, ("i", "i")), ValueError, "psum: axis names are repeated"),
        (
            lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1]]),
            ValueError,
            r"psum: axis_index_groups must have each of the numbers 0 to 2 once; got \[\[0, 1\]\]",
        ),
        (
            lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1], [2]]),
            ValueError,
            r"all_gather: axis_index_groups must be of one size; got sizes \[2, 1\]",
        ),
        (
            lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]),
            ValueError,
            r"ppermute: in perm, the numbers that values go to must be different ones of 0 to 2",
        ),
        (lambda x: lax.pshuffle(x, "i", [0, 1]), ValueError, r"pshuffle: perm must have each"),
        (
            lambda x: lax.all_to_all(x, "i", 0, 0),
            ValueError,
            r"(?s)all_to_all: axis 0 must be of length 3, .*got float32\[6\].*fix: tiled=True",
        ),
        (
            lambda x: lax.psum_scatter(x[:5], "i", tiled=True),
            ValueError,
            r"psum_scatter: axis 0 must be of length a multiple of 3, .*got float32\[5\]",
        ),
        (lambda x: lax.all_gather(x, "i", axis=3), ValueError, "all_gather: the new axis 3 is out"),
        (
            lambda x: lax.all_gather(x, "i", to="reduced"),
            NotImplementedError,
            "all_gather: to='reduced' needs a type that weft does not have",
        ),
        (lambda x: lax.all_gather(x, "i", to="x"), ValueError, "all_gather: to must be 'varying'"),
        (
            lambda x: lax.pmax(x + 1j, "i"),
            TypeError,
            "pmax: expected operands of real or bool dtype",
        ),
        (
            lambda x: lax.psum("text", "i"),
            TypeError,
            "psum: expected an array or a scalar for x",
        ),
    ],
)
def test_errors(call, error, message, over):
    x = np.ones((3, 6), np.float32)
    for f in (call, jit(call)):
        with pytest.raises(error, match=message) as caught:
            named(f, over=over)(x)
        assert any("test_parallel.py" in note for note in caught.value.__notes__)


def test_a_name_that_nothing_has_brought_into_scope():
    with pytest.raises(
        errors.UnboundAxisError, match=r"(?s)got 'i'; in scope: none\n  fix: .*vmap"
    ):
        lax.psum(1.0, "i")
    with pytest.raises(errors.UnboundAxisError, match="'i'"):
        vmap(lambda x: lax.psum(x, "i"))(np.ones(3))
    named(lambda x: x)(np.ones(3))
    with pytest.raises(errors.UnboundAxisError, match="in scope: none"):
        jit(lambda x: lax.axis_index("i"))(1.0)


def test_an_error_inside_leaves_no_name_behind():
    with pytest.raises(RuntimeError, match="mine"):
        named(lambda x: (_ for _ in ()).throw(RuntimeError("mine")))(np.ones(3))
    with pytest.raises(errors.UnboundAxisError, match="in scope: none"):
        lax.axis_size("i")
