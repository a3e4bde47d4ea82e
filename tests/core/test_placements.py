"""One array type for all placements: what an array means doesn't depend on where it lies.

Laws over placements: on the host, on a device, and divided over meshes in many ways. What is
computed is compared with NumPy, and where parts lie with the sharding's own arithmetic.
"""

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

pytestmark = pytest.mark.devices(8)

DEVICES = (weft.devices() * 8)[:8]  # where there are fewer, tests are skipped


def mesh(order, shape, names):
    """A mesh of devices by number."""
    return Mesh(np.array([DEVICES[i] for i in order], object).reshape(shape), names)


if weft.device_count() >= 8:
    EIGHT = mesh(range(8), 8, "x")
    GRID = mesh(range(8), (2, 4), ("a", "b"))
    MIXED = mesh([3, 1, 7, 5, 0, 2, 6, 4], (4, 2), ("a", "b"))
    FOUR = mesh([4, 5, 6, 7], 4, "x")
    PAIR = mesh([6, 2], 2, "x")
    ONE = mesh([5], 1, "x")
    SHARDINGS = {
        "8": NamedSharding(EIGHT, P("x")),
        "second axis": NamedSharding(GRID, P(None, "b")),
        "grid": NamedSharding(GRID, P("a", "b")),
        "grid backwards": NamedSharding(GRID, P("b", "a")),
        "both on one axis": NamedSharding(GRID, P(("b", "a"))),
        "partly repeated": NamedSharding(GRID, P("a")),
        "repeated": NamedSharding(EIGHT, P()),
        "mixed order": NamedSharding(MIXED, P("a", "b")),
        "mixed, partly": NamedSharding(MIXED, P(None, "b")),
        "4 of 8": NamedSharding(FOUR, P("x")),
        "2 of 8": NamedSharding(PAIR, P(None, "x")),
        "1 of 8": NamedSharding(ONE, P("x")),
    }
else:
    SHARDINGS = {}
PLACES = {
    "host": lambda x: wnp.asarray(x),
    "default": lambda x: weft.jit(lambda x: x + x * 0)(x),
    "device": lambda x: weft.device_put(x, DEVICES[3]),
    **{name: lambda x, s=s: weft.device_put(x, s) for name, s in SHARDINGS.items()},
}
WHOLE = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
ARRAYS = {name: put(WHOLE) for name, put in PLACES.items()}
DIVIDED = {name: ARRAYS[name] for name in SHARDINGS}

each = pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS.keys())
each_divided = pytest.mark.parametrize("x", DIVIDED.values(), ids=DIVIDED.keys())
some = lambda *names: pytest.mark.parametrize(  # noqa: E731
    "x", [ARRAYS.get(n) for n in names], ids=names
)


def same(got, expected, tolerance=1e-5):
    """Fails unless values, shapes and dtypes are NumPy's (in weft's precision)."""
    expected = np.asarray(expected)
    found = np.asarray(got)
    assert found.shape == expected.shape
    assert found.dtype == weft.dtypes.canonicalize_dtype(expected.dtype)
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    if isinstance(got, weft.Array) and len(got.devices()) > 1:  # no array has uneven parts
        for shard in got.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), found[shard.index])


# --- where the parts are ---


@each_divided
def test_shards(x):
    sharding = x.sharding
    assert x.shape == x.global_shape == WHOLE.shape
    assert x.devices() == sharding.device_set == sharding.addressable_devices
    assert x.committed
    assert x.is_fully_addressable
    assert x.is_fully_replicated is sharding.is_fully_replicated
    assert x.device == sharding
    shards = x.addressable_shards
    assert [s.device for s in shards] == list(sharding.mesh.devices.flat)
    indices = sharding.devices_indices_map(x.shape)
    times = np.zeros(WHOLE.shape, int)
    firsts = np.zeros(WHOLE.shape, int)
    for i, shard in enumerate(shards):
        assert shard.index == indices[shard.device]
        assert shard.data.devices() == {shard.device}
        assert shard.data.committed
        assert shard.data.shape == sharding.shard_shape(x.shape)
        np.testing.assert_array_equal(shard.data, WHOLE[shard.index])
        np.testing.assert_array_equal(x.addressable_data(i), WHOLE[shard.index])
        times[shard.index] += 1
        firsts[shard.index] += shard.replica_id == 0
    assert (times == times[0, 0]).all()
    assert (firsts == 1).all()
    same_part = {}
    for shard in shards:
        key = str(shard.index)
        assert shard.replica_id == same_part.get(key, 0)
        same_part[key] = shard.replica_id + 1


