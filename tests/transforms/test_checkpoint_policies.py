"""Policies of checkpoint: what is kept, by looking at the residuals; and no value changes."""

import functools
from collections import Counter

import numpy as np
import pytest
import sampling

import weft
import weft.numpy as wnp
from weft import lax
from weft.ad_checkpoint import checkpoint_name, print_saved_residuals, saved_residuals
from weft.experimental import io_callback
from weft.sharding import Mesh, PartitionSpec

P = weft.checkpoint_policies
W = wnp.asarray(np.linspace(-0.5, 0.7, 9, dtype="f").reshape(3, 3))
X = np.linspace(-1, 1, 6, dtype="f").reshape(2, 3)

NOTHING = P.nothing_saveable
DOTS = P.dots_saveable
NAMES = P.save_only_these_names("h")
EITHER = P.save_from_both_policies(NAMES, DOTS)


def layer(x):
    return wnp.sin(checkpoint_name(wnp.tanh(wnp.dot(x, W)), "h"))


def two_layers(x):
    return wnp.sum(layer(layer(x)))


def two_jitted(x):
    return wnp.sum(weft.jit(layer)(weft.jit(layer)(x)))


def two_checkpointed(x):
    inner = weft.checkpoint(layer)
    return wnp.sum(inner(inner(x)))


def jit_in_jit(x):
    return wnp.sum(weft.jit(lambda x: weft.jit(layer)(x) * 2.0)(x))


def scanned(x):
    def step(carry, s):
        carry = layer(carry) * s
        return carry, wnp.sum(wnp.exp(carry))

    carry, ys = lax.scan(step, x, wnp.arange(1.0, 5.0))
    return wnp.sum(wnp.sin(carry)) + wnp.sum(wnp.sin(ys))


def branched(x):
    return wnp.sum(lax.cond(wnp.sum(x) > -1, layer, lambda x: wnp.sin(wnp.cos(x)), x) ** 2)


def looped(x):
    """The loop doesn't depend on x: it is kept or run again as a whole."""
    y = lax.while_loop(lambda y: wnp.sum(y) < 100, lambda y: y * 2.0, wnp.ones((2, 3)))
    return wnp.sum(wnp.sin(x) * wnp.sin(y))


def looped_dots(x):
    """Products in a loop of unknown length: nothing of its steps can be kept, its result can."""
    y = lax.while_loop(lambda y: wnp.sum(y * y) > 0.1, lambda y: wnp.dot(y, W), wnp.ones((2, 3)))
    return wnp.sum(wnp.sin(x) * wnp.sin(y))


@weft.custom_jvp
def ruled(x):
    return wnp.tanh(wnp.dot(wnp.dot(x, W), W))


@ruled.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    h = wnp.dot(wnp.dot(x, W), W)
    return wnp.tanh(h), (1 - wnp.tanh(h) ** 2) * wnp.dot(wnp.dot(dx, W), W)


def with_rules(x):
    """One call is differentiated, by its rule; the other isn't."""
    return wnp.sum(ruled(x) * wnp.sin(ruled(wnp.ones((2, 3)))))


MESH = Mesh(np.array(weft.devices()[:1]), ("i",))


def mapped(x):
    both = lambda x: (layer(layer(x)), lax.psum(wnp.sum(x), "i"))  # noqa: E731
    specs = (PartitionSpec("i"), PartitionSpec())
    rows, total = weft.shard_map(both, mesh=MESH, in_specs=specs[:1], out_specs=specs)(x)
    return wnp.sum(wnp.sin(rows)) * wnp.cos(total)


def pmapped(x):
    rows = weft.pmap(lambda x: layer(layer(x)), axis_name="p", devices=weft.devices()[:1])(x[None])
    return wnp.sum(wnp.sin(rows))


def scanned_in_map(x):
    total = lambda x: lax.psum(scanned(x), "i")  # noqa: E731
    f = weft.shard_map(total, mesh=MESH, in_specs=PartitionSpec("i"), out_specs=PartitionSpec())
    return f(x)


FUNCTIONS = [
    two_layers, two_jitted, two_checkpointed, jit_in_jit, scanned, branched, looped, looped_dots,
    with_rules, mapped, pmapped, scanned_in_map,
]  # fmt: skip
POLICIES = {
    "nothing": NOTHING, "everything": P.everything_saveable, "dots": DOTS, "names": NAMES,
    "either": EITHER, "but these": P.save_any_names_but_these("h"),
    "except": P.save_anything_except_these_names("h"),
    "own": lambda primitive, *avals, **params: primitive.name == "tanh" and avals[0].ndim == 2,
}  # fmt: skip


