"""shard_map: a function of parts, against models in NumPy that have the parts of all devices."""

import numpy as np
import pytest
from collective_models import CASES, Case, stack_for

import weft
import weft.numpy as wnp
from weft import lax
from weft.experimental.pjit import pjit
from weft.experimental.shard_map import shard_map as older_shard_map
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

pytestmark = pytest.mark.devices(8)

DEVICES = (weft.devices() * 8)[:8]  # where there are fewer, tests are skipped
if weft.device_count() >= 8:
    LINE = Mesh(DEVICES, "x")
    WIDE = Mesh(np.array(DEVICES, object).reshape(2, 4), ("a", "b"))
    TALL = Mesh(np.array(DEVICES[::-1], object).reshape(4, 2), ("a", "b"))
    SQUARE = Mesh(np.array(DEVICES[2:6], object).reshape(2, 2), ("a", "b"))
else:
    LINE = WIDE = TALL = SQUARE = None
W = np.arange(64, dtype=np.float32).reshape(8, 8) / 8
shard_map = weft.shard_map

# --- collectives: over one axis of two, the other, both, and with the other left to XLA ---

WAYS = {
    "one axis": (WIDE, "b", P("b"), {}),
    "the other": (TALL, "a", P("a"), {}),
    "both": (SQUARE, ("a", "b"), P(("a", "b")), {}),
    "the other axis left to XLA": (WIDE, "b", P("b"), {"axis_names": {"b"}}),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
NAMES = [case.name for case in CASES]
STACKS = {case.name: stack_for(case, i) for i, case in enumerate(CASES)}
DIRECTIONS = {case.name: stack_for(case, 100 + i) for i, case in enumerate(CASES)}
SMOOTH = [case for case in CASES if case.smooth]


def for_one_device(cases, names):
    """All collectives, of the parts of all stacks."""

    def function(parts):
        return {c.name: c.over(parts[c.name][0], names)[None] for c in cases}

    return function


def mapped(way, cases=CASES):
    mesh, names, spec, options = way
    return shard_map(
        for_one_device(cases, names), mesh=mesh, in_specs=spec, out_specs=spec, **options
    )


def modelled(case: Case, x):
    return case.model(np.asarray(x, np.float64))


def slope(case, x, dx):
    """The model's derivative along a direction, by central differences."""
    h = 1e-5
    return (modelled(case, x + h * dx) - modelled(case, x - h * dx)) / (2 * h)


@each_way
def test_collectives(way):
    got = mapped(way)(STACKS)
    for case in CASES:
        np.testing.assert_allclose(
            got[case.name], modelled(case, STACKS[case.name]), rtol=1e-5, atol=1e-6,
            err_msg=case.name,
        )  # fmt: skip
        assert got[case.name].sharding.mesh == way[0]


@each_way
def test_collectives_jvp(way):
    names = [c.name for c in SMOOTH]
    xs, dxs = ({n: s[n] for n in names} for s in (STACKS, DIRECTIONS))
    _, got = weft.jit(lambda x, dx: weft.jvp(mapped(way, SMOOTH), (x,), (dx,)))(xs, dxs)
    for case in SMOOTH:
        x, dx = (np.asarray(s[case.name], np.float64) for s in (STACKS, DIRECTIONS))
        np.testing.assert_allclose(
            got[case.name], slope(case, x, dx), rtol=1e-3, atol=1e-4, err_msg=case.name
        )


@each_way
def test_collectives_gradient(way):
    names = [c.name for c in SMOOTH]
    xs = {n: STACKS[n] for n in names}
    weights = {c.name: np.cos(np.arange(modelled(c, xs[c.name]).size)) for c in SMOOTH}

    def loss(x):
        out = mapped(way, SMOOTH)(x)
        return sum((out[n].ravel() * weights[n].astype("f")).sum() for n in names)

    got = weft.jit(weft.grad(loss))(xs)
    for case in SMOOTH:
        x, dx = (np.asarray(s[case.name], np.float64) for s in (STACKS, DIRECTIONS))
        expected = (slope(case, x, dx).ravel() * weights[case.name]).sum()
        found = (np.asarray(got[case.name], np.float64) * dx).sum()
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3, err_msg=case.name)