def test_shards_of_an_array_on_one_device():
    for x, device in ((ARRAYS["host"], DEVICES[0]), (ARRAYS["device"], DEVICES[3])):
        (shard,) = x.addressable_shards
        assert (shard.device, shard.replica_id) == (device, 0)
        same(shard.data, WHOLE)
        same(WHOLE[shard.index], WHOLE)
        same(x.addressable_data(0), WHOLE)
        assert x.sharding == SingleDeviceSharding(device)
        assert x.is_fully_addressable
        assert x.is_fully_replicated
        assert x.global_shape == (8, 8)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (("8", P("x")), ("8", P("x", None)), True),
        (("8", P("x")), ("8", P(None, "x")), False),
        (("grid", P(("a", "b"))), ("8", P("x")), True),
        (("grid", P(("b", "a"))), ("8", P("x")), False),
        (("grid", P()), ("mixed order", P()), True),
        (("grid", P("a")), ("mixed order", P("b")), False),
        (("8", P()), ("4 of 8", P()), False),
        (("1 of 8", P("x")), ("1 of 8", P()), True),
    ],
)
def test_equivalent_shardings(one, other, alike):
    of = lambda name, spec: NamedSharding(SHARDINGS[name].mesh, spec)  # noqa: E731
    assert of(*one).is_equivalent_to(of(*other), 2) is alike
    assert of(*other).is_equivalent_to(of(*one), 2) is alike


def test_one_device_in_either_way():
    assert NamedSharding(ONE, P("x")).is_equivalent_to(SingleDeviceSharding(DEVICES[5]), 1)
    assert not NamedSharding(PAIR, P()).is_equivalent_to(SingleDeviceSharding(DEVICES[6]), 1)
    x = weft.device_put(WHOLE, SingleDeviceSharding(DEVICES[5]))
    assert x.device is DEVICES[5]
    same(x + ARRAYS["1 of 8"], WHOLE + WHOLE)


# --- what Python and NumPy see ---


@each
def test_as_python_and_numpy_see_it(x):
    host = wnp.asarray(WHOLE)
    assert repr(x) == repr(host)
    assert str(x) == str(host)
    assert len(x) == 8
    assert x.ndim == 2
    assert x.size == 64
    assert x.nbytes == 256
    assert x.itemsize == 4
    assert x.tolist() == WHOLE.tolist()
    np.testing.assert_array_equal(np.array(x, np.float64), WHOLE.astype(np.float64))
    assert not np.asarray(x).flags.writeable
    np.testing.assert_array_equal(np.add(np.asarray(x), 1), WHOLE + 1)
    np.testing.assert_array_equal(np.from_dlpack(x), WHOLE)
    np.testing.assert_array_equal(wnp.from_dlpack(x), WHOLE)
    np.testing.assert_array_equal(weft.device_get({"x": [x]})["x"][0], WHOLE)
    for other in (copy.copy(x), copy.deepcopy([x, x])[1]):
        assert other is not x
        assert other.sharding == x.sharding
        np.testing.assert_array_equal(other, WHOLE)
    loaded = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(loaded, WHOLE)
    assert loaded.dtype == x.dtype
    assert weft.block_until_ready((x,))[0] is x
    assert x.block_until_ready() is x
    assert x.is_ready()
    assert not x.is_deleted()
    x.copy_to_host_async()
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        x[0, 0] = 1.0
    with pytest.raises((TypeError, ValueError), match=r"bool|truth"):
        bool(x)


