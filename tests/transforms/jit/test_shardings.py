"""jit over several devices: what is said of arguments and results, and what follows data.

Values are compared with NumPy, or with the same function on one device.
"""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.compiler.layout import layout_of, sharding_of
from weft.compiler.placing import put_array
from weft.core.aval import aval
from weft.runtime.group import group_of, tiling
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

pytestmark = pytest.mark.devices(8)

DEVICES = (weft.devices() * 8)[:8]  # where there are fewer, tests are skipped
GRID = np.array(DEVICES, object).reshape(2, 4)
if weft.device_count() >= 8:
    LINE, TURNED = Mesh(DEVICES, "x"), Mesh(DEVICES[::-1], "x")
    PLANE, FOUR = Mesh(GRID, ("a", "b")), Mesh(DEVICES[4:], "x")
    ROWS, COLUMNS, ALL = (NamedSharding(LINE, s) for s in (P("x"), P(None, "x"), P()))
    BACK = NamedSharding(TURNED, P("x"))
    TILES, STRIPES = NamedSharding(PLANE, P("b", "a")), NamedSharding(PLANE, P("a"))
    FEW = NamedSharding(FOUR, P("x"))
    X = {s: weft.device_put(np.arange(64, dtype="f").reshape(8, 8), s)
         for s in (ROWS, COLUMNS, ALL, BACK, TILES, STRIPES, FEW)}  # fmt: skip
W = np.arange(64, dtype=np.float32).reshape(8, 8)
jit = weft.jit


def lies(x, sharding, value=None):
    """Fails unless an array lies as said and has the value."""
    assert x.sharding == sharding, x.sharding
    if value is not None:
        np.testing.assert_allclose(np.asarray(x), value, rtol=1e-5)
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), np.asarray(x)[shard.index])


# --- what is said ---


def test_one_for_all_arguments():
    f = jit(lambda x, y: (x @ y, x), in_shardings=ROWS, out_shardings=COLUMNS)
    for arguments in ((W, W), (wnp.asarray(W), X[ROWS]), (X[TILES], X[COLUMNS])):
        for _ in range(3):  # the second time takes another way
            product, same = f(*arguments)
            lies(product, COLUMNS, W @ W)
            lies(same, COLUMNS, W)


def test_tuples_prefixes_and_none():
    tree = {"a": W, "b": [W, np.float32(2)]}
    f = jit(
        lambda d, y: ({"sum": d["a"] + d["b"][0] * d["b"][1], "y": (y,)}, y * 1),
        in_shardings=({"a": ROWS, "b": [TILES, None]}, None),
        out_shardings=({"sum": STRIPES, "y": (ALL,)}, None),
    )
    for _ in range(2):
        first, y = f(tree, X[COLUMNS])
        lies(first["sum"], STRIPES, 3 * W)
        lies(first["y"][0], ALL, W)
        lies(y, COLUMNS, W)
    lies(jit(lambda x, y: x + y, in_shardings=[ROWS, None])(W, W), ROWS, 2 * W)


def test_a_mesh_in_scope():
    f = jit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P(None, "x"))
    for mesh in (LINE, FOUR, TURNED, LINE):
        with mesh:
            lies(f(W), NamedSharding(mesh, P(None, "x")), 2 * W)
    with LINE:
        with FOUR:
            lies(f(W), NamedSharding(FOUR, P(None, "x")))
        lies(f(W), COLUMNS)


def test_static_arguments_are_not_counted():
    f = jit(
        lambda n, x, m=1: x * n * m, static_argnums=0, static_argnames="m", in_shardings=(ROWS,)
    )
    lies(f(3, W), ROWS, 3 * W)
    lies(f(3, W, m=2), ROWS, 6 * W)
    lies(jit(lambda x, y: x + y, out_shardings=TILES)(W, y=W), TILES, 2 * W)