@each_way
def test_collectives_batched(way):
    """vmap outside of the map, and inside."""
    pairs = {n: np.stack([STACKS[n], DIRECTIONS[n]]) for n in NAMES}
    mesh, names, spec, options = way
    inside = shard_map(
        lambda parts: weft.vmap(for_one_device(CASES, names))(parts),
        mesh=mesh, in_specs=P(None, *spec), out_specs=P(None, *spec), **options,
    )  # fmt: skip
    for got in (weft.vmap(mapped(way))(pairs), inside(pairs)):
        for case in CASES:
            expected = np.stack([modelled(case, x) for x in pairs[case.name]])
            np.testing.assert_allclose(
                got[case.name], expected, rtol=1e-5, atol=1e-6, err_msg=case.name
            )


# --- with the other transformations ---


def ring(x):
    """Something with a collective: [k, 8] -> [k, 8], parts of rows."""
    left = lax.ppermute(x, "b", [(i, (i + 1) % 4) for i in range(4)])
    return wnp.sin(x) * lax.pmean(left, "b") + left


def ring_model(x, np=np):
    parts = np.split(x, 4, 0)
    left = np.stack([*parts[-1:], *parts[:-1]])
    mean = left.mean(0)
    return np.concatenate([np.sin(p) * mean + one for p, one in zip(parts, left, strict=True)])


MAPPED = {"mesh": WIDE, "in_specs": P("b"), "out_specs": P("b")}
on_ring = lambda f: shard_map(f, **MAPPED)  # noqa: E731
AROUND = {
    "plain": (lambda f: f),
    "jit": lambda f: weft.jit(f),
    "twice": lambda f: lambda x: f(f(x)),
    "grad": lambda f: weft.grad(lambda x: (f(x) ** 2).sum()),
    "jit of grad": lambda f: weft.jit(weft.grad(lambda x: (f(x) ** 2).sum())),
    "grad of jit": lambda f: weft.grad(lambda x: (weft.jit(f)(x) ** 2).sum()),
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x * x,))[1],
    "jvp of grad": lambda f: lambda x: weft.jvp(
        weft.grad(lambda x: (f(x) ** 2).sum()), (x,), (x,))[1],
    "vmap": lambda f: lambda x: weft.vmap(f)(wnp.stack([x, 2 * x])),
    "vmap of grad": lambda f: lambda x: weft.vmap(weft.grad(lambda x: f(x).sum()))(x[None]),
    "scan": lambda f: lambda x: lax.scan(lambda c, a: (f(c) + a, c.sum()), x, x[:3])[0],
    "grad of scan": lambda f: weft.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0].sum()
    ),
    "cond": lambda f: lambda x: lax.cond(x[0, 1] > 0, f, lambda x: x, x),
    "while": lambda f: lambda x: lax.fori_loop(0, 2, lambda _, c: f(c), x),
    "checkpoint": lambda f: weft.grad(lambda x: weft.checkpoint(f)(x).sum()),
    "constraint": lambda f: lambda x: f(
        lax.with_sharding_constraint(x, NamedSharding(LINE, P("x")))),
}  # fmt: skip


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
def test_inside_other_transformations(around):
    expected = around(lambda x: ring_model(x, wnp))(wnp.asarray(W))
    got = around(on_ring(ring))(W)
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)


INSIDE = {
    "jit": lambda f: weft.jit(f),
    "grad": lambda f: weft.grad(lambda x: (f(x) ** 2).sum()),
    "value and grad": lambda f: lambda x: weft.value_and_grad(lambda x: f(x).sum())(x)[1],
    "vmap over rows": lambda f: weft.vmap(lambda r: f(r[None])[0]),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0],
    "cond": lambda f: lambda x: lax.cond(lax.psum(x[0, 0], "b") > 0, f, lambda x: x, x),
    "while": lambda f: (
        lambda x: lax.while_loop(lambda c: lax.pmax(c.max(), "b") < 40, lambda c: f(c) + c * 2, x)
    ),
    "checkpoint": lambda f: weft.grad(lambda x: weft.checkpoint(f)(x).sum()),
}