@each
def test_scalars(x):
    where = NamedSharding(x.sharding.mesh, P()) if x.sharding.num_devices > 1 else None
    put = lambda v: weft.device_put(v, where)  # noqa: E731
    assert float(put(np.float32(2.5))) == 2.5
    assert int(put(np.int32(7))) == 7
    assert bool(put(np.True_)) is True
    assert complex(put(np.complex64(1 + 2j))) == 1 + 2j
    assert [10, 11, 12][put(np.int32(1))] == 11
    assert f"{put(np.float32(0.5)):.2f}" == "0.50"
    assert round(put(np.float32(2.6))) == 3
    assert round(put(np.float32(2.6))).dtype == np.int32
    assert round(put(np.float32(2.66)), 1).dtype == np.float32
    assert put(np.float32(3)).item() == 3.0


@some("grid backwards", "mixed order", "4 of 8")
def test_iteration(x):
    for row, expected in zip(x, WHOLE, strict=True):
        same(row, expected)
    first, *_, last = x
    same(first, WHOLE[0])
    same(last, WHOLE[-1])
    assert [float(v) for v in x[3]] == WHOLE[3].tolist()


DTYPES = [np.bool_, np.int8, np.int32, np.uint16, np.float16, ml_dtypes.bfloat16, np.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_dtypes(dtype):
    host = (np.arange(64).reshape(8, 8) % 5).astype(dtype)
    for name in ("grid", "mixed order"):
        x = weft.device_put(host, SHARDINGS[name])
        assert x.dtype == dtype
        np.testing.assert_array_equal(np.asarray(x), host)
        np.testing.assert_array_equal(np.asarray(x.addressable_shards[3].data),
                                      host[x.addressable_shards[3].index])  # fmt: skip
        assert repr(x) == repr(wnp.asarray(host))
        np.testing.assert_array_equal(np.asarray(x == x), np.ones((8, 8), bool))
    y = weft.device_put(x, SHARDINGS["partly repeated"])
    np.testing.assert_array_equal(np.asarray(y), host)


def test_numpy_arrays_are_canonical_and_copied():
    host = np.arange(16.0)
    x = weft.device_put(host, SHARDINGS["8"])
    host[:] = 0
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x, np.arange(16))
    turned = np.arange(64, dtype=">i4").reshape(8, 8).T[::-1]
    np.testing.assert_array_equal(weft.device_put(turned, SHARDINGS["grid"]), turned)


@pytest.mark.parametrize("shape", [(0,), (0, 8), (8, 0), (8, 0, 3)])
def test_empty(shape):
    for sharding in (SHARDINGS["8"], SHARDINGS["repeated"], SHARDINGS["mixed order"]):
        if len(sharding.spec) > len(shape):
            continue
        x = weft.device_put(np.zeros(shape, np.float32), sharding)
        same(x, np.zeros(shape, np.float32))
        same(x + 1, np.zeros(shape, np.float32))
        same(x.sum(), np.float32(0))
        assert len(x.addressable_shards) == sharding.num_devices


# --- moving ---


@pytest.mark.parametrize("source", ARRAYS, ids=str)
def test_moves_to_all_placements(source):
    for target, sharding in SHARDINGS.items():
        y = weft.device_put(ARRAYS[source], sharding)
        assert y.sharding == sharding, target
        same(y, WHOLE)
        same(ARRAYS[source], WHOLE)
    y = weft.device_put(ARRAYS[source], DEVICES[6])
    assert y.devices() == {DEVICES[6]}
    same(y, WHOLE)
    assert weft.device_put(ARRAYS[source]).sharding == ARRAYS[source].sharding