def test_no_arguments_and_results_that_are_not_computed():
    lies(jit(lambda: wnp.arange(8.0), out_shardings=ROWS)(), ROWS, np.arange(8))
    lies(jit(lambda x: x, in_shardings=ROWS)(W), ROWS, W)
    lies(jit(lambda x: x, in_shardings=ALL)(X[ROWS]), ALL, W)
    there = weft.device_put(W, DEVICES[3])
    f = jit(lambda x: (x, 3.0, there), out_shardings=ALL)
    for x, value in zip(f(W), (W, 3, W), strict=True):
        lies(x, ALL, value)


def test_one_result_in_two_places():
    def twice(x):
        y = x * 2
        return y, y, y

    f = jit(twice, out_shardings=(ROWS, ALL, None))
    for _ in range(3):
        a, b, _ = f(X[ROWS])
        lies(a, ROWS, 2 * W)
        lies(b, ALL, 2 * W)


def test_devices_in_another_order():
    lies(jit(lambda x: x * 2, in_shardings=ROWS, out_shardings=BACK)(W), BACK, 2 * W)
    for x in (X[TILES], X[BACK], W):
        f = jit(lambda x: x * 2, in_shardings=BACK, out_shardings=TILES)
        for _ in range(3):
            lies(f(x), TILES, 2 * W)
    np.testing.assert_array_equal(jit(lambda x, y: x - y)(X[ROWS], X[BACK]), W - W)
    np.testing.assert_array_equal(X[BACK] + X[TILES], 2 * W)
    lies(weft.device_put(X[BACK], ROWS), ROWS, W)
    constrained = jit(lambda x: lax.with_sharding_constraint(x + 1, BACK))(X[ROWS])
    np.testing.assert_array_equal(constrained, W + 1)
    first = {s.device: np.asarray(s.data)[0, 0] for s in constrained.addressable_shards}
    assert first[DEVICES[7]] == 1.0


@pytest.mark.parametrize("parts", [(8, 1), (4, 2), (1, 4), (2, 1), (1, 1)])
def test_any_division_has_a_sharding(parts):
    group = group_of(DEVICES)
    for seed in range(3):
        owners = np.random.default_rng(seed).permutation(8)
        wanted = tiling(parts, owners)
        for meshes in ((), (PLANE, TURNED)):
            sharding = sharding_of(wanted, group, meshes)
            a = aval((8, 8), np.dtype("f"))
            assert layout_of(a, sharding, group).tiling == wanted
            lies(put_array(W, layout_of(a, sharding, group)), sharding, W)


def test_donation():
    f = jit(lambda x: x + 1, donate_argnums=0)
    x = weft.device_put(W, ROWS)
    for i in range(1, 5):
        before, x = x, f(x)
        assert before.is_deleted()
        lies(x, ROWS, W + i)
    for wanted in (ROWS, ALL):
        x = weft.device_put(W, ROWS)
        y = jit(lambda x: x * 2, in_shardings=wanted, out_shardings=wanted, donate_argnums=0)(x)
        lies(y, wanted, 2 * W)
        assert x.is_deleted()
        with pytest.raises(weft.errors.DeletedArrayError, match="x"):
            f(x)
    x = weft.device_put(W, ROWS)
    with pytest.raises(ValueError, match="is passed twice"):
        jit(lambda x, y: x + y, donate_argnums=0)(x, x)


def test_arguments_may_be_written_to_afterwards():
    f = jit(lambda x, y: x * y, in_shardings=(ROWS, None))
    for _ in range(4):
        x, y = np.ones((8, 8), "f"), np.full((8, 8), 2, "f")
        z = f(x, y)
        x[:] = y[:] = 7
        np.testing.assert_array_equal(z, np.full((8, 8), 2))