@pytest.mark.parametrize("inside", INSIDE.values(), ids=INSIDE.keys())
def test_other_transformations_inside(inside):
    """The same as vmap over an axis of that name."""
    expected = weft.vmap(inside(ring), axis_name="b")(W.reshape(4, 2, 8)).reshape(8, 8)
    np.testing.assert_allclose(on_ring(inside(ring))(W), expected, rtol=1e-4, atol=1e-5)


def test_repeated_arguments_and_results_have_right_derivatives():
    """A cotangent of what is repeated is that of the one value, not one for each device."""
    w = np.linspace(-1, 1, 8, dtype="f")

    def part(x, w):  # x is divided, w repeated; the result is the same everywhere
        return lax.psum((wnp.sin(x) * w).sum(0), "x"), w * 3

    f = shard_map(part, mesh=LINE, in_specs=(P("x"), P()), out_specs=(P(), P()))
    loss = lambda x, w: (f(x, w)[0] ** 2).sum() + (f(x, w)[1] ** 3).sum()  # noqa: E731
    plain = lambda x, w: ((wnp.sin(x) * w).sum(0) ** 2).sum() + ((w * 3) ** 3).sum()  # noqa: E731
    for around in (lambda f: f, weft.jit):
        for i in (0, 1):
            np.testing.assert_allclose(
                around(weft.grad(loss, i))(W, w), weft.grad(plain, i)(W, w), rtol=1e-3, atol=1e-3
            )
    got = weft.jvp(loss, (W, w), (W, w))[1]
    np.testing.assert_allclose(got, weft.jvp(plain, (W, w), (W, w))[1], rtol=1e-4)
    np.testing.assert_allclose(
        weft.jit(weft.hessian(lambda w: loss(W, w)))(w), weft.hessian(lambda w: plain(W, w))(w),
        rtol=1e-3, atol=1e-2,
    )  # fmt: skip


def test_halves_of_a_mesh():
    """Parts along one axis, whole along the other; and a map inside over that one."""
    inner = shard_map(
        lambda y: lax.psum(y, "b") + lax.axis_index("a"),
        mesh=WIDE, in_specs=P(None, "b"), out_specs=P(), axis_names={"b"},
    )  # fmt: skip
    outer = shard_map(inner, mesh=WIDE, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})
    expected = W.reshape(2, 4, 4, 2).sum(2) + np.arange(2).reshape(2, 1, 1)
    np.testing.assert_allclose(outer(W), expected.reshape(8, 2))
    g = weft.grad(lambda x: (outer(x) ** 2).sum())(W)
    plain = lambda x: ((x.reshape(2, 4, 4, 2).sum(2) + wnp.arange(2.0).reshape(2, 1, 1)) ** 2).sum()  # noqa: E731
    np.testing.assert_allclose(g, weft.grad(plain)(W), rtol=1e-5)
    held = NamedSharding(WIDE, P(None, "b"))
    half = shard_map(
        lambda x: lax.with_sharding_constraint(x @ x.T, held) + lax.psum(x.sum(), "a"),
        mesh=WIDE, in_specs=P("a"), out_specs=P("a"), axis_names="a",
    )  # fmt: skip
    expected = np.concatenate([h @ h.T + W.sum() for h in np.split(W, 2)])
    np.testing.assert_allclose(half(W), expected, rtol=1e-5)


# --- options ---


def test_trees_and_scalars():
    f = shard_map(
        lambda d, k: ({"s": d["a"] * k}, [d["b"].sum(), k + lax.axis_index("a") * 0]),
        mesh=WIDE,
        in_specs=({"a": P("a"), "b": P()}, P()),
        out_specs=(P("a"), P()),
        check_vma=False,
    )
    for _ in range(3):
        first, (total, k) = f({"a": W, "b": W}, 2)
        np.testing.assert_array_equal(first["s"], 2 * W)
        assert float(total) == W.sum()
        assert int(k) == 2


