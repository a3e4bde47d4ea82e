"""How arrays lie on several devices: shardings as plain values, and arrays that have them."""

import copy
import pickle

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

MESH = Mesh(np.arange(6).reshape(2, 3), ("a", "b"))  # any values will do for devices


@pytest.mark.parametrize(
    "spec", [P(), P("a"), P("b"), P(None, "b"), P("b", "a"), P(("a", "b")), P(("b", "a"), None)]
)
def test_shards_make_up_the_array(spec):
    x = np.arange(12 * 6).reshape(12, 6)
    sharding = NamedSharding(MESH, spec)
    times = np.zeros(x.shape, int)
    for index in sharding.indices(x.shape):
        assert x[index].shape == sharding.shard_shape(x.shape)
        times[index] += 1
    split = int(np.prod([MESH.shape[n] for part in spec for n in np.atleast_1d(part) if n]))
    assert (times == 6 // split).all()
    assert sharding.is_fully_replicated is (split == 1)
    assert list(sharding.devices_indices_map(x.shape)) == [0, 1, 2, 3, 4, 5]


def test_parts_are_numbered_row_by_row():
    starts = lambda spec: [i[0].start for i in NamedSharding(MESH, spec).indices((6,))]  # noqa: E731
    assert starts(P(("a", "b"))) == [0, 1, 2, 3, 4, 5]
    assert starts(P(("b", "a"))) == [0, 2, 4, 1, 3, 5]


def test_equal_shardings():
    assert NamedSharding(MESH, P("a")) == NamedSharding(MESH, P(("a",), None))
    assert hash(NamedSharding(MESH, P("a"))) == hash(NamedSharding(MESH, P(("a",), None)))
    assert NamedSharding(MESH, P("a")) != NamedSharding(MESH, P("b"))
    assert SingleDeviceSharding(1) == SingleDeviceSharding(1)
    assert SingleDeviceSharding(1) != NamedSharding(Mesh([1], "x"), P())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mesh([1, 1], "x"), ["repeated"]),
        (lambda: Mesh([1, 2], ("x", "y")), ["2 names", "1 axes"]),
        (lambda: Mesh([[1], [2]], ("x", "x")), ["repeated"]),
        (lambda: NamedSharding(MESH, P("c")), ["'c'", "a=2, b=3"]),
        (lambda: NamedSharding(MESH, P("a", "a")), ["once"]),
        (lambda: list(NamedSharding(MESH, P("a")).indices((3,))), ["length 3", "2 parts"]),
        (lambda: list(NamedSharding(MESH, P(None, "a")).indices((4,))), ["2 entries", "1 axes"]),
    ],
)
def test_refused(make, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_one_device():
    device = weft.devices()[0]
    x = weft.device_put_sharded([np.ones(2)], [device])
    assert x.devices() == {device}
    assert x.committed
    assert x.is_fully_replicated
    assert weft.numpy.ones(2).sharding == SingleDeviceSharding(device)
    assert weft.numpy.ones(2).is_fully_replicated


# --- arrays on four devices ---

needs_four = pytest.mark.devices(4)
DEVICES = (weft.devices() * 4)[:4]  # where there are fewer, tests are skipped
PARTS = [np.arange(6.0, dtype=np.float32).reshape(2, 3) + 10 * i for i in range(4)]
WHOLE = np.stack(PARTS)


def sharded():
    return weft.device_put_sharded(PARTS, DEVICES)


@needs_four
def test_sharded():
    x = sharded()
    np.testing.assert_array_equal(np.asarray(x), WHOLE)
    assert x.shape == x.global_shape == (4, 2, 3)
    assert x.dtype == np.float32
    assert isinstance(x.sharding, NamedSharding)
    assert x.devices() == set(DEVICES)
    assert x.committed
    assert x.is_fully_addressable
    assert not x.is_fully_replicated
    for i, shard in enumerate(x.addressable_shards):
        assert shard.device == DEVICES[i]
        assert shard.data.devices() == {DEVICES[i]}
        assert shard.replica_id == 0
        np.testing.assert_array_equal(shard.data, WHOLE[shard.index])


@needs_four
def test_trees():
    shards = [{"a": i, "b": [np.ones(2) * i]} for i in range(4)]
    got = weft.device_put_sharded(shards, DEVICES)
    np.testing.assert_array_equal(got["a"], [0, 1, 2, 3])
    np.testing.assert_array_equal(got["b"][0], np.arange(4)[:, None] * np.ones(2))


@needs_four
@pytest.mark.parametrize("x", [3, 2.5, True, np.arange(3), np.ones((2, 2), np.complex64)])
def test_replicated(x):
    got = weft.device_put_replicated({"x": x}, DEVICES)["x"]
    np.testing.assert_array_equal(got, np.stack([x] * 4))
    assert got.dtype == wnp.asarray(x).dtype
    assert [s.data.device for s in got.addressable_shards] == DEVICES


@needs_four
@pytest.mark.parametrize(
    "use",
    [
        lambda x, np: x + 1,
        lambda x, np: 2 * x - x,
        lambda x, np: x[1:3, 0],
        lambda x, np: x.sum(),
        lambda x, np: np.stack([x, x]),
        lambda x, np: x.reshape(-1)[::2],
    ],
)
def test_computing(use):
    np.testing.assert_array_equal(use(sharded(), wnp), use(WHOLE, np))
    np.testing.assert_array_equal(weft.jit(lambda x: use(x, wnp))(sharded()), use(WHOLE, np))


@needs_four
def test_transformed():
    x = sharded()
    np.testing.assert_array_equal(weft.grad(lambda x: (x**2).sum())(x), 2 * WHOLE)
    np.testing.assert_array_equal(weft.vmap(wnp.sum)(x), WHOLE.sum((1, 2)))


@needs_four
def test_printed_copied_moved():
    x = sharded()
    assert str(x) == str(WHOLE)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), WHOLE)
    assert copy.deepcopy(x).sharding == x.sharding
    y = weft.device_put(x, DEVICES[2])
    assert y.devices() == {DEVICES[2]}
    np.testing.assert_array_equal(y, WHOLE)
    assert weft.block_until_ready(x).is_ready()


@needs_four
def test_deleted():
    x = sharded()
    x.delete()
    assert x.is_deleted()
    with pytest.raises(weft.errors.DeletedArrayError):
        x + 1


@needs_four
@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: weft.device_put_sharded([1, 2], DEVICES), ValueError, ["2 shards", "4 devices"]),
        (
            lambda: weft.device_put_sharded([np.ones(2), np.ones(3)], DEVICES[:2]),
            ValueError,
            ["float32[2] (shard 0)", "float32[3] (shard 1)"],
        ),
        (lambda: weft.device_put_sharded([(1,), 1], DEVICES[:2]), ValueError, ["structure"]),
        (lambda: weft.device_put_sharded(3, DEVICES), TypeError, ["int", "device_put_replicated"]),
        (lambda: weft.device_put_replicated("a", DEVICES), TypeError, ["x", "str"]),
        (lambda: weft.device_put_replicated(1, []), ValueError, ["at least one"]),
        (lambda: weft.device_put_replicated(1, [DEVICES[0]] * 2), ValueError, ["twice"]),
        (lambda: weft.device_put_replicated(1, ["cpu"]), TypeError, ["'cpu'"]),
        (
            lambda: weft.jit(lambda x: weft.device_put_replicated(x, DEVICES))(1.0),
            TypeError,
            ["traced", "float32[]"],
        ),
        (lambda: sharded().unsafe_buffer_pointer(), ValueError, ["4 devices", "addressable"]),
    ],
)
def test_arrays_refused(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value
