"""with_sharding_constraint: it moves what is there, and says where a program's values are to be."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.lax import with_sharding_constraint as constrained
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

pytestmark = pytest.mark.devices(8)

DEVICES = (weft.devices() * 8)[:8]  # where there are fewer, tests are skipped
if weft.device_count() >= 8:
    LINE = Mesh(DEVICES, "x")
    GRID = Mesh(np.array(DEVICES, object).reshape(2, 4), ("a", "b"))
    TURNED = Mesh(DEVICES[::-1], "x")
    ROWS, TILES = NamedSharding(LINE, P("x")), NamedSharding(GRID, P("a", "b"))
    BACK, ALL = NamedSharding(TURNED, P(None, "x")), NamedSharding(GRID, P())
else:
    LINE = GRID = ROWS = TILES = BACK = ALL = None
W = np.arange(64, dtype=np.float32).reshape(8, 8) / 8
FREE = P.UNCONSTRAINED


def lies(x, sharding, value):
    assert x.sharding.is_equivalent_to(sharding, x.ndim), x.sharding
    np.testing.assert_allclose(x, value, rtol=1e-5)
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, np.asarray(x)[shard.index])


@pytest.mark.parametrize("around", [lambda f: f, weft.jit], ids=["at once", "jit"])
def test_values(around):
    for x in (W, wnp.asarray(W), weft.device_put(W, ROWS), weft.device_put(W, TILES)):
        for s in (ROWS, TILES, BACK, ALL):
            f = around(lambda x, s=s: constrained(x * 2, s))
            for _ in range(2):
                lies(f(x), s, 2 * W)


def test_full_arrays():
    one = SingleDeviceSharding(DEVICES[3])
    for sharding in (ROWS, TILES, BACK, ALL, one):
        lies(lax.full((8, 8), 2.5, sharding=sharding), sharding, np.full((8, 8), 2.5))
        lies(lax.full_like(W, 2, sharding=sharding), sharding, np.full((8, 8), 2))
        assert lax.full((8, 8), 2.5, sharding=sharding).weak_type
    lies(lax.full((), 7, "int8", sharding=DEVICES[2]), SingleDeviceSharding(DEVICES[2]), 7)
    lies(weft.jit(lambda x: lax.full_like(x, 3, sharding=TILES))(W), TILES, np.full((8, 8), 3))
    for sharding, words in ((ROWS, "splits axis 0, of length 3"), ("x", "full: expected a device")):
        with pytest.raises((TypeError, ValueError), match=words):
            lax.full((3, 8), 0, sharding=sharding)


LIKE = {
    "zeros_like": (wnp.zeros_like, 0),
    "ones_like": (wnp.ones_like, 1),
    "empty_like": (wnp.empty_like, 0),
    "full_like": (lambda x, **o: wnp.full_like(x, 7, **o), 7),
    "lax.full_like": (lambda x, **o: lax.full_like(x, 7, **o), 7),
}


@pytest.mark.parametrize(("like", "value"), LIKE.values(), ids=LIKE.keys())
def test_an_array_like_another_lies_as_that_does(like, value):
    one = SingleDeviceSharding(DEVICES[3])
    for sharding in (ROWS, TILES, ALL, one):
        x = weft.device_put(W, sharding)
        lies(like(x), sharding, np.full((8, 8), value))
        lies(like(x, dtype="int8"), sharding, np.full((8, 8), value))
        lies(like(x, shape=(8, 8)), sharding, np.full((8, 8), value))
        assert not like(x, shape=(3, 8)).committed
        mapped = weft.jit(weft.vmap(like))(x)
        np.testing.assert_array_equal(mapped, np.full((8, 8), value))
        total = weft.jit(lambda y, x=x: y + like(x))(W)  # closed over
        np.testing.assert_allclose(total, W + value)
    assert not like(wnp.asarray(W)).committed


def test_trees():
    tree = {"a": W, "b": (2.0, weft.device_put(W, ROWS))}
    said = {"a": TILES, "b": (ALL, None)}
    for around in (lambda f: f, weft.jit):
        got = around(lambda t: constrained(t, said))(tree)
        lies(got["a"], TILES, W)
        lies(got["b"][0], ALL, 2.0)
        np.testing.assert_array_equal(got["b"][1], W)
    lies(constrained(tree, {"a": ROWS, "b": ALL})["b"][1], ALL, W)


def test_a_mesh_in_scope():
    f = weft.jit(lambda x: constrained(x + 1, P("b", "a")))
    with GRID:
        lies(f(W), NamedSharding(GRID, P("b", "a")), W + 1)
        lies(constrained(W, P("b")), NamedSharding(GRID, P("b")), W)


def test_axes_that_are_left_to_xla():
    x = weft.device_put(W, NamedSharding(GRID, P("a")))
    open_end = NamedSharding(GRID, P(FREE, "b"))
    lies(weft.jit(lambda x: constrained(x * 2, open_end))(x), TILES, 2 * W)
    lies(constrained(x, open_end), TILES, W)
    lies(constrained(W, open_end), NamedSharding(GRID, P(None, "b")), W)  # it lay nowhere
    kept = constrained(weft.device_put(W, ROWS), NamedSharding(LINE, P(FREE)))
    lies(kept, ROWS, W)
    assert not any(part is FREE for part in kept.sharding.spec)


def test_derivatives_are_divided_alike():
    f = lambda x: (constrained(wnp.sin(x), TILES) ** 2).sum()  # noqa: E731
    plain = weft.grad(lambda x: (wnp.sin(x) ** 2).sum())(wnp.asarray(W))
    lies(weft.grad(f)(W), TILES, plain)
    np.testing.assert_allclose(weft.jit(weft.grad(f))(weft.device_put(W, ROWS)), plain, rtol=1e-4)
    lies(weft.jvp(lambda x: constrained(x, TILES), (W,), (W * 3,))[1], TILES, 3 * W)
    text = weft.jit(weft.grad(f)).lower(weft.device_put(W, ROWS)).as_text()
    assert text.count("sdy.sharding_constraint") == 2  # of the value and of its cotangent
    np.testing.assert_allclose(
        weft.jit(weft.hessian(lambda v: f(v * W)))(wnp.ones(8)),
        weft.hessian(lambda v: (wnp.sin(v * W) ** 2).sum())(wnp.ones(8)), rtol=1e-3, atol=1e-3,
    )  # fmt: skip


@pytest.mark.parametrize("around", [lambda f: f, weft.jit], ids=["at once", "jit"])
def test_batches(around):
    """What is said is of each element; how a batch of them is divided is left to XLA."""
    columns = NamedSharding(GRID, P("b"))
    x = weft.device_put(W, NamedSharding(GRID, P("a")))
    lies(around(weft.vmap(lambda r: constrained(r * 2, columns)))(x), TILES, 2 * W)
    lies(around(weft.vmap(lambda r: constrained(r * 2, columns)))(W),
         NamedSharding(GRID, P(None, "b")), 2 * W)  # fmt: skip
    shared = around(weft.vmap(lambda r: constrained(wnp.ones(8), columns) + r))(W)
    np.testing.assert_array_equal(shared, W + 1)
    twice = around(weft.vmap(weft.vmap(lambda v: constrained(v, NamedSharding(GRID, P())))))(W)
    np.testing.assert_array_equal(twice, W)
    f = weft.vmap(weft.grad(lambda r: (constrained(r, columns) ** 2).sum()))
    np.testing.assert_array_equal(around(f)(W), 2 * W)


@pytest.mark.parametrize("around", [lambda f: f, weft.jit], ids=["at once", "jit"])
def test_control_flow(around):
    parts = NamedSharding(LINE, P("x"))
    f = lambda x: lax.scan(lambda c, r: (constrained(c + r, parts), c), x[0] * 0, x)  # noqa: E731
    total, steps = around(f)(W)
    np.testing.assert_allclose(total, W.sum(0))
    np.testing.assert_allclose(steps, W.cumsum(0) - W)
    g = lambda x: lax.cond(x[0, 1] > 0, lambda x: constrained(x, TILES), lambda x: -x, x)  # noqa: E731
    np.testing.assert_array_equal(around(g)(W), W)
    h = lambda x: lax.fori_loop(0, 3, lambda _, c: constrained(c, BACK) * 2, x)  # noqa: E731
    np.testing.assert_array_equal(around(h)(W), 8 * W)


def test_a_program_runs_where_its_constraints_say():
    lies(weft.jit(lambda x: constrained(x, TILES) + 1)(W), TILES, W + 1)
    assert weft.jit(lambda: constrained(wnp.ones((8, 8)), ROWS))().sharding == ROWS


REFUSED = {
    "no mesh": (lambda: constrained(W, P("x")), ValueError, ["mesh", "with mesh"]),
    "indivisible": (
        lambda: weft.jit(lambda x: constrained({"w": x[:3]}, TILES))(W), ValueError,
        ["x['w']", "float32[3,8]", "length 3", "2 parts"]),
    "rank": (lambda: constrained(W[0], TILES), ValueError, ["2 entries", "1 axes"]),
    "structure": (
        lambda: constrained({"a": W}, {"b": TILES}), ValueError, ["prefix", "'b'", "'a'"]),
    "device": (lambda: constrained(W, DEVICES[0]), TypeError, ["NamedSharding", "CpuDevice"]),
    "one device": (
        lambda: constrained(W, SingleDeviceSharding(DEVICES[0])), TypeError, ["NamedSharding"]),
    "committed elsewhere": (
        lambda: weft.jit(lambda x: constrained(x, TILES))(weft.device_put(W, DEVICES[3])),
        ValueError, ["8 devices", "cpu:3", "device_put"]),
    "two sets of devices": (
        lambda: weft.jit(lambda x: constrained(constrained(x, TILES), NamedSharding(
            Mesh(DEVICES[:4], "x"), P("x"))))(W), ValueError, ["8 devices", "4 devices", "fix"]),
}  # fmt: skip


@pytest.mark.parametrize(("make", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value