def test_a_mesh_in_scope_and_decorators():
    @weft.shard_map(in_specs=P("x"), out_specs=P("x"))
    def index(x):
        return x * 0 + lax.axis_index("x")

    for mesh in (LINE, Mesh(DEVICES[:4], "x")):
        with mesh:
            got = index(W)
        n = mesh.size
        np.testing.assert_array_equal(np.asarray(got)[:, 0], np.arange(8) // (8 // n))
        assert got.sharding == NamedSharding(mesh, P("x"))
    with pytest.raises(ValueError, match="expected a mesh"):
        index(W)


def test_older_spellings():
    auto = older_shard_map(lambda x: lax.psum(x, "a"), WIDE, P("a"), P(), auto=frozenset({"b"}))
    np.testing.assert_array_equal(auto(W), W[:4] + W[4:])
    free = older_shard_map(lambda x: x, WIDE, P("a"), P(), check_rep=False)
    np.testing.assert_array_equal(free(W), W[:4])
    twice = pjit(lambda x: 2 * x, NamedSharding(LINE, P("x")), NamedSharding(LINE, P(None, "x")))
    assert twice(W).sharding == NamedSharding(LINE, P(None, "x"))
    with WIDE:
        assert pjit(lambda x: 2 * x, in_shardings=None, out_shardings=P("b", "a"))(W).sharding == (
            NamedSharding(WIDE, P("b", "a"))
        )


def test_arrays_on_the_mesh_in_any_division():
    f = shard_map(
        lambda x: x * 2 + lax.axis_index("a"), mesh=WIDE, in_specs=P("a"), out_specs=P("a")
    )
    expected = W * 2 + (np.arange(8) // 4)[:, None]
    for sharding in (
        NamedSharding(LINE, P(None, "x")),
        NamedSharding(WIDE, P("a")),
        NamedSharding(TALL, P("b")),
    ):
        for _ in range(3):
            np.testing.assert_array_equal(f(weft.device_put(W, sharding)), expected)


def test_constants():
    c = weft.device_put(W, NamedSharding(LINE, P("x")))
    f = shard_map(lambda x: x + c[:4] + W[:4], mesh=WIDE, in_specs=P("a"), out_specs=P("a"))
    np.testing.assert_array_equal(f(W), W + np.tile(2 * W[:4], (2, 1)))


SAME = {
    "psum": (lambda x: lax.psum(x, "x"), True),
    "pmean of one of two": (lambda x: (lax.pmean(x, "x"), x), False),
    "all_gather": (lambda x: lax.all_gather(x, "x"), True),
    "constant": (lambda x: wnp.ones(2), True),
    "index": (lambda x: lax.axis_index("x"), False),
    "part": (lambda x: x, False),
    "after a loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x), False),
    "after a loop of sums": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.psum(c, "x"), lax.psum(x, "x")), True),
    "branch on a part": (lambda x: lax.cond(x[0, 0] > 0, lambda: 1.0, lambda: 2.0), False),
}  # fmt: skip


@pytest.mark.parametrize(("f", "same"), SAME.values(), ids=SAME.keys())
def test_results_must_be_the_same_where_their_spec_says_so(f, same):
    mapped = shard_map(f, mesh=LINE, in_specs=P("x"), out_specs=P())
    if same:
        mapped(W)
        return
    with pytest.raises(ValueError, match="differs along 'x'") as caught:
        mapped(W)
    assert "check_vma=False" in str(caught.value)
    shard_map(f, mesh=LINE, in_specs=P("x"), out_specs=P(), check_vma=False)(W)


def mapping(f=lambda x: x, mesh=LINE, in_specs=P("x"), out_specs=P("x"), **options):  # noqa: B008
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