# (function, policy) -> the activations that are kept: x itself, and arrays of its shape, by what
# made them; in a scan as stacks of four. W is kept in any case, as a constant.
X_ITSELF = "from the argument x"
DOT, NAMED = "output of dot_general", "named 'h'"
KEPT = [
    (two_layers, NOTHING, {X_ITSELF: 1}),
    (two_layers, DOTS, {DOT: 2}),
    (two_layers, NAMES, {X_ITSELF: 1, NAMED: 2}),
    (two_layers, EITHER, {DOT: 2, NAMED: 2}),
    (two_layers, P.save_any_names_but_these("h"), {X_ITSELF: 1}),
    (two_layers, P.save_any_names_but_these("g"), {X_ITSELF: 1, NAMED: 2}),
    (two_layers, P.dots_with_no_batch_dims_saveable, {DOT: 2}),
    (two_layers, P.checkpoint_dots, {DOT: 2}),
    (two_layers, P.checkpoint_dots_with_no_batch_dims, {DOT: 2}),
    (two_jitted, NOTHING, {X_ITSELF: 1}),
    (two_jitted, DOTS, {DOT: 2}),
    (two_jitted, NAMES, {X_ITSELF: 1, NAMED: 2}),
    (two_jitted, EITHER, {DOT: 2, NAMED: 2}),
    (two_checkpointed, NOTHING, {X_ITSELF: 1}),
    (two_checkpointed, DOTS, {DOT: 2}),
    (two_checkpointed, NAMES, {X_ITSELF: 1, NAMED: 2}),
    (jit_in_jit, NOTHING, {X_ITSELF: 1}),
    (jit_in_jit, DOTS, {DOT: 1}),
    (scanned, NOTHING, {X_ITSELF: 1}),
    (scanned, DOTS, {X_ITSELF: 1, "output of scan": 1}),
    (scanned, EITHER, {X_ITSELF: 1, "output of scan": 2}),
    (branched, NOTHING, {X_ITSELF: 1}),
    (branched, DOTS, {X_ITSELF: 1, "output of cond": 1}),
    (branched, EITHER, {X_ITSELF: 1, "output of cond": 2}),
    (looped, NOTHING, {X_ITSELF: 1}),
    (looped_dots, NOTHING, {X_ITSELF: 1}),
    (looped_dots, DOTS, {X_ITSELF: 1, "output of while_loop": 1}),
    (with_rules, NOTHING, {X_ITSELF: 1}),
    (with_rules, DOTS, {DOT: 1, "output of custom_jvp_call": 1}),
    (looped, P.everything_saveable, {"output of cos": 1, "output of sin": 1, "output of mul": 0}),
]


def activations(function, policy):
    found = saved_residuals(weft.checkpoint(function, policy=policy), X)
    return Counter(source for a, source in found if a.shape in ((2, 3), (4, 2, 3)))


@pytest.mark.parametrize(("function", "policy", "expected"), KEPT)
def test_what_is_kept(function, policy, expected):
    found = activations(function, policy)
    if policy is not P.everything_saveable:
        assert found == expected
    else:
        assert X_ITSELF not in found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_as_without_a_policy(function):
    assert activations(function, None) == activations(function, NOTHING)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_everything_computes_no_dot_again(function):
    def dots(policy):
        g = weft.jit(weft.value_and_grad(weft.checkpoint(function, policy=policy)))
        return g.lower(X).as_text().count("stablehlo.dot_general")

    plain = (
        weft.jit(weft.value_and_grad(function)).lower(X).as_text().count("stablehlo.dot_general")
    )
    assert dots(P.everything_saveable) == dots(DOTS) <= plain
    if function is not looped:
        assert dots(NOTHING) > dots(DOTS)


@pytest.mark.parametrize("function", [mapped, pmapped, scanned_in_map])
def test_policies_hold_in_maps_over_devices(function):
    def saved(policy):
        found = saved_residuals(weft.checkpoint(function, policy=policy), X)
        return sum(source == "output of shard_map" for _, source in found)

    assert saved(NOTHING) == 0
    assert saved(DOTS) == (1 if function is scanned_in_map else 2)
    assert saved(EITHER) == 2 * saved(DOTS)


same = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)


@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_policy_changes_a_value(function, policy):
    g = weft.checkpoint(function, policy=policy)
    same(weft.jit(weft.grad(g))(X), weft.grad(function)(X))


@pytest.mark.parametrize("function", sampling.some(FUNCTIONS, 6, "policies"))
def test_policies_in_other_transformations(function):
    g = weft.checkpoint(function, policy=EITHER)
    expected = np.asarray(weft.grad(function)(X))
    same(weft.grad(g)(X), expected)
    same(weft.jit(weft.vmap(weft.grad(g)))(np.stack([X, X]))[1], expected)
    same(weft.jvp(g, (X,), (X,))[1], np.sum(expected * X), rtol=1e-3)
    along = lambda h: weft.grad(lambda x: wnp.sum(weft.grad(h)(x) * X))  # noqa: E731
    same(weft.jit(along(g))(X), weft.jit(along(function))(X))


def test_gradients_by_finite_differences():
    g = weft.checkpoint(scanned, policy=DOTS)
    slope = np.asarray(weft.grad(g)(X))
    for i in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[i] = 1e-2
        np.testing.assert_allclose(
            slope[i], (g(X + step) - g(X - step)) / 2e-2, rtol=2e-2, atol=2e-2
        )