REFUSED = {
    "indivisible argument": (
        lambda: jit(lambda w, b: w, in_shardings=ROWS)({"p": W[:6]}, W), ValueError,
        ["in_shardings", "w['p']", "float32[6,8]", "axis 0", "length 6", "8 parts"]),
    "indivisible result": (
        lambda: jit(lambda w: (w, w[:3]), out_shardings=ROWS)(W), ValueError,
        ["out_shardings", "leaf 1", "float32[3,8]"]),
    "too few axes": (
        lambda: jit(lambda w: w.sum(), out_shardings=ROWS)(W), ValueError, ["1 entries", "0 axes"]),
    "too few entries": (
        lambda: jit(lambda x, y: x, in_shardings=(ROWS,))(W, W), ValueError,
        ["in_shardings", "prefix", "tuple of 2"]),
    "another structure": (
        lambda: jit(lambda d: d, in_shardings=({"c": ROWS},))({"a": W}), ValueError,
        ["in_shardings", "'c'", "'a'"]),
    "keywords": (
        lambda: jit(lambda x, y: x, in_shardings=ROWS)(W, y=W), TypeError, ["['y']", "position"]),
    "no mesh": (
        lambda: jit(lambda x: x, in_shardings=P("x"))(W), ValueError, ["mesh", "with mesh"]),
    "no sharding": (
        lambda: jit(lambda x: x, in_shardings=DEVICES[0]), TypeError, ["in_shardings", "Device"]),
    "device too": (
        lambda: jit(lambda x: x, in_shardings=ROWS, device=DEVICES[0]), ValueError, ["device"]),
    "two sets of devices": (
        lambda: jit(lambda x: x, in_shardings=ROWS, out_shardings=FEW)(W), ValueError,
        ["same devices", "x=8", "x=4", "fix"]),
    "argument on other devices": (
        lambda: jit(lambda x: x + 1, in_shardings=ROWS)(X[FEW]), ValueError,
        ["8 devices", "argument 0", "4 devices", "device_put"]),
    "argument on one device": (
        lambda: jit(lambda x: x + 1, in_shardings=ROWS)(weft.device_put(W, DEVICES[3])), ValueError,
        ["8 devices", "argument 0", "cpu:3", "device_put"]),
    "unconstrained": (
        lambda: jit(lambda x: x, in_shardings=NamedSharding(LINE, P(P.UNCONSTRAINED)))(W),
        ValueError, ["in_shardings", "UNCONSTRAINED", "with_sharding_constraint"]),
    "inner function elsewhere": (
        lambda: jit(lambda x: jit(lambda x: x, in_shardings=ROWS)(x) + 1)(X[FEW]), ValueError,
        ["8 devices", "4 devices"]),
}  # fmt: skip