REFUSED = {
    "unknown axis": (lambda: mapping(in_specs=P("y"))(W), ValueError, ["argument x", "'y'", "x=8"]),
    "unknown axis of a result": (
        lambda: mapping(out_specs=P("y"))(W), ValueError, ["leaf 0", "'y'", "x=8"]),
    "named twice": (lambda: mapping(in_specs=P("x", "x"))(W), ValueError, ["argument x", "once"]),
    "indivisible": (
        lambda: mapping(lambda y: y)(W[:5]), ValueError, ["argument y", "length 5", "8 parts"]),
    "rank": (lambda: mapping(lambda x: x.sum())(W), ValueError, ["leaf 0", "0 axes", "1 entries"]),
    "too many arguments": (
        lambda: mapping(lambda x, y: x, in_specs=(P("x"),))(W, W), ValueError,
        ["in_specs", "prefix"]),
    "axis_names": (lambda: mapping(axis_names={"z"})(W), ValueError, ["'z'", "x=8"]),
    "axis that isn't mapped": (
        lambda: mapping(mesh=WIDE, in_specs=P("b"), axis_names={"a"})(W), ValueError,
        ["'b'", "isn't mapped"]),
    "collective over an axis that isn't mapped": (
        lambda: mapping(lambda x: lax.psum(x, "b"), WIDE, P("a"), P("a"), axis_names={"a"})(W),
        weft.errors.UnboundAxisError, ["psum", "'b'", "'a'"]),
    "keywords": (lambda: mapping()(x=W), TypeError, ["shard_map", "['x']", "position"]),
    "no spec": (lambda: mapping(in_specs="x"), TypeError, ["in_specs", "PartitionSpec", "'x'"]),
    "result is no array": (lambda: mapping(lambda x: "a")(W), TypeError, ["shard_map", "str"]),
    "argument is no array": (lambda: mapping()("a"), TypeError, ["shard_map", "argument x"]),
    "an axis twice": (
        lambda: mapping(mapping(lambda x: x, WIDE, P("a"), P("a")), WIDE, P("a"), P("a"))(
            np.zeros((8, 8))), ValueError, ["shard_map", "'a'", "fix"]),
    "another mesh inside": (
        lambda: weft.pmap(mapping(lambda x: x))(W), ValueError, ["shard_map", "x=8", "pmap=8"]),
    "constraint on a mapped axis": (
        lambda: mapping(lambda x: lax.with_sharding_constraint(x, NamedSharding(LINE, P("x"))),
                        in_specs=P(), out_specs=P())(W), ValueError,
        ["with_sharding_constraint", "'x'", "mapped"]),
    "constraint by another mesh": (
        lambda: weft.pmap(
            lambda x: lax.with_sharding_constraint(x, NamedSharding(LINE, P("x"))))(W), ValueError,
        ["with_sharding_constraint", "x=8", "pmap=8"]),
    "argument on another device": (
        lambda: mapping()(weft.device_put(W, DEVICES[3])), ValueError,
        ["8 devices", "argument 0", "cpu:3", "device_put"]),
    "argument on some of the devices": (
        lambda: mapping()(weft.device_put(W, NamedSharding(SQUARE, P("a")))), ValueError,
        ["8 devices", "4 devices", "device_put"]),
}  # fmt: skip


@pytest.mark.parametrize(("make", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_host_callbacks_inside(capfd):
    seen = []
    f = mapping(lambda x: weft.pure_callback(lambda y: (seen.append(y.shape), np.sin(y))[1], x, x))
    np.testing.assert_allclose(f(W), np.sin(W), rtol=1e-6)
    assert seen == [(1, 8)] * 8


def test_none_is_the_spec_of_none():
    f = shard_map(
        lambda x, y: (x * 2, None), mesh=LINE, in_specs=(P("x"), None), out_specs=(P("x"), None)
    )
    x = np.arange(8.0, dtype=np.float32)
    out, nothing = f(x, None)
    np.testing.assert_array_equal(out, x * 2)
    assert nothing is None
    with pytest.raises(
        TypeError, match="in_specs must have a PartitionSpec at each leaf; got None"
    ):
        f(x, x)