def test_batched_products_are_not_those_with_weights():
    g = weft.checkpoint(
        lambda x: wnp.sum(wnp.sin(wnp.matmul(wnp.sin(x), x))),
        policy=P.dots_with_no_batch_dims_saveable,
    )
    assert all(s != DOT for _, s in saved_residuals(g, np.ones((5, 3, 3), "f")))
    assert any(s == DOT for _, s in saved_residuals(g, np.ones((3, 3), "f")))


def test_a_policy_is_asked_with_the_operation():
    asked = []

    def policy(primitive, *avals, **params):
        asked.append((primitive.name, [str(a) for a in avals], params))
        return False

    weft.grad(weft.checkpoint(lambda x: wnp.sum(wnp.sin(x)), policy=policy))(X)
    assert ("cos", ["float32[2,3]"], {}) in asked


def test_a_result_that_is_kept_is_kept_once():
    g = weft.checkpoint(lambda x: checkpoint_name(wnp.tanh(x), "h"), policy=NAMES)
    found = [source for _, source in saved_residuals(lambda x: wnp.sum(wnp.sin(g(x)) * g(x)), X)]
    assert found.count(NAMED) <= 2  # of two calls


def test_printing(capsys):
    print_saved_residuals(weft.checkpoint(two_layers, policy=EITHER), X)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        [
            "float32[3,3] from a constant",
            *["float32[2,3] output of dot_general"] * 2,
            *["float32[2,3] named 'h'"] * 2,
        ]
    )
    print_saved_residuals(lambda p, *, scale: p["w"] * scale, {"w": X}, scale=2.0)
    assert "float32[2,3] from the argument p['w']" in capsys.readouterr().out


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.checkpoint(two_layers, policy="dots_saveable"),
        lambda: checkpoint_name(X, 3),
        lambda: P.save_only_these_names(["h"]),
    ],
)
def test_wrong_kinds_are_refused(call):
    with pytest.raises(TypeError, match=r"checkpoint: policy|must be a string|must be strings"):
        call()


def test_policies_of_names_are_equal_by_kind_and_names():
    assert P.save_only_these_names("g", "h") == P.save_only_these_names("h", "g")
    assert len({P.save_only_these_names("g", "h"), P.save_only_these_names("h", "g")}) == 1
    different = [
        P.save_only_these_names("h"),
        P.save_only_these_names("g"),
        P.save_only_these_names("g", "h"),
        P.save_any_names_but_these("h"),
        P.save_anything_except_these_names("h"),
    ]
    for i, policy in enumerate(different):
        assert [policy == other for other in different] == [i == j for j in range(5)]
    assert NAMES != "h"


def test_names_are_the_identity():
    tree = {"a": X, "b": (1.0,)}
    named = weft.jit(lambda t: checkpoint_name(t, "h"))(tree)
    np.testing.assert_array_equal(named["a"], X)
    f = lambda x: wnp.sin(checkpoint_name(x, "h"))  # noqa: E731
    slopes = [
        weft.grad(f)(1.0),
        weft.vmap(weft.grad(f))(np.ones(1, "f"))[0],
        weft.jvp(f, (1.0,), (1.0,))[1],
        weft.grad(lambda x: weft.vmap(f)(x)[0])(np.ones(1, "f"))[0],
    ]
    np.testing.assert_allclose(slopes, np.cos(1.0), rtol=1e-6)
    (back,) = weft.linear_transpose(lambda x: checkpoint_name(2 * x, "h"), 1.0)(3.0)
    assert back == 6.0


# --- operations with effects ---


@pytest.mark.combinations
@pytest.mark.parametrize("policy", [None, NOTHING, DOTS], ids=["none", "nothing", "dots"])
@pytest.mark.parametrize("place", ["here", "in a jitted function", "in a scan", "in a branch"])
@pytest.mark.parametrize("transform", [weft.grad, lambda f: weft.jit(weft.grad(f))])
def test_an_effect_happens_once(transform, place, policy):
    """The backward pass sees the number that the forward pass got, and asks for no other."""
    given = []

    def next_number():
        given.append(np.float32(len(given) + 1))
        return given[-1]

    scalar = weft.ShapeDtypeStruct((), "float32")

    def noisy(x):
        return wnp.sin(x * io_callback(next_number, scalar, ordered=True))

    def f(x):
        if place == "in a jitted function":
            return weft.jit(noisy)(x)
        if place == "in a scan":
            return lax.scan(lambda c, _: (noisy(c), None), x, None, length=3)[0]
        if place == "in a branch":
            return lax.cond(x > 0, noisy, lambda x: x, x)
        return noisy(x)

    slope = transform(weft.checkpoint(f, policy=policy))(0.5)
    slope = float(slope)
    count = 3 if place == "in a scan" else 1
    assert given == list(range(1, count + 1))
    x, expected = 0.5, 1.0
    for k in range(1, count + 1):
        x, expected = np.sin(k * x), expected * k * np.cos(k * x)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_what_is_printed_is_printed_once(capsys):
    @weft.checkpoint
    def f(x):
        weft.debug.print("x is {}", x)
        return wnp.sin(x)

    for g in (weft.grad(f), weft.jit(weft.grad(f))):
        float(g(0.5))

    assert capsys.readouterr().out.splitlines() == ["x is 0.5", "x is 0.5"]