@pytest.mark.parametrize(("make", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


# --- what follows data ---


def test_one_function_in_many_places():
    traced = 0

    @jit
    def f(x):
        nonlocal traced
        traced += 1
        return (x * 2).sum(0), x + 1

    places = [W, X[ROWS], X[FEW], weft.device_put(W, DEVICES[3]), X[TILES], X[BACK]]
    for x in places * 3:
        total, more = f(x)
        np.testing.assert_allclose(total, 2 * W.sum(0))
        np.testing.assert_array_equal(more, W + 1)
        if x is not W:
            assert total.devices() == more.devices() == x.devices()
            assert more.sharding == x.sharding
    assert traced == 1


def test_uncommitted_arrays_go_where_the_others_are():
    f = jit(lambda x, y, z: x * y + z)
    for _ in range(3):
        lies(f(X[ROWS], wnp.asarray(W), 2.0), ROWS, W * W + 2)
        lies(f(wnp.ones(8), 1.5, X[ROWS]), ROWS, 1.5 + W)


def test_constants():
    near, far, one = X[ROWS], X[FEW], weft.device_put(W, DEVICES[3])
    lies(jit(lambda x: x + near)(X[ROWS]), ROWS, 2 * W)
    lies(jit(lambda x: x + far)(X[ROWS]), ROWS, 2 * W)
    lies(jit(lambda x: x + one)(X[ROWS]), ROWS, 2 * W)
    assert jit(lambda x: x + near)(W).devices() == set(DEVICES)
    np.testing.assert_array_equal(jit(lambda x: x + far)(weft.device_put(W, DEVICES[0])), 2 * W)


# fmt: off
inner = jit(lambda x: wnp.sin(x) * 2, in_shardings=STRIPES, out_shardings=COLUMNS) \
    if weft.device_count() >= 8 else None
# fmt: on


@weft.custom_vjp
def halved(x):
    return wnp.sin(x)


halved.defvjp(lambda x: (wnp.sin(x), x), lambda x, ct: (0.5 * ct * wnp.cos(x),))
tripled = weft.custom_jvp(lambda x: wnp.sin(x))
tripled.defjvp(lambda p, t: (tripled(p[0]), 3 * t[0] * wnp.cos(p[0])))
S = W / 64
PROGRAMS = {
    "nested": lambda f: lambda x: f(x) + f(x.T).T,
    "grad": lambda f: weft.grad(lambda x: (f(x) ** 2).sum()),
    "value and grad": lambda f: weft.value_and_grad(lambda x: (f(x) @ x).sum()),
    "vmap": lambda f: lambda x: weft.vmap(f)(wnp.stack([x, 2 * x])),
    "vmap of grad": lambda f: lambda x: weft.vmap(weft.grad(lambda x: f(x).sum()))(x[None]),
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x * x,)),
    "vjp": lambda f: lambda x: weft.vjp(f, x)[1](x),
    "linearize": lambda f: lambda x: weft.linearize(f, x)[1](x),
    "hessian": lambda f: (
        weft.hessian(lambda v: (f(v[0] * v[:, None]) ** 2).sum())
        and (lambda x: weft.hessian(lambda v: (f(x * v[:, None]) ** 2).sum())(x[0]))
    ),
    "scan": lambda f: lambda x: lax.scan(lambda c, a: (c + f(x).sum(0) + a, c * a), x[0], x),
    "grad of scan": lambda f: weft.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0].sum()
    ),
    "cond": lambda f: lambda x: lax.cond(x[0, 1] > 0, f, lambda x: x - 1, x),
    "while": lambda f: lambda x: lax.while_loop(lambda c: c.sum() < 90, lambda c: c + f(x) ** 2, x),
    "fori": lambda f: lambda x: lax.fori_loop(0, 3, lambda i, c: f(c) + i, x),
    "map": lambda f: lambda x: lax.map(lambda r: f(x * r), x[:2]),
    "checkpoint": lambda f: weft.grad(lambda x: weft.checkpoint(lambda y: f(f(y)))(x).sum()),
    "custom vjp": lambda f: weft.grad(lambda x: halved(f(x)).sum()),
    "custom jvp": lambda f: weft.grad(lambda x: tripled(f(x)).sum()),
    "associative scan": lambda f: lambda x: lax.associative_scan(wnp.add, f(x)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_transformations(program):
    expected = program(lambda x: wnp.sin(x) * 2)(wnp.asarray(S))
    x = weft.device_put(S, ROWS)
    check = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)  # noqa: E731
    for f in (lambda x: wnp.sin(x) * 2, inner):
        got = jit(program(f))(x)
        weft.tree_util.tree_map(check, got, expected)
        for leaf in weft.tree_util.tree_leaves(got):
            assert leaf.devices() == set(DEVICES)


@pytest.mark.parametrize("name", ["grad", "jvp", "vmap", "scan", "cond", "custom vjp"])
def test_transformations_at_once(name):
    expected = PROGRAMS[name](lambda x: wnp.sin(x) * 2)(wnp.asarray(S))
    check = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)  # noqa: E731
    for x in (S, weft.device_put(S, ROWS)):
        weft.tree_util.tree_map(check, PROGRAMS[name](inner)(x), expected)