def test_trees_of_placements():
    tree = {"a": (WHOLE, 3), "b": [ARRAYS["grid"], ARRAYS["host"]]}
    everywhere, grid = NamedSharding(EIGHT, P()), SHARDINGS["grid"]
    got = weft.device_put(tree, {"a": everywhere, "b": [DEVICES[2], grid]})
    assert got["a"][0].sharding == got["a"][1].sharding == everywhere
    assert got["b"][0].device is DEVICES[2]
    assert got["b"][1].sharding == grid
    weft.tree_util.tree_map(same, got, {"a": (WHOLE, np.int32(3)), "b": [WHOLE, WHOLE]})
    kept = weft.device_put(tree, {"a": everywhere, "b": None})
    assert kept["b"][0] is ARRAYS["grid"]


def test_a_partition_is_of_the_mesh_in_scope():
    with GRID:
        x = weft.device_put({"x": WHOLE}, P("b"))["x"]
    assert x.sharding == NamedSharding(GRID, P("b"))
    same(x, WHOLE)


@pytest.mark.parametrize(
    ("put", "error", "words"),
    [
        (lambda: weft.device_put({"w": WHOLE[:6]}, SHARDINGS["8"]), ValueError,
         ["device_put", "x['w']", "float32[6,8]", "length 6", "8 parts"]),
        (lambda: weft.device_put(np.float32(1), SHARDINGS["8"]), ValueError,
         ["1 entries", "0 axes"]),
        (lambda: weft.device_put("abc", SHARDINGS["8"]), TypeError, ["device_put", "str"]),
        (lambda: weft.device_put(WHOLE, P("x")), ValueError, ["device_put", "mesh", "fix"]),
        (lambda: weft.device_put(WHOLE, "cpu"), TypeError, ["device", "sharding", "'cpu'"]),
        (lambda: weft.device_put([WHOLE, 1], [SHARDINGS["8"]]), ValueError,
         ["device_put", "prefix"]),
        (lambda: weft.device_put(WHOLE, NamedSharding(EIGHT, P(P.UNCONSTRAINED))), ValueError,
         ["device_put", "UNCONSTRAINED"]),
    ],
)  # fmt: skip
def test_moves_refused(put, error, words):
    with pytest.raises(error) as caught:
        put()
    assert all(word in str(caught.value) for word in words), caught.value


def test_deleted_and_donated():
    x = weft.device_put(WHOLE, SHARDINGS["grid"])
    x.delete()
    x.delete()
    assert x.is_deleted()
    for use in (
        lambda: x + 1,
        lambda: np.asarray(x),
        lambda: x.addressable_shards,
        lambda: weft.jit(lambda x: x * 2)(x),
        lambda: weft.device_put(x, SHARDINGS["8"]),
        lambda: weft.device_put(x, DEVICES[1]),
        lambda: weft.block_until_ready(x),
        lambda: x.is_ready(),
    ):
        with pytest.raises(weft.errors.DeletedArrayError):
            use()
    assert "deleted" in repr(x)


# --- operators ---

OPERATORS = {
    "add": lambda x, y: x + y,
    "radd": lambda x, y: y + x,
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: y - x,
    "mul": lambda x, y: x * y,
    "rtruediv": lambda x, y: y / (x * x + 1),
    "floordiv": lambda x, y: x // (abs(y) + 1),
    "mod": lambda x, y: x % (abs(y) + 1),
    "rmod": lambda x, y: y % (abs(x) + 1),
    "pow": lambda x, y: abs(x) ** y,
    "less": lambda x, y: x < y,
    "reflected greater": lambda x, y: y > x,
    "equal": lambda x, y: x == y,
    "unary": lambda x, y: abs(-x) + (+y),
}
OTHERS = {
    "number": 2.0,
    "NumPy scalar": np.float32(1.5),
    "NumPy row": np.linspace(-1, 1, 8, dtype=np.float32),
    "array": wnp.asarray(WHOLE[:, :1]),
}


@some("device", "grid backwards", "mixed, partly", "2 of 8", "1 of 8")
def test_operators(x):
    arrays = list(OTHERS.values())[1:]

    def every(x, arrays):
        return [{k: f(x, y) for k, f in OPERATORS.items()} for y in (2.0, *arrays)]

    got = weft.jit(every)(x, arrays)
    for mine, theirs in zip(got, every(WHOLE, [np.asarray(y) for y in arrays]), strict=True):
        for name, expected in theirs.items():
            same(mine[name], expected, 2e-4)
            assert mine[name].devices() == x.devices(), name


@some("mixed order")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_at_once(x, name):
    for other in (2.0, np.linspace(-1, 1, 8, dtype=np.float32)):
        got = OPERATORS[name](x, other)
        same(got, OPERATORS[name](WHOLE, other), 2e-4)
        assert got.devices() == x.devices()


def test_integer_and_boolean_operators():
    host = np.arange(64, dtype=np.int32).reshape(8, 8)
    x = weft.device_put(host, SHARDINGS["grid"])
    every = lambda x: [x & 6, 6 | x, x ^ 5, ~x, x << 2, x >> 1, divmod(x, 7), (x > 3) & (x < 9)]  # noqa: E731
    weft.tree_util.tree_map(same, weft.jit(every)(x), every(host))
    same(x @ x.T, host @ host.T)
    same(1 << (x & 3), 1 << (host & 3))


def test_division_of_results_is_kept():
    x = ARRAYS["grid"]
    assert (x + 1).sharding == x.sharding
    assert (x * x).sharding == x.sharding
    assert weft.jit(lambda x: (x + 1) * 2)(x).sharding == x.sharding


CLASHES = {
    "two meshes": lambda: ARRAYS["8"] + ARRAYS["4 of 8"],
    "mesh and device": lambda: ARRAYS["grid"] * ARRAYS["device"],
    "device and mesh": lambda: wnp.where(ARRAYS["device"] > 0, ARRAYS["grid"], 0.0),
    "jit": lambda: weft.jit(lambda x, y: x - y)(ARRAYS["2 of 8"], ARRAYS["4 of 8"]),
    "grad": lambda: weft.grad(lambda x, y: (x * y).sum())(ARRAYS["2 of 8"], ARRAYS["8"]),
    "concatenate": lambda: wnp.concatenate([ARRAYS["2 of 8"], ARRAYS["8"]]),
    "vmap": lambda: weft.vmap(lambda x, y: x * y)(ARRAYS["2 of 8"], ARRAYS["8"]),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c), ARRAYS["2 of 8"][0], ARRAYS["8"]),
}


@pytest.mark.parametrize("clash", CLASHES.values(), ids=CLASHES.keys())
def test_placements_that_dont_meet(clash):
    with pytest.raises(ValueError, match=r"committed to different devices") as caught:
        clash()
    text = str(caught.value)
    assert "device_put" in text
    assert "(argument 0) to" in text or "(argument 1) to" in text
    assert text.count("Sharding") + text.count("cpu:") >= 2, text
    assert "float32[" in text


@pytest.mark.parametrize(
    ("one", "other"),
    [("8", "grid"), ("grid", "mixed order"), ("mixed, partly", "repeated"),
     ("8", "both on one axis")],
)  # fmt: skip
def test_same_devices_otherwise_divided_meet(one, other):
    x, y = ARRAYS[one], ARRAYS[other]
    same(x + y, WHOLE + WHOLE)
    same(y - x * 2, -WHOLE)
    same(weft.jit(lambda x, y: x @ y)(x, y), WHOLE @ WHOLE)


# --- indexing and updates ---

INDICES = {
    "row": 2,
    "negative": -1,
    "element": (3, -2),
    "slice": slice(2, 5),
    "steps": (slice(None, None, 3), slice(1, None, 2)),
    "backwards": slice(None, None, -1),
    "column": (slice(None), 3),
    "new axes": (None, slice(None), None, 4),
    "ellipsis": (..., slice(0, 2)),
    "list of rows": (np.array([0, 7, 7, -2]),),
    "pairs": (np.array([[0, 1], [2, 7]]), np.array([[5], [3]])),
    "mask": WHOLE > 0.3,
    "row mask": WHOLE[:, 0] > 0,
    "mixed": (slice(1, 7), np.array([1, 0, 6])),
}