def test_several_meshes_in_one_program():
    @jit
    def f(x, y):
        a = lax.with_sharding_constraint(x + 1, TILES)
        b = lax.with_sharding_constraint(a @ y, BACK)
        return lax.with_sharding_constraint(b * x, COLUMNS)

    for _ in range(2):
        lies(f(X[ROWS], X[STRIPES]), COLUMNS, (W + 1) @ W * W)


def test_random_numbers_are_the_same():
    draw = lambda key: weft.random.normal(key, (8, 8))  # noqa: E731
    key = weft.random.PRNGKey(0)
    lies(jit(draw, out_shardings=ROWS)(key), ROWS, np.asarray(draw(key)))


def test_moved_and_back():
    x = weft.device_put(W, DEVICES[3])
    f = lambda x: (weft.device_put(x * x, ROWS) ** 2).sum()  # noqa: E731
    for source in (x, X[FEW], X[COLUMNS]):
        g = weft.grad(f)(source)
        np.testing.assert_allclose(g, 4 * W**3)
        assert g.devices() == source.devices()
        np.testing.assert_allclose(source - 0.1 * g, W - 0.4 * W**3, rtol=1e-4)
        total = weft.vmap(weft.grad(lambda r: (weft.device_put(r * r, ALL) ** 2).sum()))(source)
        np.testing.assert_allclose(total, 4 * W**3)


# --- calls of Python: once, of the whole arrays ---


def calling(function, x):
    """What a Python function gives for an array like it."""
    return weft.pure_callback(function, weft.ShapeDtypeStruct(x.shape, x.dtype), x)


CALLS = {
    "alone": (lambda f, x: calling(f, x), lambda x: 2 * x, 1),
    "before more": (lambda f, x: calling(f, x.T) @ x, lambda x: 2 * x.T @ x, 1),
    "of a sum": (lambda f, x: calling(f, x.sum(0)) + x, lambda x: 2 * x.sum(0) + x, 1),
    "in a loop": (
        lambda f, x: lax.fori_loop(0, 3, lambda _, c: calling(f, c), x), lambda x: 8 * x, 3),
    "in a branch": (
        lambda f, x: lax.cond(x[0, 1] > 0, lambda x: calling(f, x), lambda x: x, x),
        lambda x: 2 * x, 1),
    "in a function": (lambda f, x: jit(lambda y: calling(f, y))(x) + 1, lambda x: 2 * x + 1, 1),
    "with effects": (
        lambda f, x: (weft.debug.callback(f, x.sum(1)), x + 1)[1], lambda x: x + 1, 1),
}  # fmt: skip


@pytest.mark.parametrize(("program", "model", "times"), CALLS.values(), ids=CALLS.keys())
def test_calls_of_python(program, model, times):
    seen = []

    def double(x):
        seen.append(x)
        return 2 * np.asarray(x)

    f = jit(lambda x: program(double, x))
    for x in (X[ROWS], X[TILES], X[FEW]):
        seen.clear()
        y = weft.block_until_ready(f(x))
        np.testing.assert_allclose(y, model(W), rtol=1e-6)
        assert y.devices() == x.devices()
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(shard.data, np.asarray(y)[shard.index])
        assert len(seen) == times
    np.testing.assert_array_equal(calling(double, X[ROWS]), 2 * W)


def test_calls_of_python_that_fail():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weft.block_until_ready(jit(lambda x: calling(fails, x) + 1)(X[ROWS]))
    seen = []

    def fails_later(x):
        seen.append(x)
        if len(seen) > 2:
            raise TypeError("later")
        return x

    f = jit(lambda x: calling(fails_later, x) + 1)
    for _ in range(2):
        np.testing.assert_array_equal(f(X[ROWS]), W + 1)
    with pytest.raises(TypeError, match="later"):
        f(X[ROWS])
    assert len(seen) == 3  # the program isn't run again
    part = weft.shard_map(lambda x: calling(np.sin, x), mesh=PLANE, in_specs=P("a"),
                          out_specs=P("a"), axis_names="a")  # fmt: skip
    with pytest.raises(weft.errors.MissingRuleError, match="part of the axes"):
        part(W)