@some("grid backwards", "mixed order", "2 of 8", "device")
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_indexing(x, index):
    same(x[index], WHOLE[index])


@some("8", "mixed order")
def test_traced_indices(x):
    i = wnp.asarray(5)
    rows = weft.device_put(np.array([1, 6, 6]), NamedSharding(x.sharding.mesh, P()))
    read = weft.jit(lambda x, i, r: (x[i], x[:, i], x[r], x[r, i], x[i - 9 :][:1] if 0 else x[-i]))
    got = read(x, i, rows)
    r = np.asarray(rows)
    for a, b in zip(got, (WHOLE[5], WHOLE[:, 5], WHOLE[r], WHOLE[r, 5], WHOLE[-5]), strict=True):
        same(a, b)
    same(x[rows], WHOLE[r])
    same(x[i], WHOLE[5])
    same(lax.dynamic_slice(x, (i, 1), (2, 4)), WHOLE[5:7, 1:5])
    same(wnp.take(x, rows, 1), WHOLE[:, r])


def updated(x, index, how, value):
    """NumPy's way."""
    y = x.copy()
    if how == "set":
        y[index] = value
    elif how == "add":
        np.add.at(y, index, value)
    elif how == "multiply":
        np.multiply.at(y, index, value)
    else:
        {"min": np.minimum, "max": np.maximum}[how].at(y, index, value)
    return y


@some("grid backwards", "mixed, partly", "4 of 8")
def test_updates(x):
    cases = list(
        itertools.product(["row", "steps", "list of rows", "pairs"], ["set", "add", "max"])
    )
    cases += [("mask", "set"), ("element", "multiply"), ("row mask", "set"), ("column", "min")]
    every = weft.jit(lambda x: [getattr(x.at[INDICES[i]], how)(0.25) for i, how in cases])
    for (i, how), got in zip(cases, every(x), strict=True):
        if how == "set" or i != "list of rows" or how != "set":
            same(got, updated(WHOLE, INDICES[i], how, np.float32(0.25)))
    same(x.at[2].set(7.0), updated(WHOLE, 2, "set", 7))
    same(x.at[:, 1].add(x[:, 2]), updated(WHOLE, (slice(None), 1), "add", WHOLE[:, 2]))
    np.testing.assert_array_equal(x, WHOLE)


# --- functions ---

A = np.abs(WHOLE) + 0.5
FUNCTIONS = {
    "exp": lambda np, x: np.exp(x),
    "tanh": lambda np, x: np.tanh(x),
    "where": lambda np, x: np.where(x > 0, x, -1.0),
    "clip": lambda np, x: np.clip(x, -0.5, 0.5),
    "isfinite": lambda np, x: np.isfinite(x),
    "sum": lambda np, x: np.sum(x),
    "sum of rows": lambda np, x: np.sum(x, 1),
    "sum kept": lambda np, x: x.sum(0, keepdims=True),
    "mean": lambda np, x: np.mean(x, 0),
    "var": lambda np, x: np.var(x, 1),
    "std": lambda np, x: np.std(x),
    "max": lambda np, x: np.max(x, 0),
    "argmax": lambda np, x: np.argmax(x, 0).astype("int32"),
    "argmin of all": lambda np, x: np.argmin(x).astype("int32"),
    "prod": lambda np, x: np.prod(x, 1),
    "any": lambda np, x: np.any(x > 2, 0),
    "all": lambda np, x: np.all(x > -2, 1),
    "median": lambda np, x: np.median(x, 0),
    "sort": lambda np, x: np.sort(x, 0),
    "sort of rows": lambda np, x: np.sort(x, 1),
    "argsort": lambda np, x: np.argsort(x, 0).astype("int32"),
    "cumsum": lambda np, x: np.cumsum(x, 0),
    "cumprod": lambda np, x: np.cumprod(x, 1),
    "diff": lambda np, x: np.diff(x, axis=0),
    "matmul": lambda np, x: x @ x,
    "dot": lambda np, x: np.dot(x, x[0]),
    "outer": lambda np, x: np.outer(x[0], x[1]),
    "tensordot": lambda np, x: np.tensordot(x, x, [[0], [1]]),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x, x),
    "trace": lambda np, x: np.trace(x),
    "transpose": lambda np, x: x.T,
    "swapaxes": lambda np, x: np.swapaxes(x[None], 0, 2),
    "reshape": lambda np, x: x.reshape(-1),
    "reshape unevenly": lambda np, x: x.reshape(2, 2, 16),
    "reshape a part unevenly": lambda np, x: x[:6].reshape(3, 16),
    "reshape to three": lambda np, x: x[:, :6].reshape(4, 3, 4),
    "ravel of an odd part": lambda np, x: np.ravel(x[:7, :5]),
    "concatenate": lambda np, x: np.concatenate([x, x[:3]]),
    "stack": lambda np, x: np.stack([x, x], 1),
    "split": lambda np, x: np.split(x, 2, 1)[1],
    "array_split": lambda np, x: np.array_split(x, 3)[0],
    "pad": lambda np, x: np.pad(x, ((1, 2), (0, 1))),
    "roll": lambda np, x: np.roll(x, 3, 0),
    "flip": lambda np, x: np.flip(x, 1),
    "repeat": lambda np, x: np.repeat(x, 3, 0),
    "tile": lambda np, x: np.tile(x, (3, 1)),
    "take": lambda np, x: np.take(x, np.array([0, 5, 5]), 0),
    "take_along_axis": lambda np, x: np.take_along_axis(x, np.argsort(x, 1), 1),
    "triu": lambda np, x: np.triu(x),
    "broadcast_to": lambda np, x: np.broadcast_to(x, (3, 8, 8)),
    "expand_dims": lambda np, x: np.expand_dims(x, 1),
    "meshgrid": lambda np, x: np.meshgrid(x[0], x[1])[1],
    "interp": lambda np, x: np.interp(x, np.linspace(-1, 1, 5), np.arange(5.0)).astype("float32"),
    "searchsorted": lambda np, x: np.searchsorted(np.linspace(-1, 1, 9), x).astype("int32"),
    "astype": lambda np, x: (x * 3).astype("int32"),
    "convolve": lambda np, x: np.convolve(x[0], x[1]),
    "polyval": lambda np, x: np.polyval(x[0, :3], x),
    "complex": lambda np, x: np.abs(x + 1j * x.T).astype("float32"),
}


@some("grid backwards", "mixed, partly", "2 of 8")
def test_functions_in_a_program(x):
    got = weft.jit(lambda x: {name: f(wnp, x) for name, f in FUNCTIONS.items()})(x)
    for name, f in FUNCTIONS.items():
        try:
            same(got[name], f(np, WHOLE).astype(got[name].dtype), 1e-4)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
        assert got[name].devices() == x.devices()


# fmt: off
AT_ONCE = [
    "sum", "mean", "var", "argmax", "sort", "cumsum", "matmul", "einsum", "transpose", "reshape",
    "reshape unevenly", "reshape a part unevenly", "concatenate", "split", "pad", "roll", "repeat",
    "tile", "take", "broadcast_to", "astype", "where",
]
# fmt: on


@some("mixed order")
@pytest.mark.parametrize("name", AT_ONCE)
def test_functions_at_once(x, name):
    got = FUNCTIONS[name](wnp, x)
    same(got, FUNCTIONS[name](np, WHOLE).astype(got.dtype), 1e-4)
    assert got.devices() == x.devices()