# --- steps of a compilation ---


def test_lowered_and_compiled():
    f = jit(lambda x, y: ((x @ x).sum(0), y))
    lowered = f.lower(X[ROWS], W)
    assert "sdy.mesh" in lowered.as_text()
    compiled = lowered.compile()
    assert compiled.input_shardings[0][0] == ROWS
    assert compiled.input_shardings[0][1].is_fully_replicated
    assert compiled.output_shardings[0].device_set == set(DEVICES)
    assert "num_partitions=8" in compiled.as_text()
    one = f.lower(W, W).compile()
    here = SingleDeviceSharding(DEVICES[0])
    assert one.input_shardings == ((here, here), {})
    assert one.output_shardings == (here, here)
    assert compiled.cost_analysis()["flops"] < one.cost_analysis()["flops"] / 6
    assert compiled.memory_analysis().argument_bytes == 32  # a row; the other one isn't needed
    for x in (X[ROWS], W, X[BACK]):
        total, y = compiled(x, W)
        np.testing.assert_allclose(total, (W @ W).sum(0))
        np.testing.assert_array_equal(y, W)
        assert total.devices() == set(DEVICES)
    with pytest.raises(ValueError, match="4 devices"):
        compiled(X[FEW], W)
    struct = weft.ShapeDtypeStruct((8, 8), "float32")
    said = jit(lambda x: x * 2, in_shardings=ROWS, out_shardings=ALL).lower(struct).compile()
    assert said.input_shardings == ((ROWS,), {})
    assert said.output_shardings == ALL
    lies(said(W), ALL, 2 * W)


def test_retracing_is_explained(caplog):
    f = jit(lambda x: x * 2, in_shardings=ROWS)
    with weft.log_compiles(True):
        f(W)
        f(np.ones((16, 8), "f"))
    text = caplog.text
    assert "8 devices" in text
    assert "float32[16,8]" in text


# --- switches ---


def test_transfers():
    x, y = weft.device_put(W, ROWS), weft.device_put(W, FEW)
    with weft.transfer_guard("disallow"):
        lies(x + 1, ROWS)  # nothing moves
        lies(x + W, ROWS)  # what is on the host goes to the CPU's devices without a copy
        lies(weft.device_put(W, ROWS), ROWS)
        for target in (ALL, FEW):
            weft.device_put(x, target)
        with pytest.raises(RuntimeError, match=r"implicit transfer of float32\[8,8\]"):
            jit(lambda x: x + 1, in_shardings=ALL)(x)
        np.testing.assert_array_equal(x, W)
    with weft.transfer_guard("disallow_explicit"):
        for source, target in ((x, ALL), (x, FEW), (y, ROWS), (x, DEVICES[2])):
            with pytest.raises(RuntimeError, match="explicit transfer"):
                weft.device_put(source, target)


def test_the_default_device_is_for_what_is_nowhere():
    with weft.default_device(DEVICES[3]):
        lies(weft.device_put(W, ROWS), ROWS, W)
        lies(X[ROWS] + wnp.ones(8), ROWS, W + 1)
        lies(jit(lambda x: x * 2, in_shardings=ROWS)(W), ROWS, 2 * W)
        assert (wnp.ones(3) + 1).device is DEVICES[3]
        assert len(weft.pmap(lambda x: x * 2)(W).devices()) == 8


def wrong(how):
    """log of negative numbers, on eight devices."""
    bad = lambda x: wnp.log(-1 - x)  # noqa: E731
    mapped = {"in_specs": P("x"), "out_specs": P("x"), "mesh": LINE}
    return {
        "at once": lambda: bad(X[ROWS]),
        "jit": lambda: jit(bad)(X[ROWS]),
        "in_shardings": lambda: jit(bad, in_shardings=ROWS)(W),
        "pmap": lambda: weft.pmap(bad)(W),
        "shard_map": lambda: weft.shard_map(bad, **mapped)(W),
    }[how]()


@pytest.mark.parametrize("how", ["at once", "jit", "in_shardings", "pmap", "shard_map"])
def test_nans(how):
    assert np.isnan(np.asarray(wrong(how))).all()
    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="made a NaN"):
        wrong(how)


@pytest.mark.parametrize(
    "switch", ["enable_checks", "check_tracer_leaks", "disable_jit", "debug_infs"]
)
def test_switches(switch):
    mapped = {"in_specs": P("x"), "out_specs": P(), "mesh": LINE}
    total = lambda x: lax.psum(x, "x")  # noqa: E731
    with getattr(weft, switch)(True):
        lies(X[ROWS] * 3, ROWS, 3 * W)
        np.testing.assert_array_equal(jit(lambda x: x + 1, in_shardings=ROWS)(W), W + 1)
        np.testing.assert_array_equal(jit(weft.grad(lambda x: (x**2).sum()))(X[TILES]), 2 * W)
        np.testing.assert_array_equal(weft.pmap(total, "x")(W), np.stack([W.sum(0)] * 8))
        np.testing.assert_array_equal(weft.shard_map(total, **mapped)(W), W.sum(0)[None])
        np.testing.assert_array_equal(jit(lambda x: x * 2).lower(X[ROWS]).compile()(X[ROWS]), 2 * W)


# --- deep programs ---


def layer(x, w):
    h = x - x.mean(-1, keepdims=True)
    h = h / wnp.sqrt((h * h).mean(-1, keepdims=True) + 1e-5)
    h = wnp.tanh(h @ w[0]) * 0.5 * (1 + wnp.tanh(h @ w[0] * 0.79))
    return x + h @ w[1]


@pytest.mark.parametrize("block", [layer, weft.checkpoint(layer)], ids=["outlined", "checkpoint"])
@pytest.mark.parametrize("both", [False, True], ids=["data", "data and tensors"])
def test_work_inside_functions_that_stay_apart_is_divided(block, both):
    rng = np.random.default_rng(0)
    random = lambda *shape: rng.normal(size=shape).astype("f")  # noqa: E731
    ws, x = [(random(16, 64), random(64, 16)) for _ in range(12)], random(64, 16)

    def loss(ws, x):
        for w in ws:
            x = block(x, w)
        return (x * x).mean()

    step = jit(weft.grad(loss))
    one = step.lower(ws, x).compile()
    if both:
        here = [tuple(weft.device_put(w, NamedSharding(PLANE, s))
                      for w, s in zip(pair, (P(None, "b"), P("b")), strict=True))
                for pair in ws]  # fmt: skip
        eight = step.lower(here, weft.device_put(x, STRIPES)).compile()
    else:
        here = weft.device_put(ws, ALL)
        eight = step.lower(here, weft.device_put(x, ROWS)).compile()
    text = eight.as_text()
    assert " call(" in text  # there are such functions
    assert "all-gather" not in text
    whole = one.cost_analysis()["flops"]
    assert whole / 8 <= eight.cost_analysis()["flops"] < 1.15 * whole / 8
    for got, expected in zip(step(here, x), step(ws, x), strict=True):
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_what_stands_for_an_array_says_how_that_lies():
    rows = NamedSharding(PLANE, P("a"))
    struct = weft.ShapeDtypeStruct((8, 4), "float32", sharding=rows)
    compiled = jit(lambda x: x.sum(0)).lower(struct).compile()
    assert compiled.input_shardings == ((rows,), {})
    x = np.arange(32.0, dtype=np.float32).reshape(8, 4)
    np.testing.assert_array_equal(compiled(weft.device_put(x, rows)), x.sum(0))
    assert struct != weft.ShapeDtypeStruct((8, 4), "float32")
